//! Which thing a call is about, by what was stated and by what its arguments are called.

use std::sync::Arc;

use highwater_core::annotation::{Authority, Claim, Claims, Hints, Outcome, Possible};
use highwater_core::id::{DecisionId, Principal, SessionKey};
use highwater_core::label::Label;
use highwater_core::trust::ServerTrust;
use highwater_marks::{Mark, MarkIndex, MarkKind, Writer};
use highwater_mcp::scan::ScanRules;
use highwater_notation::Timestamp;
use highwater_profile::ToolShape;
use serde_json::json;

use super::*;

fn contract(outcome: Outcome, objects: &[&str]) -> Contract {
    let mut claims = Claims::new();
    claims.push(Claim::SetOutcomes(Possible::only(outcome)), Authority::Operator, "test");
    for argument in objects {
        let role = Claim::Role { argument: (*argument).into(), role: ArgumentRole::Object };
        claims.push(role, Authority::Operator, "test");
    }
    Contract::weigh(&claims, &ServerTrust::default()).0
}

fn call(arguments: &str) -> Action {
    let params = format!(r#"{{"name":"t","arguments":{arguments}}}"#);
    Action::new(ActionKind::CallTool, UpstreamId::new("notes"), "tools/call", "t", params)
}

fn key() -> PrintKey {
    PrintKey::new(&[1; 24])
}

fn index(things: Vec<Thing>) -> MarkIndex {
    let mut index = MarkIndex::default();
    for thing in things {
        let by = Writer {
            session: SessionKey::new("s"),
            principal: Principal::new("p"),
            tool: "t".into(),
            decision: DecisionId::new("d"),
            at: Timestamp(0),
        };
        index.insert(Arc::new(Mark { id: "m".into(), thing, label: Label::bottom().with_open_world(), by }));
    }
    index
}

/// Whether reading with one call, which brings this text, meets what was written with another.
fn reaches(write: (&[&str], &str), read: (&[&str], &str), text: &str) -> bool {
    let (contract_of_write, written) = (contract(Outcome::Consequential, write.0), call(write.1));
    let write = Called { contract: &contract_of_write, namings: &[], real_paths: &[], action: &written };
    let index = index(write.written(&key(), false));
    let (contract_of_read, asked) = (contract(Outcome::Benign, read.0), call(read.1));
    let reading =
        Called { contract: &contract_of_read, namings: &[], real_paths: &[], action: &asked }.reading();
    let reply = reply(&json!({ "content": [{ "type": "text", "text": text }] }).to_string());
    let prints = index.wants_text(&reading).then(|| prints_of(&key(), &reply));
    !index.met_by(&reading, prints.as_ref(), &Principal::new("p")).is_empty()
}

fn reply(result: &str) -> Frame {
    let message = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
    Frame::parse(message.into(), &ScanRules::FROM_SERVER).unwrap()
}

const TEXT: &str = "the mill stands by the river and grinds all day long";

#[test]
fn a_read_writes_nothing_and_a_benign_call_that_keeps_something_does() {
    let call = call(r#"{"path":"a"}"#);
    let writes =
        |contract: &Contract| Called { contract, namings: &[], real_paths: &[], action: &call }.writes();
    assert!(writes(&contract(Outcome::Benign, &["path"])));
    let said = |claim| {
        let mut claims = Claims::new();
        claims.push(claim, Authority::Operator, "test");
        writes(&Contract::weigh(&claims, &ServerTrust::default()).0)
    };
    assert!(!said(Claim::Hints(Hints { read_only: Some(true), ..Hints::default() })));
    assert!(!said(Claim::SetDestination(Possible::only(Destination::Ephemeral))));
}

#[test]
fn what_was_written_is_met_by_whoever_reads_it() {
    let arguments = json!({ "path": "notes/a", "text": TEXT }).to_string();
    let note = (&["path"][..], arguments.as_str());
    assert!(reaches(note, (&["path"], r#"{"path":"notes/a"}"#), ""));
    assert!(reaches(note, (&["path"], r#"{"path":"notes"}"#), ""));
    assert!(!reaches(note, (&["path"], r#"{"path":"letters"}"#), TEXT));
    assert!(reaches(note, (&[], r#"{"words":"anything"}"#), TEXT), "a search that finds it");
    assert!(!reaches(note, (&[], r#"{"words":"anything"}"#), "nothing found"), "a search that does not");
}

#[test]
fn a_thing_is_named_by_all_arguments_together() {
    let written = (&["repo", "path"][..], r#"{"repo":"website","path":"README.md"}"#);
    let read = |arguments| reaches(written, (&["repo", "path"], arguments), "");
    assert!(read(r#"{"repo":"website","path":"README.md"}"#));
    assert!(!read(r#"{"repo":"diary","path":"README.md"}"#));
    assert!(read(r#"{"repo":"website"}"#));
    assert!(reaches((&["ids"], r#"{"ids":["a",7]}"#), (&["ids"], r#"{"ids":[7]}"#), ""));
    assert!(reaches((&["at/path"], r#"{"at":{"path":"x"}}"#), (&["at/path"], r#"{"at":{"path":"x"}}"#), ""));
    assert!(reaches((&["a~1b"], r#"{"a/b":"z"}"#), (&["a~1b"], r#"{"a/b":"Z"}"#), ""));
}

#[test]
fn where_no_thing_is_named_the_content_is_marked() {
    let written = json!({ "text": TEXT }).to_string();
    for unnamed in [written.clone(), json!({ "path": null, "text": TEXT }).to_string()] {
        let note = (&["path"][..], unnamed.as_str());
        assert!(reaches(note, (&["path"], r#"{"path":"letters"}"#), &format!("<b>{TEXT}</b>")));
        assert!(!reaches(note, (&["path"], r#"{"path":"letters"}"#), "another text"));
    }
    let contract = contract(Outcome::Consequential, &[]);
    let call = call(&written);
    let called = Called { contract: &contract, namings: &[], real_paths: &[], action: &call };
    let kinds = |whole| called.written(&key(), whole).iter().map(|thing| thing.kind).collect::<Vec<_>>();
    assert_eq!(kinds(false), [MarkKind::Content]);
    assert_eq!(kinds(true), [MarkKind::Server], "where the operator wants it so");
}

#[test]
fn too_many_names_name_nothing() {
    let many: Vec<String> = (0..2 * MAX_NAMED).map(|number| number.to_string()).collect();
    let many = format!(r#"{{"ids":[{}],"text":{}}}"#, many.join(","), json!(TEXT));
    let deep = format!(r#"{{"ids":{}1{},"text":{}}}"#, "[".repeat(40), "]".repeat(40), json!(TEXT));
    for arguments in [many, deep] {
        assert!(reaches((&["ids"], &arguments), (&["ids"], r#"{"ids":["other"]}"#), TEXT), "{arguments:.40}");
    }
}

#[test]
fn names_are_told_by_what_arguments_are_called() {
    let schema = r#"{"type":"object","properties":{"repo":{"type":"string"},"path":{"type":"string"},
        "content":{"type":"string"},"branch":{"type":"string"}}}"#;
    let shape = ToolShape::read("git", "write_file", Some(schema));
    let contract = contract(Outcome::Consequential, &[]);
    let action = call(r#"{"repo":"website","path":"a","content":"c","branch":"main"}"#);
    let called = Called { contract: &contract, namings: shape.namings(), real_paths: &[], action: &action };
    let things = called.written(&key(), false);
    assert_eq!(things[0].words(), "a; repo website");
}

#[test]
fn a_resource_may_hold_whatever_a_tool_wrote() {
    let contract = contract(Outcome::Consequential, &["path"]);
    let action = call(r#"{"path":"a"}"#);
    let index = index(
        Called { contract: &contract, namings: &[], real_paths: &[], action: &action }.written(&key(), false),
    );
    let resource = Action::new(
        ActionKind::ReadResource,
        UpstreamId::new("notes"),
        "resources/read",
        "file:///srv/a",
        "{}",
    );
    let reading = Called { contract: &contract, namings: &[], real_paths: &[], action: &resource }.reading();
    assert!(!index.met_by(&reading, None, &Principal::new("p")).is_empty());
}

#[test]
fn links_and_tasks_are_handles() {
    let upstream = UpstreamId::new("notes");
    let found = handles(&upstream, &["x:1".into()], &reply(r#"{"task":{"taskId":"T1"}}"#));
    let kinds: Vec<_> = found.iter().map(|thing| (thing.kind, &*thing.name)).collect();
    assert_eq!(kinds, [(MarkKind::Resource, "x:1"), (MarkKind::Task, "T1")]);
    assert!(handles(&upstream, &[], &reply(r#"{"content":[]}"#)).is_empty());
}
