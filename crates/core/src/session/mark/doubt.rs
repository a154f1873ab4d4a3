//! Files that were written in doubt: in a session that had read strangers' text, and nobody has looked at them since. To
//! write them asks nobody; to run them or to hand them on does.

use std::sync::Arc;

use super::{Mark, MarkKind, Name, Named};
use crate::id::Principal;

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
    /// The doubt that a mark casts on files in one of these folders, or on files anywhere where nobody can tell which folders
    /// are meant.
    pub fn of(mark: &Mark, folders: Option<&[Name]>, reader: &Principal) -> Option<Self> {
        if !mark.label.untrusted() || !is_on_file_in(mark, folders) {
            return None;
        }
        let name = (mark.by.principal == *reader).then(|| mark.thing.words().into());
        Some(Self { id: Self::id_of(mark), name })
    }

    /// What a doubt is called that a mark casts as it is now.
    pub fn id_of(mark: &Mark) -> Arc<str> {
        format!("{}@{}", mark.id, mark.by.decision).into()
    }

    /// The mark that casts it.
    pub fn mark(&self) -> &str {
        self.id.split_once('@').map_or(&*self.id, |(mark, _)| mark)
    }

    /// That the marks cannot be read, so that there may be any.
    pub fn unread() -> Self {
        Self { id: "unread".into(), name: Some("files whose marks cannot be read now".into()) }
    }
}

fn is_on_file_in(mark: &Mark, folders: Option<&[Name]>) -> bool {
    match mark.thing.kind {
        MarkKind::Object => {
            let named = Named::from_text(&mark.thing.name);
            let mut paths = named.of_kind(Named::PATH);
            match folders {
                None => paths.next().is_some(),
                Some(folders) => paths.any(|path| folders.iter().any(|folder| folder.meets(path))),
            }
        }
        // They stand for files that nobody remembers one by one.
        MarkKind::Tool | MarkKind::Server => true,
        MarkKind::Content | MarkKind::Resource | MarkKind::Task | MarkKind::Links => false,
    }
}
