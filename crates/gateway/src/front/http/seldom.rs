//! A future that is looked at only when it asks to be. A task cannot tell what woke it: a connection would look with every
//! byte at things that hardly ever happen.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

/// A future with a bell of its own.
pub(super) struct Seldom<F: ?Sized> {
    future: Pin<Box<F>>,
    bell: Arc<Bell>,
    waker: Waker,
}

struct Bell {
    rung: AtomicBool,
    task: AtomicWaker,
}

// === impl Seldom ===

impl<F: Future + ?Sized> Seldom<F> {
    pub(super) fn new(future: Pin<Box<F>>) -> Self {
        // Rung: it has not been looked at yet.
        let bell = Arc::new(Bell { rung: AtomicBool::new(true), task: AtomicWaker::new() });
        Self { future, waker: Waker::from(Arc::clone(&bell)), bell }
    }
}

impl<F: Future + ?Sized> Future for Seldom<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // Before the bell is looked at: who rings from now on wakes the task.
        self.bell.task.register(context.waker());
        if !self.bell.rung.load(Ordering::Acquire) {
            return Poll::Pending;
        }
        self.bell.rung.store(false, Ordering::Release);
        let Self { future, waker, .. } = &mut *self;
        future.as_mut().poll(&mut Context::from_waker(waker))
    }
}

// === impl Bell ===

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.rung.store(true, Ordering::Release);
        self.task.wake();
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn it_is_looked_at_first_and_then_when_it_rings() {
        let (looks, theirs) = (AtomicUsize::new(0), std::sync::Mutex::new(None::<Waker>));
        let mut seldom = Seldom::new(Box::pin(poll_fn(|context| {
            *theirs.lock().unwrap() = Some(context.waker().clone());
            if looks.fetch_add(1, Ordering::Relaxed) < 2 { Poll::Pending } else { Poll::Ready(()) }
        })));
        let bell = Arc::clone(&seldom.bell);
        let mut poll = || Pin::new(&mut seldom).poll(&mut Context::from_waker(Waker::noop()));
        for _ in 0..3 {
            assert!(poll().is_pending());
        }
        assert_eq!(looks.load(Ordering::Relaxed), 1);
        theirs.lock().unwrap().clone().unwrap().wake();
        assert!(bell.rung.load(Ordering::Relaxed));
        assert!(poll().is_pending() && poll().is_pending());
        assert_eq!(looks.load(Ordering::Relaxed), 2);
        theirs.lock().unwrap().clone().unwrap().wake();
        assert!(poll().is_ready());
    }

    #[tokio::test]
    async fn what_rings_wakes_the_task() {
        let (go, gone) = tokio::sync::oneshot::channel::<()>();
        let waiting = tokio::spawn(Seldom::new(Box::pin(gone)));
        tokio::task::yield_now().await;
        go.send(()).unwrap();
        waiting.await.unwrap().unwrap();
    }
}
