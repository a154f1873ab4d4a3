//! What a person reads who is asked. It is made from our own state: names that the operator or the catalog gave, classes
//! of data, origins, and the names of files in doubt. Nothing else of arguments and no text of an upstream is in it.

use std::sync::Arc;

use highwater_core::action::ActionKind;
use highwater_core::annotation::{Authority, Axis, ClassSet, DataClass, Destination};
use highwater_core::decide::{Concern, DOUBTED_FILES, Finding, FindingId, FlowRule, Reason};
use highwater_core::label::{ANOTHER_CONVERSATION, Label};
use highwater_core::policy::{Effect, Seen, SeenValue};

use super::super::proposed::Proposed;
use crate::session::{Story, rests_on};

/// How many origins are named.
const MAX_ORIGINS: usize = 3;

/// The longest origin that is shown.
const MAX_ORIGIN: usize = 120;

/// The whole question.
///
/// `values` are sentences on where its values come from.
pub(super) fn question(
    proposed: &Proposed,
    findings: &[Finding],
    story: &Story,
    values: Vec<String>,
    offers: bool,
) -> String {
    let mut text = format!("Allow {}?\n", subject(proposed));
    let mut told = values;
    for finding in findings.iter().filter(|finding| finding.effect >= Effect::Confirm) {
        let sentence = sentence(proposed, finding, story);
        if !told.contains(&sentence) {
            told.push(sentence);
        }
    }
    for sentence in told {
        text.push('\n');
        text.push_str(&sentence);
    }
    if let Some(sentence) = undescribed(proposed) {
        text.push_str("\n\n");
        text.push_str(&sentence);
    }
    if let Some(sentence) = presumed(proposed) {
        text.push_str("\n\n");
        text.push_str(&sentence);
    }
    text.push_str("\n\nThe answer counts for this one call, exactly as it was made");
    text.push_str(if offers { ", unless you choose more." } else { "." });
    text
}

/// How to say once what the server is, where nobody did. Never in the form itself: it holds for every agent.
fn undescribed(proposed: &Proposed) -> Option<String> {
    let (known, contract) = (proposed.known(), &proposed.contract);
    let is_unknown =
        [Axis::Destination, Axis::Outcomes].iter().any(|axis| contract.basis(*axis) == Authority::Nothing);
    // What stays on this machine and can be undone is no question at a server that is known to be of it.
    let may_be_local = contract.destination().is_only(Destination::User) && !known.shape.objects().is_empty();
    if proposed.action.kind() != ActionKind::CallTool || !known.undescribed || !(is_unknown || may_be_local) {
        return None;
    }
    let server = proposed.action.upstream();
    Some(format!(
        "Nobody has said what server `{server}` is, so it is taken for the worst. `highwater servers describe {server}` asks \
         you two things, which may end such questions."
    ))
}

/// How to say that this is a new conversation, where nobody says which it is. Never in the form itself: a form is the
/// client's word.
fn presumed(proposed: &Proposed) -> Option<String> {
    proposed.session().way()?;
    let principal = &proposed.caller.principal;
    Some(format!(
        "What tells this conversation apart is {}. If it is a new one, `highwater session new --principal {principal}` says \
         so.",
        rests_on(proposed.session())
    ))
}

/// Why one finding makes it a question.
pub(super) fn sentence(proposed: &Proposed, finding: &Finding, story: &Story) -> String {
    let session = proposed.label();
    match &finding.id {
        FindingId::Flow(rule) => {
            let gate = rule.gate();
            match gate.concern {
                Concern::PrivateData => private(session, story, gate.consequence),
                // The session may be one that nobody doubts: then it is asked for what the request does not say.
                Concern::UntrustedText
                    if *rule == FlowRule::Act && !finding.reasons.contains(&Reason::UntrustedActs) =>
                {
                    "Your request does not ask for this, and what goes out cannot be fetched back.".to_owned()
                }
                Concern::UntrustedText => doubtful(session, story) + gate.consequence,
                Concern::DoubtedFiles => doubted(finding) + gate.consequence,
            }
        }
        FindingId::Conversation => {
            "What was read before a silence forbids it. If this is a new conversation, that no longer counts."
                .to_owned()
        }
        FindingId::Approval => wanted(proposed, finding),
        FindingId::Cap => above(finding),
        FindingId::Rule(name) => match &finding.message {
            Some(message) => format!("Rule `{name}`: {message}"),
            None => format!("Rule `{name}` asks that a person looks at this call."),
        },
        _ => "The gateway asks that a person looks at this call.".to_owned(),
    }
}

