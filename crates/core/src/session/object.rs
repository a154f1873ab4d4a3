//! Stored things that carry a label: written under one, they give it back when they are read.
//!
//! Names form a tree, as paths do: who writes `notes/plan` has written into `notes`, and who reads `notes` may read
//! the plan. The root is everything a server keeps. So there are two kinds of mark: on the thing itself, and on what
//! is somewhere inside it. A thing that cannot be told is the root.

use std::sync::{Arc, LazyLock};

use crate::annotation::words::vocabulary;
use crate::id::UpstreamId;
use crate::spelling::steps;

vocabulary! {
    /// What kind of name a stored thing has.
    ObjectKind {
        /// A file or record, by the argument that names it.
        Object = "object",
        /// What was written somewhere inside the thing of this name.
        Contents = "contents",
        /// A resource, by its URI.
        Resource = "resource",
        /// A task that an earlier call started.
        Task = "task",
        /// A prompt, by its name.
        Prompt = "prompt",
        /// All that a server keeps: where the object of a write cannot be told. Its name is empty.
        Collection = "collection",
    }
}

/// The name under which a later read will ask for a stored thing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// The server that keeps it.
    pub upstream: UpstreamId,
    /// What kind of name it is.
    pub kind: ObjectKind,
    /// The name itself: a path, a record's id, a URI, a task's id.
    pub identity: Arc<str>,
}

/// The name of what has none, made once: nearly every call asks for the marks of all that its server keeps.
static NAMELESS: LazyLock<Arc<str>> = LazyLock::new(|| "".into());

/// How deep a name may lie. What lies deeper is taken for anything at all.
const DEEPEST: usize = 32;

// === impl ObjectId ===

impl ObjectId {
    /// Names a stored thing. Spellings that a server may take for the same thing become one: two things under one
    /// name share a label, which only adds; one thing under two names would lose it.
    pub fn new(upstream: UpstreamId, kind: ObjectKind, identity: &str) -> Self {
        let identity = match kind {
            ObjectKind::Object | ObjectKind::Contents | ObjectKind::Resource => canonical(identity),
            // Handles: minted by the server and handed back as they are.
            ObjectKind::Task | ObjectKind::Prompt => identity.into(),
            ObjectKind::Collection => "".into(),
        };
        Self { upstream, kind, identity }
    }

    /// All that a server keeps.
    pub fn everything(upstream: UpstreamId) -> Self {
        Self { upstream, kind: ObjectKind::Collection, identity: Arc::clone(&NAMELESS) }
    }

    /// The marks to be set when this is written: on itself, and on the contents of everything it lies in.
    pub fn marks_of_write(&self) -> Vec<Self> {
        if self.is_everything() {
            return vec![Self::everything(self.upstream.clone()), self.named(ObjectKind::Contents, "")];
        }
        let mut marks = vec![self.clone()];
        marks.extend(self.containers().map(|container| self.named(ObjectKind::Contents, container)));
        marks.push(self.named(ObjectKind::Contents, ""));
        marks
    }

    /// The marks to be asked for when this is read: its own, those of what is inside it, and those of everything it
    /// lies in. Whoever reads without a name reads everything.
    pub fn marks_of_read(&self) -> Vec<Self> {
        let everything = Self::everything(self.upstream.clone());
        if self.is_everything() {
            return vec![everything, self.named(ObjectKind::Contents, "")];
        }
        let mut marks = vec![self.clone(), self.named(ObjectKind::Contents, &self.identity)];
        marks.extend(self.containers().map(|container| self.named(self.kind, container)));
        marks.push(everything);
        marks
    }

    /// Whether no name tells it from the rest of what the server keeps.
    fn is_everything(&self) -> bool {
        match self.kind {
            ObjectKind::Collection => true,
            ObjectKind::Object | ObjectKind::Contents | ObjectKind::Resource => {
                self.identity.is_empty() || self.containers().count() > DEEPEST
            }
            ObjectKind::Task | ObjectKind::Prompt => false,
        }
    }

