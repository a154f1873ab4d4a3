//! What is connected can be taken back, whatever the files look like.

use serde_json::Value;

use crate::Site;
use crate::homes::{HOMES, Home, everything};

fn home(name: &str) -> &'static Home {
    HOMES.iter().find(|home| home.name == name).unwrap()
}

#[test]
fn every_home_is_restored_byte_for_byte() {
    for home in HOMES {
        let site = Site::new(home);
        let before = everything(site.home());
        let said = site.done(&["connect", home.host, "--yes"]);
        assert!(said.contains(&format!("undo     highwater disconnect {}", home.host)), "{said}");
        let connected = everything(site.home());
        for file in home.files_to_change() {
            assert_ne!(before.get(file), connected.get(file), "{}: {file}", home.name);
        }
        site.done(&["disconnect", home.host, "--yes"]);
        assert_eq!(everything(site.home()), before, "{}", home.name);
    }
}

#[test]
fn connecting_twice_changes_nothing() {
    for home in HOMES {
        let site = Site::new(home);
        let before = everything(site.home());
        site.done(&["connect", home.host, "--yes"]);
        let once = everything(site.home());
        let said = site.done(&["connect", home.host, "--yes"]);
        assert!(said.ends_with("is connected already, and as it should be; nothing was changed\n"), "{said}");
        assert_eq!(everything(site.home()), once, "{}", home.name);
        site.done(&["disconnect", home.host, "--yes"]);
        assert_eq!(everything(site.home()), before, "{}", home.name);
    }
}

#[test]
fn a_dry_run_makes_nothing_at_all() {
    for home in HOMES {
        let site = Site::new(home);
        let before = everything(site.home());
        let said = site.done(&["connect", home.host, "--dry-run"]);
        assert!(said.contains("nothing was changed; this is what would be"), "{said}");
        assert!(said.contains("\n+") && !said.contains("hwt_"), "{said}");
        assert_eq!(everything(site.home()), before, "{}", home.name);
        assert!(!site.path(".local").exists(), "{}", home.name);
    }
}

#[test]
fn a_token_of_its_own_comes_and_goes() {
    let site = Site::new(home("nothing of Claude Code"));
    let answer: Value =
        serde_json::from_str(&site.done(&["connect", "claude-code", "--yes", "--json"])).unwrap();
    assert_eq!((&answer["connected"], &answer["token"]), (&true.into(), &"claude-code".into()), "{answer}");
    let servers: Value = serde_json::from_str(&site.read(".claude.json")).unwrap();
    let secret = servers["mcpServers"]["highwater"]["env"]["HIGHWATER_TOKEN"].as_str().unwrap();
    assert!(secret.starts_with("hwt_") && !answer.to_string().contains(secret), "{answer}");
    let tokens = || -> Value { serde_json::from_str(&site.done(&["token", "list", "--json"])).unwrap() };
    assert_eq!((&tokens()[0]["status"], &tokens()[0]["forms"]), (&"active".into(), &"person".into()));
    site.done(&["disconnect", "claude-code", "--yes"]);
    assert_eq!(tokens()[0]["status"], "revoked");
    // Names of tokens are never given twice.
    site.done(&["connect", "claude-code", "--yes"]);
    assert_eq!((&tokens()[1]["name"], &tokens()[1]["status"]), (&"claude-code-2".into(), &"active".into()));
}

#[test]
fn a_token_of_the_configuration_keeps_its_name() {
    let site = Site::new(home("nothing of Codex"));
    let config = "servers: { mail: { command: mail-server } }\n\
        agent_tokens: { codex: { servers: ['*'], permissions: [call_tool_read] } }\n";
    std::fs::write(site.path("highwater.yaml"), config).unwrap();
    let secret = || site.read(".codex/config.toml").split("HIGHWATER_TOKEN = ").nth(1).unwrap().to_owned();
    site.done(&["connect", "codex", "--yes"]);
    let first = secret();
    assert!(site.read(".codex/config.toml").contains("\"--config\", \""));
    site.done(&["disconnect", "codex", "--yes"]);
    site.done(&["connect", "codex", "--yes"]);
    assert_ne!(secret(), first);
    let tokens: Value = serde_json::from_str(&site.done(&["token", "list", "--json"])).unwrap();
    assert_eq!((tokens.as_array().unwrap().len(), &tokens[0]["status"]), (1, &"active".into()), "{tokens}");
}

