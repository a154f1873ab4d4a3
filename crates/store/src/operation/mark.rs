//! Marks on stored things: left by who writes, read by who reads, taken off by people.

use std::collections::BTreeMap;

use highwater_core::id::{DecisionId, Principal, SessionKey, UpstreamId};
use highwater_core::label::Label;
use highwater_core::session::Doubt;
use highwater_marks::{Mark, MarkKind, Prints, Thing, Writer, doubt_id, left_by_write, says_nothing};
use highwater_notation::Timestamp;

use super::{Access, Durability, Operation};
use crate::StoreError;
use crate::marks::{mark_id, merged};
use crate::sql::{Row, Tx, Value, first, label, members, only, statement};

/// How many things of one server a conversation can mark before the oldest give way to one mark on the tool that wrote
/// them.
pub(crate) const ROOM: usize = 512;

/// How many fingerprints it can leave there.
pub(crate) const ROOM_FOR_PRINTS: usize = 64 * 1024;

/// Leaves marks, all of one conversation on things of one server.
#[derive(Debug)]
pub(crate) struct LeaveMarks {
    pub(crate) upstream: UpstreamId,
    pub(crate) marks: Vec<Mark>,
}

/// What became of marks that were left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Left {
    pub(crate) seq: i64,
    pub(crate) generation: i64,
    /// Each as it is now, with what it was before.
    pub(crate) now: Vec<(Mark, Option<Mark>)>,
    /// Those there was no room for.
    pub(crate) gone: Vec<String>,
    /// What stands for them.
    pub(crate) instead: Vec<Mark>,
}

/// Takes back a mark of what did not happen, if nobody has added to it since.
#[derive(Debug)]
pub(crate) struct TakeBack {
    pub(crate) id: String,
    pub(crate) upstream: UpstreamId,
    /// When it was left.
    pub(crate) seq: i64,
    pub(crate) before: Option<Mark>,
}

/// Reads the marks of a server that a copy does not have.
#[derive(Debug)]
pub(crate) struct ReadMarks {
    pub(crate) upstream: UpstreamId,
    /// Which the copy has, and of which generation.
    pub(crate) seq: i64,
    pub(crate) generation: i64,
}

/// What a copy does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NewMarks {
    pub(crate) seq: i64,
    pub(crate) generation: i64,
    /// Whether these are all that there are.
    pub(crate) all: bool,
    pub(crate) marks: Vec<(Mark, i64)>,
}

/// The marks of all servers, and the key of fingerprints.
#[derive(Debug)]
pub(crate) struct ReadAllMarks;

/// The same as an answer.
#[derive(Debug)]
pub(crate) struct AllMarks {
    /// By the server that they are on.
    pub(crate) servers: Vec<(UpstreamId, NewMarks)>,
    /// Nothing before the first start.
    pub(crate) print_key: Option<String>,
}

/// Takes marks off by a person's word.
#[derive(Debug)]
pub(crate) struct ClearMarks {
    pub(crate) id: String,
    pub(crate) what: Clearing,
    pub(crate) person: String,
    pub(crate) reason: String,
    pub(crate) now: i64,
}

/// What a person's word takes off.
#[derive(Debug)]
pub(crate) enum Clearing {
    /// These marks.
    Marks(Vec<String>),
    /// These doubts: of marks that nobody has added to since, that strangers may have written what they are on.
    Doubts(Vec<Doubt>),
}

/// Marks that a person's word has changed, each as it was and as it is now, with the generation and the number of the change
/// at each server.
pub(crate) type Changed = (Vec<(Mark, Option<Mark>)>, BTreeMap<UpstreamId, (i64, i64)>);

/// The key of fingerprints; made once.
#[derive(Debug)]
pub(crate) struct EnsurePrintKey(pub(crate) String);

// === impl LeaveMarks ===

impl Operation for LeaveMarks {
    type Output = Left;

