//! `check` and `schema`.

use std::path::Path;

use serde_json::{Value, json};

use crate::program::{Site, text};

const GOOD: &str = "servers: { a: { command: a }, b: { command: b, disabled: true } }\n\
                    virtual_servers: { some: { servers: [a] } }\n";

#[test]
fn a_right_file_is_counted() {
    let site = Site::new();
    site.write("good.yaml", GOOD);
    let output = site.run(&["check", "good.yaml"]);
    assert_eq!(text(&output.stdout), "ok: 2 servers (1 disabled), 1 virtual server, good.yaml\n");
    assert_eq!(output.status.code(), Some(0));
}

/// A permit is a standing yes, so that it is listed, also once it is over.
#[test]
fn permits_are_listed_by_check_and_by_status() {
    let site = Site::new();
    site.write(
        "permits.yaml",
        "servers: { mail: { command: a } }\npermits:\n  \
         old: { token: agent, tool: 'mail:send', until: 2020-01-31 }\n  \
         new: { token: agent, tool: 'mail:send', until: 2999-01-31, arguments: { to: { const: ada } } }\n",
    );
    let old =
        "`old`: `mail:send` for token `agent`, does nothing any more, over since 2020-02-01 00:00:00 UTC\n";
    let new = "`new`: `mail:send` for token `agent`, until 2999-02-01 00:00:00 UTC\n";
    for arguments in
        [&["check", "permits.yaml"][..], &["status", "--config", "permits.yaml", "--data-dir", "data"]]
    {
        let output = site.run(arguments);
        // No gateway runs, and scripts learn it from `status`.
        let code = if arguments[0] == "status" { 1 } else { 0 };
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
        let said = text(&output.stdout);
        assert!(said.contains(old) && said.contains(new), "{said}");
    }
    let output = site.run(&["status", "--config", "permits.yaml", "--data-dir", "data", "--json"]);
    let status: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&status["gateway"], &status["permits"][0]["over"]), (&Value::Null, &json!(true)));
}

#[test]
fn a_wrong_file_is_shown_with_line_and_caret() {
    let site = Site::new();
    site.write("bad.yaml", "servers:\n  a: { comand: x }\n");
    let output = site.run(&["check", "bad.yaml"]);
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!("check_a_wrong_file", text(&output.stderr));
}

#[test]
fn every_file_is_checked_before_it_ends() {
    let site = Site::new();
    site.write("bad.yaml", "servers: []\n");
    site.write("good.yaml", GOOD);
    let output = site.run(&["check", "bad.yaml", "good.yaml", "--json"]);
    assert_eq!(output.status.code(), Some(2));
    let findings: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(findings[0]["ok"], false);
    assert_eq!(findings[0]["diagnostics"][0]["line"], 1);
    assert_eq!(findings[1]["servers"], 2);
}

