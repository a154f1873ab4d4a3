//! Single files, connected and disconnected. The laws over generated files are in `tests/connect_laws.rs`.

use serde_json::{Value, json};

use super::*;
use crate::host::HookName;

pub(super) fn install() -> Install {
    Install {
        name: "highwater".into(),
        server: ServerProgram {
            command: "/usr/bin/highwater".into(),
            arguments: vec!["stdio".into()],
            environment: vec![("HIGHWATER_TOKEN".into(), "hwt_1".into())],
        },
        hook: HookCommand { program: "/usr/bin/highwater".into(), options: Vec::new(), watchdog: true },
    }
}

pub(super) fn connected(file: HostFile, contents: Option<&str>) -> Connected {
    connect(file, "f", contents, &install(), None).unwrap()
}

fn back(file: HostFile, contents: &str, undo: &Undo) -> Option<String> {
    let out = disconnect(file, "f", Some(contents), Some(undo)).unwrap();
    assert_eq!(out.left, [""; 0]);
    out.contents
}

#[test]
fn a_server_is_added_in_the_style_of_the_file() {
    let before = "{\r\n\t\"a\": 1, // why\r\n\t\"mcpServers\": {\r\n\t\t\"x\": {}\r\n\t}\r\n}\r\n";
    let Connected { contents, undo } = connected(HostFile::ClaudeServers, Some(before));
    let expected = "{\r\n\t\"a\": 1, // why\r\n\t\"mcpServers\": {\r\n\t\t\"x\": {},\r\n\t\t\"highwater\": {\r\n\
        \t\t\t\"args\": [\"stdio\"],\r\n\t\t\t\"command\": \"/usr/bin/highwater\",\r\n\t\t\t\"env\": {\r\n\
        \t\t\t\t\"HIGHWATER_TOKEN\": \"hwt_1\"\r\n\t\t\t},\r\n\t\t\t\"type\": \"stdio\"\r\n\t\t}\r\n\t}\r\n}\r\n";
    assert_eq!(contents, expected);
    assert_eq!(back(HostFile::ClaudeServers, &contents, &undo).as_deref(), Some(before));
}

#[test]
fn a_file_that_was_not_there_is_deleted_again() {
    for file in
        [HostFile::ClaudeServers, HostFile::ClaudeSettings, HostFile::CodexConfig, HostFile::CodexHooks]
    {
        let Connected { contents, undo } = connected(file, None);
        assert!(!undo.is_empty() && contents.ends_with('\n'));
        assert_eq!(back(file, &contents, &undo), None, "{file:?}");
    }
}

#[test]
fn every_hook_is_installed_once_and_the_gate_fails_closed() {
    let Connected { contents, .. } = connected(HostFile::ClaudeSettings, Some("{}"));
    let settings: Value = serde_json::from_str(&contents).unwrap();
    assert_eq!(settings["crossSessionInbound"], "refuse");
    let hooks = settings["hooks"].as_object().unwrap();
    assert_eq!(hooks.len(), installed_hooks(Host::ClaudeCode).len());
    let gate = &hooks["PreToolUse"][0];
    assert_eq!(gate["matcher"], "*");
    let line = install().hook.line(Host::ClaudeCode, HookName::PreToolUse);
    assert_eq!(gate["hooks"][0], json!({ "type": "command", "command": line, "timeout": 30 }));
    let prompt = &hooks["UserPromptSubmit"][0]["hooks"][0];
    assert_eq!((&prompt["type"], &prompt["server"]), (&json!("mcp_tool"), &json!("highwater")));
    assert_eq!(prompt["input"]["prompt"], "${prompt}");
}

#[test]
fn every_gate_is_a_command() {
    for host in Host::ALL {
        for (hook, road) in installed_hooks(host) {
            assert!(!hook.is_gate() || *road == Road::Command, "{host} {hook}");
            assert!(host.hooks().contains(hook), "{host} {hook}");
        }
        assert!(installed_hooks(host).iter().any(|(hook, _)| *hook == HookName::PreToolUse));
    }
}

#[test]
fn values_of_the_same_name_come_back() {
    let before = "{\"crossSessionInbound\": \"accept\", \"hooks\": {\"PreToolUse\": []}}";
    let Connected { contents, undo } = connected(HostFile::ClaudeSettings, Some(before));
    assert!(contents.contains("\"crossSessionInbound\": \"refuse\""));
    assert_eq!(back(HostFile::ClaudeSettings, &contents, &undo).as_deref(), Some(before));
    let before = "{\n  \"mcpServers\": {\"highwater\": {\"url\": \"http://mine\"}}\n}";
    let Connected { contents, undo } = connected(HostFile::ClaudeServers, Some(before));
    assert!(!contents.contains("http://mine"));
    assert_eq!(back(HostFile::ClaudeServers, &contents, &undo).as_deref(), Some(before));
}

