//! Where the values of a call came from, as it is on record: what the request does not say, and where it was read.

use std::collections::{BTreeMap, BTreeSet};

use highwater_audit::{Recorded, RecordedDecision};
use highwater_core::decide::FlowMode;
use highwater_core::id::DecisionId;
use highwater_core::provenance::{ArgumentStanding, Ground, Standing};
use highwater_gateway::{ReplySource, value_sentences};
use serde_json::{Value, json};

use super::account::Account;
use super::log::Log;
use super::phrase::plain;

/// The calls in whose replies values stand, by what their clients call them.
pub(super) type Sources = BTreeMap<DecisionId, String>;

/// Looks up the calls in whose replies the values of a decision stand.
pub(super) fn sources(log: &Log, decision: &RecordedDecision) -> anyhow::Result<Sources> {
    let arguments = decision.standings.iter().flat_map(|standings| &standings.arguments);
    let wanted: BTreeSet<DecisionId> = arguments.filter_map(|argument| argument.source.clone()).collect();
    let mut found = Sources::new();
    for id in wanted {
        let records = log.records_of(&id)?;
        let call = records.into_iter().find_map(|(_, record)| match record.happened {
            Recorded::Decision(call) => Some(call),
            _ => None,
        });
        if let Some(call) = call {
            found.insert(id, call.tool.unwrap_or(call.target));
        }
    }
    Ok(found)
}

/// What the request does not say, where that is why somebody was asked or would have been.
pub(super) fn sentences(account: &Account) -> Vec<String> {
    let decision = &account.decision;
    let Some(standings) = &decision.standings else { return Vec::new() };
    if !decision.findings.iter().any(|finding| finding.id.flow().is_some()) {
        return Vec::new();
    }
    let lacks = match decision.mode {
        FlowMode::Strict => &standings.lacks_strictly,
        FlowMode::Observe | FlowMode::Balanced | FlowMode::Samos => &standings.lacks,
    };
    let source = |id: &DecisionId| {
        let tool = account.sources.get(id)?;
        Some(ReplySource { tool: tool.clone(), named: None })
    };
    value_sentences(account.what(), lacks, &standings.arguments, &source)
}

/// Each value that was looked at: its place, what it decides, how far it is vouched for and by what.
pub(super) fn rows(account: &Account) -> Vec<[String; 4]> {
    let arguments = account.decision.standings.iter().flat_map(|standings| &standings.arguments);
    arguments
        .map(|argument| {
            let place = plain(argument.pointer.strip_prefix('/').unwrap_or(&argument.pointer));
            let role = argument.role.as_str().to_owned();
            [place, role, argument.standing.as_str().to_owned(), ground(account, argument)]
        })
        .collect()
}

/// The same as data.
pub(super) fn data(account: &Account) -> Value {
    let Some(standings) = &account.decision.standings else { return Value::Null };
    let arguments: Vec<Value> = standings
        .arguments
        .iter()
        .map(|argument| {
            json!({
                "argument": argument.pointer,
                "role": argument.role,
                "standing": argument.standing,
                "ground": argument.ground,
                "source": argument.source,
                "sourceTool": argument.source.as_ref().and_then(|id| account.sources.get(id)),
            })
        })
        .collect();
    json!({ "says": sentences(account), "arguments": arguments, "lacks": standings.lacks })
}

/// What a standing rests on, in words.
fn ground(account: &Account, argument: &ArgumentStanding) -> String {
    let reply = argument.source.as_ref().map(|id| match account.sources.get(id) {
        Some(tool) => format!("the reply of `{}`, {id}", plain(tool)),
        None => format!("the reply of {id}"),
    });
    let in_reply = |what: &str| match &reply {
        Some(reply) => format!("{what} in {reply}"),
        None => what.to_owned(),
    };
    match argument.ground {
        Ground::Nothing => match (&reply, argument.standing) {
            (Some(reply), Standing::Unfounded) => format!("nothing; it first stands in {reply}"),
            _ => "nothing".to_owned(),
        },
        Ground::Record => in_reply("something listed"),
        Ground::TrustedReply => in_reply("what no stranger could write"),
        Ground::SearchHit => in_reply("what a search listed"),
        Ground::Lookup => in_reply("a lookup by the user's words"),
        Ground::OwnAct => in_reply("an act of this request"),
        Ground::Approved => "a call that a person approved".to_owned(),
        Ground::Directory => "the directory".to_owned(),
        Ground::Identity => "an identity of the operator's".to_owned(),
        Ground::Words => "the user's words".to_owned(),
    }
}
