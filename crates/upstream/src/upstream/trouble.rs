//! Whether a server over HTTP answers at all. It has no process whose end would show, so what its last exchange came to
//! is kept until the next one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::error::Cause;

/// The last failure to reach a server.
#[derive(Default)]
pub(super) struct Trouble {
    /// Read on every call, so that the lock is taken only when something changes.
    present: AtomicBool,
    why: Mutex<Option<Cause>>,
}

// === impl Trouble ===

impl Trouble {
    /// Keeps what an exchange says about the server being there.
    pub(super) fn note<T>(&self, outcome: Result<T, &Cause>) {
        let why = match outcome {
            Ok(_) => None,
            Err(cause) => match cause {
                Cause::Unreachable(_)
                | Cause::NoConnection(_)
                | Cause::Gone(_)
                | Cause::TimedOut(_)
                | Cause::SilentStart(_)
                | Cause::WantsOauth
                | Cause::WebPage
                | Cause::Status(_) => Some(cause.clone()),
                // These say nothing about whether the server is there.
                Cause::NotStarted(_)
                | Cause::NoProgram { .. }
                | Cause::BackingOff(_)
                | Cause::Silent(_)
                | Cause::Wedged(_)
                | Cause::TooLarge { .. }
                | Cause::Malformed(_)
                | Cause::Changed
                | Cause::Disconnected
                | Cause::ShuttingDown => return,
            },
        };
        if why.is_some() || self.present.load(Ordering::Acquire) {
            let mut kept = self.why.lock().unwrap_or_else(PoisonError::into_inner);
            self.present.store(why.is_some(), Ordering::Release);
            *kept = why;
        }
    }

    /// Why the server could last not be reached, if it has not answered since.
    pub(super) fn why(&self) -> Option<Cause> {
        self.why.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_kept_until_the_next_answer() {
        let trouble = Trouble::default();
        trouble.note(Err::<(), _>(&Cause::Malformed("x".into())));
        assert_eq!(trouble.why(), None);
        trouble.note(Err::<(), _>(&Cause::Unreachable("refused".into())));
        assert_eq!(trouble.why(), Some(Cause::Unreachable("refused".into())));
        trouble.note(Ok(()));
        assert_eq!(trouble.why(), None);
    }
}
