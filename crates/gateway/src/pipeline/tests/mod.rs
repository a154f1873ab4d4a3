//! The road in one process: a gateway with a store in memory, scripted servers, and clients that are values. What a server
//! was sent is read from its journal, and what happened from the audit log.

mod agent;
mod approver;
mod scripted;
mod stage;
mod tools;

mod approvals_form;
mod approvals_page;
mod approvals_scope;
mod approvals_standing;
mod asked_pages;
mod asking;
mod departing;
mod described;
mod doubts;
mod flagged;
mod hidden;
mod hooks;
mod hooks_unconfirmed;
mod hooks_words;
mod labels;
mod lists;
mod local_acts;
mod marks;
mod notifications;
mod origins;
mod parts;
mod places;
mod questions;
mod recording;
mod refusals;
mod relay;
mod resolve;
mod retries;
mod rounds;
mod routing;
mod search;
mod store_faults;
mod suspended;
mod tasks;
mod trust_levels;
mod words;
mod words_page;

use std::time::Duration;

use highwater_mcp::era::Era;
use serde_json::{Value, json};

use self::agent::{Agent, ClientOptions};
use self::scripted::{Script, Step};
use self::stage::{Setup, Stage};
use self::tools::{ACT, FETCH, INBOX, LOOK, SEND, stocked};

/// Both eras, of clients or of servers.
const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

/// Longer than anything waits.
const AGES: Duration = Duration::from_secs(24 * 60 * 60);

/// The label of a session that has read what strangers wrote, and nothing else.
const STRANGE: [&str; 3] = ["integrity:none", "openWorld", "source:untrustedPublic"];

/// What a client says that can show forms.
fn forms() -> Value {
    json!({ "elicitation": { "form": {} } })
}

/// What a client says that can send its person to a page.
fn pages() -> Value {
    json!({ "elicitation": { "url": {} } })
}

/// A person's yes in a form of ours.
fn yes() -> Value {
    json!({ "action": "accept", "content": { "allow": true } })
}

/// The text of a tool's result that is no error.
#[track_caller]
fn text(answer: &Value) -> &str {
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

/// What a tool's caller reads where there is no result.
#[track_caller]
fn refusal(answer: &Value) -> &str {
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

/// What is said of getting a refused call authorised after all.
#[track_caller]
fn remediation(answer: &Value) -> &str {
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let told = &answer["result"]["_meta"]["io.modelcontextprotocol/authorization"]["remediation"];
    told.as_str().unwrap_or_else(|| panic!("{answer}"))
}

/// The decision that an answer names.
#[track_caller]
fn decision(answer: &Value) -> &str {
    let named = &answer["result"]["_meta"]["dev.highwater/decision"]["id"];
    named.as_str().unwrap_or_else(|| panic!("{answer}"))
}

/// A text with another letter at one place.
fn tampered(text: &str, place: usize) -> String {
    let other = if text.as_bytes()[place] == b'A' { "B" } else { "A" };
    let mut text = text.to_owned();
    text.replace_range(place..=place, other);
    text
}
