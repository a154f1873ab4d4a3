//! The index of a closed segment: under which keys which of its blocks are found. What is looked for costs one read at the
//! end of the file, and where the segment may have it two more.
//!
//! A file is pages of entries in order, then a table of blocks and of the first entry of each page, then a footer of one
//! length. An entry is 44 bits of a key's hash and 20 of a block's number. Each part has a checksum of its own. What is
//! found is looked at again by whoever looked for it, so two keys of one hash cost time and nothing else.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use flate2::Crc;

use super::files::{self, Unfinished};

/// How each file ends: what it is, and in which version.
const MAGIC: [u8; 8] = *b"hwindex1";

/// How long the footer is.
pub(super) const FOOTER: usize = 512;

/// How long a page is: so many entries, and a checksum.
const PAGE: usize = 4096;
const PER_PAGE: usize = PAGE / 8 - 1;

/// How many runs of the gateway a footer has room for.
const MOST_RUNS: usize = 16;

/// How many bits of an entry are the number of a block.
const BLOCK_BITS: u32 = 20;
const BLOCK_MASK: u64 = (1 << BLOCK_BITS) - 1;

/// What records are found by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key<'a> {
    /// All records of a decision.
    Id(&'a str),
    /// Records that speak of a question to a person.
    Question(&'a str),
    /// What raised the label of a session, and who lowered it.
    Raised(&'a str),
    /// What raised a label of any session of a principal.
    RaisedOf(&'a str),
    /// The replies that a session took in, of those that are alike at least one.
    Replies(&'a str),
    /// The replies that all sessions of a principal took in, of those that are alike at least one.
    RepliesOf(&'a str),
    /// What raised a label, where the decision is in an older segment.
    Elsewhere,
}

/// Decisions of one run of the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    boot: [u8; 8],
    first: u64,
    last: u64,
}

/// Of which runs a segment has decisions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Runs {
    known: Vec<Run>,
    /// There are others, of which nothing is known.
    others: bool,
}

/// A part of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Block {
    /// Where it begins in the lines as they were written.
    pub(super) plain: u64,
    /// Where it begins in the compressed file.
    pub(super) packed: u64,
}

/// An index in memory.
#[derive(Debug, Default)]
pub(super) struct Built {
    pub(super) entries: Vec<u64>,
    pub(super) blocks: Vec<Block>,
    pub(super) runs: Runs,
    pub(super) span: Option<(u64, u64)>,
    /// Where the last block ends.
    pub(super) end: Block,
}

/// What the end of a file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Footer {
    /// The lengths of the files that it is the index of.
    pub(super) plain: u64,
    /// Nothing where the segment was not compressed.
    pub(super) packed: u64,
    /// The times of the first and the last record.
    pub(super) span: (u64, u64),
    runs: Runs,
    entries: u64,
    blocks: u64,
    table_crc: u32,
}

/// The table of an index on disk.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) blocks: Vec<Block>,
    /// The first entry of each page.
    fences: Vec<u64>,
}

// === impl Key ===

impl Key<'_> {
    /// The hash of a key as people write it.
    pub(super) fn hash(self) -> u64 {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        match self {
            Self::Id(text) => Key::Id(&quoted(text)).hash_raw(),
            Self::Question(text) => Key::Question(&quoted(text)).hash_raw(),
            Self::Raised(text) => Key::Raised(&quoted(text)).hash_raw(),
            Self::RaisedOf(text) => Key::RaisedOf(&quoted(text)).hash_raw(),
            Self::Replies(text) => Key::Replies(&quoted(text)).hash_raw(),
            Self::RepliesOf(text) => Key::RepliesOf(&quoted(text)).hash_raw(),
            Self::Elsewhere => self.hash_raw(),
        }
    }

    /// The hash of a key as it stands in a record, with quotes and escapes: FNV-1a, which is good enough, since what is
    /// found is looked at again.
    pub(super) fn hash_raw(self) -> u64 {
        let (kind, text) = match self {
            Self::Id(text) => (b'i', text),
            Self::Question(text) => (b'q', text),
            Self::Raised(text) => (b's', text),
            Self::RaisedOf(text) => (b'p', text),
            Self::Replies(text) => (b'r', text),
            Self::RepliesOf(text) => (b'o', text),
            Self::Elsewhere => (b'e', ""),
        };
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        text.bytes().fold(step(0xcbf2_9ce4_8422_2325, kind), step)
    }
}

