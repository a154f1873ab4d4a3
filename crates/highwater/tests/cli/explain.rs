//! `highwater explain` without a gateway: from the files alone.

use serde_json::Value;

use crate::program::{Site, text};

/// A refusal and the call that led to it, as a gateway records them.
const LOG: &str = concat!(
    r#"{"v":2,"time":1794736194163,"id":"hwd_a1","event":"decision","principal":"agent","session":"connection/agent/1","epoch":0,"virtual_server":"default","upstream":"web","kind":"call-tool","method":"tools/call","target":"fetch_page","tool":"web__fetch_page","digest":"00","mode":"balanced","effect":"allow","ruling":"allowed","label":[],"contract":{"destination":["public"],"outcomes":["benign"],"source":["untrustedPublic"],"returns":[]},"findings":[]}"#,
    "\n",
    r#"{"v":2,"time":1794736194165,"id":"hwd_a1","event":"outcome","outcome":"delivered","bytes":120,"millis":2,"label":["openWorld","integrity:none","source:untrustedPublic"],"raised":true,"origins":["mcp:web:fetch_page"]}"#,
    "\n",
    r#"{"v":2,"time":1794736195000,"id":"hwd_a2","event":"decision","principal":"agent","session":"connection/agent/1","epoch":0,"virtual_server":"default","upstream":"mail","kind":"call-tool","method":"tools/call","target":"send\u001b[2Jmessage","tool":"mail__send_message","digest":"00","mode":"balanced","effect":"confirm","ruling":"blocked","label":["openWorld","integrity:none","source:untrustedPublic"],"origins":["mcp:web:fetch_page"],"contract":{"destination":["public"],"outcomes":["irreversible"],"source":["system"],"returns":[],"accepts":["none"],"integrity":"tool","approval":"none","basis":{"outcomes":"declared-verified"}},"violations":["flow.act"],"findings":[{"id":"flow.act","effect":"confirm","reasons":["untrusted-acts"],"saw":[{"fact":"session.integrity","value":"none","truth":"true"}]},{"id":"structural.unapproved","effect":"block","reasons":["nobody-to-ask"]}]}"#,
    "\n",
    r#"{"v":2,"time":1794736195001,"id":"hwd_a3","eve"#,
);

fn recorded() -> Site {
    let site = Site::new();
    std::fs::create_dir_all(site.data().join("audit")).unwrap();
    std::fs::write(site.data().join("audit/000001.jsonl"), LOG).unwrap();
    site
}

#[test]
fn a_decision_is_explained_by_its_id_or_as_the_last() {
    let site = recorded();
    let by_id = site.run(&["explain", "hwd_a2"]);
    assert!(by_id.status.success(), "{}", text(&by_id.stderr));
    let said = text(&by_id.stdout);
    assert!(said.starts_with("refused: `mail__send_message` of server `mail`\n  --> hwd_a2,"), "{said}");
    assert!(said.contains("  09:49:54  hwd_a1  web__fetch_page  integrity none, openWorld"), "{said}");
    assert!(said.contains("use a client that can put questions to you"), "{said}");
    assert!(!said.contains('\u{1b}'), "text of servers must not move the cursor: {said}");
    assert_eq!(text(&site.run(&["explain", "--last"]).stdout), said);
    let json: Value = serde_json::from_slice(&site.run(&["explain", "--last", "--json"]).stdout).unwrap();
    assert_eq!(json["session"]["brought"][0]["id"], "hwd_a1");
    assert_eq!(json["ruling"], "blocked");
}

#[test]
fn without_an_id_the_latest_are_listed() {
    let site = recorded();
    let said = text(&site.run(&["explain"]).stdout);
    assert_eq!(said.lines().count(), 3, "{said}");
    assert!(
        said.contains(
            "hwd_a2    refused  confirm         mail__send_message  flow.act, structural.unapproved"
        ),
        "{said}"
    );
    let json: Value = serde_json::from_slice(&site.run(&["explain", "--json"]).stdout).unwrap();
    assert_eq!(json[1]["findings"][0], "flow.act");
}

#[test]
fn what_is_not_on_record_is_a_failure_with_the_way_out() {
    let site = recorded();
    let output = site.run(&["explain", "hwd_nothing"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    let said = text(&output.stderr);
    assert!(said.starts_with("error: no decision `hwd_nothing` is on record in `"), "{said}");
    assert!(said.contains("help: `highwater explain` lists the latest"), "{said}");
    let empty = Site::new();
    for arguments in [vec!["explain"], vec!["explain", "--last"]] {
        let output = empty.run(&arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(text(&output.stderr).contains("help: name the directory of the gateway"), "{arguments:?}");
    }
    assert_eq!(site.run(&["explain", "hwd_a1", "--last"]).status.code(), Some(2));
}

#[test]
fn what_was_compressed_tells_the_same() {
    let site = recorded();
    std::fs::set_permissions(site.data(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let asked: [&[&str]; 5] = [
        &["explain", "hwd_a2"],
        &["explain", "hwd_a2", "--json"],
        &["explain", "--last"],
        &["explain"],
        &["report"],
    ];
    let tell = || asked.map(|arguments| text(&site.run(arguments).stdout));
    let before = tell();
    let folder = site.data().join("audit");
    std::fs::write(folder.join("000002.jsonl"), "").unwrap();
    let dir = highwater_store::DataDir::open(site.data()).unwrap();
    let log = highwater_store::AuditLog::open(&dir).unwrap();
    let keep = std::time::Duration::from_secs(3_650 * 24 * 60 * 60);
    log.keep(highwater_store::AuditRetention { keep, max: 1 << 30, compress: true }).unwrap();
    let deadline = std::time::Instant::now() + crate::program::PATIENCE;
    while folder.join("000001.jsonl").exists() {
        assert!(std::time::Instant::now() < deadline, "it is compressed");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    for (now, before) in tell().iter().zip(&before) {
        assert_eq!(now, before);
    }
    for index in ["", "damaged"] {
        std::fs::write(folder.join("000001.index"), index).unwrap();
        assert_eq!(tell(), before, "with an index that is {index:?}");
    }
}
