//! Lists for people. They never go through the connection that writes.

use highwater_core::id::{Principal, SessionKey, VirtualServerId};
use highwater_notation::Timestamp;
use serde_json::value::RawValue;

use super::conversation::pending;
use super::{Access, Durability, Operation};
use crate::StoreError;
use crate::admin::{
    Context, Declassification, DeclassificationOutcome, Notice, SessionHistory, SessionRecord, WayRecord,
};
use crate::key::SessionKind;
use crate::sql::{Row, Tx, Value, first, session_labels, statement};

/// The most rows that one list gives.
pub(crate) const LIST_LIMIT: u32 = 1000;

/// The most ways into a conversation that are shown.
pub(crate) const MOST_WAYS: i64 = 8;

/// Sessions, last used first.
#[derive(Debug)]
pub(crate) struct ListSessions {
    /// Of one principal; of all where empty.
    pub(crate) principal: String,
    pub(crate) seen_until: i64,
    pub(crate) most: u32,
}

/// One session with its declassifications.
#[derive(Debug)]
pub(crate) struct ShowSession(pub(crate) SessionKey);

/// Notices, newest first.
#[derive(Debug)]
pub(crate) struct ListNotices {
    pub(crate) most: u32,
}

/// Contexts, newest first.
#[derive(Debug)]
pub(crate) struct ListContexts {
    pub(crate) most: u32,
}

/// Writes a notice.
#[derive(Debug)]
pub(crate) struct Note(pub(crate) Notice);

// === impl ListSessions ===

impl Operation for ListSessions {
    type Output = Vec<SessionRecord>;

    const DOING: &'static str = "list sessions";

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Vec<SessionRecord>, StoreError> {
        let values = [Value::Text(&self.principal), Value::Int(self.seen_until), most(self.most)];
        let rows = tx.query(statement::SESSIONS, &values).await?;
        let mut sessions = Vec::with_capacity(rows.len());
        for row in rows {
            sessions.push(session(tx, &row).await?);
        }
        Ok(sessions)
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Vec<SessionRecord> {
        model.list(self)
    }
}

// === impl ShowSession ===

impl Operation for ShowSession {
    type Output = Option<SessionHistory>;

    const DOING: &'static str = "show a session";

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Option<SessionHistory>, StoreError> {
        let key = Value::Text(self.0.as_str());
        let Some(row) = first(tx.query(statement::ONE_SESSION, &[key]).await?) else { return Ok(None) };
        let session = session(tx, &row).await?;
        let rows = tx.query(statement::DECLASSIFICATIONS, &[key, most(LIST_LIMIT)]).await?;
        let declassifications = rows.iter().map(declassification).collect::<Result<_, _>>()?;
        Ok(Some(SessionHistory { session, declassifications }))
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Option<SessionHistory> {
        model.show(&self.0)
    }
}

// === impl ListNotices ===

impl Operation for ListNotices {
    type Output = Vec<Notice>;

    const DOING: &'static str = "list notices";

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Vec<Notice>, StoreError> {
        let rows = tx.query(statement::NOTICES, &[most(self.most)]).await?;
        let notice = |row: &Row| {
            let session = row.text(3)?;
            Ok(Notice {
                id: row.text(0)?.to_owned(),
                at: time(row, 1)?,
                principal: Principal::new(row.text(2)?),
                session: (!session.is_empty()).then(|| SessionKey::new(session)),
                kind: row.text(4)?.to_owned(),
                message: row.text(5)?.to_owned(),
            })
        };
        rows.iter().map(notice).collect()
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Vec<Notice> {
        model.notices.iter().rev().take(self.most as usize).cloned().collect()
    }
}

// === impl ListContexts ===

impl Operation for ListContexts {
    type Output = Vec<Context>;