#[test]
fn that_there_is_nothing_to_check_is_json_for_whoever_reads_that() {
    let output = Site::new().run(&["check", "--json"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stdout);
    assert_eq!(serde_json::from_str::<Value>(&said).ok(), Some(json!([])), "{said:?}");
    assert!(text(&output.stderr).contains("help: name a file"), "{}", text(&output.stderr));
}

/// One rule that never decides, one that never fires, and a clearance that lets the user's data out.
const PLANTED: &str = "\
servers:
  mail: { command: mail-server, trust: { server_trust: tool, verified: true } }
clearance: { public: user }
rules:
  - name: no-secrets-out
    effect: block
    when:
      session.sensitivity: { contains: credentials }
      tool.annotations.inputMetadata.destination: public
  - name: no-keys-by-mail
    effect: block
    when:
      session.sensitivity: { in: [credentials] }
      tool.annotations.inputMetadata.destination: public
      tool.name: { matches: \"send_*\" }
  - name: destructive-reading
    effect: block
    when: { tool.annotations.readOnlyHint: true, tool.destructive: true }
  - name: large-payments
    effect: passkey
    when: { tool.name: pay, arguments.amount: { greaterThan: 1000 } }
";

const USER_DATA_OUT: &str = "{session.sensitivity: {contains: user}, tool.annotations.inputMetadata.destination: public, tool.annotations.inputMetadata.outcomes: consequential}";
const PERSONAL_DATA_OUT: &str = "{session.sensitivity: {contains: pii}, tool.annotations.inputMetadata.destination: public, tool.annotations.inputMetadata.outcomes: consequential}";

#[test]
fn what_was_planted_is_found_and_nothing_else() {
    let site = Site::new();
    site.write("planted.yaml", PLANTED);
    let output = site.run(&["check", "planted.yaml", "--leak", USER_DATA_OUT, "--leak", PERSONAL_DATA_OUT]);
    assert_eq!(output.status.code(), Some(1), "a leak is a failure");
    assert_eq!(text(&output.stderr), "error: a call that should be stopped can go ahead\n");
    insta::assert_snapshot!("check_a_planted_policy", text(&output.stdout));
}

#[test]
fn without_the_hole_no_path_allows_it() {
    let site = Site::new();
    site.write("closed.yaml", &PLANTED.replace("clearance: { public: user }\n", ""));
    let output = site.run(&["check", "closed.yaml", "--leak", USER_DATA_OUT]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).ends_with(&format!("\nno path allows it: {USER_DATA_OUT}\n")));
}

#[test]
fn a_policy_that_only_observes_is_stopped_by_rules_alone() {
    let site = Site::new();
    site.write("open.yaml", &format!("flow: observe\n{PLANTED}"));
    let output = site.run(&["check", "open.yaml", "--leak", PERSONAL_DATA_OUT]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stdout).contains("its flow mode is `observe`: only your own rules stop a call there")
    );
    let rule = "rules:\n  - name: nothing-out\n    effect: block\n    when: { tool.annotations.inputMetadata.destination: public }";
    site.write("ruled.yaml", &format!("flow: observe\n{}", PLANTED.replace("rules:", rule)));
    let output = site.run(&["check", "ruled.yaml", "--leak", PERSONAL_DATA_OUT]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
}

#[test]
fn the_example_of_a_leak_can_be_read_by_programs() {
    let site = Site::new();
    site.write("planted.yaml", PLANTED);
    let output = site.run(&["check", "planted.yaml", "--leak", USER_DATA_OUT, "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let findings: Value = serde_json::from_slice(&output.stdout).unwrap();
    let codes: Vec<_> =
        findings[0]["warnings"].as_array().unwrap().iter().map(|warning| &warning["code"]).collect();
    assert_eq!(codes, ["shadowed-rule", "dead-rule"]);
    let leak = &findings[0]["leaks"][0]["leaks"][0];
    assert_eq!(leak["effect"], "allow");
    assert_eq!(leak["witness"]["facts"]["session.sensitivity"], json!(["user"]));
    assert_eq!(leak["witness"]["facts"]["inputMetadata.destination"], json!(["public"]));
}

/// The example is played against the shipped gateway with the planted policy in force, and goes ahead; the same call
/// after data of another class does not.
#[test]
fn the_example_of_a_leak_really_goes_ahead() {
    let site = Site::new();
    site.write("planted.yaml", PLANTED);
    let output = site.run(&["check", "planted.yaml", "--leak", USER_DATA_OUT, "--json"]);
    let findings: Value = serde_json::from_slice(&output.stdout).unwrap();
    let example = &findings[0]["leaks"][0]["leaks"][0]["witness"];
    assert_eq!(example["phase"], "call");
    let facts = &example["facts"];
    let user = json!({ "effect": "allow", "findings": [], "upstream_saw": 1 });
    let pii = json!({ "effect": "confirm", "findings": ["flow.write"], "upstream_saw": "nothing" });
    site.write("replay.yaml", &replay(facts, &facts["session.sensitivity"], &user));
    site.write("another_class.yaml", &replay(facts, &json!(["pii"]), &pii));
    let output = site.run(&["test", "replay.yaml", "another_class.yaml"]);
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    assert!(text(&output.stdout).contains("2 passed, 0 failed"), "{}", text(&output.stdout));
}

/// The facts of an example as a story: a session that has read what it says, then the call. Every fact finds its place.
fn replay(facts: &Value, classes: &Value, expected: &Value) -> String {
    let facts = facts.as_object().unwrap();
    let (mut input, mut returns) = (json!({}), json!({}));
    let (mut server, mut tool, mut integrity) = (String::new(), String::new(), json!("owner"));
    for (path, value) in facts {
        let name = || value.as_str().unwrap().to_owned();
        match path.split_once('.').unwrap() {
            ("inputMetadata", axis) => input[axis] = value.clone(),
            ("returnMetadata", axis) => returns[axis] = value.clone(),
            ("server", "id") => server = name(),
            ("tool", "name") => tool = name(),
            ("session", "integrity") => integrity = value.clone(),
            ("tool", "id") | ("session", "sensitivity") => {}
            // They follow from what the tool does.
            ("tool", "annotations.readOnlyHint" | "destructive") => assert_eq!(*value, json!(false)),
            ("agent", "virtualServer") => assert_eq!(value, "default"),
            _ => panic!("the story has no place for {path}: {value}"),
        }
    }
    let servers = json!({
        "past": {
            "trust": { "server_trust": integrity, "verified": true },
            "labels": { "remember": {
                "inputMetadata": { "destination": "ephemeral", "sensitivity": "any", "outcomes": "benign" },
                "returnMetadata": { "source": "user", "sensitivity": classes },
            } },
        },
        (server.as_str()): { "labels": { (tool.as_str()): { "inputMetadata": input, "returnMetadata": returns } } },
    });
    let upstreams = json!({
        "past": { "tools": { "remember": {} } },
        (server.as_str()): { "tools": { (tool.as_str()): {} } },
    });
    let steps = json!([
        { "call": "past__remember", "expect": { "session": { "secrecy": classes, "integrity": integrity } } },
        { "call": facts["tool.id"], "answer": "decline", "expect": expected },
    ]);
    // The policy as it was checked, with the servers that the example speaks of.
    let (_, policy) = PLANTED.split_once("clearance:").unwrap();
    let config = format!("servers: {servers}\nclearance:{policy}").replace('\n', "\n  ");
    format!("config:\n  {config}\nupstreams: {upstreams}\nsteps: {steps}\n")
}

#[test]
fn a_condition_that_makes_no_sense_is_wrong_usage() {
    let site = Site::new();
    site.write("good.yaml", GOOD);
    let output = site.run(&["check", "good.yaml", "--leak", "{session.privat: true}"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("did you mean `session.private`?"), "{}", text(&output.stderr));
    let output = site.run(&["check", "good.yaml", "--leak", "response.annotations.openWorldHint: true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("can only be known after the call"), "{}", text(&output.stderr));
}

#[test]
fn warnings_are_failures_where_one_wants_them_to_be() {
    let site = Site::new();
    site.write("planted.yaml", PLANTED);
    assert_eq!(site.run(&["check", "planted.yaml"]).status.code(), Some(0));
    let output = site.run(&["check", "planted.yaml", "--strict"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr), "error: there are warnings: 2\n");
}

#[test]
fn two_versions_are_told_apart_by_the_calls_they_treat_differently() {
    let site = Site::new();
    site.write("new.yaml", PLANTED);
    site.write("old.yaml", &PLANTED.replace("clearance: { public: user }\n", "").replace("1000", "5000"));
    let output = site.run(&["check", "new.yaml", "--against", "old.yaml"]);
    assert_eq!(output.status.code(), Some(0));
    insta::assert_snapshot!("check_against_an_older_version", text(&output.stdout));
    let output = site.run(&["check", "old.yaml", "--against", "old.yaml"]);
    assert!(text(&output.stdout).ends_with("no kind of call is treated differently than by old.yaml\n"));
}

#[test]
fn rules_come_from_files_of_their_own_too() {
    let site = Site::new();
    let seed = r#"{ "rules": [ { "name": "escalate-malicious", "effect": "escalate",
        "conditions": { "fact": "response.annotations.maliciousActivityHint", "equals": true } } ] }"#;
    std::fs::create_dir_all(site.home().join("policy/rules")).unwrap();
    site.write("policy/rules/seed.json", seed);
    site.write("policy/rules/more.yaml", "- { name: more, effect: block, when: { session.privat: true } }\n");
    site.write("policy/highwater.yaml", &format!("{GOOD}rules_files: [rules/seed.json]\n"));
    let output = site.run(&["check", "policy/highwater.yaml"]);
    assert_eq!(
        text(&output.stdout),
        "ok: 2 servers (1 disabled), 1 virtual server, 1 rule, policy/highwater.yaml\n"
    );
    site.write("policy/highwater.yaml", &format!("{GOOD}rules_files: [rules/more.yaml, rules/none.yaml]\n"));
    let output = site.run(&["check", "policy/highwater.yaml"]);
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!("check_wrong_rule_files", text(&output.stderr));
}

#[test]
fn the_file_that_serve_would_find_is_checked() {
    let site = Site::new();
    assert_eq!(site.run(&["check"]).status.code(), Some(2), "there is none yet");
    std::fs::create_dir_all(site.home().join(".config/highwater")).unwrap();
    site.write(".config/highwater/highwater.yaml", GOOD);
    assert!(text(&site.run(&["check"]).stdout).contains(".config/highwater/highwater.yaml"));
    // The one in the working directory comes first.
    site.write("highwater.yaml", GOOD);
    assert!(text(&site.run(&["check"]).stdout).ends_with(", highwater.yaml\n"));
}

#[test]
fn a_missing_file_is_wrong_usage() {
    let output = Site::new().run(&["check", "--config", "nowhere.yaml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("error: cannot read `nowhere.yaml`: "));
}

#[test]
fn the_schema_knows_servers() {
    let output = Site::new().run(&["schema"]);
    let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(schema["properties"]["servers"].is_object());
}

#[test]
fn every_configuration_in_the_documents_is_right() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut checked = 0;
    for document in [
        "README.md",
        "docs/guide/getting-started.md",
        "docs/guide/configuration.md",
        "docs/guide/labels.md",
        "docs/guide/rules.md",
        "docs/concepts/flow-modes.md",
    ] {
        let words = std::fs::read_to_string(root.join(document)).unwrap();
        for block in words.split("```yaml\n").skip(1) {
            let block = block.split("```").next().unwrap();
            let site = Site::new();
            site.write("highwater.yaml", block);
            let output = site.run(&["check"]);
            assert!(output.status.success(), "{document}:\n{block}\n{}", text(&output.stderr));
            checked += 1;
        }
    }
    assert!(checked >= 5, "the documents hold only {checked} configurations");
}
