//! `highwater report`: what a time of observing shows, from the record of a real gateway and from files alone.

use serde_json::{Value, json};

use crate::http::Gateway;
use crate::program::{Site, text};

/// One server of which nobody said anything, observed.
fn configuration(site: &Site, more: &str) -> String {
    let data = site.home().join("files");
    format!(
        "flow: observe\nquarantine: false\nservers:\n  files:\n    command: {}\n    args: [example-server, files, --data, {}]\n{more}",
        json!(env!("CARGO_BIN_EXE_highwater")),
        json!(data)
    )
}

/// An agent that reads, and then writes what it read.
fn having_worked(site: &Site) -> Gateway {
    site.write("highwater.yaml", &configuration(site, ""));
    let gateway = Gateway::of(site.start(&["serve", "--listen", "localhost:0"]));
    for number in 0..3 {
        gateway.call("files__list_files", &json!({}));
        let note = json!({ "path": format!("team/{number}.txt"), "text": "noted" });
        let written = gateway.call("files__write_file", &note);
        assert_ne!(written["isError"], true, "nothing is stopped while observing: {written}");
    }
    gateway
}

fn said(site: &Site, arguments: &[&str]) -> String {
    let output = site.run(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn the_label_it_names_does_what_it_says() {
    let site = Site::new();
    let gateway = having_worked(&site);
    let json: Value = serde_json::from_str(&said(&site, &["report", "--json"])).unwrap();
    let stopped = json["asked"].as_u64().unwrap() + json["refused"].as_u64().unwrap();
    assert!(stopped >= 3, "{json}");
    assert_eq!(json["stops"][0]["server"], "files", "{json}");
    let first = &json["remedies"][0];
    assert_eq!(first["lines"], "servers:\n  files:\n    profile: local", "{json}");
    let removes = first["removes"].as_u64().unwrap();
    assert!(removes >= 2, "{json}");
    let shown = said(&site, &["report", "--since", "1h"]);
    assert!(shown.contains(&format!("1. removes {removes} of {stopped}")), "{shown}");
    assert!(shown.contains("         files:\n           profile: local\n"), "{shown}");
    // What is told of one call is the same.
    let explained = said(&site, &["explain", "--last"]);
    assert!(explained.contains("    profile: local\n"), "{explained}");
    assert!(!explained.contains("nothing: `flow: observe`"), "{explained}");
    drop(gateway);

    // The same work again, with the line that was named.
    let again = Site::new();
    again.write("highwater.yaml", &configuration(&again, "    profile: local\n"));
    let gateway = Gateway::of(again.start(&["serve", "--listen", "localhost:0"]));
    for number in 0..3 {
        gateway.call("files__list_files", &json!({}));
        let note = json!({ "path": format!("team/{number}.txt"), "text": "noted" });
        gateway.call("files__write_file", &note);
    }
    let json: Value = serde_json::from_str(&said(&again, &["report", "--json"])).unwrap();
    let left = json["asked"].as_u64().unwrap() + json["refused"].as_u64().unwrap();
    assert_eq!(left, stopped - removes, "{json}");
}

/// Two decisions while observing, as a gateway records them; of the tools nothing is known here.
const LOG: &str = concat!(
    r#"{"v":2,"time":1794736194163,"id":"hwd_a1","event":"decision","principal":"agent","session":"connection/agent/1","epoch":0,"virtual_server":"default","upstream":"web","kind":"call-tool","method":"tools/call","target":"fetch_page","tool":"web__fetch_page","digest":"00","mode":"observe","effect":"allow","ruling":"allowed","label":[],"contract":{"destination":["public"],"outcomes":["benign"],"source":["untrustedPublic"],"returns":[]},"findings":[]}"#,
    "\n",
    r#"{"v":2,"time":1794736194165,"id":"hwd_a1","event":"outcome","outcome":"delivered","bytes":120,"millis":2,"label":["openWorld","integrity:none","source:untrustedPublic"],"raised":true,"origins":["mcp:web:fetch_page"]}"#,
    "\n",
    r#"{"v":2,"time":1794736195000,"id":"hwd_a2","event":"decision","principal":"agent","session":"connection/agent/1","epoch":0,"virtual_server":"default","upstream":"mail","kind":"call-tool","method":"tools/call","target":"send_message","tool":"mail__send_message","digest":"00","mode":"observe","effect":"allow","ruling":"allowed","label":["openWorld","integrity:none","source:untrustedPublic"],"origins":["mcp:web:fetch_page"],"contract":{"destination":["public"],"outcomes":["irreversible"],"source":["system"],"returns":[],"accepts":["none"],"integrity":"tool","approval":"none","basis":{"outcomes":"declared-verified"}},"violations":["flow.act"],"findings":[{"id":"flow.act","effect":"allow","reasons":["untrusted-acts"],"saw":[{"fact":"session.integrity","value":"none","truth":"true"}],"would":{"balanced":"confirm","strict":"passkey","samos":"allow"}}],"would":{"balanced":"confirm","strict":"passkey","samos":"allow"}}"#,
    "\n",
);

fn recorded() -> Site {
    let site = Site::new();
    std::fs::create_dir_all(site.data().join("audit")).unwrap();
    std::fs::write(site.data().join("audit/000001.jsonl"), LOG).unwrap();
    site
}

#[test]
fn what_is_on_record_is_counted_without_a_gateway() {
    let site = recorded();
    let shown = said(&site, &["report"]);
    assert!(
        shown.starts_with("2 decisions from 2026-11-15 09:49:54 UTC to 2026-11-15 09:49:55 UTC\n"),
        "{shown}"
    );
    assert!(shown.contains("`balanced` would have asked about 1 of them, and refused 0\n"), "{shown}");
    assert!(shown.contains("\n  mail    flow.act  1      0        the session has read text"), "{shown}");
    let list = said(&site, &["explain"]);
    assert!(list.contains("hwd_a2    allowed  confirm         mail__send_message  flow.act"), "{list}");
    let more = said(&site, &["explain", "--limit", "1"]);
    assert!(more.contains("These are the latest 1; there are older ones."), "{more}");
}

#[test]
fn a_time_without_decisions_is_said_to_be_so() {
    let site = recorded();
    for period in [vec!["--until", "2026-11-14"], vec!["--since", "2026-11-16", "--until", "2026-11-17"]] {
        let shown = said(&site, &[&["report"], &period[..]].concat());
        assert_eq!(shown, "no decision is on record for this time\n", "{period:?}");
    }
    let json: Value =
        serde_json::from_str(&said(&site, &["report", "--until", "2026-11-14", "--json"])).unwrap();
    assert_eq!((&json["decisions"], &json["stops"]), (&json!(0), &json!([])));
}

#[test]
fn wrong_times_are_usage_and_an_empty_directory_is_a_failure() {
    let site = recorded();
    for wrong in [
        vec!["report", "--since", "yesterday"],
        vec!["report", "--since", "2026-11-16", "--until", "2026-11-14"],
        vec!["report", "--config", "nowhere.yaml"],
    ] {
        assert_eq!(site.run(&wrong).status.code(), Some(2), "{wrong:?}");
    }
    let output = Site::new().run(&["report"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("help: name the directory of the gateway"));
}
