//! Writes to one server, one after another, in the order in which they came. A place in the line is a value: dropped, for
//! whatever reason, the line moves up. Nothing is locked while a server works.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// How many writes may stand in line at one server.
const MAX_WAITING: usize = 1024;

/// The line at one server.
#[derive(Debug, Default)]
pub(super) struct WriteQueue {
    line: Mutex<QueueState>,
}

#[derive(Debug, Default)]
struct QueueState {
    places: VecDeque<WaitingWrite>,
    next: u64,
}

#[derive(Debug)]
struct WaitingWrite {
    number: u64,
    waker: Option<Waker>,
}

/// A place in the line of a server. It is given up when it is dropped: because the write is done, was refused, was
/// cancelled, or died.
#[derive(Debug)]
pub struct WriteTurn {
    write_queue: Arc<WriteQueue>,
    number: u64,
}

/// Too many writes stand in line.
#[derive(Debug)]
pub(super) struct TooMany;

// === impl WriteQueue ===

impl WriteQueue {
    /// Takes the last place in the line.
    pub(super) fn enqueue(self: &Arc<Self>) -> Result<WriteTurn, TooMany> {
        let mut line = self.line();
        if line.places.len() >= MAX_WAITING {
            return Err(TooMany);
        }
        let number = line.next;
        line.next += 1;
        line.places.push_back(WaitingWrite { number, waker: None });
        Ok(WriteTurn { write_queue: Arc::clone(self), number })
    }

    fn poll(&self, number: u64, context: &Context<'_>) -> Poll<()> {
        let mut line = self.line();
        if line.places.front().is_none_or(|first| first.number == number) {
            return Poll::Ready(());
        }
        if let Some(place) = line.places.iter_mut().find(|place| place.number == number) {
            match &mut place.waker {
                Some(waker) => waker.clone_from(context.waker()),
                none => *none = Some(context.waker().clone()),
            }
        }
        Poll::Pending
    }

    fn leave(&self, number: u64) {
        let mut line = self.line();
        let Some(at) = line.places.iter().position(|place| place.number == number) else { return };
        line.places.remove(at);
        let first = if at == 0 { line.places.front_mut().and_then(|first| first.waker.take()) } else { None };
        drop(line);
        if let Some(waker) = first {
            waker.wake();
        }
    }

    fn line(&self) -> MutexGuard<'_, QueueState> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl WriteTurn ===

impl WriteTurn {
    /// Waits until everybody who came before is gone.
    pub(super) async fn come(&self) {
        poll_fn(|context| self.write_queue.poll(self.number, context)).await
    }
}

impl Drop for WriteTurn {
    fn drop(&mut self) {
        self.write_queue.leave(self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn everybody_has_a_turn_in_the_order_of_arrival() {
        let write_queue = Arc::new(WriteQueue::default());
        let done = Arc::new(Mutex::new(Vec::new()));
        let line: Vec<WriteTurn> = (0..20).map(|_| write_queue.enqueue().unwrap()).collect();
        // Those who came last are the first to ask.
        let tasks: Vec<_> = line
            .into_iter()
            .enumerate()
            .rev()
            .map(|(number, turn)| {
                let done = Arc::clone(&done);
                tokio::spawn(async move {
                    turn.come().await;
                    tokio::task::yield_now().await;
                    done.lock().unwrap().push(number);
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*done.lock().unwrap(), (0..20).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn whoever_gives_up_lets_the_others_move_up() {
        let write_queue = Arc::new(WriteQueue::default());
        let (first, second, third) =
            (write_queue.enqueue().unwrap(), write_queue.enqueue().unwrap(), write_queue.enqueue().unwrap());
        first.come().await;
        let mut waiting = pin!(third.come());
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(second);
        assert!(waiting.as_mut().now_or_never().is_none(), "the first still works");
        drop(first);
        waiting.await;
    }

    #[test]
    fn the_line_has_a_bound() {
        let write_queue = Arc::new(WriteQueue::default());
        let line: Vec<_> = std::iter::from_fn(|| write_queue.enqueue().ok()).collect();
        assert_eq!(line.len(), MAX_WAITING);
        drop(line);
        assert!(write_queue.enqueue().is_ok());
    }
}
