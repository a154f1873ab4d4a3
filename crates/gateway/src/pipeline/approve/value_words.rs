//! What a person reads first who is asked: which value of the call is not in their request, and where it came from. Names
//! of arguments and tools are shown as names or not at all; no text of an upstream is in it.

use highwater_core::decide::{Concern, Effect, Finding, FindingId, FlowMode};
use highwater_core::id::DecisionId;
use highwater_core::provenance::{ArgumentStanding, Ground, Lack, Need, Standing};

use super::super::proposed::Proposed;

/// How many sentences are said.
const MAX_SENTENCES: usize = 6;

/// The longest name that is shown.
const MAX_NAME: usize = 120;

/// The call in whose reply a value stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplySource {
    /// The tool as the client calls it.
    pub tool: String,
    /// The thing that the user named and that was read by this call: the request leaves the value to it.
    pub named: Option<String>,
}

/// What a call lacks to count as asked for, in sentences; nothing where that is no question.
pub(super) fn sentences(
    proposed: &Proposed,
    findings: &[Finding],
    source: &dyn Fn(&DecisionId) -> Option<ReplySource>,
) -> Vec<String> {
    let Some(provenance) = proposed.facts().provenance else { return Vec::new() };
    if !findings.iter().any(is_about_values) {
        return Vec::new();
    }
    let lacks = match proposed.flow_mode() {
        FlowMode::Strict => &provenance.lacks_strictly,
        FlowMode::Observe | FlowMode::Balanced | FlowMode::Samos => &provenance.lacks,
    };
    value_sentences(proposed.name(), lacks, &provenance.arguments, source)
}

/// What a call of this tool lacks, in sentences. The same are told to those who are asked and to those who look it up.
pub fn value_sentences(
    tool: &str,
    lacks: &[Lack],
    arguments: &[ArgumentStanding],
    source: &dyn Fn(&DecisionId) -> Option<ReplySource>,
) -> Vec<String> {
    let tool = name(tool);
    let mut said: Vec<String> = Vec::new();
    for lack in lacks {
        let sentence = sentence(&tool, lack, arguments, source);
        if !said.contains(&sentence) {
            said.push(sentence);
        }
    }
    said.truncate(MAX_SENTENCES);
    said
}

/// Whether a finding would not be there if the user had asked for exactly this.
fn is_about_values(finding: &Finding) -> bool {
    let FindingId::Flow(rule) = &finding.id else { return false };
    finding.effect >= Effect::Confirm
        && match rule.gate().concern {
            Concern::PrivateData | Concern::UntrustedText => true,
            Concern::DoubtedFiles => false,
        }
}

fn sentence(
    tool: &str,
    lack: &Lack,
    arguments: &[ArgumentStanding],
    source: &dyn Fn(&DecisionId) -> Option<ReplySource>,
) -> String {
    let argument = lack.pointer.as_deref().map_or_else(|| "A value of it".to_owned(), argument);
    let found = lack.pointer.as_ref().and_then(|pointer| arguments.iter().find(|it| it.pointer == *pointer));
    match lack.need {
        Need::Value => format!("{argument} is not in your request; {}.", came_from(found, source)),
        Need::Carrier => format!(
            "{argument} holds an address, a host, an account or a long number that is not in your request; {}.",
            came_from(found, source)
        ),
        Need::Name => format!("{argument} is not made of the words of your request."),
        Need::Destroys => format!("{tool} destroys something, and your request does not ask for that."),
        Need::Act => format!("Your request has no word for what {tool} does."),
        Need::Widens => format!("{argument} widens what is done, and your request does not say so."),
        Need::Amount => format!("{argument} is an amount that your request does not bound."),
        Need::Secret => format!("{argument} is a secret that your request does not give."),
        Need::Proof => {
            format!("{argument} is a one-time code, and nothing was done here that it belongs to.")
        }
        Need::Bare => format!("Your request does not say in its own words what {tool} would do."),
    }
}

/// Where a value stands that the user did not say, as the second half of a sentence.
fn came_from(
    found: Option<&ArgumentStanding>,
    source: &dyn Fn(&DecisionId) -> Option<ReplySource>,
) -> String {
    let Some(found) = found else { return "nothing else vouches for it".to_owned() };
    let reply = found.source.as_ref().map(|decision| match source(decision) {
        Some(ReplySource { tool, named: Some(named) }) => {
            format!(
                "the reply of {} to {}, which your request names: it is left to what stands there",
                name(&tool),
                name(&named)
            )
        }
        Some(ReplySource { tool, named: None }) => format!("the reply of {}", name(&tool)),
        None => "a reply that is no longer kept".to_owned(),
    });
    match (found.standing, found.ground, reply) {
        (Standing::Listed, _, Some(reply)) => format!("it is the id of something that stands in {reply}"),
        (Standing::Listed, _, None) => "it is the id of something that was listed".to_owned(),
        (Standing::Known, _, Some(reply)) => format!("it stands in {reply}"),
        (Standing::Unfounded, Ground::Nothing, Some(reply)) => format!("it first stands in {reply}"),
        (Standing::Unfounded, Ground::Nothing, None) => {
            "it stands in nothing that is kept of what was read: decoded or invented".to_owned()
        }
        (_, _, Some(reply)) => format!("it stands in {reply}"),
        (_, _, None) => "nothing else vouches for it".to_owned(),
    }
}

/// An argument by its place.
fn argument(pointer: &str) -> String {
    name(pointer.strip_prefix('/').unwrap_or(pointer))
}

/// A name, if it is a plain one.
fn name(text: &str) -> String {
    let is_plain = |letter: char| {
        letter == ' ' || letter.is_alphanumeric() || letter.is_ascii_graphic() && letter != '`'
    };
    if !text.is_empty() && text.len() <= MAX_NAME && text.chars().all(is_plain) {
        format!("`{text}`")
    } else {
        "something with a name that is not plain".to_owned()
    }
}
