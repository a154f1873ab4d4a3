//! Who speaks SEP-2672 itself: whoever says so, and whoever has lately used its methods or its evidence (G19).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use highwater_config::ApprovalFlow;
use highwater_core::id::Principal;
use highwater_mcp::annotations::APPROVAL_EXTENSIONS;
use highwater_mcp::text::member;
use tokio::time::Instant;

use super::Desk;

/// For how long one who used the methods counts as native.
const LASTS: Duration = Duration::from_secs(60 * 60);

/// How many principals are remembered.
const MOST: usize = 4096;

/// Who has lately used the methods or the evidence.
#[derive(Default)]
pub(super) struct Natives(Mutex<HashMap<Principal, Instant>>);

// === impl Natives ===

impl Natives {
    fn note(&self, principal: &Principal) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if known.len() >= MOST {
            known.retain(|_, last| now.duration_since(*last) < LASTS);
        }
        if known.len() < MOST || known.contains_key(principal) {
            known.insert(principal.clone(), now);
        }
    }

    fn knows(&self, principal: &Principal) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(principal).is_some_and(|last| last.elapsed() < LASTS)
    }
}

// === impl Desk ===

impl Desk {
    /// Notes that a principal uses the methods or the evidence of SEP-2672.
    pub(crate) fn note_native(&self, principal: &Principal) {
        self.natives.note(principal);
    }

    /// Whether a principal is to be rejected in the manner of SEP-2672. `declared` is whether its client says so.
    pub(crate) fn is_native(&self, principal: &Principal, declared: bool) -> bool {
        declared || self.settings().flow == ApprovalFlow::NativeOnly || self.natives.knows(principal)
    }
}

/// Whether the extensions that a client declares, as JSON text, have this one.
pub(crate) fn declares_approval(extensions: &str) -> bool {
    APPROVAL_EXTENSIONS.iter().any(|key| member(extensions, key).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn g19_whoever_used_the_methods_is_native_for_an_hour() {
        let natives = Natives::default();
        let (one, other) = (Principal::new("one"), Principal::new("other"));
        natives.note(&one);
        assert!(natives.knows(&one) && !natives.knows(&other));
        tokio::time::advance(LASTS).await;
        assert!(!natives.knows(&one));
    }
}
