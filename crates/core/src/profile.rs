//! The operator's one word for a whole server, what its tools do beyond it, and which acts stay on this machine.
//!
//! A profile fills in what nobody said of a server's tools, with the operator's authority. It says where a server
//! stands, not what each of its tools does, so it never fills in an exit or an engine: those are [`ToolActs`], which the
//! crate `profile` tells from definitions and which errs towards finding one.
//!
//! | profile | arguments go to | outcome where no hint says | replies hold | integrity |
//! |---|---|---|---|---|
//! | `local` | `user` | benign for a reading name, else consequential | `confidential` | `tool` |
//! | `private` | `user` | the same | `confidential`, `user` | `none` |
//! | `public` | `public` | the same | nothing private | `none`, open world |
//! | `unknown` | as the unknown contract says | | | |
//!
//! A tool that sends goes to `public` under every profile, and one that runs what it is given is irreversible as well.
//! A reading name makes benign only where neither applies: see [`ToolActs::only_reads`].

use highwater_notation::vocabulary;

use crate::annotation::{Contract, Destination};
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

/// Whether what a call changes stays on this machine and can be undone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LocalAct {
    /// It may leave, or cannot be undone, or nobody knows.
    #[default]
    No,
    /// It stays, and can be undone.
    Undoable,
    /// It would change Highwater's own files, or what makes a host ask it.
    OurFiles,
}

vocabulary! {
    /// What a call names, as far as it matters to whether its act is free. It is on record, so that the call can be judged
    /// once more without its arguments.
    #[derive(Default)]
    Named {
        /// Nothing that it acts on, or nobody looked.
        #[default]
        Nothing = "nothing",
        /// Something that is run or loaded unasked, or that cannot be told.
        Guarded = "guarded",
        /// Things of which none is guarded.
        Things = "things",
        /// Files of which each lies in a project.
        InProjects = "in_projects",
        /// A file of Highwater's own, or what makes a host ask it.
        Ours = "ours",
    }
}

/// By what a tool sends its arguments to somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendsBy {
    /// By a word of its name.
    Name,
    /// By an argument that is a URL, a host or the like.
    Url,
    /// By an argument that is an address, a channel or an account.
    Address,
    /// Its arguments could not be read, so that one of them may be anything.
    UnknownArguments,
}

/// By what a tool runs what it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunsBy {
    /// By an argument that is SQL.
    Sql,
    /// By a word of its name.
    Name,
    /// By an argument that is a command, code, or a query of something that cannot be looked at.
    Code,
    /// Its arguments could not be read, so that one of them may be anything.
    UnknownArguments,
}

/// What a tool does beyond what its server is, as far as its definition tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolActs {
    /// Whether its name is a reading one. That alone makes nothing benign: see [`only_reads`](Self::only_reads).
    pub reads_by_name: bool,
    /// By what it sends something, if it may.
    pub sends: Option<SendsBy>,
    /// By what it runs something, if it may.
    pub runs: Option<RunsBy>,
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

// === impl ToolActs ===

impl ToolActs {
    /// Whether the name is a reading one, nothing is sent and nothing is run.
    pub fn only_reads(self) -> bool {
        self.reads_by_name && self.sends.is_none() && self.runs.is_none()
    }
}

// === impl LocalAct ===

impl LocalAct {
    /// Judges a call of a tool that does this and names this, at a server of this profile, under its contract for these
    /// arguments.
    pub fn judge(profile: Profile, tool: ToolActs, contract: &Contract, named: Named) -> Self {
        if !contract.acts() {
            return Self::No;
        }
        let can_be_undone = match named {
            Named::Ours => return Self::OurFiles,
            Named::Nothing | Named::Guarded => false,
            Named::Things => contract.is_known_to_be_undoable(),
            Named::InProjects => true,
        };
        let stays = profile == Profile::Local
            && contract.destination().is_only(Destination::User)
            && tool.sends.is_none()
            && tool.runs.is_none();
        if stays && can_be_undone { Self::Undoable } else { Self::No }
    }
}