    /// The names this one lies in, the nearest first, without the root. A handle lies in none.
    fn containers(&self) -> impl Iterator<Item = &str> {
        let tree = matches!(self.kind, ObjectKind::Object | ObjectKind::Contents | ObjectKind::Resource);
        let mut rest = if tree { &*self.identity } else { "" };
        std::iter::from_fn(move || {
            rest = rest.rsplit_once('/')?.0;
            Some(rest)
        })
    }

    fn named(&self, kind: ObjectKind, identity: &str) -> Self {
        let identity = if identity.is_empty() { Arc::clone(&NAMELESS) } else { identity.into() };
        Self { upstream: self.upstream.clone(), kind, identity }
    }
}

/// One spelling for what a server may take for one name: no case, no outer space, one kind of slash, no empty steps,
/// no `.`; `..` goes one step up. Unlike [`spelling::canonical`](crate::spelling::canonical) it forgets the root and
/// reads no escapes, since names under which marks are kept must stay what they are.
fn canonical(identity: &str) -> Arc<str> {
    let folded = identity.trim().to_lowercase().replace('\\', "/");
    steps(folded.split('/').map(str::trim)).join("/").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(name: &str) -> ObjectId {
        ObjectId::new(UpstreamId::new("files"), ObjectKind::Object, name)
    }

    fn everything() -> ObjectId {
        ObjectId::everything(UpstreamId::new("files"))
    }

    /// Whether a read of one thing meets the marks that a write of another has set.
    fn reaches(written: &ObjectId, read: &ObjectId) -> bool {
        let marks = written.marks_of_write();
        read.marks_of_read().iter().any(|mark| marks.contains(mark))
    }

    #[test]
    fn what_was_written_is_read_back_under_every_spelling() {
        for spelling in [
            "notes/plan",
            "./notes/plan",
            "/notes//plan/",
            "Notes/PLAN",
            r"notes\plan",
            "notes/x/../plan",
            " notes/plan ",
        ] {
            assert!(reaches(&object("notes/plan"), &object(spelling)), "{spelling}");
            assert!(reaches(&object(spelling), &object("notes/plan")), "{spelling}");
        }
    }

    #[test]
    fn reading_a_folder_reads_what_is_in_it_and_writing_it_writes_all_of_it() {
        assert!(reaches(&object("notes/2027/plan"), &object("notes")));
        assert!(reaches(&object("notes"), &object("notes/2027/plan")));
        assert!(!reaches(&object("notes/2027/plan"), &object("notes/2026")));
        assert!(!reaches(&object("notes"), &object("notebook")));
    }

    #[test]
    fn who_reads_without_a_name_reads_everything() {
        assert!(reaches(&object("notes/plan"), &everything()));
        assert!(reaches(&everything(), &everything()));
    }

    #[test]
    fn a_write_that_cannot_be_told_reaches_every_read() {
        assert!(reaches(&everything(), &object("notes/plan")));
        assert!(reaches(&object(""), &object("notes/plan")));
        assert!(reaches(&object("../.."), &object("notes/plan")));
        let deep = "a/".repeat(100);
        assert!(reaches(&object(&deep), &object("elsewhere")));
        let task = ObjectId::new(UpstreamId::new("files"), ObjectKind::Task, "42");
        assert!(reaches(&everything(), &task));
    }

    #[test]
    fn a_name_holds_at_one_server_and_for_one_kind() {
        let elsewhere = ObjectId::new(UpstreamId::new("mail"), ObjectKind::Object, "notes");
        assert!(!reaches(&object("notes"), &elsewhere));
        let task = ObjectId::new(UpstreamId::new("files"), ObjectKind::Task, "notes");
        assert!(!reaches(&object("notes"), &task));
    }

    #[test]
    fn a_handle_is_taken_as_it_is() {
        let task = |id| ObjectId::new(UpstreamId::new("files"), ObjectKind::Task, id);
        assert_ne!(task("A"), task("a"));
        assert!(!reaches(&task("a/b"), &task("a")));
        assert!(reaches(&task("a/b"), &task("a/b")));
    }
}