    const DOING: &'static str = "mark what is written";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    fn is_repeatable(&self) -> bool {
        true
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Left, StoreError> {
        let (seq, mut generation) = take(tx, &self.upstream).await?;
        let mut now = Vec::with_capacity(self.marks.len());
        for mark in &self.marks {
            let before = read(tx, &mark.id).await?.map(|(mark, _)| mark);
            let mark = merged(before.as_ref(), mark);
            write(tx, &mark, seq).await?;
            now.push((mark, before));
        }
        let (mut gone, mut instead) = (Vec::new(), BTreeMap::new());
        for family in FAMILIES {
            let left = self.marks.iter().find(|mark| family.contains(&mark.thing.kind));
            let over = match left {
                Some(mark) => self.over(tx, &mark.by, family).await?,
                None => continue,
            };
            for id in over {
                let Some((mark, _)) = read(tx, &id).await? else { continue };
                let wide = wide(&mark);
                let before = read(tx, &wide.id).await?.map(|(mark, _)| mark);
                let wide = merged(before.as_ref(), &wide);
                write(tx, &wide, seq).await?;
                instead.insert(wide.id.to_string(), wide);
                remove(tx, &id).await?;
                gone.push(id);
            }
        }
        if !gone.is_empty() {
            generation = forget(tx, &self.upstream).await?;
        }
        Ok(Left { seq, generation, now, gone, instead: instead.into_values().collect() })
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Left {
        model.leave_marks(self)
    }
}

/// Marks that share room.
pub(crate) const FAMILIES: [[MarkKind; 2]; 2] =
    [[MarkKind::Object, MarkKind::Content], [MarkKind::Resource, MarkKind::Task]];

impl LeaveMarks {
    /// The oldest marks of a conversation that there is no room for. An eighth goes at once, so that this is rare.
    async fn over<T: Tx>(
        &self,
        tx: &mut T,
        by: &Writer,
        family: [MarkKind; 2],
    ) -> Result<Vec<String>, StoreError> {
        let [one, other] = family.map(|kind| Value::Text(kind.as_str()));
        let values = [Value::Text(by.session.as_str()), Value::Text(self.upstream.as_str()), one, other];
        let held = only(tx.query(statement::MARKS_HELD, &values).await?)?;
        let (marks, prints) = (held.count(0)?, held.count(1)?);
        if marks <= ROOM as u64 && prints <= ROOM_FOR_PRINTS as u64 {
            return Ok(Vec::new());
        }
        let rows = tx.query(statement::MARKS_OF_SESSION, &values).await?;
        let ids =
            rows.iter().map(|row| Ok(row.text(0)?.to_owned())).collect::<Result<Vec<_>, StoreError>>()?;
        let most = pushed_out(ids.len());
        Ok(ids.into_iter().take(most).collect())
    }
}

/// How many of so many marks give way.
pub(crate) fn pushed_out(held: usize) -> usize {
    (held / 8).max(1)
}

/// What stands for a mark that there is no room for.
pub(crate) fn wide(mark: &Mark) -> Mark {
    let thing = mark.thing.without_room(&mark.by.tool);
    Mark { id: mark_id(&thing, &mark.by.session), thing, label: mark.label.clone(), by: mark.by.clone() }
}

// === impl TakeBack ===

impl Operation for TakeBack {
    /// The generation and the number of the change, if it was taken back.
    type Output = Option<(i64, i64)>;

    const DOING: &'static str = "take a mark back";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Self::Output, StoreError> {
        let (seq, _) = take(tx, &self.upstream).await?;
        match read(tx, &self.id).await? {
            Some((_, left)) if left == self.seq => {}
            Some(_) | None => return Ok(None),
        }
        remove(tx, &self.id).await?;
        if let Some(before) = &self.before {
            write(tx, before, seq).await?;
        }
        let generation = forget(tx, &self.upstream).await?;
        Ok(Some((generation, seq)))
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Self::Output {
        model.take_back(self)
    }
}

// === impl ReadMarks ===

impl Operation for ReadMarks {
    type Output = NewMarks;

    const DOING: &'static str = "read the marks of a server";

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<NewMarks, StoreError> {
        new_marks(tx, self).await
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> NewMarks {
        model.read_marks(self)
    }
}

// === impl ReadAllMarks ===

impl Operation for ReadAllMarks {
    type Output = AllMarks;

    const DOING: &'static str = "read the marks of all servers";

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<AllMarks, StoreError> {
        let mut servers = Vec::new();
        for row in &tx.query(statement::MARK_SERVERS, &[]).await? {
            let copy = ReadMarks { upstream: UpstreamId::new(row.text(0)?), seq: 0, generation: -1 };
            let marks = new_marks(tx, &copy).await?;
            servers.push((copy.upstream, marks));
        }
        let key = first(tx.query(statement::PRINT_KEY, &[]).await?);
        let print_key = key.map(|row| Ok::<_, StoreError>(row.text(0)?.to_owned())).transpose()?;
        Ok(AllMarks { servers, print_key })
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> AllMarks {
        AllMarks { servers: model.all_marks(), print_key: model.print_key.clone() }
    }
}

// === impl ClearMarks ===

impl Operation for ClearMarks {
    type Output = Changed;

