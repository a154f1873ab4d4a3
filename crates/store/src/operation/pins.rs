//! Pins: what is seen of a server's definitions, and what people decide about them.

use highwater_core::pin::PinDigest;
use highwater_notation::{Timestamp, Word};
use highwater_pins::{Basis, PinKey, PinKind, digest_of_all};

use super::{Access, Durability, Operation};
use crate::StoreError;
use crate::pins::{
    Observation, PinDecision, PinEvent, PinScope, PinVerdict, PinsDecided, StoredApproval, StoredPin,
    StoredText,
};
use crate::sql::{Row, Tx, Value, statement};

/// How many lines of what a server itself brought about are kept. Decisions are kept for good.
pub(crate) const KEPT_EVENTS: i64 = 2000;

/// Everything that is known of a server's definitions.
#[derive(Debug)]
pub(crate) struct ReadPins(pub(crate) String);

/// Writes down what is not as it was last seen.
#[derive(Debug)]
pub(crate) struct Observe {
    pub(crate) server: String,
    pub(crate) seen: Vec<Observation>,
    pub(crate) now: i64,
    /// What the names of its events begin with.
    pub(crate) event: String,
}

/// Writes down what a person decided, if everything is as they saw it.
#[derive(Debug)]
pub(crate) struct DecidePins {
    pub(crate) decision: PinDecision,
    pub(crate) now: i64,
    /// What the names of its events begin with.
    pub(crate) event: String,
}

/// The history of a server's definitions, newest first.
#[derive(Debug)]
pub(crate) struct PinHistory {
    pub(crate) server: String,
    pub(crate) most: u32,
}

/// What other replicas are told when something was decided about a server.
pub(crate) const PINS_HINT: &str = "pins:";

// === impl ReadPins ===

impl Operation for ReadPins {
    type Output = Vec<StoredPin>;

    const DOING: &'static str = "read what was approved of a server";

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Vec<StoredPin>, StoreError> {
        read(tx, &self.0).await
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Vec<StoredPin> {
        model.pins_of(&self.0)
    }
}

// === impl Observe ===

impl Operation for Observe {
    type Output = ();

    const DOING: &'static str = "write down what a server says of itself";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<(), StoreError> {
        for (number, observation) in self.seen.iter().enumerate() {
            self.one(tx, number, observation).await?;
        }
        let kept = [Value::Text(&self.server), Value::Int(KEPT_EVENTS)];
        tx.execute(statement::PRUNE_PIN_EVENTS, &kept).await.map(|_| ())
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) {
        model.observe(self);
    }
}

impl Observe {
    async fn one<T: Tx>(&self, tx: &mut T, number: usize, it: &Observation) -> Result<(), StoreError> {
        let (server, kind, name) =
            (Value::Text(&self.server), Value::Text(it.key.kind.as_str()), Value::Text(&it.key.name));
        let known = !tx.query(statement::PIN_KNOWN, &[server, kind, name]).await?.is_empty();
        let digest = it.seen.as_ref().map(|(digest, _)| digest.to_string()).unwrap_or_default();
        let text = it.seen.as_ref().map_or("", |(_, text)| text.as_str());
        let (now, digest_value) = (Value::Int(self.now), Value::Text(&digest));
        if it.seen.is_some() {
            tx.execute(statement::SEE_PIN, &[server, kind, name, digest_value, Value::Text(text), now])
                .await?;
        } else if known {
            tx.execute(statement::LOSE_PIN, &[server, kind, name]).await?;
            // What nobody ever decided about leaves nothing behind but its line.
            tx.execute(statement::FORGET_PIN, &[server, kind, name]).await?;
        }
        if let Some(basis) = it.approve {
            let values = [Value::Text(basis.as_str()), now, server, kind, name, digest_value];
            tx.execute(statement::VOUCH_PIN, &values).await?;
        }
        let id = format!("{}-{number}", self.event);
        let event = HistoryRow { id: &id, what: it.word(known), digest: &digest, text };
        line(tx, &event, &self.server, &it.key, self.now).await
    }
}

// === impl DecidePins ===

impl Operation for DecidePins {
    type Output = PinsDecided;

