//! Statements over a PostgreSQL connection.

use std::error::Error as _;

use deadpool_postgres::GenericClient;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{IsNull, ToSql, Type, private::BytesMut, to_sql_checked};

use super::server::CHANNEL;
use crate::StoreError;
use crate::sql::{Cell, Row, Tx, Value, only};

/// A key longer than this is not announced: a notification holds 8 KB at most, and it is only a hint.
const LONGEST_KEY: usize = 4096;

/// The clock that all replicas share, in milliseconds. It goes on within a transaction, which may have waited for a lock.
const CLOCK: &str = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp())*1000 AS BIGINT)";

/// A transaction, or a connection to read from.
pub(super) struct PostgresTx<'c, C> {
    pub(super) client: &'c C,
    pub(super) doing: &'static str,
    pub(super) replica: &'c str,
    /// Whether what was done is to be undone.
    pub(super) given_up: bool,
}

// === impl PostgresTx ===

impl<'c, C> PostgresTx<'c, C> {
    pub(super) fn new(client: &'c C, doing: &'static str, replica: &'c str) -> Self {
        Self { client, doing, replica, given_up: false }
    }
}

impl<C: GenericClient + Sync> PostgresTx<'_, C> {
    pub(super) async fn batch(&self, text: &str) -> Result<(), StoreError> {
        self.client.batch_execute(text).await.map_err(|error| explained(self.doing, &error))
    }
}

impl<C: GenericClient + Sync> Tx for PostgresTx<'_, C> {
    async fn query(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>, StoreError> {
        let failed = |error| explained(self.doing, &error);
        let prepared = self.client.prepare_cached(statement).await.map_err(failed)?;
        let rows = self.client.query(&prepared, &parameters(values)).await.map_err(failed)?;
        rows.iter().map(|row| cells(row).map_err(failed)).collect()
    }

    async fn execute(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        let failed = |error| explained(self.doing, &error);
        let prepared = self.client.prepare_cached(statement).await.map_err(failed)?;
        self.client.execute(&prepared, &parameters(values)).await.map_err(failed)
    }

    async fn define(&mut self, definition: &str) -> Result<(), StoreError> {
        self.batch(definition).await
    }

    async fn now(&mut self, _given: i64) -> Result<i64, StoreError> {
        only(self.query(CLOCK, &[]).await?)?.int(0)
    }

    fn give_up(&mut self) {
        self.given_up = true;
    }

    /// Its files are the database's own to vacuum.
    fn scrub(&mut self) {}

    async fn announce(&mut self, session: &str) -> Result<(), StoreError> {
        if session.len() > LONGEST_KEY {
            return Ok(());
        }
        let payload = format!("{} {session}", self.replica);
        self.execute("SELECT pg_notify($1,$2)", &[Value::Text(CHANNEL), Value::Text(&payload)])
            .await
            .map(|_| ())
    }
}

fn parameters<'a>(values: &'a [Value<'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

fn cells(row: &tokio_postgres::Row) -> Result<Row, Error> {
    let cell = |(column, described): (usize, &tokio_postgres::Column)| {
        Ok(if *described.type_() == Type::INT8 {
            Cell::Int(row.try_get(column)?)
        } else {
            Cell::Text(row.try_get(column)?)
        })
    };
    Ok(Row(row.columns().iter().enumerate().map(cell).collect::<Result<_, _>>()?))
}

impl ToSql for Value<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Int(number) => number.to_sql(kind, out),
            // A text of PostgreSQL holds no zero character.
            Self::Text(text) if text.contains('\0') => text.replace('\0', "\u{fffd}").to_sql(kind, out),
            Self::Text(text) => text.to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        <i64 as ToSql>::accepts(kind) || <&str as ToSql>::accepts(kind)
    }

    to_sql_checked!();
}

/// A failure of a statement. PostgreSQL's words never hold what was sent.
pub(super) fn explained(doing: &'static str, error: &Error) -> StoreError {
    let broke = error.source().is_some_and(|source| source.is::<std::io::Error>());
    match error.code() {
        Some(&SqlState::DISK_FULL) => StoreError::Full { doing },
        Some(&SqlState::QUERY_CANCELED) => StoreError::TimedOut { doing },
        Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED) => {
            StoreError::GaveWay { doing }
        }
        Some(&SqlState::ADMIN_SHUTDOWN | &SqlState::CRASH_SHUTDOWN) => StoreError::Lost { doing },
        None if error.is_closed() || broke => StoreError::Lost { doing },
        Some(_) | None => in_its_words(doing, error),
    }
}

/// A failure to connect, or another in the server's own words.
pub(super) fn in_its_words(doing: &'static str, error: &Error) -> StoreError {
    let why = match error.as_db_error() {
        Some(error) => error.message().to_owned(),
        None => {
            let mut why = error.to_string();
            let mut source = error.source();
            while let Some(cause) = source {
                why = format!("{why}: {cause}");
                source = cause.source();
            }
            why
        }
    };
    StoreError::Failed { doing, why: why.into() }
}
