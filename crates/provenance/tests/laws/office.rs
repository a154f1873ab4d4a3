//! A conversation of an office: mail, files, events, payments, chat and the web, with the labels that an operator gives.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::sync::Arc;

use highwater_core::annotation::{ArgumentRole, ClassSet, DataClass, Destination, Outcome};
use highwater_core::id::{DecisionId, UpstreamId};
use highwater_core::provenance::{CallProvenance, Carries, Need, People, RecordShape};
use highwater_provenance::{Body, Call, Directory, Evidence, Reply, stand};
use serde_json::{Value, json};

use ArgumentRole::{Content, Name, Object, Proof, Query, Scalar, Secret, Target};

/// A tool as the operator labels it.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) destination: Destination,
    pub(crate) outcome: Outcome,
    pub(crate) roles: &'static [(&'static str, ArgumentRole)],
}

const fn tool(
    name: &'static str,
    destination: Destination,
    outcome: Outcome,
    roles: &'static [(&'static str, ArgumentRole)],
) -> Tool {
    Tool { name, destination, outcome, roles }
}

/// Everything that can be called here.
pub(crate) static TOOLS: &[Tool] = &[
    tool("list_emails", Destination::Ephemeral, Outcome::Benign, &[("limit", Query)]),
    tool("list_files", Destination::Ephemeral, Outcome::Benign, &[("limit", Query)]),
    tool("list_events", Destination::Ephemeral, Outcome::Benign, &[]),
    tool("list_payments", Destination::Ephemeral, Outcome::Benign, &[]),
    tool("list_channels", Destination::Ephemeral, Outcome::Benign, &[]),
    tool("find_contact", Destination::Ephemeral, Outcome::Benign, &[("name", Query)]),
    tool("read_page", Destination::Public, Outcome::Benign, &[("url", Target)]),
    tool("search_web", Destination::Public, Outcome::Benign, &[("query", Query)]),
    tool("read_file", Destination::Ephemeral, Outcome::Benign, &[("path", Query)]),
    tool(
        "send_email",
        Destination::Public,
        Outcome::Irreversible,
        &[("to", Target), ("subject", Content), ("body", Content)],
    ),
    tool(
        "post_message",
        Destination::Internal,
        Outcome::Irreversible,
        &[("channel", Target), ("text", Content)],
    ),
    tool(
        "share_file",
        Destination::Public,
        Outcome::Consequential,
        &[("file_id", Object), ("email", Target), ("role", Scalar)],
    ),
    tool("delete_file", Destination::User, Outcome::Irreversible, &[("file_id", Object)]),
    tool("move_file", Destination::User, Outcome::Consequential, &[("path", Object)]),
    tool(
        "append_to_file",
        Destination::User,
        Outcome::Consequential,
        &[("file_id", Object), ("content", Content)],
    ),
    tool("create_file", Destination::User, Outcome::Consequential, &[("title", Name), ("content", Content)]),
    tool("cancel_event", Destination::User, Outcome::Irreversible, &[("event_id", Object)]),
    tool(
        "pay",
        Destination::Public,
        Outcome::Irreversible,
        &[("account", Target), ("amount", Scalar), ("recurring", Scalar)],
    ),
    tool("change_password", Destination::User, Outcome::Irreversible, &[("password", Secret)]),
    tool("confirm_code", Destination::User, Outcome::Consequential, &[("code", Proof)]),
    tool("set_lamp", Destination::User, Outcome::Consequential, &[("state", Scalar), ("level", Scalar)]),
    tool("sell_stock", Destination::Public, Outcome::Irreversible, &[("count", Scalar)]),
];

/// A conversation.
#[derive(Clone)]
pub(crate) struct Talk {
    pub(crate) evidence: Evidence,
    pub(crate) server: UpstreamId,
    pub(crate) holds_private: bool,
    replies: usize,
    turns: usize,
}

impl Talk {
    /// One whose host tells the words, of `me@home.example` and nobody else.
    pub(crate) fn new() -> Self {
        Self::of(Directory::new(["me@home.example", "DE89 3704 0044 0532 0130 00"], People::Directory))
    }

    pub(crate) fn of(directory: Directory) -> Self {
        let mut evidence = Evidence::new(Arc::new(directory));
        evidence.brings_words();
        Self { evidence, server: UpstreamId::new("office"), holds_private: false, replies: 0, turns: 0 }
    }

    /// What the user types in a turn of its own.
    pub(crate) fn say(mut self, words: &str) -> Self {
        self.turns += 1;
        self.evidence.words(&format!("t{}", self.turns), words);
        self
    }

