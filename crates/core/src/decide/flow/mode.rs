//! How strictly the flow rules are enforced, and which data may go where: the operator's choice for each virtual
//! server.

use crate::annotation::words::vocabulary;
use crate::annotation::{ClassSet, DataClass, Destination, Possible, SourceReading, Words};

vocabulary! {
    /// What the flow rules do when they are violated. Structural gates are enforced in every mode.
    #[derive(Default)]
    FlowMode {
        /// Findings of flow rules and of the operator's rules are recorded and not enforced.
        Observe = "observe",
        /// Ask where a person can tell, refuse where private data would leave a doubtful session.
        #[default]
        Balanced = "balanced",
        /// Refuse, or ask with the strongest proof there is.
        Strict = "strict",
        /// Seed 004 to the letter: high and low, no write down, no read up from a low session; acts are not
        /// looked at. For comparison, not recommended.
        Samos = "samos",
    }
}

vocabulary! {
    /// The least that a token's calls are judged with, whatever its virtual server does.
    FlowFloor {
        /// At least as in `balanced`.
        Balanced = "balanced",
        /// At least as in `strict`.
        Strict = "strict",
    }
}

/// Which classes of data may go to each destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clearance {
    /// In the order of [`Destination::ALL`].
    admitted: [ClassSet; 5],
}

/// The flow rules of one virtual server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowPolicy {
    /// What happens when a rule is violated.
    pub mode: FlowMode,
    /// Which data may go where.
    pub clearance: Clearance,
    /// The operator's word that the clients of this virtual server read nothing that does not come through us.
    /// Without it every session may hold what a stranger wrote, as far as servers that ask for origins
    /// (SEP-3193) are concerned.
    pub sole_gateway: bool,
    /// What is enforced besides `mode`, where a token demands more than a mode that is no step of the ladder.
    pub beside: Option<FlowFloor>,
}

// === impl FlowPolicy ===

impl FlowPolicy {
    /// The same rules, enforced at least as this floor demands.
    #[must_use]
    pub fn raised(self, floor: Option<FlowFloor>) -> Self {
        let Some(floor) = floor else { return self };
        match self.mode {
            // Neither is above the other, so both are asked.
            FlowMode::Samos => Self { beside: Some(floor), ..self },
            FlowMode::Observe | FlowMode::Balanced | FlowMode::Strict => {
                Self { mode: self.mode.max(floor.mode()), ..self }
            }
        }
    }

    /// The modes that are enforced: one, or two where neither is above the other.
    pub(in crate::decide) fn modes(&self) -> impl Iterator<Item = FlowMode> + use<> {
        [Some(self.mode), self.beside.map(FlowFloor::mode)].into_iter().flatten()
    }

    /// How a source that nobody named is read.
    pub fn source_reading(&self) -> SourceReading {
        if self.beside.is_some() { SourceReading::Worst } else { self.mode.source_reading() }
    }
}

// === impl FlowFloor ===

impl FlowFloor {
    /// The mode that does exactly this.
    pub fn mode(self) -> FlowMode {
        match self {
            Self::Balanced => FlowMode::Balanced,
            Self::Strict => FlowMode::Strict,
        }
    }
}

// === impl FlowMode ===

impl FlowMode {
    /// The modes that enforce something, in the order in which [`PerMode`](crate::decide::PerMode) has them.
    pub const ENFORCING: [Self; 3] = [Self::Balanced, Self::Strict, Self::Samos];

    /// How a source that nobody named is read in this mode.
    pub fn source_reading(self) -> SourceReading {
        match self {
            Self::Samos => SourceReading::Samos,
            Self::Observe | Self::Balanced | Self::Strict => SourceReading::Worst,
        }
    }
}

// === impl Clearance ===

impl Clearance {
    /// With another choice of classes for one destination. What nobody classified may hold credentials, so it
    /// goes only where they may.
    #[must_use]
    pub fn with(mut self, destination: Destination, classes: ClassSet) -> Self {
        let classes = if classes.contains(DataClass::Credentials) {
            classes
        } else {
            classes.without(DataClass::Unclassified)
        };
        if let Some(slot) = self.admitted.get_mut(destination as usize) {
            *slot = classes;
        }
        self
    }

    /// The classes that may go to this destination.
    pub fn admits(&self, destination: Destination) -> ClassSet {
        self.admitted.get(destination as usize).copied().unwrap_or(Words::EMPTY)
    }

    /// The classes that may go to every one of these destinations.
    pub fn admits_at_all(&self, destinations: Possible<Destination>) -> ClassSet {
        destinations
            .members()
            .iter()
            .fold(Words::all(), |admitted, destination| admitted.intersection(self.admits(destination)))
    }
}

impl Default for Clearance {
    /// Nothing to the public, everything to where it is forgotten, and everything but credentials elsewhere.
    fn default() -> Self {
        let most = Words::all().without(DataClass::Credentials);
        let nothing = Self { admitted: [Words::EMPTY; 5] };
        nothing
            .with(Destination::Ephemeral, Words::all())
            .with(Destination::System, most)
            .with(Destination::User, most)
            .with(Destination::Internal, most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_table_is_the_published_one() {
        let table = Clearance::default();
        let most = Words::all().without(DataClass::Credentials).without(DataClass::Unclassified);
        assert_eq!(table.admits(Destination::Public), Words::EMPTY);
        for destination in [Destination::Internal, Destination::User, Destination::System] {
            assert_eq!(table.admits(destination), most, "{destination}");
        }
        assert_eq!(table.admits(Destination::Ephemeral), Words::all());
    }

    #[test]
    fn what_nobody_classified_goes_only_where_credentials_may() {
        let without = Words::all().without(DataClass::Credentials);
        let table = Clearance::default().with(Destination::Public, without);
        assert!(!table.admits(Destination::Public).contains(DataClass::Unclassified));
        let table = table.with(Destination::Public, Words::all());
        assert!(table.admits(Destination::Public).contains(DataClass::Unclassified));
    }

    #[test]
    fn of_several_destinations_all_must_admit() {
        let table = Clearance::default()
            .with(Destination::System, Words::only(DataClass::User))
            .with(Destination::Public, Words::only(DataClass::Pii));
        let either = Possible::only(Destination::System).with(Destination::Public);
        assert_eq!(table.admits_at_all(either), Words::EMPTY);
        assert_eq!(table.admits_at_all(Possible::only(Destination::System)), Words::only(DataClass::User));
    }
}
