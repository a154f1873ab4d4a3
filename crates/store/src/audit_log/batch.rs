//! Events of several calls in one write: whoever is ready in the same turn of a thread shares it. Nobody goes on before
//! the write is done, so nothing waits in memory that somebody counts on.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};

use highwater_audit::AuditEvent;
use tokio::task::yield_now;

use super::{Appended, AuditError, AuditLog, USUAL_LINE};

/// How many batches a log has. A thread keeps to one of them; few have to share.
pub(super) const BATCHES: usize = 16;

/// After so many batches of one, a thread is taken to serve one call at a time, for which waiting would be in vain.
const LONELY: u32 = 8;

/// How many records a lonely thread writes at once before it looks for company again.
const PROBE_EVERY: u32 = 64;

static NEXT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static OWN: usize = NEXT.fetch_add(1, Ordering::Relaxed) % BATCHES;
}

/// Records that are to be written together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    lines: Vec<u8>,
    members: usize,
    /// Counts the writes; the number of the one to come.
    number: u64,
    /// Writes that failed, with how many have not heard of it yet.
    failed: Vec<(u64, usize, io::ErrorKind)>,
    /// How many batches in a row had one member.
    lonely: u32,
}

/// An event that is about to be written. If nobody waits for that any more, it is written at once.
#[must_use = "the event is not in the log before this is waited for"]
#[derive(Debug)]
pub struct Appending {
    log: Arc<AuditLog>,
    batch: usize,
    number: u64,
    over: bool,
}

// === impl AuditLog ===

impl AuditLog {
    /// Appends one event together with those of other calls on this thread.
    pub fn append_with_others(self: &Arc<Self>, event: &AuditEvent<'_>) -> Appending {
        let own = OWN.with(|own| *own);
        let mut batch = self.batch(own);
        event.write(&mut batch.lines);
        batch.members += 1;
        Appending { log: Arc::clone(self), batch: own, number: batch.number, over: false }
    }

    fn batch(&self, own: usize) -> MutexGuard<'_, Batch> {
        let [first, ..] = &self.batches;
        let batch = self.batches.get(own).unwrap_or(first);
        batch.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Appending ===

impl Appending {
    /// Waits until the event outlives the process.
    pub async fn written(mut self) -> Result<Appended, AuditError> {
        if self.log.batch(self.batch).expects_company() {
            // Whoever else is ready on this thread runs first, and adds what it has.
            yield_now().await;
        }
        self.write()
    }

    /// Writes the batch, unless another member did.
    fn write(&mut self) -> Result<Appended, AuditError> {
        self.over = true;
        let log = &self.log;
        let mut batch = log.batch(self.batch);
        let written = if batch.number == self.number {
            batch.write(|lines| log.write_lines(lines))
        } else {
            batch.outcome_of(self.number)
        };
        drop(batch);
        written.map_err(log.failed("write to"))?;
        Ok(Appended { _private: () })
    }
}

impl Drop for Appending {
    fn drop(&mut self) {
        if !self.over
            && let Err(error) = self.write()
        {
            tracing::error!(%error, "the record of a call that was given up is lost");
        }
    }
}

// === impl Batch ===

impl Batch {
    fn expects_company(&mut self) -> bool {
        self.lonely < LONELY || self.lonely.is_multiple_of(PROBE_EVERY) || self.members > 1
    }

    fn write(&mut self, write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<()> {
        let written = write(&mut self.lines);
        if let Err(error) = &written
            && self.members > 1
        {
            self.failed.push((self.number, self.members - 1, error.kind()));
        }
        self.lonely = if self.members > 1 { 0 } else { self.lonely.wrapping_add(1) };
        self.lines.clear();
        self.lines.shrink_to(USUAL_LINE);
        self.members = 0;
        self.number += 1;
        written
    }

    /// What became of a write that another member made.
    fn outcome_of(&mut self, number: u64) -> io::Result<()> {
        let Some(at) = self.failed.iter().position(|(failed, ..)| *failed == number) else { return Ok(()) };
        let Some((_, unaware, kind)) = self.failed.get_mut(at) else { return Ok(()) };
        let kind = *kind;
        *unaware -= 1;
        if *unaware == 0 {
            self.failed.swap_remove(at);
        }
        Err(kind.into())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{event, lines, open};
    use super::*;
    use highwater_core::id::DecisionId;

    #[tokio::test]
    async fn what_is_ready_at_the_same_time_is_in_the_file_when_each_goes_on() {
        let (_folder, dir, log) = open();
        let log = Arc::new(log);
        let one = async |number: usize| {
            let id = DecisionId::new(format!("hwd_{number}"));
            log.append_with_others(&event(&id)).written().await.unwrap();
            assert!(lines(&dir).iter().any(|line| line.contains(&format!("\"hwd_{number}\""))));
        };
        futures_util::future::join_all((0..100).map(one)).await;
        assert_eq!(lines(&dir).len(), 100);
        assert!(log.batch(OWN.with(|own| *own)).number < 100, "some shared a write");
    }

    #[tokio::test]
    async fn what_nobody_waits_for_is_written_all_the_same() {
        let (_folder, dir, log) = open();
        let log = Arc::new(log);
        drop(log.append_with_others(&event(&DecisionId::new("hwd_1"))));
        assert_eq!(lines(&dir).len(), 1);
        let (first, second) = (
            log.append_with_others(&event(&DecisionId::new("hwd_2"))),
            log.append_with_others(&event(&DecisionId::new("hwd_3"))),
        );
        drop(first);
        second.written().await.unwrap();
        assert_eq!(lines(&dir).len(), 3);
    }

    #[tokio::test]
    async fn every_member_hears_of_a_failure() {
        let mut batch = Batch { members: 3, ..Batch::default() };
        let full = batch.write(|_| Err(io::ErrorKind::StorageFull.into()));
        assert_eq!(full.unwrap_err().kind(), io::ErrorKind::StorageFull);
        batch.members = 1;
        batch.write(|_| Ok(())).unwrap();
        for _ in 0..2 {
            assert_eq!(batch.outcome_of(0).unwrap_err().kind(), io::ErrorKind::StorageFull);
        }
        assert!(batch.failed.is_empty());
        batch.outcome_of(1).unwrap();
    }
}
