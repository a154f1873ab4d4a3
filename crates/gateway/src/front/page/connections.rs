//! The connections that are open to the page. Where there are too many, those give way that nobody has signed in on, the
//! oldest first: a crowd of strangers keeps nobody out.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::{AbortHandle, JoinSet};

/// How many may be open at once. A person has a handful.
const MOST: usize = 256;

/// Whether somebody who is signed in has used a connection.
#[derive(Clone, Default)]
pub(super) struct Noted(Arc<AtomicBool>);

/// All of them, the oldest first.
#[derive(Default)]
pub(super) struct Connections {
    serving: JoinSet<()>,
    open: VecDeque<(AbortHandle, Noted)>,
}

// === impl Noted ===

impl Noted {
    /// Notes that somebody who is signed in uses it.
    pub(super) fn is_known(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

// === impl Connections ===

impl Connections {
    /// Serves one more, if need be in place of one that nobody has signed in on.
    pub(super) fn admit(&mut self, serve: impl Future<Output = ()> + Send + 'static, noted: Noted) -> bool {
        self.open.retain(|(handle, _)| !handle.is_finished());
        if self.open.len() >= MOST {
            let unknown = self.open.iter().position(|(_, noted)| !noted.0.load(Ordering::Relaxed));
            let Some((oldest, _)) = unknown.and_then(|at| self.open.remove(at)) else { return false };
            oldest.abort();
        }
        self.open.push_back((self.serving.spawn(serve), noted));
        true
    }

    pub(super) fn is_empty(&self) -> bool {
        self.serving.is_empty()
    }

    /// Waits until one has ended.
    pub(super) async fn ended(&mut self) {
        // One that was cut ends with an error, which is what was wanted.
        let _ended = self.serving.join_next().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn strangers_give_way_and_who_is_known_does_not() {
        let mut connections = Connections::default();
        let known = Noted::default();
        known.is_known();
        assert!(connections.admit(std::future::pending(), known));
        for _ in 0..4 * MOST {
            assert!(connections.admit(std::future::pending(), Noted::default()));
        }
        assert_eq!(connections.open.len(), MOST);
        assert!(connections.open.iter().any(|(_, noted)| noted.0.load(Ordering::Relaxed)));
        connections.open.iter().for_each(|(_, noted)| noted.is_known());
        assert!(!connections.admit(std::future::pending(), Noted::default()), "there is an end to it");
    }
}
