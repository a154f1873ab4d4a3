//! The index: for each word the tools that have it and how much it weighs there. Immutable once built.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use highwater_core::id::UpstreamId;

use super::traits::Traits;
use super::words::words;

/// How much a word counts in each field.
const NAME: u32 = 3;
const SERVER: u32 = 2;
const TITLE: u32 = 2;
const TEXT: u32 = 1;

/// How soon a repeated word counts no more, and how much a long text weighs less.
pub(super) const SATURATION: f32 = 1.2;
const LENGTH_SHARE: f32 = 0.75;

/// A tool as it is indexed. Tools are numbered in the order in which they are given.
#[derive(Clone, Copy, Debug)]
pub struct ToolText<'a> {
    /// Its name, without that of its server.
    pub name: &'a str,
    /// The server it is from.
    pub server: &'a UpstreamId,
    /// Its title.
    pub title: &'a str,
    /// What its server says of it.
    pub description: &'a str,
    /// The names of its arguments, with something between them that is no letter.
    pub arguments: &'a str,
    /// What filters ask.
    pub traits: Traits,
}

/// The words of many tools.
#[derive(Debug)]
pub struct Index {
    pub(super) tools: Vec<Indexed>,
    servers: BTreeMap<UpstreamId, u32>,
    terms: HashMap<Box<str>, Range<usize>>,
    postings: Vec<Posting>,
}

/// What is kept of a tool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Indexed {
    pub(super) traits: Traits,
    pub(super) server: u32,
    /// The weights of all its words.
    length: u32,
}

/// That a tool has a word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Posting {
    pub(super) tool: u32,
    pub(super) weight: u32,
}

/// What one caller may see of an index.
#[derive(Clone, Debug)]
pub struct Sight {
    seen: Vec<bool>,
    pub(super) count: usize,
    /// For each tool, by how much its length dampens its words, measured at what is seen.
    pub(super) damping: Vec<f32>,
}

// === impl Index ===

impl Index {
    /// Indexes tools. Which number a tool has is its place; of two that fit alike the one that was given first comes first,
    /// so they are given in the order of their names.
    pub fn new<'a>(tools: impl IntoIterator<Item = ToolText<'a>>) -> Self {
        let mut servers = BTreeMap::new();
        let mut indexed = Vec::new();
        let mut lists: HashMap<Box<str>, Vec<Posting>> = HashMap::new();
        let mut own: HashMap<Box<str>, u32> = HashMap::new();
        for (number, tool) in (0_u32..).zip(tools) {
            let mut length = 0_u32;
            let mut add = |text: &str, weight: u32| {
                words(text, |word| {
                    length = length.saturating_add(weight);
                    match own.get_mut(word) {
                        Some(sum) => *sum = sum.saturating_add(weight),
                        None => {
                            own.insert(word.into(), weight);
                        }
                    }
                });
            };
            add(tool.name, NAME);
            add(tool.server.as_str(), SERVER);
            add(tool.title, TITLE);
            add(tool.description, TEXT);
            add(tool.arguments, TEXT);
            for (word, weight) in own.drain() {
                lists.entry(word).or_default().push(Posting { tool: number, weight });
            }
            let next = u32::try_from(servers.len()).unwrap_or(u32::MAX);
            let server = *servers.entry(tool.server.clone()).or_insert(next);
            indexed.push(Indexed { traits: tool.traits, server, length });
        }
        let mut postings = Vec::with_capacity(lists.values().map(Vec::len).sum());
        let terms = lists
            .into_iter()
            .map(|(word, list)| {
                let start = postings.len();
                postings.extend(list);
                (word, start..postings.len())
            })
            .collect();
        Self { tools: indexed, servers, terms, postings }
    }

    /// How many tools there are.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// What a caller sees who may see these, by number.
    pub fn sight(&self, sees: impl FnMut(usize) -> bool) -> Sight {
        let seen: Vec<bool> = (0..self.tools.len()).map(sees).collect();
        let lengths = self.tools.iter().zip(&seen).filter(|(_, seen)| **seen);
        let (count, sum) = lengths
            .fold((0_usize, 0_u64), |(count, sum), (tool, _)| (count + 1, sum + u64::from(tool.length)));
        let average = (sum as f32 / count.max(1) as f32).max(1.0);
        let damping = self
            .tools
            .iter()
            .map(|tool| SATURATION * (1.0 - LENGTH_SHARE + LENGTH_SHARE * tool.length as f32 / average))
            .collect();
        Sight { seen, count, damping }
    }

    /// The number of a server, by the operator's name.
    pub(super) fn server(&self, name: &UpstreamId) -> Option<u32> {
        self.servers.get(name).copied()
    }

    /// The tools that have a word, in the order of their numbers.
    pub(super) fn postings(&self, word: &str) -> &[Posting] {
        self.terms.get(word).and_then(|range| self.postings.get(range.clone())).unwrap_or_default()
    }
}

// === impl Sight ===

impl Sight {
    /// Whether a tool is seen.
    pub fn sees(&self, tool: usize) -> bool {
        self.seen.get(tool).copied().unwrap_or(false)
    }

    /// How many tools are seen.
    pub fn count(&self) -> usize {
        self.count
    }
}
