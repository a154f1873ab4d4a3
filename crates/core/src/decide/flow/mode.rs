//! How strictly the flow rules are enforced, and which data may go where: the operator's choice for each virtual
//! server.

use highwater_notation::{Words, vocabulary};

use crate::annotation::{ClassSet, DataClass, Destination, ReplyBounds};
use crate::label::{Label, TextSet};

vocabulary! {
    /// What the flow rules do when they are violated. Structural gates and the operator's rules are enforced in every
    /// mode.
    #[derive(Default)]
    FlowMode {
        /// Findings of flow rules are recorded and not enforced.
        Observe = "observe",
        /// Ask where a person can tell; refuse what is graver.
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clearance {
    /// In the order of [`Destination::ALL`].
    admitted: [ClassSet; 5],
    /// Which of the operator's own classes, in the same order.
    names: [TextSet; 5],
    /// Which scopes of regulated data, in the same order.
    scopes: [TextSet; 5],
}

/// The flow rules of one virtual server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

    /// Whether a reply may be refused for what it holds itself. Otherwise it counts by what it adds to the session.
    pub fn judges_replies(&self) -> bool {
        self.modes().any(|mode| matches!(mode, FlowMode::Strict | FlowMode::Samos))
    }

    /// Within what a reply of a believed server chooses.
    pub fn reply_bounds(&self) -> ReplyBounds {
        match (self.mode, self.beside) {
            (FlowMode::Samos, None) => ReplyBounds::Unbounded,
            _ => ReplyBounds::Declared,
        }
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
}

// === impl Clearance ===

impl Clearance {
    /// With another choice of classes for one destination. What nobody classified counts as private data of no named
    /// class.
    #[must_use]
    pub fn with(mut self, destination: Destination, classes: ClassSet) -> Self {
        let classes = if classes.contains(DataClass::Confidential) {
            classes.with(DataClass::Unclassified)
        } else {
            classes
        };
        let every = |class| if classes.contains(class) { TextSet::EVERY } else { TextSet::EMPTY };
        if let Some(slot) = self.admitted.get_mut(destination as usize) {
            *slot = classes;
        }
        if let Some(slot) = self.names.get_mut(destination as usize) {
            *slot = every(DataClass::Named);
        }
        if let Some(slot) = self.scopes.get_mut(destination as usize) {
            *slot = every(DataClass::Regulated);
        }
        self
    }

    /// With these of the operator's own classes for one destination, besides the others that may go there.
    #[must_use]
    pub fn with_names(mut self, destination: Destination, names: TextSet) -> Self {
        if names.is_empty() {
            return self;
        }
        self.admit(destination, DataClass::Named);
        if let Some(slot) = self.names.get_mut(destination as usize) {
            *slot = names;
        }
        self
    }

    /// With regulated data of these scopes for one destination, besides what else may go there.
    #[must_use]
    pub fn with_scopes(mut self, destination: Destination, scopes: TextSet) -> Self {
        if scopes.is_empty() {
            return self;
        }
        self.admit(destination, DataClass::Regulated);
        if let Some(slot) = self.scopes.get_mut(destination as usize) {
            *slot = scopes;
        }
        self
    }

    fn admit(&mut self, destination: Destination, class: DataClass) {
        if let Some(slot) = self.admitted.get_mut(destination as usize) {
            *slot = slot.with(class);
        }
    }

    /// Whether every class of the operator's own may go to this destination.
    pub fn admits_every_name(&self, destination: Destination) -> bool {
        self.names.get(destination as usize).is_some_and(|names| names.covers(&TextSet::EVERY))
    }

    /// The parts of classes that may go to this destination: names of the operator's own classes, and scopes of regulated
    /// data. An open set is all of them.
    pub fn parts(&self, destination: Destination) -> (&TextSet, &TextSet) {
        const NONE: &TextSet = &TextSet::EMPTY;
        let at = destination as usize;
        (self.names.get(at).unwrap_or(NONE), self.scopes.get(at).unwrap_or(NONE))
    }

    /// Whether regulated data of every scope may go to this destination.
    pub fn admits_every_scope(&self, destination: Destination) -> bool {
        self.scopes.get(destination as usize).is_some_and(|scopes| scopes.covers(&TextSet::EVERY))
    }

    /// The classes of a label that may not go to every one of these destinations.
    pub fn refuses(&self, destinations: Words<Destination>, label: &Label) -> ClassSet {
        let mut refused = label.classes().minus(self.admits_at_all(destinations));
        let lacks = |admitted: &[TextSet; 5], held: &TextSet| {
            let lacks =
                |to: Destination| admitted.get(to as usize).is_none_or(|admitted| !admitted.covers(held));
            destinations.iter().any(lacks)
        };
        if !label.names().is_empty() && lacks(&self.names, label.names()) {
            refused = refused.with(DataClass::Named);
        }
        // Regulated data whose scopes nobody named may be of any.
        let scopes = if label.scopes().is_empty() { &TextSet::EVERY } else { label.scopes() };
        if label.classes().contains(DataClass::Regulated) && lacks(&self.scopes, scopes) {
            refused = refused.with(DataClass::Regulated);
        }
        refused
    }

    /// The classes that may go to this destination.
    pub fn admits(&self, destination: Destination) -> ClassSet {
        self.admitted.get(destination as usize).copied().unwrap_or(Words::EMPTY)
    }

    /// The classes that may go to every one of these destinations.
    pub fn admits_at_all(&self, destinations: Words<Destination>) -> ClassSet {
        destinations
            .iter()
            .fold(Words::all(), |admitted, destination| admitted.intersection(self.admits(destination)))
    }
}

impl Default for Clearance {
    /// Nothing to the public, everything to where it is forgotten, and everything but credentials elsewhere.
    fn default() -> Self {
        let most = Words::all().without(DataClass::Credentials);
        let nothing =
            Self { admitted: [Words::EMPTY; 5], names: [TextSet::EMPTY; 5], scopes: [TextSet::EMPTY; 5] };
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
        let most = Words::all().without(DataClass::Credentials);
        assert_eq!(table.admits(Destination::Public), Words::EMPTY);
        for destination in [Destination::Internal, Destination::User, Destination::System] {
            assert_eq!(table.admits(destination), most, "{destination}");
        }
        assert_eq!(table.admits(Destination::Ephemeral), Words::all());
    }

    #[test]
    fn what_nobody_classified_goes_where_private_data_may() {
        let table = Clearance::default();
        let confidential = table.clone().with(Destination::Public, Words::only(DataClass::Confidential));
        assert!(confidential.admits(Destination::Public).contains(DataClass::Unclassified));
        let pii = table.with(Destination::Public, Words::only(DataClass::Pii));
        assert!(!pii.admits(Destination::Public).contains(DataClass::Unclassified));
    }

    #[test]
    fn a_class_of_ones_own_goes_where_it_is_cleared_by_name() {
        let label = |names: &[&str]| Label::bottom().with_names(&TextSet::of(names.iter().copied()));
        let (one, other) = (label(&["com.example.x"]), label(&["com.example.y"]));
        let refused = Words::only(DataClass::Named);
        let (public, internal) = (Words::only(Destination::Public), Words::only(Destination::Internal));
        let table = Clearance::default();
        assert_eq!(table.refuses(public, &one), refused);
        assert_eq!(table.refuses(internal, &one), Words::EMPTY);
        let table = table.with_names(Destination::Public, TextSet::of(["com.example.x"]));
        assert_eq!(table.refuses(public, &one), Words::EMPTY);
        assert_eq!(table.refuses(public, &other), refused);
        assert_eq!(table.refuses(public, &one.joined(&other)), refused);
        assert_eq!(
            table.refuses(public, &Label::bottom().with_class(DataClass::Named)),
            refused,
            "it may be any"
        );
        assert_eq!(table.refuses(public, &Label::bottom()), Words::EMPTY);
    }

    #[test]
    fn regulated_data_goes_where_its_scopes_are_cleared() {
        let label = |scopes: &TextSet| Label::bottom().with_class(DataClass::Regulated).with_scopes(scopes);
        let of = |scopes: &[&str]| label(&TextSet::of(scopes.iter().copied()));
        let public = Words::only(Destination::Public);
        let refused = Words::only(DataClass::Regulated);
        let table = Clearance::default().with_scopes(Destination::Public, TextSet::of(["gdpr"]));
        assert_eq!(table.refuses(public, &of(&["gdpr"])), Words::EMPTY);
        assert_eq!(table.refuses(public, &of(&["hipaa"])), refused);
        assert_eq!(table.refuses(public, &of(&["gdpr", "hipaa"])), refused);
        assert_eq!(table.refuses(public, &label(&TextSet::EVERY)), refused, "it may be of any scope");
        assert_eq!(table.refuses(public, &of(&[])), refused, "nobody named its scopes");
        let both = public.with(Destination::Internal);
        assert_eq!(table.refuses(both, &of(&["gdpr"])), Words::EMPTY);
        assert_eq!(table.refuses(both, &of(&["hipaa"])), refused);
        assert_eq!(Clearance::default().refuses(public, &of(&["gdpr"])), refused);
    }

    #[test]
    fn of_several_destinations_all_must_admit() {
        let table = Clearance::default()
            .with(Destination::System, Words::only(DataClass::User))
            .with(Destination::Public, Words::only(DataClass::Pii));
        let either = Words::only(Destination::System).with(Destination::Public);
        assert_eq!(table.admits_at_all(either), Words::EMPTY);
        assert_eq!(table.admits_at_all(Words::only(Destination::System)), Words::only(DataClass::User));
    }
}
