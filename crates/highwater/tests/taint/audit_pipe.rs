//! An audit log that can be held up and watched: a pipe in the place of its file. Whoever writes to a full pipe waits, and
//! whoever reads from it sees each record at the moment it is written.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::process::Command;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::OFlags;

/// The pipe. It takes what a pipe holds and is emptied by nobody else.
pub(crate) struct AuditPipe(File);

// === impl AuditPipe ===

impl AuditPipe {
    /// Puts the pipe into a data directory in which no gateway runs yet.
    pub(crate) fn new(data_dir: &Path) -> Self {
        let folder = data_dir.join("audit");
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).unwrap();
        let path = folder.join("000001.jsonl");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let nonblocking = i32::try_from(OFlags::NONBLOCK.bits()).unwrap();
        Self(OpenOptions::new().read(true).write(true).custom_flags(nonblocking).open(path).unwrap())
    }

    /// From now on nobody gets a record in.
    pub(crate) fn fill(&mut self) {
        for size in [4096, 1] {
            let filling = vec![b'\n'; size];
            loop {
                match self.0.write(&filling) {
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }

    /// Takes out what was written.
    pub(crate) fn empty(&mut self) -> String {
        let mut taken = Vec::new();
        let ended = self.0.read_to_end(&mut taken).unwrap_err();
        assert_eq!(ended.kind(), ErrorKind::WouldBlock);
        String::from_utf8(taken).unwrap()
    }

    /// Waits for a record with this in it, and gives all that was written until then. It blocks the thread, so that
    /// nothing stands between the record and what is done about it.
    pub(crate) fn wait(&mut self, part: &str) -> String {
        let mut taken = String::new();
        while !taken.contains(part) {
            poll(&mut [PollFd::new(&self.0, PollFlags::IN)], None).unwrap();
            taken.push_str(&self.empty());
        }
        taken
    }
}
