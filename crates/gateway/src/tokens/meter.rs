//! How much a token asks: requests a minute, requests at once, and when it was last used.

use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use highwater_core::grant::Limits;
use highwater_notation::Timestamp;
use tokio::time::Instant;

use super::{BodyCharge, Token};

/// A minute in the unit that is counted in.
const MINUTE: u64 = 60_000_000;

/// How long a client is told to wait when all its places are taken: nobody knows when one is free again.
pub(super) const PLACE_WAIT: Duration = Duration::from_secs(1);

/// When this process began to count. Microseconds since then fit any run.
static BEGINNING: LazyLock<Instant> = LazyLock::new(Instant::now);

/// What is counted of one token, without a lock.
#[derive(Debug, Default)]
pub(super) struct Meter {
    /// The moment at which everything that was let in would have been used up, had it come evenly.
    used_up: AtomicU64,
    running: AtomicU32,
    /// When its last use was written down.
    noted: AtomicU64,
}

/// A place for one request, for as long as this lives.
#[derive(Debug)]
pub(crate) struct Slot {
    token: Option<Arc<Token>>,
    /// The bytes of the request, as long as it is served.
    bytes: Option<BodyCharge>,
}

/// There is no room for another request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Busy {
    /// Which bound was met.
    pub(crate) bound: Bound,
    /// After how long it makes sense to try again.
    pub(crate) retry_after: Duration,
}

/// A bound on what a token asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    Rate,
    Concurrency,
    /// Of bytes held for it.
    Bytes,
    /// Of bytes held for everybody.
    AllBytes,
}

// === impl Meter ===

impl Meter {
    pub(super) fn admit(token: &Arc<Token>, limits: Limits) -> Result<Slot, Busy> {
        let meter = &token.meter;
        let slot = match limits.concurrency {
            Some(most) => meter.enter(token, most.get())?,
            None => Slot { token: None, bytes: None },
        };
        if let Some(per_minute) = limits.per_minute {
            let now = u64::try_from(BEGINNING.elapsed().as_micros()).unwrap_or(u64::MAX);
            meter.count(MINUTE / u64::from(per_minute.get()), now)?;
        }
        Ok(slot)
    }

    fn enter(&self, token: &Arc<Token>, most: u32) -> Result<Slot, Busy> {
        let entered = self.running.fetch_update(Ordering::AcqRel, Ordering::Acquire, |running| {
            (running < most).then_some(running + 1)
        });
        match entered {
            Ok(_) => Ok(Slot { token: Some(Arc::clone(token)), bytes: None }),
            Err(_) => Err(Busy { bound: Bound::Concurrency, retry_after: PLACE_WAIT }),
        }
    }

    /// Lets one in whose share is `share`, if no more than a minute's worth has come early.
    fn count(&self, share: u64, now: u64) -> Result<(), Busy> {
        let mut early = 0;
        let counted = self.used_up.fetch_update(Ordering::AcqRel, Ordering::Acquire, |used_up| {
            let next = used_up.max(now).saturating_add(share);
            early = next.saturating_sub(now).saturating_sub(MINUTE);
            (early == 0).then_some(next)
        });
        counted
            .map(|_| ())
            .map_err(|_| Busy { bound: Bound::Rate, retry_after: Duration::from_micros(early) })
    }

    /// Whether the last use that was written down is this long ago. Of those who ask at once one is told so.
    pub(super) fn is_use_news(&self, now: Timestamp, every: u64) -> bool {
        let noted = self.noted.load(Ordering::Relaxed);
        now.0.saturating_sub(noted) >= every
            && self.noted.compare_exchange(noted, now.0, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

// === impl Slot ===

impl Slot {
    /// The same, with the bytes of the request.
    pub(crate) fn holding(mut self, bytes: Option<BodyCharge>) -> Self {
        self.bytes = bytes;
        self
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(token) = &self.token {
            token.meter.running.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

// === impl Busy ===

impl Busy {
    /// What the client is told.
    pub(crate) fn words(&self) -> &'static str {
        match self.bound {
            Bound::Rate => "this token has made as many requests as it may for now; try again later",
            Bound::Concurrency => "as many requests of this token are under way as may be; try again later",
            Bound::Bytes => {
                "the requests of this token that are under way are as large as they may be together \
                 (`limits.request_bytes_per_token`); try again later"
            }
            Bound::AllBytes => {
                "the requests that are under way are as large as they may be together (`limits.request_bytes`); try again \
                 later"
            }
        }
    }

    /// Whole seconds, rounded up, as `Retry-After` takes them.
    pub(crate) fn seconds(&self) -> u64 {
        self.retry_after.as_secs() + u64::from(self.retry_after.subsec_nanos() > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minutes_worth_may_come_at_once_and_then_one_each_share() {
        let meter = Meter::default();
        let share = MINUTE / 6;
        for _ in 0..6 {
            assert_eq!(meter.count(share, 1_000), Ok(()));
        }
        let busy = meter.count(share, 1_000).unwrap_err();
        assert_eq!(
            (busy.bound, busy.retry_after, busy.seconds()),
            (Bound::Rate, Duration::from_secs(10), 10)
        );
        assert!(meter.count(share, 1_000 + share - 1).is_err());
        assert_eq!(meter.count(share, 1_000 + share), Ok(()));
        assert!(meter.count(share, 1_000 + share).is_err());
        // A refusal costs nothing.
        assert_eq!(meter.count(share, 1_000 + 2 * share), Ok(()));
    }

    #[test]
    fn a_place_is_given_back() {
        let token = Token::full("a", highwater_core::grant::Forms::Never);
        let most = std::num::NonZeroU32::new(2);
        let limits = Limits { concurrency: most, per_minute: None };
        let first = Meter::admit(&token, limits).unwrap();
        let second = Meter::admit(&token, limits).unwrap();
        assert_eq!(Meter::admit(&token, limits).unwrap_err().bound, Bound::Concurrency);
        drop(first);
        let third = Meter::admit(&token, limits).unwrap();
        drop((second, third));
        assert_eq!(token.meter.running.load(Ordering::Acquire), 0);
    }

    #[test]
    fn a_request_that_comes_too_early_takes_no_place() {
        let token = Token::full("a", highwater_core::grant::Forms::Never);
        let one = std::num::NonZeroU32::new(1);
        let limits = Limits { concurrency: one, per_minute: one };
        drop(Meter::admit(&token, limits).unwrap());
        assert_eq!(Meter::admit(&token, limits).unwrap_err().bound, Bound::Rate);
        assert_eq!(token.meter.running.load(Ordering::Acquire), 0);
    }

    #[test]
    fn a_use_is_news_once_in_a_while() {
        let meter = Meter::default();
        assert!(meter.is_use_news(Timestamp(100_000), 60_000));
        assert!(!meter.is_use_news(Timestamp(159_999), 60_000));
        assert!(meter.is_use_news(Timestamp(160_000), 60_000));
    }
}
