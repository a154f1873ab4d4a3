//! The connections that are open to the page. Where there are too many, those give way that nobody has signed in on and
//! that have been quiet: a crowd of strangers keeps nobody out, it makes people wait a moment.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::{AbortHandle, JoinSet};

/// How many may be open at once. A person has a handful.
const MOST: usize = 256;

/// How long one has been quiet that may give way: longer than an answer takes.
const QUIET: Duration = Duration::from_millis(300);

/// How soon it is looked at again whether one has.
const PAUSE: Duration = Duration::from_millis(20);

/// What is noted of a connection.
#[derive(Clone)]
pub(super) struct Noted(Arc<Notes>);

struct Notes {
    opened: Instant,
    /// When something was asked or answered last, in milliseconds since then.
    heard: AtomicU64,
    /// Whether somebody who is signed in has used it.
    known: AtomicBool,
}

/// All of them, the oldest first.
#[derive(Default)]
pub(super) struct Connections {
    serving: JoinSet<()>,
    open: Vec<(AbortHandle, Noted)>,
}

// === impl Noted ===

impl Noted {
    pub(super) fn new() -> Self {
        let (heard, known) = (AtomicU64::new(0), AtomicBool::new(false));
        Self(Arc::new(Notes { opened: Instant::now(), heard, known }))
    }

    /// Notes that somebody who is signed in uses it.
    pub(super) fn is_known(&self) {
        self.0.known.store(true, Ordering::Relaxed);
    }

    /// Notes that something was asked or answered.
    pub(super) fn heard(&self) {
        let since = u64::try_from(self.0.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.0.heard.store(since, Ordering::Relaxed);
    }

    /// For how long it has been quiet; `None` if it never gives way.
    fn quiet(&self) -> Option<Duration> {
        let heard = Duration::from_millis(self.0.heard.load(Ordering::Relaxed));
        let quiet = self.0.opened.elapsed().saturating_sub(heard);
        (!self.0.known.load(Ordering::Relaxed)).then_some(quiet)
    }
}

// === impl Connections ===

impl Connections {
    pub(super) fn add(&mut self, serve: impl Future<Output = ()> + Send + 'static, noted: Noted) {
        self.open.push((self.serving.spawn(serve), noted));
    }

    /// Waits until there is room for one more, for which one that is quiet gives way.
    pub(super) async fn room(&mut self) {
        while !self.make_room() {
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn make_room(&mut self) -> bool {
        if self.open.len() < MOST {
            return true;
        }
        while self.serving.try_join_next().is_some() {}
        self.open.retain(|(handle, _)| !handle.is_finished());
        if self.open.len() < MOST {
            return true;
        }
        let quiet = self.open.iter().enumerate().filter_map(|(at, (_, noted))| Some((noted.quiet()?, at)));
        match quiet.max() {
            Some((quiet, at)) if quiet >= QUIET => {
                self.open.remove(at).0.abort();
                true
            }
            _ => false,
        }
    }

    /// Waits until all have ended.
    pub(super) async fn finished(&mut self) {
        while self.serving.join_next().await.is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn strangers_give_way_once_they_are_quiet_and_who_is_known_does_not() {
        let mut connections = Connections::default();
        let known = Noted::new();
        known.is_known();
        connections.add(std::future::pending(), known);
        while connections.make_room() {
            connections.add(std::future::pending(), Noted::new());
        }
        assert_eq!(connections.open.len(), MOST, "all of them have just come");
        for _ in 0..MOST - 1 {
            connections.room().await;
            connections.add(std::future::pending(), Noted::new());
        }
        assert_eq!(connections.open.len(), MOST);
        assert!(connections.open.iter().any(|(_, noted)| noted.quiet().is_none()));
    }
}
