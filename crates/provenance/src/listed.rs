//! Things that a server listed, for those who are asked about one by its id. A name here is what the server says, and
//! vouches for nothing.

use std::sync::Arc;

use highwater_core::id::{DecisionId, UpstreamId};

use crate::Evidence;
use crate::normal::normal;

/// Something that a reply listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedThing {
    /// What it is, as its listing says.
    pub kind: Arc<str>,
    /// Its id, in its normal form.
    pub id: String,
    /// What its server calls it, in its normal form.
    pub name: Option<String>,
    /// The call in whose reply it stands.
    pub decision: DecisionId,
}

// === impl ListedThing ===

impl ListedThing {
    /// Whether a value is its id.
    pub fn is_named(&self, value: &str) -> bool {
        self.id == normal(value)
    }
}

// === impl Evidence ===

impl Evidence {
    /// Everything of a server that is still kept, each thing once, as it was listed last.
    pub fn listed(&self, server: &UpstreamId) -> Vec<ListedThing> {
        let mut found: Vec<ListedThing> = Vec::new();
        let replies: Vec<_> = self.replies().filter(|kept| kept.server == *server).collect();
        for kept in replies.into_iter().rev() {
            for record in &kept.listing().records {
                if found.iter().any(|known| known.kind == kept.kind && known.id == record.id) {
                    continue;
                }
                found.push(ListedThing {
                    kind: Arc::clone(&kept.kind),
                    id: record.id.clone(),
                    name: record.names.first().map(|name| name.normal.clone()),
                    decision: kept.decision.clone(),
                });
            }
        }
        found
    }

    /// What a server listed under this id, where that is one thing.
    pub fn listed_as(&self, server: &UpstreamId, id: &str) -> Option<ListedThing> {
        let mut found = self.listed(server).into_iter().filter(|thing| thing.is_named(id));
        found.next().filter(|_| found.next().is_none())
    }
}