    const DOING: &'static str = "write down what a person decided about a server";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<PinsDecided, StoreError> {
        let server = &self.decision.server;
        // Takes the rows: what is compared next is what is changed.
        tx.execute(statement::TAKE_PINS, &[Value::Text(server)]).await?;
        let Some(keys) = chosen(&self.decision, &read(tx, server).await?) else {
            return Ok(PinsDecided::Moved);
        };
        let done = match (&self.decision.verdict, &self.decision.scope) {
            (PinVerdict::Approve { believed }, PinScope::Server(digest)) => {
                let done = self.approve_all(tx, *believed).await?;
                // A row that somebody added meanwhile was not among those taken.
                if review(&read(tx, server).await?) != *digest {
                    return Err(StoreError::GaveWay { doing: Self::DOING });
                }
                done
            }
            (verdict, _) => self.each(tx, *verdict, &keys).await?,
        };
        tx.announce(&format!("{PINS_HINT}{server}")).await?;
        Ok(PinsDecided::Done(done))
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> PinsDecided {
        model.decide_pins(self)
    }
}

impl DecidePins {
    async fn approve_all<T: Tx>(&self, tx: &mut T, believed: bool) -> Result<u64, StoreError> {
        let PinDecision { server, verdict, person, reason, .. } = &self.decision;
        let flag = Value::Int(i64::from(believed));
        let events = [
            Value::Text(&self.event),
            Value::Int(self.now),
            Value::Text(verdict.word()),
            Value::Text(person),
            Value::Text(reason),
            Value::Text(server),
            flag,
        ];
        let done = tx.execute(statement::APPROVAL_EVENTS, &events).await?;
        let values = [flag, Value::Text(person), Value::Int(self.now), Value::Text(server)];
        tx.execute(statement::APPROVE_PINS, &values).await?;
        Ok(done)
    }

    async fn each<T: Tx>(
        &self,
        tx: &mut T,
        verdict: PinVerdict,
        keys: &[(PinKey, PinDigest)],
    ) -> Result<u64, StoreError> {
        let PinDecision { server, person, reason, .. } = &self.decision;
        for (number, (key, digest)) in keys.iter().enumerate() {
            let digest = digest.to_string();
            let (of, kind, name) =
                (Value::Text(server), Value::Text(key.kind.as_str()), Value::Text(&key.name));
            let touched = match verdict {
                PinVerdict::Approve { believed } => {
                    let flag = Value::Int(i64::from(believed));
                    let values = [
                        flag,
                        Value::Text(person),
                        Value::Int(self.now),
                        of,
                        kind,
                        name,
                        Value::Text(&digest),
                    ];
                    tx.execute(statement::APPROVE_PIN, &values).await?
                }
                PinVerdict::Reject => {
                    let values = [of, kind, name, Value::Text(&digest)];
                    let rejected = tx.execute(statement::REJECT_PIN, &values).await?;
                    // What was approved and is now refused is approved no more.
                    tx.execute(statement::UNPIN, &values).await?;
                    rejected
                }
            };
            if touched != 1 {
                return Err(StoreError::GaveWay { doing: Self::DOING });
            }
            let id = format!("{}-{number}", self.event);
            let values = [
                Value::Text(&id),
                of,
                kind,
                name,
                Value::Int(self.now),
                Value::Text(verdict.word()),
                Value::Text(&digest),
                Value::Text(""),
                Value::Text(person),
                Value::Text(reason),
                Value::Int(1),
            ];
            tx.execute(statement::PIN_EVENT, &values).await?;
        }
        Ok(keys.len() as u64)
    }
}

// === impl PinHistory ===

impl Operation for PinHistory {
    type Output = Vec<PinEvent>;

