//! What was written keeps its label: on the thing that a call named, or, where it named none, on the content.
//!
//! A mark is left by one conversation on one thing. Whoever reads the thing takes the mark's label over. Of what another
//! agent wrote nothing else is told.

mod doubt;
mod index;
mod name;
mod print;
mod words;

use std::sync::Arc;

pub use doubt::{doubt_id, doubt_of};
pub use index::{MarkIndex, Reading};
pub use name::{Name, Named};
pub use print::{PrintKey, PrintSet, Prints, ReadPrints};

use highwater_core::id::{DecisionId, Principal, SessionKey, UpstreamId};
use highwater_core::label::Label;
use highwater_core::trust::TrustLevel;
use highwater_notation::{Timestamp, vocabulary};

vocabulary! {
    /// What a mark is on.
    MarkKind {
        /// The thing that a call named.
        Object = "object",
        /// What a call wrote, where it named nothing.
        Content = "content",
        /// A resource that a reply gave out, by its URI.
        Resource = "resource",
        /// A task that an earlier call started.
        Task = "task",
        /// Everything that a tool may have written: what marks there was no room for.
        Tool = "tool",
        /// Every resource that a tool may have given out: what marks there was no room for.
        Links = "links",
        /// All that a server keeps.
        Server = "server",
    }
}

/// What is marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thing {
    /// The server that keeps it.
    pub upstream: UpstreamId,
    /// What it is.
    pub kind: MarkKind,
    /// What it is called: names, a URI, a task's id, a tool; nothing where it has no name.
    pub name: Arc<str>,
    /// By what it is known again.
    pub prints: Prints,
}

/// Who left a mark, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writer {
    /// In which conversation.
    pub session: SessionKey,
    /// For whom.
    pub principal: Principal,
    /// With which tool or method, by its server's own name.
    pub tool: Arc<str>,
    /// In which call.
    pub decision: DecisionId,
    /// When it was first left.
    pub at: Timestamp,
}

/// A label on a stored thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// What people call it.
    pub id: Arc<str>,
    /// What it is on.
    pub thing: Thing,
    /// What it says.
    pub label: Label,
    /// Who left it.
    pub by: Writer,
}

// === impl Thing ===

impl Thing {
    /// What a call names, with the fingerprints of what it writes there.
    pub fn object(upstream: UpstreamId, named: &Named, prints: Prints) -> Self {
        Self { upstream, kind: MarkKind::Object, name: named.to_text().into(), prints }
    }

    /// What a call writes without naming anything.
    pub fn content(upstream: UpstreamId, prints: Prints) -> Self {
        Self { upstream, kind: MarkKind::Content, name: Arc::default(), prints }
    }

    /// A resource that is given out.
    pub fn resource(upstream: UpstreamId, uri: &str) -> Self {
        Self {
            upstream,
            kind: MarkKind::Resource,
            name: Name::new(uri).as_str().into(),
            prints: Prints::default(),
        }
    }

    /// A task that was started. Its id is a handle, minted by the server and handed back as it is.
    pub fn task(upstream: UpstreamId, id: &str) -> Self {
        Self { upstream, kind: MarkKind::Task, name: id.into(), prints: Prints::default() }
    }

    /// All that a server keeps.
    pub fn server(upstream: UpstreamId) -> Self {
        Self { upstream, kind: MarkKind::Server, name: Arc::default(), prints: Prints::default() }
    }

    /// What stands for this mark where there is no room for it: one on the tool that left it.
    #[must_use]
    pub fn without_room(&self, tool: &str) -> Self {
        let kind = match self.kind {
            MarkKind::Resource | MarkKind::Task | MarkKind::Links => MarkKind::Links,
            MarkKind::Object | MarkKind::Content | MarkKind::Tool | MarkKind::Server => MarkKind::Tool,
        };
        Self { upstream: self.upstream.clone(), kind, name: tool.into(), prints: Prints::default() }
    }

    /// For people.
    pub fn words(&self) -> String {
        match self.kind {
            MarkKind::Object => Named::from_text(&self.name).words(),
            MarkKind::Content => "a text".to_owned(),
            MarkKind::Resource | MarkKind::Task => (*self.name).to_owned(),
            MarkKind::Tool => format!("what `{}` wrote", self.name),
            MarkKind::Links => format!("what `{}` gave out", self.name),
            MarkKind::Server => "everything".to_owned(),
        }
    }
}

// === impl Mark ===

impl Mark {
    /// What a reading agent takes over: of another's mark no more is told than that it is another's.
    pub fn label_for(&self, reader: &Principal) -> Label {
        if self.by.principal == *reader { self.label.clone() } else { self.label.of_another() }
    }
}

/// What a call leaves on a thing that it writes in a session of this label: nothing that says something of the session
/// alone. Where a person has seen and approved exactly what was written, its text is not a stranger's any more.
pub fn left_by_write(session: &Label, seen_by_person: bool) -> Label {
    let left = private_part(session);
    if seen_by_person {
        return left;
    }
    let left = left.with_integrity(session.integrity()).with_sources(session.sources());
    let left = if session.open_world() { left.with_open_world() } else { left };
    if session.malicious() { left.with_malicious() } else { left }
}

/// What is left of that where a thing is known by its content alone: what was said of another text is not said of it.
pub fn left_in_content(left: &Label) -> Label {
    private_part(left).with_integrity(left.integrity())
}

/// Whether a label says nothing that whoever reads the thing would have to know.
pub fn says_nothing(left: &Label) -> bool {
    !left.private()
        && left.integrity() == TrustLevel::Owner
        && left.scopes().is_empty()
        && left.names().is_empty()
}

fn private_part(label: &Label) -> Label {
    Label::bottom()
        .with_names(label.names())
        .with_classes_of(label)
        .with_scopes(label.scopes())
        .with_origins(label.origins())
}

#[cfg(test)]
mod tests;
