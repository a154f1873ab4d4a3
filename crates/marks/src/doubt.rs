//! Files that were written in doubt: in a session that had read strangers' text, and nobody has looked at them since. To
//! write them asks nobody; to run them or to hand them on does.

use std::sync::Arc;

use highwater_core::id::Principal;
use highwater_core::session::Doubt;

use super::{Mark, MarkKind, Name, Named};

/// The doubt that a mark casts on files in one of these folders, or on files anywhere where nobody can tell which folders
/// are meant.
pub fn doubt_of(mark: &Mark, folders: Option<&[Name]>, reader: &Principal) -> Option<Doubt> {
    if !mark.label.untrusted() || !is_on_file_in(mark, folders) {
        return None;
    }
    let name = (mark.by.principal == *reader).then(|| mark.thing.words().into());
    Some(Doubt { id: doubt_id(mark), name })
}

/// What a doubt is called that a mark casts as it is now.
pub fn doubt_id(mark: &Mark) -> Arc<str> {
    format!("{}@{}", mark.id, mark.by.decision).into()
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
