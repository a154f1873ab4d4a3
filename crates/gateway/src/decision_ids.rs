//! Names for decisions, unlike those of any other run of the gateway.

use std::sync::atomic::{AtomicU64, Ordering};

use highwater_core::id::DecisionId;

/// Names for decisions.
pub(crate) struct DecisionIds {
    /// Makes those of this run unlike those of any other.
    boot: String,
    next: AtomicU64,
}

// === impl DecisionIds ===

impl DecisionIds {
    /// The names of one run of the gateway.
    pub(crate) fn of_run(boot: String) -> Self {
        Self { boot, next: AtomicU64::new(1) }
    }

    /// A name for the next decision.
    pub(crate) fn next(&self) -> DecisionId {
        decision_id(&self.boot, self.next.fetch_add(1, Ordering::Relaxed))
    }
}

/// The name of a decision: which run of the gateway it is of, and its number in hexadecimal, of five digits at least.
/// Written by hand, since every call has one.
fn decision_id(boot: &str, number: u64) -> DecisionId {
    let mut text = String::with_capacity(boot.len() + 20);
    text.push_str("hwd_");
    text.push_str(boot);
    let digits = number.checked_ilog2().map_or(1, |log| log / 4 + 1).max(5);
    for place in (0..digits).rev() {
        text.extend(char::from_digit((number >> (4 * place) & 15) as u32, 16));
    }
    DecisionId::new(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_are_numbered_in_hexadecimal() {
        for number in [0, 1, 15, 16, 0xf_ffff, 0x10_0000, 0xabcd_ef01, u64::MAX] {
            assert_eq!(decision_id("b00t", number).as_str(), format!("hwd_b00t{number:05x}"));
        }
    }
}
