//! The audit log of a data directory, read from outside, whether a gateway runs on it or not.
//!
//! Closed segments are read by their indexes: of what is looked for, one read says whether a segment may have it, two more
//! say in which of its blocks, and only those are read. An index that is missing or damaged is made again. The segment that is
//! being written has none yet, and is read as a whole if it has to be.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::build::BLOCK_BYTES;
use super::files::{self, SegmentFiles};
use super::index::{Block, Built, FOOTER, Footer, Key, Table};
use super::{FOLDER, pack};

/// How much is looked through at once for the end of a line.
const SCAN: usize = 4096;

/// The log, as it was when it was opened.
#[derive(Debug)]
pub struct AuditReader {
    folder: PathBuf,
    segments: RefCell<BTreeMap<u64, SegmentFiles>>,
    known: RefCell<HashMap<u64, Rc<SegmentMap>>>,
    texts: RefCell<HashMap<BlockPlace, Rc<Vec<u8>>>>,
    read: Cell<u64>,
    blocks: Cell<u64>,
}

/// Where a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordPlace {
    segment: u64,
    offset: u64,
}

/// Where a part of a segment is, which is read at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockPlace {
    segment: u64,
    /// Where it begins.
    offset: u64,
    /// Where it is in the table of blocks.
    number: usize,
}

/// What is known of where things are in a segment.
#[derive(Debug)]
enum SegmentMap {
    /// Its index says it. The table is read when it is wanted.
    OnDisk(Footer, RefCell<Option<Rc<Table>>>),
    /// The segment was read.
    InMemory(Built),
}

// === impl AuditReader ===

impl AuditReader {
    /// The log of a data directory; empty if nothing was ever recorded there.
    pub fn of(data: &Path) -> io::Result<Self> {
        let folder = data.join(FOLDER);
        let mut segments = match files::list(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
            found => found?,
        };
        segments.retain(|_, files| files.has_records());
        Ok(Self {
            folder,
            segments: RefCell::new(segments),
            known: RefCell::default(),
            texts: RefCell::default(),
            read: Cell::new(0),
            blocks: Cell::new(0),
        })
    }

    /// The segments, oldest first.
    pub fn segments(&self) -> Vec<u64> {
        self.segments.borrow().keys().copied().collect()
    }

    /// The segment that is being written, or was when the gateway stopped. What was compressed is closed.
    pub fn open_segment(&self) -> Option<u64> {
        let segments = self.segments.borrow();
        segments.last_key_value().filter(|(_, files)| files.packed.is_none()).map(|(number, _)| *number)
    }

    /// How many bytes of files were read so far.
    pub fn bytes_read(&self) -> u64 {
        self.read.get()
    }

    /// How many blocks of segments were read so far.
    pub fn blocks_read(&self) -> u64 {
        self.blocks.get()
    }

