//! An index in the making: reads a segment block by block, and says under which keys each block is found.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead, Read};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::index::{Block, Built, Key, Runs, entry, run_of};

/// How many bytes of lines are one block: compressed by itself, so that it can be read alone.
pub(super) const BLOCK_BYTES: u64 = 128 * 1024;

/// A segment, block by block. A block ends where a line does.
pub(super) struct Blocks<R> {
    from: R,
}

/// What has been read so far.
#[derive(Default)]
pub(super) struct Builder {
    entries: Vec<u64>,
    blocks: Vec<Block>,
    runs: Runs,
    span: Option<(u64, u64)>,
    /// The calls whose end has not been read, by their decisions.
    calls: HashMap<u64, Call>,
    /// The replies of which one is known, so that of many that are alike one is found.
    replies: HashSet<u64>,
}

/// What an outcome does not say itself.
#[derive(Clone, Copy)]
struct Call {
    block: u32,
    session: u64,
    session_replies: u64,
    principal: u64,
    principal_replies: u64,
    /// What it called, and whether its arguments may have reached the public.
    what: u64,
}

/// The parts of a record by which it is found, as they stand there.
#[derive(Deserialize)]
struct RecordParts<'a> {
    time: u64,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    event: &'a RawValue,
    #[serde(borrow, default)]
    principal: Option<&'a RawValue>,
    #[serde(borrow, default)]
    session: Option<&'a RawValue>,
    #[serde(borrow, default)]
    upstream: Option<&'a RawValue>,
    #[serde(borrow, default)]
    target: Option<&'a RawValue>,
    #[serde(borrow, default)]
    contract: Option<Contract<'a>>,
    #[serde(borrow, default)]
    label: Option<&'a RawValue>,
    #[serde(borrow, default)]
    question: Option<&'a RawValue>,
    #[serde(default)]
    raised: bool,
}

#[derive(Deserialize)]
struct Contract<'a> {
    #[serde(borrow)]
    destination: &'a RawValue,
}

// === impl Blocks ===

impl<R: BufRead> Blocks<R> {
    pub(super) fn of(from: R) -> Self {
        Self { from }
    }

    /// The next block; nothing at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut block = Vec::new();
        self.from.by_ref().take(BLOCK_BYTES).read_to_end(&mut block)?;
        if block.last().is_some_and(|last| *last != b'\n') {
            self.from.read_until(b'\n', &mut block)?;
        }
        Ok((!block.is_empty()).then_some(block))
    }
}

// === impl Builder ===

impl Builder {
    /// Takes in the next block.
    pub(super) fn take_in(&mut self, block: Block, lines: &[u8]) {
        let number = u32::try_from(self.blocks.len()).unwrap_or(u32::MAX);
        self.blocks.push(block);
        let before = std::mem::take(&mut self.entries);
        for line in lines.split(|byte| *byte == b'\n') {
            // What was torn by a full disk is no record.
            if let Ok(line) = serde_json::from_slice::<RecordParts<'_>>(line) {
                self.line(number, &line);
            }
        }
        // A block is found under a key once, however many of its records have it.
        self.entries.sort_unstable();
        self.entries.dedup();
        let found = std::mem::replace(&mut self.entries, before);
        self.entries.extend(found);
    }

    /// The index of a segment that ends here.
    pub(super) fn finish(self, end: Block) -> Built {
        let Self { mut entries, blocks, runs, span, .. } = self;
        entries.sort_unstable();
        entries.dedup();
        Built { entries, blocks, runs, span, end }
    }

    fn line(&mut self, block: u32, line: &RecordParts<'_>) {
        let first = self.span.map_or(line.time, |(first, _)| first.min(line.time));
        self.span = Some((first, self.span.map_or(line.time, |(_, last)| last.max(line.time))));
        let id = line.id.map(|id| {
            self.runs.note(run_of(unquoted(id)));
            Key::Id(id.get()).hash_raw()
        });
        if let Some(id) = id {
            self.entries.push(entry(id, block));
        }
        if let Some(question) = line.question {
            self.found(Key::Question(question.get()), block);
        }
        match (line.event.get(), id) {
            (r#""decision""#, Some(id)) => self.decision(id, block, line),
            (r#""outcome""#, Some(id)) => self.outcome(id, block, line),
            (r#""question""#, Some(id)) if line.raised => {
                if let Some(call) = self.calls.get(&id).copied() {
                    self.raised(&call, block);
                }
            }
            (r#""declassification""#, _) => {
                if let Some(session) = line.session {
                    self.found(Key::Raised(session.get()), block);
                    self.found(Key::Replies(session.get()), block);
                }
                // What is read from here on counts again.
                self.replies.clear();
            }
            _ => {}
        }
    }

    fn decision(&mut self, id: u64, block: u32, line: &RecordParts<'_>) {
        let (Some(session), Some(principal)) = (line.session, line.principal) else { return };
        let text = |part: Option<&RawValue>| part.map(RawValue::get).unwrap_or_default().to_owned();
        let outward = line.contract.as_ref().is_some_and(|it| it.destination.get().contains("\"public\""));
        let what = format!("{} {} {outward}", text(line.upstream), text(line.target));
        let call = Call {
            block,
            session: Key::Raised(session.get()).hash_raw(),
            session_replies: Key::Replies(session.get()).hash_raw(),
            principal: Key::RaisedOf(principal.get()).hash_raw(),
            principal_replies: Key::RepliesOf(principal.get()).hash_raw(),
            what: Key::Id(&what).hash_raw(),
        };
        self.calls.insert(id, call);
    }

    fn outcome(&mut self, id: u64, block: u32, line: &RecordParts<'_>) {
        let Some(call) = self.calls.get(&id).copied() else {
            // Its decision is in an older segment, which says whose it is.
            self.found(Key::Elsewhere, block);
            return;
        };
        if line.raised {
            self.raised(&call, block);
        }
        let label = line.label.map(RawValue::get).unwrap_or_default();
        for key in [call.session_replies, call.principal_replies] {
            let alike = Key::Id(&format!("{key} {} {label}", call.what)).hash_raw();
            if self.replies.insert(alike) {
                self.entries.extend([entry(key, call.block), entry(key, block)]);
            }
        }
    }

    fn raised(&mut self, call: &Call, block: u32) {
        for key in [call.session, call.principal] {
            self.entries.extend([entry(key, call.block), entry(key, block)]);
        }
    }

    fn found(&mut self, key: Key<'_>, block: u32) {
        self.entries.push(entry(key.hash_raw(), block));
    }
}

/// A text without its quotes.
fn unquoted(raw: &RawValue) -> &str {
    let text = raw.get();
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text)
}
