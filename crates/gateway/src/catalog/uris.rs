//! Resource URIs as clients see them: `alias+scheme://…`, which can be undone, or as they are where the operator
//! wants no prefixes.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use highwater_core::id::UpstreamId;
use highwater_mcp::edit::{Edit, edit_object};
use highwater_mcp::text::{elements, member, quote, string_member};
use memchr::memmem::Finder;

use highwater_config::Prefix;

/// Prepared once: building a finder costs more than searching a short reply.
static URI: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"uri\""));
static ESCAPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\\u"));

/// Which word stands for which upstream in a URI.
#[derive(Clone, Debug)]
pub(crate) struct Schemes {
    prefix: Prefix,
    words: BTreeMap<String, UpstreamId>,
    /// URIs that more than one upstream lists.
    collisions: BTreeSet<String>,
}

// === impl Schemes ===

impl Schemes {
    pub(crate) fn new<'a>(
        prefix: Prefix,
        upstreams: impl Iterator<Item = &'a UpstreamId>,
        collisions: BTreeSet<String>,
    ) -> Self {
        let mut words = BTreeMap::new();
        for upstream in upstreams {
            let mut word = scheme_word(upstream.as_str());
            // `a_b` and `a.b` cannot both be aliases of one word; the later one is told apart by a number.
            while words.contains_key(&word) {
                word.push('2');
            }
            words.insert(word, upstream.clone());
        }
        Self { prefix, words, collisions }
    }

    /// Whether this URI of an upstream gets a prefix.
    fn prefixes(&self, uri: &str) -> bool {
        match self.prefix {
            Prefix::Always => true,
            Prefix::OnCollision => self.collisions.contains(uri),
            Prefix::Never => false,
        }
    }

    /// Whether no URI at all gets a prefix.
    fn leaves_all(&self) -> bool {
        match self.prefix {
            Prefix::Always => false,
            Prefix::OnCollision => self.collisions.is_empty(),
            Prefix::Never => true,
        }
    }

    /// The URI, or URI template, as the client sees it.
    pub(crate) fn outward<'a>(&self, upstream: &UpstreamId, uri: &'a str) -> Cow<'a, str> {
        if !self.prefixes(uri) {
            return Cow::Borrowed(uri);
        }
        let word = self.words.iter().find(|(_, known)| *known == upstream).map(|(word, _)| word);
        word.map_or(Cow::Borrowed(uri), |word| Cow::Owned(format!("{word}+{uri}")))
    }

    /// The upstream and its own URI behind what the client sent, if a prefix says so.
    pub(crate) fn inward<'a>(&self, uri: &'a str) -> Option<(UpstreamId, &'a str)> {
        let (word, rest) = uri.split_once('+')?;
        // URL parsers write schemes in lower case.
        let upstream = self.words.get(&word.to_ascii_lowercase())?;
        self.prefixes(rest).then(|| (upstream.clone(), rest))
    }

    /// Rewrites the URIs of content blocks and resource contents in a result. Nothing else is touched.
    pub(crate) fn rewrite_result<'a>(&self, upstream: &UpstreamId, result: &'a str) -> Cow<'a, str> {
        // A key may be written with escapes, so their absence is part of the shortcut.
        let mentions = |needle: &Finder<'_>| needle.find(result.as_bytes()).is_some();
        if self.leaves_all() || !(mentions(&URI) || mentions(&ESCAPE)) {
            return Cow::Borrowed(result);
        }
        self.rewritten(upstream, result)
    }

    #[inline(never)]
    fn rewritten<'a>(&self, upstream: &UpstreamId, result: &'a str) -> Cow<'a, str> {
        let rewritten = [
            ("content", member(result, "content").map(|blocks| self.blocks(upstream, blocks))),
            ("contents", member(result, "contents").map(|items| self.items(upstream, items))),
            ("messages", member(result, "messages").map(|messages| self.messages(upstream, messages))),
        ];
        let edits: Vec<(&str, Edit<'_>)> = rewritten
            .iter()
            .filter_map(|(key, value)| value.as_deref().map(|value| (*key, Edit::Set(value))))
            .collect();
        if edits.is_empty() { Cow::Borrowed(result) } else { Cow::Owned(edit_object(result, &edits)) }
    }

    fn blocks(&self, upstream: &UpstreamId, blocks: &str) -> String {
        array(blocks, |block| self.block(upstream, block))
    }

    fn block<'a>(&self, upstream: &UpstreamId, block: &'a str) -> Cow<'a, str> {
        match string_member(block, "type").as_deref() {
            Some("resource_link") => self.uri_of(upstream, block),
            Some("resource") => match member(block, "resource") {
                Some(resource) => {
                    let resource = self.uri_of(upstream, resource);
                    Cow::Owned(edit_object(block, &[("resource", Edit::Set(&resource))]))
                }
                None => Cow::Borrowed(block),
            },
            _ => Cow::Borrowed(block),
        }
    }

    fn items(&self, upstream: &UpstreamId, items: &str) -> String {
        array(items, |item| self.uri_of(upstream, item))
    }

    fn messages(&self, upstream: &UpstreamId, messages: &str) -> String {
        array(messages, |message| match member(message, "content") {
            Some(block) if block.starts_with('{') => {
                let block = self.block(upstream, block);
                Cow::Owned(edit_object(message, &[("content", Edit::Set(&block))]))
            }
            _ => Cow::Borrowed(message),
        })
    }

    /// An object with its own `uri` rewritten.
    pub(crate) fn uri_of<'a>(&self, upstream: &UpstreamId, object: &'a str) -> Cow<'a, str> {
        self.text_member(upstream, object, "uri")
    }

    /// An object with the URI in one of its members rewritten.
    pub(crate) fn text_member<'a>(&self, upstream: &UpstreamId, object: &'a str, key: &str) -> Cow<'a, str> {
        match string_member(object, key) {
            Some(uri) if self.prefixes(&uri) => {
                let outward = quote(&self.outward(upstream, &uri));
                Cow::Owned(edit_object(object, &[(key, Edit::Set(&outward))]))
            }
            _ => Cow::Borrowed(object),
        }
    }
}

