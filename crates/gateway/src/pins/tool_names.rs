//! Which tools each server has, and which names that people wrote name none of them. A misspelt name in a label or an
//! allow-list would otherwise be a setting that is silently not there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use highwater_core::grant::{ServerScope, ToolPattern};
use highwater_core::id::UpstreamId;
use highwater_notation::suggest::nearest;
use highwater_pins::visible;
use serde::ser::{Serialize, SerializeStruct, Serializer};

/// Which tools each server has: a definition that names those of another is looked at before it is approved, and a
/// pattern that fits none of them is most likely misspelt.
#[derive(Debug, Default)]
pub(crate) struct ToolNames {
    servers: RwLock<BTreeMap<UpstreamId, BTreeSet<Arc<str>>>>,
    written: RwLock<WrittenPatterns>,
    /// What the log has said.
    told: Mutex<BTreeSet<UnknownName>>,
}

/// The patterns of tools that people wrote where no single server is meant.
#[derive(Debug, Default)]
pub(crate) struct WrittenPatterns {
    /// The servers in use. One that has not listed its tools yet may have what is named.
    pub(crate) servers: BTreeSet<UpstreamId>,
    pub(crate) patterns: Vec<WrittenPattern>,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct WrittenPattern {
    /// Where it is written, for people.
    pub(crate) place: String,
    pub(crate) pattern: ToolPattern,
    /// The servers of which it speaks.
    pub(crate) among: ServerScope,
}

/// A name that somebody wrote and that names nothing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnknownName {
    name: String,
    /// Where it is written.
    place: String,
    /// What it should name: `tool` or `prompt`.
    kind: &'static str,
    /// What was probably meant.
    nearest: Option<String>,
}

// === impl ToolNames ===

impl ToolNames {
    /// Takes down the tools of a server. Whether some of them were not known: what others say may be of them.
    pub(super) fn note(&self, server: &UpstreamId, tools: BTreeSet<Arc<str>>) -> bool {
        let mut servers = self.servers.write().unwrap_or_else(PoisonError::into_inner);
        let is_news = servers.get(server).is_none_or(|known| !tools.is_subset(known)) && !tools.is_empty();
        servers.insert(server.clone(), tools);
        is_news
    }

    /// Whether this is what clients or their servers call a tool of another server than this one.
    pub(super) fn is_of_another(&self, server: &UpstreamId, name: &str) -> bool {
        let all = self.servers.read().unwrap_or_else(PoisonError::into_inner);
        if all.get(server).is_some_and(|own| own.contains(name)) {
            return false;
        }
        all.iter().filter(|(other, _)| *other != server).any(|(other, tools)| {
            let own = name.strip_prefix(other.as_str()).and_then(|rest| rest.strip_prefix("__"));
            tools.contains(name) || own.is_some_and(|own| tools.contains(own))
        })
    }

    /// Takes up the patterns that are written now.
    pub(crate) fn expect(&self, written: WrittenPatterns) {
        *self.written.write().unwrap_or_else(PoisonError::into_inner) = written;
        self.tell();
    }

    /// Says once of each pattern that it fits nothing, and again if it ceased to be so and came back.
    pub(super) fn tell(&self) {
        let unknown: BTreeSet<UnknownName> = self.unknown().into_iter().map(|(name, _)| name).collect();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        for name in unknown.difference(&told) {
            tracing::warn!("{name}");
        }
        *told = unknown;
    }

    /// The patterns that fit no tool of any server, each with the servers of which it speaks. While one of those has not
    /// listed its tools nothing is said.
    pub(crate) fn unknown(&self) -> Vec<(UnknownName, Vec<UpstreamId>)> {
        let known = self.servers.read().unwrap_or_else(PoisonError::into_inner);
        let written = self.written.read().unwrap_or_else(PoisonError::into_inner);
        let mut unknown = Vec::new();
        for WrittenPattern { place, pattern, among } in &written.patterns {
            let meant = |server: &&UpstreamId| among.covers(server) && pattern.speaks_of(server);
            let meant: Vec<&UpstreamId> = written.servers.iter().filter(meant).collect();
            let listed: Option<Vec<_>> =
                meant.iter().map(|server| Some((*server, known.get(*server)?))).collect();
            let Some(listed) = listed else { continue };
            let mut tools =
                listed.iter().flat_map(|(server, tools)| tools.iter().map(move |tool| (*server, tool)));
            if tools.clone().any(|(server, tool)| pattern.fits(server, tool)) {
                continue;
            }
            let mut candidates: Vec<String> = Vec::new();
            match pattern.as_str().contains(':') {
                true => candidates.extend(tools.map(|(server, tool)| format!("{server}:{tool}"))),
                false => candidates.extend(tools.by_ref().map(|(_, tool)| tool.to_string())),
            }
            let name = UnknownName::new(
                pattern.as_str(),
                place.clone(),
                "tool",
                candidates.iter().map(String::as_str),
            );
            unknown.push((name, meant.into_iter().cloned().collect()));
        }
        unknown
    }
}

