//! Joins that wait for the store to come back. Only labels that no decision could see wait here: what they stand for is
//! released already.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use highwater_core::decide::Overlooked;
use highwater_core::id::SessionKey;
use highwater_core::label::Label;

use crate::SessionHandle;
use crate::entry::Entry;
use crate::store::Inner;

/// The most sessions whose joins may wait. A label of one more is not released.
const MOST_WAITING: usize = 4096;

/// How often the store is asked again.
const AGAIN: Duration = Duration::from_secs(1);

/// What is still to be joined, by session.
#[derive(Debug, Default)]
pub(crate) struct Postponed(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    labels: HashMap<SessionKey, (Arc<Entry>, Label)>,
    /// Somebody is writing them.
    is_written: bool,
}

// === impl Postponed ===

impl Postponed {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What waits now.
    fn waiting(&self) -> Vec<(Arc<Entry>, Label)> {
        self.lock().labels.values().cloned().collect()
    }

    /// Forgets what was written, unless there is more of it by now.
    fn written(&self, entry: &Entry, label: &Label) {
        let labels = &mut self.lock().labels;
        if labels.get(&entry.key).is_some_and(|(_, waiting)| label.includes(waiting)) {
            labels.remove(&entry.key);
        }
    }

    /// Whether everything is written; whoever hears so is done.
    fn is_done(&self) -> bool {
        let mut waiting = self.lock();
        let done = waiting.labels.is_empty();
        waiting.is_written = !done;
        done
    }
}

// === impl Inner ===

impl Inner {
    /// Keeps a label to be joined as soon as the store can. Whether there was room for it.
    pub(crate) fn postpone(self: &Arc<Self>, entry: &Arc<Entry>, overlooked: &Overlooked<'_>) -> bool {
        let mut waiting = self.postponed.lock();
        if waiting.labels.len() >= MOST_WAITING && !waiting.labels.contains_key(&entry.key) {
            return false;
        }
        let fresh = || (Arc::clone(entry), Label::bottom());
        waiting.labels.entry(entry.key.clone()).or_insert_with(fresh).1.join(overlooked.label());
        if !std::mem::replace(&mut waiting.is_written, true) {
            let this = Arc::clone(self);
            this.begin_unfinished();
            tokio::spawn(async move {
                this.write_postponed().await;
                this.end_unfinished();
            });
        }
        true
    }

    async fn write_postponed(self: &Arc<Self>) {
        while !self.postponed.is_done() {
            tokio::time::sleep(AGAIN).await;
            for (entry, label) in self.postponed.waiting() {
                match SessionHandle::new(Arc::clone(self), Arc::clone(&entry)).write(&label).await {
                    Ok(_joined) => self.postponed.written(&entry, &label),
                    Err(error) => {
                        tracing::debug!(%error, "labels wait to be stored");
                        break;
                    }
                }
            }
        }
        tracing::info!("the session store is back, and nothing waits for it any more");
    }
}
