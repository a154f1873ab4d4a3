//! Declassification: closing an epoch and lowering its label, at once or in two steps with time between.

use highwater_core::id::SessionKey;
use highwater_core::label::Label;

use super::conversation::leave_with;
use super::read::read;
use super::{Access, Durability, Operation};
use crate::admin::{DeclassificationOutcome, Declassified};
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
    /// Which ways into a presumed conversation the person speaks of.
    pub(crate) along: GoesAlong,
    pub(crate) person: String,
    pub(crate) reason: String,
    pub(crate) now: i64,
}

/// Which ways into a presumed conversation go along with a person's word. The others bring back what was read when they
/// are used again.
#[derive(Clone, Debug)]
pub(crate) enum GoesAlong {
    /// All: what was read is harmless, whoever has it.
    Everyone,
    /// This one: it begins anew.
    Only(SessionKey),
    /// The one that was used last.
    Last,
}

/// A person says that this is a new conversation: what is pending goes, and what was read since stays.
#[derive(Debug)]
pub(crate) struct DropPending {
    pub(crate) key: SessionKey,
    /// The epoch the person looked at.
    pub(crate) expected: u64,
    pub(crate) along: GoesAlong,
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
        let mut done = lower(tx, &self.lowering, self.epoch, self.version).await?;
        if let Declassified::Done(state) = &mut done {
            // Whoever came into it since the epoch was closed comes in anew: the label is another.
            let values = [Value::Int(self.lowering.now), Value::Text(self.lowering.key.as_str())];
            if let Some(row) = first(tx.query(statement::NEXT_EPOCH, &values).await?) {
                state.epoch = row.count(0)?;
            }
        }
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
        (Some(row), Some(state)) => (row, state),
        (_, Some(state)) => return Ok(Closing::Refused(Declassified::Moved(state))),
        (_, None) => return Ok(Closing::Refused(Declassified::Unknown)),
    };
    let (epoch, version) = (row.count(0)?, row.count(1)?);
    let record =
        Record { key: &asked.key, epoch, now: asked.now, person: &asked.person, reason: &asked.reason };
    record.write(tx, &state.possible(), &asked.label, outcome).await?;
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
    let before = read(tx, &asked.key).await?;
    let values = [Value::Int(asked.label.bits().to_i64()), key, number(epoch)?, number(version)?];
    let Some(row) = first(tx.query(statement::LOWER, &values).await?) else {
        let now = read(tx, &asked.key).await?;
        return Ok(now.map_or(Declassified::Unknown, Declassified::Overtaken));
    };
    let before = before.ok_or(StoreError::Foreign { what: "a session without its row" })?;
    tx.execute(statement::FORGET_MEMBERS, &[key]).await?;
    for (kind, value) in members(&asked.label) {
        tx.execute(statement::JOIN_MEMBER, &[key, Value::Text(kind), Value::Text(value)]).await?;
    }
    begin_anew(tx, &asked.key, &before.possible(), &asked.along).await?;
    tx.execute(statement::BEGIN_AGAIN, &[Value::Int(asked.now), key]).await?;
    tx.announce(asked.key.as_str()).await?;
    Ok(Declassified::Done(SessionState {
        epoch: row.count(0)?,
        version: row.count(2)?,
        label: asked.label.clone(),
        pending: None,
    }))
}

/// Leaves what was read with the ways that do not go along, and takes it from those that do.
async fn begin_anew<T: Tx>(
    tx: &mut T,
    conversation: &SessionKey,
    left: &Label,
    along: &GoesAlong,
) -> Result<(), StoreError> {
    let key = Value::Text(conversation.as_str());
    let cleared: Vec<String> = match along {
        GoesAlong::Everyone => {
            let ways = tx.query(statement::WAYS, &[key]).await?;
            ways.iter().map(|row| row.text(0).map(str::to_owned)).collect::<Result<_, _>>()?
        }
        GoesAlong::Only(way) => vec![way.as_str().to_owned()],
        GoesAlong::Last => {
            let way = first(tx.query(statement::LAST_WAY, &[key]).await?);
            way.map(|row| row.text(0).map(str::to_owned)).transpose()?.into_iter().collect()
        }
    };
    if !matches!(along, GoesAlong::Everyone) && *left != Label::bottom() {
        leave_with(tx, conversation, left, cleared.first().map_or("", String::as_str)).await?;
    }
    for way in &cleared {
        let way = Value::Text(way);
        if tx.execute(statement::CLEAR_WAY, &[way, key]).await? > 0 {
            tx.execute(statement::FORGET_MEMBERS, &[way]).await?;
        }
    }
    Ok(())
}

// === impl DropPending ===

impl Operation for DropPending {
    type Output = Declassified;

    const DOING: &'static str = "begin a conversation";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Declassified, StoreError> {
        let key = Value::Text(self.key.as_str());
        let before = read(tx, &self.key).await?;
        let dropped = first(tx.query(statement::DROP_PENDING, &[key, number(self.expected)?]).await?);
        let (row, before) = match (dropped, before) {
            (Some(row), Some(before)) => (row, before),
            (_, Some(state)) => return Ok(Declassified::Moved(state)),
            (_, None) => return Ok(Declassified::Unknown),
        };
        let epoch = row.count(0)?;
        // What each way has read before the silence is with it already; what was read since is still in the label.
        begin_anew(tx, &self.key, &Label::bottom(), &self.along).await?;
        tx.execute(statement::FORGET_PENDING_MEMBERS, &[key]).await?;
        let record =
            Record { key: &self.key, epoch, now: self.now, person: &self.person, reason: &self.reason };
        record.write(tx, &before.possible(), &before.label, DeclassificationOutcome::Done).await?;
        tx.announce(self.key.as_str()).await?;
        // Read again: something may have been joined before the row was taken.
        read(tx, &self.key).await.map(|state| state.map_or(Declassified::Unknown, Declassified::Done))
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Declassified {
        model.drop_pending(self)
    }
}

/// What is written down of a label that a person lowered.
struct Record<'a> {
    key: &'a SessionKey,
    epoch: u64,
    now: i64,
    person: &'a str,
    reason: &'a str,
}

// === impl Record ===

impl Record<'_> {
    async fn write<T: Tx>(
        &self,
        tx: &mut T,
        old: &Label,
        new: &Label,
        outcome: DeclassificationOutcome,
    ) -> Result<(), StoreError> {
        let (old, new) = (shown(old)?, shown(new)?);
        let values = [
            Value::Text(self.key.as_str()),
            number(self.epoch)?,
            Value::Int(self.now),
            Value::Text(self.person),
            Value::Text(self.reason),
            Value::Text(&old),
            Value::Text(&new),
            Value::Text(outcome.word()),
        ];
        tx.execute(statement::RECORD_DECLASSIFICATION, &values).await.map(|_| ())
    }
}

/// A label as people read it.
pub(crate) fn shown(label: &Label) -> Result<String, StoreError> {
    serde_json::to_string(label).map_err(|_| StoreError::Foreign { what: "a label without words" })
}

fn number(number: u64) -> Result<Value<'static>, StoreError> {
    i64::try_from(number).map(Value::Int).map_err(|_| StoreError::Foreign { what: "a number too large" })
}