/// Whose wish it is that a person looks: nobody else's than who said so.
fn wanted(proposed: &Proposed, finding: &Finding) -> String {
    let by = proposed.contract.basis(Axis::Approval);
    let server = proposed.action.upstream();
    let who = if finding.reasons.contains(&Reason::VerifiedApprovalRequired) {
        format!("Server `{server}` asks for")
    } else if by.is_operator() {
        "Your configuration asks for".to_owned()
    } else {
        format!("What server `{server}` says of this tool asks for")
    };
    let what = if finding.effect >= Effect::Passkey { "a passkey" } else { "a person’s yes" };
    let label = proposed.known().cases.as_ref();
    let has_cases = by.is_operator() && label.is_some_and(|label| !label.cases().is_empty());
    let when = if has_cases { "calls like this one" } else { "every call of this tool" };
    format!("{who} {what} at {when}.")
}

/// Which number is larger than the operator lets pass.
fn above(finding: &Finding) -> String {
    let bounds = finding.saw.iter().flat_map(|seen| match &seen.value {
        SeenValue::Many(bounds) => bounds.as_slice(),
        _ => &[],
    });
    let bounds: Vec<&str> = bounds.map(String::as_str).collect();
    format!("Your configuration asks for a person’s yes: {}.", bounds.join(", "))
}

/// The question about a reply that is held back.
pub(super) fn question_about_reply(
    proposed: &Proposed,
    findings: &[Finding],
    flagged: Option<&Label>,
) -> String {
    let mut text = format!("Let the agent read the reply to {}?\n", subject(proposed));
    for finding in findings.iter().filter(|finding| finding.effect >= Effect::Confirm) {
        let sentence = match (&finding.id, &finding.message) {
            (FindingId::Rule(name), Some(message)) => format!("\nRule `{name}`: {message}"),
            (FindingId::Rule(name), None) => format!("\nRule `{name}` asks that a person looks at it."),
            _ => "\nIt holds private data, and this conversation has read text that strangers may have written."
                .to_owned(),
        };
        text.push_str(&sentence);
    }
    if let Some(reply) = flagged {
        let server = proposed.action.upstream();
        text.push_str(&format!("\nServer `{server}` reports that it may be malicious"));
        let origins: Vec<_> =
            reply.origins().members().iter().map(|origin| (Arc::clone(origin), true)).collect();
        from(&mut text, &origins);
        text.push('.');
    }
    text.push_str("\n\nThe call has run already. The answer counts for this one reply.");
    text
}

/// What is to be done, in names that are ours.
fn subject(proposed: &Proposed) -> String {
    let server = proposed.action.upstream();
    match (&proposed.route.tool, proposed.action.kind()) {
        (Some(tool), _) => format!("`{}` of server `{server}`", tool.shown),
        (None, ActionKind::ReadResource | ActionKind::Subscribe) => {
            format!("reading a resource of server `{server}`")
        }
        (None, ActionKind::GetPrompt) => format!("a prompt of server `{server}`"),
        (None, ActionKind::Complete) => format!("a completion by server `{server}`"),
        (None, ActionKind::Answer) => format!("an answer to a question of server `{server}`"),
        (None, _) => format!("a request to server `{server}`"),
    }
}

