//! The layout of the database, version by version. A version that was ever released is never edited.

use super::{Row, Tx, Value, first};
use crate::StoreError;

/// The words in which the two databases differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

/// One step from a layout to the next: its definitions. `INT` stands for a 64-bit integer.
type Migration = &'static [&'static str];

const MIGRATIONS: &[Migration] = &[FIRST, PINS, AGENT_TOKENS];

/// Times are milliseconds, `0` where something has not happened. JSON is text: a column declared `JSON` has
/// numeric affinity in SQLite.
const FIRST: Migration = &[
    "CREATE TABLE session(id TEXT NOT NULL, agent TEXT NOT NULL, vserver TEXT NOT NULL, kind TEXT NOT NULL, \
     created INT NOT NULL, seen INT NOT NULL, ended INT NOT NULL, calls INT NOT NULL, folded INT NOT NULL, \
     epoch INT NOT NULL, bits INT NOT NULL, ver INT NOT NULL, PRIMARY KEY(id))",
    "CREATE INDEX session_by_agent ON session(agent, created)",
    "CREATE INDEX session_by_seen ON session(seen)",
    "CREATE INDEX session_by_end ON session(ended)",
    "CREATE TABLE session_set(session TEXT NOT NULL, kind TEXT NOT NULL, value TEXT NOT NULL, \
     PRIMARY KEY(session, kind, value))",
    "CREATE TABLE principal(id TEXT NOT NULL, conversations INT NOT NULL, fallen_back INT NOT NULL, \
     seen INT NOT NULL, PRIMARY KEY(id))",
    "CREATE TABLE object_mark(upstream TEXT NOT NULL, kind TEXT NOT NULL, identity TEXT NOT NULL, \
     bits INT NOT NULL, ver INT NOT NULL, PRIMARY KEY(upstream, kind, identity))",
    "CREATE TABLE object_set(upstream TEXT NOT NULL, kind TEXT NOT NULL, identity TEXT NOT NULL, \
     part TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY(upstream, kind, identity, part, value))",
    "CREATE TABLE marked_kind(upstream TEXT NOT NULL, kind TEXT NOT NULL, PRIMARY KEY(upstream, kind))",
    "CREATE TABLE context(id TEXT NOT NULL, created INT NOT NULL, person TEXT NOT NULL, note TEXT NOT NULL, \
     PRIMARY KEY(id))",
    "CREATE TABLE declassification(session TEXT NOT NULL, epoch INT NOT NULL, at INT NOT NULL, \
     person TEXT NOT NULL, reason TEXT NOT NULL, old_label TEXT NOT NULL, new_label TEXT NOT NULL, \
     outcome TEXT NOT NULL, PRIMARY KEY(session, epoch))",
    "CREATE TABLE notice(id TEXT NOT NULL, at INT NOT NULL, agent TEXT NOT NULL, session TEXT NOT NULL, \
     kind TEXT NOT NULL, message TEXT NOT NULL, PRIMARY KEY(id))",
    "CREATE INDEX notice_by_time ON notice(at)",
    "CREATE TABLE node(id TEXT NOT NULL, boot_id TEXT NOT NULL, clean INT NOT NULL, PRIMARY KEY(id))",
];

/// What servers say of themselves, and what was approved of it. A digest is empty where there is none.
const PINS: Migration = &[
    "CREATE TABLE pin(server TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, seen_digest TEXT NOT NULL, \
     seen_text TEXT NOT NULL, seen_at INT NOT NULL, pin_digest TEXT NOT NULL, pin_text TEXT NOT NULL, \
     pin_at INT NOT NULL, basis TEXT NOT NULL, believed INT NOT NULL, person TEXT NOT NULL, \
     rejected TEXT NOT NULL, ver INT NOT NULL, PRIMARY KEY(server, kind, name))",
    "CREATE TABLE pin_event(id TEXT NOT NULL, server TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, \
     at INT NOT NULL, what TEXT NOT NULL, digest TEXT NOT NULL, text TEXT NOT NULL, person TEXT NOT NULL, \
     reason TEXT NOT NULL, decided INT NOT NULL, PRIMARY KEY(id))",
    "CREATE INDEX pin_event_by_server ON pin_event(server, at)",
];

/// Agent tokens. Of a secret its SHA-256 alone is kept.
const AGENT_TOKENS: Migration = &[
    "CREATE TABLE agent_token(name TEXT NOT NULL, sha256 TEXT NOT NULL, prefix TEXT NOT NULL, \
     terms TEXT NOT NULL, person TEXT NOT NULL, created INT NOT NULL, rotated INT NOT NULL, \
     used INT NOT NULL, revoked INT NOT NULL, PRIMARY KEY(name))",
    "CREATE UNIQUE INDEX agent_token_by_digest ON agent_token(sha256)",
];

/// The version this program writes.
pub(crate) const fn latest() -> i64 {
    MIGRATIONS.len() as i64
}

/// Brings a database to the newest layout, inside the caller's transaction.
pub(crate) async fn migrate<T: Tx>(tx: &mut T, dialect: Dialect) -> Result<(), StoreError> {
    migrate_to(tx, dialect, latest()).await
}

/// Brings a database to one layout; tests start from the older ones.
pub(crate) async fn migrate_to<T: Tx>(tx: &mut T, dialect: Dialect, to: i64) -> Result<(), StoreError> {
    tx.execute(CREATE_VERSION, &[]).await?;
    let found = first(tx.query(READ_VERSION, &[]).await?).map(|row: Row| row.int(0)).transpose()?;
    let from = found.unwrap_or(0);
    if from > latest() {
        return Err(StoreError::Newer { found: from, known: latest() });
    }
    for (_, migration) in (1..).zip(MIGRATIONS).filter(|(version, _)| (from + 1..=to).contains(version)) {
        for definition in *migration {
            tx.define(&dialect.spell(definition)).await?;
        }
    }
    if from < to {
        if found.is_some() {
            tracing::info!(from, to, "the session store has a new layout");
        }
        let statement = if found.is_some() { CHANGE_VERSION } else { FIRST_VERSION };
        tx.execute(statement, &[Value::Int(to)]).await?;
    }
    Ok(())
}

const CREATE_VERSION: &str = "CREATE TABLE IF NOT EXISTS highwater_layout(version BIGINT NOT NULL)";
const READ_VERSION: &str = "SELECT version FROM highwater_layout";
const FIRST_VERSION: &str = "INSERT INTO highwater_layout(version) VALUES($1)";
const CHANGE_VERSION: &str = "UPDATE highwater_layout SET version=$1";

// === impl Dialect ===

impl Dialect {
    /// A definition in this database's words.
    fn spell(self, definition: &str) -> String {
        match self {
            Self::Postgres => definition.replace(" INT ", " BIGINT "),
            Self::Sqlite if definition.starts_with("CREATE TABLE") => {
                format!("{definition} STRICT, WITHOUT ROWID")
            }
            Self::Sqlite => definition.to_owned(),
        }
    }
}