#[test]
fn a_section_is_added_to_codexs_configuration() {
    let before = "# mine\r\nmodel = \"x\" # why\r\n\r\n[mcp_servers.rec]\r\ncommand = \"python3\"";
    let Connected { contents, undo } = connected(HostFile::CodexConfig, Some(before));
    let section = "\r\n\r\n[mcp_servers.highwater]\r\ncommand = \"/usr/bin/highwater\"\r\nargs = [\"stdio\"]\r\n\
        env = { HIGHWATER_TOKEN = \"hwt_1\" }\r\n";
    assert_eq!(contents, format!("{before}{section}"));
    assert_eq!(back(HostFile::CodexConfig, &contents, &undo).as_deref(), Some(before));
}

#[test]
fn sections_and_values_of_the_same_name_come_back() {
    let sections = "a = 1\n\n[mcp_servers.highwater] # old\nurl = \"http://mine\"\nx.y = [\n 1,\n]\n\n# of the next\n\
        [tools]\nz = true\n\n[mcp_servers.highwater.env]\nA = \"\"\"\n[no]\n\"\"\"\n";
    let Connected { contents, undo } = connected(HostFile::CodexConfig, Some(sections));
    assert!(!contents.contains("http://mine") && !contents.contains("[no]"), "{contents}");
    assert!(contents.contains("# of the next\n[tools]\nz = true\n"));
    assert_eq!(back(HostFile::CodexConfig, &contents, &undo).as_deref(), Some(sections));

    let inline = "[mcp_servers]\nhighwater = { url = \"http://mine\" } # note\nrec = {}\n";
    let Connected { contents, undo } = connected(HostFile::CodexConfig, Some(inline));
    assert!(contents.contains("} # note\nrec = {}\n") && !contents.contains("http://mine"), "{contents}");
    assert_eq!(back(HostFile::CodexConfig, &contents, &undo).as_deref(), Some(inline));
}

#[test]
fn a_form_that_cannot_be_added_to_is_said_and_left_alone() {
    let before = "a = 1\nmcp_servers = { rec = { command = \"x\" } }\n";
    let error =
        connect(HostFile::CodexConfig, "~/.codex/config.toml", Some(before), &install(), None).unwrap_err();
    assert!(
        error.to_string().starts_with("~/.codex/config.toml, line 2: `mcp_servers` is written in a form"),
        "{error}"
    );
}

#[test]
fn a_file_that_does_not_parse_is_said_with_its_line() {
    let error = |file, text| connect(file, "F", Some(text), &install(), None).unwrap_err().to_string();
    let json = error(HostFile::ClaudeSettings, "{\n  \"a\": 1\n  \"b\": 2\n}");
    assert_eq!(
        json,
        "F, line 3, column 3: a comma or a closing brace is expected here\nhelp: correct the file and try again; nothing was changed"
    );
    assert!(error(HostFile::CodexConfig, "a = 1\nb = = 2\n").starts_with("F, line 2, column 5: "));
    assert!(error(HostFile::ClaudeServers, "[1]").starts_with("F, line 1: `the file` is not an object"));
    let list = error(HostFile::ClaudeSettings, "{\"hooks\":\n{\"PreToolUse\": {}}}");
    assert!(list.starts_with("F, line 2: `hooks.PreToolUse` is not a list"), "{list}");
    assert!(
        error(HostFile::ClaudeServers, "{\"mcpServers\": 7}")
            .starts_with("F, line 1: `mcpServers` is not an object")
    );
}

#[test]
fn a_file_that_somebody_has_changed_keeps_the_change() {
    let Connected { contents, undo } = connected(HostFile::ClaudeSettings, Some("{\n  \"a\": 1\n}\n"));
    // The host adds a setting, in its own style and elsewhere.
    let changed = contents.replace("\"a\": 1", "\"a\": 2,\n  \"theme\": \"dark\"");
    assert_eq!(
        back(HostFile::ClaudeSettings, &changed, &undo).as_deref(),
        Some("{\n  \"a\": 2,\n  \"theme\": \"dark\"\n}\n")
    );
    // The host writes the whole file anew.
    let value: Value = serde_json::from_str(&changed).unwrap();
    let rewritten = format!("{value}");
    let out = back(HostFile::ClaudeSettings, &rewritten, &undo).unwrap();
    let out: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&out["a"], &out["theme"], out.get("crossSessionInbound")), (&json!(2), &json!("dark"), None));
    assert!(!out.to_string().contains("highwater"), "{out}");
}