    const DOING: &'static str = "take marks off";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Self::Output, StoreError> {
        let mut found = Vec::new();
        for id in self.what.marks() {
            found.extend(read(tx, id).await?.map(|(mark, _)| mark));
        }
        // The same order for everybody, so that two who clear do not wait for each other.
        let mut servers: BTreeMap<UpstreamId, (i64, i64)> =
            found.iter().map(|mark| (mark.thing.upstream.clone(), (0, 0))).collect();
        for (upstream, change) in &mut servers {
            let (seq, _) = take(tx, upstream).await?;
            *change = (forget(tx, upstream).await?, seq);
        }
        let mut cleared = Vec::with_capacity(found.len());
        for mark in found {
            // As it is now that nobody else can change it.
            let Some((mark, _)) = read(tx, &mark.id).await? else { continue };
            let Some(left) = self.what.leaves(&mark) else { continue };
            remove(tx, &mark.id).await?;
            if let (Some(left), Some((_, seq))) = (&left, servers.get(&mark.thing.upstream)) {
                write(tx, left, *seq).await?;
            }
            cleared.push((mark, left));
        }
        if !cleared.is_empty() {
            let ids: Vec<&str> = cleared.iter().map(|(mark, _)| &*mark.id).collect();
            let ids = ids.join(" ");
            let values = [
                Value::Text(&self.id),
                Value::Int(self.now),
                Value::Text(&self.person),
                Value::Text(&self.reason),
                Value::Text(&ids),
            ];
            tx.execute(statement::RECORD_CLEARING, &values).await?;
        }
        Ok((cleared, servers))
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Self::Output {
        model.clear_marks(self)
    }
}

// === impl Clearing ===

impl Clearing {
    /// The marks that it is about, by their ids.
    pub(crate) fn marks(&self) -> Box<dyn Iterator<Item = &str> + Send + '_> {
        match self {
            Self::Marks(ids) => Box::new(ids.iter().map(String::as_str)),
            Self::Doubts(doubts) => Box::new(doubts.iter().map(Doubt::mark)),
        }
    }

    /// What is left of a mark; nothing where it is not concerned.
    pub(crate) fn leaves(&self, mark: &Mark) -> Option<Option<Mark>> {
        let Self::Doubts(doubts) = self else { return Some(None) };
        let now = doubt_id(mark);
        doubts.iter().any(|doubt| doubt.id == now).then(|| {
            let label = left_by_write(&mark.label, true);
            (!says_nothing(&label)).then(|| Mark { label, ..mark.clone() })
        })
    }
}

// === impl EnsurePrintKey ===

impl Operation for EnsurePrintKey {
    type Output = String;

