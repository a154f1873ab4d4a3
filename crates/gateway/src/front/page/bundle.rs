//! Calls of one conversation that differ in a few values. They are shown on one page, where each is answered for itself:
//! a bundle is a way to look at requests, and nothing that is approved.

use std::collections::BTreeSet;

use highwater_notation::Timestamp;
use serde_json::{Map, Value};

use super::document::headline::arguments;
use crate::approvals::{ContextView, EarlierMatters, RequestView};

/// In how many arguments they may differ. With more, a person would compare tables.
const MAX_DIFFERING: usize = 3;

/// Several requests, the oldest first.
pub(super) struct Bundle<'a> {
    pub(super) members: Vec<&'a RequestView>,
    /// The arguments in which they differ.
    pub(super) differing: BTreeSet<String>,
}

// === impl Bundle ===

impl<'a> Bundle<'a> {
    /// Those of `all` that are like `one` and were open at the same time, with it; `None` if there are none. Among `all`
    /// may be `one` itself.
    pub(super) fn of(one: &RequestView, all: &'a [RequestView]) -> Option<Self> {
        let mut alike: Vec<(&RequestView, Map<String, Value>)> = all
            .iter()
            .filter(|other| is_alike(one, other) && overlap(one, other))
            .filter_map(|other| Some((other, given(other)?)))
            .collect();
        alike.sort_by_key(|(view, _)| (view.id != one.id, view.created));
        let mut kept: Vec<(&RequestView, Map<String, Value>)> = Vec::new();
        for candidate in alike {
            kept.push(candidate);
            if differing(&kept).len() > MAX_DIFFERING {
                kept.pop();
            }
        }
        let differing = differing(&kept);
        let mut members: Vec<&RequestView> = kept.into_iter().map(|(view, _)| view).collect();
        // A row keeps its number, whichever of them the page was opened for.
        members.sort_by(|a, b| (a.created, a.id.as_str()).cmp(&(b.created, b.id.as_str())));
        (members.len() > 1).then_some(Self { members, differing })
    }
}

/// Whether two are the same question but for values of arguments. What could mislead, what several must sign and what
/// asks for more than a yes has a page of its own.
fn is_alike(one: &RequestView, other: &RequestView) -> bool {
    let plain = |view: &RequestView| {
        let conversation = view.context.conversation.as_ref();
        view.hidden == 0
            && view.mixed == 0
            && view.need.n == 1
            && view.need.approvers.is_empty()
            && conversation.is_none_or(|it| it.matters == EarlierMatters::No)
    };
    let around =
        |view: &RequestView| ContextView { decision: None, rememberable: None, ..view.context.clone() };
    plain(one)
        && plain(other)
        && one.kind == other.kind
        && (&one.user, &one.principal, &one.caller) == (&other.user, &other.principal, &other.caller)
        && (&one.tool, &one.server) == (&other.tool, &other.server)
        && one.need == other.need
        && one.context.session.is_some()
        && around(one) == around(other)
}

fn overlap(one: &RequestView, other: &RequestView) -> bool {
    let end = |view: &RequestView| -> Timestamp { view.decided.unwrap_or(view.expires) };
    one.created <= end(other) && other.created <= end(one)
}

/// The arguments of a call, where they are kept.
fn given(view: &RequestView) -> Option<Map<String, Value>> {
    match arguments(view)? {
        Value::Object(members) => Some(members),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
    }
}

fn differing(calls: &[(&RequestView, Map<String, Value>)]) -> BTreeSet<String> {
    let names = calls.iter().flat_map(|(_, given)| given.keys());
    let differs = |name: &&String| {
        let mut values = calls.iter().map(|(_, given)| given.get(*name));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    names.filter(differs).cloned().collect()
}
