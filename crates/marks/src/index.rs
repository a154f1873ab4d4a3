//! The marks on the things of one server, and which of them a reading meets.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::BuildHasherDefault;
use std::sync::Arc;

use highwater_core::id::Principal;
use highwater_core::label::Label;

use super::print::AsItIs;
use super::{Mark, MarkKind, Name, Named, PrintSet, ReadPrints, left_in_content};

/// How many fingerprints of what is known to be harmless are kept per server. What is not kept counts.
const MOST_KNOWN: usize = 64 * 1024;

/// The marks of one server.
#[derive(Debug, Default)]
pub struct MarkIndex {
    marks: HashMap<Arc<str>, Entry>,
    /// By the steps of their names.
    steps: HashMap<Box<str>, BTreeSet<Arc<str>>>,
    /// By the last step alone. Of two names that meet, the last step of one is a step of the other.
    last_steps: HashMap<Box<str>, BTreeSet<Arc<str>>>,
    /// By their fingerprints.
    prints: HashMap<u64, Vec<Arc<str>>, BuildHasherDefault<AsItIs>>,
    /// Those that are asked for at every reading.
    wide: BTreeSet<Arc<str>>,
    /// How many are on contents alone.
    contents: usize,
    /// What trusted replies have shown: wording that says nothing of who wrote it.
    known: PrintSet,
    /// By who left them: what the marks say in all that are known by their content. At least that: what is gone is
    /// forgotten when somebody asks.
    said: HashMap<Principal, Label>,
    /// Whether some of that is gone.
    is_stale: bool,
}

#[derive(Debug)]
struct Entry {
    mark: Arc<Mark>,
    /// What an object is called.
    named: Named,
}

/// What is read, as far as a call tells.
#[derive(Debug, Default)]
pub struct Reading {
    /// What it names.
    pub named: Named,
    /// The resource that it reads.
    pub resource: Option<Name>,
    /// The task that it asks after.
    pub task: Option<Arc<str>>,
}

/// How a reading met a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Met {
    ByName,
    ByContent,
}

// === impl Reading ===

impl Reading {
    /// Whether it says by no name what it reads.
    fn is_nameless(&self) -> bool {
        self.named.is_empty()
    }
}

// === impl MarkIndex ===

impl MarkIndex {
    /// Whether there is no mark.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// How many marks there are.
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// The mark of this id.
    pub fn get(&self, id: &str) -> Option<&Arc<Mark>> {
        self.marks.get(id).map(|entry| &entry.mark)
    }

