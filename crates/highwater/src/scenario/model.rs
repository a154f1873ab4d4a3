//! A scenario that has been understood: what is left to do is to tell it.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use highwater_config::document::{Document, Json};
use serde_json::{Map, Value, json};

use super::file::expect::{AuditFile, ExpectFile};
use super::file::{Era, Flow, Listing};
use super::script::Script;

/// The client of steps that name none.
pub(crate) const MAIN: &str = "main";

/// A whole story.
pub(crate) struct Scenario {
    /// The file, for complaints about the configuration in it.
    pub(crate) document: Document,
    /// What it shows, in a sentence.
    pub(crate) about: Option<String>,
    /// In which ways it is told; at least one.
    pub(crate) tellings: Vec<Telling>,
    pub(crate) upstreams: Vec<Upstream>,
    pub(crate) clients: BTreeMap<String, ClientSpec>,
    pub(crate) steps: Vec<Step>,
    pub(crate) audit: AuditFile,
}

/// One way of telling it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Telling {
    pub(crate) flow: Option<Flow>,
    pub(crate) era: Option<Era>,
}

/// A server of the story.
pub(crate) enum Upstream {
    /// One of the servers inside the program.
    Example { name: String, which: String, args: Vec<String> },
    /// A scripted one.
    Scripted(Script),
}

/// Somebody who connects.
#[derive(Clone, Debug)]
pub(crate) struct ClientSpec {
    pub(crate) era: Option<Era>,
    pub(crate) virtual_server: Option<String>,
    pub(crate) context: Option<String>,
    /// The token it comes with, if it is not the printed one.
    pub(crate) token: Option<String>,
    /// What it declares that it can do.
    pub(crate) capabilities: Value,
    pub(crate) answers: Vec<Answer>,
}

/// One thing that happens.
pub(crate) struct Step {
    /// Its place in the list of the file.
    pub(crate) index: usize,
    pub(crate) line: usize,
    pub(crate) what: What,
    pub(crate) client: String,
    /// Members for `_meta` of the request.
    pub(crate) meta: Map<String, Value>,
    /// In place of what the client answers otherwise.
    pub(crate) answers: Option<Vec<Answer>>,
    /// The tellings in which alone it happens; everywhere, if empty.
    pub(crate) only: Vec<String>,
    pub(crate) expect: ExpectFile,
}

/// What happens.
#[derive(Clone, Debug)]
pub(crate) enum What {
    Call {
        tool: String,
        arguments: Value,
    },
    Read {
        uri: String,
    },
    GetPrompt {
        name: String,
        arguments: Value,
    },
    Complete {
        reference: Value,
        argument: String,
        value: String,
    },
    List(Listing),
    Resolve {
        tool: String,
        arguments: Value,
    },
    Request {
        method: String,
        params: Value,
    },
    /// The user says something to the agent, which its host tells the gateway.
    Words(String),
    /// A person takes the label of a client's session back.
    Reset {
        client: String,
        reason: String,
    },
    /// The client comes again, as if for the first time.
    NewSession {
        client: String,
    },
    /// Nobody does anything for a while.
    Silence(Duration),
    /// Another configuration, in place of the first.
    Reload,
    /// The gateway ends and starts again on the same data.
    Restart,
}

/// What somebody who is asked says.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Accept(Option<Value>),
    Decline,
    Cancel,
    Sample(String),
    Roots(Vec<String>),
}

// === impl Telling ===

impl Telling {
    /// Whether a word of the matrix is true of it.
    pub(crate) fn is(&self, word: &str) -> bool {
        self.flow.is_some_and(|flow| flow.word() == word) || self.era.is_some_and(|era| era.word() == word)
    }
}

impl fmt::Display for Telling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = [self.flow.map(Flow::word), self.era.map(Era::word)];
        f.write_str(&words.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

// === impl ClientSpec ===

impl Default for ClientSpec {
    /// A client that can be asked everything but to open a page.
    fn default() -> Self {
        let capabilities = json!({ "sampling": {}, "roots": {}, "elicitation": { "form": {} } });
        Self {
            era: None,
            virtual_server: None,
            context: None,
            token: None,
            capabilities,
            answers: Vec::new(),
        }
    }
}

// === impl Flow ===

impl Flow {
    pub(crate) const ALL: [Self; 4] = [Self::Observe, Self::Balanced, Self::Strict, Self::Samos];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Balanced => "balanced",
            Self::Strict => "strict",
            Self::Samos => "samos",
        }
    }
}

// === impl Era ===

impl Era {
    pub(crate) const ALL: [Self; 2] = [Self::Legacy, Self::Modern];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }
}

// === impl Upstream ===

impl Upstream {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Example { name, .. } => name,
            Self::Scripted(script) => &script.name,
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call { tool, .. } => write!(f, "call {tool}"),
            Self::Read { uri } => write!(f, "read {uri}"),
            Self::GetPrompt { name, .. } => write!(f, "get_prompt {name}"),
            Self::Complete { argument, .. } => write!(f, "complete {argument}"),
            Self::List(what) => write!(f, "list {}", what.word()),
            Self::Resolve { tool, .. } => write!(f, "resolve {tool}"),
            Self::Request { method, .. } => write!(f, "request {method}"),
            Self::Words(_) => f.write_str("words"),
            Self::Reset { client, .. } => write!(f, "reset {client}"),
            Self::NewSession { client } => write!(f, "new_session {client}"),
            Self::Silence(time) => write!(f, "silence {} ms", time.as_millis()),
            Self::Reload => f.write_str("reload"),
            Self::Restart => f.write_str("restart"),
        }
    }
}

// === impl Listing ===

impl Listing {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resource_templates",
            Self::Prompts => "prompts",
        }
    }
}

/// The members of an object; nothing else has any.
pub(crate) fn members(json: Option<&Json>) -> Map<String, Value> {
    json.and_then(|json| json.0.as_object().cloned()).unwrap_or_default()
}
