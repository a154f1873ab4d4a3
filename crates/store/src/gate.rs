//! Lowering a label and releasing a reply exclude each other.
//!
//! A release is in from the join of its label until its first byte is handed to the transport; a
//! declassification shuts the gate and waits until nobody is in. A release costs two atomic steps.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// The highest bit says that the gate is shut, the others count who is in.
const SHUT: usize = 1 << (usize::BITS - 1);

/// One session's gate.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: AtomicUsize,
    /// The last one has left a shut gate.
    emptied: Notify,
    /// The gate has been opened again.
    opened: Notify,
}

/// The gate is shut and nobody is in, until this is dropped.
#[derive(Debug)]
pub(crate) struct Alone<'a>(&'a Gate);

// === impl Gate ===

impl Gate {
    /// Goes in, unless the gate is shut. Whoever went in must leave.
    pub(crate) fn try_enter(&self) -> bool {
        if self.state.fetch_add(1, Ordering::Acquire) & SHUT == 0 {
            return true;
        }
        self.leave();
        false
    }

    /// Goes in as soon as the gate is open.
    pub(crate) async fn enter(&self) {
        loop {
            let opened = self.opened.notified();
            if self.try_enter() {
                return;
            }
            opened.await;
        }
    }

    /// Leaves after having gone in.
    pub(crate) fn leave(&self) {
        if self.state.fetch_sub(1, Ordering::Release) == SHUT | 1 {
            self.emptied.notify_waiters();
        }
    }

    /// Shuts the gate and waits until nobody is in. Dropped while waiting, it opens the gate again.
    pub(crate) async fn alone(&self) -> Alone<'_> {
        loop {
            let opened = self.opened.notified();
            if self.state.fetch_or(SHUT, Ordering::AcqRel) & SHUT == 0 {
                break;
            }
            opened.await;
        }
        let alone = Alone(self);
        loop {
            let emptied = self.emptied.notified();
            if self.state.load(Ordering::Acquire) == SHUT {
                return alone;
            }
            emptied.await;
        }
    }
}

// === impl Alone ===

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        self.0.state.fetch_and(!SHUT, Ordering::Release);
        self.0.opened.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::Duration;

    #[tokio::test]
    async fn being_alone_waits_for_those_inside_and_keeps_others_out() {
        let gate = Arc::new(Gate::default());
        assert!(gate.try_enter());
        let waiting = tokio::time::timeout(Duration::from_millis(20), gate.alone()).await;
        assert!(waiting.is_err());
        assert!(gate.try_enter(), "a declassification that gave up leaves the gate open");
        gate.leave();
        gate.leave();
        let alone = gate.alone().await;
        assert!(!gate.try_enter());
        let entering = tokio::spawn({
            let gate = Arc::clone(&gate);
            async move { gate.enter().await }
        });
        tokio::task::yield_now().await;
        assert!(!entering.is_finished());
        drop(alone);
        entering.await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn nobody_is_ever_inside_with_one_who_is_alone() {
        let gate = Arc::new(Gate::default());
        let inside = Arc::new(AtomicUsize::new(0));
        let mut tasks = Vec::new();
        for number in 0..8 {
            let (gate, inside) = (Arc::clone(&gate), Arc::clone(&inside));
            tasks.push(tokio::spawn(async move {
                for _ in 0..500 {
                    if number == 0 {
                        let _alone = gate.alone().await;
                        assert_eq!(inside.load(Ordering::SeqCst), 0);
                        tokio::task::yield_now().await;
                        assert_eq!(inside.load(Ordering::SeqCst), 0);
                    } else {
                        gate.enter().await;
                        inside.fetch_add(1, Ordering::SeqCst);
                        tokio::task::yield_now().await;
                        inside.fetch_sub(1, Ordering::SeqCst);
                        gate.leave();
                    }
                }
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
    }
}
