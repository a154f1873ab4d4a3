//! Signed manifests: what a publisher signs is approved with proof, and nothing else of the server is used.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::SystemTime;

use highwater_testkit::wait::until_true;
use serde_json::{Value, json};

use super::stage::{PROGRAM, Stage, definitions, entry, home, say};

/// A publisher with a key.
struct Publisher {
    folder: tempfile::TempDir,
    key: String,
}

// === impl Publisher ===

impl Publisher {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key.json");
        let made = manifest(&["keygen", "--json", "--out", file.to_str().unwrap()]).await;
        let made: Value = serde_json::from_slice(&done(&made).stdout).unwrap();
        Self { folder, key: made["key"].as_str().unwrap().to_owned() }
    }

    /// Signs these definitions, and gives the file.
    async fn sign(&self, definitions: &Value, more: &[&str]) -> PathBuf {
        let (lists, out) = (self.folder.path().join("lists.json"), self.folder.path().join("manifest.json"));
        std::fs::write(&lists, definitions.to_string()).unwrap();
        let key = self.folder.path().join("key.json");
        let mut arguments = vec![
            "sign",
            "--definitions",
            lists.to_str().unwrap(),
            "--key",
            key.to_str().unwrap(),
            "--out",
            out.to_str().unwrap(),
        ];
        if !more.contains(&"--server") {
            arguments.extend(["--server", "Files"]);
        }
        arguments.extend(more);
        done(&manifest(&arguments).await);
        out
    }

    fn wanted(&self, more: Value) -> Value {
        let mut wanted = json!({ "trust": { "server_trust": "tool" }, "manifest": { "keys": [self.key] } });
        for (key, value) in more.as_object().unwrap() {
            wanted["manifest"][key] = value.clone();
        }
        wanted
    }
}

async fn manifest(arguments: &[&str]) -> Output {
    tokio::process::Command::new(PROGRAM).arg("manifest").args(arguments).output().await.unwrap()
}

fn done(output: &Output) -> &Output {
    assert!(output.status.success(), "{output:?}");
    output
}

/// Waits until a manifest that is signed is later than those that are: they are told apart by the second.
async fn next_second() {
    let second = || SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let last = second();
    until_true("the next second", || second() > last).await.unwrap();
}

fn read(file: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

/// A stage whose server shows this manifest itself, and lists these definitions.
async fn showing(publisher: &Publisher, listed: &Value, manifest: &Value) -> Stage {
    let home = home();
    let mut says = listed.clone();
    says["manifest"] = manifest.clone();
    say(home.path(), "up", &says);
    let entries = json!({ "up": entry(home.path(), "up", &publisher.wanted(json!({}))) });
    Stage::at(home, entries, json!({})).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_signed_is_served_without_a_person_from_every_place_it_can_be_in() {
    let publisher = Publisher::new().await;
    let file = publisher.sign(&definitions(), &["--publisher", "Example"]).await;
    // The server itself has it.
    let stage = showing(&publisher, &definitions(), &read(&file)).await;
    stage.runs("up__read_note").await;
    let review = stage.review("up").await;
    assert_eq!((review["state"].as_str(), review["manifest"].as_str()), (Some("approved"), Some("verified")));
    assert_eq!(review["manifest_says"], "signed by Example");
    assert_eq!(stage.item("tool", "read_note").await["basis"], "manifest");
    // What a verified server claims counts, and its replies are worth what the operator wrote.
    assert_eq!(stage.tool("up__read_note").await["annotations"]["readOnlyHint"], true);
    let basis =
        stage.tool("up__read_note").await["_meta"]["dev.highwater/contract"]["basis"]["outcomes"].clone();
    assert_eq!(basis, "manifest");
    // A file beside the configuration.
    let home = super::stage::home();
    say(home.path(), "up", &definitions());
    std::fs::copy(&file, home.path().join("up.manifest.json")).unwrap();
    let wanted = publisher.wanted(json!({ "file": "up.manifest.json" }));
    let entries = json!({ "up": entry(home.path(), "up", &wanted) });
    let stage = Stage::at(home, entries, json!({})).await;
    stage.runs("up__read_note").await;
    assert_eq!(stage.review("up").await["manifest"], "verified");
    // A page on the web.
    let url = page(std::fs::read_to_string(&file).unwrap()).await;
    let home = super::stage::home();
    say(home.path(), "up", &definitions());
    let entries = json!({ "up": entry(home.path(), "up", &publisher.wanted(json!({ "url": url }))) });
    let stage = Stage::at(home, entries, json!({})).await;
    stage.runs("up__read_note").await;
    assert_eq!(stage.review("up").await["manifest"], "verified");
}

/// A page that always says this.
async fn page(text: String) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/manifest.json", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            // A request this small comes at once.
            if stream.read(&mut request).await.is_err() {
                continue;
            }
            let head =
                format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", text.len());
            stream.write_all(format!("{head}{text}").as_bytes()).await.ok();
        }
    });
    url
}

