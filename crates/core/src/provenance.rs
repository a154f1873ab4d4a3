//! Where the arguments of a call come from, as far as gates look at it.
//!
//! Only the answer stands here. The crate `provenance` finds it out, from what a conversation has said and read; a
//! call of which nobody found it out is judged by the label alone.

use std::sync::Arc;

use highwater_notation::vocabulary;
use serde::{Deserialize, Serialize};

use crate::annotation::{ArgumentRole, ClassSet};
use crate::id::DecisionId;

vocabulary! {
    /// How far a value is vouched for. A call stands as its weakest argument does.
    Standing {
        /// By nobody.
        Unfounded = "unfounded",
        /// It is the id of something that a reply listed.
        Listed = "listed",
        /// A reply that no stranger could write says it.
        Known = "known",
        /// The user's words say it, or name the one thing that it is of.
        Wanted = "wanted",
    }
}

vocabulary! {
    /// What a standing rests on.
    Ground {
        /// Nothing.
        Nothing = "nothing",
        /// A record that a reply listed.
        Record = "record",
        /// A reply that no stranger could write.
        TrustedReply = "trusted-reply",
        /// What a search listed, verbatim.
        SearchHit = "search-hit",
        /// The reply to a lookup by the user's own words.
        Lookup = "lookup",
        /// What an act that was permitted in this request made or took.
        OwnAct = "own-act",
        /// A call that a person approved in this request.
        Approved = "approved",
        /// The operator's directory.
        Directory = "directory",
        /// One of the user's own addresses or accounts.
        Identity = "identity",
        /// The user's words.
        Words = "words",
    }
}

vocabulary! {
    /// What a call needs to count as asked for, and does not have.
    Need {
        /// A target, an object or the URL of a page that is vouched for.
        Value = "value",
        /// Content in which every address, host, account and long number is vouched for.
        Carrier = "carrier",
        /// A name, a title or a search that is made of the user's words.
        Name = "name",
        /// The word of an act that destroys.
        Destroys = "destroys",
        /// A word for this kind of act.
        Act = "act",
        /// The word of a flag that widens what is done.
        Widens = "widens",
        /// An amount that the user, or something that they named, says.
        Amount = "amount",
        /// A secret that the user gave.
        Secret = "secret",
        /// A one-time code that belongs to an act of this conversation.
        Proof = "proof",
        /// The nouns, states and numbers of a call that has nothing else.
        Bare = "bare",
    }
}

vocabulary! {
    /// Whom a given name in the user's words may stand for.
    People {
        /// The one person of that name whom the operator's directory holds.
        Directory = "directory",
        /// Also the one address of that name that a platform wrote into a record of this conversation.
        Attested = "attested",
    }
}

/// How the records in the replies of a tool are read (`labels.TOOL.records`). What is empty is taken by the usual
/// names: `id` and `*_id`; `name`, `title`, `subject`, `filename` and `*_name`; and nothing is attested.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordShape {
    /// What they are records of; tools that list the same things name the same kind.
    pub kind: Option<Arc<str>>,
    /// The field that tells them apart.
    pub id: Option<Arc<str>>,
    /// The fields by which people name them.
    pub names: Vec<Arc<str>>,
    /// The fields that the platform writes, not an author: sender, owner, participants.
    pub attested: Vec<Arc<str>>,
}

/// What was found out of one argument. It never holds the value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArgumentStanding {
    /// The place in the arguments, as a JSON pointer.
    pub pointer: Arc<str>,
    /// What the argument decides.
    pub role: ArgumentRole,
    /// How far its value is vouched for.
    pub standing: Standing,
    /// By what.
    pub ground: Ground,
    /// The call in whose reply it stands, where the ground is a reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<DecisionId>,
}

/// One thing that a call lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lack {
    /// What is missing.
    pub need: Need,
    /// Of which argument; nothing where it is the call itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<Arc<str>>,
}

/// What a call could take to where it goes, beyond what its words say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Carries {
    /// Anything that the conversation has read.
    Anything,
    /// What these stored things hold, of which nothing but the name is in the call.
    Things(ClassSet),
    /// Nothing: every value is a flag, a small number or the user's own word. Credentials and regulated data are not
    /// excused by that.
    Nothing,
}

/// Where everything in one call comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallProvenance {
    /// Whether this conversation tells the user's words.
    pub has_words: bool,
    /// What was found out of each argument that was looked at.
    pub arguments: Vec<ArgumentStanding>,
    /// What is missing for the act to count as asked for.
    pub lacks: Vec<Lack>,
    /// The same where only what is wanted counts.
    pub lacks_strictly: Vec<Lack>,
    /// Whether there is a target, and the user named every one.
    pub audience_wanted: bool,
    /// What it could take along.
    pub carries: Carries,
}

// === impl CallProvenance ===

impl CallProvenance {
    /// How far the call is vouched for: as its weakest argument is.
    pub fn standing(&self) -> Standing {
        self.arguments.iter().map(|argument| argument.standing).min().unwrap_or(Standing::Wanted)
    }
}
