//! How many connections of clients may be open. When there is no room, the oldest gives way that has not sent a head; then
//! one that nobody was let in on; then the one that has been open longest of those that do nothing.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Resource, getrlimit};

use crate::front::server::Activity;

/// How many connections may be open at once, whatever the system allows.
const MAX_CONNECTIONS: usize = 4096;
/// Clients take at most one in so many of the files that may be open: connections to servers, programs and what is kept on
/// disk need the others.
const SHARE: u64 = 2;
/// Where hardly any may be open, clients are let in all the same.
const FEWEST: usize = 16;

/// The connections that are open.
#[derive(Debug)]
pub(super) struct Room {
    most: usize,
    next: AtomicU64,
    open: Mutex<BTreeMap<u64, Arc<Activity>>>,
}

/// A connection's place, for as long as this lives.
#[derive(Debug)]
pub(super) struct Place {
    room: Arc<Room>,
    number: u64,
}

/// Who gives way before whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Headless,
    Unknown,
    Idle,
}

// === impl Room ===

impl Room {
    /// As many as the system lets us have, without what is kept for others.
    pub(super) fn new() -> Arc<Self> {
        let files = getrlimit(Resource::Nofile).current;
        let share = files.and_then(|files| usize::try_from(files / SHARE).ok());
        Self::of(share.map_or(MAX_CONNECTIONS, |share| share.clamp(FEWEST, MAX_CONNECTIONS)))
    }

    fn of(most: usize) -> Arc<Self> {
        Arc::new(Self { most, next: AtomicU64::new(0), open: Mutex::default() })
    }

    /// A place for another connection. Nothing, if all are taken by such as are at work.
    pub(super) fn enter(self: &Arc<Self>, activity: &Arc<Activity>) -> Option<Place> {
        let mut open = self.open();
        if open.len() >= self.most {
            let number = last_in_rank(&open)?;
            if let Some(gives_way) = open.remove(&number) {
                tracing::debug!("a connection gives way to another");
                gives_way.give_way.notify_one();
            }
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        open.insert(number, Arc::clone(activity));
        Some(Place { room: Arc::clone(self), number })
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Activity>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The oldest of those that give way first.
fn last_in_rank(open: &BTreeMap<u64, Arc<Activity>>) -> Option<u64> {
    let mut found: Option<(Rank, u64)> = None;
    for (number, activity) in open {
        match activity.rank() {
            Some(Rank::Headless) => return Some(*number),
            Some(rank) if found.is_none_or(|(other, _)| rank < other) => found = Some((rank, *number)),
            Some(_) | None => {}
        }
    }
    found.map(|(_, number)| number)
}

// === impl Activity ===

impl Activity {
    /// Which of those it is that may have to give way; nothing while it is at work.
    fn rank(&self) -> Option<Rank> {
        if self.busy.load(Ordering::Relaxed) {
            return None;
        }
        Some(match (self.begun.load(Ordering::Relaxed), self.known.load(Ordering::Relaxed)) {
            (0, _) => Rank::Headless,
            (_, false) => Rank::Unknown,
            (_, true) => Rank::Idle,
        })
    }
}

// === impl Place ===

impl Drop for Place {
    fn drop(&mut self) {
        self.room.open().remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    fn activity(begun: u64, busy: bool, known: bool) -> Arc<Activity> {
        Arc::new(Activity {
            begun: AtomicU64::new(begun),
            busy: AtomicBool::new(busy),
            known: AtomicBool::new(known),
            ..Activity::default()
        })
    }

    #[tokio::test]
    async fn who_has_sent_nothing_gives_way_first_and_who_is_at_work_never() {
        let room = Room::of(4);
        let (idle, stranger) = (activity(3, false, true), activity(1, false, false));
        let (silent, works) = (activity(0, false, false), activity(1, true, true));
        let _places: Vec<Place> =
            [&idle, &stranger, &silent, &works].map(|activity| room.enter(activity).unwrap()).into();
        for expected in [&silent, &stranger, &idle] {
            let at_work = activity(1, true, true);
            std::mem::forget(room.enter(&at_work).unwrap());
            expected.give_way.notified().await;
        }
        assert!(room.enter(&activity(0, false, false)).is_none(), "all are at work");
    }

    #[test]
    fn a_place_is_given_back() {
        let room = Room::of(1);
        for _ in 0..3 {
            drop(room.enter(&activity(1, true, true)).unwrap());
        }
    }
}
