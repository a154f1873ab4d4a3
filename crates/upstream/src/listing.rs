//! The pages of a list, joined as they come, with a bound on how many there may be.

use std::collections::HashSet;

use bytes::Bytes;
use highwater_mcp::error_code::METHOD_NOT_FOUND;
use highwater_mcp::frame::{Frame, FrameKind};
use highwater_mcp::text::{elements, integer, is_array, is_null, members, quote, unquote};

use crate::control::{ListKind, Listing};
use crate::error::Cause;
use crate::greeting::code;

/// No honest list has more pages.
const MAX_PAGES: usize = 1000;
/// The members of a list result that are the era's, not the list's.
const ERA_FIELDS: [&str; 4] = ["nextCursor", "resultType", "ttlMs", "cacheScope"];

/// A list in the making.
pub(crate) struct Pages {
    kind: ListKind,
    listing: Listing,
    cursor: Option<String>,
    seen: HashSet<String>,
    taken: usize,
    bytes: usize,
    max_bytes: usize,
}

// === impl Pages ===

impl Pages {
    pub(crate) fn new(kind: ListKind, max_bytes: usize) -> Self {
        Self {
            kind,
            listing: Listing::default(),
            cursor: None,
            seen: HashSet::new(),
            taken: 0,
            bytes: 0,
            max_bytes,
        }
    }

    /// The parameters that ask for the next page.
    pub(crate) fn next_params(&self) -> Option<String> {
        self.cursor.as_deref().map(|cursor| format!(r#"{{"cursor":{}}}"#, quote(cursor)))
    }

    /// Takes a page; true if there is another.
    pub(crate) fn take(&mut self, page: &Frame) -> Result<bool, Cause> {
        let method = self.kind.method();
        if page.kind() == FrameKind::Error {
            return match code(page) {
                // It has no such list after all.
                Some(METHOD_NOT_FOUND) => Ok(false),
                Some(code) => Err(Cause::Malformed(format!("it answered `{method}` with error {code}"))),
                None => Err(Cause::Malformed(format!("it answered `{method}` with an error"))),
            };
        }
        self.bytes = self.bytes.saturating_add(page.bytes().len());
        if self.bytes > self.max_bytes {
            return Err(Cause::TooLarge { limit: self.max_bytes });
        }
        let items = page
            .result_member(self.kind.member())
            .filter(|items| is_array(items))
            .ok_or_else(|| Cause::Malformed(format!("its answer to `{method}` holds no list")))?;
        if page.result_member("resultType").is_some_and(|kind| unquote(kind).as_deref() != Some("complete")) {
            return Err(Cause::Malformed(format!("its answer to `{method}` is not complete")));
        }
        self.listing.items.extend(elements(items).map(|item| page.slice(item)));
        if let Some(ttl) = page.result_member("ttlMs").and_then(integer) {
            // It holds for no longer than any of its pages; what is below nothing is nothing.
            let ttl = u64::try_from(ttl).unwrap_or(0);
            self.listing.ttl = Some(self.listing.ttl.map_or(ttl, |known| known.min(ttl)));
        }
        self.take_rest(page);
        self.taken += 1;
        self.cursor = match page.result_member("nextCursor") {
            None => None,
            Some(cursor) if is_null(cursor) => None,
            Some(cursor) => Some(
                unquote(cursor)
                    .ok_or_else(|| Cause::Malformed(format!("the cursor of its `{method}` is no text")))?
                    .into_owned(),
            ),
        };
        let Some(cursor) = &self.cursor else { return Ok(false) };
        if !self.seen.insert(cursor.clone()) {
            return Err(Cause::Malformed(format!("its `{method}` goes round in circles")));
        }
        if self.taken == MAX_PAGES {
            return Err(Cause::Malformed(format!("its `{method}` has more than {MAX_PAGES} pages")));
        }
        Ok(true)
    }

    pub(crate) fn finish(self) -> Listing {
        self.listing
    }

    fn take_rest(&mut self, page: &Frame) {
        for (name, value) in members(page.result().unwrap_or_default()) {
            let known = name == self.kind.member()
                || ERA_FIELDS.contains(&&*name)
                || self.listing.rest.iter().any(|(taken, _)| *taken == name);
            if !known {
                let value: Bytes = page.slice(value);
                self.listing.rest.push((name.into_owned(), value));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use highwater_mcp::scan::ScanRules;

    use super::*;

    fn page(result: &str) -> Frame {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
        Frame::parse(Bytes::from(text), &ScanRules::FROM_SERVER).unwrap()
    }

    #[test]
    fn pages_are_joined_in_order_and_nothing_is_lost() {
        let mut pages = Pages::new(ListKind::Tools, 1 << 20);
        assert_eq!(pages.next_params(), None);
        assert_eq!(
            pages.take(&page(
                r#"{"tools":[{"name":"a", "x":1e2}],"nextCursor":"p\"2","ttlMs":1,"extra":[1]}"#
            )),
            Ok(true)
        );
        assert_eq!(pages.next_params().unwrap(), r#"{"cursor":"p\"2"}"#);
        assert_eq!(
            pages.take(&page(r#"{"tools":[{"name":"b"}],"extra":[2],"more":null,"nextCursor":null}"#)),
            Ok(false)
        );
        let listing = pages.finish();
        assert_eq!(listing.items, [r#"{"name":"a", "x":1e2}"#, r#"{"name":"b"}"#]);
        let rest: Vec<(&str, &[u8])> = listing.rest.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(rest, [("extra", &b"[1]"[..]), ("more", b"null")]);
        assert_eq!(listing.ttl, Some(1));
    }

    #[test]
    fn a_list_that_goes_round_in_circles_is_stopped() {
        let mut pages = Pages::new(ListKind::Prompts, 1 << 20);
        assert_eq!(pages.take(&page(r#"{"prompts":[],"nextCursor":"x"}"#)), Ok(true));
        assert!(matches!(pages.take(&page(r#"{"prompts":[],"nextCursor":"x"}"#)), Err(Cause::Malformed(_))));
    }

    #[test]
    fn a_list_without_end_is_stopped() {
        let mut pages = Pages::new(ListKind::Prompts, 1 << 20);
        let taken = (0..2 * MAX_PAGES)
            .take_while(|n| pages.take(&page(&format!(r#"{{"prompts":[],"nextCursor":"{n}"}}"#))).is_ok())
            .count();
        assert_eq!(taken, MAX_PAGES - 1);
        let mut pages = Pages::new(ListKind::Prompts, 10);
        assert_eq!(pages.take(&page(r#"{"prompts":[]}"#)), Err(Cause::TooLarge { limit: 10 }));
    }

    #[test]
    fn a_server_that_does_not_know_the_method_has_an_empty_list() {
        let error = |code: i32| {
            let text = format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":{code},"message":"?"}}}}"#);
            Frame::parse(Bytes::from(text), &ScanRules::FROM_SERVER).unwrap()
        };
        let mut pages = Pages::new(ListKind::Resources, 1 << 20);
        assert_eq!(pages.take(&error(-32601)), Ok(false));
        assert!(pages.take(&error(-32603)).is_err());
    }
}
