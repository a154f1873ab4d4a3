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

const MIGRATIONS: &[Migration] =
    &[FIRST, PINS, AGENT_TOKENS, APPROVALS, ROUNDS, BELIEF, MARKS, CONVERSATIONS, PASSKEY_NAMES, GATEWAYS];

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

/// Who may sign, what waits for a person, what was signed. Bytes are base64url. Credentials are never deleted.
const APPROVALS: Migration = &[
    "CREATE TABLE installation(id TEXT NOT NULL, server_id TEXT NOT NULL, rp_id TEXT NOT NULL, \
     origin TEXT NOT NULL, created INT NOT NULL, PRIMARY KEY(id))",
    "CREATE TABLE approver(id TEXT NOT NULL, handle TEXT NOT NULL, created INT NOT NULL, PRIMARY KEY(id))",
    "CREATE TABLE enrollment_window(person TEXT NOT NULL, code TEXT NOT NULL, opened_by TEXT NOT NULL, \
     opened INT NOT NULL, expires INT NOT NULL, attempts INT NOT NULL, PRIMARY KEY(person))",
    "CREATE TABLE enrollment(principal TEXT NOT NULL, person TEXT NOT NULL, handle TEXT NOT NULL, \
     challenge TEXT NOT NULL, expires INT NOT NULL, PRIMARY KEY(principal))",
    "CREATE TABLE credential(id TEXT NOT NULL, person TEXT NOT NULL, handle TEXT NOT NULL, cose TEXT NOT NULL, \
     counter INT NOT NULL, transports TEXT NOT NULL, aaguid TEXT NOT NULL, be INT NOT NULL, bs INT NOT NULL, \
     fmt TEXT NOT NULL, attestation TEXT NOT NULL, client_data TEXT NOT NULL, created INT NOT NULL, \
     enrolled_by TEXT NOT NULL, confirmed INT NOT NULL, confirmed_by TEXT NOT NULL, revoked INT NOT NULL, \
     revoked_by TEXT NOT NULL, revoked_why TEXT NOT NULL, PRIMARY KEY(id))",
    "CREATE INDEX credential_by_person ON credential(person)",
    "CREATE TABLE approval(id TEXT NOT NULL, kind TEXT NOT NULL, person TEXT NOT NULL, principal TEXT NOT NULL, \
     session TEXT NOT NULL, caller TEXT NOT NULL, tool TEXT NOT NULL, upstream TEXT NOT NULL, \
     definition TEXT NOT NULL, canon TEXT NOT NULL, action TEXT NOT NULL, shown TEXT NOT NULL, told TEXT NOT NULL, \
     question TEXT NOT NULL, need TEXT NOT NULL, sensitive INT NOT NULL, state TEXT NOT NULL, created INT NOT NULL, \
     expires INT NOT NULL, decided INT NOT NULL, decided_by TEXT NOT NULL, ver INT NOT NULL, PRIMARY KEY(id))",
    "CREATE INDEX approval_by_action ON approval(principal, action)",
    "CREATE INDEX approval_by_state ON approval(state, expires)",
    "CREATE INDEX approval_by_time ON approval(created)",
    "CREATE TABLE asker(principal TEXT NOT NULL, asked INT NOT NULL, PRIMARY KEY(principal))",
    "CREATE TABLE tool_decline(principal TEXT NOT NULL, tool TEXT NOT NULL, declines INT NOT NULL, \
     last INT NOT NULL, PRIMARY KEY(principal, tool))",
    "CREATE TABLE challenge(id TEXT NOT NULL, approval TEXT NOT NULL, principal TEXT NOT NULL, \
     person TEXT NOT NULL, tool TEXT NOT NULL, upstream TEXT NOT NULL, definition TEXT NOT NULL, \
     canon TEXT NOT NULL, action TEXT NOT NULL, wire TEXT NOT NULL, issued INT NOT NULL, expires INT NOT NULL, \
     consumed INT NOT NULL, credential TEXT NOT NULL, PRIMARY KEY(id))",
    "CREATE UNIQUE INDEX challenge_by_wire ON challenge(wire)",
    "CREATE INDEX challenge_by_approval ON challenge(approval)",
    "CREATE INDEX challenge_by_time ON challenge(issued)",
    "CREATE TABLE receipt(chain TEXT NOT NULL, seq INT NOT NULL, id TEXT NOT NULL, approval TEXT NOT NULL, \
     made INT NOT NULL, body TEXT NOT NULL, PRIMARY KEY(chain, seq))",
    "CREATE UNIQUE INDEX receipt_by_id ON receipt(id)",
    "CREATE INDEX receipt_by_approval ON receipt(approval)",
    "CREATE TABLE receipt_chain(id TEXT NOT NULL, next INT NOT NULL, head TEXT NOT NULL, PRIMARY KEY(id))",
    "CREATE TABLE mandate(id TEXT NOT NULL, receipt TEXT NOT NULL, person TEXT NOT NULL, agent TEXT NOT NULL, \
     body TEXT NOT NULL, definitions TEXT NOT NULL, remaining INT NOT NULL, not_before INT NOT NULL, \
     expires INT NOT NULL, revoked INT NOT NULL, revoked_by TEXT NOT NULL, revoked_why TEXT NOT NULL, \
     PRIMARY KEY(id))",
    "CREATE UNIQUE INDEX mandate_by_receipt ON mandate(receipt)",
    "CREATE TABLE remembered(id TEXT NOT NULL, person TEXT NOT NULL, principal TEXT NOT NULL, \
     session TEXT NOT NULL, tool TEXT NOT NULL, upstream TEXT NOT NULL, definition TEXT NOT NULL, \
     targets TEXT NOT NULL, label TEXT NOT NULL, told TEXT NOT NULL, created INT NOT NULL, ends INT NOT NULL, \
     PRIMARY KEY(id))",
    "CREATE INDEX remembered_by_tool ON remembered(principal, tool)",
    "CREATE TABLE recovery(person TEXT NOT NULL, begun_by TEXT NOT NULL, begun INT NOT NULL, due INT NOT NULL, \
     PRIMARY KEY(person))",
];

