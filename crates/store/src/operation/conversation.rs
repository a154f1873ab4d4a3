//! Whether transport sessions are conversations: what is counted, and when splitting by them ends.
//!
//! A host that opens a session for every call would start each from an empty label. So a session that we
//! presume to be a conversation splits only while its principal's sessions look like conversations, and a
//! principal that has not shown any yet starts each session from the labels of its short ones.

use highwater_core::id::{Principal, SessionKey, Timestamp};
use highwater_core::label::{Label, TextSet};

use super::join::join;
use super::people::note;
use super::read::read;
use super::{Access, Durability, Operation};
use crate::key::{SessionKind, SessionOwner};
use crate::people::Notice;
use crate::sql::{Row, Tx, Value, label, only, statement};
use crate::{SessionState, StoreError};

/// So many short sessions in a row are no conversations.
pub(crate) const SHORT_SESSIONS: usize = 3;
/// So many sessions of two calls or more, and a host is known to hold conversations.
pub(crate) const CONVERSATIONS: i64 = 3;
/// Short sessions count while they are this close together, in milliseconds.
pub(crate) const SHORT_WITHIN: i64 = 10 * 60 * 1000;

/// Opens a session whose key is the transport's or the connection's.
#[derive(Debug)]
pub(crate) struct OpenConversation {
    pub(crate) key: SessionKey,
    pub(crate) owner: SessionOwner,
    pub(crate) now: i64,
    /// The id of the notice, should there be one.
    pub(crate) notice: String,
}

/// Which session's label the new one goes by.
#[derive(Debug)]
pub(crate) enum Opening {
    /// Its own.
    Split(SessionState),
    /// The principal's.
    FellBack {
        widest: SessionState,
        /// The sessions that were folded into the principal's just now; none if it had fallen back before.
        folded: Vec<SessionKey>,
    },
}

/// Makes sure that a principal that fell back is still so after a power cut.
#[derive(Debug)]
pub(crate) struct KeepFallenBack(pub(crate) Principal);

/// Counts a call of a session, up to two.
#[derive(Debug)]
pub(crate) struct CountCall {
    pub(crate) key: SessionKey,
    pub(crate) now: i64,
}

/// Notes that a session was used.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) key: SessionKey,
    pub(crate) now: i64,
}

/// Notes that a session is over.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) key: SessionKey,
    pub(crate) now: i64,
}

/// A person says that this principal's sessions are conversations after all.
#[derive(Debug)]
pub(crate) struct SplitAgain {
    pub(crate) principal: Principal,
    /// Who says so and why.
    pub(crate) notice: Notice,
}

/// What is known of an earlier session of the principal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Earlier {
    pub(crate) kind: SessionKind,
    pub(crate) created: i64,
    pub(crate) ended: bool,
    pub(crate) calls: i64,
}

// === impl OpenConversation ===

impl Operation for OpenConversation {
    type Output = Opening;

    const DOING: &'static str = "open a session";

    fn access(&self) -> Access {
        Access::Write(Durability::Ordinary)
    }

