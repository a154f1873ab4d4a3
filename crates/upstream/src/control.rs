//! What we say to a server in our own name. A closed list that holds no client text.

use std::collections::HashSet;

use bytes::Bytes;
use highwater_mcp::text::string_member;

/// A message of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlMessage {
    /// Ask for a whole list, all pages.
    List(ListKind),
    /// Ask again what it says of itself. If that is something else, the conversation is over, and the next use meets it
    /// anew. A child, and a session that the server still knows, are what they were.
    Greet,
    /// Ask for its signed manifest (SEP-3140).
    Manifest,
    /// Ask whether it is alive (legacy: `ping`; modern: `server/discover`).
    Ping,
    /// The most verbose log level any client asked for (legacy only; modern carries it on each request).
    LogLevel(LogLevel),
}

/// The lists of MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ListKind {
    /// `tools/list`
    Tools,
    /// `prompts/list`
    Prompts,
    /// `resources/list`
    Resources,
    /// `resources/templates/list`
    ResourceTemplates,
}

/// The levels of RFC 5424 that MCP uses, least severe first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// `debug`
    Debug,
    /// `info`
    Info,
    /// `notice`
    Notice,
    /// `warning`
    Warning,
    /// `error`
    Error,
    /// `critical`
    Critical,
    /// `alert`
    Alert,
    /// `emergency`
    Emergency,
}

/// The answer to a control message.
#[derive(Clone, Debug)]
pub enum ControlReply {
    /// A whole list.
    Listing(Listing),
    /// The signed manifest, as JSON text.
    Manifest(Bytes),
    /// Understood.
    Done,
}

/// A whole list, its pages joined in order.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// Each item as the server wrote it.
    pub items: Vec<Bytes>,
    /// Members of the list results besides the items, the cursor and the era's own fields: name and JSON text,
    /// first page first, a name once.
    pub rest: Vec<(String, Bytes)>,
    /// For how many milliseconds the server says that it holds.
    pub ttl: Option<u64>,
}

// === impl Listing ===

impl Listing {
    /// Whether the server said the same, byte for byte.
    pub fn says_the_same(&self, other: &Self) -> bool {
        self.items == other.items && self.rest == other.rest
    }

    /// Adds the items of another listing that go by names which are not here.
    pub(crate) fn add_missing(&mut self, kind: ListKind, other: Self) {
        let name = |item: &Bytes| {
            let text = std::str::from_utf8(item).ok()?;
            string_member(text, kind.name_member()).map(|name| name.into_owned())
        };
        let known: HashSet<String> = self.items.iter().filter_map(name).collect();
        self.items.extend(
            other.items.into_iter().filter(|item| name(item).is_some_and(|name| !known.contains(&name))),
        );
    }
}

// === impl ListKind ===

impl ListKind {
    /// The method that asks for it.
    pub fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::ResourceTemplates => "resources/templates/list",
        }
    }

    /// The capability a server declares that has such a list.
    pub fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources | Self::ResourceTemplates => "resources",
        }
    }

    /// The member of an item that holds its name.
    pub(crate) fn name_member(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::ResourceTemplates => "uriTemplate",
        }
    }

    /// The member of the result that holds the items.
    pub fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resourceTemplates",
        }
    }
}

// === impl LogLevel ===

impl LogLevel {
    /// All levels, least severe first.
    pub const ALL: [LogLevel; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    /// The level's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }

    /// Reads a level's name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == text)
    }
}
