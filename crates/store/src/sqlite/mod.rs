//! SQLite in process: for one node. WAL, one writing thread, reading threads of their own.

mod connection;
mod copy;
mod inspect;
mod presence;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::oneshot;

use self::connection::Purpose;
pub(crate) use self::copy::copy;
pub(crate) use self::inspect::pins;
use self::presence::Presence;
use self::reader::Reader;
use self::writer::Writer;
use crate::StoreError;
use crate::operation::{Access, Operation, Restored};

/// The file below the data directory.
pub(crate) const FILE: &str = "highwater.db";

/// One database file.
#[derive(Debug)]
pub(crate) struct Sqlite {
    writer: Writer,
    /// For what a call waits for.
    road: Reader,
    /// For lists that people look at, so that a long one delays no call.
    people: Reader,
    presence: Arc<Presence>,
}

/// What is known when the file is opened.
#[derive(Debug)]
pub(crate) struct Opening {
    pub(crate) file: PathBuf,
    /// The operator says that it comes from a backup.
    pub(crate) restored: bool,
}

// === impl Sqlite ===

impl Sqlite {
    /// Opens the file and makes or renews its layout.
    pub(crate) fn open(opening: Opening) -> Result<Self, StoreError> {
        // Before it is opened: a run that came to its end has left none, and one that was killed has.
        let log_was_left = connection::has_log(&opening.file);
        let mut connection = connection::open(&opening.file, Purpose::Write)?;
        connection::migrate(&mut connection)?;
        if opening.restored {
            let sessions = connection::now(&mut connection, &Restored, true)?;
            tracing::warn!(
                sessions,
                "the store was restored, so every session counts as having read everything"
            );
        }
        let presence = Arc::new(Presence::of(&opening.file));
        let writer = Writer::start(connection, log_was_left)?;
        let watched = presence.watch(writer.rescuer());
        watched.map_err(|error| StoreError::Failed { doing: "begin", why: error.to_string().into() })?;
        Ok(Self {
            writer,
            presence,
            road: Reader::new(&opening.file, "store-read"),
            people: Reader::new(&opening.file, "store-lists"),
        })
    }

    /// Does one thing and waits for it.
    pub(crate) async fn perform<O: Operation>(&self, operation: O) -> Result<O::Output, StoreError> {
        self.presence.check()?;
        let (reply, answer) = oneshot::channel();
        match operation.access() {
            Access::Write(_) => self.writer.send(operation, reply).await?,
            Access::Read => self.road.send(operation, reply).await?,
        }
        answer.await.unwrap_or(Err(StoreError::Stopped))
    }

    /// Does one thing for people.
    pub(crate) async fn list<O: Operation>(&self, operation: O) -> Result<O::Output, StoreError> {
        self.presence.check()?;
        let (reply, answer) = oneshot::channel();
        self.people.send(operation, reply).await?;
        answer.await.unwrap_or(Err(StoreError::Stopped))
    }

    /// Queues one thing without waiting for it, if there is room; gives it back if not.
    pub(crate) fn queue<O: Operation>(&self, operation: O) -> Result<(), O> {
        self.writer.try_send(operation)
    }

    /// Whether the file is still the one that was opened.
    pub(crate) fn presence(&self) -> Result<(), StoreError> {
        self.presence.check()
    }

    /// Whether the writing thread is there.
    pub(crate) fn is_writing(&self) -> bool {
        self.writer.is_alive()
    }

    /// Ends in order: what is queued is written.
    pub(crate) async fn close(&self) {
        self.presence.close();
        self.writer.stop().await;
    }
}
