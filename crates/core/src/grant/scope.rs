//! Which servers and which tools a token reaches.

use std::collections::BTreeSet;
use std::fmt;

use highwater_notation::Glob;
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize, Serializer};

use crate::id::UpstreamId;

/// Servers, by the operator's names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ServerScope {
    /// All, also those that are configured later; written `*`.
    All,
    /// These.
    Only(BTreeSet<UpstreamId>),
}

/// Tools, by globs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum ToolScope {
    /// All.
    #[default]
    All,
    /// Those that one of these fits.
    Only(Box<[ToolPattern]>),
}

/// A glob over tools, by their servers' own names: `get_*` at every server, `github:get_*` at one. What stands before
/// the first colon is a glob over servers.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ToolPattern {
    written: Box<str>,
    server: Option<Glob>,
    tool: Glob,
}

/// The word for all servers, or all tools.
const ALL: &str = "*";

// === impl ServerScope ===

impl ServerScope {
    /// These servers alone.
    pub fn only(servers: impl IntoIterator<Item = UpstreamId>) -> Self {
        Self::Only(servers.into_iter().collect())
    }

    /// Reads a list of names, in which `*` stands for all.
    pub fn of_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let names: BTreeSet<UpstreamId> = names.into_iter().map(UpstreamId::new).collect();
        if names.iter().any(|name| name.as_str() == ALL) { Self::All } else { Self::Only(names) }
    }

    /// Whether the server is among them.
    pub fn covers(&self, server: &UpstreamId) -> bool {
        match self {
            Self::All => true,
            Self::Only(servers) => servers.contains(server),
        }
    }

    /// The names, `*` for all.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Self::All => vec![ALL],
            Self::Only(servers) => servers.iter().map(UpstreamId::as_str).collect(),
        }
    }
}

impl Serialize for ServerScope {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.names())
    }
}

impl<'de> Deserialize<'de> for ServerScope {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let names = Vec::<String>::deserialize(from)?;
        Ok(Self::of_names(names.iter().map(String::as_str)))
    }
}

// === impl ToolScope ===

impl ToolScope {
    /// What one of these fits.
    pub fn only(patterns: impl IntoIterator<Item = ToolPattern>) -> Self {
        Self::Only(patterns.into_iter().collect())
    }

    /// Whether one of the globs fits the tool, by its server's own name.
    pub fn covers(&self, server: &UpstreamId, own: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(patterns) => patterns.iter().any(|pattern| pattern.fits(server, own)),
        }
    }

    /// The globs as written; nothing where there is no list.
    pub fn patterns(&self) -> Option<impl Iterator<Item = &str>> {
        match self {
            Self::All => None,
            Self::Only(patterns) => Some(patterns.iter().map(ToolPattern::as_str)),
        }
    }
}

impl Serialize for ToolScope {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.patterns() {
            Some(patterns) => to.collect_seq(patterns),
            None => to.serialize_none(),
        }
    }
}

impl<'de> Deserialize<'de> for ToolScope {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Some(written) = Option::<Vec<String>>::deserialize(from)? else { return Ok(Self::All) };
        let patterns = written.iter().map(|text| {
            ToolPattern::new(text).ok_or_else(|| de::Error::custom(format_args!("`{text}` is too long")))
        });
        Ok(Self::Only(patterns.collect::<Result<_, _>>()?))
    }
}

// === impl ToolPattern ===

impl ToolPattern {
    /// Reads a pattern; `None` if it is too long.
    pub fn new(written: &str) -> Option<Self> {
        let (server, tool) = match written.split_once(':') {
            Some((server, tool)) => (Some(Glob::new(server)?), tool),
            None => (None, written),
        };
        Some(Self { written: written.into(), server, tool: Glob::new(tool)? })
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// Whether it may fit tools of this server.
    pub fn speaks_of(&self, server: &UpstreamId) -> bool {
        self.server.as_ref().is_none_or(|glob| glob.matches(server.as_str()))
    }

    /// Whether it fits a tool, by its server's own name.
    pub fn fits(&self, server: &UpstreamId, own: &str) -> bool {
        self.speaks_of(server) && self.tool.matches(own)
    }
}

impl fmt::Display for ToolPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

impl fmt::Debug for ToolPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.written)
    }
}
