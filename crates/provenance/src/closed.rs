//! What a call could take along, beyond what its words say.

use highwater_core::annotation::{ArgumentRole, ClassSet};
use highwater_core::provenance::Carries;

use crate::argument::{Given, Leaf};
use crate::value::{Kind, Value, nouns};
use crate::view::{Listed, View};

/// Numbers below this one are too small to write anything in.
const SMALL_NUMBER: f64 = 100.0;

// === impl View ===

impl View<'_> {
    /// Nothing, if every value is a flag, a choice of the schema, a small number or the user's own; what stored things
    /// hold, if they are named besides; else anything.
    pub(crate) fn carries(&self, leaves: &[Leaf]) -> Carries {
        let mut things = ClassSet::default();
        let mut has_things = false;
        // Where something was forgotten, nobody knows what a name may stand for.
        let forgets = self.evidence.has_lost(self.call.server);
        for leaf in leaves.iter().filter(|leaf| leaf.role != ArgumentRole::Session) {
            let value = Value::new(&leaf.given.written());
            let is_it = |listed: &&Listed<'_>| {
                listed.record.id == value.normal && listed.reply.server == *self.call.server
            };
            let listed: Vec<&Listed<'_>> = self.records().iter().filter(is_it).collect();
            let is_thing = leaf.role == ArgumentRole::Object && !listed.is_empty() && !forgets;
            if is_thing {
                has_things = true;
                listed.iter().for_each(|listed| things = things.union(listed.reply.classes));
            } else if leaf.role == ArgumentRole::Object
                || !self.is_closed(leaf, &value, forgets || !listed.is_empty())
            {
                return Carries::Anything;
            }
        }
        if has_things { Carries::Things(things) } else { Carries::Nothing }
    }

    fn is_closed(&self, leaf: &Leaf, value: &Value, may_be_thing: bool) -> bool {
        match &leaf.given {
            Given::Flag(_) => true,
            _ if leaf.is_listed_value => true,
            Given::Number(number) => number.abs() < SMALL_NUMBER || self.request_counts(*number),
            Given::Text(_) if may_be_thing => false,
            Given::Text(_) => {
                let nouns = nouns(leaf);
                self.request.iter().any(|text| value.is_said(text, &nouns)) || self.is_page_seen(value)
            }
        }
    }

    /// A page that is opened just as it was read tells its host nothing new.
    fn is_page_seen(&self, value: &Value) -> bool {
        let Kind::Carrier(page) = &value.kind else { return false };
        crate::carrier::host_of(page).is_some()
            && (self.trusted_says(&value.normal, |text| text.carries(page)).is_some()
                || self.search_hit(page).is_some())
    }
}
