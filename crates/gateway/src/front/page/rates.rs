//! How often something may be asked of the page: by one address, and about one request.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What is counted is counted anew after this.
const WINDOW: Duration = Duration::from_secs(60);

/// Of one address. All pages of one machine come from one.
const PER_ADDRESS: u32 = 240;
/// About one request: ten challenges and their answers, and a person who is in two minds.
const PER_REQUEST: u32 = 40;
/// Attempts of one address to sign in or to enroll.
const PER_DOOR: u32 = 30;

/// How many counts are kept. Whoever can fill that many could as well be refused.
const MOST: usize = 4096;

/// What is counted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Counted {
    Address(IpAddr),
    Request(String),
    Door(IpAddr),
}

/// The counts.
#[derive(Default)]
pub(super) struct Rates(Mutex<HashMap<Counted, (Instant, u32)>>);

// === impl Rates ===

impl Rates {
    /// Counts one, and says whether that is still all right.
    pub(super) fn admit(&self, counted: Counted) -> bool {
        let most = match counted {
            Counted::Address(_) => PER_ADDRESS,
            Counted::Request(_) => PER_REQUEST,
            Counted::Door(_) => PER_DOOR,
        };
        let now = Instant::now();
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= MOST && !counts.contains_key(&counted) {
            counts.retain(|_, (since, _)| now.duration_since(*since) < WINDOW);
            if counts.len() >= MOST {
                return false;
            }
        }
        let (since, count) = counts.entry(counted).or_insert((now, 0));
        if now.duration_since(*since) >= WINDOW {
            (*since, *count) = (now, 0);
        }
        *count = count.saturating_add(1);
        *count <= most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_counted_by_itself() {
        let rates = Rates::default();
        for _ in 0..PER_REQUEST {
            assert!(rates.admit(Counted::Request("a".to_owned())));
        }
        assert!(!rates.admit(Counted::Request("a".to_owned())));
        assert!(rates.admit(Counted::Request("b".to_owned())));
    }

    #[test]
    fn what_is_remembered_is_bounded_and_a_full_memory_refuses() {
        let rates = Rates::default();
        for number in 0..MOST {
            assert!(rates.admit(Counted::Request(number.to_string())));
        }
        assert!(!rates.admit(Counted::Request("one more".to_owned())));
        assert!(rates.admit(Counted::Request("0".to_owned())));
    }
}