#[test]
fn what_the_host_wrote_meanwhile_stays() {
    let site = Site::new(home("comments, unknown keys, hooks of others"));
    site.done(&["connect", "claude-code", "--yes"]);
    let changed =
        site.read(".claude.json").replace("\"numStartups\": 41", "\"numStartups\": 42,\n  \"new\": true");
    std::fs::write(site.path(".claude.json"), changed).unwrap();
    site.done(&["disconnect", "claude-code", "--yes"]);
    let left = site.read(".claude.json");
    assert!(
        left.contains("\"numStartups\": 42,\n  \"new\": true") && !left.contains("HIGHWATER_TOKEN"),
        "{left}"
    );
    let untouched = home("comments, unknown keys, hooks of others").files[1].1;
    assert_eq!(site.read(".claude/settings.json"), untouched);
}

#[test]
fn what_somebody_changed_of_ours_is_named_and_the_copies_stay() {
    let site = Site::new(home("TOML with comments"));
    site.done(&["connect", "codex", "--yes"]);
    let changed = site
        .read(".codex/config.toml")
        .replace("args = [\"stdio\"", "startup_timeout_sec = 60\nargs = [\"stdio\"");
    std::fs::write(site.path(".codex/config.toml"), changed).unwrap();
    let said = site.done(&["disconnect", "codex", "--yes"]);
    assert!(said.contains("left     `mcp_servers.highwater` in ~/.codex/config.toml"), "{said}");
    let copy = site.read(".local/share/highwater/connections/codex/config.toml");
    assert_eq!(copy, home("TOML with comments").files[0].1);
}

#[test]
fn without_a_record_our_entries_are_known_by_their_looks() {
    let site = Site::new(home("comments, unknown keys, hooks of others"));
    site.done(&["connect", "claude-code", "--yes"]);
    std::fs::remove_dir_all(site.path(".local/share/highwater/connections")).unwrap();
    let said = site.done(&["disconnect", "claude-code", "--yes"]);
    assert!(said.starts_with("Claude Code is disconnected"), "{said}");
    for file in [".claude.json", ".claude/settings.json"] {
        assert!(!site.read(file).contains("highwater"), "{}", site.read(file));
        assert!(site.read(file).contains("github") || site.read(file).contains("~/bin/look"));
    }
    let again = site.done(&["disconnect", "claude-code", "--yes"]);
    assert_eq!(again, "Claude Code is not connected; nothing was changed\n");
}

#[test]
fn a_directory_becomes_a_plugin_and_goes_again() {
    let site = Site::new(home("comments, unknown keys, hooks of others"));
    let before = everything(site.home());
    let said = site.done(&["connect", "claude-code", "--plugin", "plugins/gate", "--yes"]);
    assert!(said.contains("start Claude Code with `claude --plugin-dir ~/plugins/gate`"), "{said}");
    let servers: Value = serde_json::from_str(&site.read("plugins/gate/.mcp.json")).unwrap();
    assert_eq!(servers["mcpServers"]["highwater"]["args"][0], "stdio", "{servers}");
    let hooks: Value = serde_json::from_str(&site.read("plugins/gate/hooks/hooks.json")).unwrap();
    assert!(hooks["hooks"]["PreToolUse"].to_string().contains("exit 2; }"), "{hooks}");
    assert_eq!(site.read(".claude.json").as_bytes(), before[".claude.json"].as_ref().unwrap());
    assert!(site.read(".claude/settings.json").contains("\"crossSessionInbound\": \"refuse\""));
    // The kind of a connection is kept, also where it is not said again.
    assert!(site.done(&["connect", "claude-code", "--yes"]).contains("is connected already"));
    let other = site.fails(&["connect", "claude-code", "--plugin", "other", "--yes"], 1);
    assert!(other.contains("connected in another way already"), "{other}");
    site.done(&["disconnect", "claude-code", "--yes"]);
    assert_eq!(everything(site.home()), before);
}
