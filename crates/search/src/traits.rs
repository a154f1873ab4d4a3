//! What a filter can ask of a tool, as bits: made of the effective contract, so that what nobody vouches for counts as the
//! worst.

use highwater_core::annotation::{Axis, CallVariant, Contract};
use highwater_notation::{Words, vocabulary};

vocabulary! {
    /// A choice that a searcher can make among the tools they may see.
    Filter {
        /// Only tools that certainly change nothing.
        ReadOnlyOnly = "read_only_only",
        /// No tool that may destroy something.
        ExcludeDestructive = "exclude_destructive",
        /// No tool that may meet what strangers write, or tell them something.
        ExcludeOpenWorld = "exclude_open_world",
    }
}

/// The choices that a searcher makes.
pub type Filters = Words<Filter>;

/// What is known of one tool as far as filters ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// The filters that would leave it out.
    fails: Filters,
    /// Those of them that do so only because nobody who is believed has said anything.
    unstated: Filters,
}

// === impl Traits ===

impl Traits {
    /// What a contract says.
    pub fn of(contract: &Contract) -> Self {
        let (hints, class) = (contract.hints(), contract.variant());
        let acts = !hints.read_only || class != CallVariant::Read;
        let destroys = hints.destructive || class == CallVariant::Destructive;
        let outcomes = contract.is_declared(Axis::Outcomes) || class == CallVariant::Destructive;
        let world = contract.is_declared(Axis::Destination) && contract.is_declared(Axis::Source);
        let failing = [
            (Filter::ReadOnlyOnly, acts, outcomes),
            (Filter::ExcludeDestructive, destroys, outcomes),
            (Filter::ExcludeOpenWorld, hints.open_world, world),
        ];
        let those = |which: fn(&(Filter, bool, bool)) -> bool| {
            failing.iter().filter(|entry| which(entry)).map(|(filter, ..)| *filter).collect()
        };
        Self { fails: those(|(_, fails, _)| *fails), unstated: those(|(_, fails, stated)| *fails && !stated) }
    }

    /// The same where its server itself says what these filters leave out: the severe word of anybody is believed.
    #[must_use]
    pub fn admitting(self, said: Filters) -> Self {
        let unstated = self.unstated.iter().filter(|filter| !said.contains(*filter)).collect();
        Self { unstated, ..self }
    }

    /// Whether none of these leaves it out.
    pub fn passes(self, filters: Filters) -> bool {
        self.fails.intersection(filters).is_empty()
    }

    /// Whether this filter leaves it out.
    pub fn fails(self, filter: Filter) -> bool {
        self.fails.contains(filter)
    }

    /// Whether this filter leaves it out only because nobody who is believed has said anything.
    pub fn is_unstated(self, filter: Filter) -> bool {
        self.unstated.contains(filter)
    }
}
