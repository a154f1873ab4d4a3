//! Which origin brought what into a session, as far as this process saw it. For people who are asked: the label alone
//! says what is in a session, not what came from where.

use std::collections::BTreeMap;
use std::sync::Arc;

use highwater_core::id::DecisionId;
use highwater_core::label::{Label, LabelBits, is_own_origin};
use highwater_core::session::Leg;
use highwater_notation::Timestamp;
use serde::Serialize;

/// How many origins are remembered of what others say, and how many of our own beside them.
const MAX_ORIGINS: usize = 256;

/// What is known of the origins of one session.
#[derive(Debug, Default)]
pub(crate) struct Story {
    brought: BTreeMap<Arc<str>, Brought>,
    /// Which call first set each leg of the trifecta.
    legs: BTreeMap<Leg, SetBy>,
}

/// The call that first set a leg of the trifecta.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SetBy {
    /// Its decision.
    pub(crate) id: DecisionId,
    pub(crate) time: Timestamp,
    /// The tool as the client calls it, or the method.
    pub(crate) what: String,
    pub(crate) server: String,
}

/// What came from one origin.
#[derive(Clone, Copy, Debug)]
struct Brought {
    bits: LabelBits,
    /// The operator stands for whoever named this origin.
    vouched: bool,
}

// === impl Story ===

impl Story {
    /// Takes in a message with this label. `vouched` says that the operator verified the server it came from.
    pub(crate) fn take_in(&mut self, label: &Label, vouched: bool) {
        let own = self.brought.keys().filter(|origin| is_own_origin(origin)).count();
        let mut room =
            [MAX_ORIGINS.saturating_sub(self.brought.len() - own), MAX_ORIGINS.saturating_sub(own)];
        for origin in label.origins().members() {
            let [others, ours] = &mut room;
            let room = if is_own_origin(origin) { ours } else { others };
            if let Some(known) = self.brought.get_mut(origin) {
                known.bits = known.bits.union(label.bits());
                known.vouched |= vouched;
            } else if *room > 0 {
                *room -= 1;
                self.brought.insert(Arc::clone(origin), Brought { bits: label.bits(), vouched });
            }
        }
    }

    /// Notes which call brought this label to a session that had another before, for each leg that it set.
    pub(crate) fn note_legs(&mut self, before: &Label, label: &Label, call: impl Fn() -> SetBy) {
        for leg in Leg::ALL.into_iter().filter(|leg| leg.is_met(label) && !leg.is_met(before)) {
            self.legs.entry(leg).or_insert_with(&call);
        }
    }

    /// The call that first set a leg, if this process saw it.
    pub(crate) fn set_by(&self, leg: Leg) -> Option<&SetBy> {
        self.legs.get(&leg)
    }

    /// A person has declassified: what came before no longer explains anything.
    pub(crate) fn forget(&mut self) {
        self.brought.clear();
        self.legs.clear();
    }

    /// The origins whose messages had this in their label, with whether the operator stands for who named them.
    pub(crate) fn of(&self, has: impl Fn(&Label) -> bool) -> Vec<(Arc<str>, bool)> {
        let label = |bits| Label::from_parts(bits, Default::default(), Default::default());
        self.brought
            .iter()
            .filter(|(_, brought)| has(&label(brought.bits)))
            .map(|(origin, brought)| (Arc::clone(origin), brought.vouched))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use highwater_core::annotation::DataClass;

    use super::*;

    fn names(found: &[(Arc<str>, bool)]) -> Vec<&str> {
        found.iter().map(|(origin, _)| &**origin).collect()
    }

    #[test]
    fn each_origin_answers_for_what_it_brought() {
        let mut story = Story::default();
        story.take_in(&Label::bottom().with_open_world().with_origin("mcp:web:fetch"), false);
        story.take_in(&Label::bottom().with_class(DataClass::Pii).with_origin("mcp:mail:read"), true);
        assert_eq!(names(&story.of(Label::untrusted)), ["mcp:web:fetch"]);
        assert_eq!(names(&story.of(Label::private)), ["mcp:mail:read"]);
        story.take_in(&Label::bottom().with_open_world().with_origin("mcp:mail:read"), true);
        assert_eq!(names(&story.of(Label::untrusted)), ["mcp:mail:read", "mcp:web:fetch"]);
        story.forget();
        assert!(story.of(|_| true).is_empty());
    }

    #[test]
    fn a_leg_is_the_call_that_set_it_first() {
        let call = |id: &str| SetBy {
            id: DecisionId::new(id),
            time: Timestamp(1),
            what: "web__fetch".to_owned(),
            server: "web".to_owned(),
        };
        let (clean, untrusted) = (Label::bottom(), Label::bottom().with_open_world());
        let mut story = Story::default();
        story.note_legs(&clean, &untrusted, || call("first"));
        story.note_legs(&clean, &untrusted, || call("second"));
        assert_eq!(story.set_by(Leg::UntrustedContent).map(|call| call.id.as_str()), Some("first"));
        assert!(story.set_by(Leg::PrivateData).is_none());
        // What another process saw first was not this call's doing.
        let private = Label::bottom().with_class(DataClass::Pii);
        story.note_legs(&private, &private, || call("third"));
        assert!(story.set_by(Leg::PrivateData).is_none());
        story.forget();
        assert!(story.set_by(Leg::UntrustedContent).is_none());
    }

    #[test]
    fn the_story_is_bounded() {
        let mut story = Story::default();
        for number in 0..2 * MAX_ORIGINS {
            story.take_in(&Label::bottom().with_origin(&format!("o{number}")), true);
        }
        assert_eq!(story.of(|_| true).len(), MAX_ORIGINS);
        // Who answered is told however much was said before.
        story.take_in(&Label::bottom().with_origin("mcp:web:fetch").with_origin("one more"), false);
        assert_eq!(names(&story.of(|_| true)).iter().filter(|origin| is_own_origin(origin)).count(), 1);
        assert_eq!(story.of(|_| true).len(), MAX_ORIGINS + 1);
    }
}
