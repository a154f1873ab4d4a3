//! How often something may be asked of the page. Who is signed in is counted by who they are, and those who are not have
//! a count of their own, by address: however much they ask, it takes nothing from anybody who is known.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use highwater_core::id::UserId;

/// What is counted is counted anew after this.
const WINDOW: Duration = Duration::from_secs(60);

/// Of one person: all their pages together.
const PER_PERSON: u32 = 240;
/// Of one person about one request: ten challenges and their answers, and somebody who is in two minds.
const PER_REQUEST: u32 = 40;
/// Of everybody at one address who has not signed in. Signing in is not among it.
const PER_ADDRESS: u32 = 60;

/// How many counts are kept of each kind. Whoever can fill that many could as well be refused.
const MOST: usize = 4096;

/// What somebody who is signed in asks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Known {
    Person(UserId),
    Request(UserId, String),
}

/// The counts.
#[derive(Default)]
pub(super) struct Rates {
    known: Counts<Known>,
    unknown: Counts<IpAddr>,
}

struct Counts<K>(Mutex<HashMap<K, (Instant, u32)>>);

// === impl Rates ===

impl Rates {
    /// Counts one of somebody who is signed in, and says whether that is still all right.
    pub(super) fn admit(&self, counted: Known) -> bool {
        let most = match counted {
            Known::Person(_) => PER_PERSON,
            Known::Request(..) => PER_REQUEST,
        };
        self.known.admit(counted, most)
    }

    /// The same of somebody who is not.
    pub(super) fn admit_unknown(&self, address: IpAddr) -> bool {
        self.unknown.admit(address, PER_ADDRESS)
    }
}

// === impl Counts ===

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash> Counts<K> {
    fn admit(&self, counted: K, most: u32) -> bool {
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

    fn about(request: &str) -> Known {
        Known::Request(UserId::new("owner"), request.to_owned())
    }

    #[test]
    fn each_is_counted_by_itself() {
        let rates = Rates::default();
        for _ in 0..PER_REQUEST {
            assert!(rates.admit(about("a")));
        }
        assert!(!rates.admit(about("a")));
        assert!(rates.admit(about("b")));
        assert!(rates.admit(Known::Request(UserId::new("alice"), "a".to_owned())), "by somebody else");
    }

    #[test]
    fn d13_those_who_are_unknown_use_up_nothing_of_those_who_are_known() {
        let rates = Rates::default();
        for number in 0..u32::try_from(2 * MOST).unwrap() {
            rates.admit_unknown(IpAddr::from(number.to_be_bytes()));
        }
        assert!(!rates.admit_unknown(IpAddr::from([250, 0, 0, 1])), "a full memory refuses");
        assert!(rates.admit(Known::Person(UserId::new("owner"))));
        assert!(rates.admit(about("a")));
    }

    #[test]
    fn what_is_remembered_is_bounded_and_a_full_memory_refuses() {
        let rates = Rates::default();
        for number in 0..MOST {
            assert!(rates.admit(about(&number.to_string())));
        }
        assert!(!rates.admit(about("one more")));
        assert!(rates.admit(about("0")));
    }
}
