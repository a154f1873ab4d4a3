//! A reply that is kept as it came, and is read when somebody asks.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use highwater_core::annotation::{ClassSet, Destination, Outcome};
use highwater_core::id::{DecisionId, UpstreamId};
use highwater_core::provenance::RecordShape;
use serde_json::Value;

use crate::argument::{Given, leaves};
use crate::carrier::{Carrier, page};
use crate::normal::{composed, normal};
use crate::record::{self, Listing};
use crate::text::Text;
use crate::{Body, Reply, act};

/// The most leaves of a reply that answers a lookup: more is a list to choose from.
const LOOKUP_LEAVES: usize = 12;

/// The most objects of such a reply.
const LOOKUP_OBJECTS: usize = 2;

/// The longest leaf that a lookup points at.
const LOOKUP_LEAF: usize = 64;

/// How many of the values that a call gave are remembered with its reply.
const MOST_GIVEN: usize = 64;

/// A reply.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) decision: DecisionId,
    pub(crate) server: UpstreamId,
    pub(crate) tool: String,
    pub(crate) trusted: bool,
    pub(crate) classes: ClassSet,
    /// What its records are of.
    pub(crate) kind: Arc<str>,
    /// The turn in which it came.
    pub(crate) turn: usize,
    /// Whether the call did something.
    pub(crate) acted: bool,
    /// Whether the server says that it failed.
    failed: bool,
    /// Whether the call searched the web.
    pub(crate) searched: bool,
    /// Whether the call named a document: then the reply is its text, whatever it looks like.
    reads_document: bool,
    /// The texts that the call gave, in their normal form; nothing where there were too many.
    pub(crate) given: Option<Vec<String>>,
    is_evidence: bool,
    limit: Option<usize>,
    shape: Option<Arc<RecordShape>>,
    body: Body,
    documents: OnceLock<Documents>,
    listing: OnceLock<Listing>,
    text: OnceLock<Text>,
    values: OnceLock<BTreeSet<String>>,
    hits: OnceLock<Vec<Carrier>>,
}

/// What a reply consists of, each with the place where it stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Documents {
    /// Structured content, and text blocks that are JSON.
    pub(crate) structured: Vec<(String, Value)>,
    /// Other text.
    pub(crate) prose: Vec<(String, String)>,
}

// === impl Kept ===

impl Kept {
    pub(crate) fn new(reply: &Reply<'_>, turn: usize) -> Self {
        let call = reply.call;
        let leaves = leaves(call);
        let is_known = leaves.as_ref().is_some_and(|leaves| leaves.len() <= MOST_GIVEN);
        let leaves = leaves.unwrap_or_default();
        let texts = || leaves.iter().filter_map(|leaf| leaf.given.text());
        let given = is_known.then(|| texts().map(normal).collect());
        let limit = leaves.iter().filter(|leaf| is_limit(&leaf.key)).find_map(|leaf| match leaf.given {
            Given::Number(number) => format!("{number:.0}").parse().ok(),
            Given::Text(_) | Given::Flag(_) => None,
        });
        let reads_document = leaves
            .iter()
            .filter_map(|leaf| leaf.given.text())
            .any(|text| text.contains("://") || crate::text::path(text).is_some());
        let mut kept = Self {
            is_evidence: false,
            decision: reply.decision.clone(),
            server: call.server.clone(),
            tool: call.tool.to_owned(),
            trusted: reply.trusted,
            classes: reply.classes,
            kind: record::kind(reply.records.as_deref(), call.tool),
            turn,
            acted: call.outcome != Outcome::Benign,
            failed: reply.failed,
            searched: call.outcome == Outcome::Benign
                && call.destination == Destination::Public
                && act::name_words(call.tool).iter().any(|word| word == "search"),
            reads_document,
            given,
            limit,
            shape: reply.records.clone(),
            body: reply.body.clone(),
            documents: OnceLock::new(),
            listing: OnceLock::new(),
            text: OnceLock::new(),
            values: OnceLock::new(),
            hits: OnceLock::new(),
        };
        kept.is_evidence = kept.may_be_evidence();
        kept
    }

    /// Whether it can be evidence: no stranger could write it, or it may list records.
    pub(crate) fn is_evidence(&self) -> bool {
        self.is_evidence
    }

