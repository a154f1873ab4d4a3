//! Which client a server asked to send a person to a page. That the page has been dealt with may be said long after the
//! call, on a connection that clients share.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use highwater_core::id::UpstreamId;
use highwater_mcp::text::{elements, member, string_member};

/// How many pages are remembered.
const MAX_PAGES: usize = 1024;

/// The pages that clients were asked to open.
#[derive(Default)]
pub(crate) struct AskedPages {
    /// Whose page it is, its server's id for it, and the number of the session that was asked.
    pages: Mutex<VecDeque<(UpstreamId, String, u64)>>,
}

// === impl AskedPages ===

impl AskedPages {
    /// Remembers who was asked, if this asks for a page: the parameters of an elicitation, or an entry of the error that
    /// says that a page has to be visited first.
    pub(crate) fn note(&self, upstream: &UpstreamId, elicitation: &str, session: u64) {
        let Some(id) = string_member(elicitation, "elicitationId") else { return };
        let mut pages = self.pages();
        if pages.len() >= MAX_PAGES {
            pages.pop_front();
        }
        pages.push_back((upstream.clone(), id.into_owned(), session));
    }

    /// Remembers who was told of these pages, by the error that says that they have to be visited first.
    pub(crate) fn note_error(&self, upstream: &UpstreamId, error: &str, session: u64) {
        let pages = member(error, "data").and_then(|data| member(data, "elicitations"));
        for page in pages.into_iter().flat_map(elements).take(MAX_PAGES) {
            self.note(upstream, page, session);
        }
    }

    /// The session that was asked last to open this page.
    pub(crate) fn session(&self, upstream: &UpstreamId, id: &str) -> Option<u64> {
        let pages = self.pages();
        pages.iter().rev().find(|(asking, known, _)| asking == upstream && known == id).map(|(.., of)| *of)
    }

    fn pages(&self) -> MutexGuard<'_, VecDeque<(UpstreamId, String, u64)>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_known_by_its_server_and_its_id() {
        let (bank, shop) = (UpstreamId::new("bank"), UpstreamId::new("shop"));
        let pages = AskedPages::default();
        pages.note(&bank, r#"{"mode":"url","elicitationId":"e1"}"#, 1);
        pages.note_error(&bank, r#"{"code":-32042,"data":{"elicitations":[{"elicitationId":"e2"}]}}"#, 2);
        pages.note(&bank, r#"{"mode":"form"}"#, 3);
        assert_eq!(pages.session(&bank, "e1"), Some(1));
        assert_eq!(pages.session(&bank, "e2"), Some(2));
        assert_eq!(pages.session(&shop, "e1"), None);
        for number in 0..MAX_PAGES {
            pages.note(&shop, &format!(r#"{{"elicitationId":"{number}"}}"#), 4);
        }
        assert_eq!(pages.session(&bank, "e1"), None, "the oldest give way");
    }
}
