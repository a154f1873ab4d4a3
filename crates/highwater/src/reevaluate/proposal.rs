//! Lines for the configuration that may change a decision. They are only proposed here; whether they load and help is tried
//! before anybody is shown them.

use std::collections::BTreeSet;

use highwater_audit::RecordedDecision;
use highwater_core::annotation::{Authority, Axis, ClassSet, Contract, DataClass, Destination};
use highwater_core::decide::FindingId;
use highwater_core::id::UpstreamId;
use highwater_core::label::TextSet;
use highwater_core::profile::Profile;
use highwater_notation::Timestamp;
use highwater_profile::Exit;

use super::configuration::LoadedConfiguration;
use crate::explain::when::{date, days_after};

/// How long a proposed waiver lasts, in days.
const WAIVER_DAYS: u64 = 30;

/// Lines to paste, and when it is right to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Proposal {
    /// When it is true, in a sentence without a full stop.
    pub(crate) what: String,
    /// The lines, exactly as they are tried.
    pub(crate) lines: String,
}

/// What a profile says of a tool, where nobody else does.
const PROFILED: [Axis; 4] = [Axis::Destination, Axis::Outcomes, Axis::Source, Axis::Returns];

/// The one word that may fit a server of which the operator has said none. Where others have described all its tools, only
/// `local` says more than they did: that its acts stay here.
pub(crate) fn profiles(now: &LoadedConfiguration, upstream: &UpstreamId) -> Vec<Proposal> {
    let Some(server) = now.settings.server(upstream.as_str()) else { return Vec::new() };
    let is_undescribed =
        |contract: &Contract| PROFILED.iter().any(|axis| contract.basis(*axis) == Authority::Nothing);
    if server.profile.is_some() {
        return Vec::new();
    }
    let is_described = !now.contracts.contracts(upstream).any(is_undescribed);
    let words = [Profile::Local, Profile::Private, Profile::Public];
    let says_more = |word: &Profile| *word == Profile::Local || !is_described;
    let fits = |word: &Profile| *word != Profile::Local || may_be_local(now, upstream);
    let fitting = words.into_iter().filter(|word| says_more(word) && fits(word));
    fitting.map(|word| profile(upstream, word)).collect()
}

/// `local` is not offered where a tool takes an address of somewhere else, or its server is somewhere else. The file may
/// say it all the same.
fn may_be_local(now: &LoadedConfiguration, upstream: &UpstreamId) -> bool {
    let is_here = now
        .settings
        .server(upstream.as_str())
        .is_some_and(|server| matches!(server.transport, highwater_config::Transport::Stdio { .. }));
    let mut exits = now.contracts.shapes(upstream).filter_map(|shape| shape.sends());
    is_here && !exits.any(|exit| matches!(exit, Exit::Url { .. } | Exit::Address { .. }))
}

fn profile(upstream: &UpstreamId, word: Profile) -> Proposal {
    let when = match word {
        Profile::Local => "nobody but you can put text there, and it sends nothing off this machine",
        Profile::Private => "it is an account of yours, in which others can write to you",
        Profile::Public => "it is the web, or something else that anybody writes and everybody may read",
        Profile::Unknown => "you know nothing of it",
    };
    Proposal {
        what: format!("say in one word what server `{upstream}` is, if {when}"),
        lines: format!("servers:\n  {}:\n    profile: {word}", key(upstream.as_str())),
    }
}

/// What a label of a tool may say about where it sends things, what it does and what it returns; never what its own
/// definition speaks against, nor where the operator has spoken.
pub(crate) fn tool_labels(now: &LoadedConfiguration, upstream: &UpstreamId, tool: &str) -> Vec<Proposal> {
    let Some(shape) = now.contracts.shape(upstream, tool) else { return Vec::new() };
    let Some(contract) = now.contracts.tool(upstream, tool) else { return Vec::new() };
    let open = |axis: Axis| contract.basis(axis) != Authority::Operator;
    let stays = shape.sends().is_none() && shape.runs().is_none() && open(Axis::Destination);
    let looks = shape.only_reads() && open(Axis::Outcomes);
    let says = [
        (stays, "its arguments stay with you", "inputMetadata: { destination: user }"),
        (looks, "it only looks, and changes nothing", "inputMetadata: { outcomes: benign }"),
        (
            stays && looks,
            "its arguments stay with you, and it only looks",
            "inputMetadata: { destination: user, outcomes: benign }",
        ),
        (open(Axis::Returns), "what it returns is not private", "returnMetadata: { sensitivity: none }"),
    ];
    let fitting: Vec<(&str, &str)> =
        says.into_iter().filter(|(fits, ..)| *fits).map(|(_, when, line)| (when, line)).collect();
    labels(upstream, tool, &fitting)
}

/// A word for a server together with a label for one of its tools, where neither helps alone.
pub(crate) fn words_with_labels(
    now: &LoadedConfiguration,
    upstream: &UpstreamId,
    tool: &str,
) -> Vec<Proposal> {
    let mut both = Vec::new();
    for word in profiles(now, upstream) {
        for label in tool_labels(now, upstream, tool) {
            // Both begin with the server, which is named once.
            let rest: Vec<&str> = label.lines.lines().skip(2).collect();
            both.push(Proposal {
                what: format!("{}; and {}", word.what, label.what),
                lines: format!("{}\n{}", word.lines, rest.join("\n")),
            });
        }
    }
    both
}

/// Labels of a tool with these lines.
pub(crate) fn labels(upstream: &UpstreamId, tool: &str, says: &[(&str, &str)]) -> Vec<Proposal> {
    let (server, own) = (key(upstream.as_str()), key(tool));
    let made = says.iter().map(|(when, line)| Proposal {
        what: format!("say what is true of this tool, if {when}"),
        lines: format!("servers:\n  {server}:\n    labels:\n      {own}:\n        {line}"),
    });
    made.collect()
}

