//! The road in one process: a gateway with a store in memory, scripted servers, and clients that are values. What a server
//! was sent is read from its journal, and what happened from the audit log.

mod agent;
mod scripted;
mod stage;
mod tools;

mod departing;
mod hidden;
mod labels;
mod marks;
mod notifications;
mod questions;
mod recording;
mod refusals;
mod retries;
mod routing;
mod store_faults;
mod suspended;

use std::time::Duration;

use highwater_mcp::era::Era;
use serde_json::Value;

use self::agent::{Agent, Who};
use self::scripted::{Script, Step};
use self::stage::{Setup, Stage};
use self::tools::{ACT, FETCH, INBOX, LOOK, SEND, stocked};

/// Both eras, of clients or of servers.
const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

/// Longer than anything waits.
const AGES: Duration = Duration::from_secs(24 * 60 * 60);

/// The label of a session that has read what strangers wrote, and nothing else.
const STRANGE: [&str; 3] = ["integrity:none", "openWorld", "source:untrustedPublic"];

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
