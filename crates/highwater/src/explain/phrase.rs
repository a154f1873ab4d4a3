//! The words of the record in the words of people.

use highwater_audit::RecordedDecision;
use highwater_core::annotation::{Authority, Axis};
use highwater_core::decide::{Effect, Finding, FindingId, FlowMode, FlowRule, Reason};
use highwater_core::policy::{Because, Seen, SeenValue, Truth};

/// How many names a list has before it is cut.
const MOST: usize = 6;

/// Text of others on one line: what would move the cursor or turn the direction of writing is shown as a dot.
pub(crate) fn plain(text: &str) -> String {
    let harmful = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    text.chars().map(|c| if harmful(c) { '·' } else { c }).collect()
}

/// Names one after the other, the first few of them.
pub(crate) fn listed<T: AsRef<str>>(names: &[T]) -> String {
    let mut shown: Vec<String> = names.iter().take(MOST).map(|name| plain(name.as_ref())).collect();
    if names.len() > MOST {
        shown.push(format!("and {} more", names.len() - MOST));
    }
    shown.join(", ")
}

/// A word of a label as it is said: `integrity:none` is `integrity none`.
pub(crate) fn spoken(word: &str) -> String {
    plain(&word.replacen(':', " ", 1))
}

/// Names in backticks: `a`, `b`.
pub(super) fn quoted<T: AsRef<str>>(names: &[T]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{}`", plain(name.as_ref()))).collect();
    listed(&names)
}

/// Who said it.
pub(super) fn authority(word: &str) -> String {
    match Authority::parse(word) {
        Some(Authority::Nothing) => "nobody said, so the worst counts".to_owned(),
        Some(Authority::Profile) => "by your `profile` for the server".to_owned(),
        Some(Authority::Inferred) => "guessed".to_owned(),
        Some(Authority::Declared) => "declared by the server, which is not believed".to_owned(),
        Some(Authority::DeclaredVerified) => "declared by the server, which is believed".to_owned(),
        Some(Authority::Resolved) => {
            "declared for these arguments by the server, which is not believed".to_owned()
        }
        Some(Authority::ResolvedVerified) => {
            "declared for these arguments by the server, which is believed".to_owned()
        }
        Some(Authority::Manifest) => "by its signed manifest".to_owned(),
        Some(Authority::Catalogue) => "by the catalogue".to_owned(),
        Some(Authority::OperatorDefault) => "by your label for `*`".to_owned(),
        Some(Authority::Operator) => "by your `labels`".to_owned(),
        None => plain(word),
    }
}

/// Whether nobody said anything about this axis of the contract.
pub(super) fn is_default(decision: &RecordedDecision, axis: Axis) -> bool {
    decision.contract.basis.get(axis.short()).is_some_and(|by| by == Authority::Nothing.as_str())
}

/// What the caller's token does not grant. Several gates speak of a token under one name, each with its own reason.
fn token(finding: &Finding, tool: &str, server: &str, virtual_server: &str) -> String {
    match finding.reasons.first() {
        Some(Reason::TokenExpired) => "the agent's token is over".to_owned(),
        Some(Reason::VirtualServerNotGranted) => {
            format!("the agent's token does not open virtual server `{virtual_server}`")
        }
        Some(Reason::ToolNotGranted) => format!("the agent's token does not reach `{tool}`"),
        Some(Reason::PermissionNotGranted) => {
            let needs = finding.saw.iter().find(|seen| seen.fact == "call.needs");
            let needs = needs.map(|seen| value(&seen.value)).unwrap_or_default();
            format!("the agent's token does not grant `{needs}`, which `{tool}` needs")
        }
        _ => format!("the agent's token does not reach server `{server}`"),
    }
}

/// What a finding found, in one sentence without a full stop.
pub(super) fn found(finding: &Finding, decision: &RecordedDecision) -> String {
    let tool = plain(decision.tool.as_deref().unwrap_or(&decision.target));
    let (server, virtual_server) = (&decision.upstream, &decision.virtual_server);
    match &finding.id {
        FindingId::Grant => match finding.reasons.first() {
            Some(Reason::UpstreamUnknown) => format!("no server is called `{server}`"),
            _ => format!("virtual server `{virtual_server}` does not hold server `{server}`"),
        },
        FindingId::Token => token(finding, &tool, server.as_str(), virtual_server.as_str()),
        FindingId::Intent => {
            format!("`{tool}` was called through a variant below its class")
        }
        FindingId::AllowList => {
            format!("`{}` is not among the `allowed_tools` of server `{server}`", plain(&decision.target))
        }
        FindingId::Quarantine => match finding.reasons.first() {
            Some(Reason::PinsUnreadable) => {
                format!("what was approved of server `{server}` could not be read")
            }
            Some(Reason::ServerNew) => format!("nobody has approved server `{server}` yet"),
            Some(Reason::ServerChanged) => format!("server `{server}` is not the one that was approved"),
            Some(Reason::ServerRejected) => format!("server `{server}` was refused by a person"),
            Some(Reason::ManifestInvalid) => format!("the manifest of server `{server}` does not count"),
            Some(Reason::ManifestMismatch) => {
                format!("`{tool}` is not what the manifest of server `{server}` signs")
            }
            Some(Reason::DefinitionChanged) => format!("`{tool}` is not what was approved"),
            Some(Reason::DefinitionRejected) => format!("`{tool}` was refused by a person"),
            _ => format!("nobody has approved `{tool}` yet"),
        },
        FindingId::Method => format!(
            "method `{}` is not part of MCP and not among the `extra_methods` of server `{server}`",
            plain(&decision.method)
        ),
        FindingId::Approval => match finding.reasons.first() {
            Some(Reason::VerifiedApprovalRequired) => {
                format!("server `{server}` itself requires a verified approval for `{tool}`")
            }
            Some(Reason::VerifiedApprovalRelayed) => {
                format!("server `{server}` itself verifies the approval that came with this call of `{tool}`")
            }
            Some(Reason::PasskeyWanted) => format!("a passkey is wanted for every call of `{tool}`"),
            _ => format!("a person is wanted at every call of `{tool}`"),
        },
        FindingId::Cap => format!("a number in the call of `{tool}` is above what its `caps` let pass"),
        FindingId::FlowPolicy => {
            format!("server `{server}` takes no data from somebody who contributed to this session")
        }
        FindingId::OwnFiles => format!("`{tool}` would change what guards the agent: Highwater's own files"),
        FindingId::Conversation => {
            "what was read before a silence would stop it, and nobody has said whether this is a new conversation"
                .to_owned()
        }
        FindingId::Unapproved => match finding.reasons.first() {
            Some(Reason::Declined) => "the person who was asked did not say yes".to_owned(),
            _ => "a person had to be asked, and this client has no way to ask one".to_owned(),
        },
        FindingId::Ask => match finding.reasons.first() {
            Some(Reason::PageRefused) => format!(
                "server `{server}` asked to open a page that nobody is sent to from here: only `https` pages and `http` pages \
                 of this machine are opened, and none of Highwater's own"
            ),
            Some(Reason::NoCallInFlight) => format!("server `{server}` asked something outside of any call"),
            _ => format!("server `{server}` asked something that this client cannot be asked"),
        },
        FindingId::Reply => "the reply is of a form that the protocol does not have".to_owned(),
        FindingId::Flow(rule) => match finding.reasons.as_slice() {
            [Reason::NotAccepted] => format!("the session holds data that `{tool}` is not built to receive"),
            reasons if *rule == FlowRule::Act && !reasons.contains(&Reason::UntrustedActs) => {
                "this call acts, and the user did not ask for it".to_owned()
            }
            _ => rule.gate().found.to_owned(),
        },
        FindingId::Rule(name) => {
            let name = plain(name);
            match finding.reasons.first() {
                Some(Reason::MayFire) => {
                    format!("rule `{name}` may hold, and what is unknown counts against the call")
                }
                _ => format!("rule `{name}` holds"),
            }
        }
    }
}

/// Why the effect is what it is, where the mode decides it.
pub(super) fn because_of_mode(finding: &Finding, decision: &RecordedDecision) -> Option<String> {
    let rule = finding.id.flow().filter(|_| decision.mode != FlowMode::Observe)?;
    let effect = finding.waived.as_ref().map_or(finding.effect, |waived| waived.instead_of);
    Some(format!("`{}` {}", decision.mode, does(Some(rule), decision.mode, effect)))
}

/// What is said of a flow rule that is broken and of which nothing follows in this mode.
pub(super) fn let_in(rule: &str, decision: &RecordedDecision) -> String {
    let known = FindingId::parse(rule).and_then(|id| id.flow());
    format!("note[{}]: `{}` {}", plain(rule), decision.mode, does(known, decision.mode, Effect::Allow))
}

/// What a mode does about a broken flow rule.
fn does(rule: Option<FlowRule>, mode: FlowMode, effect: Effect) -> &'static str {
    let because = rule.map_or(&[][..], |rule| rule.gate().because).iter();
    let known =
        because.filter(|(of, what, _)| (*of, *what) == (mode, effect)).map(|(.., because)| *because).next();
    known.unwrap_or(match effect {
        Effect::Allow => "lets this in",
        Effect::Redact | Effect::Confirm | Effect::Passkey => "asks a person",
        Effect::Block => "refuses this",
    })
}

/// The value of a fact.
pub(super) fn value(value: &SeenValue) -> String {
    match value {
        SeenValue::Bool(flag) => flag.to_string(),
        SeenValue::Int(number) => number.to_string(),
        SeenValue::Text(text) => plain(text),
        SeenValue::Many(members) if members.is_empty() => "nothing".to_owned(),
        SeenValue::Many(members) => listed(members),
        SeenValue::Nothing => "unknown".to_owned(),
    }
}

/// What was asked of the fact, and whether it held.
pub(super) fn asked(seen: &Seen) -> String {
    if seen.test.is_empty() {
        return String::new();
    }
    let test = plain(&seen.test);
    match (seen.truth, seen.because) {
        (Truth::True, _) => test,
        (Truth::False, _) => format!("{test}: no"),
        (Truth::Unknown, None) => format!("{test}: unknown"),
        (Truth::Unknown, Some(because)) => format!("{test}: unknown, {}", why_unknown(because)),
    }
}

/// Why nobody can know a fact.
pub(super) fn why_unknown(because: Because) -> &'static str {
    match because {
        Because::SeveralPossible => "several values are possible",
        Because::Undeclared => "nobody declared it",
        Because::ArgumentMissing => "the call has no such argument",
        Because::ArgumentOfOtherType => "the argument is of another type",
        Because::SpelledOtherwise => "a server may read it as another spelling, which is judged otherwise",
        Because::ArgumentsUnknown => "the arguments could not be read",
        Because::Truncated => "the set is too large to be kept whole",
        Because::LabelMayRise => "the label may have risen elsewhere",
        Because::NotInspected => "nobody looked into the text",
        Because::OtherPhase => "it is not known at this point",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_cannot_move_the_cursor() {
        assert_eq!(plain("a\u{1b}[2Jb\nc\u{202e}d"), "a·[2Jb·c·d");
    }

    #[test]
    fn a_server_that_is_believed_is_not_said_to_be_verified() {
        for word in ["declared", "declared-verified", "resolved", "resolved-verified"] {
            let said = authority(word);
            assert!(!said.contains("verified"), "{said}");
            assert_eq!(said.contains("is believed"), word.ends_with("verified"), "{said}");
        }
    }

    #[test]
    fn long_lists_are_cut() {
        let names: Vec<String> = (0..9).map(|number| number.to_string()).collect();
        assert_eq!(listed(&names), "0, 1, 2, 3, 4, 5, and 3 more");
    }
}
