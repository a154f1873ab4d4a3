//! What a host tells of a conversation, in one shape for all hosts.

use std::fmt;

use serde_json::Value;

use crate::host::{HookName, Host};

/// One hook event.
#[derive(Clone, Debug, PartialEq)]
pub struct HostEvent {
    pub host: Host,
    /// The host's own id of the conversation. A sub-agent's events bear the id of the conversation it serves.
    pub conversation: ConversationId,
    /// The prompt that this follows from. Missing before the first prompt.
    pub turn: Option<TurnId>,
    /// The sub-agent in which it happened; nothing in the conversation itself.
    pub agent: Option<Agent>,
    /// Where the host keeps the conversation's transcript.
    pub transcript: Option<String>,
    /// The working directory.
    pub folder: Option<String>,
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum EventKind {
    /// A conversation began, or goes on in some way.
    Start(StartSource),
    /// The conversation is over, for the reason that the host gives.
    End(String),
    /// A prompt was submitted, by the user or not: see [`words`](crate::words).
    Prompt(String),
    /// A tool is about to run.
    Before(ToolCall),
    /// The host is about to ask the user about a tool. It has no call id.
    Permission {
        tool: String,
        input: Value,
    },
    /// A tool has run.
    After(ToolCall, Outcome),
    /// All tools of one answer of the model have run.
    Batch(Vec<(ToolCall, Outcome)>),
    SubagentStart,
    /// The sub-agent is done, with its last message if the host tells it.
    SubagentStop(Option<String>),
    /// A file of instructions entered the context.
    Instructions {
        file: String,
    },
    /// An event of which nothing but its occurrence is used.
    Notice(HookName),
    /// An event that this build does not know.
    Unknown(String),
}

/// How a conversation begins or goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartSource {
    Startup,
    Resume,
    Clear,
    Compact,
    Fork,
    /// A way that this build does not know.
    Unknown(String),
}

/// One tool call, as the host tells it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    pub id: CallId,
    /// The host's name of the tool: `Bash`, `mcp__SERVER__TOOL`.
    pub tool: String,
    /// Always an object.
    pub input: Value,
    /// The MCP server by its name in the host's configuration, where the host says it.
    pub server: Option<String>,
}

/// What came of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Result(Value),
    Failure(String),
}

/// A sub-agent of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Agent {
    pub id: AgentId,
    /// What the host calls this sort of sub-agent.
    pub sort: Option<String>,
}

/// Longer ids than this are garbled: hosts use UUIDs and ids of the model's API.
pub const MAX_ID: usize = 256;

macro_rules! identifier {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// The id, if it is one: neither empty nor too long, without control characters.
            pub fn new(text: &str) -> Option<Self> {
                let fits = !text.is_empty() && text.len() <= MAX_ID && !text.chars().any(char::is_control);
                fits.then(|| Self(text.to_owned()))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }
    };
}

identifier!(
    /// A host's id of a conversation: `session_id`.
    ConversationId
);
identifier!(
    /// A host's id of one prompt and all that follows from it: `prompt_id`, `turn_id`.
    TurnId
);
identifier!(
    /// A host's id of one tool call: `tool_use_id`.
    CallId
);
identifier!(
    /// A host's id of a sub-agent.
    AgentId
);

// === impl EventKind ===

impl EventKind {
    /// What happened, in the hosts' words.
    pub fn name(&self) -> &str {
        match self {
            Self::Start(_) => HookName::SessionStart.name(),
            Self::End(_) => HookName::SessionEnd.name(),
            Self::Prompt(_) => HookName::UserPromptSubmit.name(),
            Self::Before(_) => HookName::PreToolUse.name(),
            Self::Permission { .. } => HookName::PermissionRequest.name(),
            Self::After(_, Outcome::Result(_)) => HookName::PostToolUse.name(),
            Self::After(_, Outcome::Failure(_)) => HookName::PostToolUseFailure.name(),
            Self::Batch(_) => HookName::PostToolBatch.name(),
            Self::SubagentStart => HookName::SubagentStart.name(),
            Self::SubagentStop(_) => HookName::SubagentStop.name(),
            Self::Instructions { .. } => HookName::InstructionsLoaded.name(),
            Self::Notice(hook) => hook.name(),
            Self::Unknown(name) => name,
        }
    }
}

// === impl StartSource ===

impl StartSource {
    pub fn from_name(name: &str) -> Self {
        match name {
            "startup" => Self::Startup,
            "resume" => Self::Resume,
            "clear" => Self::Clear,
            "compact" => Self::Compact,
            "fork" => Self::Fork,
            other => Self::Unknown(other.to_owned()),
        }
    }
}

// === impl ToolCall ===

/// Hosts shorten tool names about here, in ways of their own.
const SHORTENED: usize = 60;

/// How much of a shortened name is surely the original's.
const UNSHORTENED: usize = 40;

impl ToolCall {
    /// Whether this is a call of that tool at the MCP server with that name in the host's configuration.
    ///
    /// The host's name is made and compared, not split: both parts may contain the separator. Names that are
    /// so long that the host may have shortened them are compared by how they begin.
    pub fn calls(&self, server: &str, tool: &str) -> bool {
        let full = format!("mcp__{}__{}", plain(server), plain(tool));
        if full.len() < SHORTENED {
            return self.tool == full;
        }
        let given = self.tool.as_bytes();
        given.len() >= UNSHORTENED && given.get(..UNSHORTENED) == full.as_bytes().get(..UNSHORTENED)
    }

    /// Whether this is a call of any tool of that MCP server.
    pub fn is_at(&self, server: &str) -> bool {
        self.tool.starts_with(&format!("mcp__{}__", plain(server)))
    }
}

/// A name as hosts write it into the name of a tool.
fn plain(name: &str) -> String {
    let keep = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    name.chars().map(|character| if keep(character) { character } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(tool: &str) -> ToolCall {
        ToolCall { id: CallId::new("c").unwrap(), tool: tool.into(), input: Value::Null, server: None }
    }

    #[test]
    fn ids_are_short_and_printable() {
        assert!(TurnId::new("").is_none());
        assert!(TurnId::new("a\nb").is_none());
        assert!(TurnId::new(&"x".repeat(MAX_ID + 1)).is_none());
        assert_eq!(TurnId::new("d31a9fce").unwrap().as_str(), "d31a9fce");
    }

    #[test]
    fn a_tool_is_known_by_server_and_name_together() {
        assert!(call("mcp__highwater__mail__send").calls("highwater", "mail__send"));
        assert!(!call("mcp__highwater__mail__send").calls("highwater", "send"));
        assert!(!call("mcp__other__mail__send").calls("highwater", "mail__send"));
        assert!(!call("Bash").is_at("highwater"));
        assert!(call("mcp__plugin_highwater_highwater__x").calls("plugin:highwater:highwater", "x"));
    }

    #[test]
    fn a_shortened_name_is_compared_by_its_beginning() {
        let long = "a_tool_with_a_name_that_goes_on_for_much_longer_than_any_host_takes";
        assert!(call("mcp__highwater__a_tool_with_a_name_that_goes_on_4f2a").calls("highwater", long));
        assert!(!call("mcp__highwater__another_tool_altogether_whose_name_is_long").calls("highwater", long));
    }
}
