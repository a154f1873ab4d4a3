//! A connection that only reads, on a thread of its own, started when it is first needed.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::connection::{self, Purpose, SqliteTx, at_once, batch};
use crate::StoreError;
use crate::operation::Operation;

/// Requests that may wait; the next one waits to be queued.
const QUEUE: usize = 256;

/// The way to one reading thread.
#[derive(Debug)]
pub(super) struct Reader {
    file: PathBuf,
    thread_name: &'static str,
    queue: Mutex<Option<mpsc::Sender<Job>>>,
}

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

// === impl Reader ===

impl Reader {
    pub(super) fn new(file: &Path, thread_name: &'static str) -> Self {
        Self { file: file.into(), thread_name, queue: Mutex::new(None) }
    }

    /// Queues a request; waits while the queue is full.
    pub(super) async fn send<O: Operation>(
        &self,
        operation: O,
        reply: oneshot::Sender<Result<O::Output, StoreError>>,
    ) -> Result<(), StoreError> {
        let queue = self.queue()?;
        let job = move |connection: &mut Connection| {
            // Whoever gave up waiting does not need the answer.
            reply.send(read(connection, &operation)).ok();
        };
        queue.send(Box::new(job)).await.map_err(|_| StoreError::Stopped)
    }

    fn queue(&self) -> Result<mpsc::Sender<Job>, StoreError> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = queue.as_ref().filter(|queue| !queue.is_closed()) {
            return Ok(queue.clone());
        }
        let mut connection = connection::open(&self.file, Purpose::Read)?;
        let (sender, mut jobs) = mpsc::channel::<Job>(QUEUE);
        std::thread::Builder::new()
            .name(self.thread_name.into())
            .spawn(move || {
                while let Some(job) = jobs.blocking_recv() {
                    job(&mut connection);
                }
            })
            .map_err(|error| StoreError::Failed { doing: "read", why: error.to_string().into() })?;
        Ok(queue.insert(sender).clone())
    }
}

/// Runs an operation over one snapshot.
fn read<O: Operation>(connection: &mut Connection, operation: &O) -> Result<O::Output, StoreError> {
    batch(connection, O::DOING, "BEGIN")?;
    let found = at_once(operation.run(&mut SqliteTx::new(connection, O::DOING)));
    // Nothing was written: how a read ends is all the same.
    connection::undo(connection);
    found
}