    /// The conversation holds something private.
    pub(crate) fn private(mut self) -> Self {
        self.holds_private = true;
        self
    }

    pub(crate) fn with<T>(&self, tool: &str, arguments: &Value, look: impl FnOnce(&Call<'_>) -> T) -> T {
        let known = TOOLS.iter().find(|known| known.name == tool).expect("a tool of the office");
        let role = |pointer: &str| {
            let first = pointer.split('/').next().unwrap_or(pointer);
            known.roles.iter().find(|(name, _)| *name == first).map(|(_, role)| *role)
        };
        look(&Call {
            server: &self.server,
            tool,
            description: None,
            arguments,
            role: &role,
            schema: None,
            destination: known.destination,
            outcome: known.outcome,
            destructive: false,
            caps: &[],
        })
    }

    /// A reply to a call; where it is no JSON it is prose.
    pub(crate) fn read(mut self, trusted: bool, tool: &str, arguments: &Value, text: &str) -> Self {
        self.replies += 1;
        let decision = DecisionId::new(format!("d{}", self.replies));
        let body = json!({ "content": [{ "type": "text", "text": text }] }).to_string();
        let mut evidence = self.evidence.clone();
        self.with(tool, arguments, |call| {
            evidence.reply(&Reply {
                decision,
                call,
                trusted,
                failed: false,
                classes: ClassSet::only(DataClass::Confidential),
                records: shape(tool),
                body: Body::Result(body.as_str().into()),
            });
        });
        self.evidence = evidence;
        self
    }

    /// What anybody could have written.
    pub(crate) fn strangers(self, tool: &str, reply: &Value) -> Self {
        self.read(false, tool, &json!({}), &reply.to_string())
    }

    /// What no stranger could write.
    pub(crate) fn trusted(self, tool: &str, reply: &Value) -> Self {
        self.read(true, tool, &json!({}), &reply.to_string())
    }

    /// A call that was permitted and sent.
    pub(crate) fn acted(mut self, tool: &str, arguments: &Value) -> Self {
        let mut evidence = self.evidence.clone();
        self.with(tool, arguments, |call| evidence.acted(call));
        self.evidence = evidence;
        self
    }

    /// A call to which a person said yes.
    pub(crate) fn approved(mut self, tool: &str, arguments: &Value) -> Self {
        let mut evidence = self.evidence.clone();
        self.with(tool, arguments, |call| evidence.approved(call));
        self.evidence = evidence;
        self
    }

    pub(crate) fn stand(&self, tool: &str, arguments: &Value) -> CallProvenance {
        self.with(tool, arguments, |call| stand(&self.evidence, call, self.holds_private))
    }

    /// What the call lacks.
    pub(crate) fn lacks(&self, tool: &str, arguments: &Value) -> Vec<Need> {
        self.stand(tool, arguments).lacks.into_iter().map(|lack| lack.need).collect()
    }

    /// Whether the call counts as asked for.
    pub(crate) fn is_asked(&self, tool: &str, arguments: &Value) -> bool {
        self.stand(tool, arguments).lacks.is_empty()
    }
}

fn shape(tool: &str) -> Option<Arc<RecordShape>> {
    let (kind, names, attested): (&str, &[&str], &[&str]) = match tool {
        "list_emails" => ("email", &["subject"], &["sender"]),
        "list_files" => ("file", &["filename"], &["owner"]),
        "list_events" => ("event", &["title"], &["participants"]),
        "list_payments" => ("payment", &["subject"], &["account"]),
        "list_channels" => ("channel", &[], &[]),
        _ => return None,
    };
    let all = |names: &[&str]| names.iter().map(|name| Arc::from(*name)).collect();
    Some(Arc::new(RecordShape {
        kind: Some(kind.into()),
        id: None,
        names: all(names),
        attested: all(attested),
    }))
}

/// How much a call could take along, as a number.
pub(crate) fn weight(carries: Carries) -> u8 {
    match carries {
        Carries::Nothing => 0,
        Carries::Things(_) => 1,
        Carries::Anything => 2,
    }
}

/// Whether a call of this standing is never let through where one of the other is not.
pub(crate) fn is_no_milder(one: &CallProvenance, other: &CallProvenance) -> bool {
    let has_all = |some: &[highwater_core::provenance::Lack], all: &[highwater_core::provenance::Lack]| {
        some.iter().all(|lack| all.contains(lack))
    };
    has_all(&other.lacks, &one.lacks)
        && has_all(&other.lacks_strictly, &one.lacks_strictly)
        && one.audience_wanted <= other.audience_wanted
        && weight(one.carries) >= weight(other.carries)
}
