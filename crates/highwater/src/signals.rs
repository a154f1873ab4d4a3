//! What the system asks of a running gateway.

use std::io::{self, IsTerminal};

use tokio::signal::unix::{Signal, SignalKind, signal};

/// A wish that came as a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// End in an orderly way.
    Stop,
    /// Read the configuration again.
    Reload,
}

/// The signals we listen to.
#[derive(Debug)]
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
    has_terminal: bool,
}

// === impl Signals ===

impl Signals {
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
            has_terminal: io::stderr().is_terminal(),
        })
    }

    /// The next wish.
    pub(crate) async fn next(&mut self) -> Wish {
        tokio::select! {
            _ = self.terminate.recv() => Wish::Stop,
            _ = self.interrupt.recv() => Wish::Stop,
            // SIGHUP has two meanings. A terminal that was there and is gone means that its window was closed.
            _ = self.hang_up.recv() => match self.has_terminal && !io::stderr().is_terminal() {
                true => Wish::Stop,
                false => Wish::Reload,
            },
        }
    }
}
