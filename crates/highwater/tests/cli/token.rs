//! `highwater token`, with and without a gateway.

use serde_json::Value;

use crate::http::Gateway;
use crate::program::{Site, text};

fn said(site: &Site, arguments: &[&str]) -> String {
    let output = site.run(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn failed(site: &Site, arguments: &[&str], code: i32) -> String {
    let output = site.run(arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output.stdout));
    text(&output.stderr)
}

/// What every story does, in words; the same beside a gateway and without one.
fn told(site: &Site) {
    assert!(said(site, &["token", "list"]).starts_with("no tokens besides the printed agent token"));
    let create = ["token", "create", "bot", "--permission", "read", "--server", "repo", "--server", "files"];
    let made = said(
        site,
        &[
            &create[..],
            &["--tool", "get_*", "--rate", "60", "--person", "ada", "--user", "ben", "--words", "none"],
        ]
        .concat(),
    );
    let secret = made.lines().nth(1).unwrap().strip_prefix("secret       ").unwrap();
    assert!(secret.starts_with("hwt_") && secret.len() == 47, "{made}");
    assert!(made.contains("user         ben\n"), "{made}");
    assert!(made.contains("words        none\n"), "{made}");
    assert!(made.contains("narrowed to  tools get_*, 60/min\n"), "{made}");
    assert!(made.contains("This is the only time that the secret is shown."), "{made}");

    let list = said(site, &["token", "list"]);
    let row = list.lines().find(|line| line.starts_with("bot ")).unwrap();
    for part in [
        "active",
        secret.get(..12).unwrap(),
        "ben",
        "read",
        "files, repo",
        "tools get_*, 60/min",
        "command",
        "never",
    ] {
        assert!(row.contains(part), "{part}: {list}");
    }
    assert!(!list.contains(secret), "{list}");
    let json: Value = serde_json::from_str(&said(site, &["token", "list", "--json"])).unwrap();
    assert_eq!(json[0]["permissions"], serde_json::json!(["call_tool_read"]), "{json}");
    assert_eq!(json[0]["person"], "ada", "{json}");
    assert_eq!(json[0]["user"], "ben", "{json}");
    assert_eq!(json[0]["words"], "none", "{json}");

    let taken = failed(site, &create, 1);
    assert!(taken.starts_with("error: there is a token `bot` already\nhelp: choose another name"), "{taken}");
    let rotated = said(site, &["token", "rotate", "bot"]);
    assert!(!rotated.contains(secret) && rotated.contains("hwt_"), "{rotated}");
    assert_eq!(
        said(site, &["token", "revoke", "bot"]),
        "token `bot` is revoked; it opens nothing any more\n"
    );
    for again in [&["token", "revoke", "bot"][..], &["token", "rotate", "bot"]] {
        assert!(failed(site, again, 1).starts_with("error: token `bot` is revoked already\nhelp: "));
    }
    let spent = failed(site, &create, 1);
    assert!(
        spent.starts_with("error: there was a token `bot`, and it was revoked\nhelp: choose another"),
        "{spent}"
    );
    assert!(
        failed(site, &["token", "revoke", "eve"], 1).starts_with("error: there is no token `eve`\nhelp: ")
    );
}

#[test]
fn tokens_are_made_and_taken_back_without_a_gateway() {
    told(&Site::new());
}

#[test]
fn tokens_are_made_and_taken_back_beside_a_gateway() {
    let site = Site::new();
    let _gateway = Gateway::of(site.start(&["serve", "--listen", "localhost:0"]));
    told(&site);
}

#[test]
fn what_a_token_grants_is_said_and_exists() {
    let site = Site::new();
    let undeclared = failed(&site, &["token", "create", "bot"], 1);
    assert!(
        undeclared.contains("nothing says what token `bot` is to grant\nhelp: say what it grants"),
        "{undeclared}"
    );
    let half = failed(&site, &["token", "create", "bot", "--permission", "read"], 2);
    assert!(half.contains("`--server` is missing\nhelp: such as"), "{half}");
    let half = failed(&site, &["token", "create", "bot", "--server", "*", "--rate", "5"], 2);
    assert!(half.contains("`--permission` is missing\nhelp: such as"), "{half}");
    let create = |more: &[&str]| {
        let plain = ["token", "create", "bot", "--permission", "read", "--server", "*"];
        failed(&site, &[&plain[..], more].concat(), 2)
    };
    assert!(create(&["--permission", "admin"]).contains("call_tool_destructive"));
    assert!(create(&["--expires", "yesterday"]).contains("a time from now such as `30d`"));
    assert!(create(&["--expires", "2020-01-01"]).contains("that time is over"));
    assert!(create(&["--flow", "observe"]).contains("balanced, strict"));
    assert!(create(&["--rate", "0"]).contains("--rate"));
    let missing = failed(&site, &["token", "create", "bot", "--permission", "read", "--server", "rpo"], 1);
    assert!(missing.starts_with("error: there is no server `rpo`\nhelp: name a server"), "{missing}");
    for name in ["agent", "local", "a/b", ""] {
        let bad = failed(&site, &["token", "create", name, "--permission", "read", "--server", "*"], 1);
        assert!(bad.contains("help: a name has at most 64"), "{bad}");
    }
    let plain = ["token", "create", "bot", "--permission", "read", "--server", "*", "--user"];
    for user in ["agent", "a/b", ""] {
        let bad = failed(&site, &[&plain[..], &[user]].concat(), 1);
        assert!(
            bad.starts_with(&format!("error: user `{user}` ")) && bad.contains("help: a name has"),
            "{bad}"
        );
    }
    assert!(said(&site, &["token", "list"]).starts_with("no tokens"));
    said(&site, &[&plain[..], &["owner"]].concat());
    failed(&site, &["token"], 2);
}

#[test]
fn the_configuration_says_what_its_tokens_grant() {
    let site = Site::new();
    site.write(
        "highwater.yaml",
        "servers: { a: { command: 'true' } }\nagent_tokens:\n  my-read-only-agent: { permissions: [call_tool_read, retrieve_tools], servers: ['*'] }\n",
    );
    let list = said(&site, &["token", "list"]);
    assert!(list.contains("my-read-only-agent  no secret"), "{list}");
    let both = ["token", "create", "my-read-only-agent", "--permission", "read", "--server", "*"];
    assert!(
        failed(&site, &both, 1).contains("the configuration says what token `my-read-only-agent` grants")
    );
    let made = said(&site, &["token", "create", "my-read-only-agent"]);
    assert!(made.contains("permissions  read, retrieve_tools\nservers      *\n"), "{made}");
    let list = said(&site, &["token", "list"]);
    assert!(list.contains("configuration"), "{list}");
}
