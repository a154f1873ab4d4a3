//! What is said about marks, in the plainest words.

use std::collections::BTreeMap;

use highwater_core::id::UpstreamId;
use highwater_marks::Mark;

use super::Model;
use crate::marks::merged;
use crate::operation::model::{
    Changed, ClearMarks, FAMILIES, LeaveMarks, Left, NewMarks, ROOM, ROOM_FOR_PRINTS, ReadMarks, TakeBack,
    pushed_out, wide,
};

/// Every mark, and of each server how often its marks have changed and how often some of them went.
#[derive(Clone, Debug, Default)]
pub(super) struct ModelMarks {
    marks: BTreeMap<String, (Mark, i64)>,
    servers: BTreeMap<UpstreamId, (i64, i64)>,
}

// === impl ModelMarks ===

impl ModelMarks {
    fn change(&mut self, upstream: &UpstreamId, gone: bool) -> (i64, i64) {
        let (seq, generation) = self.servers.entry(upstream.clone()).or_default();
        *seq += 1;
        *generation += i64::from(gone);
        (*seq, *generation)
    }

    fn leave(&mut self, mark: &Mark, seq: i64) -> (Mark, Option<Mark>) {
        let before = self.marks.get(&*mark.id).map(|(mark, _)| mark.clone());
        let now = merged(before.as_ref(), mark);
        self.marks.insert(now.id.to_string(), (now.clone(), seq));
        (now, before)
    }
}

// === impl Model ===

impl Model {
    pub(crate) fn leave_marks(&mut self, asked: &LeaveMarks) -> Left {
        let all = &mut self.marks;
        let (seq, generation) = all.change(&asked.upstream, false);
        let now: Vec<_> = asked.marks.iter().map(|mark| all.leave(mark, seq)).collect();
        let mut left = Left { seq, generation, now, gone: Vec::new(), instead: Vec::new() };
        for family in FAMILIES {
            let Some(by) =
                asked.marks.iter().find(|mark| family.contains(&mark.thing.kind)).map(|mark| &mark.by)
            else {
                continue;
            };
            let mut held: Vec<_> = all
                .marks
                .values()
                .filter(|(mark, _)| {
                    mark.by.session == by.session
                        && mark.thing.upstream == asked.upstream
                        && family.contains(&mark.thing.kind)
                })
                .cloned()
                .collect();
            let prints: usize = held.iter().map(|(mark, _)| mark.thing.prints.count()).sum();
            if held.len() <= ROOM && prints <= ROOM_FOR_PRINTS {
                continue;
            }
            held.sort_by(|(one, a), (other, b)| (one.by.at, a, &one.id).cmp(&(other.by.at, b, &other.id)));
            let mut instead = BTreeMap::new();
            for (mark, _) in held.iter().take(pushed_out(held.len())) {
                let (wide, _) = all.leave(&wide(mark), seq);
                instead.insert(wide.id.to_string(), wide);
                all.marks.remove(&*mark.id);
                left.gone.push(mark.id.to_string());
            }
            left.instead.extend(instead.into_values());
        }
        if !left.gone.is_empty()
            && let Some((_, generation)) = all.servers.get_mut(&asked.upstream)
        {
            *generation += 1;
            left.generation = *generation;
        }
        left
    }

    pub(crate) fn take_back(&mut self, asked: &TakeBack) -> Option<(i64, i64)> {
        if self.marks.marks.get(&asked.id).is_none_or(|(_, seq)| *seq != asked.seq) {
            self.marks.change(&asked.upstream, false);
            return None;
        }
        let (seq, generation) = self.marks.change(&asked.upstream, true);
        match &asked.before {
            Some(before) => self.marks.marks.insert(asked.id.clone(), (before.clone(), seq)),
            None => self.marks.marks.remove(&asked.id),
        };
        Some((generation, seq))
    }

    pub(crate) fn read_marks(&self, asked: &ReadMarks) -> NewMarks {
        let Some((seq, generation)) = self.marks.servers.get(&asked.upstream).copied() else {
            return NewMarks { all: true, ..NewMarks::default() };
        };
        let all = generation != asked.generation;
        let since = if all { -1 } else { asked.seq };
        let marks = self.marks.marks.values();
        let marks = marks.filter(|(mark, seq)| mark.thing.upstream == asked.upstream && *seq > since);
        NewMarks { seq, generation, all, marks: marks.cloned().collect() }
    }

    pub(crate) fn all_marks(&self) -> Vec<(UpstreamId, NewMarks)> {
        let all = |upstream: &UpstreamId| {
            let copy = ReadMarks { upstream: upstream.clone(), seq: 0, generation: -1 };
            (upstream.clone(), self.read_marks(&copy))
        };
        self.marks.servers.keys().map(all).collect()
    }

    pub(crate) fn clear_marks(&mut self, asked: &ClearMarks) -> Changed {
        let found: Vec<Mark> = asked
            .what
            .marks()
            .filter_map(|id| self.marks.marks.get(id).map(|(mark, _)| mark.clone()))
            .collect();
        let mut servers: BTreeMap<UpstreamId, (i64, i64)> =
            found.iter().map(|mark| (mark.thing.upstream.clone(), (0, 0))).collect();
        for (upstream, change) in &mut servers {
            let (seq, generation) = self.marks.change(upstream, true);
            *change = (generation, seq);
        }
        let mut cleared = Vec::new();
        for mark in found {
            // One that is asked for twice is gone the second time.
            if !self.marks.marks.contains_key(&*mark.id) {
                continue;
            }
            let Some(left) = asked.what.leaves(&mark) else { continue };
            self.marks.marks.remove(&*mark.id);
            if let (Some(left), Some((_, seq))) = (&left, servers.get(&mark.thing.upstream)) {
                self.marks.marks.insert(left.id.to_string(), (left.clone(), *seq));
            }
            cleared.push((mark, left));
        }
        (cleared, servers)
    }
}
