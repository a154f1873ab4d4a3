//! `highwater doctor`: what arrives, what is missing, and which way out is named.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::homes::HOMES;
use crate::{Site, text};

/// A home in which a host is connected, and a program in its place that says its version.
fn connected(host: &str, version: &str) -> Site {
    let home = HOMES.iter().find(|home| home.host == host && !home.files.is_empty()).unwrap();
    let site = Site::new(home);
    let program = if host == "codex" { "codex" } else { "claude" };
    install(&site, program, &format!("echo '{version}'"));
    site.done(&["connect", host, "--yes"]);
    site
}

fn install(site: &Site, program: &str, script: &str) {
    let path = site.path("bin").join(program);
    std::fs::create_dir_all(site.path("bin")).unwrap();
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// The checks with this state, each with what was found and the way out.
fn checks(site: &Site, host: &str, state: &str) -> Vec<(String, String)> {
    let output = site.run(&["doctor", host, "--json"]);
    let answer: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    let checks = answer[0]["checks"].as_array().unwrap();
    let is_healthy = !checks.iter().any(|check| check["state"] == "failed");
    assert_eq!(answer[0]["is_healthy"], is_healthy, "{answer}");
    assert_eq!(output.status.code(), Some(if is_healthy { 0 } else { 4 }), "{answer}");
    let found = checks.iter().filter(|check| check["state"] == state);
    let word = |check: &Value, name: &str| check[name].as_str().unwrap_or_default().to_owned();
    found
        .map(|check| (word(check, "name"), format!("{}; {}", word(check, "found"), word(check, "help"))))
        .collect()
}

fn names(checks: &[(String, String)]) -> Vec<&str> {
    checks.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn everything_arrives_where_a_host_is_connected() {
    let site = connected("claude-code", "2.1.325 (Claude Code)");
    let ok = checks(&site, "claude-code", "ok");
    let expected = [
        "host",
        "files",
        "settings",
        "program",
        "server",
        "gateway",
        "event SessionStart",
        "event SessionEnd",
        "event PreToolUse",
        "event UserPromptSubmit",
        "event PostToolUse",
        "event PostToolUseFailure",
        "event SubagentStart",
        "event SubagentStop",
    ];
    assert_eq!(names(&ok), expected);
    let said = site.done(&["doctor"]);
    assert!(said.starts_with("Claude Code\n  ok       host "), "{said}");
    // Nothing comes of what was made up.
    let record = std::fs::read_to_string(site.path(".local/share/highwater/audit/000001.jsonl")).unwrap();
    let mut of_calls = record.lines().filter(|line| !line.contains(r#""event":"access""#));
    assert!(!of_calls.any(|line| line.contains("highwater-doctor")), "{record}");
}

#[test]
fn nothing_is_connected() {
    let site = Site::new(&HOMES[0]);
    let said = site.fails(&["doctor"], 4);
    assert!(
        said.starts_with("not verified: no agent host is connected\nhelp: `highwater connect claude-code`"),
        "{said}"
    );
    let [(name, found)] = &checks(&site, "codex", "failed")[..] else { panic!("one thing is missing") };
    assert!(name == "files" && found.ends_with("; `highwater connect codex`"), "{found}");
}

#[test]
fn a_hook_that_somebody_took_out_or_changed_is_missed() {
    let site = connected("claude-code", "2.1.325");
    let settings =
        site.read(".claude/settings.json").replace("hook claude-code PreToolUse", "hook claude-code Stop");
    std::fs::write(site.path(".claude/settings.json"), settings).unwrap();
    let failed = checks(&site, "claude-code", "failed");
    assert_eq!(names(&failed), ["files", "event PreToolUse"], "{failed:?}");
    assert!(failed[0].1.contains(
        "not as this build installs them: ~/.claude/settings.json; `highwater connect claude-code`"
    ));
    site.done(&["connect", "claude-code", "--yes"]);
    assert!(checks(&site, "claude-code", "failed").is_empty());
}

#[test]
fn a_program_that_is_gone_is_named() {
    let site = connected("claude-code", "2.1.325");
    for file in [".claude.json", ".claude/settings.json"] {
        let moved = site.read(file).replace(env!("CARGO_BIN_EXE_highwater"), "/gone/highwater");
        std::fs::write(site.path(file), moved).unwrap();
    }
    let failed = checks(&site, "claude-code", "failed");
    for name in ["files", "program", "server", "gateway", "event PreToolUse", "event UserPromptSubmit"] {
        assert!(names(&failed).contains(&name), "{name}: {failed:?}");
    }
    let gate = &failed.iter().find(|(name, _)| name == "event PreToolUse").unwrap().1;
    assert!(gate.contains("it ended with 2: ") && gate.contains("/gone/highwater"), "{gate}");
}

#[test]
fn a_token_that_opens_nothing_is_named() {
    let site = connected("claude-code", "2.1.325");
    site.done(&["token", "revoke", "claude-code"]);
    let failed = checks(&site, "claude-code", "failed");
    let server = &failed.iter().find(|(name, _)| name == "server").unwrap().1;
    assert!(server.contains("the token in HIGHWATER_TOKEN opens nothing"), "{server}");
    site.done(&["connect", "claude-code", "--yes"]);
    assert!(checks(&site, "claude-code", "failed").is_empty());
}

#[test]
fn settings_that_keep_hooks_from_running_are_named_with_their_line() {
    let site = connected("claude-code", "2.1.325");
    std::fs::write(site.path(".claude/settings.local.json"), "{\n  \"disableAllHooks\": true\n}\n").unwrap();
    let failed = checks(&site, "claude-code", "failed");
    assert_eq!(names(&failed), ["settings"]);
    assert!(
        failed[0].1.starts_with("~/.claude/settings.local.json, line 2: `disableAllHooks`: no hook runs"),
        "{failed:?}"
    );
}

#[test]
fn versions_outside_of_what_was_tested_are_named() {
    let old = connected("claude-code", "2.1.100 (Claude Code)");
    assert_eq!(names(&checks(&old, "claude-code", "failed")), ["host"]);
    let new = connected("claude-code", "2.2.0 (Claude Code)");
    let noted = checks(&new, "claude-code", "warning");
    assert!(noted[0].1.starts_with("2.2.0 is newer than what was tested; "), "{noted:?}");
}

#[test]
fn hooks_that_codex_does_not_trust_are_named() {
    let site = connected("codex", "codex-cli 0.166.0");
    let hooks = site.path(".codex/hooks.json");
    let list = |status: &str| {
        let line = "highwater hook codex PreToolUse || exit 2";
        format!(
            "{{\"id\":2,\"result\":{{\"data\":[{{\"hooks\":[{{\"eventName\":\"preToolUse\",\"command\":\"{line}\",\
             \"sourcePath\":\"{}\",\"enabled\":true,\"trustStatus\":\"{status}\"}}]}}]}}}}",
            hooks.display()
        )
    };
    let codex = |status: &str| {
        install(
            &site,
            "codex",
            &format!("case $1 in app-server) echo '{}' ;; *) echo codex-cli 0.166.0 ;; esac", list(status)),
        );
    };
    codex("untrusted");
    let failed = checks(&site, "codex", "failed");
    assert_eq!(names(&failed), ["trust"], "{failed:?}");
    assert!(
        failed[0].1.contains("does not run preToolUse") && failed[0].1.contains("enter `/hooks`"),
        "{failed:?}"
    );
    codex("trusted");
    assert!(checks(&site, "codex", "failed").is_empty());
    // One that does not say is no failure: people are told where to look.
    install(&site, "codex", "echo codex-cli 0.166.0");
    assert_eq!(names(&checks(&site, "codex", "warning")), ["trust"]);
}

#[test]
fn a_plugin_is_looked_at_like_every_other_connection() {
    let site = Site::new(&HOMES[1]);
    install(&site, "claude", "echo 2.1.325");
    site.done(&["connect", "claude-code", "--plugin", "gate", "--yes"]);
    assert!(checks(&site, "claude-code", "failed").is_empty());
    std::fs::write(site.path("gate/hooks/hooks.json"), "{}").unwrap();
    let failed = checks(&site, "claude-code", "failed");
    assert!(failed[0].1.contains("~/gate/hooks/hooks.json") && failed.len() == 9, "{failed:?}");
}
