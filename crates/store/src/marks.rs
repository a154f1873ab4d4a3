//! The marks on stored things as they are known here.
//!
//! All marks of a server are held in memory. On a single node they are the truth; where gateways share a store, what has
//! changed is read before they are looked at, which is one row where nothing has.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use highwater_core::id::{Principal, SessionKey, UpstreamId};
use highwater_core::label::Label;
use highwater_core::session::Doubt;
use highwater_marks::{Mark, MarkIndex, MarkKind, Name, ReadPrints, Reading, Thing, doubt_of};

use crate::operation::{Left, NewMarks};

/// How many marks that are gone are remembered, lest an answer that is late bring one back.
const GONE: usize = 4096;

/// What a reading asks for.
pub struct MarkQuery<'a> {
    /// The server that is read from, and those that keep their things with it.
    pub servers: &'a [UpstreamId],
    /// What is read.
    pub reading: &'a Reading,
    /// Who reads.
    pub reader: &'a Principal,
    /// Makes the fingerprints of what came back, where they are needed.
    pub text: &'a (dyn Fn() -> ReadPrints + Sync),
    /// What whoever reads holds already, where nothing but what is new to it matters: then the text is not looked at if no
    /// mark could add anything by it.
    pub held: Option<&'a Label>,
}

/// The marks that a reading meets.
#[derive(Debug, Default)]
pub struct MetMarks {
    /// Each, with what it says to who reads.
    pub marks: Vec<(Arc<Mark>, Label)>,
    /// The fingerprints of what came back, where they were needed.
    pub text: Option<ReadPrints>,
    /// What the text may bear that was not looked at, because whoever reads holds all of it.
    pub held: Label,
}

/// The marks known here.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    /// The servers that were ever marked. Most are not, which costs a look and no lock.
    servers: ArcSwap<HashSet<UpstreamId>>,
    known: Mutex<HashMap<UpstreamId, MarkCache>>,
}

#[derive(Debug)]
struct MarkCache {
    seq: i64,
    generation: i64,
    index: MarkIndex,
    /// Of each mark the number of the change that it is of.
    changes: HashMap<Arc<str>, i64>,
    /// Marks that are gone, with the change by which they went.
    gone: HashMap<String, i64>,
}

// === impl MetMarks ===

impl MetMarks {
    /// What all of them say together.
    pub fn label(&self) -> Label {
        let mut label = Label::bottom();
        self.marks.iter().for_each(|(_, said)| label.join(said));
        label
    }
}

// === impl Marks ===

impl Marks {
    /// Whether some of the servers may bear marks, as far as is known here.
    pub(crate) fn has_any(&self, servers: &[UpstreamId]) -> bool {
        let marked = self.servers.load();
        !marked.is_empty() && servers.iter().any(|server| marked.contains(server))
    }

    /// Which marks of a server are known here: the number of the last change, and the generation.
    pub(crate) fn version(&self, upstream: &UpstreamId) -> (i64, i64) {
        self.known().get(upstream).map_or((0, -1), |known| (known.seq, known.generation))
    }

    /// The marks that a reading meets.
    pub(crate) fn met(&self, asked: &MarkQuery<'_>) -> MetMarks {
        let mut held = Label::bottom();
        let wanted = {
            let mut known = self.known();
            let mut wanted = false;
            for server in asked.servers {
                let Some(known) = known.get_mut(server) else { continue };
                if known.index.wants_text(asked.reading) {
                    wanted = true;
                    held.join(&known.index.said_by_content(asked.reader));
                }
            }
            wanted
        };
        let is_new = asked.held.is_none_or(|label| !label.includes(&held));
        // Others need not wait while a long text is looked at.
        let text = (wanted && is_new).then(|| (asked.text)());
        if text.is_some() {
            held = Label::bottom();
        }
        let known = self.known();
        let indexes = asked.servers.iter().filter_map(|server| known.get(server));
        let met = |known: &MarkCache| known.index.met_by(asked.reading, text.as_ref(), asked.reader);
        MetMarks { marks: indexes.flat_map(met).collect(), text, held }
    }

    /// The doubts about files of these servers, in these folders or anywhere.
    pub(crate) fn doubts(
        &self,
        servers: &[UpstreamId],
        folders: Option<&[Name]>,
        reader: &Principal,
    ) -> Vec<Doubt> {
        if !self.has_any(servers) {
            return Vec::new();
        }
        let known = self.known();
        let marks =
            servers.iter().filter_map(|server| known.get(server)).flat_map(|known| known.index.iter());
        let mut doubts: Vec<_> = marks.filter_map(|mark| doubt_of(mark, folders, reader)).collect();
        doubts.sort();
        doubts
    }

    /// Learns the wording of a reply that nobody has to doubt.
    pub(crate) fn learn(&self, servers: &[UpstreamId], text: &ReadPrints) {
        let mut known = self.known();
        for server in servers {
            if let Some(known) = known.get_mut(server) {
                known.index.learn(text);
            }
        }
    }

    /// The mark as it is known here.
    pub(crate) fn get(&self, upstream: &UpstreamId, id: &str) -> Option<Arc<Mark>> {
        self.known().get(upstream)?.index.get(id).cloned()
    }

