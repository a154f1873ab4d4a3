//! A bounded channel that costs one small allocation until something is sent. Every call has two, and most calls end
//! without a word before the answer.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use thiserror::Error;

/// Nobody receives any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the receiver is gone")]
pub struct Closed;

/// Why a message could not be sent at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NotSent {
    /// It would have to wait.
    #[error("there is no room")]
    Full,
    /// Nobody receives any more.
    #[error("the receiver is gone")]
    Closed,
}

/// Sends into a channel.
#[derive(Debug)]
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
}

/// Receives from a channel. What is left in it is dropped with it.
#[derive(Debug)]
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
}

#[derive(Debug)]
struct Shared<T> {
    capacity: usize,
    state: Mutex<State<T>>,
}

#[derive(Debug)]
struct State<T> {
    queue: VecDeque<T>,
    senders: usize,
    closed: bool,
    receiver: Option<Waker>,
    waiting: Vec<Waker>,
}

/// Makes a channel in which `capacity` messages may wait.
pub fn channel<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let state =
        State { queue: VecDeque::new(), senders: 1, closed: false, receiver: None, waiting: Vec::new() };
    let shared = Arc::new(Shared { capacity, state: Mutex::new(state) });
    (Sender { shared: Arc::clone(&shared) }, Receiver { shared })
}

// === impl Sender ===

impl<T> Sender<T> {
    /// Sends a message, waiting for room.
    pub async fn send(&self, message: T) -> Result<(), Closed> {
        let mut message = Some(message);
        poll_fn(|context| self.poll_send(context, &mut message)).await
    }

    /// Whether nobody will take anything any more.
    pub fn is_closed(&self) -> bool {
        self.shared.lock().closed
    }

    /// Sends a message if there is room.
    pub fn try_send(&self, message: T) -> Result<(), NotSent> {
        let mut state = self.shared.lock();
        if state.closed {
            return Err(NotSent::Closed);
        }
        if state.queue.len() >= self.shared.capacity {
            return Err(NotSent::Full);
        }
        state.push(message);
        Ok(())
    }

    fn poll_send(&self, context: &Context<'_>, message: &mut Option<T>) -> Poll<Result<(), Closed>> {
        let mut state = self.shared.lock();
        if state.closed {
            return Poll::Ready(Err(Closed));
        }
        if state.queue.len() >= self.shared.capacity {
            if !state.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                state.waiting.push(context.waker().clone());
            }
            return Poll::Pending;
        }
        if let Some(message) = message.take() {
            state.push(message);
        }
        Poll::Ready(Ok(()))
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.shared.lock().senders += 1;
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.senders -= 1;
        let waker = if state.senders == 0 { state.receiver.take() } else { None };
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

// === impl Receiver ===

impl<T> Receiver<T> {
    /// The next message, or nothing once all senders are gone.
    pub async fn recv(&mut self) -> Option<T> {
        poll_fn(|context| self.poll_recv(context)).await
    }

    /// As `recv`.
    pub fn poll_recv(&mut self, context: &Context<'_>) -> Poll<Option<T>> {
        let mut state = self.shared.lock();
        if let Some(message) = state.pop() {
            return Poll::Ready(Some(message));
        }
        if state.senders == 0 {
            return Poll::Ready(None);
        }
        match &mut state.receiver {
            Some(waker) => waker.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
        Poll::Pending
    }

    /// The next message, if there is one already.
    pub fn try_recv(&mut self) -> Option<T> {
        self.shared.lock().pop()
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.closed = true;
        // Nobody is left to be woken by the last sender.
        let waker = state.receiver.take();
        let queue = std::mem::take(&mut state.queue);
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        drop(waker);
        // Messages may hold senders of their own, so they go after the lock.
        drop(queue);
        for waker in waiting {
            waker.wake();
        }
    }
}

// === impl Shared ===

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl State ===

impl<T> State<T> {
    fn push(&mut self, message: T) {
        self.queue.push_back(message);
        if let Some(waker) = self.receiver.take() {
            waker.wake();
        }
    }

    fn pop(&mut self) -> Option<T> {
        let message = self.queue.pop_front()?;
        for waker in self.waiting.drain(..) {
            waker.wake();
        }
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn messages_arrive_in_order_and_a_full_channel_makes_senders_wait() {
        let (sender, mut receiver) = channel(2);
        let sending = tokio::spawn(async move {
            for number in 0..100 {
                sender.send(number).await.unwrap();
            }
        });
        tokio::task::yield_now().await;
        let mut received = Vec::new();
        while let Some(number) = receiver.recv().await {
            received.push(number);
        }
        sending.await.unwrap();
        assert_eq!(received, (0..100).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn many_senders_all_get_their_turn() {
        let (sender, mut receiver) = channel(1);
        for number in 0..20 {
            let sender = sender.clone();
            tokio::spawn(async move { sender.send(number).await });
        }
        drop(sender);
        let mut received = Vec::new();
        while let Some(number) = receiver.recv().await {
            received.push(number);
        }
        received.sort_unstable();
        assert_eq!(received, (0..20).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn a_sender_learns_that_nobody_receives() {
        let (sender, receiver) = channel(1);
        sender.try_send(1).unwrap();
        assert_eq!(sender.try_send(2), Err(NotSent::Full));
        let waiting = tokio::spawn({
            let sender = sender.clone();
            async move { sender.send(3).await }
        });
        tokio::task::yield_now().await;
        drop(receiver);
        assert_eq!(waiting.await.unwrap(), Err(Closed));
        assert_eq!(sender.try_send(4), Err(NotSent::Closed));
    }
}