    /// Shows every line to `look`, oldest first, until it has seen enough.
    pub fn walk(&self, mut look: impl FnMut(RecordPlace, &str) -> ControlFlow<()>) -> io::Result<()> {
        for segment in self.segments() {
            for block in self.all_blocks(segment)? {
                // Every block is read once, and none is kept.
                let text = self.read_block(block)?;
                if show(block, &text, &mut look).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The newest blocks of a segment first, without reading the rest of it.
    pub fn blocks_back(
        &self,
        segment: u64,
        mut look: impl FnMut(BlockPlace) -> ControlFlow<()>,
    ) -> io::Result<()> {
        if self.files(segment).is_some_and(|files| files.plain.is_some()) && !self.has_index(segment)? {
            return self.lines_back(segment, &mut look);
        }
        for block in self.all_blocks(segment)?.into_iter().rev() {
            if look(block).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The blocks of a segment that may have something, oldest first.
    pub fn find(&self, segment: u64, key: Key<'_>) -> io::Result<Vec<BlockPlace>> {
        let known = self.known(segment, |footer| footer.may_have(key))?;
        let Some(known) = known else { return Ok(Vec::new()) };
        let numbers = match &*known {
            SegmentMap::InMemory(built) => built.find(key),
            SegmentMap::OnDisk(footer, table) => match self.find_on_disk(segment, footer, table, key)? {
                Some(numbers) => numbers,
                None => {
                    let known = self.rebuild(segment)?;
                    return self.find_in_memory(segment, &known, key);
                }
            },
        };
        self.places(segment, &known, &numbers)
    }

    /// Shows the lines of a block.
    pub fn show(
        &self,
        block: BlockPlace,
        look: &mut dyn FnMut(RecordPlace, &str) -> ControlFlow<()>,
    ) -> io::Result<ControlFlow<()>> {
        let known = self.texts.borrow().get(&block).cloned();
        let text = match known {
            Some(text) => text,
            None => {
                let text = Rc::new(self.read_block(block)?);
                self.texts.borrow_mut().insert(block, Rc::clone(&text));
                text
            }
        };
        Ok(show(block, &text, look))
    }

    fn find_in_memory(&self, segment: u64, known: &SegmentMap, key: Key<'_>) -> io::Result<Vec<BlockPlace>> {
        match known {
            SegmentMap::InMemory(built) => self.places(segment, known, &built.find(key)),
            SegmentMap::OnDisk(..) => Ok(Vec::new()),
        }
    }

    /// Nothing where the index is damaged.
    fn find_on_disk(
        &self,
        segment: u64,
        footer: &Footer,
        table: &RefCell<Option<Rc<Table>>>,
        key: Key<'_>,
    ) -> io::Result<Option<Vec<usize>>> {
        let file = File::open(files::index(&self.folder, segment))?;
        let Some(table) = self.table(&file, footer, table)? else { return Ok(None) };
        let Some((numbers, read)) = table.find(&file, key)? else { return Ok(None) };
        self.count(read);
        Ok(Some(numbers))
    }

    fn table(
        &self,
        file: &File,
        footer: &Footer,
        table: &RefCell<Option<Rc<Table>>>,
    ) -> io::Result<Option<Rc<Table>>> {
        if let Some(table) = &*table.borrow() {
            return Ok(Some(Rc::clone(table)));
        }
        self.count(footer.table_length());
        let Some(read) = Table::read(file, footer)? else { return Ok(None) };
        let read = Rc::new(read);
        *table.borrow_mut() = Some(Rc::clone(&read));
        Ok(Some(read))
    }

    fn places(&self, segment: u64, known: &SegmentMap, numbers: &[usize]) -> io::Result<Vec<BlockPlace>> {
        let table;
        let blocks = match known {
            SegmentMap::InMemory(built) => &built.blocks,
            SegmentMap::OnDisk(footer, cell) => {
                let file = File::open(files::index(&self.folder, segment))?;
                table = self.table(&file, footer, cell)?;
                match &table {
                    Some(table) => &table.blocks,
                    None => return Ok(Vec::new()),
                }
            }
        };
        let mut numbers = numbers.to_vec();
        numbers.sort_unstable();
        numbers.dedup();
        let place = |number: usize| Some(BlockPlace { segment, offset: blocks.get(number)?.plain, number });
        Ok(numbers.into_iter().filter_map(place).collect())
    }

    /// All blocks of a segment, oldest first.
    fn all_blocks(&self, segment: u64) -> io::Result<Vec<BlockPlace>> {
        let Some(known) = self.known(segment, |_| true)? else { return Ok(Vec::new()) };
        let count = match &*known {
            SegmentMap::InMemory(built) => built.blocks.len(),
            SegmentMap::OnDisk(footer, table) => {
                let file = File::open(files::index(&self.folder, segment))?;
                match self.table(&file, footer, table)? {
                    Some(table) => table.blocks.len(),
                    None => {
                        let known = self.rebuild(segment)?;
                        let SegmentMap::InMemory(built) = &*known else { return Ok(Vec::new()) };
                        let all: Vec<usize> = (0..built.blocks.len()).collect();
                        return self.places(segment, &known, &all);
                    }
                }
            }
        };
        let all: Vec<usize> = (0..count).collect();
        self.places(segment, &known, &all)
    }

    fn files(&self, segment: u64) -> Option<SegmentFiles> {
        self.segments.borrow().get(&segment).cloned()
    }

    fn has_index(&self, segment: u64) -> io::Result<bool> {
        let known = self.known.borrow().contains_key(&segment);
        Ok(known || self.footer(segment)?.is_some())
    }

    /// What is known of a segment; nothing where its footer says that it is not wanted.
    fn known(
        &self,
        segment: u64,
        wanted: impl FnOnce(&Footer) -> bool,
    ) -> io::Result<Option<Rc<SegmentMap>>> {
        let known = self.known.borrow().get(&segment).cloned();
        let known = match known {
            Some(known) => known,
            None => match self.footer(segment)? {
                Some(footer) => {
                    let known = Rc::new(SegmentMap::OnDisk(footer, RefCell::default()));
                    self.known.borrow_mut().insert(segment, Rc::clone(&known));
                    known
                }
                None => self.rebuild(segment)?,
            },
        };
        Ok(match &*known {
            SegmentMap::OnDisk(footer, _) if !wanted(footer) => None,
            _ => Some(known),
        })
    }

    /// The end of the index of a segment, if there is one that fits.
    fn footer(&self, segment: u64) -> io::Result<Option<Footer>> {
        let file = match File::open(files::index(&self.folder, segment)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        self.count(FOOTER as u64);
        let footer = Footer::read(&file)?;
        let files = self.files(segment).unwrap_or_default();
        if let Some(footer) = &footer
            && !footer.fits(&files)
        {
            // It may have been compressed meanwhile.
            let files = self.look_again(segment)?;
            return Ok(Some(footer.clone()).filter(|footer| footer.fits(&files)));
        }
        Ok(footer)
    }

    /// Reads a whole segment, and keeps its index for the next reader if it is closed and can be kept.
    fn rebuild(&self, segment: u64) -> io::Result<Rc<SegmentMap>> {
        let mut files = self.files(segment).unwrap_or_default();
        let built = match pack::built(&self.folder, segment, &files) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                files = self.look_again(segment)?;
                if files.has_records() {
                    pack::built(&self.folder, segment, &files)?
                } else {
                    Built::default()
                }
            }
            built => built?,
        };
        self.count(files.plain.or(files.packed).unwrap_or_default());
        if self.open_segment() != Some(segment)
            && let Err(error) = built.save(&self.folder, segment)
        {
            tracing::debug!(%error, segment, "the index of a segment was not kept");
        }
        let known = Rc::new(SegmentMap::InMemory(built));
        self.known.borrow_mut().insert(segment, Rc::clone(&known));
        Ok(known)
    }

    /// The files of a segment as they are now.
    fn look_again(&self, segment: u64) -> io::Result<SegmentFiles> {
        let found = files::list(&self.folder)?.remove(&segment).unwrap_or_default();
        self.segments.borrow_mut().insert(segment, found.clone());
        Ok(found)
    }

    fn read_block(&self, block: BlockPlace) -> io::Result<Vec<u8>> {
        self.blocks.set(self.blocks.get() + 1);
        let files = self.files(block.segment).unwrap_or_default();
        let read = self.read_of(block, &files);
        match read {
            // It was compressed meanwhile, or removed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let files = self.look_again(block.segment)?;
                self.known.borrow_mut().remove(&block.segment);
                if files.has_records() { self.read_of(block, &files) } else { Ok(Vec::new()) }
            }
            read => read,
        }
    }

    fn read_of(&self, block: BlockPlace, files: &SegmentFiles) -> io::Result<Vec<u8>> {
        if let Some(length) = files.plain {
            let file = File::open(files::plain(&self.folder, block.segment))?;
            let next = self.next_block(block)?.map_or(length, |next| next.plain);
            return self.read_at(&file, block.offset, next);
        }
        let Some(length) = files.packed else { return Ok(Vec::new()) };
        let file = File::open(files::packed(&self.folder, block.segment))?;
        let next = self.next_block(block)?.map_or(length, |next| next.packed);
        let Some(this) = self.block(block.segment, block.number)? else { return Ok(Vec::new()) };
        pack::expanded(&self.read_at(&file, this.packed, next)?)
    }

    fn read_at(&self, file: &File, from: u64, until: u64) -> io::Result<Vec<u8>> {
        let length = usize::try_from(until.saturating_sub(from)).unwrap_or_default();
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, from)?;
        self.count(length as u64);
        Ok(bytes)
    }

    fn next_block(&self, block: BlockPlace) -> io::Result<Option<Block>> {
        // A block that was found from the end of a file has its end in its number.
        match block.number.checked_sub(FROM_END) {
            Some(length) => Ok(Some(Block { plain: block.offset + length as u64, packed: 0 })),
            None => self.block(block.segment, block.number + 1),
        }
    }

    fn block(&self, segment: u64, number: usize) -> io::Result<Option<Block>> {
        let Some(known) = self.known(segment, |_| true)? else { return Ok(None) };
        Ok(match &*known {
            SegmentMap::InMemory(built) => built.blocks.get(number).copied(),
            SegmentMap::OnDisk(footer, cell) => {
                let file = File::open(files::index(&self.folder, segment))?;
                self.table(&file, footer, cell)?.and_then(|table| table.blocks.get(number).copied())
            }
        })
    }

    /// Cuts lines into blocks from their end, without reading the rest.
    fn lines_back(
        &self,
        segment: u64,
        look: &mut dyn FnMut(BlockPlace) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let Some(mut until) = self.files(segment).and_then(|files| files.plain) else { return Ok(()) };
        // A pipe in the place of the file has no length, and opening it would wait for somebody.
        if until == 0 {
            return Ok(());
        }
        let file = match File::open(files::plain(&self.folder, segment)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            file => file?,
        };
        while until > 0 {
            let offset = match until.checked_sub(BLOCK_BYTES) {
                None | Some(0) => 0,
                Some(at) => self.line_end(&file, at, until)?.unwrap_or(0),
            };
            let number = FROM_END.saturating_add(usize::try_from(until - offset).unwrap_or_default());
            if look(BlockPlace { segment, offset, number }).is_break() {
                return Ok(());
            }
            until = offset;
        }
        Ok(())
    }

    /// Where the first line that begins behind a place begins, if one does before another place.
    fn line_end(&self, file: &File, mut at: u64, until: u64) -> io::Result<Option<u64>> {
        let mut part = [0; SCAN];
        while at < until {
            let read = file.read_at(&mut part, at)?;
            self.count(read as u64);
            if read == 0 {
                return Ok(None);
            }
            let end = part.get(..read).and_then(|part| part.iter().position(|byte| *byte == b'\n'));
            if let Some(end) = end {
                let next = at + end as u64 + 1;
                return Ok((next < until).then_some(next));
            }
            at += read as u64;
        }
        Ok(None)
    }

    fn count(&self, bytes: u64) {
        self.read.set(self.read.get() + bytes);
    }
}

/// The number of a block that is in no table: this, and its length.
const FROM_END: usize = 1 << 40;

/// Shows the lines of a block.
fn show(
    block: BlockPlace,
    text: &[u8],
    look: &mut dyn FnMut(RecordPlace, &str) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut offset = block.offset;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let place = RecordPlace { segment: block.segment, offset };
        offset += line.len() as u64;
        // A line that was torn by a full disk is not a record.
        let Ok(line) = std::str::from_utf8(line) else { continue };
        look(place, line.trim_end_matches('\n'))?;
    }
    ControlFlow::Continue(())
}

// === impl RecordPlace ===

impl RecordPlace {
    /// In which segment.
    pub fn segment(self) -> u64 {
        self.segment
    }
}

// === impl BlockPlace ===

impl BlockPlace {
    /// In which segment.
    pub fn segment(self) -> u64 {
        self.segment
    }

    /// Where its first record is.
    pub fn beginning(self) -> RecordPlace {
        RecordPlace { segment: self.segment, offset: self.offset }
    }
}