    /// Every mark that is known here.
    pub(crate) fn all(&self) -> Vec<Arc<Mark>> {
        self.known().values().flat_map(|known| known.index.iter().cloned()).collect()
    }

    /// Takes over what was read.
    pub(crate) fn adopt(&self, upstream: &UpstreamId, new: NewMarks) {
        if new.seq > 0 {
            self.note_server(upstream);
        }
        let mut all = self.known();
        let known = all.entry(upstream.clone()).or_insert_with(MarkCache::new);
        if new.generation < known.generation {
            // What was read is older than what is known.
            return;
        }
        if new.all && new.generation > known.generation {
            let stale: Vec<_> = known.changes.drain().map(|(id, _)| id).collect();
            stale.iter().for_each(|id| known.index.remove(id));
        }
        known.generation = new.generation;
        known.seq = known.seq.max(new.seq);
        for (mark, seq) in new.marks {
            known.insert(mark, seq);
        }
    }

    /// Takes over what was left.
    pub(crate) fn add(&self, upstream: &UpstreamId, left: &Left) {
        self.note_server(upstream);
        let mut all = self.known();
        let known = all.entry(upstream.clone()).or_insert_with(MarkCache::new);
        for mark in left.now.iter().map(|(mark, _)| mark).chain(&left.instead) {
            known.insert(mark.clone(), left.seq);
        }
        for id in &left.gone {
            known.remove(id, left.seq);
        }
        known.advance(left.seq, left.generation, !left.gone.is_empty());
    }

    /// Takes over that marks are gone, or as they were before.
    pub(crate) fn put_back(
        &self,
        upstream: &UpstreamId,
        (generation, seq): (i64, i64),
        marks: impl IntoIterator<Item = (String, Option<Mark>)>,
    ) {
        let mut all = self.known();
        let Some(known) = all.get_mut(upstream) else { return };
        for (id, before) in marks {
            known.remove(&id, seq - 1);
            if let Some(before) = before {
                known.insert(before, seq);
            } else {
                known.remove(&id, seq);
            }
        }
        known.advance(seq, generation, true);
    }

    fn note_server(&self, upstream: &UpstreamId) {
        if !self.servers.load().contains(upstream) {
            self.servers.rcu(|servers| {
                let mut all = HashSet::clone(servers);
                all.insert(upstream.clone());
                all
            });
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<UpstreamId, MarkCache>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl MarkCache ===

impl MarkCache {
    fn new() -> Self {
        Self {
            seq: 0,
            generation: -1,
            index: MarkIndex::default(),
            changes: HashMap::new(),
            gone: HashMap::new(),
        }
    }

    /// Notes that a change of our own is known, if it is the next one: of those between, others made, nothing is known.
    fn advance(&mut self, seq: i64, generation: i64, gone: bool) {
        if seq == self.seq + 1 && generation == self.generation + i64::from(gone) {
            (self.seq, self.generation) = (seq, generation);
        }
    }

    /// Takes a mark over, unless something newer is known of it.
    fn insert(&mut self, mark: Mark, seq: i64) {
        let is_old = self.changes.get(&mark.id).is_some_and(|known| *known > seq)
            || self.gone.get(&*mark.id).is_some_and(|gone| *gone >= seq);
        if !is_old {
            self.changes.insert(Arc::clone(&mark.id), seq);
            self.index.insert(Arc::new(mark));
        }
    }

    fn remove(&mut self, id: &str, seq: i64) {
        if self.changes.get(id).is_some_and(|known| *known > seq) {
            return;
        }
        self.index.remove(id);
        self.changes.remove(id);
        if self.gone.len() >= GONE {
            self.gone.clear();
        }
        self.gone.insert(id.to_owned(), seq);
    }
}

/// What a mark is called: the same for everything that one conversation leaves on one thing.
pub(crate) fn mark_id(thing: &Thing, session: &SessionKey) -> Arc<str> {
    let mut context = aws_lc_rs::digest::Context::new(&aws_lc_rs::digest::SHA256);
    let prints = if thing.kind == MarkKind::Content { thing.prints.to_text() } else { String::new() };
    for part in [thing.upstream.as_str(), thing.kind.as_str(), &thing.name, session.as_str(), &prints] {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part.as_bytes());
    }
    let digest = context.finish();
    let short = digest.as_ref().get(..12).unwrap_or_default();
    format!("mrk_{}", URL_SAFE_NO_PAD.encode(short)).into()
}

/// A mark with another of the same thing in it.
pub(crate) fn merged(before: Option<&Mark>, mark: &Mark) -> Mark {
    let Some(before) = before else { return mark.clone() };
    let mut merged = before.clone();
    merged.label.join(&mark.label);
    merged.thing.prints.add(&mark.thing.prints);
    merged.by.decision = mark.by.decision.clone();
    merged
}

/// Marks by the server that they are on.
pub(crate) fn by_server(marks: Vec<Mark>) -> BTreeMap<UpstreamId, Vec<Mark>> {
    let mut servers: BTreeMap<UpstreamId, Vec<Mark>> = BTreeMap::new();
    for mark in marks {
        servers.entry(mark.thing.upstream.clone()).or_default().push(mark);
    }
    servers
}
