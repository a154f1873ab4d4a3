//! The words of the judgement as the operator writes them. Core reads the same words from servers, more
//! leniently; here a misspelt one is an error.

use std::fmt;

use highwater_core::annotation::{
    ApprovalWish, ArgumentRole, Confidentiality, DataClass, Destination, Outcome, Source,
};
use highwater_core::decide::FlowFloor;
use highwater_core::grant::{AcceptedWords, Forms, Permission};
use highwater_core::profile::Profile;
use highwater_core::provenance::People;
use highwater_core::trust::TrustLevel;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};

/// Declares words of the file and what they are in core.
macro_rules! words {
    (
        $(#[$doc:meta])* $name:ident as $schema:literal means $core:ident {
            $( $(#[$word_doc:meta])* $word:ident, )+
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase")]
        #[schemars(rename = $schema)]
        pub(crate) enum $name { $( $(#[$word_doc])* $word, )+ }

        impl From<$name> for $core {
            fn from(word: $name) -> Self {
                match word { $( $name::$word => Self::$word, )+ }
            }
        }
    };
}

/// A level of trust, lowest first. Capitals do not matter; `any` is `none` and `full` is `owner`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[schemars(rename = "trust_level", rename_all = "camelCase")]
pub(crate) enum TrustWord {
    /// Anyone may have written it.
    None,
    /// A server that you stand for.
    Tool,
    /// Another agent.
    Agent,
    /// The system the agent runs in.
    System,
    /// The person who uses the agent.
    User,
    /// The person who answers for the installation.
    Owner,
}

words! {
    /// What a server is to you.
    ProfileWord as "profile" means Profile {
        /// Things of this machine: files, repositories, local databases.
        Local,
        /// An account of yours, where others may write, too: mail, chat, tickets.
        Private,
        /// The web, and whatever else anybody can read or write.
        Public,
        /// Nothing is said.
        Unknown,
    }
}

words! {
    /// SAMOS' two levels of confidentiality.
    ConfidentialityWord as "confidentiality" means Confidentiality {
        /// Public.
        Low,
        /// Not public.
        High,
    }
}

words! {
    /// Where arguments may end up.
    DestinationWord as "destination" means Destination {
        /// Nothing is kept.
        Ephemeral,
        /// The platform keeps it; neither users nor developers see it.
        System,
        /// Only the user sees it.
        User,
        /// A restricted audience inside the organisation sees it.
        Internal,
        /// Anyone may see it.
        Public,
    }
}

words! {
    /// What a call does to the world.
    OutcomeWord as "outcome" means Outcome {
        /// Nothing that lasts.
        Benign,
        /// Something that others see and that can be taken back.
        Consequential,
        /// Something that cannot be taken back, such as a message sent or data deleted.
        Irreversible,
    }
}

words! {
    /// Where replies come from.
    SourceWord as "source" means Source {
        /// The platform itself.
        System,
        /// Data of the user.
        User,
        /// Systems of the organisation.
        Internal,
        /// Public sources that somebody vouches for.
        TrustedPublic,
        /// Text that anyone may have written.
        UntrustedPublic,
    }
}

words! {
    /// Whether a person must agree to every call, whatever the session has read.
    ApprovalWord as "approval" means ApprovalWish {
        /// No.
        None,
        /// A person confirms each call.
        Confirm,
        /// A passkey signs each call.
        Passkey,
    }
}

words! {
    /// What an argument decides.
    RoleWord as "argument_role" means ArgumentRole {
        /// Who or what is reached: an address, an account, a URL.
        Target,
        /// What is acted on: a file, a record, an identifier.
        Object,
        /// What is said: a body, a message.
        Content,
        /// What something new is called: a title, the name of a file.
        Name,
        /// A number, a date, a switch.
        Scalar,
        /// What is looked for.
        Query,
        /// A password or a key.
        Secret,
        /// A one-time code.
        Proof,
        /// What shows the server that it has seen the agent before, such as `session_token`.
        Session,
    }
}

words! {
    /// Who vouches for the addresses of people whom you name.
    PeopleWord as "people" means People {
        /// The directory alone.
        Directory,
        /// Also a field that a server itself writes, in whatever conversation: then somebody who calls himself by the name
        /// of a person whom you mean may be taken for them.
        Attested,
    }
}

words! {
    /// A class of data.
    ClassWord as "data_class" means DataClass {
        /// Data of the user.
        User,
        /// Data about identifiable people.
        Pii,
        /// Data about money.
        Financial,
        /// Secrets that open something.
        Credentials,
        /// Data under a regulation.
        Regulated,
        /// Private data of no named class.
        Confidential,
        /// Data of which nobody said what it is.
        Unclassified,
    }
}

/// Calls that a token grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(rename = "permission")]
pub(crate) enum PermissionWord {
    /// Calls of tools that only look, and everything that is read.
    #[serde(rename = "call_tool_read", alias = "read")]
    Read,
    /// Calls of tools that change something, or of which nobody says what they do.
    #[serde(rename = "call_tool_write", alias = "write")]
    Write,
    /// Calls of tools that destroy something or cannot be undone.
    #[serde(rename = "call_tool_destructive", alias = "destructive")]
    Destructive,
    /// Searching for tools.
    #[serde(rename = "retrieve_tools")]
    Retrieve,
}

/// The least that a token's calls are judged with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "flow_floor")]
pub(crate) enum FloorWord {
    /// At least as in `flow: balanced`.
    Balanced,
    /// At least as in `flow: strict`.
    Strict,
}

/// Who answers the forms that a token's clients are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "forms")]
pub(crate) enum FormsWord {
    /// A person: what they answer there counts.
    Person,
    /// Nobody can tell: people are asked on the page alone.
    Never,
}

/// Whose words the prompts of a token's clients are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "words")]
pub(crate) enum AcceptedWord {
    /// What you type.
    Owner,
    /// That, and what programs of yours start the client with.
    Sdk,
    /// Nobody's: those who write there are strangers, such as the users of a bot.
    None,
}

/// Whether calls are judged by where their arguments come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "provenance")]
pub(crate) enum ProvenanceWord {
    /// By that and by what was read.
    On,
    /// By what was read alone.
    Off,
}

impl From<AcceptedWord> for AcceptedWords {
    fn from(word: AcceptedWord) -> Self {
        match word {
            AcceptedWord::Owner => Self::Owner,
            AcceptedWord::Sdk => Self::Sdk,
            AcceptedWord::None => Self::None,
        }
    }
}

impl From<FormsWord> for Forms {
    fn from(word: FormsWord) -> Self {
        match word {
            FormsWord::Person => Self::Person,
            FormsWord::Never => Self::Never,
        }
    }
}

impl From<PermissionWord> for Permission {
    fn from(word: PermissionWord) -> Self {
        match word {
            PermissionWord::Read => Self::Read,
            PermissionWord::Write => Self::Write,
            PermissionWord::Destructive => Self::Destructive,
            PermissionWord::Retrieve => Self::Retrieve,
        }
    }
}

impl From<FloorWord> for FlowFloor {
    fn from(word: FloorWord) -> Self {
        match word {
            FloorWord::Balanced => Self::Balanced,
            FloorWord::Strict => Self::Strict,
        }
    }
}

// === impl TrustWord ===

impl<'de> Deserialize<'de> for TrustWord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LevelVisitor;

        const WORDS: &[&str] = &["none", "tool", "agent", "system", "user", "owner"];

        impl Visitor<'_> for LevelVisitor {
            type Value = TrustWord;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a level of trust")
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<TrustWord, E> {
                TrustLevel::parse(word).map(TrustWord::from).ok_or_else(|| E::unknown_variant(word, WORDS))
            }
        }

        deserializer.deserialize_str(LevelVisitor)
    }
}

impl From<TrustLevel> for TrustWord {
    fn from(level: TrustLevel) -> Self {
        match level {
            TrustLevel::None => Self::None,
            TrustLevel::Tool => Self::Tool,
            TrustLevel::Agent => Self::Agent,
            TrustLevel::System => Self::System,
            TrustLevel::User => Self::User,
            TrustLevel::Owner => Self::Owner,
        }
    }
}

impl From<TrustWord> for TrustLevel {
    fn from(word: TrustWord) -> Self {
        match word {
            TrustWord::None => Self::None,
            TrustWord::Tool => Self::Tool,
            TrustWord::Agent => Self::Agent,
            TrustWord::System => Self::System,
            TrustWord::User => Self::User,
            TrustWord::Owner => Self::Owner,
        }
    }
}