/// Lets these classes go to every destination of the call, beside what may go there already. First for all virtual servers,
/// then for this one, which may have a clearance of its own.
pub(crate) fn clearance(
    now: &LoadedConfiguration,
    decision: &RecordedDecision,
    classes: ClassSet,
) -> Vec<Proposal> {
    let flow = now.policy(decision.mode).flow(&decision.virtual_server);
    let line = |destination: &Destination| {
        let admitted = flow.clearance.admits(*destination);
        let (names, scopes) = flow.clearance.parts(*destination);
        let wanted = admitted.union(classes);
        // What is cleared in part stays so, unless the whole is asked for.
        let listed =
            |set: &TextSet| set.members().iter().map(|text| scalar(text)).collect::<Vec<_>>().join(", ");
        let written = |class: DataClass| match class {
            DataClass::Named if !names.is_open() => listed(names),
            DataClass::Regulated if !scopes.is_open() && !classes.contains(class) => {
                format!("{{ regulated: {{ scopes: [{}] }} }}", listed(scopes))
            }
            class => class.as_str().to_owned(),
        };
        let words: Vec<String> = wanted.iter().map(written).collect();
        let more = wanted != admitted || (classes.contains(DataClass::Regulated) && !scopes.is_open());
        more.then(|| format!("{destination}: [{}]", words.join(", ")))
    };
    let changed: Vec<String> = decision.contract.destination.iter().filter_map(line).collect();
    if changed.is_empty() {
        return Vec::new();
    }
    let clearance = format!("clearance: {{ {} }}", changed.join(", "));
    let names: Vec<String> = classes.iter().map(|class| format!("`{class}`")).collect();
    let what = format!("let {} go there, whoever asks for it", names.join(", "));
    let of_this = format!("virtual_servers:\n  {}:\n    {clearance}", key(decision.virtual_server.as_str()));
    vec![Proposal { what: what.clone(), lines: clearance }, Proposal { what, lines: of_this }]
}

/// A waiver of these findings, which turns a refusal into a question.
pub(crate) fn waiver(decision: &RecordedDecision, waived: &BTreeSet<FindingId>, now: Timestamp) -> Proposal {
    let names: Vec<String> = waived.iter().map(|id| scalar(&id.to_string())).collect();
    let subject = match &decision.tool {
        Some(tool) => format!("tool.id: {}", scalar(tool)),
        None => format!("server.id: {}", scalar(decision.upstream.as_str())),
    };
    let until = date(days_after(now, WAIVER_DAYS));
    Proposal {
        what: "write a waiver, which turns the refusal into a question; give your reason in it".to_owned(),
        lines: format!(
            "waivers:\n  - waive: [{}]\n    when: {{ {subject} }}\n    until: {until}\n    reason: …",
            names.join(", ")
        ),
    }
}

/// Puts the tool on its server's allow-list.
pub(crate) fn listed_tool(now: &LoadedConfiguration, decision: &RecordedDecision) -> Option<Proposal> {
    let server = now.settings.server(decision.upstream.as_str())?;
    let mut allowed = server.allowed_tools.clone()?;
    allowed.insert(decision.target.clone());
    Some(Proposal {
        what: "put the tool on the server's `allowed_tools`".to_owned(),
        lines: of_server(&decision.upstream, "allowed_tools", &allowed),
    })
}

/// Lists the method for the server.
pub(crate) fn listed_method(now: &LoadedConfiguration, decision: &RecordedDecision) -> Option<Proposal> {
    let mut methods = now.settings.server(decision.upstream.as_str())?.extra_methods.clone();
    methods.insert(decision.method.clone());
    Some(Proposal {
        what: "list the method under the server's `extra_methods`".to_owned(),
        lines: of_server(&decision.upstream, "extra_methods", &methods),
    })
}

/// Puts the server into the virtual server.
pub(crate) fn virtual_server(now: &LoadedConfiguration, decision: &RecordedDecision) -> Option<Proposal> {
    let name = decision.virtual_server.as_str();
    let held = now.settings.virtual_servers.iter().find(|server| server.name == name)?;
    let mut servers: Vec<String> = held.servers.iter().map(|server| scalar(server)).collect();
    servers.push(scalar(decision.upstream.as_str()));
    Some(Proposal {
        what: "put the server into the virtual server".to_owned(),
        lines: format!("virtual_servers:\n  {}:\n    servers: [{}]", key(name), servers.join(", ")),
    })
}

fn of_server(upstream: &UpstreamId, list: &str, members: &BTreeSet<String>) -> String {
    let members: Vec<String> = members.iter().map(|member| scalar(member)).collect();
    format!("servers:\n  {}:\n    {list}: [{}]", key(upstream.as_str()), members.join(", "))
}

/// A name as a key.
fn key(name: &str) -> String {
    scalar(name)
}

/// A text as it stands in YAML: bare where that is certainly read as text, else in quotes.
fn scalar(text: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && text.chars().all(bare);
    let reserved = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    match is_word && !reserved.contains(&text.to_ascii_lowercase().as_str()) {
        true => text.to_owned(),
        false => serde_json::Value::from(text).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_yaml_would_read_otherwise_is_quoted() {
        for bare in ["repo", "get_file", "flow.write", "tools/list", "a-b"] {
            assert_eq!(scalar(bare), bare);
        }
        for other in ["no", "1password", "a: b", "", "-x", "a\u{202e}b", "*"] {
            assert!(scalar(other).starts_with('"'), "{other}");
        }
    }
}