/// An entry.
pub(super) fn entry(hash: u64, block: u32) -> u64 {
    // A mix of all bits, since the upper ones are kept and the last step of the hash moves little there.
    let mixed = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed & !BLOCK_MASK) | (u64::from(block) & BLOCK_MASK)
}

/// The first and the last entry that a hash can have.
fn range(hash: u64) -> (u64, u64) {
    let first = entry(hash, 0);
    (first, first | BLOCK_MASK)
}

/// The block of an entry.
fn block_of(entry: u64) -> usize {
    usize::try_from(entry & BLOCK_MASK).unwrap_or(usize::MAX)
}

/// Which run a decision is of, by its name: the name of the run, of six letters, then a number in hexadecimal.
pub(super) fn run_of(id: &str) -> Option<Run> {
    let (boot, number) = id.strip_prefix("hwd_")?.split_at_checked(6)?;
    let number = u64::from_str_radix(number, 16).ok()?;
    let mut name = [0; 8];
    name.get_mut(..boot.len())?.copy_from_slice(boot.as_bytes());
    Some(Run { boot: name, first: number, last: number })
}

// === impl Runs ===

impl Runs {
    pub(super) fn note(&mut self, run: Option<Run>) {
        let Some(run) = run else {
            self.others = true;
            return;
        };
        if let Some(known) = self.known.iter_mut().rev().find(|known| known.boot == run.boot) {
            known.first = known.first.min(run.first);
            known.last = known.last.max(run.last);
        } else if self.known.len() < MOST_RUNS {
            self.known.push(run);
        } else {
            self.others = true;
        }
    }

    /// Whether a decision may be among them.
    fn may_have(&self, id: &str) -> bool {
        let Some(run) = run_of(id) else { return self.others };
        let holds = |known: &Run| known.boot == run.boot && (known.first..=known.last).contains(&run.first);
        self.others || self.known.iter().any(holds)
    }
}

// === impl Built ===

impl Built {
    /// The blocks that may have something.
    pub(super) fn find(&self, key: Key<'_>) -> Vec<usize> {
        let (first, last) = range(key.hash());
        let from = self.entries.partition_point(|entry| *entry < first);
        let found = self.entries.get(from..).unwrap_or_default().iter();
        found.take_while(|entry| **entry <= last).map(|entry| block_of(*entry)).collect()
    }

    /// Writes the index of a segment. It is there as a whole, or not at all.
    pub(super) fn save(&self, folder: &Path, number: u64) -> io::Result<()> {
        let (unfinished, file) = Unfinished::create(files::index(folder, number))?;
        let mut out = BufWriter::new(file);
        let mut table = Vec::new();
        for block in &self.blocks {
            table.extend_from_slice(&block.plain.to_le_bytes());
            table.extend_from_slice(&block.packed.to_le_bytes());
        }
        for entries in self.entries.chunks(PER_PAGE) {
            let mut page: Vec<u8> = entries.iter().flat_map(|entry| entry.to_le_bytes()).collect();
            // No key has the last entry of all: its block would be one too many.
            page.resize(PAGE - 8, 0xff);
            let crc = checksum(&page);
            page.extend_from_slice(&u64::from(crc).to_le_bytes());
            out.write_all(&page)?;
            table.extend_from_slice(&entries.first().copied().unwrap_or_default().to_le_bytes());
        }
        out.write_all(&table)?;
        let footer = Footer {
            plain: self.end.plain,
            packed: self.end.packed,
            span: self.span.unwrap_or_default(),
            runs: self.runs.clone(),
            entries: self.entries.len() as u64,
            blocks: self.blocks.len() as u64,
            table_crc: checksum(&table),
        };
        out.write_all(&footer.write())?;
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        unfinished.finish()
    }
}

// === impl Footer ===

impl Footer {
    /// Reads the end of the index of a segment; nothing where there is none, or where it is damaged.
    pub(super) fn read(file: &File) -> io::Result<Option<Self>> {
        let length = file.metadata()?.len();
        let Some(at) = length.checked_sub(FOOTER as u64) else { return Ok(None) };
        let mut bytes = [0; FOOTER];
        file.read_exact_at(&mut bytes, at)?;
        Ok(Self::parse(&bytes).filter(|footer| footer.table_at() + footer.table_length() == at))
    }

    /// Whether it is the index of files of these lengths.
    pub(super) fn fits(&self, files: &files::SegmentFiles) -> bool {
        match (files.plain, files.packed) {
            (Some(plain), _) => plain == self.plain,
            (None, Some(packed)) => packed == self.packed,
            (None, None) => false,
        }
    }

