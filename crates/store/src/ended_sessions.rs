//! Sessions that were ended lately. That is written down a little later, and meanwhile nobody may take them up again.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use highwater_core::id::SessionKey;

/// How many are remembered: far more than can wait to be written.
const MOST: usize = 4096;

#[derive(Debug, Default)]
pub(crate) struct Ended(Mutex<VecDeque<SessionKey>>);

// === impl Ended ===

impl Ended {
    pub(crate) fn note(&self, key: SessionKey) {
        let mut ended = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if ended.len() == MOST {
            ended.pop_front();
        }
        ended.push_back(key);
    }

    pub(crate) fn contains(&self, key: &SessionKey) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(key)
    }
}
