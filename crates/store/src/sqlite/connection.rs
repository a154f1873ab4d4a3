//! One connection to the file: how it is set up, how an operation runs on it, what its errors mean.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, ToSql};

use crate::StoreError;
use crate::operation::Operation;
use crate::sql::schema::{self, Dialect};
use crate::sql::{Cell, Row, Tx, Value};

/// How long a statement waits for a lock. Nobody but a person with a shell can hold one.
const BUSY_LIMIT: Duration = Duration::from_secs(2);

/// Statements that stay prepared on a connection: all there are.
const PREPARED: usize = 192;

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Read,
    Write,
}

/// A transaction, or a read, on a connection. It answers at once.
pub(super) struct SqliteTx<'c> {
    pub(super) connection: &'c mut Connection,
    pub(super) doing: &'static str,
    /// Whether what was done is to be undone.
    pub(super) given_up: bool,
    /// Whether the log of the file must not keep what was there before.
    pub(super) scrubs: bool,
}

/// Opens the file as we want it.
pub(super) fn open(file: &Path, purpose: Purpose) -> Result<Connection, StoreError> {
    let failed =
        |why: &dyn std::fmt::Display| StoreError::File { path: file.into(), why: why.to_string().into() };
    let flags = match purpose {
        Purpose::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
        Purpose::Write => {
            // SQLite gives the files beside it the same mode.
            let mut create = OpenOptions::new();
            create.create(true).truncate(false).write(true).mode(0o600);
            create.open(file).map_err(|error| failed(&error))?;
            OpenFlags::SQLITE_OPEN_READ_WRITE
        }
    };
    let connection = Connection::open_with_flags(file, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|error| failed(&error))?;
    let settings = match purpose {
        Purpose::Read => "PRAGMA query_only=ON; PRAGMA cache_size=-512;",
        Purpose::Write => {
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-1024; \
             PRAGMA journal_size_limit=4194304; PRAGMA trusted_schema=OFF; PRAGMA secure_delete=ON;"
        }
    };
    connection.busy_timeout(BUSY_LIMIT).map_err(|error| failed(&error))?;
    connection.set_prepared_statement_cache_capacity(PREPARED);
    connection.execute_batch(settings).map_err(|error| failed(&error))?;
    Ok(connection)
}

/// Makes or renews the layout.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    let doing = "renew its layout";
    alone(connection, doing, false, |connection| {
        at_once(schema::migrate(&mut SqliteTx::new(connection, doing), Dialect::Sqlite))
    })
}

/// Runs one operation in a transaction of its own, on disk when it returns if so wanted.
pub(super) fn now<O: Operation>(
    connection: &mut Connection,
    operation: &O,
    flushed: bool,
) -> Result<O::Output, StoreError> {
    alone(connection, O::DOING, flushed, |connection| {
        at_once(operation.run(&mut SqliteTx::new(connection, O::DOING)))
    })
}

/// A connection to read from outside any transaction.
pub(super) fn reading(connection: &mut Connection) -> SqliteTx<'_> {
    SqliteTx::new(connection, "begin")
}

/// A transaction around some work.
fn alone<R>(
    connection: &mut Connection,
    doing: &'static str,
    flushed: bool,
    work: impl FnOnce(&mut Connection) -> Result<R, StoreError>,
) -> Result<R, StoreError> {
    flush_commits(connection, doing, flushed)?;
    batch(connection, doing, "BEGIN IMMEDIATE")?;
    let done = work(connection).and_then(|done| batch(connection, doing, "COMMIT").map(|()| done));
    if done.is_err() {
        undo(connection);
    }
    done
}

/// Chooses whether the next commits go to disk at once. It cannot be changed inside a transaction.
pub(super) fn flush_commits(
    connection: &Connection,
    doing: &'static str,
    flushed: bool,
) -> Result<(), StoreError> {
    batch(connection, doing, if flushed { "PRAGMA synchronous=FULL" } else { "PRAGMA synchronous=NORMAL" })
}

