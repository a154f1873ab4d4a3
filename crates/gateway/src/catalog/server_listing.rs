//! What a server said of itself and what it listed, as the catalog keeps it.

use std::sync::Arc;

use bytes::Bytes;
use highwater_upstream::Greeting;
use highwater_upstream::control::{ListKind, Listing};

use crate::pins::Observed;

/// What a server said of itself and what it lists.
#[derive(Clone)]
pub(crate) struct ServerListing {
    pub(crate) greeting: Arc<Greeting>,
    pub(crate) tools: Arc<Listing>,
    pub(crate) prompts: Arc<Listing>,
    pub(crate) resources: Arc<Listing>,
    pub(crate) templates: Arc<Listing>,
    /// What was approved of it.
    pub(crate) observed: Arc<Observed>,
    /// The connection on which it was listed.
    pub(super) connection: Option<u64>,
    /// How many connections to it had broken then.
    pub(super) breaks: u64,
    /// It was listed in an earlier run, and not in this one.
    pub(super) is_kept: bool,
}

// === impl ServerListing ===

impl ServerListing {
    /// What a server had in an earlier run: its tools, prompts and templates. Its resources are not kept.
    pub(crate) fn kept(greeting: Greeting, lists: [Arc<Listing>; 3], observed: Arc<Observed>) -> Self {
        let [tools, prompts, templates] = lists;
        Self {
            greeting: Arc::new(greeting),
            tools,
            prompts,
            resources: Arc::default(),
            templates,
            observed,
            connection: None,
            breaks: 0,
            is_kept: true,
        }
    }

    /// Whether it was listed on the same connection, with nothing broken in between, and says the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.connection == other.connection
            && self.breaks == other.breaks
            && self.greeting == other.greeting
            && self.changes_to(other).is_empty()
    }

    /// Which of its lists are others.
    pub(super) fn changes_to(&self, other: &Self) -> Vec<ListKind> {
        let both = self.lists().zip(other.lists());
        both.filter(|((_, old), (_, new))| !old.says_the_same(new)).map(|((kind, _), _)| kind).collect()
    }

    /// Its lists.
    pub(crate) fn lists(&self) -> impl Iterator<Item = (ListKind, &Arc<Listing>)> {
        let kinds = [ListKind::Tools, ListKind::Prompts, ListKind::Resources, ListKind::ResourceTemplates];
        kinds.into_iter().zip([&self.tools, &self.prompts, &self.resources, &self.templates])
    }

    /// The same with other words besides the entries of its lists, where there are some.
    pub(super) fn saying_beside(
        &self,
        said: impl Fn(ListKind, &Listing) -> Option<Vec<(String, Bytes)>>,
    ) -> Arc<Self> {
        let mut shown = self.clone();
        for (kind, listing) in [
            (ListKind::Tools, &mut shown.tools),
            (ListKind::Prompts, &mut shown.prompts),
            (ListKind::Resources, &mut shown.resources),
            (ListKind::ResourceTemplates, &mut shown.templates),
        ] {
            if let Some(rest) = said(kind, listing) {
                *listing = Arc::new(Listing { rest, ..Listing::clone(listing) });
            }
        }
        Arc::new(shown)
    }

    /// The same with the instructions that somebody approved.
    pub(super) fn with_instructions(&self, instructions: Option<Bytes>) -> Arc<Self> {
        let greeting = Greeting { instructions, ..Greeting::clone(&self.greeting) };
        Arc::new(Self { greeting: Arc::new(greeting), ..self.clone() })
    }
}