    const DOING: &'static str = "list what was decided about a server";

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Vec<PinEvent>, StoreError> {
        let values = [Value::Text(&self.server), Value::Int(i64::from(self.most))];
        let rows = tx.query(statement::PIN_EVENTS, &values).await?;
        let event = |row: &Row| {
            Ok(PinEvent {
                key: key(row, 0)?,
                at: Timestamp(row.count(2)?),
                what: row.text(3)?.to_owned(),
                digest: digest(row, 4)?,
                text: Some(row.text(5)?.to_owned()).filter(|text| !text.is_empty()),
                person: row.text(6)?.to_owned(),
                reason: row.text(7)?.to_owned(),
            })
        };
        rows.iter().map(event).collect()
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Vec<PinEvent> {
        model.pin_events(&self.server, self.most)
    }
}

/// The definitions that a decision is about, if all are as the person saw them.
pub(crate) fn chosen(decision: &PinDecision, pins: &[StoredPin]) -> Option<Vec<(PinKey, PinDigest)>> {
    let seen = |key: &PinKey| {
        pins.iter().find(|pin| pin.key == *key).and_then(|pin| pin.seen.as_ref()).map(|seen| seen.digest)
    };
    match (&decision.scope, decision.verdict) {
        (PinScope::Server(digest), _) if review(pins) != *digest => None,
        // Without its server nothing of it is used.
        (PinScope::Server(_), PinVerdict::Reject) => {
            seen(&PinKey::identity()).map(|digest| vec![(PinKey::identity(), digest)])
        }
        (PinScope::Server(_), PinVerdict::Approve { .. }) => Some(Vec::new()),
        (PinScope::Some(named), _) => {
            let all = named.iter().all(|(key, digest)| seen(key) == Some(*digest));
            all.then(|| named.clone())
        }
    }
}

/// The digest of everything that is seen of a server.
pub(crate) fn review(pins: &[StoredPin]) -> PinDigest {
    let reviewed = pins.iter().filter(|pin| pin.key.is_definition());
    digest_of_all(reviewed.filter_map(|pin| Some((&pin.key, pin.seen.as_ref()?.digest))))
}

/// One line of the history.
struct HistoryRow<'a> {
    id: &'a str,
    what: &'a str,
    digest: &'a str,
    text: &'a str,
}

async fn line<T: Tx>(
    tx: &mut T,
    line: &HistoryRow<'_>,
    server: &str,
    key: &PinKey,
    now: i64,
) -> Result<(), StoreError> {
    let values = [
        Value::Text(line.id),
        Value::Text(server),
        Value::Text(key.kind.as_str()),
        Value::Text(&key.name),
        Value::Int(now),
        Value::Text(line.what),
        Value::Text(line.digest),
        Value::Text(line.text),
        Value::Text(""),
        Value::Text(""),
        Value::Int(0),
    ];
    tx.execute(statement::PIN_EVENT, &values).await.map(|_| ())
}

async fn read<T: Tx>(tx: &mut T, server: &str) -> Result<Vec<StoredPin>, StoreError> {
    let rows = tx.query(statement::PINS, &[Value::Text(server)]).await?;
    rows.iter().map(stored).collect()
}

fn stored(row: &Row) -> Result<StoredPin, StoreError> {
    let text = |from: usize| {
        let found = digest(row, from)?;
        let at = Timestamp(row.count(from + 2)?);
        Ok::<_, StoreError>(match found {
            Some(digest) => Some(StoredText { digest, text: row.text(from + 1)?.to_owned(), at }),
            None => None,
        })
    };
    let pin = match text(5)? {
        Some(definition) => Some(StoredApproval {
            definition,
            basis: word::<Basis>(row.text(8)?)?,
            believed: row.int(9)? != 0,
            person: row.text(10)?.to_owned(),
        }),
        None => None,
    };
    Ok(StoredPin { key: key(row, 0)?, seen: text(2)?, pin, rejected: digest(row, 11)? })
}

fn key(row: &Row, column: usize) -> Result<PinKey, StoreError> {
    Ok(PinKey::new(word::<PinKind>(row.text(column)?)?, row.text(column + 1)?))
}

/// A digest, where there is one.
fn digest(row: &Row, column: usize) -> Result<Option<PinDigest>, StoreError> {
    match row.text(column)? {
        "" => Ok(None),
        text => PinDigest::parse(text).map(Some).ok_or(StoreError::Foreign { what: "a digest that is none" }),
    }
}

/// A word of a vocabulary, in its own spelling.
fn word<W: Word>(text: &str) -> Result<W, StoreError> {
    let found = W::ALL.iter().copied().find(|word| word.as_str() == text);
    found.ok_or(StoreError::Foreign { what: "a word that is not ours" })
}