fn private(session: &Label, story: &Story, consequence: &str) -> String {
    let mut text = format!("This conversation holds {}", classes(session.told().classes()));
    from(&mut text, &story.of(Label::private));
    text.push_str(consequence);
    if session.untrusted() {
        text.push(' ');
        text.push_str(&doubtful(session, story));
    }
    text
}

/// What of a conversation strangers may have written: which tools brought it, where that is known.
pub(super) fn doubtful(session: &Label, story: &Story) -> String {
    let mut read = String::new();
    from(&mut read, &story.of(Label::untrusted));
    let mut text = match read.strip_prefix(", from ") {
        Some(origins) => format!("This conversation has read {origins}, where strangers may write"),
        None => "This conversation has read text that strangers may have written".to_owned(),
    };
    text.push('.');
    if session.malicious() {
        text.push_str(" Some of it was reported as malicious");
        from(&mut text, &story.of(Label::malicious));
        text.push('.');
    }
    text
}

/// Which files are in doubt.
fn doubted(finding: &Finding) -> String {
    let files: Vec<String> = match finding.saw.iter().find(|seen| seen.fact == DOUBTED_FILES) {
        Some(Seen { value: SeenValue::Many(files), .. }) => files.iter().map(|file| shown(file)).collect(),
        _ => Vec::new(),
    };
    format!(
        "It runs or hands on files that were written after strangers' text had been read, and nobody has looked at them \
         since: {}.",
        files.join(", ")
    )
}

/// A file by its name. An agent chose that, so it is shown as a name or not at all.
fn shown(file: &str) -> String {
    let is_plain = |letter: char| letter == ' ' || letter.is_ascii_graphic() && letter != '`';
    if file.len() <= MAX_ORIGIN && file.chars().all(is_plain) {
        format!("`{file}`")
    } else {
        "a file with a name that is not plain".to_owned()
    }
}

/// Names origins: our own first, as `TOOL of server SERVER`; then what verified servers say, if it is a plain address.
fn from(text: &mut String, origins: &[(Arc<str>, bool)]) {
    let ours = origins.iter().filter_map(|(origin, _)| our_origin(origin));
    let theirs = origins
        .iter()
        .filter(|(origin, vouched)| *vouched && is_plain_address(origin))
        .map(|(origin, _)| format!("`{origin}`"));
    let others = origins.iter().any(|(origin, _)| **origin == *ANOTHER_CONVERSATION);
    let others = others.then(|| "another conversation".to_owned());
    let named: Vec<String> = ours.chain(theirs).chain(others).collect();
    let (shown, more) = named.split_at(named.len().min(MAX_ORIGINS));
    if !shown.is_empty() {
        text.push_str(", from ");
        text.push_str(&shown.join(", "));
    }
    if !more.is_empty() {
        text.push_str(&format!(" and {} more", more.len()));
    }
}

fn our_origin(origin: &str) -> Option<String> {
    let (server, tool) = origin.strip_prefix("mcp:")?.split_once(':')?;
    let plain =
        |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'));
    (tool.len() <= MAX_ORIGIN && plain(server) && plain(tool))
        .then(|| format!("`{tool}` of server `{server}`"))
}

/// An address without room for sentences.
fn is_plain_address(origin: &str) -> bool {
    let plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '/' | '.' | '-' | '_' | '#' | '@' | '~');
    origin.len() <= MAX_ORIGIN && origin.contains("://") && origin.chars().all(plain)
}

fn classes(classes: ClassSet) -> String {
    let words: Vec<&str> = classes
        .iter()
        .map(|class| match class {
            DataClass::User => "data of yours",
            DataClass::Pii => "personal data",
            DataClass::Financial => "financial data",
            DataClass::Credentials => "credentials",
            DataClass::Regulated => "regulated data",
            DataClass::Confidential => "confidential data",
            DataClass::Unclassified => "data that nobody classified",
            DataClass::Named => "data of a class of your own",
        })
        .collect();
    words.join(", ")
}
