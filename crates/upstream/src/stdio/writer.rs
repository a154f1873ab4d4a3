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
    lines: VecDeque<WriterState>,
    bytes: usize,
    /// Requests that were still waiting when the pipe was closed, until their callers ask.
    unsent: HashSet<u64>,
}

struct WriterState {
    /// Which request it is, if it is one.
    number: Option<u64>,
    text: Vec<u8>,
    written: usize,
}

/// Puts a message on one line. JSON allows line breaks between its tokens, and a client can put them there: left as they
/// are, a part of its arguments would reach the child as a message of its own, past every decision. Inside strings the
/// scan allows none, so each can become a space.
fn to_one_line(text: &mut Vec<u8>) {
    let mut from = 0;
    while let Some(found) = text.get(from..).and_then(|rest| memchr::memchr2(b'\n', b'\r', rest)) {
        if let Some(byte) = text.get_mut(from + found) {
            *byte = b' ';
        }
        from += found + 1;
    }
    text.push(b'\n');
}

// === impl Writer ===

impl Writer {
    /// Takes over a child's stdin; the returned future writes what had to wait and must be polled. It ends when
    /// the pipe is closed from either side.
    pub(super) fn new(stdin: ChildStdin) -> io::Result<(Arc<Self>, impl Future<Output = ()> + Send + use<>)> {
        Ok(Self::over(pipe::Sender::from_owned_fd(stdin.into_owned_fd()?)?))
    }

    fn over(pipe: pipe::Sender) -> (Arc<Self>, impl Future<Output = ()> + Send + use<>) {
        let queue =
            Queue { pipe: Some(Arc::new(pipe)), lines: VecDeque::new(), bytes: 0, unsent: HashSet::new() };
        let writer = Arc::new(Self { queue: Mutex::new(queue), wake: Notify::new() });
        let rest = Arc::clone(&writer).write_the_rest();
        (writer, rest)
    }

    /// Sends one message as one line. Nothing of it has been sent if this fails. A message for a closed pipe counts
    /// as waiting for ever; the conversation is about to end.
    pub(super) fn send(&self, number: Option<u64>, mut text: Vec<u8>) -> Result<(), Cause> {
        to_one_line(&mut text);
        let mut queue = self.queue();
        let Some(pipe) = queue.pipe.clone() else {
            queue.unsent.extend(number);
            return Ok(());
        };
        if queue.bytes > MAX_WAITING {
            return Err(Cause::Unreachable("it does not read what it is sent".to_owned()));
        }
        queue.bytes += text.len();
        queue.lines.push_back(WriterState { number, text, written: 0 });
        if queue.lines.len() == 1 && (!queue.write(&pipe) || queue.pipe.is_none()) {
            drop(queue);
            self.wake.notify_one();
        }
        Ok(())
    }

    /// Takes a request back. False if the child may have seen any of it.
    pub(super) fn withdraw(&self, number: u64) -> bool {
        let mut queue = self.queue();
        let waiting = |line: &WriterState| line.number == Some(number) && line.written == 0;
        let Some(index) = queue.lines.iter().position(waiting) else {
            return queue.unsent.remove(&number);
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

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    /// More than a pipe takes.
    fn long(letter: u8) -> Vec<u8> {
        vec![letter; 200 << 10]
    }

    /// A pipe of which it is known that it has room; a new one is only asked later.
    async fn ready_pipe() -> (pipe::Sender, pipe::Receiver) {
        let (sender, receiver) = pipe::pipe().unwrap();
        sender.writable().await.unwrap();
        (sender, receiver)
    }

    #[test]
    fn a_message_is_one_line_whatever_it_holds() {
        let mut text = b"{\n\"a\":\r\n1}".to_vec();
        to_one_line(&mut text);
        assert_eq!(text, b"{ \"a\":  1}\n");
    }

    #[tokio::test]
    async fn what_finds_no_room_follows_in_order() {
        let (sender, mut receiver) = ready_pipe().await;
        let (writer, rest) = Writer::over(sender);
        tokio::spawn(rest);
        writer.send(Some(1), long(b'a')).unwrap();
        writer.send(Some(2), long(b'b')).unwrap();
        writer.send(Some(3), b"c".to_vec()).unwrap();
        assert!(!writer.withdraw(1), "a part of it is in the pipe");
        assert!(writer.withdraw(2));
        assert!(!writer.withdraw(2));
        let mut received = vec![0; (200 << 10) + 3];
        receiver.read_exact(&mut received).await.unwrap();
        assert_eq!(received.split_off(200 << 10), b"\nc\n");
        assert_eq!(received, long(b'a'));
        writer.close();
        assert_eq!(receiver.read(&mut received).await.unwrap(), 0);
        writer.send(Some(4), b"d".to_vec()).unwrap();
        assert!(writer.withdraw(4));
    }

    #[tokio::test]
    async fn what_was_still_waiting_when_the_pipe_broke_was_never_sent() {
        let (sender, receiver) = ready_pipe().await;
        let (writer, rest) = Writer::over(sender);
        let rest = tokio::spawn(rest);
        writer.send(Some(1), long(b'a')).unwrap();
        writer.send(Some(2), b"b".to_vec()).unwrap();
        drop(receiver);
        rest.await.unwrap();
        assert!(!writer.withdraw(1));
        assert!(writer.withdraw(2));
    }

    #[tokio::test]
    async fn a_child_that_does_not_read_is_not_fed_for_ever() {
        let (sender, _receiver) = ready_pipe().await;
        let (writer, _rest) = Writer::over(sender);
        let accepted = (0..1000).take_while(|n| writer.send(Some(*n), long(b'a')).is_ok()).count();
        assert!(accepted < 200, "{accepted}");
    }
}