    fn is_repeatable(&self) -> bool {
        true
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Opening, StoreError> {
        let (agent, key) = (Value::Text(self.owner.principal.as_str()), Value::Text(self.key.as_str()));
        let row = only(tx.query(statement::TOUCH_PRINCIPAL, &[agent, Value::Int(self.now)]).await?)?;
        let (conversations, fallen_back) = (row.int(0)?, row.int(1)? != 0);
        if fallen_back {
            return self.fall_back(tx, &Label::bottom(), Vec::new()).await;
        }
        let rows = tx.query(statement::RECENT, &[agent, key]).await?;
        let recent = rows.iter().map(Earlier::read).collect::<Result<Vec<_>, _>>()?;
        if looks_like_one_per_call(&recent, self.now) {
            let inherited = short_label(tx, agent, key).await?;
            let rows = tx.query(statement::FOLD, &[agent]).await?;
            let folded = rows.iter().map(|row| Ok(SessionKey::new(row.text(0)?)));
            let folded = folded.collect::<Result<Vec<_>, StoreError>>()?;
            tx.execute(statement::FALL_BACK, &[Value::Int(self.now), agent]).await?;
            note(tx, &self.notice()).await?;
            for key in &folded {
                tx.announce(key.as_str()).await?;
            }
            return self.fall_back(tx, &inherited, folded).await;
        }
        let start =
            if conversations < CONVERSATIONS { short_label(tx, agent, key).await? } else { Label::bottom() };
        Ok(Opening::Split(join(tx, &self.key, &self.owner, &start, None, self.now).await?.0))
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Opening {
        model.open_conversation(self)
    }
}

impl OpenConversation {
    async fn fall_back<T: Tx>(
        &self,
        tx: &mut T,
        inherited: &Label,
        folded: Vec<SessionKey>,
    ) -> Result<Opening, StoreError> {
        let (key, owner) = (self.owner.widest_key(), self.owner.widest());
        // A version that moved for nothing would keep a person on another replica from lowering the label.
        let widest = match read(tx, &key).await? {
            Some((state, _)) if state.label.includes(inherited) => state,
            Some(_) | None => join(tx, &key, &owner, inherited, None, self.now).await?.0,
        };
        Ok(Opening::FellBack { widest, folded })
    }

    /// What people are told when sessions are no longer taken for conversations.
    pub(crate) fn notice(&self) -> Notice {
        Notice {
            id: self.notice.clone(),
            at: Timestamp(self.now.unsigned_abs()),
            principal: self.owner.principal.clone(),
            session: Some(self.owner.widest_key()),
            kind: "fell-back".to_owned(),
            message: "its last sessions ended after one call each, so they are not taken for conversations: \
                      all of them share the label of the principal from now on"
                .to_owned(),
        }
    }
}

// === impl Earlier ===

impl Earlier {
    fn read(row: &Row) -> Result<Self, StoreError> {
        let kind = SessionKind::from_word(row.text(0)?)?;
        Ok(Self { kind, created: row.int(1)?, ended: row.int(2)? != 0, calls: row.int(3)? })
    }

    /// Whether it is over after one call. The end of a connection is always seen; many clients never say that
    /// they are done with a transport session, so there one call and a next session are enough.
    fn is_short(self) -> bool {
        match self.kind {
            SessionKind::Transport => self.calls <= 1,
            SessionKind::Connection => self.calls <= 1 && self.ended,
            SessionKind::Context | SessionKind::Client | SessionKind::Principal => false,
        }
    }
}

/// Whether the last sessions, newest first, were each opened for one call.
pub(crate) fn looks_like_one_per_call(recent: &[Earlier], now: i64) -> bool {
    recent.len() >= SHORT_SESSIONS
        && recent
            .iter()
            .take(SHORT_SESSIONS)
            .all(|session| session.is_short() && session.created >= now.saturating_sub(SHORT_WITHIN))
}

/// The labels of the principal's short sessions, joined.
async fn short_label<T: Tx>(tx: &mut T, agent: Value<'_>, but: Value<'_>) -> Result<Label, StoreError> {
    let mut sets = Vec::with_capacity(3);
    for kind in ["scope", "class", "origin"] {
        let rows = tx.query(statement::SHORT_MEMBERS, &[agent, but, Value::Text(kind)]).await?;
        let values = rows.iter().map(|row| row.text(0)).collect::<Result<Vec<_>, _>>()?;
        sets.push(TextSet::of(values));
    }
    let origins = sets.pop().unwrap_or(TextSet::EVERY);
    let names = sets.pop().unwrap_or(TextSet::EVERY);
    let scopes = sets.pop().unwrap_or(TextSet::EVERY);
    let mut joined = Label::bottom().with_scopes(&scopes).with_names(&names).with_origins(&origins);
    for row in tx.query(statement::SHORT_BITS, &[agent, but]).await? {
        joined.join(&label(row.bits(0)?, std::iter::empty())?);
    }
    Ok(joined)
}

// === impl KeepFallenBack ===

impl Operation for KeepFallenBack {
    type Output = ();

    const DOING: &'static str = "open a session";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    fn is_repeatable(&self) -> bool {
        true
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<(), StoreError> {
        tx.execute(statement::KEEP_FALLEN_BACK, &[Value::Text(self.0.as_str())]).await.map(|_| ())
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, _model: &mut crate::memory::Model) {}
}

// === impl CountCall ===

impl Operation for CountCall {
    type Output = ();

    const DOING: &'static str = "count a call";

    fn access(&self) -> Access {
        Access::Write(Durability::Statistic)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<(), StoreError> {
        let values = [Value::Int(self.now), Value::Text(self.key.as_str())];
        for row in tx.query(statement::COUNT_CALL, &values).await? {
            if row.int(0)? == 2 {
                tx.execute(statement::COUNT_CONVERSATION, &[Value::Text(row.text(1)?)]).await?;
            }
        }
        Ok(())
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) {
        model.count_call(self);
    }
}

// === impl Seen ===

impl Operation for Seen {
    type Output = ();

    const DOING: &'static str = "note when a session was used";

    fn access(&self) -> Access {
        Access::Write(Durability::Statistic)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<(), StoreError> {
        let values = [Value::Int(self.now), Value::Text(self.key.as_str())];
        tx.execute(statement::SEEN, &values).await.map(|_| ())
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) {
        if let Some(session) = model.sessions.get_mut(self.key.as_str()) {
            session.seen = session.seen.max(self.now);
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

// === impl SplitAgain ===

impl Operation for SplitAgain {
    /// Whether it had fallen back.
    type Output = bool;

    const DOING: &'static str = "split sessions again";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<bool, StoreError> {
        let principal = Value::Text(self.principal.as_str());
        let had = tx.execute(statement::SPLIT_AGAIN, &[principal]).await? > 0;
        if had {
            note(tx, &self.notice).await?;
        }
        Ok(had)
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> bool {
        model.split_again(self)
    }
}
