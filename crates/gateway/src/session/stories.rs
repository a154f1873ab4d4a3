//! The stories of the sessions that are open here. Looked at when a label rises and when a person is asked, never on
//! the way of an ordinary call.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use highwater_core::id::SessionKey;
use highwater_core::label::Label;

use super::Story;

/// How many sessions are remembered.
const MAX_SESSIONS: usize = 4096;

/// All stories.
#[derive(Debug, Default)]
pub(crate) struct Stories(Mutex<HashMap<SessionKey, Story>>);

// === impl Stories ===

impl Stories {
    /// Takes a message into the story of a session.
    pub(crate) fn take_in(&self, session: &SessionKey, label: &Label, vouched: bool) {
        self.with(session, |story| story.take_in(label, vouched));
    }

    /// Looks at the story of a session.
    pub(crate) fn with<T>(&self, session: &SessionKey, look: impl FnOnce(&mut Story) -> T) -> T {
        let mut stories = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !stories.contains_key(session) && stories.len() >= MAX_SESSIONS {
            // Whichever: a story that is gone makes a question less telling, not less safe.
            let any = stories.keys().next().cloned();
            any.map(|key| stories.remove(&key));
        }
        look(stories.entry(session.clone()).or_default())
    }
}