#[test]
fn what_somebody_changed_of_ours_is_left_and_named() {
    let Connected { contents, undo } = connected(HostFile::ClaudeServers, Some("{}"));
    let changed = contents.replace("hwt_1", "hwt_2");
    let out = disconnect(HostFile::ClaudeServers, "f", Some(&changed), Some(&undo)).unwrap();
    assert_eq!(out, Disconnected { contents: Some(changed), left: vec!["mcpServers.highwater".into()] });
    let Connected { contents, undo } = connected(HostFile::CodexConfig, Some("a = 1\n"));
    let changed = contents.replace("hwt_1", "hwt_2");
    let out = disconnect(HostFile::CodexConfig, "f", Some(&changed), Some(&undo)).unwrap();
    assert_eq!(out, Disconnected { contents: Some(changed), left: vec!["mcp_servers.highwater".into()] });
}

#[test]
fn without_a_record_ours_is_known_by_its_looks() {
    for (file, before) in [
        (HostFile::ClaudeServers, "{\n  \"mcpServers\": {\n    \"x\": {}\n  }\n}\n"),
        (
            HostFile::ClaudeSettings,
            "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\"hooks\": []}\n    ]\n  }\n}\n",
        ),
    ] {
        let Connected { contents, .. } = connected(file, Some(before));
        let out = disconnect(file, "f", Some(&contents), None).unwrap().contents.unwrap();
        assert!(!out.contains("highwater"), "{out}");
        assert!(out.contains("\"x\": {}") || out.contains("{\"hooks\": []}"), "{out}");
    }
    let Connected { contents, .. } = connected(HostFile::CodexConfig, Some("a = 1\n"));
    let out = disconnect(HostFile::CodexConfig, "f", Some(&contents), None).unwrap().contents.unwrap();
    assert_eq!(out.trim_end(), "a = 1");
}

#[test]
fn a_new_token_takes_the_place_of_the_old_one() {
    let before = "{\"mcpServers\": {\"highwater\": {\"url\": \"http://mine\"}}}";
    let first = connected(HostFile::ClaudeServers, Some(before));
    let mut newer = install();
    newer.server.environment = vec![("HIGHWATER_TOKEN".into(), "hwt_2".into())];
    let second =
        connect(HostFile::ClaudeServers, "f", Some(&first.contents), &newer, Some(&first.undo)).unwrap();
    assert!(second.contents.contains("hwt_2") && !second.contents.contains("hwt_1"));
    assert_eq!(back(HostFile::ClaudeServers, &second.contents, &second.undo).as_deref(), Some(before));
}

#[test]
fn an_undo_survives_being_kept() {
    let Connected { contents, undo } = connected(HostFile::CodexConfig, Some("[mcp_servers.highwater]\n"));
    let kept: Undo = serde_json::from_str(&serde_json::to_string(&undo).unwrap()).unwrap();
    assert_eq!(kept, undo);
    assert_eq!(back(HostFile::CodexConfig, &contents, &kept).as_deref(), Some("[mcp_servers.highwater]\n"));
}

#[test]
fn a_plugin_holds_server_and_hooks() {
    let files = plugin_files(&install(), "1.2.3");
    let names: Vec<_> = files.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, [".claude-plugin/plugin.json", ".mcp.json", "hooks/hooks.json"]);
    let json = |index: usize| serde_json::from_str::<Value>(&files[index].1).unwrap();
    assert_eq!(json(0)["version"], "1.2.3");
    assert_eq!(json(1)["mcpServers"]["highwater"]["command"], "/usr/bin/highwater");
    let prompt = &json(2)["hooks"]["UserPromptSubmit"][0]["hooks"][0];
    assert_eq!(prompt["server"], "plugin:highwater:highwater");
    let Connected { contents, .. } = connected(HostFile::ClaudePluginSettings, Some("{}"));
    assert_eq!(serde_json::from_str::<Value>(&contents).unwrap(), json!({ "crossSessionInbound": "refuse" }));
}

#[test]
fn no_comma_is_left_behind_where_the_host_has_sorted_the_file() {
    let Connected { contents, undo } = connected(HostFile::ClaudeSettings, Some("{\n  \"hooks\": {}\n}"));
    let value: Value = serde_json::from_str(&contents).unwrap();
    let out = back(HostFile::ClaudeSettings, &format!("{value:#}"), &undo).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&out).unwrap(), json!({ "hooks": {} }));
}

#[test]
fn what_people_entered_by_hand_stays_and_old_hooks_of_ours_go() {
    let by_hand = "{\"mcpServers\": {\"gate\": {\"command\": \"highwater\", \"args\": [\"stdio\"]}}}";
    let Connected { contents, undo } = connected(HostFile::ClaudeServers, Some(by_hand));
    assert!(contents.contains("\"gate\""));
    assert_eq!(back(HostFile::ClaudeServers, &contents, &undo).as_deref(), Some(by_hand));
    let old = "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"/old/highwater hook claude-code Stop || exit 0\"}]}]}}";
    let Connected { contents, undo } = connected(HostFile::ClaudeSettings, Some(old));
    assert!(!contents.contains("/old/"));
    assert_eq!(back(HostFile::ClaudeSettings, &contents, &undo).as_deref(), Some(old));
}