/// A word that may stand in front of a URI: lower case, a letter first, no underscore.
fn scheme_word(alias: &str) -> String {
    let word: String = alias.chars().map(|c| if c == '_' { '.' } else { c.to_ascii_lowercase() }).collect();
    if word.starts_with(|first: char| first.is_ascii_alphabetic()) { word } else { format!("s.{word}") }
}

/// An array with each element mapped and every byte between the elements kept.
fn array<'a>(raw: &'a str, map: impl Fn(&'a str) -> Cow<'a, str>) -> String {
    let mut out = String::with_capacity(raw.len() + 64);
    let mut copied = 0;
    for element in elements(raw) {
        let start = element.as_ptr() as usize - raw.as_ptr() as usize;
        out.push_str(raw.get(copied..start).unwrap_or_default());
        out.push_str(&map(element));
        copied = start + element.len();
    }
    out.push_str(raw.get(copied..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schemes() -> (Schemes, UpstreamId) {
        let upstream = UpstreamId::new("My_Files");
        (Schemes::new(Prefix::Always, [&upstream].into_iter(), BTreeSet::new()), upstream)
    }

    #[test]
    fn a_uri_goes_out_and_comes_back() {
        let (schemes, upstream) = schemes();
        let outward = schemes.outward(&upstream, "file:///a+b").into_owned();
        assert_eq!(outward, "my.files+file:///a+b");
        assert_eq!(schemes.inward(&outward), Some((upstream.clone(), "file:///a+b")));
        assert_eq!(schemes.inward("MY.FILES+file:///x"), Some((upstream, "file:///x")));
        assert_eq!(schemes.inward("git+ssh://x"), None);
    }

    #[test]
    fn links_and_embedded_resources_are_rewritten_and_nothing_else() {
        let (schemes, upstream) = schemes();
        let text = r#"{"content":[{"type":"text","text":"\"uri\""},{"type":"resource_link","uri":"x:1","k":1},{"type":"resource","resource":{"uri":"x:2","text":""}},{"type":"new","uri":"x:3"}],"structuredContent":{"uri":"x:4"}}"#;
        let expected = text.replace("x:1", "my.files+x:1").replace("x:2", "my.files+x:2");
        assert_eq!(schemes.rewrite_result(&upstream, text), expected);
    }

    #[test]
    fn a_result_without_uris_is_not_copied() {
        let (schemes, upstream) = schemes();
        assert!(matches!(schemes.rewrite_result(&upstream, r#"{"content":[]}"#), Cow::Borrowed(_)));
    }
}
