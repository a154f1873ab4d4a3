//! The audit log of a data directory, as explanations look things up in it.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;

use anyhow::Context;
use highwater_audit::{Record, Recorded, Ruling};
use highwater_core::id::DecisionId;
use highwater_store::{AuditKey, AuditReader, BlockPlace, RecordPlace};

/// The most blocks that are read to find out where a label came from. What lies further back is not told.
const MOST_BLOCKS: usize = 192;

/// How many blocks behind a decision are looked at: what a call brought is stored a moment before that is recorded.
const BLOCKS_AFTER: usize = 2;

/// The segments of one log.
pub(crate) struct Log {
    reader: AuditReader,
}

/// Where a record is.
pub(crate) type Place = RecordPlace;

/// Parts of the log, in order.
#[derive(Debug, Default)]
pub(super) struct Parts {
    blocks: BTreeSet<BlockPlace>,
    /// Whether everything that was looked for is in them.
    pub(super) is_complete: bool,
}

// === impl Log ===

impl Log {
    /// The log of a data directory; empty if nothing was ever recorded there.
    pub(crate) fn of(data: &Path) -> anyhow::Result<Self> {
        let reader = AuditReader::of(data)
            .with_context(|| format!("cannot list `{}`", data.join("audit").display()))?;
        Ok(Self { reader })
    }

    /// Shows every line to `look`, oldest first, until it has seen enough.
    pub(crate) fn walk(&self, look: impl FnMut(Place, &str) -> ControlFlow<()>) -> anyhow::Result<()> {
        self.reader.walk(look).context("cannot read the audit log")
    }

    /// Says in the log of the program how much was read.
    pub(crate) fn say_what_was_read(&self) {
        let (bytes, blocks) = (self.reader.bytes_read(), self.reader.blocks_read());
        tracing::debug!(bytes, blocks, segments = self.reader.segments().len(), "read from the audit log");
    }

    /// Everything on record under the name of a decision, in order.
    pub(super) fn records_of(&self, id: &DecisionId) -> anyhow::Result<Vec<(Place, Record)>> {
        let mut found = Vec::new();
        let open = self.reader.open_segment();
        // What is being written has no index. It is read if the closed segments do not tell how the action ended.
        let closed = self.newest_first().into_iter().filter(|segment| Some(*segment) != open);
        for segment in closed {
            self.records_in(segment, id, &mut found)?;
        }
        if let Some(open) = open.filter(|_| !is_over(&found)) {
            self.records_in(open, id, &mut found)?;
        }
        found.sort_by_key(|(place, _)| *place);
        Ok(found)
    }

    fn records_in(
        &self,
        segment: u64,
        id: &DecisionId,
        found: &mut Vec<(Place, Record)>,
    ) -> anyhow::Result<()> {
        let named = serde_json::Value::from(id.as_str()).to_string();
        for block in self.find(segment, AuditKey::Id(id.as_str()))? {
            self.show_all(block, &mut |place, line| {
                if line.contains(&named)
                    && let Some(record) = record(line).filter(|record| record.id.as_ref() == Some(id))
                {
                    found.push((place, record));
                }
            })?;
        }
        Ok(())
    }

