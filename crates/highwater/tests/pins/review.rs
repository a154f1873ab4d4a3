//! How people read what there is to approve, and approve it.

use std::process::Stdio;

use highwater_testkit::client::gateway::Home;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use super::stage::{PROGRAM, Stage, definitions, entry, home, say, stranger};

/// A gateway whose servers are these entries.
async fn with(entries: impl FnOnce(&Home) -> Value) -> Stage {
    let home = home();
    let entries = entries(&home);
    Stage::at(home, entries, json!({})).await
}

/// What an entry runs, for a shell.
fn command_line(entry: &Value) -> String {
    let arguments = entry["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
    std::iter::once(entry["command"].as_str().unwrap()).chain(arguments).collect::<Vec<_>>().join(" ")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_server_is_a_line_a_tool_flagged_ones_first_and_its_arguments_without_secrets() {
    let stage = with(|home| {
        let mut all = definitions();
        all["tools"][0]["description"] = json!("Reads a note. And a second sentence.");
        all["tools"][1]["description"] = json!("Writes\u{200b} a note.");
        say(home.path(), "up", &all);
        let line = command_line(&entry(home.path(), "up", &stranger()));
        let arguments = json!(["-c", format!("exec {line}"), "sh", "--token", "hunter2"]);
        json!({ "up": { "command": "/bin/sh", "args": arguments } })
    })
    .await;
    let said = stage.said(&["diff", "up"]).await;
    let line = |what: &str| said.lines().position(|line| line.contains(what));
    assert!(said.contains("--token ***") && !said.contains("hunter2"), "{said}");
    assert!(line("tool write_note").unwrap() < line("tool read_note").unwrap(), "{said}");
    assert!(said.contains("holds hidden text: zero-width U+200B"), "{said}");
    assert!(said.contains("+ tool read_note  Reads a note.\n"), "{said}");
    assert!(
        said.contains("claims: only reads, reaches nothing outside; believed, it would loosen"),
        "{said}"
    );
    assert!(!said.contains("properties") && said.lines().count() < 30, "{said}");
    let full = stage.said(&["diff", "up", "--full"]).await;
    assert!(full.contains("properties") && full.contains("And a second sentence."), "{full}");
}

/// Wherever text has colour: what is flagged and what is new are told apart by it.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_flagged_has_a_colour_of_its_own() {
    let stage = with(|home| {
        let mut hiding = definitions();
        hiding["tools"][1]["description"] = json!("Writes\u{200b} a note.");
        say(home.path(), "up", &hiding);
        json!({ "up": entry(home.path(), "up", &stranger()) })
    })
    .await;
    let mut command = tokio::process::Command::new(PROGRAM);
    command.args(["servers", "diff", "up", "--data-dir"]).arg(stage.gateway.home().data_dir());
    let output = command.env("CLICOLOR_FORCE", "1").output().await.unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("\u{1b}[33m! tool write_note"), "{said:?}");
    assert!(said.contains("\u{1b}[32m+ tool read_note"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_tool_is_inspected_with_how_calls_of_it_are_judged() {
    let says = json!({
        "inputMetadata": { "destination": "internal", "sensitivity": ["pii"], "outcomes": "benign" },
        "returnMetadata": { "source": "trustedPublic", "sensitivity": "none" },
    });
    let stage = Stage::new(json!({ "labels": { "write_note": says } })).await;
    let inspected = stage.said(&["inspect", "up"]).await;
    let lines: Vec<&str> = inspected.lines().collect();
    let judged = |tool: &str| {
        let at =
            lines.iter().position(|line| line.starts_with(tool)).unwrap_or_else(|| panic!("{inspected}"));
        lines[at + 1].trim()
    };
    assert_eq!(
        judged("tool write_note"),
        "arguments go to internal, built to receive pii; outcome benign; replies are from trustedPublic and hold \
         nothing private"
    );
    // Of this nobody who is believed says anything, so that the worst counts.
    let worst = judged("tool read_note");
    assert!(
        worst.starts_with("arguments go to public (nobody says), built to receive nothing private"),
        "{worst}"
    );
    let item = stage.item("tool", "write_note").await;
    assert_eq!(item["contract"]["inputMetadata"]["destination"], json!(["internal"]), "{item:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_cannot_be_started_is_said_to_be_so() {
    let stage = with(|_| {
        json!({
            "absent": { "command": "/nowhere/at-all" },
            "broken": { "command": "/bin/sh", "args": ["-c", "echo certificate is unknown >&2; exit 2"] },
        })
    })
    .await;
    for (server, why) in
        [("absent", "could not be started"), ("broken", "last words of it: certificate is unknown")]
    {
        for command in ["diff", "approve"] {
            let output = stage.servers(&[command, server]).await;
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(1), "{said}");
            assert!(said.contains(why) && said.contains(&format!("`{server}`")), "{said}");
            assert!(!said.contains("could not be read"), "{said}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_still_starting_is_waited_for_with_a_sign_of_life() {
    let stage = with(|home| {
        say(home.path(), "up", &definitions());
        let command = format!("sleep 14; exec {}", command_line(&entry(home.path(), "up", &stranger())));
        json!({ "up": { "command": "/bin/sh", "args": ["-c", command], "era": "legacy" } })
    })
    .await;
    let output = stage.servers(&["diff", "up"]).await;
    let (said, shown) = (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{said}");
    assert!(said.contains("`up` is still starting"), "{said}");
    assert!(shown.contains("+ tool read_note"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_waits_is_approved_at_once_where_somebody_says_yes() {
    let stage = Stage::with(&[("one", stranger()), ("two", stranger())], json!({})).await;
    let output = stage.servers(&["approve", "--all"]).await;
    assert_eq!(output.status.code(), Some(2), "nobody can be asked");
    assert_eq!(stage.tools().await, Vec::<String>::new());
    let said = stage.said(&["approve", "--all", "--yes"]).await;
    assert!(said.contains("server `one` approved") && said.contains("server `two` approved"), "{said}");
    assert_eq!(stage.tools().await.len(), 4);
    assert_eq!(stage.said(&["approve", "--all", "--yes"]).await, "nothing waits for an approval\n");
    let output = stage.servers(&["approve", "one", "--all"]).await;
    assert_eq!(output.status.code(), Some(2));
}

/// Runs `highwater servers …` at a terminal, made by `script` of util-linux, at which somebody types these lines.
async fn typing(stage: &Stage, arguments: &str, lines: &str) -> String {
    let data = stage.gateway.home().data_dir();
    let line = format!("'{PROGRAM}' servers {arguments} --data-dir '{}'", data.display());
    let mut script = tokio::process::Command::new("script");
    script.args(["-q", "-e", "-c", &line, "/dev/null"]).env("USER", "ada").env("TERM", "xterm");
    script.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut running = script.spawn().unwrap();
    let mut keyboard = running.stdin.take().unwrap();
    keyboard.write_all(lines.as_bytes()).await.unwrap();
    let output = running.wait_with_output().await.unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}");
    drop(keyboard);
    said
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a_terminal_belief_and_what_the_server_is_are_asked_where_it_is_approved() {
    let undescribed = |mut entry: Value| {
        // Of this nobody knows what it does.
        entry["tools"]
            .as_array_mut()
            .unwrap()
            .push(json!({ "name": "mix", "inputSchema": { "type": "object" } }));
        entry
    };
    let stage = with(|home| {
        for server in ["one", "two"] {
            say(home.path(), server, &undescribed(definitions()));
        }
        json!({ "one": entry(home.path(), "one", &stranger()), "two": entry(home.path(), "two", &stranger()) })
    })
    .await;
    // Yes to what it says, yes to what it claims; strangers write there, and it sends nothing.
    let said = typing(&stage, "approve one", "y\ny\ny\nn\n").await;
    assert!(said.contains("server `one` approved and believed"), "{said}");
    assert!(said.contains("server `one` is `private` from now on"), "{said}");
    // All that waits: seen, and not believed.
    let said = typing(&stage, "approve --all", "y\nn\nn\ny\n").await;
    assert!(said.contains("server `two` approved\r\n"), "{said}");
    assert!(said.contains("server `two` is `private` from now on"), "{said}");
    let list: Vec<Value> = serde_json::from_str(&stage.said(&["list", "--json"]).await).unwrap();
    let found: Vec<_> =
        list.iter().map(|it| (it["believed"].as_u64().unwrap() > 0, it["profile"].clone())).collect();
    assert_eq!(found, [(true, json!("private")), (false, json!("private"))], "{list:#?}");
}
