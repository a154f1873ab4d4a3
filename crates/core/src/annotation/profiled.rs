//! What the operator's one word for a server says of a tool. It is what is known beforehand, in place of the worst case:
//! hints and labels of those whose word may loosen replace it, and anybody may add to it.

use highwater_notation::Words;

use super::contract::Contract;
use super::{
    Authority, Axis, CallVariant, Claim, Claims, DataClass, Destination, Outcome, Possible, Sensitivity,
    Source,
};
use crate::profile::{Engine, Exit, Profile, ToolShape};

impl Contract {
    /// The contract of a tool of this shape, at a server of this profile, of which nobody said anything else.
    pub fn profiled(profile: Profile, shape: &ToolShape) -> Self {
        match Place::of(profile) {
            Some(place) => place.contract(profile, shape),
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
    pub(crate) fn is_known_to_be_undoable(&self) -> bool {
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

    fn contract(self, profile: Profile, shape: &ToolShape) -> Contract {
        let (exit, engine) = (shape.sends(), shape.runs());
        // A page is fetched by its address: at a public server that is what reading is.
        let fetches =
            profile == Profile::Public && matches!(exit, Some(Exit::Url { .. })) && engine.is_none();
        let outcomes = match engine {
            Some(_) => Possible::any(),
            None if shape.only_reads() || (fetches && shape.reads_by_name()) => {
                Possible::only(Outcome::Benign)
            }
            None => Possible::only(Outcome::Consequential),
        };
        // The class of a call follows: the operator's one word for the server is the claim that it rests on.
        let reads = outcomes.is_only(Outcome::Benign);
        let leaves = exit.is_some() || engine.is_some();
        let destination = Possible::only(self.destination);
        let destination = if leaves { destination.with(Destination::Public) } else { destination };
        // What is run, or fetched from an address, may bring back what anybody wrote.
        let fetched = matches!(exit, Some(Exit::Url { .. } | Exit::UnknownArguments))
            || matches!(engine, Some(Engine::Name { .. } | Engine::Code { .. } | Engine::UnknownArguments));
        let source = if fetched { self.source.with(Source::UntrustedPublic) } else { self.source };
        let variant = if reads { CallVariant::Read } else { CallVariant::Write };
        let mut contract = Contract { destination, outcomes, variant, ..Contract::unknown() };
        for axis in [Axis::Destination, Axis::Outcomes] {
            contract.set_basis(axis, Authority::Profile);
        }
        Self { source, ..self }.answering(contract)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::annotation::Hints;
    use crate::trust::{ServerTrust, TrustLevel};

    const PATH: &str =
        r#"{"type":"object","properties":{"path":{"type":"string"}},"additionalProperties":false}"#;
    const URL: &str =
        r#"{"type":"object","properties":{"url":{"type":"string"}},"additionalProperties":false}"#;

    fn contract(profile: Profile, name: &str, schema: &str) -> Contract {
        let trust = match profile {
            Profile::Local => ServerTrust::default().with_profile(TrustLevel::Tool),
            Profile::Private | Profile::Public | Profile::Unknown => ServerTrust::default(),
        };
        let shape = ToolShape::read("files", name, Some(schema));
        Contract::profiled(profile, &shape).weighed(&Claims::new(), &trust).0
    }

    #[test]
    fn things_of_this_machine_stay_with_the_user_and_are_answered_for() {
        let read = contract(Profile::Local, "read_file", PATH);
        assert_eq!(read.destination(), Possible::only(Destination::User));
        assert_eq!(read.outcomes(), Possible::only(Outcome::Benign));
        assert_eq!(read.reply_label().classes(), Words::only(DataClass::Confidential));
        assert_eq!(read.integrity(), TrustLevel::Tool);
        let write = contract(Profile::Local, "write_file", PATH);
        assert_eq!(write.outcomes(), Possible::only(Outcome::Consequential));
        assert!(!write.is_known_to_be_undoable(), "one word for the server says nothing of this tool");
    }

    #[test]
    fn a_reading_name_is_a_read_by_the_operators_word_for_the_server() {
        for (profile, class) in [
            (Profile::Local, CallVariant::Read),
            (Profile::Private, CallVariant::Read),
            (Profile::Public, CallVariant::Read),
            (Profile::Unknown, CallVariant::Write),
        ] {
            assert_eq!(contract(profile, "read_file", PATH).variant(), class, "{profile}");
            assert_eq!(contract(profile, "write_file", PATH).variant(), CallVariant::Write, "{profile}");
            let runs = r#"{"properties":{"command":{"type":"string"}}}"#;
            assert_ne!(contract(profile, "get_output", runs).variant(), CallVariant::Read, "{profile}");
        }
        // Anybody may say worse of it, and nobody who is not believed can say better.
        let shape = |name| ToolShape::read("files", name, Some(PATH));
        let said = |hints| {
            let mut claims = Claims::new();
            claims.push(Claim::Hints(hints), Authority::Declared, "core");
            claims
        };
        let weighed = |name, hints| {
            Contract::profiled(Profile::Local, &shape(name))
                .weighed(&said(hints), &ServerTrust::default())
                .0
                .variant()
        };
        let writes = Hints { read_only: Some(false), ..Hints::default() };
        assert_eq!(weighed("read_file", writes), CallVariant::Write);
        let destroys = Hints { destructive: Some(true), ..Hints::default() };
        assert_eq!(weighed("read_file", destroys), CallVariant::Destructive);
        let reads = Hints { read_only: Some(true), ..Hints::default() };
        assert_eq!(weighed("write_file", reads), CallVariant::Write);
    }

    #[test]
    fn an_account_is_private_and_strangers_write_there() {
        let list = contract(Profile::Private, "list_tickets", r#"{"type":"object"}"#).reply_label().clone();
        assert_eq!(list.classes(), Words::only(DataClass::Confidential).with(DataClass::User));
        assert!(list.untrusted() && !list.open_world());
    }

    #[test]
    fn the_web_is_public_and_a_page_is_read_by_its_address() {
        let fetch = contract(Profile::Public, "fetch_page", URL);
        assert_eq!(fetch.destination(), Possible::only(Destination::Public));
        assert!(!fetch.reply_label().private() && fetch.reply_label().open_world());
    }

    #[test]
    fn no_word_fills_in_an_exit_or_an_engine() {
        for profile in [Profile::Local, Profile::Private, Profile::Public] {
            let sends = contract(profile, "send_email", r#"{"properties":{"to":{"type":"string"}}}"#);
            assert!(sends.destination().contains(Destination::Public) && sends.acts(), "{profile}");
            let runs =
                contract(profile, "execute_command", r#"{"properties":{"command":{"type":"string"}}}"#);
            assert!(runs.destination().contains(Destination::Public) && runs.destroys(), "{profile}");
            assert!(runs.reply_label().untrusted(), "{profile}: a command may fetch what strangers wrote");
        }
    }

    #[test]
    fn what_a_believed_server_says_counts_before_the_word_for_it() {
        let mut claims = Claims::new();
        let hints =
            Hints { read_only: Some(true), destructive: None, idempotent: None, open_world: Some(false) };
        claims.push(Claim::Hints(hints), Authority::DeclaredVerified, "core");
        let shape = ToolShape::read("files", "convert", Some(PATH));
        let trust = ServerTrust::default().believed_if(true);
        let (contract, _) = Contract::profiled(Profile::Private, &shape).weighed(&claims, &trust);
        assert_eq!(contract.destination(), Possible::only(Destination::Ephemeral));
        assert_eq!(contract.outcomes(), Possible::only(Outcome::Benign));
        assert!(contract.reply_label().untrusted(), "a closed world does not say who writes there");
    }
}
