//! The threads that serve connections. Each is a runtime of its own, and a connection stays on one of them with all that
//! happens in its course: what moved between cores would find its data in the other's cache and wake the other up.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// More threads than this gain nothing: the servers behind the gateway need processors too.
const MOST: usize = 16;

/// Shorter than the timers of calls.
const BEAT: Duration = Duration::from_secs(1);

/// So many connections are put on one thread before the next gets any. Together they cost less than apart: what one has
/// read into the cache the next finds there, and what is ready at once is done at one waking and recorded in one write.
const TOGETHER: usize = 16;

/// The threads; they end when this is dropped.
pub(crate) struct Workers {
    workers: Vec<Worker>,
}

struct Worker {
    runtime: Handle,
    /// How many connections it serves.
    busy: Arc<AtomicUsize>,
    /// Held for its drop, which tells the thread to end.
    _stop: oneshot::Sender<()>,
}

/// A connection's place on a thread, until it is dropped.
pub(super) struct Seat {
    pub(super) runtime: Handle,
    busy: Arc<AtomicUsize>,
}

// === impl Workers ===

impl Workers {
    /// One thread for each processor. If not even one can be started, connections are served where they are accepted.
    pub(crate) fn start() -> Self {
        let count = thread::available_parallelism().map_or(1, usize::from).min(MOST);
        let mut workers = Vec::with_capacity(count);
        for number in 0..count {
            match start(number) {
                Ok(worker) => workers.push(worker),
                Err(error) => tracing::warn!(%error, "a thread for connections could not be started"),
            }
        }
        Self { workers }
    }

    /// The place of a new connection: on the first thread that has few, or else on the one that has fewest.
    pub(super) fn seat(&self) -> Seat {
        let count = |worker: &&Worker| worker.busy.load(Ordering::Relaxed);
        let roomy = self.workers.iter().find(|worker| count(worker) < TOGETHER);
        match roomy.or_else(|| self.workers.iter().min_by_key(count)) {
            Some(worker) => Seat::take(worker.runtime.clone(), Arc::clone(&worker.busy)),
            None => Seat::take(Handle::current(), Arc::default()),
        }
    }
}

// === impl Seat ===

impl Seat {
    fn take(runtime: Handle, busy: Arc<AtomicUsize>) -> Self {
        busy.fetch_add(1, Ordering::Relaxed);
        Self { runtime, busy }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

fn start(number: usize) -> io::Result<Worker> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let (stop, stopped) = oneshot::channel::<()>();
    thread::Builder::new().name(format!("front-{number}")).spawn(move || {
        runtime.block_on(async {
            tokio::spawn(beat());
            // An error is the sender's drop, which is how the end is told.
            stopped.await.ok();
        });
    })?;
    Ok(Worker { runtime: handle, busy: Arc::default(), _stop: stop })
}

/// Keeps an early timer set. The runtime wakes itself by a system call for every timer that is earlier than all others,
/// and each call sets one, of seconds.
async fn beat() {
    loop {
        tokio::time::sleep(BEAT).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn few_connections_share_a_thread_and_many_are_spread() {
        let workers = Workers { workers: (0..3).map(|number| start(number).unwrap()).collect() };
        let busy = || -> Vec<usize> {
            workers.workers.iter().map(|worker| worker.busy.load(Ordering::Relaxed)).collect()
        };
        let mut seats: Vec<Seat> = (0..TOGETHER).map(|_| workers.seat()).collect();
        assert_eq!(busy(), [TOGETHER, 0, 0]);
        seats.push(workers.seat());
        assert_eq!(busy(), [TOGETHER, 1, 0]);
        seats.remove(0);
        seats.push(workers.seat());
        assert_eq!(busy(), [TOGETHER, 1, 0], "room that was left is taken again");
        seats.extend((0..5 * TOGETHER).map(|_| workers.seat()));
        let (most, fewest) = (busy().into_iter().max(), busy().into_iter().min());
        assert!(most.unwrap() - fewest.unwrap() <= 1, "{:?}", busy());
        drop(seats);
        assert_eq!(busy(), [0, 0, 0]);
    }
}