/// Runs statements without parameters.
pub(super) fn batch(connection: &Connection, doing: &'static str, text: &str) -> Result<(), StoreError> {
    connection.execute_batch(text).map_err(|error| explained(doing, &error))
}

/// How long the log waits for readers before it is emptied another time.
const SCRUB_LIMIT: Duration = Duration::from_millis(50);

/// Whether there is a log beside the file with anything in it.
pub(super) fn has_log(file: &Path) -> bool {
    let mut log = file.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(log).is_ok_and(|log| log.len() > 0)
}

/// Empties the log beside the file, which holds what was there before it was cleared; says whether it is empty.
pub(super) fn scrub(connection: &Connection) -> bool {
    let emptied = connection.busy_timeout(SCRUB_LIMIT).and_then(|()| {
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0))
    });
    if let Err(error) = connection.busy_timeout(BUSY_LIMIT) {
        tracing::error!(%error, "the session store does not wait for locks any more");
    }
    // A reader that is under way is no fault: the log is emptied after it.
    emptied.inspect_err(|error| tracing::warn!(%error, "the log of the session store was not emptied"))
        == Ok(0)
}

/// Gives up a transaction, which SQLite may have given up already.
pub(super) fn undo(connection: &Connection) {
    if !connection.is_autocommit()
        && let Err(error) = connection.execute_batch("ROLLBACK")
    {
        tracing::error!(%error, "a transaction of the session store could not be given up");
    }
}

/// The result of a future that never waits, as those over SQLite are.
pub(super) fn at_once<R>(future: impl Future<Output = Result<R, StoreError>>) -> Result<R, StoreError> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => Err(StoreError::Foreign { what: "a statement that waits" }),
    }
}

// === impl SqliteTx ===

impl<'c> SqliteTx<'c> {
    pub(super) fn new(connection: &'c mut Connection, doing: &'static str) -> Self {
        Self { connection, doing, given_up: false, scrubs: false }
    }
}

impl Tx for SqliteTx<'_> {
    async fn query(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>, StoreError> {
        self.rows(statement, values).map_err(|error| explained(self.doing, &error))
    }

    async fn execute(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        let changed = self
            .connection
            .prepare_cached(statement)
            .and_then(|mut statement| statement.execute(rusqlite::params_from_iter(values)));
        changed.map(|changed| changed as u64).map_err(|error| explained(self.doing, &error))
    }

    async fn define(&mut self, definition: &str) -> Result<(), StoreError> {
        batch(self.connection, self.doing, definition)
    }

    /// One process, one clock.
    async fn now(&mut self, given: i64) -> Result<i64, StoreError> {
        Ok(given)
    }

    fn give_up(&mut self) {
        self.given_up = true;
    }

    fn scrub(&mut self) {
        self.scrubs = true;
    }

    /// There are no other replicas.
    async fn announce(&mut self, _session: &str) -> Result<(), StoreError> {
        Ok(())
    }
}

impl SqliteTx<'_> {
    fn rows(&self, statement: &str, values: &[Value<'_>]) -> rusqlite::Result<Vec<Row>> {
        let mut statement = self.connection.prepare_cached(statement)?;
        let columns = statement.column_count();
        let mut found = statement.query(rusqlite::params_from_iter(values))?;
        let mut rows = Vec::new();
        while let Some(row) = found.next()? {
            let cells = (0..columns).map(|column| {
                Ok(match row.get_ref(column)? {
                    ValueRef::Integer(number) => Cell::Int(number),
                    other => Cell::Text(other.as_str()?.to_owned()),
                })
            });
            rows.push(Row(cells.collect::<rusqlite::Result<_>>()?));
        }
        Ok(rows)
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Int(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

fn explained(doing: &'static str, error: &rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full { doing },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::TimedOut { doing },
        _ => StoreError::Failed { doing, why: error.to_string().into() },
    }
}
