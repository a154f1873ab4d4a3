//! A doubt about a file: what a gate and a question are told of the mark that casts it.

use std::sync::Arc;

/// A mark of doubt on what a call would run or hand on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Doubt {
    /// The mark and the call that left it last: who says yes to one text of a file has not said it to the next.
    pub id: Arc<str>,
    /// What it is on, for people; what another agent wrote is not named.
    pub name: Option<Arc<str>>,
}

// === impl Doubt ===

impl Doubt {
    /// The mark that casts it.
    pub fn mark(&self) -> &str {
        self.id.split_once('@').map_or(&*self.id, |(mark, _)| mark)
    }

    /// That the marks cannot be read, so that there may be any.
    pub fn unread() -> Self {
        Self { id: "unread".into(), name: Some("files whose marks cannot be read now".into()) }
    }
}
