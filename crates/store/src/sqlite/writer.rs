//! The only connection that writes, on a thread of its own: what is queued is committed together.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};

use super::connection::{SqliteTx, at_once, batch, flush_commits, scrub, undo};
use super::copy;
use crate::StoreError;
use crate::operation::{Access, Durability, Operation};

/// The most requests that share one commit.
const BATCH: usize = 256;

/// Requests that may wait; the next one waits to be queued.
const QUEUE: usize = 1024;

/// How often emptying the log beside the file is tried at the end, each time as long as readers are waited for.
const CLOSING_TRIES: u32 = 10;

const COMMITTING: &str = "commit";

/// The way to the writing thread.
#[derive(Debug)]
pub(super) struct Writer {
    queue: mpsc::Sender<Message>,
    alive: Arc<AtomicBool>,
}

enum Message {
    Job(Box<dyn Job>),
    /// All that the database holds is copied into this file.
    Rescue(PathBuf, oneshot::Sender<Result<(), StoreError>>),
    /// The thread ends after what was queued before, and answers when the file is closed.
    Stop(oneshot::Sender<()>),
}

/// Has all that the database holds copied elsewhere, by the only connection that may still reach it.
#[derive(Debug)]
pub(super) struct Rescuer(mpsc::WeakSender<Message>);

/// A request on its way: done inside a transaction, answered after the commit.
trait Job: Send {
    fn is_flushed(&self) -> bool;
    /// Whether it cleared something; known once it ran.
    fn scrubs(&self) -> bool;
    fn run(&mut self, connection: &mut Connection) -> Result<(), StoreError>;
    fn answer(self: Box<Self>, outcome: Result<(), StoreError>);
}

type Reply<O> = oneshot::Sender<Result<<O as Operation>::Output, StoreError>>;

struct Request<O: Operation> {
    operation: O,
    done: Option<O::Output>,
    scrubs: bool,
    reply: Option<Reply<O>>,
}

/// Says that the thread has ended, however it did.
struct Alive(Arc<AtomicBool>);

// === impl Writer ===

impl Writer {
    /// Starts the thread. What the last run cleared may still be in a log that it left.
    pub(super) fn start(connection: Connection, log_was_left: bool) -> Result<Self, StoreError> {
        let (queue, messages) = mpsc::channel(QUEUE);
        let alive = Arc::new(AtomicBool::new(true));
        let flag = Alive(Arc::clone(&alive));
        std::thread::Builder::new()
            .name("store-write".into())
            .spawn(move || write(connection, log_was_left, messages, flag))
            .map_err(|error| StoreError::Failed { doing: "begin", why: error.to_string().into() })?;
        Ok(Self { queue, alive })
    }

    /// Queues a request; waits while the queue is full.
    pub(super) async fn send<O: Operation>(&self, operation: O, reply: Reply<O>) -> Result<(), StoreError> {
        let request = Request { operation, done: None, scrubs: false, reply: Some(reply) };
        self.queue.send(Message::Job(Box::new(request))).await.map_err(|_| StoreError::Stopped)
    }

    /// Queues a request whose answer nobody waits for, or gives it back if there is no room.
    pub(super) fn try_send<O: Operation>(&self, operation: O) -> Result<(), O> {
        match self.queue.try_reserve() {
            Ok(place) => {
                let request = Request { operation, done: None, scrubs: false, reply: None };
                place.send(Message::Job(Box::new(request)));
                Ok(())
            }
            Err(TrySendError::Full(()) | TrySendError::Closed(())) => Err(operation),
        }
    }

    /// Whether anything queued will be written.
    pub(super) fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Acquire)
    }

    /// Whether something is queued that the thread has not taken yet.
    #[cfg(test)]
    pub(super) fn has_waiting(&self) -> bool {
        self.queue.capacity() < QUEUE
    }

    /// Saves what the database holds where its file is gone.
    pub(super) fn rescuer(&self) -> Rescuer {
        Rescuer(self.queue.downgrade())
    }

    /// Ends the thread and closes the file.
    pub(super) async fn stop(&self) {
        let (reply, closed) = oneshot::channel();
        if self.queue.send(Message::Stop(reply)).await.is_ok() {
            // A thread that ended otherwise has closed it, too.
            closed.await.ok();
        }
    }
}

// === impl Rescuer ===

impl Rescuer {
    /// Copies it into a file that must not exist. It blocks.
    pub(super) fn rescue(&self, to: &Path) -> Result<(), StoreError> {
        let queue = self.0.upgrade().ok_or(StoreError::Stopped)?;
        let (reply, answer) = oneshot::channel();
        queue.blocking_send(Message::Rescue(to.to_owned(), reply)).map_err(|_| StoreError::Stopped)?;
        drop(queue);
        answer.blocking_recv().unwrap_or(Err(StoreError::Stopped))
    }
}

