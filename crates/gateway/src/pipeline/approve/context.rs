//! What a person is shown around a call, from our own state: why it is asked, what is in the session and where it came
//! from, what the server is. What the server wrote stands apart.

use highwater_audit::label_words;
use highwater_core::annotation::{Authority, Axis, Destination, Outcome};
use highwater_core::decide::{Finding, FindingId};
use highwater_core::policy::Effect;
use highwater_mcp::text::{elements, member, members, string_member, unquote};

use super::super::proposed::{Earlier, Proposed};
use super::signable::Signable;
use super::words;
use crate::approvals::{
    AbsentView, AskView, ContextView, ConversationView, EarlierMatters, EarlierView, FieldView, ListedView,
    OpenedView, OriginView, ServerSays, Undo,
};
use crate::session::{Story, rests_on};

/// How many origins are shown.
const MAX_ORIGINS: usize = 32;

/// How many absent arguments are shown.
const MAX_ABSENT: usize = 64;

/// How many arguments have words of their server.
const MAX_FIELDS: usize = 128;

/// How much of what a server says of one argument is kept.
const MAX_WORDS: usize = 200;

/// How much of a server's own text is kept.
const MAX_TEXT: usize = 8 * 1024;

/// Everything around a call. `definition` is the tool's as its server wrote it.
pub(super) fn around(
    proposed: &Proposed,
    findings: &[Finding],
    signable: &Signable,
    story: &Story,
    definition: Option<&str>,
    (values, listed): (Vec<String>, Vec<ListedView>),
) -> ContextView {
    let label = proposed.label();
    let arguments = &signable.arguments;
    let wrapped = signable.is_call && !signable.is_direct;
    let given = arguments.as_str();
    let given = if wrapped { member(given, "arguments").unwrap_or("{}") } else { given };
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
    say_once(&mut asks, &words::doubtful(label, story));
    let origins = story.of(|_| true).into_iter().take(MAX_ORIGINS);
    ContextView {
        display: proposed.known().display.as_ref().map(|sentence| sentence.as_str().to_owned()),
        fields: definition.map(fields).unwrap_or_default(),
        wrapped,
        undo: undo(proposed),
        values,
        listed,
        asks: asks.into_iter().map(|(_, ask)| ask).collect(),
        labels: label_words(&label.told()).map(str::to_owned).collect(),
        origins: origins
            .map(|(origin, vouched)| OriginView { origin: origin.to_string(), vouched })
            .collect(),
        destination: Some(destination(proposed)),
        trust: Some(trust(proposed)),
        absent: definition.map(|definition| absent(definition, given)).unwrap_or_default(),
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
    let opened = proposed.host.as_ref().and_then(|bound| bound.opened.as_ref());
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
        way: session.way().or(opened.map(|_| session.key())).map(ToString::to_string),
        opened: opened.map(|opened| OpenedView {
            host: opened.host.title().to_owned(),
            folder: opened.folder.clone(),
            at: opened.at,
        }),
        earlier,
        matters: match proposed.earlier {
            Earlier::Indifferent => EarlierMatters::No,
            Earlier::Asks(_) => EarlierMatters::Asks,
            Earlier::Blocks => EarlierMatters::Blocks,
        },
    }
}

/// Where one reason begins with a sentence, no other ends with it.
fn say_once(asks: &mut [(u8, AskView)], sentence: &str) {
    if asks.iter().any(|(_, ask)| ask.says.starts_with(sentence)) {
        for (_, ask) in asks {
            if let Some(rest) = ask.says.strip_suffix(sentence).filter(|rest| !rest.is_empty()) {
                ask.says = rest.trim_end().to_owned();
            }
        }
    }
}

fn rank(id: &FindingId) -> u8 {
    match id {
        FindingId::Flow(rule) => rule.gate().rank,
        FindingId::Rule(_) => 2,
        _ => 3,
    }
}

