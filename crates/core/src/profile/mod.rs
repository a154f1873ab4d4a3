//! One word for a whole server, and what can be told without believing it: what a tool does, from its definition; what
//! an SQL text does; what a path is.
//!
//! A profile fills in what nobody said of a server's tools, with the operator's authority. It says where a server
//! stands, not what each of its tools does, so it never fills in an exit or an engine: those are told by
//! [`ToolShape`], which errs towards finding one.
//!
//! | profile | arguments go to | outcome where no hint says | replies hold | integrity |
//! |---|---|---|---|---|
//! | `local` | `user` | benign for a reading name, else consequential | `confidential` | `tool` |
//! | `private` | `user` | the same | `confidential`, `user` | `none` |
//! | `public` | `public` | the same | nothing private | `none`, open world |
//! | `unknown` | as the unknown contract says | | | |
//!
//! A tool that sends goes to `public` under every profile, and one that runs what it is given is irreversible as well.
//! A reading name makes benign only where neither applies: see [`ToolShape::only_reads`].

mod command_reach;
mod local_act;
pub mod never_free;
pub mod path_source;
pub mod sql;
mod tool_shape;
mod word_list;

pub use command_reach::{Reach, reach};
pub use local_act::{LocalAct, Named, NamedThings, Places};
pub use tool_shape::{
    ArgumentType, ArgumentTypes, Engine, Exit, InferredRoles, Naming, ToolShape, UsesFiles, Walk,
};

use highwater_notation::vocabulary;

use crate::trust::TrustLevel;

vocabulary! {
    /// What a server is to its user. Listed from the one whose tools are trusted with most.
    Profile {
        /// Things of this machine: files, repositories, local databases.
        Local = "local",
        /// An account of the user's, where strangers may write too: mail, chat, tickets.
        Private = "private",
        /// The web, and whatever else anybody can read and write.
        Public = "public",
        /// Nobody said.
        Unknown = "unknown",
    }
}

// === impl Profile ===

impl Profile {
    /// What a server is, by two plain questions: whether anybody but the user can put text there, and whether it can
    /// send anything off this machine.
    pub fn of_answers(strangers_write: bool, sends: bool) -> Self {
        match (strangers_write, sends) {
            (false, false) => Self::Local,
            (true, true) => Self::Public,
            (true, false) | (false, true) => Self::Private,
        }
    }

    /// What a server's own replies are worth where nobody believes what it says of itself.
    pub fn replies(self) -> TrustLevel {
        match self {
            Self::Local => TrustLevel::Tool,
            Self::Private | Self::Public | Self::Unknown => TrustLevel::None,
        }
    }
}
