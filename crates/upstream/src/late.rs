//! A timer for waits that are mostly over long before it would ring. Every call has two of them; setting and clearing a
//! timer of the runtime for each costs more than judging the call. So they are watched together at first: one timer of
//! the thread rings for all, and whoever still waits then sets its own.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::runtime::{self, Handle};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

/// How long waits are watched together.
const TOGETHER: Duration = Duration::from_millis(250);

thread_local! {
    static WATCH: Arc<Watch> = Arc::default();
}

/// Ready when its time has come.
#[derive(Debug)]
pub struct Late {
    deadline: Instant,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// Nobody has waited yet.
    Unset,
    /// Watched with others.
    Watched(Place),
    /// It has a timer of its own.
    Timed(Pin<Box<Sleep>>),
}

/// The waits of one thread that are watched together.
#[derive(Debug, Default)]
struct Watch {
    state: Mutex<Waits>,
}

#[derive(Debug, Default)]
struct Waits {
    /// Whoever waits; a free place holds the number of the next free one.
    places: Vec<Result<Waker, usize>>,
    free: Option<usize>,
    waiting: usize,
    /// Counts the rings: a place that was taken before the last one is void.
    rings: u64,
    /// The runtime on which the timer of all runs, while it does.
    runtime: Option<runtime::Id>,
}

/// A place among those that are watched together.
#[derive(Debug)]
struct Place {
    watch: Arc<Watch>,
    at: usize,
    rings: u64,
}

/// Rings when it goes before its time, as with its runtime: who is watched must hear of it.
struct Bell {
    watch: Arc<Watch>,
    over: bool,
}

// === impl Late ===

impl Late {
    /// Rings `patience` after `since`.
    pub fn after(since: Instant, patience: Duration) -> Self {
        let mut late = Self { deadline: since + patience, stage: Stage::Unset };
        if patience < 2 * TOGETHER {
            late.set_timer();
        }
        late
    }

    /// Rings at another time.
    pub fn reset(&mut self, deadline: Instant) {
        self.deadline = deadline;
        self.set_timer();
    }

    fn set_timer(&mut self) {
        self.stage = Stage::Timed(Box::pin(sleep_until(self.deadline)));
    }
}

impl Future for Late {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        loop {
            match &mut self.stage {
                Stage::Unset => match Watch::enter(context.waker()) {
                    Some(place) => {
                        self.stage = Stage::Watched(place);
                        return Poll::Pending;
                    }
                    None => self.set_timer(),
                },
                Stage::Watched(place) if place.is_still_watched(context.waker()) => return Poll::Pending,
                Stage::Watched(_) => self.set_timer(),
                Stage::Timed(timer) => return timer.as_mut().poll(context),
            }
        }
    }
}

// === impl Watch ===

impl Watch {
    /// Takes a place on this thread's watch; nothing where another runtime keeps it.
    fn enter(waker: &Waker) -> Option<Place> {
        let handle = Handle::try_current().ok()?;
        let watch = WATCH.with(Arc::clone);
        let mut waits = watch.waits();
        let unkept = match waits.runtime {
            Some(runtime) if runtime != handle.id() => return None,
            Some(_) => false,
            None => {
                waits.runtime = Some(handle.id());
                true
            }
        };
        let at = waits.take(waker.clone());
        let rings = waits.rings;
        drop(waits);
        if unkept {
            // Not under the lock: a runtime that is about to end drops this at once, and the bell rings then.
            handle.spawn(keep(Bell { watch: Arc::clone(&watch), over: false }));
        }
        Some(Place { watch, at, rings })
    }

    fn waits(&self) -> MutexGuard<'_, Waits> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Rings for all that wait, again and again until nobody does.
async fn keep(mut bell: Bell) {
    loop {
        sleep(TOGETHER).await;
        let mut waits = bell.watch.waits();
        if waits.waiting == 0 {
            waits.runtime = None;
            drop(waits);
            bell.over = true;
            return;
        }
        let waiting = waits.ring();
        drop(waits);
        waiting.for_each(Waker::wake);
    }
}

// === impl Waits ===

impl Waits {
    fn take(&mut self, waker: Waker) -> usize {
        self.waiting += 1;
        let place = self.free.and_then(|at| Some((at, self.places.get_mut(at)?)));
        match place {
            Some((at, place)) => {
                self.free = std::mem::replace(place, Ok(waker)).err().filter(|next| *next != at);
                at
            }
            None => {
                self.places.push(Ok(waker));
                self.places.len() - 1
            }
        }
    }