#[tokio::test(flavor = "multi_thread")]
async fn one_changed_byte_is_a_mismatch_and_held() {
    let publisher = Publisher::new().await;
    let signed = read(&publisher.sign(&definitions(), &[]).await);
    let change = |change: fn(&mut Value)| {
        let mut listed = definitions();
        change(&mut listed["tools"][0]);
        listed
    };
    for listed in [
        change(|tool| tool["description"] = json!("Reads a note!")),
        change(|tool| tool["inputSchema"]["properties"]["id"]["type"] = json!("strinG")),
        change(|tool| tool["annotations"]["openWorldHint"] = json!(true)),
    ] {
        let stage = showing(&publisher, &listed, &signed).await;
        assert_eq!(stage.tools().await, ["up__write_note"]);
        stage.is_refused("up__read_note").await;
        stage.runs("up__write_note").await;
        let review = stage.review("up").await;
        assert_eq!(review["manifest"], "mismatch", "{review:#}");
        // A person may look and approve; it is not what is signed all the same.
        stage.approve("up").await;
        stage.is_refused("up__read_note").await;
        assert_eq!(stage.item("tool", "read_note").await["hold"], "manifest-mismatch");
    }
    // A tool that is not signed at all.
    let mut more = definitions();
    more["tools"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "name": "extra", "inputSchema": { "type": "object" } }));
    let stage = showing(&publisher, &more, &signed).await;
    stage.is_refused("up__extra").await;
    stage.runs("up__read_note").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manifest_that_does_not_count_is_refused_and_says_why() {
    let (publisher, other) = (Publisher::new().await, Publisher::new().await);
    let expired = read(&publisher.sign(&definitions(), &["--days", "0"]).await);
    let foreign = read(&other.sign(&definitions(), &[]).await);
    let elsewhere = read(&publisher.sign(&definitions(), &["--server", "Mail"]).await);
    let mut tampered = read(&publisher.sign(&definitions(), &[]).await);
    tampered["manifest"]["expiresAt"] = json!("2099-01-01T00:00:00Z");
    for (shown, why) in [
        (expired, "it expired at"),
        (foreign, "no key that is named for it signed exactly this"),
        (elsewhere, "it is the manifest of another server, `Mail`"),
        (tampered, "no key that is named for it signed exactly this"),
        (json!({ "manifest": {}, "signature": "a..b" }), "it is no manifest"),
    ] {
        let stage = showing(&publisher, &definitions(), &shown).await;
        assert_eq!(stage.tools().await, Vec::<String>::new(), "{why}");
        stage.is_refused("up__read_note").await;
        let review = stage.review("up").await;
        assert_eq!(
            (review["manifest"].as_str(), review["hold"].as_str()),
            (Some("invalid"), Some("manifest-invalid")),
            "{review:#}"
        );
        assert!(review["manifest_says"].as_str().unwrap().contains(why), "{review:#}");
        for command in [&["diff", "up"][..], &["list"]] {
            let shown = stage.said(command).await;
            assert!(shown.contains(why), "{shown}");
        }
        // Not even a person's approval replaces it: the operator said that there must be one.
        stage.approve("up").await;
        stage.is_refused("up__read_note").await;
    }
    // And none at all.
    let stage = showing(&publisher, &definitions(), &Value::Null).await;
    stage.is_refused("up__read_note").await;
    assert_eq!(stage.review("up").await["manifest"], "absent");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_manifest_that_is_shown_again_is_refused() {
    let publisher = Publisher::new().await;
    let old = read(&publisher.sign(&definitions(), &[]).await);
    next_second().await;
    let new = read(&publisher.sign(&definitions(), &[]).await);
    let mut stage = showing(&publisher, &definitions(), &old).await;
    stage.runs("up__read_note").await;
    stage.pull(|says| says["manifest"] = new).await;
    stage.runs("up__read_note").await;
    stage.pull(|says| says["manifest"] = old).await;
    stage.is_refused("up__read_note").await;
    let review = stage.review("up").await;
    assert!(review["manifest_says"].as_str().unwrap().contains("an older one is shown again"), "{review:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_was_signed_and_is_not_any_more_is_another_server() {
    let publisher = Publisher::new().await;
    let signed = read(&publisher.sign(&definitions(), &[]).await);
    let mut stage = showing(&publisher, &definitions(), &signed).await;
    stage.runs("up__read_note").await;
    // The operator no longer says whose signature counts.
    let entries = json!({ "up": entry(stage.folder(), "up", &json!({})) });
    let config = json!({ "flow": "observe", "quarantine": true, "servers": entries });
    stage.gateway.home().configure(&config.to_string()).unwrap();
    stage.again().await;
    stage.is_refused("up__read_note").await;
    let review = stage.review("up").await;
    assert_eq!(
        (review["state"].as_str(), review["manifest"].as_str()),
        (Some("quarantined"), Some("unchecked"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn signed_changes_are_changes_all_the_same() {
    let publisher = Publisher::new().await;
    let first = read(&publisher.sign(&definitions(), &[]).await);
    let mut stage = showing(&publisher, &definitions(), &first).await;
    stage.runs("up__read_note").await;
    next_second().await;
    let mut changed = definitions();
    changed["tools"][0]["description"] = json!("Reads a note, and more.");
    let second = read(&publisher.sign(&changed, &[]).await);
    stage
        .pull(|says| {
            says["tools"] = changed["tools"].clone();
            says["manifest"] = second;
        })
        .await;
    assert_eq!(stage.review("up").await["manifest"], "verified");
    stage.is_refused("up__read_note").await;
    stage.approve("up").await;
    stage.runs("up__read_note").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn manifests_are_checked_without_a_gateway_too() {
    let publisher = Publisher::new().await;
    let file = publisher.sign(&definitions(), &["--publisher", "Example"]).await;
    let file = file.to_str().unwrap();
    let lists = publisher.folder.path().join("lists.json");
    let lists = lists.to_str().unwrap();
    let verify = |more: &'static [&'static str]| {
        let key = publisher.key.clone();
        async move {
            let mut arguments = vec!["verify", file, "--key", &key];
            arguments.extend(more);
            manifest(&arguments).await
        }
    };
    let output = verify(&[]).await;
    assert!(String::from_utf8_lossy(&done(&output).stdout).starts_with("verified: 5 definitions of `Files`"));
    done(&manifest(&["verify", file, "--key", &publisher.key, "--definitions", lists]).await);
    assert_eq!(verify(&["--server", "Mail"]).await.status.code(), Some(4));
    assert_eq!(verify(&["--at", "2099-01-01T00:00:00Z"]).await.status.code(), Some(4));
    assert_eq!(verify(&["--at", "tomorrow"]).await.status.code(), Some(2));
    let other = Publisher::new().await;
    assert_eq!(manifest(&["verify", file, "--key", &other.key]).await.status.code(), Some(4));
    std::fs::write(lists, definitions().to_string().replace("Reads a note.", "Reads a note!")).unwrap();
    let output = manifest(&["verify", file, "--key", &publisher.key, "--definitions", lists]).await;
    assert_eq!(output.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&output.stderr).contains("`tool read_note`"), "{output:?}");
    let shown = manifest(&["show", file]).await;
    let shown = String::from_utf8_lossy(&done(&shown).stdout).into_owned();
    assert!(shown.contains("manifest of `Files`") && shown.contains("tool read_note"), "{shown}");
    // A key is made once, for its owner alone.
    let key = publisher.folder.path().join("key.json");
    let again = manifest(&["keygen", "--out", key.to_str().unwrap()]).await;
    assert_eq!(again.status.code(), Some(1));
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&key).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
}
