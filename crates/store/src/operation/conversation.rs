//! Presumed conversations: the one that everything belongs to that a principal does without anybody saying which
//! conversation it is.
//!
//! All ways into it share one label. A silence ends it, and what it had read is then *pending*: kept beside the label of
//! the next until a person says that this is a new conversation, or that it is not. Each way keeps what was read while it
//! was in use, so that a session id that comes back after a person's word brings its label along.

use std::sync::Arc;

use highwater_core::id::SessionKey;
use highwater_core::label::Label;
use highwater_notation::Timestamp;

use super::join::{join, join_sets};
use super::read::read;
use super::{Access, Durability, Operation};
use crate::entry::Pending;
use crate::key::SessionOwner;
use crate::sql::{Row, Tx, Value, first, label, members, only, pending_kind, session_labels, statement};
use crate::{SessionState, StoreError};

/// Comes into the presumed conversation of a principal, which a silence may have ended before.
#[derive(Debug)]
pub(crate) struct Enter {
    /// The way that is used.
    pub(crate) way: SessionKey,
    pub(crate) owner: SessionOwner,
    /// How long a silence ends the conversation; nothing where none does.
    pub(crate) quiet: Option<i64>,
    /// When the conversation was last used as far as the caller knows; `0` if it does not.
    pub(crate) seen: i64,
    pub(crate) now: i64,
}

/// The conversation that was entered.
#[derive(Debug)]
pub(crate) struct Entered {
    pub(crate) state: SessionState,
    /// Whether a silence ended what went on before.
    pub(crate) ended: bool,
}

/// Notes that a session was used, and by which way.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) keys: Vec<SessionKey>,
    pub(crate) now: i64,
}

/// Notes that a session is over.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) key: SessionKey,
    pub(crate) now: i64,
}

/// A person's answer that this is not a new conversation: what is pending is part of its label.
#[derive(Debug)]
pub(crate) struct JoinPending {
    pub(crate) key: SessionKey,
    pub(crate) epoch: u64,
}

// === impl Enter ===

impl Operation for Enter {
    type Output = Entered;

    const DOING: &'static str = "find the conversation";

    fn access(&self) -> Access {
        // The label of what went on before moves, and nothing of it may be lost on the way.
        Access::Write(Durability::Flushed)
    }

