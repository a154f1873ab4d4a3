//! The help texts, word for word, and wrong usage.

use crate::program::{Site, text};

#[test]
fn help_says_what_there_is() {
    let site = Site::new();
    for command in [
        "",
        "session reset",
        "serve",
        "stdio",
        "servers",
        "explain",
        "report",
        "status",
        "session",
        "marks",
        "marks clear",
        "token",
        "token create",
        "token rotate",
        "approvals",
        "receipts verify",
        "check",
        "test",
        "schema",
        "example-server",
        "connect",
        "disconnect",
        "doctor",
        "logs",
        "version",
        "completions",
    ] {
        let arguments: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let output = site.run(&arguments);
        assert!(output.status.success(), "{command}");
        let help = text(&output.stdout);
        assert!(
            help.lines().all(|line| line.chars().count() <= 100),
            "{command}: a line is too long:\n{help}"
        );
        let name = if command.is_empty() { "highwater" } else { command };
        insta::assert_snapshot!(format!("help_{}", name.replace(' ', "-")), help);
    }
}

#[test]
fn wrong_usage_exits_with_two() {
    let site = Site::new();
    for arguments in [
        vec!["fly"],
        vec!["serve", "--port", "1"],
        vec!["serve", "--listen", "7411"],
        vec!["serve", "--log-level", "[", "--listen", "127.0.0.1:0"],
        vec!["example-server", "mail", "--split-tools"],
        vec!["example-server", "toaster"],
        vec![],
    ] {
        let output = site.run(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output.stderr));
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn an_address_without_a_host_is_refused_with_the_way_out() {
    let output = Site::new().run(&["serve", "--listen", "7411"]);
    assert!(text(&output.stderr).contains("write `localhost:7411`"), "{}", text(&output.stderr));
}

#[test]
fn a_failure_exits_with_one_and_says_what_to_do() {
    let site = Site::new();
    let output = site.run(&["servers"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.starts_with("error: no gateway runs on `"), "{said}");
    assert!(said.contains("help: start one with `highwater serve`"), "{said}");
}

#[test]
fn generated_pages_name_every_command() {
    let page = text(&Site::new().run(&["docs", "commands"]).stdout);
    for command in
        ["serve", "stdio", "servers", "explain", "session", "check", "test", "schema", "example-server"]
    {
        assert!(page.contains(&format!("\n## `{command}`\n")), "{command}");
    }
    assert!(
        !page.contains("guard") && !page.contains("stdio-gateway") && !page.contains("scripted-server"),
        "hidden commands stay hidden"
    );
}
