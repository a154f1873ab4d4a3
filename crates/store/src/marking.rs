//! Leaving marks on what is written, and meeting them when it is read.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use highwater_core::id::{Principal, UpstreamId};
use highwater_core::label::Label;
use highwater_core::session::Doubt;
use highwater_marks::{Mark, Name, PrintKey, ReadPrints, Thing, Writer};

use crate::backend::Backend;
use crate::marks::{MarkQuery, MetMarks, by_server, mark_id, merged};
use crate::operation::{ClearMarks, Clearing, EnsurePrintKey, LeaveMarks, ReadAllMarks, ReadMarks, TakeBack};
use crate::random::{random_bytes, random_id};
use crate::{Store, StoreError, clock};

/// The most marks that one call may leave.
pub const MOST_MARKS: usize = 1024;

/// Proof that what is about to be written is marked. Only the store can make it.
///
/// ```compile_fail
/// use highwater_store::Marked;
/// let forged = Marked { undo: Vec::new() };
/// ```
#[derive(Debug, Default)]
pub struct Marked {
    /// What to do if nothing was written after all.
    undo: Vec<TakeBack>,
}

/// What a mark was before one call left its own there.
#[derive(Debug, PartialEq, Eq)]
pub enum BeforeOwn {
    /// The call has nothing to do with it.
    AsItIs,
    /// There was none.
    Nothing,
    /// It said this.
    Said(Box<Label>),
}

/// What a person did to marks.
#[derive(Debug)]
pub struct Cleared {
    /// The marks as they were.
    pub marks: Vec<Mark>,
}

// === impl Marked ===

impl Marked {
    /// What a mark was before these were left.
    pub fn before(&self, id: &str) -> BeforeOwn {
        match self.undo.iter().find(|undo| undo.id == id) {
            None => BeforeOwn::AsItIs,
            Some(TakeBack { before: None, .. }) => BeforeOwn::Nothing,
            Some(TakeBack { before: Some(mark), .. }) => BeforeOwn::Said(Box::new(mark.label.clone())),
        }
    }

    /// Whether nothing was left.
    pub fn is_empty(&self) -> bool {
        self.undo.is_empty()
    }
}

// === impl Store ===

impl Store {
    /// The key of this installation's fingerprints.
    pub fn print_key(&self) -> &PrintKey {
        &self.0.print_key
    }

    /// Marks things before they are written, or handles before they are given out.
    pub async fn leave(&self, things: Vec<Thing>, label: &Label, by: &Writer) -> Result<Marked, StoreError> {
        let mut marked = Marked::default();
        if things.len() > MOST_MARKS {
            return Err(StoreError::TooMany { asked: things.len(), most: MOST_MARKS });
        }
        let mut marks: Vec<Mark> = things
            .into_iter()
            .map(|thing| Mark {
                id: mark_id(&thing, &by.session),
                thing,
                label: label.clone(),
                by: by.clone(),
            })
            .collect();
        marks.sort_by(|one, other| one.id.cmp(&other.id));
        marks.dedup_by(|later, earlier| {
            let same = later.id == earlier.id;
            if same {
                *earlier = merged(Some(earlier), later);
            }
            same
        });
        for (upstream, mut marks) in by_server(marks) {
            // Where others write, too, a person may have taken off what is known here to be left.
            marks.retain(|mark| self.is_shared() || !self.is_left(mark));
            if marks.is_empty() {
                continue;
            }
            let left = self.0.perform(LeaveMarks { upstream: upstream.clone(), marks }).await?;
            self.0.marks.add(&upstream, &left);
            marked.undo.extend(left.now.into_iter().map(|(mark, before)| TakeBack {
                id: mark.id.to_string(),
                upstream: upstream.clone(),
                seq: left.seq,
                before,
            }));
        }
        Ok(marked)
    }

    fn is_left(&self, mark: &Mark) -> bool {
        self.0.marks.get(&mark.thing.upstream, &mark.id).is_some_and(|known| {
            known.label.covers(&mark.label) && known.thing.prints.cover(&mark.thing.prints)
        })
    }

    /// Takes marks back, because nothing was written. What others have added to since stays.
    pub async fn take_back(&self, marked: Marked) -> Result<(), StoreError> {
        for undo in marked.undo {
            let (id, upstream, before) = (undo.id.clone(), undo.upstream.clone(), undo.before.clone());
            if let Some(change) = self.0.perform(undo).await? {
                self.0.marks.put_back(&upstream, change, [(id, before)]);
            }
        }
        Ok(())
    }

    /// Whether something of these servers may be marked. Where others write to the store, as well, only they know.
    pub fn may_be_marked(&self, servers: &[UpstreamId]) -> bool {
        self.is_shared() || self.0.marks.has_any(servers)
    }