/// Rounds of approved executions that went on.
const ROUNDS: Migration = &[
    "CREATE TABLE taken_round(id TEXT NOT NULL, ends INT NOT NULL, PRIMARY KEY(id))",
    "CREATE INDEX taken_round_by_end ON taken_round(ends)",
];

/// Approvals used to be belief, without anybody being asked for it: they are so no longer. The history keeps telling what
/// was said, in the words of today.
const BELIEF: Migration = &[
    "UPDATE pin SET believed=0, ver=ver+1 WHERE basis='person'",
    "UPDATE pin_event SET what='approved-believed' WHERE what='approved'",
    "UPDATE pin_event SET what='approved' WHERE what='approved-unbelieved'",
];

/// Marks know who left them, and can be taken off. Those of before are kept where they are on one thing; those on what
/// holds it follow from that, and those on whole servers are given up: nothing tells what they were left for.
const MARKS: Migration = &[
    "CREATE TABLE mark(id TEXT NOT NULL, upstream TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, \
     prints TEXT NOT NULL, weight INT NOT NULL, session TEXT NOT NULL, agent TEXT NOT NULL, tool TEXT NOT NULL, \
     decision TEXT NOT NULL, at INT NOT NULL, bits INT NOT NULL, seq INT NOT NULL, PRIMARY KEY(id))",
    "CREATE INDEX mark_by_seq ON mark(upstream, seq)",
    "CREATE INDEX mark_by_session ON mark(session, upstream, at)",
    "CREATE TABLE mark_set(mark TEXT NOT NULL, part TEXT NOT NULL, value TEXT NOT NULL, \
     PRIMARY KEY(mark, part, value))",
    "CREATE TABLE mark_server(upstream TEXT NOT NULL, seq INT NOT NULL, generation INT NOT NULL, \
     PRIMARY KEY(upstream))",
    "CREATE TABLE mark_clearing(id TEXT NOT NULL, at INT NOT NULL, person TEXT NOT NULL, reason TEXT NOT NULL, \
     marks TEXT NOT NULL, PRIMARY KEY(id))",
    "CREATE TABLE print_key(id TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY(id))",
    "INSERT INTO mark(id,upstream,kind,name,prints,weight,session,agent,tool,decision,at,bits,seq) \
     SELECT 'mrk_' || upstream || '/' || kind || '/' || identity,upstream,kind,\
     CASE WHEN kind='object' THEN '[[\"name\",[\"' || REPLACE(identity, '\"', '\\\"') || '\"]]]' ELSE identity END,\
     '',0,'','','','',0,bits,1 FROM object_mark WHERE kind IN ('object','resource','task')",
    "INSERT INTO mark_set(mark,part,value) SELECT 'mrk_' || upstream || '/' || kind || '/' || identity,part,value \
     FROM object_set WHERE kind IN ('object','resource','task')",
    "INSERT INTO mark_server(upstream,seq,generation) SELECT DISTINCT upstream,1,0 FROM mark",
    "DROP TABLE object_mark",
    "DROP TABLE object_set",
    "DROP TABLE marked_kind",
];

/// Presumed conversations. What the sessions of a principal have read before is taken over when its first presumed
/// conversation begins. A session whose `conversation` is another is a way into that one.
const CONVERSATIONS: Migration = &[
    "ALTER TABLE session ADD COLUMN conversation TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE session ADD COLUMN entered INT NOT NULL DEFAULT 0",
    "ALTER TABLE session ADD COLUMN said TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE session ADD COLUMN began INT NOT NULL DEFAULT 0",
    "ALTER TABLE session ADD COLUMN first_epoch INT NOT NULL DEFAULT 0",
    "ALTER TABLE session ADD COLUMN pending INT NOT NULL DEFAULT 0",
    "ALTER TABLE session ADD COLUMN read_since INT NOT NULL DEFAULT 0",
    "ALTER TABLE session ADD COLUMN read_until INT NOT NULL DEFAULT 0",
    "CREATE INDEX session_by_conversation ON session(conversation, seen)",
    "ALTER TABLE context ADD COLUMN label TEXT NOT NULL DEFAULT ''",
    "DROP TABLE principal",
];

/// What people call their passkeys; empty where nobody has named one.
const PASSKEY_NAMES: Migration = &["ALTER TABLE credential ADD COLUMN name TEXT NOT NULL DEFAULT ''"];

/// Gateways that share the database, the digests of the tokens that open each, and the key with which all of them seal.
const GATEWAYS: Migration = &[
    "CREATE TABLE seal_key(id TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY(id))",
    "CREATE TABLE gateway(id TEXT NOT NULL, agent TEXT NOT NULL, operator TEXT NOT NULL, seen INT NOT NULL, \
     PRIMARY KEY(id))",
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
