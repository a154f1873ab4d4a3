//! What a person is shown around a call, from our own state: why it is asked, what is in the session and where it came
//! from, what the server is. What the server wrote stands apart.

use highwater_core::approval::CanonicalArguments;
use highwater_core::audit::label_words;
use highwater_core::decide::{Finding, FindingId};
use highwater_core::policy::Effect;
use highwater_mcp::text::{elements, member, members, string_member, unquote};

use super::super::proposed::{Earlier, Proposed};
use super::signable::Signable;
use super::words;
use crate::approvals::{
    AbsentView, AskView, ContextView, ConversationView, EarlierMatters, EarlierView, OriginView, ServerSays,
};
use crate::session::{Story, rests_on};

/// How many origins are shown.
const MAX_ORIGINS: usize = 32;

/// How many absent arguments are shown.
const MAX_ABSENT: usize = 64;

/// How much of a server's own text is kept.
const MAX_TEXT: usize = 8 * 1024;

/// Everything around a call. `definition` is the tool's as its server wrote it.
pub(super) fn around(
    proposed: &Proposed,
    findings: &[Finding],
    signable: &Signable,
    story: &Story,
    definition: Option<&str>,
) -> ContextView {
    let label = proposed.label();
    let arguments = &signable.arguments;
    let mut asks: Vec<(u8, AskView)> = findings
        .iter()
        .filter(|finding| finding.effect >= Effect::Confirm)
        .map(|finding| {
            let says = words::sentence(proposed, finding, story);
            (rank(&finding.id), AskView { rule: finding.id.to_string(), says })
        })
        .collect();
    // What is unusual comes first.
    asks.sort_by_key(|(rank, _)| *rank);
    let origins = story.of(|_| true).into_iter().take(MAX_ORIGINS);
    ContextView {
        asks: asks.into_iter().map(|(_, ask)| ask).collect(),
        labels: label_words(&label.told()).map(str::to_owned).collect(),
        origins: origins
            .map(|(origin, vouched)| OriginView { origin: origin.to_string(), vouched })
            .collect(),
        destination: Some(destination(proposed)),
        trust: Some(trust(proposed)),
        absent: definition.map(|definition| absent(definition, arguments)).unwrap_or_default(),
        server_says: definition.map(server_says),
        decision: Some(proposed.decision.to_string()),
        session: Some(proposed.session().key().to_string()),
        rememberable: None,
        conversation: Some(conversation(proposed)),
    }
}

/// The conversation that an action belongs to.
pub(super) fn conversation(proposed: &Proposed) -> ConversationView {
    let (session, before) = (proposed.session(), &proposed.before);
    let earlier = before.pending.as_ref().map(|pending| EarlierView {
        labels: label_words(&pending.label).map(str::to_owned).collect(),
        origins: pending
            .label
            .origins()
            .members()
            .iter()
            .take(MAX_ORIGINS)
            .map(ToString::to_string)
            .collect(),
        since: pending.since,
        until: pending.until,
    });
    ConversationView {
        rests_on: rests_on(session),
        key: session.key().to_string(),
        epoch: before.epoch,
        way: session.way().map(ToString::to_string),
        earlier,
        matters: match proposed.earlier {
            Earlier::Indifferent => EarlierMatters::No,
            Earlier::Asks(_) => EarlierMatters::Asks,
            Earlier::Blocks => EarlierMatters::Blocks,
        },
    }
}

fn rank(id: &FindingId) -> u8 {
    match id {
        FindingId::Flow(rule) => rule.gate().rank,
        FindingId::Rule(_) => 2,
        _ => 3,
    }
}

fn destination(proposed: &Proposed) -> String {
    let members = proposed.contract.destination().members();
    let words: Vec<&str> = members.iter().map(|destination| destination.as_str()).collect();
    match words.as_slice() {
        [] => "nobody".to_owned(),
        [one] => (*one).to_owned(),
        // Of a tool that says nothing of it everything is possible, and a list of all would read as if it were known.
        all if all.contains(&"ephemeral") && all.contains(&"public") => {
            "anybody, for all that is known".to_owned()
        }
        some => format!("one of {}", some.join(", ")),
    }
}

fn trust(proposed: &Proposed) -> String {
    if proposed.is_verified() { "verified by the operator" } else { "not verified" }.to_owned()
}

/// Optional arguments that are not there, with the defaults that the schema declares for them.
fn absent(definition: &str, arguments: &CanonicalArguments) -> Vec<AbsentView> {
    let Some(schema) = member(definition, "inputSchema") else { return Vec::new() };
    let required: Vec<_> =
        member(schema, "required").into_iter().flat_map(elements).filter_map(unquote).collect();
    let properties = member(schema, "properties").into_iter().flat_map(members);
    properties
        .filter(|(name, _)| !required.contains(name) && member(arguments.as_str(), name).is_none())
        .take(MAX_ABSENT)
        .map(|(name, property)| AbsentView {
            name: name.into_owned(),
            default: member(property, "default").map(cut),
        })
        .collect()
}

fn server_says(definition: &str) -> ServerSays {
    ServerSays {
        title: string_member(definition, "title").map(|text| cut(&text)),
        description: string_member(definition, "description").map(|text| cut(&text)),
        display_text: None,
    }
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_TEXT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_absent_is_shown_with_its_default() {
        let definition = r#"{"inputSchema":{"required":["path"],"properties":{"path":{},"force":{"default":false},
            "depth":{"default":3},"note":{}}}}"#;
        let arguments = CanonicalArguments::read(Some(r#"{"path":"a","depth":1}"#)).unwrap();
        let shown = absent(definition, &arguments);
        let shown: Vec<_> = shown.iter().map(|it| (it.name.as_str(), it.default.as_deref())).collect();
        assert_eq!(shown, [("force", Some("false")), ("note", None)]);
        assert!(absent("{}", &arguments).is_empty());
    }
}