// === impl UnknownName ===

impl UnknownName {
    /// A name that is none of these.
    pub(crate) fn new<'n>(
        name: &str,
        place: String,
        kind: &'static str,
        candidates: impl IntoIterator<Item = &'n str>,
    ) -> Self {
        // What a pattern was meant to fit cannot be told by its letters.
        let nearest = (!name.contains(['*', '?'])).then(|| nearest(name, candidates)).flatten();
        Self { name: name.to_owned(), place, kind, nearest: nearest.map(str::to_owned) }
    }
}

/// One line: a server chose the name that is suggested.
impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, place, kind, nearest } = self;
        write!(f, "`{}` in {place} names no {kind}", one_line(name))?;
        match nearest {
            Some(nearest) => write!(f, "; did you mean `{}`?", one_line(nearest)),
            None => Ok(()),
        }
    }
}

impl Serialize for UnknownName {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut members = to.serialize_struct("UnknownName", 4)?;
        members.serialize_field("name", &self.name)?;
        members.serialize_field("place", &self.place)?;
        match &self.nearest {
            Some(nearest) => members.serialize_field("nearest", nearest)?,
            None => members.skip_field("nearest")?,
        }
        members.serialize_field("says", &self.to_string())?;
        members.end()
    }
}

fn one_line(text: &str) -> String {
    visible(text).chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(servers: &[&str], patterns: &[&str]) -> ToolNames {
        let names = ToolNames::default();
        names.expect(WrittenPatterns {
            servers: servers.iter().map(|server| UpstreamId::new(*server)).collect(),
            patterns: patterns
                .iter()
                .map(|pattern| WrittenPattern {
                    place: "`tools` of token `bot`".to_owned(),
                    pattern: ToolPattern::new(pattern).expect("short"),
                    among: ServerScope::All,
                })
                .collect(),
        });
        names
    }

    fn list(names: &ToolNames, server: &str, tools: &[&str]) {
        names.note(&UpstreamId::new(server), tools.iter().map(|tool| Arc::from(*tool)).collect());
    }

    fn said(names: &ToolNames) -> Vec<String> {
        names.unknown().iter().map(|(name, _)| name.to_string()).collect()
    }

    #[test]
    fn a_pattern_that_fits_nothing_is_told_with_the_nearest_name() {
        let names = names(&["files", "mail"], &["read_flie", "mail:sned", "send", "list_*", "mail:*"]);
        assert_eq!(said(&names), [""; 0], "nothing has been listed yet");
        list(&names, "mail", &["send"]);
        assert_eq!(
            said(&names),
            ["`mail:sned` in `tools` of token `bot` names no tool; did you mean `mail:send`?"],
            "the others may be tools of the server that is still to come"
        );
        list(&names, "files", &["read_file"]);
        assert_eq!(
            said(&names),
            [
                "`read_flie` in `tools` of token `bot` names no tool; did you mean `read_file`?",
                "`mail:sned` in `tools` of token `bot` names no tool; did you mean `mail:send`?",
                "`list_*` in `tools` of token `bot` names no tool",
            ]
        );
        list(&names, "files", &["read_flie", "list_files"]);
        assert_eq!(said(&names).len(), 1, "it has them now");
    }

    #[test]
    fn a_suggestion_is_one_line_whatever_a_server_calls_its_tools() {
        let name = UnknownName::new("read", "`labels`".to_owned(), "tool", ["re\nad"]);
        assert!(!name.to_string().contains('\n'), "{name}");
    }
}