    /// Whether the segment may have something.
    pub(super) fn may_have(&self, key: Key<'_>) -> bool {
        match key {
            Key::Id(id) => self.runs.may_have(id),
            _ => true,
        }
    }

    fn pages(&self) -> u64 {
        self.entries.div_ceil(PER_PAGE as u64)
    }

    fn table_at(&self) -> u64 {
        self.pages() * PAGE as u64
    }

    pub(super) fn table_length(&self) -> u64 {
        self.blocks * 16 + self.pages() * 8
    }

    fn write(&self) -> [u8; FOOTER] {
        let mut bytes = Vec::with_capacity(FOOTER);
        bytes.extend_from_slice(&MAGIC);
        let (first, last) = self.span;
        let runs = u64::try_from(self.runs.known.len()).unwrap_or_default();
        let others = u64::from(self.runs.others);
        let crc = u64::from(self.table_crc);
        for number in [self.plain, self.packed, first, last, self.entries, self.blocks, crc, runs, others] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        for run in &self.runs.known {
            bytes.extend_from_slice(&run.boot);
            bytes.extend_from_slice(&run.first.to_le_bytes());
            bytes.extend_from_slice(&run.last.to_le_bytes());
        }
        bytes.resize(FOOTER - 4, 0);
        let crc = checksum(&bytes);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes.try_into().unwrap_or([0; FOOTER])
    }

    fn parse(bytes: &[u8; FOOTER]) -> Option<Self> {
        let (body, crc) = bytes.split_at_checked(FOOTER - 4)?;
        if checksum(body) != u32::from_le_bytes(crc.try_into().ok()?) {
            return None;
        }
        let mut numbers = body.strip_prefix(&MAGIC)?.chunks_exact(8);
        let mut next = || Some(u64::from_le_bytes(numbers.next()?.try_into().ok()?));
        let (plain, packed, first, last) = (next()?, next()?, next()?, next()?);
        let (entries, blocks, crc, runs, others) = (next()?, next()?, next()?, next()?, next()?);
        let mut known = Vec::new();
        for _ in 0..runs.min(MOST_RUNS as u64) {
            known.push(Run { boot: next()?.to_le_bytes(), first: next()?, last: next()? });
        }
        let runs = Runs { known, others: others != 0 };
        let table_crc = u32::try_from(crc).ok()?;
        Some(Self { plain, packed, span: (first, last), runs, entries, blocks, table_crc })
    }
}

// === impl Table ===

impl Table {
    /// Reads the table of an index; nothing where it is damaged.
    pub(super) fn read(file: &File, footer: &Footer) -> io::Result<Option<Self>> {
        let Ok(size) = usize::try_from(footer.table_length()) else { return Ok(None) };
        let mut table = vec![0; size];
        file.read_exact_at(&mut table, footer.table_at())?;
        if checksum(&table) != footer.table_crc {
            return Ok(None);
        }
        let mut numbers = table.chunks_exact(8).map(number);
        let mut blocks = Vec::new();
        for _ in 0..footer.blocks {
            let (Some(plain), Some(packed)) = (numbers.next(), numbers.next()) else { return Ok(None) };
            blocks.push(Block { plain, packed });
        }
        let fences = numbers.collect();
        Ok(Some(Self { blocks, fences }))
    }

    /// The blocks that may have something; nothing where a page is damaged. Says how much was read.
    pub(super) fn find(&self, file: &File, key: Key<'_>) -> io::Result<Option<(Vec<usize>, u64)>> {
        let (first, last) = range(key.hash());
        let from = self.fences.partition_point(|fence| *fence < first).saturating_sub(1);
        let until = self.fences.partition_point(|fence| *fence <= last);
        let (mut found, mut read) = (Vec::new(), 0);
        for page in from..until {
            let mut bytes = [0; PAGE];
            file.read_exact_at(&mut bytes, page as u64 * PAGE as u64)?;
            read += PAGE as u64;
            let Some((entries, crc)) = bytes.split_at_checked(PAGE - 8) else { return Ok(None) };
            if u64::from(checksum(entries)) != number(crc) {
                return Ok(None);
            }
            let entries = entries.chunks_exact(8).map(number);
            found.extend(entries.filter(|entry| (first..=last).contains(entry)).map(block_of));
        }
        Ok(Some((found, read)))
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.try_into().map(u64::from_le_bytes).unwrap_or(u64::MAX)
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}