/// The thread.
fn write(
    mut connection: Connection,
    mut unscrubbed: bool,
    mut messages: mpsc::Receiver<Message>,
    alive: Alive,
) {
    let mut is_flushing = None;
    while let Some(message) = messages.blocking_recv() {
        let mut jobs = Vec::new();
        let mut next = Some(message);
        let stop = loop {
            match next.take() {
                Some(Message::Job(job)) => jobs.push(job),
                Some(Message::Rescue(to, reply)) => {
                    // Whoever gave up waiting does not need the answer.
                    reply.send(copy::into(&connection, &to)).ok();
                }
                Some(Message::Stop(reply)) => break Some(reply),
                None => break None,
            }
            if jobs.len() < BATCH {
                next = messages.try_recv().ok();
            }
        };
        if !jobs.is_empty() {
            unscrubbed |= commit(&mut connection, &mut is_flushing, jobs);
            unscrubbed = unscrubbed && !scrub(&connection);
        }
        if let Some(reply) = stop {
            messages.close();
            empty_log(&connection);
            drop((connection, alive));
            reply.send(()).ok();
            return;
        }
    }
}

/// Puts everything into the file itself, so that a copy of it alone is a copy of all.
fn empty_log(connection: &Connection) {
    if !(0..CLOSING_TRIES).any(|_| scrub(connection)) {
        tracing::warn!(
            "the log beside the session store was not emptied: a copy of the file alone would lack what is in it"
        );
    }
}

/// Does requests in one transaction, each for itself, and answers them when all are committed. Says whether one of them
/// cleared something.
fn commit(connection: &mut Connection, is_flushing: &mut Option<bool>, mut jobs: Vec<Box<dyn Job>>) -> bool {
    match attempt(connection, is_flushing, &mut jobs) {
        Ok(outcomes) => {
            let scrubs = jobs.iter().any(|job| job.scrubs());
            jobs.into_iter().zip(outcomes).for_each(|(job, outcome)| job.answer(outcome));
            scrubs
        }
        Err(error) => {
            undo(connection);
            jobs.into_iter().for_each(|job| job.answer(Err(error.clone())));
            false
        }
    }
}

fn attempt(
    connection: &mut Connection,
    is_flushing: &mut Option<bool>,
    jobs: &mut [Box<dyn Job>],
) -> Result<Vec<Result<(), StoreError>>, StoreError> {
    let flushed = jobs.iter().any(|job| job.is_flushed());
    if *is_flushing != Some(flushed) {
        flush_commits(connection, COMMITTING, flushed)?;
        *is_flushing = Some(flushed);
    }
    batch(connection, COMMITTING, "BEGIN IMMEDIATE")?;
    let mut outcomes = Vec::with_capacity(jobs.len());
    for job in jobs {
        batch(connection, COMMITTING, "SAVEPOINT one")?;
        let outcome = job.run(connection);
        // Some failures, such as a full disk, end the whole transaction; then nobody's work is in it.
        if let Err(error) = &outcome
            && connection.is_autocommit()
        {
            return Err(error.clone());
        }
        let end = if outcome.is_ok() { "RELEASE one" } else { "ROLLBACK TO one; RELEASE one" };
        batch(connection, COMMITTING, end)?;
        outcomes.push(outcome);
    }
    batch(connection, COMMITTING, "COMMIT")?;
    Ok(outcomes)
}

// === impl Request ===

impl<O: Operation> Job for Request<O> {
    fn is_flushed(&self) -> bool {
        self.operation.access() == Access::Write(Durability::Flushed)
    }

    fn scrubs(&self) -> bool {
        self.scrubs
    }

    fn run(&mut self, connection: &mut Connection) -> Result<(), StoreError> {
        let mut tx = SqliteTx::new(connection, O::DOING);
        self.done = Some(at_once(self.operation.run(&mut tx))?);
        self.scrubs = tx.scrubs;
        if tx.given_up { batch(connection, O::DOING, "ROLLBACK TO one") } else { Ok(()) }
    }

    fn answer(self: Box<Self>, outcome: Result<(), StoreError>) {
        let Self { done, reply, .. } = *self;
        let answer = outcome.and_then(|()| done.ok_or(StoreError::Stopped));
        match reply {
            // Whoever gave up waiting does not need the answer.
            Some(reply) => drop(reply.send(answer)),
            None => {
                if let Err(error) = answer {
                    tracing::warn!(%error, "a note was not kept");
                }
            }
        }
    }
}

// === impl Alive ===

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}