    const DOING: &'static str = "list contexts";

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Vec<Context>, StoreError> {
        let rows = tx.query(statement::CONTEXTS, &[most(self.most)]).await?;
        let context = |row: &Row| {
            Ok(Context {
                id: row.text(0)?.to_owned(),
                created: time(row, 1)?,
                person: row.text(2)?.to_owned(),
                note: row.text(3)?.to_owned(),
                label: row.text(4)?.to_owned(),
            })
        };
        rows.iter().map(context).collect()
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Vec<Context> {
        model.contexts.iter().rev().take(self.most as usize).cloned().collect()
    }
}

// === impl Note ===

impl Operation for Note {
    type Output = ();

    const DOING: &'static str = "write a notice";

    fn access(&self) -> Access {
        Access::Write(Durability::Ordinary)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<(), StoreError> {
        note(tx, &self.0).await
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) {
        model.notices.push(self.0.clone());
    }
}

/// Writes a notice as part of something else.
pub(super) async fn note<T: Tx>(tx: &mut T, notice: &Notice) -> Result<(), StoreError> {
    let values = [
        Value::Text(&notice.id),
        Value::Int(i64::try_from(notice.at.0).unwrap_or(i64::MAX)),
        Value::Text(notice.principal.as_str()),
        Value::Text(notice.session.as_ref().map_or("", SessionKey::as_str)),
        Value::Text(&notice.kind),
        Value::Text(&notice.message),
    ];
    tx.execute(statement::NOTE, &values).await.map(|_| ())
}

async fn session<T: Tx>(tx: &mut T, row: &Row) -> Result<SessionRecord, StoreError> {
    let key = Value::Text(row.text(0)?);
    let sets = tx.query(statement::MEMBERS, &[key]).await?;
    let members = sets.iter().map(|row| Ok((row.text(0)?, row.text(1)?)));
    let (label, earlier) = session_labels(row.bits(8)?, row.bits(10)?, members)?;
    let ways = tx.query(statement::WAYS_SHOWN, &[key, Value::Int(MOST_WAYS)]).await?;
    Ok(SessionRecord {
        key: SessionKey::new(row.text(0)?),
        principal: Principal::new(row.text(1)?),
        virtual_server: VirtualServerId::new(row.text(2)?),
        kind: SessionKind::from_word(row.text(3)?)?,
        created: time(row, 4)?,
        seen: time(row, 5)?,
        ended: happened(row, 6)?,
        epoch: row.count(7)?,
        version: row.count(9)?,
        label,
        pending: pending(earlier, row, (11, 12))?,
        ways: ways.iter().map(way).collect::<Result<_, _>>()?,
    })
}

fn way(row: &Row) -> Result<WayRecord, StoreError> {
    Ok(WayRecord {
        key: SessionKey::new(row.text(0)?),
        kind: SessionKind::from_word(row.text(1)?)?,
        seen: time(row, 2)?,
        ended: happened(row, 3)?,
        said: row.text(4)?.to_owned(),
    })
}

fn declassification(row: &Row) -> Result<Declassification, StoreError> {
    Ok(Declassification {
        epoch: row.count(0)?,
        at: time(row, 1)?,
        person: row.text(2)?.to_owned(),
        reason: row.text(3)?.to_owned(),
        old_label: words(row.text(4)?)?,
        new_label: words(row.text(5)?)?,
        outcome: DeclassificationOutcome::from_word(row.text(6)?)?,
    })
}

fn words(text: &str) -> Result<Box<RawValue>, StoreError> {
    RawValue::from_string(text.to_owned()).map_err(|_| StoreError::Foreign { what: "a label without words" })
}

fn time(row: &Row, column: usize) -> Result<Timestamp, StoreError> {
    Ok(Timestamp(row.count(column)?))
}

/// A time that is `0` until something happens.
fn happened(row: &Row, column: usize) -> Result<Option<Timestamp>, StoreError> {
    Ok(Some(time(row, column)?).filter(|time| time.0 != 0))
}

fn most(most: u32) -> Value<'static> {
    Value::Int(i64::from(most.min(LIST_LIMIT)))
}
