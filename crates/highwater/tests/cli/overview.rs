//! `status`, `version`, `logs` and `completions`.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::http::Gateway;
use crate::program::{Site, text};

#[test]
fn status_is_one_page_and_its_exit_code_says_whether_a_gateway_works() {
    let site = Site::new();
    let output = site.run(&["status"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).starts_with("gateway: none runs on this data directory\n"));
    assert!(text(&output.stderr).starts_with("error: no gateway runs on `"), "{}", text(&output.stderr));

    let config = json!({
        "approvals": { "listen": "localhost:0", "open_browser": false, "notify": false },
        "servers": { "files": {
            "command": env!("CARGO_BIN_EXE_highwater"), "args": ["example-server", "files"],
            "trust": { "server_trust": "tool", "verified": true },
        } },
    });
    let config = site.write("one.json", &config.to_string());
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--config", config.to_str().unwrap()];
    let mut gateway = Gateway::of(site.start(&arguments));
    gateway.tools();
    let output = site.run(&["status"]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for part in [
        format!("gateway: process {}, http://{}/mcp, up ", gateway.running.pid(), gateway.address),
        format!("data: {}\n", site.data().display()),
        "servers: 1 up\n".to_owned(),
        "questions: none waits\n".to_owned(),
        "labels: sqlite, works\n".to_owned(),
        "record: the audit log, works\n".to_owned(),
        "permits: none\n".to_owned(),
    ] {
        assert!(said.contains(&part), "{part} in {said}");
    }
    let status: Value = serde_json::from_slice(&site.run(&["status", "--json"]).stdout).unwrap();
    assert_eq!(status["gateway"]["pid"], gateway.running.pid());
    assert_eq!(
        (&status["overview"]["store"]["works"], &status["overview"]["questions"]),
        (&json!(true), &json!(0))
    );
    assert_eq!(status["servers"].as_array().unwrap().len(), 1);

    // One that was killed leaves word of itself that is true no longer.
    gateway.running.signal(Signal::KILL);
    gateway.running.wait();
    let output = site.run(&["status"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).starts_with("gateway: none runs"), "{}", text(&output.stdout));
}

#[test]
fn version_says_what_it_speaks_and_keeps() {
    let site = Site::new();
    let version: Value = serde_json::from_slice(&site.run(&["version", "--json"]).stdout).unwrap();
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
    let protocols = version["protocolVersions"].as_array().unwrap();
    assert!(
        protocols.contains(&json!("2026-07-28")) && protocols.contains(&json!("2024-11-05")),
        "{version}"
    );
    let said = text(&site.run(&["version"]).stdout);
    assert!(said.starts_with(&format!("highwater     {}", env!("CARGO_PKG_VERSION"))), "{said}");
    assert!(said.contains(&format!("data layout   {}\n", version["dataLayout"])), "{said}");
}

#[test]
fn logs_shows_what_the_gateway_logs_and_goes_on() {
    let site = Site::new();
    let nothing = site.run(&["logs"]);
    assert_eq!(nothing.status.code(), Some(1));
    assert!(
        text(&nothing.stderr).contains("help: start one with `highwater serve`"),
        "{}",
        text(&nothing.stderr)
    );

    let web = json!({ "command": env!("CARGO_BIN_EXE_highwater"), "args": ["example-server", "web"],
        "trust": { "server_trust": "tool", "verified": true } });
    let config = json!({ "approvals": { "listen": "none" }, "servers": { "web": web } });
    let config = site.write("web.json", &config.to_string());
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--config", config.to_str().unwrap()];
    let mut gateway = Gateway::of(site.start(&arguments));
    gateway.tools();
    // The same is on standard error, as ever.
    gateway.running.errors_until("server=web");
    let followed = site.start(&["logs", "--follow"]);
    let said = followed.lines_until("server=web");
    assert!(said.contains(" INFO ") && !said.contains('\u{1b}'), "{said}");
    let json = text(&site.run(&["logs", "--json"]).stdout);
    assert!(json.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{json}");
    assert_eq!(text(&site.run(&["logs", "--level", "error"]).stdout), "");
    assert_eq!(text(&site.run(&["logs", "-n", "1"]).stdout).lines().count(), 1);
    gateway.running.signal(Signal::TERM);
    assert_eq!(gateway.running.wait().code(), Some(0));
    followed.lines_until("stopping");
    // It can be read when the gateway has ended.
    assert!(text(&site.run(&["logs"]).stdout).contains("stopping"));
}

#[test]
fn completions_know_every_command_and_no_hidden_one() {
    let site = Site::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = site.run(&["completions", shell]);
        assert!(output.status.success(), "{shell}");
        let script = text(&output.stdout);
        assert!(script.contains("servers") && script.contains("completions"), "{shell}");
        assert!(!script.contains("stdio-gateway") && !script.contains("scripted-server"), "{shell}");
    }
    let script = site.write("completion.bash", &text(&site.run(&["completions", "bash"]).stdout));
    let checked = std::process::Command::new("bash").arg("-n").arg(script).output().unwrap();
    assert!(checked.status.success(), "{}", text(&checked.stderr));
    assert_eq!(site.run(&["completions", "tcsh"]).status.code(), Some(2));
}