    const DOING: &'static str = "make the key of fingerprints";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    fn is_repeatable(&self) -> bool {
        true
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<String, StoreError> {
        tx.execute(statement::MAKE_PRINT_KEY, &[Value::Text(&self.0)]).await?;
        Ok(only(tx.query(statement::PRINT_KEY, &[]).await?)?.text(0)?.to_owned())
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> String {
        model.print_key.get_or_insert_with(|| self.0.clone()).clone()
    }
}

/// Holds the marks of a server until the transaction ends: the number of this change, and the generation.
async fn take<T: Tx>(tx: &mut T, upstream: &UpstreamId) -> Result<(i64, i64), StoreError> {
    let row = only(tx.query(statement::TAKE_MARKS, &[Value::Text(upstream.as_str())]).await?)?;
    Ok((row.int(0)?, row.int(1)?))
}

async fn forget<T: Tx>(tx: &mut T, upstream: &UpstreamId) -> Result<i64, StoreError> {
    only(tx.query(statement::MARKS_GONE, &[Value::Text(upstream.as_str())]).await?)?.int(0)
}

async fn remove<T: Tx>(tx: &mut T, id: &str) -> Result<(), StoreError> {
    tx.execute(statement::DROP_MARK, &[Value::Text(id)]).await?;
    tx.execute(statement::DROP_MARK_MEMBERS, &[Value::Text(id)]).await.map(|_| ())
}

async fn write<T: Tx>(tx: &mut T, mark: &Mark, seq: i64) -> Result<(), StoreError> {
    let Mark { id, thing, label, by } = mark;
    let prints = if thing.prints.is_empty() { String::new() } else { thing.prints.to_text() };
    let values = [
        Value::Text(id),
        Value::Text(thing.upstream.as_str()),
        Value::Text(thing.kind.as_str()),
        Value::Text(&thing.name),
        Value::Text(&prints),
        Value::Int(i64::try_from(thing.prints.count()).unwrap_or(i64::MAX)),
        Value::Text(by.session.as_str()),
        Value::Text(by.principal.as_str()),
        Value::Text(&by.tool),
        Value::Text(by.decision.as_str()),
        Value::Int(i64::try_from(by.at.0).unwrap_or(i64::MAX)),
        Value::Int(label.bits().to_i64()),
        Value::Int(seq),
    ];
    tx.execute(statement::WRITE_MARK, &values).await?;
    for (part, value) in members(label) {
        let values = [Value::Text(id), Value::Text(part), Value::Text(value)];
        tx.execute(statement::WRITE_MARK_MEMBER, &values).await?;
    }
    Ok(())
}

async fn read<T: Tx>(tx: &mut T, id: &str) -> Result<Option<(Mark, i64)>, StoreError> {
    let Some(row) = first(tx.query(statement::MARK, &[Value::Text(id)]).await?) else { return Ok(None) };
    let sets = tx.query(statement::MARK_MEMBERS, &[Value::Text(id)]).await?;
    let members =
        sets.iter().map(|row| Ok((row.text(1)?, row.text(2)?))).collect::<Result<Vec<_>, StoreError>>()?;
    mark_of(&row, &members)
}

/// A stored mark with the number of the change that it is of. One of a kind that only a newer program knows may be on
/// anything.
fn mark_of(row: &Row, members: &[(&str, &str)]) -> Result<Option<(Mark, i64)>, StoreError> {
    let unreadable = StoreError::Foreign { what: "fingerprints that cannot be read" };
    let prints = match row.text(4)? {
        "" => Prints::default(),
        text => Prints::from_text(text).ok_or(unreadable)?,
    };
    let upstream = UpstreamId::new(row.text(1)?);
    let thing = match MarkKind::parse(row.text(2)?) {
        Some(kind) => Thing { upstream, kind, name: row.text(3)?.into(), prints },
        None => Thing::server(upstream),
    };
    let label: Label = label(row.bits(10)?, members.iter().map(|member| Ok(*member)))?;
    let by = Writer {
        session: SessionKey::new(row.text(5)?),
        principal: Principal::new(row.text(6)?),
        tool: row.text(7)?.into(),
        decision: DecisionId::new(row.text(8)?),
        at: Timestamp(row.count(9)?),
    };
    Ok(Some((Mark { id: row.text(0)?.into(), thing, label, by }, row.int(11)?)))
}

/// The marks of a server that a copy does not have.
async fn new_marks<T: Tx>(tx: &mut T, copy: &ReadMarks) -> Result<NewMarks, StoreError> {
    let upstream = Value::Text(copy.upstream.as_str());
    let Some(row) = first(tx.query(statement::MARK_SERVER, &[upstream]).await?) else {
        return Ok(NewMarks { all: true, ..NewMarks::default() });
    };
    let (seq, generation) = (row.int(0)?, row.int(1)?);
    let all = generation != copy.generation;
    if !all && seq == copy.seq {
        return Ok(NewMarks { seq, generation, all, marks: Vec::new() });
    }
    let since = [upstream, Value::Int(if all { -1 } else { copy.seq })];
    let rows = tx.query(statement::MARKS_SINCE, &since).await?;
    let sets = tx.query(statement::MARK_MEMBERS_SINCE, &since).await?;
    let mut by_mark: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for row in &sets {
        by_mark.entry(row.text(0)?).or_default().push((row.text(1)?, row.text(2)?));
    }
    let mut marks = Vec::with_capacity(rows.len());
    for row in &rows {
        let members = by_mark.remove(row.text(0)?).unwrap_or_default();
        marks.extend(mark_of(row, &members)?);
    }
    Ok(NewMarks { seq, generation, all, marks })
}
