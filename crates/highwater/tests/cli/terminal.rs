//! What people see at a terminal: colour, and lines that end where it ends. `script` of util-linux makes the terminal.

use std::process::Command;

use serde_json::json;

use crate::http::Gateway;
use crate::program::{Site, text};

/// Runs a command at a terminal of this width, with these variables.
fn at_terminal(site: &Site, columns: usize, arguments: &str, variables: &[(&str, &str)]) -> String {
    let program = env!("CARGO_BIN_EXE_highwater");
    let line = format!("stty cols {columns} rows 50 && {program} {arguments}");
    let mut script = Command::new("script");
    script.args(["-q", "-e", "-c", &line, "/dev/null"]).current_dir(site.home()).env_clear();
    script.env("HOME", site.home()).env("PATH", "/usr/local/bin:/usr/bin:/bin").env("TERM", "xterm");
    script.envs(variables.iter().copied());
    text(&script.stdin(std::process::Stdio::null()).output().unwrap().stdout).replace("\r\n", "\n")
}

/// The text without its colours.
fn plain(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + part.split_once('m').map_or("", |(_, rest)| rest))
}

#[test]
fn a_terminal_has_colour_and_whole_words_and_a_pipe_has_neither() {
    let site = Site::new();
    let config = json!({ "servers": { "missing": { "command": "no-such-program" } }, "approvals": { "listen": "none" } });
    let config = site.write("highwater.json", &config.to_string());
    let gateway =
        Gateway::of(site.start(&["serve", "--listen", "127.0.0.1:0", "--config", config.to_str().unwrap()]));
    gateway.tools();
    for columns in [60, 100] {
        let seen = at_terminal(&site, columns, "servers", &[]);
        assert!(seen.contains("\u{1b}[1;31m"), "{seen}");
        assert!(plain(&seen).lines().all(|line| line.chars().count() <= columns), "{columns}:\n{seen}");
        let joined = plain(&seen).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(joined.contains("`no-such-program` was not found on its PATH"), "{seen}");
        let help = at_terminal(&site, columns, "servers approve --help", &[]);
        assert!(plain(&help).lines().all(|line| line.chars().count() <= columns), "{columns}:\n{help}");
    }
    let piped = text(&site.run(&["servers"]).stdout);
    assert!(
        !piped.contains('\u{1b}') && piped.contains("`no-such-program` was not found on its PATH"),
        "{piped}"
    );
    // As people expect, whoever says it.
    assert!(!at_terminal(&site, 80, "servers", &[("NO_COLOR", "1")]).contains('\u{1b}'));
    assert!(!at_terminal(&site, 80, "--color never servers", &[]).contains('\u{1b}'));
    assert!(text(&site.run(&["servers", "--color", "always"]).stdout).contains('\u{1b}'));
    assert!(text(&site.run_with(&["servers"], &[("CLICOLOR_FORCE", "1")]).stdout).contains('\u{1b}'));
    // A failure is read without colour as well.
    let failed = at_terminal(&site, 80, "servers diff nobody", &[]);
    assert!(failed.contains("\u{1b}[1;31merror:\u{1b}[0m "), "{failed}");
}
