//! Things that a server listed, as an answer may cover them: this tool on each of these, until the user says something new.
//! It is offered at the second such question and names what it covers, so that a long task is one question more and not one
//! for each thing.

use std::sync::Arc;

use highwater_provenance::ListedThing;
use serde::{Deserialize, Serialize};

use super::scope::{Values, cut, hashed};

/// How an answer about listed things begins as it is kept. Neither a digest, a host nor a folder begins so.
const KEPT: &str = "listed ";

/// How many things an answer covers at most. Who is shown more has not looked at them.
const MOST_THINGS: usize = 50;

/// A call that names one thing that its server listed.
#[derive(Clone, Debug)]
pub(crate) struct ListedCall {
    /// The request of the user that it belongs to.
    pub(crate) request: Arc<str>,
    /// The argument that names the thing.
    pub(crate) argument: String,
    /// The thing.
    pub(crate) thing: ListedThing,
    /// Everything of its kind that the server listed, itself among it.
    pub(crate) alike: Vec<ListedThing>,
    /// Whether somebody was asked about such a call before, in this request.
    pub(crate) was_asked: bool,
}

/// Things of one kind, acted on in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ListedThings {
    request: String,
    /// The digest of every argument but the one that names the thing, and of its name.
    others: String,
    /// Digests of the ids.
    ids: Vec<String>,
    /// What the server calls them, and else their ids.
    names: Vec<String>,
}

// === impl ListedThings ===

impl ListedThings {
    /// What an answer to this call may cover; nothing at the first such question, and where there is too much to look at.
    pub(super) fn offered(call: &ListedCall, values: &Values<'_>) -> Option<Self> {
        let count = call.alike.len();
        if !call.was_asked || !(2..=MOST_THINGS).contains(&count) {
            return None;
        }
        let name = |thing: &ListedThing| cut(thing.name.as_deref().unwrap_or(&thing.id));
        Some(Self {
            request: call.request.to_string(),
            others: values.digest_without(&call.argument),
            ids: call.alike.iter().map(|thing| hashed(&thing.id)).collect(),
            names: call.alike.iter().map(name).collect(),
        })
    }

    /// What it covers, in words. The names are the server's.
    pub(super) fn words(&self, tool: &str) -> String {
        let names: Vec<String> = self.names.iter().map(|name| format!("“{name}”")).collect();
        let count = names.len();
        format!("any `{tool}` of these {count} things, as its server lists them: {}", names.join(", "))
    }

    /// How an answer about them is kept.
    pub(super) fn kept(&self) -> String {
        format!("{KEPT}{} {} {}", self.request, self.others, self.ids.join(","))
    }

    /// Whether what was kept covers a call.
    pub(super) fn covers(kept: &str, call: &ListedCall, values: &Values<'_>) -> bool {
        let Some(mut parts) = kept.strip_prefix(KEPT).map(|kept| kept.split(' ')) else { return false };
        let (request, others, ids) = (parts.next(), parts.next(), parts.next());
        let id = hashed(&call.thing.id);
        request == Some(&*call.request)
            && others == Some(&*values.digest_without(&call.argument))
            && ids.is_some_and(|ids| ids.split(',').any(|known| known == id))
    }
}