    fn is_repeatable(&self) -> bool {
        true
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Entered, StoreError> {
        let (conversation, owner) = (self.owner.presumed_key(), self.owner.presumed());
        let key = Value::Text(conversation.as_str());
        let values = [
            key,
            Value::Text(owner.principal.as_str()),
            Value::Text(owner.virtual_server.as_str()),
            Value::Text(owner.kind.word()),
            Value::Int(self.now),
        ];
        // Takes the row and holds it until the transaction ends.
        let row = only(tx.query(statement::OPEN_CONVERSATION, &values).await?)?;
        let (seen, began) = (row.int(0)?.max(self.seen), row.int(1)?);
        let mut state = read(tx, &conversation).await?.unwrap_or_else(SessionState::unborn);
        if state.version == 0 {
            state = self.inherit(tx, &conversation).await?;
        }
        let ended = self.is_over(seen) && state.label != Label::bottom();
        if ended {
            state = end(tx, &conversation, &state, (began, seen), self.now).await?;
        }
        let held = self.held(tx).await?;
        if !state.possible().covers(&held) {
            state = join(tx, &conversation, &owner, &held, Some(&state), self.now).await?;
        }
        let epoch = Value::Int(i64::try_from(state.epoch + 1).unwrap_or(i64::MAX));
        let values = [
            Value::Text(self.way.as_str()),
            Value::Text(self.owner.principal.as_str()),
            Value::Text(self.owner.virtual_server.as_str()),
            Value::Text(self.owner.kind.word()),
            Value::Int(self.now),
            key,
            epoch,
        ];
        tx.execute(statement::ENTER, &values).await?;
        if ended || self.quiet.is_some() {
            tx.execute(statement::SEEN, &[Value::Int(self.now), key]).await?;
        }
        Ok(Entered { state, ended })
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Entered {
        model.enter(self)
    }
}

impl Enter {
    /// Whether the conversation was silent for so long that it has ended.
    pub(crate) fn is_over(&self, seen: i64) -> bool {
        self.quiet.is_some_and(|quiet| self.now.saturating_sub(seen) > quiet)
    }

    /// The first presumed conversation of a principal begins with what its sessions have read before there were any.
    async fn inherit<T: Tx>(
        &self,
        tx: &mut T,
        conversation: &SessionKey,
    ) -> Result<SessionState, StoreError> {
        let owner = self.owner.presumed();
        let (mut own, mut earlier) = (Label::bottom(), Label::bottom());
        let (mut since, mut until) = (i64::MAX, 0);
        let values = [Value::Text(owner.principal.as_str())];
        for row in tx.query(statement::UNNAMED_SESSIONS, &values).await? {
            let sets = tx.query(statement::MEMBERS, &[Value::Text(row.text(0)?)]).await?;
            let read = label(row.bits(1)?, own_members(&sets))?;
            let seen = row.int(3)?;
            if self.is_over(seen) {
                earlier.join(&read);
                (since, until) = (since.min(row.int(2)?), until.max(seen));
            } else {
                own.join(&read);
            }
        }
        if earlier != Label::bottom() {
            set_pending(tx, conversation, &earlier, (since, until)).await?;
        }
        join(tx, conversation, &owner, &own, None, self.now).await
    }

    /// What was read while this way was in use, and is not part of the conversation it was in any more.
    async fn held<T: Tx>(&self, tx: &mut T) -> Result<Label, StoreError> {
        let way = Value::Text(self.way.as_str());
        let Some(row) = first(tx.query(statement::WAY, &[way]).await?) else { return Ok(Label::bottom()) };
        let sets = tx.query(statement::MEMBERS, &[way]).await?;
        label(row.bits(0)?, own_members(&sets))
    }
}

/// Ends what went on: what was read is pending from now on, and stays with every way that was in use.
async fn end<T: Tx>(
    tx: &mut T,
    conversation: &SessionKey,
    state: &SessionState,
    (began, seen): (i64, i64),
    now: i64,
) -> Result<SessionState, StoreError> {
    let possible = state.possible();
    leave_with(tx, conversation, &possible, "").await?;
    let since = state.pending.as_ref().map_or(began, |pending| number(pending.since));
    set_pending(tx, conversation, &possible, (since, seen)).await?;
    let key = Value::Text(conversation.as_str());
    tx.execute(statement::FORGET_OWN_MEMBERS, &[key]).await?;
    tx.execute(statement::END_CONVERSATION, &[Value::Int(now), key]).await?;
    tx.announce(conversation.as_str()).await?;
    read(tx, conversation).await?.ok_or(StoreError::Foreign { what: "a conversation without its row" })
}

/// Leaves a label with the ways that were in use since it began and can come back, but for one.
pub(super) async fn leave_with<T: Tx>(
    tx: &mut T,
    conversation: &SessionKey,
    left: &Label,
    but: &str,
) -> Result<(), StoreError> {
    let (key, but) = (Value::Text(conversation.as_str()), Value::Text(but));
    tx.execute(statement::RAISE_WAYS, &[Value::Int(left.bits().to_i64()), key, but]).await?;
    for (kind, value) in members(left) {
        let values = [Value::Text(kind), Value::Text(value), key, but];
        tx.execute(statement::RAISE_WAYS_MEMBER, &values).await?;
    }
    Ok(())
}

pub(super) async fn set_pending<T: Tx>(
    tx: &mut T,
    conversation: &SessionKey,
    pending: &Label,
    (since, until): (i64, i64),
) -> Result<(), StoreError> {
    let key = Value::Text(conversation.as_str());
    let bits = Value::Int(pending.bits().to_i64());
    tx.execute(statement::SET_PENDING, &[bits, Value::Int(since), Value::Int(until), key]).await?;
    for (kind, value) in members(pending) {
        let values = [key, Value::Text(pending_kind(kind)), Value::Text(value)];
        tx.execute(statement::JOIN_MEMBER, &values).await?;
    }
    Ok(())
}

fn own_members(sets: &[Row]) -> impl Iterator<Item = Result<(&str, &str), StoreError>> {
    sets.iter().map(|row| Ok((row.text(0)?, row.text(1)?)))
}

fn number(time: Timestamp) -> i64 {
    i64::try_from(time.0).unwrap_or(i64::MAX)
}

/// What a row says is pending.
pub(super) fn pending(
    label: Label,
    row: &Row,
    (since, until): (usize, usize),
) -> Result<Option<Arc<Pending>>, StoreError> {
    let until = row.count(until)?;
    if until == 0 {
        return Ok(None);
    }
    let since = Timestamp(row.count(since)?);
    Ok(Some(Arc::new(Pending { label, since, until: Timestamp(until) })))
}

// === impl Seen ===

impl Operation for Seen {
    type Output = ();

    const DOING: &'static str = "note when a session was used";

    fn access(&self) -> Access {
        Access::Write(Durability::Statistic)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<(), StoreError> {
        for key in &self.keys {
            tx.execute(statement::SEEN, &[Value::Int(self.now), Value::Text(key.as_str())]).await?;
        }
        Ok(())
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) {
        for key in &self.keys {
            if let Some(session) = model.sessions.get_mut(key.as_str()) {
                session.seen = session.seen.max(self.now);
            }
        }
    }
}

// === impl End ===

impl Operation for End {
    type Output = ();

    const DOING: &'static str = "note the end of a session";

    fn access(&self) -> Access {
        Access::Write(Durability::Statistic)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<(), StoreError> {
        let values = [Value::Int(self.now), Value::Text(self.key.as_str())];
        tx.execute(statement::END, &values).await.map(|_| ())
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) {
        if let Some(session) = model.sessions.get_mut(self.key.as_str()).filter(|session| session.ended == 0)
        {
            session.ended = self.now;
        }
    }
}

// === impl JoinPending ===

impl Operation for JoinPending {
    /// The session as it is then; nothing if it has moved on, or nothing was pending.
    type Output = Option<SessionState>;

    const DOING: &'static str = "raise a label";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Option<SessionState>, StoreError> {
        let key = Value::Text(self.key.as_str());
        let epoch = Value::Int(i64::try_from(self.epoch).unwrap_or(i64::MAX));
        if tx.query(statement::JOIN_PENDING, &[key, epoch]).await?.is_empty() {
            return Ok(None);
        }
        let rows = tx.query(statement::MEMBERS, &[key]).await?;
        let (_, pending) = session_labels(Default::default(), Default::default(), own_members(&rows))?;
        join_sets(tx, key, members(&pending)).await?;
        tx.execute(statement::FORGET_PENDING_MEMBERS, &[key]).await?;
        tx.announce(self.key.as_str()).await?;
        read(tx, &self.key).await
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Option<SessionState> {
        model.join_pending(self)
    }
}
