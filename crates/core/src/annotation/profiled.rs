//! What the operator's one word for a server says of a tool. It is what is known beforehand, in place of the worst case:
//! hints and labels of those whose word may loosen replace it, and anybody may add to it.

use highwater_notation::Words;

use super::contract::Contract;
use super::{
    Authority, Axis, CallVariant, Claim, Claims, DataClass, Destination, Outcome, Possible, Sensitivity,
    Source,
};
use crate::profile::{Profile, RunsBy, SendsBy, ToolActs};

impl Contract {
    /// The contract of a tool that does this, at a server of this profile, of which nobody said anything else.
    pub fn profiled(profile: Profile, tool: ToolActs) -> Self {
        match Place::of(profile) {
            Some(place) => place.contract(profile, tool),
            None => Self::unknown(),
        }
    }

    /// What is known beforehand of a resource read, a prompt or a completion at a server of this profile: what comes back
    /// is what the profile says of replies.
    pub fn reading_at(profile: Profile, destination: Possible<Destination>) -> Self {
        let reading = Self::reading(destination);
        match Place::of(profile) {
            Some(place) => place.answering(reading),
            None => reading,
        }
    }

    /// What a profile says of one call of this tool whose SQL certainly only reads; nothing where somebody else has spoken of
    /// what the tool does.
    pub fn said_of_reading_sql(&self, profile: Profile) -> Option<Claims> {
        let destination = match profile {
            Profile::Local | Profile::Private => Destination::User,
            Profile::Public | Profile::Unknown => return None,
        };
        let is_open = |axis| self.basis(axis) == Authority::Profile;
        if !is_open(Axis::Outcomes) || !is_open(Axis::Destination) {
            return None;
        }
        let mut said = Claims::new();
        let from = "profile";
        said.push(Claim::SetOutcomes(Possible::only(Outcome::Benign)), Authority::Profile, from);
        said.push(Claim::SetDestination(Possible::only(destination)), Authority::Profile, from);
        Some(said)
    }

    /// Whether an outcome of which nothing was said but the operator's one word for the server counts as known.
    pub fn is_known_to_be_undoable(&self) -> bool {
        !self.destroys() && self.basis(Axis::Outcomes) > Authority::Profile
    }
}

/// What a profile says of a server's place.
struct Place {
    destination: Destination,
    /// Where replies come from; empty where the server answers for them.
    source: Words<Source>,
    returns: Sensitivity,
    /// Whether strangers may have written what comes back.
    strangers: bool,
}

// === impl Place ===

impl Place {
    fn of(profile: Profile) -> Option<Self> {
        Some(match profile {
            Profile::Unknown => return None,
            Profile::Local => Self {
                destination: Destination::User,
                source: Words::EMPTY,
                returns: Sensitivity::of([DataClass::Confidential]),
                strangers: false,
            },
            Profile::Private => Self {
                destination: Destination::User,
                source: Words::only(Source::User),
                returns: Sensitivity::of([DataClass::Confidential, DataClass::User]),
                strangers: true,
            },
            Profile::Public => Self {
                destination: Destination::Public,
                source: Words::only(Source::UntrustedPublic),
                returns: Sensitivity::none(),
                strangers: true,
            },
        })
    }

    /// A contract whose replies are what this place says of replies.
    fn answering(self, contract: Contract) -> Contract {
        let inside = Words::only(Source::System).with(Source::User).with(Source::Internal);
        let mut contract = Contract {
            source: Possible::of(self.source).or_else(|| Possible::of(inside)).unwrap_or_else(Possible::any),
            stated_source: self.source,
            answered_for: true,
            returns: self.returns,
            untrusted: self.strangers.then_some(Authority::Profile),
            ..contract
        };
        for axis in [Axis::Source, Axis::Returns, Axis::Integrity] {
            contract.set_basis(axis, Authority::Profile);
        }
        contract.settled()
    }

    fn contract(self, profile: Profile, tool: ToolActs) -> Contract {
        let (exit, engine) = (tool.sends, tool.runs);
        // A page is fetched by its address: at a public server that is what reading is.
        let fetches = profile == Profile::Public && exit == Some(SendsBy::Url) && engine.is_none();
        let outcomes = match engine {
            Some(_) => Possible::any(),
            None if tool.only_reads() || (fetches && tool.reads_by_name) => Possible::only(Outcome::Benign),
            None => Possible::only(Outcome::Consequential),
        };
        // The class of a call follows: the operator's one word for the server is the claim that it rests on.
        let reads = outcomes.is_only(Outcome::Benign);
        let leaves = exit.is_some() || engine.is_some();
        let destination = Possible::only(self.destination);
        let destination = if leaves { destination.with(Destination::Public) } else { destination };
        // What is run, or fetched from an address, may bring back what anybody wrote.
        let fetched = matches!(exit, Some(SendsBy::Url | SendsBy::UnknownArguments))
            || matches!(engine, Some(RunsBy::Name | RunsBy::Code | RunsBy::UnknownArguments));
        let source = if fetched { self.source.with(Source::UntrustedPublic) } else { self.source };
        let variant = if reads { CallVariant::Read } else { CallVariant::Write };
        let mut contract = Contract { destination, outcomes, variant, ..Contract::unknown() };
        for axis in [Axis::Destination, Axis::Outcomes] {
            contract.set_basis(axis, Authority::Profile);
        }
        Self { source, ..self }.answering(contract)
    }
}