/// Where what a call is given goes, in a sentence. Of a tool that says nothing everything is possible, and a list of all
/// would read as if it were known.
fn destination(proposed: &Proposed) -> String {
    if proposed.contract.basis(Axis::Destination) == Authority::Nothing {
        return "Nobody has said where this tool sends what it is given. It may reach anybody.".to_owned();
    }
    let members = proposed.contract.destination().members();
    let says = |destination: Destination| match destination {
        Destination::Ephemeral => "is used for the answer and kept nowhere",
        Destination::System => "stays inside the system that runs the tool",
        Destination::User => "stays with you, on this machine or in an account of yours",
        Destination::Internal => "stays inside your organisation",
        Destination::Public => "may be seen by anybody",
    };
    let words: Vec<&str> = members.iter().map(says).collect();
    match words.as_slice() {
        [] => "What it is given goes nowhere.".to_owned(),
        some => format!("What it is given {}.", some.join(", or ")),
    }
}

/// Only what somebody said: where nobody did, the worst is assumed, and that is no news to tell.
fn undo(proposed: &Proposed) -> Undo {
    let contract = &proposed.contract;
    let outcomes = contract.outcomes();
    match contract.basis(Axis::Outcomes) {
        Authority::Nothing => Undo::Unsaid,
        _ if !outcomes.contains(Outcome::Irreversible) => Undo::Unsaid,
        Authority::Profile | Authority::Inferred => Undo::Doubtful,
        _ if outcomes.is_only(Outcome::Irreversible) => Undo::Impossible,
        _ => Undo::Doubtful,
    }
}

/// The arguments that a tool declares, in its order.
fn fields(definition: &str) -> Vec<FieldView> {
    let properties = member(definition, "inputSchema").and_then(|schema| member(schema, "properties"));
    let words = |property: &str, key: &str| {
        string_member(property, key).map(|text| text.chars().take(MAX_WORDS).collect::<String>())
    };
    properties
        .into_iter()
        .flat_map(members)
        .take(MAX_FIELDS)
        .map(|(name, property)| FieldView {
            title: words(property, "title"),
            description: words(property, "description"),
            name: name.into_owned(),
        })
        .collect()
}

fn trust(proposed: &Proposed) -> String {
    if proposed.is_verified() { "verified by the operator" } else { "not verified" }.to_owned()
}

/// Optional arguments that are not there, with the defaults that the schema declares for them.
fn absent(definition: &str, arguments: &str) -> Vec<AbsentView> {
    let Some(schema) = member(definition, "inputSchema") else { return Vec::new() };
    let required: Vec<_> =
        member(schema, "required").into_iter().flat_map(elements).filter_map(unquote).collect();
    let properties = member(schema, "properties").into_iter().flat_map(members);
    properties
        .filter(|(name, _)| !required.contains(name) && member(arguments, name).is_none())
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
    use highwater_notation::CanonicalArguments;

    use super::*;

    #[test]
    fn a_sentence_is_said_once() {
        let ask = |says: &str| (0, AskView { rule: String::new(), says: says.to_owned() });
        let mut asks = [ask("It holds data. Strangers write."), ask("Strangers write. They may want this.")];
        say_once(&mut asks, "Strangers write.");
        assert_eq!(asks.map(|(_, ask)| ask.says), ["It holds data.", "Strangers write. They may want this."]);
        let mut alone = [ask("It holds data. Strangers write.")];
        say_once(&mut alone, "Strangers write.");
        assert_eq!(alone[0].1.says, "It holds data. Strangers write.");
    }

    #[test]
    fn what_is_absent_is_shown_with_its_default() {
        let definition = r#"{"inputSchema":{"required":["path"],"properties":{"path":{},"force":{"default":false},
            "depth":{"default":3},"note":{}}}}"#;
        let arguments = CanonicalArguments::read(Some(r#"{"path":"a","depth":1}"#)).unwrap();
        let shown = absent(definition, arguments.as_str());
        let shown: Vec<_> = shown.iter().map(|it| (it.name.as_str(), it.default.as_deref())).collect();
        assert_eq!(shown, [("force", Some("false")), ("note", None)]);
        assert!(absent("{}", arguments.as_str()).is_empty());
    }
}
