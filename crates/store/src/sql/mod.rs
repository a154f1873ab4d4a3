//! What SQLite and PostgreSQL have in common: one way to ask, one kind of row, one set of statements.
//!
//! An operation is written once against [`Tx`]. SQLite answers at once, PostgreSQL over the network; the
//! operation does not notice.

/// Declares statements.
macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $text:expr;)+) => {
        $($(#[$doc])* pub(crate) const $name: &str = $text;)+

        /// All statements with their names, for the checks that concern every one.
        #[cfg(test)]
        pub(crate) const ALL: &[(&str, &str)] = &[$((stringify!($name), $name)),+];
    };
}

pub(crate) mod approvals;
pub(crate) mod schema;
pub(crate) mod statement;

use highwater_core::label::{Label, LabelBits, TextSet};

use crate::StoreError;

/// A value for a statement's parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    Int(i64),
    Text(&'a str),
}

/// A value from a row. No column of ours may be null.
#[derive(Clone, Debug)]
pub(crate) enum Cell {
    Int(i64),
    Text(String),
}

/// One row of an answer.
#[derive(Clone, Debug)]
pub(crate) struct Row(pub(crate) Vec<Cell>);

/// The inside of one transaction, or of one read.
pub(crate) trait Tx: Send {
    /// Runs a statement and takes its rows.
    fn query(
        &mut self,
        statement: &'static str,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<Vec<Row>, StoreError>> + Send;

    /// Runs a statement and counts the rows it touched.
    fn execute(
        &mut self,
        statement: &'static str,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<u64, StoreError>> + Send;

    /// Runs a definition of the layout, which has no parameters and is not worth remembering.
    fn define(&mut self, definition: &str) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// The time by which things expire: the database's own where replicas share one, the given one elsewhere.
    fn now(&mut self, given: i64) -> impl Future<Output = Result<i64, StoreError>> + Send;

    /// Undoes everything that was done in this transaction. What is answered stands, and says why.
    fn give_up(&mut self);

    /// Says that something was cleared in this transaction that must not stay behind in files that we keep ourselves.
    fn scrub(&mut self);

    /// Tells other replicas that they hold an old copy of a session. A hint: nothing depends on its arrival.
    fn announce(&mut self, session: &str) -> impl Future<Output = Result<(), StoreError>> + Send;
}

// === impl Row ===

impl Row {
    /// The number in a column.
    pub(crate) fn int(&self, column: usize) -> Result<i64, StoreError> {
        match self.0.get(column) {
            Some(Cell::Int(number)) => Ok(*number),
            Some(Cell::Text(_)) | None => Err(StoreError::Foreign { what: "a text in place of a number" }),
        }
    }

    /// The number in a column that is never negative.
    pub(crate) fn count(&self, column: usize) -> Result<u64, StoreError> {
        u64::try_from(self.int(column)?).map_err(|_| StoreError::Foreign { what: "a negative number" })
    }

    /// The text in a column.
    pub(crate) fn text(&self, column: usize) -> Result<&str, StoreError> {
        match self.0.get(column) {
            Some(Cell::Text(text)) => Ok(text),
            Some(Cell::Int(_)) | None => Err(StoreError::Foreign { what: "a number in place of a text" }),
        }
    }

    /// The label bits in a column.
    pub(crate) fn bits(&self, column: usize) -> Result<LabelBits, StoreError> {
        Ok(LabelBits::from_i64(self.int(column)?))
    }
}

/// The only row of an answer, if there is one.
pub(crate) fn first(rows: Vec<Row>) -> Option<Row> {
    rows.into_iter().next()
}

/// The layout of databases that this program makes, and the newest that it reads.
pub const fn layout() -> i64 {
    schema::latest()
}

/// The row that a statement always gives.
pub(crate) fn only(rows: Vec<Row>) -> Result<Row, StoreError> {
    first(rows).ok_or(StoreError::Foreign { what: "a statement without its row" })
}

/// A label from its bits and the rows `(kind, value)` of its sets.
pub(crate) fn label<'a>(
    bits: LabelBits,
    members: impl Iterator<Item = Result<(&'a str, &'a str), StoreError>>,
) -> Result<Label, StoreError> {
    let (mut scopes, mut names, mut origins) = (Vec::new(), Vec::new(), Vec::new());
    for member in members {
        match member? {
            (SCOPE, value) => scopes.push(value),
            (CLASS, value) => names.push(value),
            (ORIGIN, value) => origins.push(value),
            // A left join without a partner.
            ("", _) => {}
            (_, _) => return Err(StoreError::Foreign { what: "a set of an unknown kind" }),
        }
    }
    Ok(Label::from_sets(bits, TextSet::of(scopes), TextSet::of(names), TextSet::of(origins)))
}

/// The labels of a session: its own, and what is pending, from the bits of each and the rows of their sets.
pub(crate) fn session_labels<'a>(
    own: LabelBits,
    pending: LabelBits,
    members: impl Iterator<Item = Result<(&'a str, &'a str), StoreError>>,
) -> Result<(Label, Label), StoreError> {
    let (mut owned, mut earlier) = (Vec::new(), Vec::new());
    for member in members {
        let (kind, value) = member?;
        match PENDING.iter().find(|(_, stored)| *stored == kind) {
            Some((kind, _)) => earlier.push(Ok((*kind, value))),
            None => owned.push(Ok((kind, value))),
        }
    }
    Ok((label(own, owned.into_iter())?, label(pending, earlier.into_iter())?))
}

/// The name of a set of what is pending.
pub(crate) fn pending_kind(kind: &'static str) -> &'static str {
    PENDING.iter().find(|(own, _)| *own == kind).map_or(kind, |(_, stored)| stored)
}

/// Whether a set is of what is pending, by its name.
pub(crate) fn is_pending(kind: &str) -> bool {
    PENDING.iter().any(|(_, stored)| *stored == kind)
}

/// The members of a label's sets as they are stored.
pub(crate) fn members(label: &Label) -> impl Iterator<Item = (&'static str, &str)> {
    let scopes = label.scopes().members().iter().map(|value| (SCOPE, &**value));
    let names = label.names().members().iter().map(|value| (CLASS, &**value));
    scopes.chain(names).chain(label.origins().members().iter().map(|value| (ORIGIN, &**value)))
}

const SCOPE: &str = "scope";
/// The name of a class of the operator's own.
const CLASS: &str = "class";
const ORIGIN: &str = "origin";

/// The sets of what is pending, beside those of the label.
const PENDING: [(&str, &str); 3] =
    [(SCOPE, "pending-scope"), (CLASS, "pending-class"), (ORIGIN, "pending-origin")];