    fn may_be_evidence(&self) -> bool {
        let begins = |text: &str| text.trim_start().starts_with(['{', '[']);
        self.trusted
            || self.searched
            || match &self.body {
                Body::Text(text) => begins(text),
                Body::Result(json) => {
                    json.contains("\"structuredContent\"")
                        || json.match_indices("\"text\"").any(|(at, found)| {
                            let after = json.get(at + found.len()..).unwrap_or_default();
                            let value = after.trim_start().strip_prefix(':').unwrap_or_default().trim_start();
                            begins(value.strip_prefix('"').unwrap_or_default().trim_start_matches("\\n"))
                        })
                        || !json.contains("\"content")
                }
            }
    }

    /// The bytes that it takes: as it came, and what was made of it when it was read.
    pub(crate) fn bytes(&self) -> usize {
        let read = self.text.get().map_or(0, Text::bytes);
        let parsed = self.documents.get().map_or(0, |_| self.body.as_str().len());
        self.body.as_str().len() + read + parsed
    }

    /// The bytes that came.
    pub(crate) fn body_bytes(&self) -> usize {
        self.body.as_str().len()
    }

    /// What it consists of, for one look: nothing of it is kept that was not.
    pub(crate) fn documents_once(&self) -> std::borrow::Cow<'_, Documents> {
        match self.documents.get() {
            Some(documents) => std::borrow::Cow::Borrowed(documents),
            None => std::borrow::Cow::Owned(Documents::read(&self.body)),
        }
    }

    /// What it consists of.
    pub(crate) fn documents(&self) -> &Documents {
        self.documents.get_or_init(|| Documents::read(&self.body))
    }

    /// What people call the things that it lists.
    pub(crate) fn nouns(&self) -> Vec<String> {
        record::nouns(&self.kind)
    }

    /// What it lists.
    pub(crate) fn listing(&self) -> &Listing {
        self.listing.get_or_init(|| {
            let mut listing = Listing::default();
            if self.trusted || !self.reads_document || self.shape.is_some() {
                for (_, document) in &self.documents().structured {
                    record::read(document, self.shape.as_deref(), self.trusted, self.limit, &mut listing);
                }
            }
            listing
        })
    }

    /// What it says, if no stranger could write it.
    pub(crate) fn text(&self) -> Option<&Text> {
        self.trusted.then(|| {
            self.text.get_or_init(|| {
                let mut text = String::new();
                let documents = self.documents();
                let mut add = |leaf: &str| {
                    text.push_str(leaf);
                    text.push('\n');
                };
                documents.prose.iter().for_each(|(_, prose)| add(prose));
                documents
                    .structured
                    .iter()
                    .for_each(|(_, document)| each_leaf(document, &mut |leaf| add(&leaf)));
                Text::of_reply(&text)
            })
        })
    }

    /// Its values, each whole and in its normal form, if no stranger could write it.
    pub(crate) fn values(&self) -> Option<&BTreeSet<String>> {
        self.trusted.then(|| {
            self.values.get_or_init(|| {
                let mut values = BTreeSet::new();
                for (_, document) in &self.documents().structured {
                    each_leaf(document, &mut |leaf| {
                        values.insert(normal(&leaf));
                    });
                }
                values
            })
        })
    }

    /// Whether a value is only given back: the call itself brought it.
    pub(crate) fn echoes(&self, normal: &str) -> bool {
        match &self.given {
            Some(given) => given.iter().any(|given| given.contains(normal)),
            None => true,
        }
    }

    /// The pages that a search lists, in order.
    pub(crate) fn hits(&self) -> &[Carrier] {
        self.hits.get_or_init(|| {
            let mut hits = Vec::new();
            let mut add = |text: &str| {
                let pages =
                    text.split(|letter: char| letter.is_whitespace() || "<>\"'()[]{}".contains(letter));
                let pages = pages.filter(|chunk| chunk.contains("://"));
                hits.extend(pages.filter_map(|chunk| page(chunk.trim_end_matches(['.', ',', ';']))));
            };
            if self.searched {
                let documents = self.documents();
                documents
                    .structured
                    .iter()
                    .for_each(|(_, document)| each_leaf(document, &mut |leaf| add(&leaf)));
                documents.prose.iter().for_each(|(_, prose)| add(&composed(prose)));
            }
            hits
        })
    }

    /// The values that it points at if the call was a lookup, in their normal form.
    pub(crate) fn looked_up(&self) -> Vec<String> {
        let mut leaves = Vec::new();
        let mut objects = 0;
        let documents = self.documents();
        // What says a thing twice, as structure and as text, says it once.
        if let Some((_, document)) = documents.structured.first() {
            count_objects(document, &mut objects);
            each_leaf(document, &mut |leaf| leaves.push(normal(&leaf)));
        }
        let is_short = |leaf: &String| (2..=LOOKUP_LEAF).contains(&leaf.chars().count());
        let is_lookup = self.trusted
            && !self.acted
            && !self.failed
            && leaves.len() <= LOOKUP_LEAVES
            && objects <= LOOKUP_OBJECTS;
        if is_lookup { leaves.into_iter().filter(is_short).collect() } else { Vec::new() }
    }

    /// The ids of what an act made, with their fields.
    pub(crate) fn made(&self) -> Vec<(String, String)> {
        let mut made = Vec::new();
        if self.acted && self.trusted && !self.failed {
            for (_, document) in &self.documents().structured {
                let Value::Object(fields) = document else { continue };
                // One level of wrapping: `{"result": {"id": …}}`.
                let inner = fields.values().filter_map(Value::as_object).filter(|_| fields.len() == 1);
                for (field, value) in [fields].into_iter().chain(inner).flatten() {
                    if record::is_id_name(field)
                        && let Some(id) = record::scalar_text(value)
                    {
                        made.push((field.clone(), normal(&id)));
                    }
                }
            }
        }
        made
    }
}

