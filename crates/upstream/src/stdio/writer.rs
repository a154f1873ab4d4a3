//! The way to the child's stdin. A message goes out in one write, from the caller's own task, if the pipe has
//! room; what finds none waits in order and is written by a task of its own. So a dropped caller never leaves
//! half a message behind.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::unix::pipe;
use tokio::process::ChildStdin;
use tokio::sync::Notify;

use crate::error::Cause;

/// How much may wait for a child that does not read. Beyond it, further messages are refused.
const MAX_WAITING: usize = 32 << 20;

/// The writing end of a conversation.
pub(super) struct Writer {
    queue: Mutex<Queue>,
    wake: Notify,
}

struct Queue {
    /// Nothing once stdin is closed.
    pipe: Option<Arc<pipe::Sender>>,
    lines: VecDeque<Line>,
    bytes: usize,
    /// Requests that were still waiting when the pipe was closed, until their callers ask.
    unsent: HashSet<u64>,
}

struct Line {
    /// Which request it is, if it is one.
    number: Option<u64>,
    text: Vec<u8>,
    written: usize,
}

// === impl Writer ===

impl Writer {
    /// Takes over a child's stdin; the returned future writes what had to wait and must be polled.
    pub(super) fn new(stdin: ChildStdin) -> io::Result<(Arc<Self>, impl Future<Output = ()> + Send + use<>)> {
        let pipe = pipe::Sender::from_owned_fd(stdin.into_owned_fd()?)?;
        let queue =
            Queue { pipe: Some(Arc::new(pipe)), lines: VecDeque::new(), bytes: 0, unsent: HashSet::new() };
        let writer = Arc::new(Self { queue: Mutex::new(queue), wake: Notify::new() });
        let rest = Arc::clone(&writer).write_the_rest();
        Ok((writer, rest))
    }

    /// Sends one message, which ends in a newline. Nothing of it has been sent if this fails.
    pub(super) fn send(&self, number: Option<u64>, text: Vec<u8>) -> Result<(), Cause> {
        let mut queue = self.queue();
        let Some(pipe) = queue.pipe.clone() else {
            return Err(Cause::Gone("its input is closed".to_owned()));
        };
        if queue.bytes > MAX_WAITING {
            return Err(Cause::Unreachable("it does not read what it is sent".to_owned()));
        }
        queue.bytes += text.len();
        queue.lines.push_back(Line { number, text, written: 0 });
        if queue.lines.len() == 1 && !queue.write(&pipe) {
            drop(queue);
            self.wake.notify_one();
        }
        Ok(())
    }

    /// Takes a request back. False if the child may have seen any of it.
    pub(super) fn withdraw(&self, number: u64) -> bool {
        let mut queue = self.queue();
        let Some(index) =
            queue.lines.iter().position(|line| line.number == Some(number) && line.written == 0)
        else {
            return false;
        };
        if let Some(line) = queue.lines.remove(index) {
            queue.bytes = queue.bytes.saturating_sub(line.text.len());
        }
        true
    }

    /// Closes the child's stdin, which asks it to end.
    pub(super) fn close(&self) {
        self.queue().close();
        self.wake.notify_one();
    }

    async fn write_the_rest(self: Arc<Self>) {
        loop {
            self.wake.notified().await;
            loop {
                let pipe = {
                    let queue = self.queue();
                    let Some(pipe) = &queue.pipe else { return };
                    if queue.lines.is_empty() {
                        break;
                    }
                    Arc::clone(pipe)
                };
                tokio::select! {
                    ready = pipe.writable() => {
                        if ready.is_err() {
                            self.queue().close();
                        }
                    }
                    // Closed meanwhile, or one more message; either way look again.
                    () = self.wake.notified() => continue,
                }
                self.queue().write(&pipe);
            }
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Queue ===

impl Queue {
    /// Writes as much as the pipe takes. True if nothing is left.
    fn write(&mut self, pipe: &pipe::Sender) -> bool {
        while let Some(line) = self.lines.front_mut() {
            match pipe.try_write(line.text.get(line.written..).unwrap_or_default()) {
                Ok(count) => line.written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    // The child has closed its end. Its calls fail when its output ends too.
                    tracing::debug!(%error, "a child does not take input any more");
                    self.close();
                    return true;
                }
            }
            if line.written >= line.text.len() {
                self.bytes = self.bytes.saturating_sub(line.text.len());
                self.lines.pop_front();
            }
        }
        true
    }

    fn close(&mut self) {
        self.pipe = None;
        let unsent = self.lines.drain(..).filter(|line| line.written == 0).filter_map(|line| line.number);
        self.unsent.extend(unsent);
        self.bytes = 0;
    }
}