    /// The marks that a reading meets, as they were when the store was last heard of. Others may have left some since.
    pub fn last_known_met(&self, asked: &MarkQuery<'_>) -> MetMarks {
        if self.0.marks.has_any(asked.servers) { self.0.marks.met(asked) } else { MetMarks::default() }
    }

    /// The marks that a reading meets, where no store has to be asked.
    pub fn known_met(&self, asked: &MarkQuery<'_>) -> Option<MetMarks> {
        (!self.is_shared()).then(|| self.last_known_met(asked))
    }

    /// The marks that a reading meets. Ask after the reply has come: what it can contain was marked before.
    pub async fn met(&self, asked: &MarkQuery<'_>) -> Result<MetMarks, StoreError> {
        if self.is_shared() {
            for upstream in asked.servers {
                self.read_marks(upstream).await?;
            }
        }
        Ok(self.last_known_met(asked))
    }

    async fn read_marks(&self, upstream: &UpstreamId) -> Result<(), StoreError> {
        let (seq, generation) = self.0.marks.version(upstream);
        let new = self.0.perform(ReadMarks { upstream: upstream.clone(), seq, generation }).await?;
        self.0.marks.adopt(upstream, new);
        Ok(())
    }

    /// Learns the wording of a reply that nobody has to doubt, and that bears no mark.
    pub fn learn_wording(&self, servers: &[UpstreamId], text: &ReadPrints) {
        self.0.marks.learn(servers, text);
    }

    /// Every mark, those last left first.
    pub async fn all_marks(&self) -> Result<Vec<Arc<Mark>>, StoreError> {
        if self.is_shared() {
            for (upstream, all) in self.0.perform(ReadAllMarks).await?.servers {
                self.0.marks.adopt(&upstream, all);
            }
        }
        let mut marks = self.0.marks.all();
        marks.sort_by(|one, other| (other.by.at, &one.id).cmp(&(one.by.at, &other.id)));
        Ok(marks)
    }

    /// Takes marks off by a person's word, which is kept. What was not there is not in the answer.
    pub async fn clear_marks(
        &self,
        ids: Vec<String>,
        person: &str,
        reason: &str,
    ) -> Result<Cleared, StoreError> {
        self.clear(Clearing::Marks(ids), person, reason).await
    }

    /// Takes doubts off files by a person's word, which is kept: what was private of them stays so. A doubt that is not the
    /// same any more stays, too.
    pub async fn clear_doubts(
        &self,
        doubts: Vec<Doubt>,
        person: &str,
        reason: &str,
    ) -> Result<Cleared, StoreError> {
        self.clear(Clearing::Doubts(doubts), person, reason).await
    }

    async fn clear(&self, what: Clearing, person: &str, reason: &str) -> Result<Cleared, StoreError> {
        let operation = ClearMarks {
            id: random_id("clr_")?,
            what,
            person: person.to_owned(),
            reason: reason.to_owned(),
            now: clock::now(),
        };
        let (marks, servers) = self.0.perform(operation).await?;
        for (upstream, change) in servers {
            let of_server = marks.iter().filter(|(mark, _)| mark.thing.upstream == upstream);
            let now: Vec<_> = of_server.map(|(mark, now)| (mark.id.to_string(), now.clone())).collect();
            self.0.marks.put_back(&upstream, change, now);
        }
        Ok(Cleared { marks: marks.into_iter().map(|(mark, _)| mark).collect() })
    }

    /// The doubts about files of these servers, in these folders or anywhere.
    pub async fn doubts(
        &self,
        servers: &[UpstreamId],
        folders: Option<&[Name]>,
        reader: &Principal,
    ) -> Result<Vec<Doubt>, StoreError> {
        if self.is_shared() {
            for upstream in servers {
                self.read_marks(upstream).await?;
            }
        }
        Ok(self.last_known_doubts(servers, folders, reader))
    }

    /// The same as they were when the store was last heard of.
    pub fn last_known_doubts(
        &self,
        servers: &[UpstreamId],
        folders: Option<&[Name]>,
        reader: &Principal,
    ) -> Vec<Doubt> {
        self.0.marks.doubts(servers, folders, reader)
    }
}

/// The key of fingerprints, with the database, so that gateways that share one know each other's.
pub(crate) async fn print_key(backend: &Backend, known: Option<String>) -> Result<PrintKey, StoreError> {
    let stored = match known {
        Some(known) => known,
        None => {
            let drawn = URL_SAFE_NO_PAD.encode(random_bytes::<24>()?);
            backend.perform(EnsurePrintKey(drawn)).await?
        }
    };
    let bytes = URL_SAFE_NO_PAD.decode(stored).ok().and_then(|bytes| <[u8; 24]>::try_from(bytes).ok());
    let bytes = bytes.ok_or(StoreError::Foreign { what: "a key of fingerprints that is none" })?;
    Ok(PrintKey::new(&bytes))
}