// === impl Documents ===

impl Documents {
    pub(crate) fn read(body: &Body) -> Self {
        let mut found = Self::default();
        match body {
            Body::Text(text) => found.block(String::new(), text),
            Body::Result(json) => match serde_json::from_str::<Value>(json) {
                Ok(result) => found.result(result),
                Err(_) => found.prose.push((String::new(), json.to_string())),
            },
        }
        found
    }

    fn result(&mut self, mut result: Value) {
        let mut is_result = false;
        for list in ["content", "contents"] {
            let Some(blocks) = result.get(list).and_then(Value::as_array) else { continue };
            is_result = true;
            for (at, block) in blocks.iter().enumerate() {
                let inner = [("text", block.get("text")), ("resource/text", block.pointer("/resource/text"))];
                for (place, text) in inner {
                    if let Some(text) = text.and_then(Value::as_str) {
                        self.block(format!("/{list}/{at}/{place}"), text);
                    }
                }
            }
        }
        if let Some(structured) = result.get_mut("structuredContent").map(Value::take) {
            self.structured.insert(0, ("/structuredContent".to_owned(), structured));
        } else if !is_result {
            self.structured.push((String::new(), result));
        }
    }

    /// A text block is a document if all of it is JSON, and prose else.
    fn block(&mut self, place: String, text: &str) {
        let is_json = text.trim_start().starts_with(['{', '[']);
        match serde_json::from_str::<Value>(text) {
            Ok(document) if is_json => self.structured.push((place, document)),
            _ => self.prose.push((place, text.to_owned())),
        }
    }
}

/// Every string and number in a document, as it is written.
pub(crate) fn each_leaf(document: &Value, visit: &mut dyn FnMut(String)) {
    match document {
        Value::Object(fields) => fields.values().for_each(|value| each_leaf(value, visit)),
        Value::Array(rows) => rows.iter().for_each(|value| each_leaf(value, visit)),
        value => {
            if let Some(text) = record::scalar_text(value) {
                visit(text);
            }
        }
    }
}

fn count_objects(document: &Value, count: &mut usize) {
    match document {
        Value::Object(fields) => {
            *count += 1;
            fields.values().for_each(|value| count_objects(value, count));
        }
        Value::Array(rows) => rows.iter().for_each(|value| count_objects(value, count)),
        _ => {}
    }
}

/// Whether an argument says how many things are listed at most.
fn is_limit(key: &str) -> bool {
    let plain: String =
        key.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect();
    matches!(
        plain.as_str(),
        "limit"
            | "n"
            | "count"
            | "max"
            | "maxresults"
            | "maxitems"
            | "pagesize"
            | "perpage"
            | "topk"
            | "number"
            | "first"
            | "last"
            | "size"
            | "take"
            | "top"
    )
}
