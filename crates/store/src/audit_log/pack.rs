//! What becomes of a closed segment: its lines are compressed block by block, each block a gzip member of its own, and an
//! index says where each begins. `zcat` reads the whole as any other compressed file.
//!
//! A process that is killed in between leaves the lines as they were, and what it had begun under another name. The lines
//! go last, when everything that replaces them is on disk and was read back.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use super::build::{Blocks, Builder};
use super::files::{self, SegmentFiles, Unfinished};
use super::index::{Block, Built};

/// The level of compression: records repeat each other so much that a higher one gains a few percent for twice the time.
const LEVEL: u32 = 2;

/// How much is read at once.
const READ: usize = 128 * 1024;

/// Compresses the lines of a closed segment and removes them; nothing of it is visible before all of it is done.
pub(super) fn pack(folder: &Path, number: u64) -> io::Result<()> {
    let plain = files::plain(folder, number);
    let (unfinished, mut out) = Unfinished::create(files::packed(folder, number))?;
    let mut blocks = Blocks::of(BufReader::with_capacity(READ, File::open(&plain)?));
    let (mut builder, mut at) = (Builder::default(), Block::default());
    while let Some(lines) = blocks.next()? {
        let member = compressed(&lines)?;
        out.write_all(&member)?;
        builder.take_in(at, &lines);
        at.plain += lines.len() as u64;
        at.packed += member.len() as u64;
    }
    out.sync_all()?;
    drop(out);
    // The index is right for the lines as well, so it may come first.
    builder.finish(at).save(folder, number)?;
    unfinished.finish()?;
    files::sync_folder(folder)?;
    fs::remove_file(&plain)
}

/// Makes the index of a closed segment that has none, or a damaged one, from the segment itself.
pub(super) fn index(folder: &Path, number: u64, files: &SegmentFiles) -> io::Result<()> {
    built(folder, number, files)?.save(folder, number)
}

/// Reads a whole segment.
pub(super) fn built(folder: &Path, number: u64, files: &SegmentFiles) -> io::Result<Built> {
    let mut builder = Builder::default();
    if files.plain.is_some() {
        let file = File::open(files::plain(folder, number))?;
        let mut blocks = Blocks::of(BufReader::with_capacity(READ, file));
        let mut at = Block::default();
        while let Some(lines) = blocks.next()? {
            builder.take_in(at, &lines);
            at.plain += lines.len() as u64;
        }
        return Ok(builder.finish(at));
    }
    let file = BufReader::with_capacity(READ, File::open(files::packed(folder, number))?);
    let mut members = Members { from: Some(Counted { from: file, taken: 0 }) };
    let mut at = Block::default();
    while let Some(lines) = members.next()? {
        builder.take_in(at, &lines);
        at.plain += lines.len() as u64;
        at.packed = members.taken();
    }
    Ok(builder.finish(at))
}

/// One block as a file of its own, read back before it counts.
fn compressed(lines: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(lines.len() / 8), Compression::new(LEVEL));
    encoder.write_all(lines)?;
    let member = encoder.finish()?;
    if expanded(&member)? == lines { Ok(member) } else { Err(io::ErrorKind::InvalidData.into()) }
}

/// The lines of a block.
pub(super) fn expanded(member: &[u8]) -> io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    GzDecoder::new(member).read_to_end(&mut lines)?;
    Ok(lines)
}

/// The members of a compressed file, one after the other.
struct Members<R> {
    from: Option<Counted<R>>,
}

/// Counts what was taken.
struct Counted<R> {
    from: R,
    taken: u64,
}

// === impl Members ===

impl<R: io::BufRead> Members<R> {
    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(mut from) = self.from.take() else { return Ok(None) };
        if io::BufRead::fill_buf(&mut from)?.is_empty() {
            self.from = Some(from);
            return Ok(None);
        }
        let mut member = flate2::bufread::GzDecoder::new(from);
        let mut lines = Vec::new();
        member.read_to_end(&mut lines)?;
        self.from = Some(member.into_inner());
        Ok(Some(lines))
    }

    fn taken(&self) -> u64 {
        self.from.as_ref().map_or(0, |from| from.taken)
    }
}

// === impl Counted ===

impl<R: io::BufRead> Read for Counted<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(out)?;
        self.taken += read as u64;
        Ok(read)
    }
}

impl<R: io::BufRead> io::BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.from.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.taken += amount as u64;
        self.from.consume(amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_make_the_same_index_at_once_and_none_fails() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        fs::write(files::plain(folder, 1), "{\"id\":\"hwd_1\"}\n".repeat(1_000)).unwrap();
        let segment = files::list(folder).unwrap().remove(&1).unwrap();
        index(folder, 1, &segment).unwrap();
        let alone = fs::read(files::index(folder, 1)).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..25).for_each(|_| index(folder, 1, &segment).unwrap()));
            }
        });
        assert!(fs::read(files::index(folder, 1)).unwrap() == alone, "it is there, and whole");
        assert_eq!(fs::read_dir(folder).unwrap().count(), 2, "nothing unfinished is left");
    }
}
