//! Declassification: closing an epoch and lowering its label, at once or in two steps with time between.

use highwater_core::id::SessionKey;
use highwater_core::label::Label;

use super::read::read;
use super::{Access, Durability, Operation};
use crate::people::{DeclassificationOutcome, Declassified};
use crate::sql::{Tx, Value, first, members, statement};
use crate::{SessionState, StoreError};

/// Both steps in one transaction: for a single node, where releases are kept out meanwhile.
#[derive(Debug)]
pub(crate) struct Declassify(pub(crate) Lowering);

/// Step 1: the epoch ends, the label stays.
#[derive(Debug)]
pub(crate) struct CloseEpoch(pub(crate) Lowering);

/// Step 2: the label goes down, unless something was joined since.
#[derive(Debug)]
pub(crate) struct Lower {
    pub(crate) lowering: Lowering,
    /// The session as step 1 left it.
    pub(crate) epoch: u64,
    pub(crate) version: u64,
}

/// What a person wants done to a session, and why.
#[derive(Clone, Debug)]
pub(crate) struct Lowering {
    pub(crate) key: SessionKey,
    /// The epoch the person looked at.
    pub(crate) expected: u64,
    pub(crate) label: Label,
    pub(crate) person: String,
    pub(crate) reason: String,
    pub(crate) now: i64,
}

/// What step 1 came to.
#[derive(Debug)]
pub(crate) enum Closing {
    Closed { epoch: u64, version: u64 },
    Refused(Declassified),
}

// === impl Declassify ===

impl Operation for Declassify {
    type Output = Declassified;

    const DOING: &'static str = "lower a label";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Declassified, StoreError> {
        match close(tx, &self.0, DeclassificationOutcome::Done).await? {
            Closing::Refused(why) => Ok(why),
            Closing::Closed { epoch, version } => lower(tx, &self.0, epoch, version).await,
        }
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Declassified {
        match model.close_epoch(&self.0, DeclassificationOutcome::Done) {
            Closing::Refused(why) => why,
            Closing::Closed { epoch, version } => model.lower(&self.0, epoch, version),
        }
    }
}

// === impl CloseEpoch ===

impl Operation for CloseEpoch {
    type Output = Closing;

    const DOING: &'static str = "close an epoch";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Closing, StoreError> {
        close(tx, &self.0, DeclassificationOutcome::Closing).await
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Closing {
        model.close_epoch(&self.0, DeclassificationOutcome::Closing)
    }
}

// === impl Lower ===

impl Operation for Lower {
    type Output = Declassified;

    const DOING: &'static str = "lower a label";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Declassified, StoreError> {
        let done = lower(tx, &self.lowering, self.epoch, self.version).await?;
        let outcome = match &done {
            Declassified::Done(_) => DeclassificationOutcome::Done,
            Declassified::Overtaken(_) | Declassified::Moved(_) | Declassified::Unknown => {
                DeclassificationOutcome::Overtaken
            }
        };
        let (key, epoch) = (Value::Text(self.lowering.key.as_str()), number(self.epoch)?);
        tx.execute(statement::SETTLE_DECLASSIFICATION, &[Value::Text(outcome.word()), key, epoch]).await?;
        Ok(done)
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Declassified {
        model.lower_later(self)
    }
}

async fn close<T: Tx>(
    tx: &mut T,
    asked: &Lowering,
    outcome: DeclassificationOutcome,
) -> Result<Closing, StoreError> {
    let values = [Value::Text(asked.key.as_str()), number(asked.expected)?];
    let closed = first(tx.query(statement::CLOSE_EPOCH, &values).await?);
    // Read after the change, which holds the row: nobody can join between the two.
    let now = read(tx, &asked.key).await?;
    let (row, state) = match (closed, now) {
        (Some(row), Some((state, _))) => (row, state),
        (_, Some((state, _))) => return Ok(Closing::Refused(Declassified::Moved(state))),
        (_, None) => return Ok(Closing::Refused(Declassified::Unknown)),
    };
    let (epoch, version) = (row.count(0)?, row.count(1)?);
    let (old, new) = (shown(&state.label)?, shown(&asked.label)?);
    let values = [
        Value::Text(asked.key.as_str()),
        number(epoch)?,
        Value::Int(asked.now),
        Value::Text(&asked.person),
        Value::Text(&asked.reason),
        Value::Text(&old),
        Value::Text(&new),
        Value::Text(outcome.word()),
    ];
    tx.execute(statement::RECORD_DECLASSIFICATION, &values).await?;
    tx.announce(asked.key.as_str()).await?;
    Ok(Closing::Closed { epoch, version })
}

async fn lower<T: Tx>(
    tx: &mut T,
    asked: &Lowering,
    epoch: u64,
    version: u64,
) -> Result<Declassified, StoreError> {
    let key = Value::Text(asked.key.as_str());
    let values = [Value::Int(asked.label.bits().to_i64()), key, number(epoch)?, number(version)?];
    let Some(row) = first(tx.query(statement::LOWER, &values).await?) else {
        let now = read(tx, &asked.key).await?;
        return Ok(now.map_or(Declassified::Unknown, |(state, _)| Declassified::Overtaken(state)));
    };
    tx.execute(statement::FORGET_MEMBERS, &[key]).await?;
    for (kind, value) in members(&asked.label) {
        tx.execute(statement::JOIN_MEMBER, &[key, Value::Text(kind), Value::Text(value)]).await?;
    }
    tx.announce(asked.key.as_str()).await?;
    Ok(Declassified::Done(SessionState {
        epoch: row.count(0)?,
        version: row.count(2)?,
        label: asked.label.clone(),
    }))
}

/// A label as people read it.
pub(crate) fn shown(label: &Label) -> Result<String, StoreError> {
    serde_json::to_string(label).map_err(|_| StoreError::Foreign { what: "a label without words" })
}

fn number(number: u64) -> Result<Value<'static>, StoreError> {
    i64::try_from(number).map(Value::Int).map_err(|_| StoreError::Foreign { what: "a number too large" })
}