    /// The parts of the log in which something is found under any of these keys: those before a place, as far back as
    /// `is_beginning` says of a line that nothing before it counts, and a few behind that place.
    pub(super) fn parts(
        &self,
        keys: &[AuditKey<'_>],
        until: Option<Place>,
        is_beginning: &dyn Fn(&str) -> bool,
    ) -> anyhow::Result<Parts> {
        let mut parts = Parts { blocks: BTreeSet::new(), is_complete: true };
        if let Some(until) = until {
            self.parts_after(keys, until, &mut parts)?;
        }
        for segment in self.newest_first() {
            if until.is_some_and(|until| segment > until.segment()) {
                continue;
            }
            for block in self.blocks_of(segment, keys)?.into_iter().rev() {
                if until.is_some_and(|until| block.beginning() > until) {
                    continue;
                }
                if parts.blocks.len() >= MOST_BLOCKS {
                    parts.is_complete = false;
                    return Ok(parts);
                }
                parts.blocks.insert(block);
                let mut begins = false;
                self.show_all(block, &mut |place, line| {
                    begins |= until.is_none_or(|until| place < until) && is_beginning(line);
                })?;
                if begins {
                    return Ok(parts);
                }
            }
        }
        Ok(parts)
    }

    fn parts_after(&self, keys: &[AuditKey<'_>], until: Place, parts: &mut Parts) -> anyhow::Result<()> {
        let mut left = BLOCKS_AFTER;
        for segment in self.reader.segments().into_iter().filter(|it| *it >= until.segment()).take(2) {
            let after = self.blocks_of(segment, keys)?.into_iter().filter(|block| block.beginning() > until);
            for block in after.take(left) {
                parts.blocks.insert(block);
                left -= 1;
            }
            if left == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Shows the lines of some parts, oldest first, until `look` has seen enough.
    pub(super) fn walk_parts(
        &self,
        parts: &Parts,
        mut look: impl FnMut(Place, &str) -> ControlFlow<()>,
    ) -> anyhow::Result<()> {
        for block in &parts.blocks {
            if self.show(*block, &mut look)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The newest parts of the log first, each with its lines in order.
    pub(super) fn walk_back(
        &self,
        mut look: impl FnMut(
            &mut dyn FnMut(&mut dyn FnMut(&str)) -> anyhow::Result<()>,
        ) -> anyhow::Result<ControlFlow<()>>,
    ) -> anyhow::Result<()> {
        for segment in self.newest_first() {
            let mut outcome = Ok(ControlFlow::Continue(()));
            let walked = self.reader.blocks_back(segment, |block| {
                let mut lines = |line: &mut dyn FnMut(&str)| self.show_all(block, &mut |_, text| line(text));
                outcome = look(&mut lines);
                match outcome {
                    Ok(flow) => flow,
                    Err(_) => ControlFlow::Break(()),
                }
            });
            walked.context("cannot read the audit log")?;
            if outcome?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn newest_first(&self) -> Vec<u64> {
        let mut segments = self.reader.segments();
        segments.reverse();
        segments
    }

    fn blocks_of(&self, segment: u64, keys: &[AuditKey<'_>]) -> anyhow::Result<BTreeSet<BlockPlace>> {
        let mut blocks = BTreeSet::new();
        for key in keys {
            blocks.extend(self.find(segment, *key)?);
        }
        Ok(blocks)
    }

    fn find(&self, segment: u64, key: AuditKey<'_>) -> anyhow::Result<Vec<BlockPlace>> {
        self.reader
            .find(segment, key)
            .with_context(|| format!("cannot read segment {segment:06} of the audit log"))
    }

    fn show_all(&self, block: BlockPlace, look: &mut dyn FnMut(Place, &str)) -> anyhow::Result<()> {
        let shown = self.show(block, &mut |place, line| {
            look(place, line);
            ControlFlow::Continue(())
        });
        shown.map(|_| ())
    }

    fn show(
        &self,
        block: BlockPlace,
        look: &mut dyn FnMut(Place, &str) -> ControlFlow<()>,
    ) -> anyhow::Result<ControlFlow<()>> {
        let segment = block.segment();
        self.reader
            .show(block, look)
            .with_context(|| format!("cannot read segment {segment:06} of the audit log"))
    }
}

/// Whether nothing more can be on record of a decision.
fn is_over(found: &[(Place, Record)]) -> bool {
    let is_end = |record: &Record| match &record.happened {
        Recorded::Outcome(_) => true,
        Recorded::Decision(decision) => matches!(decision.ruling, Ruling::Blocked | Ruling::Unavailable),
        _ => false,
    };
    found.iter().any(|(_, record)| is_end(record))
}

/// The record on a line. What cannot be read as one is passed over: a torn line, or the shape of another version.
pub(crate) fn record(line: &str) -> Option<Record> {
    Record::read(line).ok()
}