    /// Empties all places. Who was there gets a timer of its own.
    fn ring(&mut self) -> impl Iterator<Item = Waker> + use<> {
        self.rings += 1;
        self.free = None;
        self.waiting = 0;
        std::mem::take(&mut self.places).into_iter().filter_map(Result::ok)
    }
}

// === impl Place ===

impl Place {
    /// Whether nobody has rung yet; then this waker is the one to wake.
    fn is_still_watched(&self, waker: &Waker) -> bool {
        let mut waits = self.watch.waits();
        if waits.rings != self.rings {
            return false;
        }
        if let Some(Ok(known)) = waits.places.get_mut(self.at) {
            known.clone_from(waker);
        }
        true
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut waits = self.watch.waits();
        if waits.rings != self.rings {
            return;
        }
        // The end of the list of free places points at itself.
        let next = waits.free.unwrap_or(self.at);
        let left = waits.places.get_mut(self.at).map(|place| std::mem::replace(place, Err(next)));
        waits.free = Some(self.at);
        waits.waiting -= 1;
        drop(waits);
        drop(left);
    }
}

// === impl Bell ===

impl Drop for Bell {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let mut waits = self.watch.waits();
        waits.runtime = None;
        let waiting = waits.ring();
        drop(waits);
        waiting.for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::time::timeout;

    use super::*;

    const LONG: Duration = Duration::from_secs(5);

    fn places() -> (usize, usize) {
        WATCH.with(|watch| {
            let waits = watch.waits();
            (waits.waiting, waits.places.len())
        })
    }

    async fn poll_once(late: &mut Late) {
        poll_fn(|context| {
            assert!(Pin::new(&mut *late).poll(context).is_pending());
            Poll::Ready(())
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn it_rings_when_its_time_has_come_and_not_before() {
        for patience in [Duration::ZERO, Duration::from_millis(1), TOGETHER, 2 * TOGETHER, LONG] {
            let began = Instant::now();
            Late::after(began, patience).await;
            let took = began.elapsed();
            assert!(took >= patience && took < patience + Duration::from_millis(5), "{patience:?} {took:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn it_can_be_set_to_another_time() {
        let began = Instant::now();
        let mut late = Late::after(began, LONG);
        assert!(timeout(Duration::from_secs(1), &mut late).await.is_err());
        late.reset(began + 2 * LONG);
        late.await;
        assert!(began.elapsed() >= 2 * LONG);
    }

    #[tokio::test(start_paused = true)]
    async fn places_are_used_again_and_the_watch_ends_with_the_last_wait() {
        for _ in 0..100 {
            let mut waits: Vec<Late> = (0..8).map(|_| Late::after(Instant::now(), LONG)).collect();
            for late in &mut waits {
                poll_once(late).await;
            }
            // In an order that mixes the list of free places up.
            waits.swap(0, 5);
            waits.truncate(3);
            drop(waits);
        }
        assert_eq!(places(), (0, 8));
        sleep(3 * TOGETHER).await;
        assert_eq!(WATCH.with(|watch| watch.waits().runtime), None);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_waits_long_is_on_its_own() {
        let late = tokio::spawn(Late::after(Instant::now(), LONG));
        tokio::task::yield_now().await;
        assert_eq!(places().0, 1);
        sleep(2 * TOGETHER).await;
        assert_eq!(places().0, 0);
        late.await.unwrap();
    }

    #[test]
    fn a_runtime_that_ends_leaves_nobody_unwatched() {
        let runtime = || tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let mut late = Late::after(Instant::now(), 2 * TOGETHER);
        let first = runtime();
        first.block_on(poll_once(&mut late));
        // One that is not driven rings for nobody on another.
        let second = runtime();
        let began = Instant::now();
        second.block_on(Late::after(began, 2 * TOGETHER));
        assert!(began.elapsed() < 4 * TOGETHER);
        drop(first);
        second.block_on(late);
        assert_eq!(WATCH.with(|watch| watch.waits().runtime), None);
    }
}
