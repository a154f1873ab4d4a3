//! People whom the operator knows, and the user's own addresses.

use std::collections::{BTreeMap, BTreeSet};

use highwater_core::provenance::People;

use crate::Body;

/// Own identities, and the addresses of people by name.
#[derive(Clone, Debug)]
pub struct Directory {
    /// Whom a given name may stand for.
    pub people: People,
    identities: BTreeSet<String>,
    addresses: BTreeMap<String, BTreeSet<String>>,
}

// === impl Directory ===

impl Directory {
    /// A directory of the user's own addresses and accounts (`identity:`), without anybody else.
    pub fn new<'a>(identities: impl IntoIterator<Item = &'a str>, people: People) -> Self {
        Self {
            people,
            identities: identities.into_iter().map(str::to_owned).collect(),
            addresses: BTreeMap::new(),
        }
    }

    /// Adds a person.
    pub fn add(&mut self, name: &str, address: &str) {
        self.addresses.entry(name.to_owned()).or_default().insert(address.to_owned());
    }

    /// Adds everybody of a lookup that the operator trusts (`directory: [{tool: …}]`).
    pub fn read(&mut self, _reply: &Body) {}
}
