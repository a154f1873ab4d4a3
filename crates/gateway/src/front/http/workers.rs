//! The threads that serve connections. Each is a runtime of its own, and a connection stays on one of them with all that
//! happens in its course: what moved between cores would find its data in the other's cache and wake the other up.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// More threads than this gain nothing: the servers behind the gateway need processors too.
const MOST: usize = 16;

/// Shorter than the timers of calls.
const BEAT: Duration = Duration::from_secs(1);

/// The threads; they end when this is dropped.
pub(crate) struct Workers {
    workers: Vec<Worker>,
    next: AtomicUsize,
}

struct Worker {
    runtime: Handle,
    /// Held for its drop, which tells the thread to end.
    _stop: oneshot::Sender<()>,
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
        Self { workers, next: AtomicUsize::new(0) }
    }

    /// Whose turn it is to take a connection.
    pub(super) fn next(&self) -> Handle {
        let turn = self.next.fetch_add(1, Ordering::Relaxed) % self.workers.len().max(1);
        self.workers.get(turn).map_or_else(Handle::current, |worker| worker.runtime.clone())
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
    Ok(Worker { runtime: handle, _stop: stop })
}

/// Keeps an early timer set. The runtime wakes itself by a system call for every timer that is earlier than all others,
/// and each call sets one, of seconds.
async fn beat() {
    loop {
        tokio::time::sleep(BEAT).await;
    }
}
