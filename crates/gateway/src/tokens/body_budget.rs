//! How many bytes of requests are held, for each token and in all: a message that is still coming, or that is being served,
//! takes memory which nobody else has then.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use highwater_config::Limits;

use super::{Bound, Busy, Token};
use crate::tokens::meter::PLACE_WAIT;

/// What is held for everybody.
#[derive(Debug, Default)]
pub(crate) struct BodyBudget(AtomicUsize);

/// The bytes of one message, given back when this is dropped.
#[derive(Debug)]
pub(crate) struct BodyCharge {
    all: Arc<BodyBudget>,
    token: Arc<Token>,
    bytes: usize,
    most: (usize, usize),
}

// === impl BodyCharge ===

impl BodyCharge {
    /// A message of which nothing has come yet.
    pub(crate) fn new(all: &Arc<BodyBudget>, token: &Arc<Token>, limits: &Limits) -> Self {
        Self {
            all: Arc::clone(all),
            token: Arc::clone(token),
            bytes: 0,
            most: (limits.request_bytes_per_token, limits.request_bytes),
        }
    }

    /// So much of it has come by now. What finds no room is not counted.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), Busy> {
        let more = bytes.saturating_sub(self.bytes);
        let (of_token, in_all) = self.most;
        let full = |bound| Busy { bound, retry_after: PLACE_WAIT };
        if !take(&self.token.held_bytes, more, of_token) {
            return Err(full(Bound::Bytes));
        }
        if !take(&self.all.0, more, in_all) {
            self.token.held_bytes.fetch_sub(more, Ordering::AcqRel);
            return Err(full(Bound::AllBytes));
        }
        self.bytes += more;
        Ok(())
    }
}

impl Drop for BodyCharge {
    fn drop(&mut self) {
        self.token.held_bytes.fetch_sub(self.bytes, Ordering::AcqRel);
        self.all.0.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

fn take(held: &AtomicUsize, more: usize, most: usize) -> bool {
    let taken = held.fetch_update(Ordering::AcqRel, Ordering::Acquire, |held| {
        held.checked_add(more).filter(|held| *held <= most)
    });
    taken.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_token_cannot_take_the_room_of_another_and_gives_back_what_it_took() {
        let limits = Limits { request_bytes_per_token: 100, request_bytes: 150, ..Limits::default() };
        let (one, other) =
            [1, 2].map(|n| Token::full(&n.to_string(), highwater_core::grant::Forms::Never)).into();
        let all = Arc::default();
        let mut first = BodyCharge::new(&all, &one, &limits);
        first.grow(60).unwrap();
        first.grow(100).unwrap();
        assert_eq!(first.grow(101).unwrap_err().bound, Bound::Bytes);
        let mut second = BodyCharge::new(&all, &other, &limits);
        second.grow(50).unwrap();
        assert_eq!(second.grow(51).unwrap_err().bound, Bound::AllBytes);
        drop(first);
        second.grow(100).unwrap();
        drop(second);
        assert_eq!(all.0.load(Ordering::Acquire), 0);
        assert_eq!(other.held_bytes.load(Ordering::Acquire), 0);
    }
}