    /// Every mark.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Mark>> {
        self.marks.values().map(|entry| &entry.mark)
    }

    /// Takes a mark in, in place of the one of the same id.
    pub fn insert(&mut self, mark: Arc<Mark>) {
        self.take_out(&mark.id);
        let id = Arc::clone(&mark.id);
        let named = match mark.thing.kind {
            MarkKind::Object => Named::from_text(&mark.thing.name),
            _ => Named::default(),
        };
        for Step { step, is_last } in steps_of(&mark, &named) {
            if is_last {
                self.last_steps.entry(step.clone()).or_default().insert(Arc::clone(&id));
            }
            self.steps.entry(step).or_default().insert(Arc::clone(&id));
        }
        for print in mark.thing.prints.all().collect::<HashSet<u64>>() {
            self.prints.entry(print).or_default().push(Arc::clone(&id));
        }
        self.note_said(&mark);
        match mark.thing.kind {
            MarkKind::Tool | MarkKind::Links | MarkKind::Server => {
                self.wide.insert(Arc::clone(&id));
            }
            MarkKind::Content => self.contents += 1,
            MarkKind::Object | MarkKind::Resource | MarkKind::Task => {}
        }
        self.marks.insert(id, Entry { mark, named });
    }

    /// Forgets a mark.
    pub fn remove(&mut self, id: &str) {
        self.take_out(id);
        self.is_stale = true;
    }

    fn take_out(&mut self, id: &str) {
        let Some(Entry { mark, named }) = self.marks.remove(id) else { return };
        for Step { step, .. } in steps_of(&mark, &named) {
            forget(&mut self.steps, &step, id);
            forget(&mut self.last_steps, &step, id);
        }
        for print in mark.thing.prints.all() {
            if let Some(ids) = self.prints.get_mut(&print) {
                ids.retain(|other| &**other != id);
                if ids.is_empty() {
                    self.prints.remove(&print);
                }
            }
        }
        self.wide.remove(id);
        if mark.thing.kind == MarkKind::Content {
            self.contents -= 1;
        }
    }

    fn note_said(&mut self, mark: &Mark) {
        if !mark.thing.prints.is_empty() {
            let said = self.said.entry(mark.by.principal.clone()).or_default();
            said.join(&left_in_content(&mark.label));
        }
    }

    /// What a text may bear at most, whichever marks it meets by its content.
    pub fn said_by_content(&mut self, reader: &Principal) -> Label {
        if self.is_stale {
            self.said.clear();
            let marks: Vec<_> = self.marks.values().map(|entry| Arc::clone(&entry.mark)).collect();
            marks.iter().for_each(|mark| self.note_said(mark));
            self.is_stale = false;
        }
        let mut all = Label::bottom();
        for (writer, said) in &self.said {
            if writer == reader {
                all.join(said);
            } else {
                all.join(&said.of_another());
            }
        }
        all
    }

    /// Whether it takes the text of the reply to say which marks a reading meets.
    pub fn wants_text(&self, reading: &Reading) -> bool {
        self.contents > 0 || reading.is_nameless() && !self.prints.is_empty()
    }

    /// The marks that a reading meets, with what each says to this reader. `text` are the fingerprints of the reply,
    /// where they are wanted.
    pub fn met_by(
        &self,
        reading: &Reading,
        text: Option<&ReadPrints>,
        reader: &Principal,
    ) -> Vec<(Arc<Mark>, Label)> {
        if self.is_empty() {
            return Vec::new();
        }
        let mut met = HashMap::new();
        let mut candidates = BTreeSet::new();
        for name in reading.named.names().chain(&reading.resource) {
            let steps = name.steps();
            candidates.extend(steps.iter().filter_map(|step| self.last_steps.get(*step)).flatten());
            candidates.extend(steps.last().and_then(|last| self.steps.get(*last)).into_iter().flatten());
        }
        // A name without a step may be anything.
        if reading.named.names().chain(&reading.resource).any(|name| name.steps().is_empty()) {
            candidates.extend(self.marks.keys());
        } else if let Some(unnamed) = self.steps.get("") {
            candidates.extend(unnamed);
        }
        if let Some(task) = reading.task.as_deref().and_then(|task| self.steps.get(&*task_step(task))) {
            candidates.extend(task);
        }
        for id in candidates.into_iter().chain(&self.wide) {
            let Some(entry) = self.marks.get(id) else { continue };
            if self.is_met_by_name(entry, reading) {
                met.insert(id, Met::ByName);
            }
        }
        for id in text.map(|text| self.met_by_content(reading, text)).unwrap_or_default() {
            met.entry(id).or_insert(Met::ByContent);
        }
        let mut met: Vec<_> = met
            .into_iter()
            .filter_map(|(id, how)| {
                let mark = &self.marks.get(id)?.mark;
                let label = mark.label_for(reader);
                let label = match how {
                    Met::ByName => label,
                    Met::ByContent if mark.by.principal == *reader => left_in_content(&label),
                    Met::ByContent => left_in_content(&mark.label).of_another(),
                };
                Some((Arc::clone(mark), label))
            })
            .collect();
        met.sort_by(|(one, _), (other, _)| one.id.cmp(&other.id));
        met
    }

    fn is_met_by_name(&self, entry: &Entry, reading: &Reading) -> bool {
        let Entry { mark, named } = entry;
        match mark.thing.kind {
            MarkKind::Object => {
                !reading.is_nameless() && named.meets(&reading.named)
                    || reading.resource.as_ref().is_some_and(|uri| named.meets_resource(uri))
            }
            MarkKind::Content => false,
            MarkKind::Resource => {
                let name = Name::new(&mark.thing.name);
                reading.resource.as_ref().is_some_and(|uri| name.meets(uri))
            }
            MarkKind::Task => reading.task.as_ref() == Some(&mark.thing.name),
            MarkKind::Tool | MarkKind::Server => true,
            MarkKind::Links => reading.resource.is_some() || reading.task.is_some(),
        }
    }

    /// The marks whose content is in the text.
    fn met_by_content(&self, reading: &Reading, text: &ReadPrints) -> Vec<&Arc<str>> {
        let read = text.without(&self.known);
        let mut candidates: Vec<&Arc<str>> =
            text.all().filter_map(|print| self.prints.get(&print)).flatten().collect();
        candidates.sort_unstable();
        candidates.dedup();
        candidates.retain(|id| {
            self.marks.get(*id).is_some_and(|Entry { mark, .. }| {
                // Who says what he reads is believed to read that.
                let asked = mark.thing.kind == MarkKind::Content || reading.is_nameless();
                asked && mark.thing.prints.are_in(&read)
            })
        });
        candidates
    }

    /// Learns the wording of a reply that nobody has to doubt. What is part of a mark is not learnt: it may have come
    /// from there.
    pub fn learn(&mut self, text: &ReadPrints) {
        for print in text.all() {
            if self.known.len() < MOST_KNOWN && !self.prints.contains_key(&print) {
                self.known.insert(print);
            }
        }
    }
}

/// A step of a name under which a mark is found.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Step {
    step: Box<str>,
    is_last: bool,
}

/// Under which steps a mark is found.
fn steps_of(mark: &Mark, named: &Named) -> BTreeSet<Step> {
    let of_name = |name: &Name| -> Vec<Step> {
        let steps = name.steps();
        let last = steps.len().saturating_sub(1);
        let step = |(at, step): (usize, &&str)| Step { step: (*step).into(), is_last: at == last };
        match steps.is_empty() {
            true => vec![Step { step: "".into(), is_last: true }],
            false => steps.iter().enumerate().map(step).collect(),
        }
    };
    match mark.thing.kind {
        MarkKind::Object => named.names().flat_map(of_name).collect(),
        MarkKind::Resource => of_name(&Name::new(&mark.thing.name)).into_iter().collect(),
        MarkKind::Task => [Step { step: task_step(&mark.thing.name), is_last: true }].into(),
        MarkKind::Content | MarkKind::Tool | MarkKind::Links | MarkKind::Server => BTreeSet::new(),
    }
}

fn forget(all: &mut HashMap<Box<str>, BTreeSet<Arc<str>>>, step: &str, id: &str) {
    if let Some(ids) = all.get_mut(step) {
        ids.remove(id);
        if ids.is_empty() {
            all.remove(step);
        }
    }
}

/// A task's id among the steps: no step of a name has a slash.
fn task_step(id: &str) -> Box<str> {
    format!("/{id}").into()
}
