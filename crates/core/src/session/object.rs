//! Stored things that carry a label: written under one, they give it back when they are read.

use std::sync::Arc;

use crate::annotation::words::vocabulary;
use crate::id::UpstreamId;

vocabulary! {
    /// What kind of name a stored thing has.
    ObjectKind {
        /// A resource, by its URI.
        Resource = "resource",
        /// A file or record, by the argument that names it.
        Object = "object",
        /// A task that an earlier call started.
        Task = "task",
        /// A prompt, by its name.
        Prompt = "prompt",
        /// Everything a tool's writes may have touched, where the object cannot be told.
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

// === impl ObjectId ===

impl ObjectId {
    /// Names a stored thing.
    pub fn new(upstream: UpstreamId, kind: ObjectKind, identity: impl Into<Arc<str>>) -> Self {
        Self { upstream, kind, identity: identity.into() }
    }
}
