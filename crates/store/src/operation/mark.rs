//! Marks on objects: the label of what an agent wrote, or of a handle it was given, for whoever reads it.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use highwater_core::id::UpstreamId;
use highwater_core::label::Label;
use highwater_core::session::{ObjectId, ObjectKind};

use super::{Access, Durability, Operation};
use crate::StoreError;
use crate::marks::MarkedKind;
use crate::sql::{Tx, Value, label, members, statement};

/// Joins a label into the marks of objects.
#[derive(Debug)]
pub(crate) struct Mark {
    pub(crate) objects: Vec<ObjectId>,
    pub(crate) label: Label,
}

/// Reads the marks of objects, each by itself.
#[derive(Debug)]
pub(crate) struct ReadMarks(pub(crate) Vec<ObjectId>);

/// Which kinds of object have any mark at all.
#[derive(Debug)]
pub(crate) struct MarkedKinds;

// === impl Mark ===

impl Operation for Mark {
    /// What each object is marked with now.
    type Output = Vec<Label>;

    const DOING: &'static str = "mark what is written";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    fn is_repeatable(&self) -> bool {
        true
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Vec<Label>, StoreError> {
        let mut marks = Vec::with_capacity(self.objects.len());
        // The caller's order is the same for everybody, so that two writers of the same objects do not wait for
        // each other.
        for object in &self.objects {
            let identity = identity(object);
            let [upstream, kind, identity] = columns(object, &identity).map(Value::Text);
            let bits = Value::Int(self.label.bits().to_i64());
            tx.execute(statement::MARK, &[upstream, kind, identity, bits]).await?;
            for (part, value) in members(&self.label) {
                let values = [upstream, kind, identity, Value::Text(part), Value::Text(value)];
                tx.execute(statement::MARK_MEMBER, &values).await?;
            }
            tx.execute(statement::MARK_KIND, &[upstream, kind]).await?;
            marks.push(read(tx, object).await?);
        }
        Ok(marks)
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Vec<Label> {
        model.mark(self)
    }
}

// === impl ReadMarks ===

impl Operation for ReadMarks {
    type Output = Vec<Label>;

    const DOING: &'static str = "read the marks of objects";

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Vec<Label>, StoreError> {
        let mut labels = Vec::with_capacity(self.0.len());
        for object in &self.0 {
            labels.push(read(tx, object).await?);
        }
        Ok(labels)
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Vec<Label> {
        self.0.iter().map(|object| model.mark_of(object)).collect()
    }
}

// === impl MarkedKinds ===

impl Operation for MarkedKinds {
    type Output = Vec<MarkedKind>;

    const DOING: &'static str = "read the marks of objects";

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Self::Output, StoreError> {
        let rows = tx.query(statement::MARKED_KINDS, &[]).await?;
        let mut kinds = Vec::with_capacity(rows.len());
        for row in &rows {
            // A kind that only a newer program knows is one that nobody here asks about.
            if let Some(kind) = ObjectKind::parse(row.text(1)?) {
                kinds.push((UpstreamId::new(row.text(0)?), kind));
            }
        }
        Ok(kinds)
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Self::Output {
        model.marked_kinds()
    }
}

async fn read<T: Tx>(tx: &mut T, object: &ObjectId) -> Result<Label, StoreError> {
    let identity = identity(object);
    let rows = tx.query(statement::OBJECT, &columns(object, &identity).map(Value::Text)).await?;
    match rows.first() {
        Some(row) => label(row.bits(0)?, rows.iter().map(|row| Ok((row.text(1)?, row.text(2)?)))),
        None => Ok(Label::bottom()),
    }
}

fn columns<'a>(object: &'a ObjectId, identity: &'a str) -> [&'a str; 3] {
    [object.upstream.as_str(), object.kind.as_str(), identity]
}

/// The longest identity that is stored as it is: an index entry of PostgreSQL holds little more than 2 KiB.
const LONGEST: usize = 512;

/// What stands for an object in the store: its identity, or the digest of a long one.
fn identity(object: &ObjectId) -> Cow<'_, str> {
    if object.identity.len() <= LONGEST {
        return Cow::Borrowed(&object.identity);
    }
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, object.identity.as_bytes());
    Cow::Owned(format!("sha256:{}", URL_SAFE_NO_PAD.encode(digest)))
}
