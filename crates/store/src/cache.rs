//! The sessions known here, by key. Looked up once per arrival without a session of its own; a front keeps
//! the handle otherwise.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use highwater_core::id::SessionKey;

use crate::entry::Entry;
use crate::key::SessionOwner;

/// Shards, so that lookups do not wait for each other.
const SHARDS: usize = 16;

/// Sessions that a shard keeps although no handle is held. What is dropped is read again from the store.
const KEPT: usize = 1024;

/// All entries.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    hasher: RandomState,
    shards: [Mutex<HashMap<SessionKey, Arc<Entry>>>; SHARDS],
}

// === impl Cache ===

impl Cache {
    /// The entry of a session, made if it is not there. An entry that is there keeps its first owner.
    pub(crate) fn entry(&self, key: &SessionKey, owner: &SessionOwner) -> Arc<Entry> {
        let mut shard = self.shard(key);
        if let Some(entry) = shard.get(key) {
            entry.used.store(true, Ordering::Relaxed);
            return Arc::clone(entry);
        }
        if shard.len() >= KEPT {
            make_room(&mut shard);
        }
        let entry = Arc::new(Entry::new(key.clone(), owner.clone()));
        shard.insert(key.clone(), Arc::clone(&entry));
        entry
    }

    /// The entry of a session, if it is there.
    pub(crate) fn get(&self, key: &SessionKey) -> Option<Arc<Entry>> {
        self.shard(key).get(key).map(Arc::clone)
    }

    /// Drops every copy.
    pub(crate) fn forget_all(&self) {
        for shard in &self.shards {
            shard.lock().unwrap_or_else(PoisonError::into_inner).values().for_each(|entry| entry.forget());
        }
    }

    fn shard(&self, key: &SessionKey) -> MutexGuard<'_, HashMap<SessionKey, Arc<Entry>>> {
        // The remainder is below the number of shards, so there always is one.
        let hash = self.hasher.hash_one(key.as_str());
        let [first, ..] = &self.shards;
        let shard = usize::try_from(hash % SHARDS as u64).ok().and_then(|number| self.shards.get(number));
        shard.unwrap_or(first).lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Drops what nobody holds and nobody looked up since the last time.
fn make_room(shard: &mut HashMap<SessionKey, Arc<Entry>>) {
    shard.retain(|_, entry| Arc::strong_count(entry) > 1 || entry.used.swap(false, Ordering::Relaxed));
    if shard.len() >= KEPT {
        shard.retain(|_, entry| Arc::strong_count(entry) > 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::SessionKind;
    use highwater_core::id::{Principal, VirtualServerId};

    #[test]
    fn a_session_that_is_held_is_never_dropped_and_others_make_room() {
        let owner = SessionOwner {
            principal: Principal::new("agent"),
            virtual_server: VirtualServerId::new("default"),
            kind: SessionKind::Transport,
        };
        let cache = Cache::default();
        let held = cache.entry(&SessionKey::new("held"), &owner);
        for number in 0..3 * KEPT * SHARDS {
            cache.entry(&SessionKey::new(format!("s{number}")), &owner);
        }
        assert!(Arc::ptr_eq(&held, &cache.entry(&SessionKey::new("held"), &owner)));
        let kept: usize = cache.shards.iter().map(|shard| shard.lock().unwrap().len()).sum();
        assert!(kept <= KEPT * SHARDS, "{kept}");
    }
}
