//! What a reply says of the data in it: for the whole in `_meta`, for its parts in theirs.
//!
//! Nearly every reply says nothing, and nearly all of a reply is text in which nothing can be said. So the blocks
//! are searched for the few keys that matter and walked only where one of them is.

use std::borrow::Cow;
use std::sync::LazyLock;

use highwater_core::annotation::{Authority, Claims, Notice};
use memchr::memmem::Finder;

use super::heard::{Evidence, Heard, Reading, Subject};
use crate::frame::Frame;
use crate::text::{elements, is_array, is_object, is_string, members, unquote};

/// How deep blocks are nested that mean something: a message, its block, a resource in it, and one to spare. Each
/// level is read again, so the bound keeps the reading linear.
const NESTED: usize = 4;

/// What a reply says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplySays {
    /// What it claims of its data. Only ever tightens.
    pub claims: Claims,
    /// What there is to say about how it claims it.
    pub notices: Vec<Notice>,
    /// Whether a resource is embedded in it, whose contents its server only passes on.
    pub embeds_resource: bool,
    /// The URIs of resources embedded in it or linked from it, as the server names them.
    pub resources: Vec<Box<str>>,
    /// Whether a block carries keys in our name: see [`without_ours_in_blocks`](super::ours::without_ours_in_blocks).
    pub forges: bool,
    /// Records of evidence it refers to, for the audit.
    pub evidence: Vec<Evidence>,
}

/// The members of a result that can say something of its data.
#[derive(Clone, Copy, Default)]
struct Parts<'a> {
    meta: Option<&'a str>,
    /// Of a tool's reply.
    content: Option<&'a str>,
    /// Of a resource.
    contents: Option<&'a str>,
    /// Of a prompt.
    messages: Option<&'a str>,
}

/// Reads a message of a server. An error says nothing of itself.
pub fn reply_says(frame: &Frame) -> ReplySays {
    if frame.result().is_none() {
        return ReplySays::default();
    }
    // The scan saw every key, so a large reply without annotations is not searched for them.
    let block = |key| frame.result_member(key).filter(|_| frame.may_annotate());
    read(Parts {
        meta: frame.result_member("_meta"),
        content: block("content"),
        contents: block("contents"),
        messages: block("messages"),
    })
}

/// Reads a result, or the parameters of a notification.
pub fn result_says(result: &str) -> ReplySays {
    let mut parts = Parts::default();
    for (key, raw) in members(result) {
        match &*key {
            "_meta" => parts.meta = Some(raw),
            "content" => parts.content = Some(raw),
            "contents" => parts.contents = Some(raw),
            "messages" => parts.messages = Some(raw),
            _ => {}
        }
    }
    read(parts)
}

fn read(parts: Parts<'_>) -> ReplySays {
    let mut reply = Reply {
        heard: Heard::new(Subject::Reply, Authority::Declared),
        embeds_resource: false,
        resources: Vec::new(),
    };
    if let Some(meta) = parts.meta {
        reply.heard.meta(meta);
    }
    reply.heard.forged = false;
    for blocks in [parts.content, parts.contents, parts.messages].into_iter().flatten() {
        if may_say_something(blocks) {
            reply.blocks(blocks, NESTED);
        }
    }
    let Reply { mut heard, embeds_resource, resources } = reply;
    let (forges, evidence) = (heard.forged, std::mem::take(&mut heard.evidence));
    let Reading { claims, notices } = heard.finish();
    ReplySays { claims, notices, embeds_resource, resources, forges, evidence }
}

/// Whether blocks can hold an annotation or name a resource.
fn may_say_something(blocks: &str) -> bool {
    // The last finds keys that are spelled with escapes: their letters are all below U+0080.
    static KEYS: LazyLock<[Finder<'static>; 4]> =
        LazyLock::new(|| [r#"_meta""#, r#"annotations""#, r#""resource"#, r"\u00"].map(Finder::new));
    KEYS.iter().any(|key| key.find(blocks.as_bytes()).is_some())
}

/// A reply under reading.
struct Reply {
    heard: Heard,
    embeds_resource: bool,
    resources: Vec<Box<str>>,
}

// === impl Reply ===

impl Reply {
    /// Reads a block, or a list of them.
    fn blocks(&mut self, raw: &str, nested: usize) {
        if is_array(raw) {
            elements(raw).for_each(|block| self.block(block, nested));
        } else {
            self.block(raw, nested);
        }
    }

    fn block(&mut self, block: &str, nested: usize) {
        let mut uri = None;
        for (key, raw) in members(block) {
            match &*key {
                "_meta" => self.heard.meta(raw),
                "annotations" => self.heard.annotations(raw),
                "uri" => uri = unquote(raw),
                "resource" if is_object(raw) => {
                    self.embeds_resource = true;
                    if let Some(nested) = nested.checked_sub(1) {
                        self.block(raw, nested);
                    }
                }
                // Of a prompt's message, or of a tool's result inside another.
                "content" if !is_string(raw) => {
                    if let Some(nested) = nested.checked_sub(1) {
                        self.blocks(raw, nested);
                    }
                }
                _ => {}
            }
        }
        self.resources.extend(uri.map(Cow::into_owned).map(Into::into));
    }
}
