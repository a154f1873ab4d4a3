//! Which objects are marked with what, as far as it is known here.
//!
//! Marks only rise. So what is known to be marked stays so on every replica and need not be written again;
//! that something is *not* marked is known on a single node alone.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use highwater_core::id::UpstreamId;
use highwater_core::label::Label;
use highwater_core::session::{ObjectId, ObjectKind};

/// Objects that are kept. What is dropped is read again from the store.
const KEPT: usize = 32 * 1024;

/// A kind of object of one server.
pub(crate) type MarkedKind = (UpstreamId, ObjectKind);

/// The marks known here.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    /// The kinds of which any is marked. Most servers have none, which costs a look and no lock.
    kinds: ArcSwap<HashSet<MarkedKind>>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// The whole mark of an object, or nothing.
    labels: HashMap<ObjectId, Label>,
    /// Moves with every mark: what was read before it may be too low.
    generation: u64,
}

/// What is known of some objects.
#[derive(Debug)]
pub(crate) struct Lookup {
    /// The marks that are known, joined.
    pub(crate) label: Label,
    /// Those that must be read.
    pub(crate) unknown: Vec<ObjectId>,
    generation: u64,
}

// === impl Marks ===

impl Marks {
    /// Takes over which kinds are marked.
    pub(crate) fn add_kinds(&self, kinds: impl IntoIterator<Item = MarkedKind>) {
        let _one_at_a_time = self.known();
        let mut all = HashSet::clone(&self.kinds.load());
        all.extend(kinds);
        self.kinds.store(Arc::new(all));
    }

    /// What is known of the objects.
    pub(crate) fn look_up(&self, objects: &[ObjectId]) -> Lookup {
        let kinds = self.kinds.load();
        let is_marked =
            |object: &&ObjectId| !kinds.is_empty() && kinds.contains(&(object.upstream.clone(), object.kind));
        let mut marked = objects.iter().filter(is_marked).peekable();
        let mut lookup = Lookup { label: Label::bottom(), unknown: Vec::new(), generation: 0 };
        if marked.peek().is_none() {
            return lookup;
        }
        let known = self.known();
        lookup.generation = known.generation;
        for object in marked {
            match known.labels.get(object) {
                Some(mark) => lookup.label.join(mark),
                None => lookup.unknown.push(object.clone()),
            }
        }
        lookup
    }

    /// The objects whose marks do not cover the label yet, as far as is known: in order, each once.
    pub(crate) fn uncovered(&self, objects: &[ObjectId], label: &Label) -> Vec<ObjectId> {
        let known = self.known();
        let covers = |object: &ObjectId| known.labels.get(object).is_some_and(|mark| mark.covers(label));
        let mut objects: Vec<_> = objects.iter().filter(|object| !covers(object)).cloned().collect();
        objects.sort_unstable();
        objects.dedup();
        objects
    }

    /// Keeps what was read, unless something was marked since the look-up.
    pub(crate) fn keep(&self, lookup: Lookup, marks: &[Label]) {
        let mut known = self.known();
        if known.generation == lookup.generation {
            known.make_room(lookup.unknown.len());
            known.labels.extend(lookup.unknown.into_iter().zip(marks.iter().cloned()));
        }
    }

    /// Keeps what objects are marked with after a write.
    pub(crate) fn add(&self, objects: Vec<ObjectId>, marks: &[Label]) {
        let is_new =
            |object: &&ObjectId| !self.kinds.load().contains(&(object.upstream.clone(), object.kind));
        let new: Vec<_> =
            objects.iter().filter(is_new).map(|object| (object.upstream.clone(), object.kind)).collect();
        if !new.is_empty() {
            self.add_kinds(new);
        }
        let mut known = self.known();
        known.generation += 1;
        known.make_room(objects.len());
        for (object, mark) in objects.into_iter().zip(marks) {
            known.labels.entry(object).or_default().join(mark);
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Known ===

impl Known {
    fn make_room(&mut self, coming: usize) {
        if self.labels.len() + coming > KEPT {
            self.labels.clear();
        }
    }
}
