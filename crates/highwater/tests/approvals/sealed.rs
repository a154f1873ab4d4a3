//! Sealed receipts: of a call whose arguments are sensitive nothing stays behind by which they could be read or guessed,
//! neither in the store nor in its log, nor on record, nor in what is exported; and whoever has the auditor's key can show
//! everything.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use highwater_testkit::client::{Era, Request};
use highwater_testkit::wait::{PATIENCE, until_true};
use http::Method;
use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::stage::{BRIEFLY, DELETE, HELD, KEY, Stage, WRITE, done, waits};
use crate::traces::Traces;

const PROGRAM: &str = env!("CARGO_BIN_EXE_highwater");

/// What nobody may find.
const SECRET: &str = "DE75512108001245126199";

fn arguments() -> Value {
    json!({ "path": SECRET })
}

/// Runs `highwater receipts`; the exit code, and everything that was said.
fn receipts(words: &[&str]) -> (i32, String) {
    let output = Command::new(PROGRAM).arg("receipts").args(words).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(said).unwrap())
}

/// A gateway that seals, and the auditor's key in a folder of their own.
struct Sealing {
    stage: Stage,
    auditor: tempfile::TempDir,
    key: PathBuf,
}

impl Sealing {
    async fn new(hold: &str) -> Self {
        let auditor = tempfile::tempdir().unwrap();
        let key = auditor.path().join("auditor.key");
        let (code, said) = receipts(&["keygen", "--out", key.to_str().unwrap(), "--json"]);
        assert_eq!(code, 0, "{said}");
        let public = serde_json::from_str::<Value>(&said).unwrap()["key"].clone();
        let stage = Stage::standing(hold, |config| config["approvals"]["auditor_key"] = public).await;
        Self { stage, auditor, key }
    }

    fn data(&self) -> PathBuf {
        self.stage.gateway.home().data_dir()
    }

    async fn receipts(&self) -> Vec<Value> {
        let (_, said) = self.stage.api(Method::GET, "receipts", None).await;
        said["receipts"].as_array().unwrap().clone()
    }

    /// What there is to find of a call of this tool.
    fn traces(&self, tool: &str) -> Traces {
        let file = Connection::open(self.data().join("highwater.db")).unwrap();
        let server: String =
            file.query_row("SELECT server_id FROM installation", [], |row| row.get(0)).unwrap();
        Traces::of(tool, &arguments().to_string(), &server, SECRET)
    }

    /// Nothing is found, once what was under way is done.
    async fn is_clean(&self, tool: &str) {
        let traces = self.traces(tool);
        let clean = until_true("nothing is found", || traces.found_below(&self.data()).is_empty());
        clean.await.unwrap_or_else(|error| panic!("{error:#}: {:#?}", traces.found_below(&self.data())));
        assert!(traces.found_in(self.stage.gateway.log().as_bytes()).is_empty());
    }

    /// A held call that somebody signs.
    async fn held(&self) {
        let client = self.stage.client(Era::Modern).await;
        let call = client.call(DELETE, arguments());
        let answering = async {
            let request = self.stage.pending().await;
            assert_eq!(request["arguments"], arguments().to_string(), "whoever is asked sees them");
            let (status, said) =
                self.stage.person.sign(request["id"].as_str().unwrap(), &self.stage.passkey).await;
            assert_eq!(status, 200, "{said}");
            request["id"].as_str().unwrap().to_owned()
        };
        let (answer, id) = tokio::join!(call, answering);
        done(&answer.unwrap());
        let (_, after) = self.stage.api(Method::GET, &id, None).await;
        assert_eq!((&after["state"], &after["arguments"]), (&json!("consumed"), &json!("")), "{after}");
        assert!(!after.to_string().contains(SECRET), "{after}");
    }

    fn audit(&self) -> Vec<Value> {
        let mut events = Vec::new();
        for file in std::fs::read_dir(self.data().join("audit")).unwrap().flatten() {
            let text = std::fs::read_to_string(file.path()).unwrap_or_default();
            events.extend(text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()));
        }
        events
    }
}

fn is_sealed(receipt: &Value) -> bool {
    ["canonicalArguments", "displayText", "nonce", "clientDataJSON"]
        .iter()
        .all(|field| receipt[field]["sealed"].is_string())
}

#[tokio::test]
async fn of_a_sensitive_call_nothing_stays_behind_but_what_the_auditor_opens() {
    let sealing = Sealing::new(HELD).await;
    // What the search finds where nothing is sealed, so that it is known to search.
    let open = Stage::new(BRIEFLY).await;
    let id = waits(&open.client(Era::Modern).await.call(DELETE, arguments()).await.unwrap());
    let (_, asked) = open.api(Method::GET, &id, None).await;
    let file = Connection::open(open.gateway.home().data_dir().join("highwater.db")).unwrap();
    let server: String = file.query_row("SELECT server_id FROM installation", [], |row| row.get(0)).unwrap();
    let found = Traces::of(DELETE, &arguments().to_string(), &server, SECRET);
    let found = found.found_below(&open.gateway.home().data_dir()).join("\n");
    assert!(found.contains("the text in") && found.contains("the action hash in hex in"), "{asked} {found}");

    // Held, behind a button, and signed by its own client.
    sealing.held().await;
    let client = sealing.stage.client(Era::Legacy).await;
    let pressing = async {
        let request = sealing.stage.pending().await;
        assert_eq!(request["remember"], json!([]), "what is remembered would be kept: {request}");
        assert_eq!(sealing.stage.person.confirm(request["id"].as_str().unwrap(), None).await.0, 200);
    };
    done(&tokio::join!(client.call(WRITE, arguments()), pressing).0.unwrap());
    let native = sealing.stage.native().await;
    let evidence = sealing.stage.signature(&native, &arguments()).await;
    let call = || Request::call(DELETE, &arguments()).meta(KEY, evidence.clone());
    done(&native.send(call()).await.unwrap());
    let again = native.send(call()).await.unwrap();
    assert_eq!(again.at("/error/data/reason"), "challenge_consumed", "{}", again.raw());
    assert_eq!(sealing.stage.ran(SECRET), 3);
    sealing.is_clean(DELETE).await;
    sealing.is_clean(WRITE).await;

    // What is on record names the receipts, and has no digest of a call that somebody was asked about.
    let receipts = sealing.receipts().await;
    assert_eq!(receipts.len(), 2);
    assert!(receipts.iter().all(is_sealed), "{receipts:?}");
    let events = sealing.audit();
    let asked: Vec<&Value> =
        events.iter().filter(|event| event["event"] == "asked").map(|event| &event["id"]).collect();
    // The one that came twice was refused the second time.
    assert_eq!(asked.len(), 4, "{events:#?}");
    for event in events.iter().filter(|event| asked.contains(&&event["id"])) {
        assert!(event.get("digest").is_none() && event.get("question").is_none(), "{event}");
    }
    for receipt in &receipts {
        let named = |event: &&Value| event["receipts"] == json!([receipt["id"]]);
        assert_eq!(events.iter().filter(named).count(), 1, "{receipt}");
    }
    // Calls that nobody is asked about have theirs.
    done(&client.call("files__look", json!({})).await.unwrap());
    assert!(sealing.audit().iter().any(|event| event["target"] == "look" && event["digest"].is_string()));
}

/// Everything about the files that leave: shut without the key, whole with it.
#[tokio::test]
async fn a_sealed_receipt_is_verified_with_the_key_alone() {
    let sealing = Sealing::new(HELD).await;
    sealing.held().await;
    let folder = sealing.auditor.path();
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let data = sealing.data();
    let data = ["--data-dir", data.to_str().unwrap()];
    for words in [
        vec!["export", "--out", &path("receipts.jsonl")],
        vec!["export", "--enrollments", "--out", &path("enrollments.jsonl")],
    ] {
        let (code, said) = receipts(&[&words[..], &data[..]].concat());
        assert_eq!(code, 0, "{said}");
    }
    let traces = sealing.traces(DELETE);
    let exported = std::fs::read_to_string(folder.join("receipts.jsonl")).unwrap();
    assert!(traces.found_in(exported.as_bytes()).is_empty());
    let id = sealing.receipts().await[0]["id"].as_str().unwrap().to_owned();
    for words in [&["show", &id][..], &["show", &id, "--json"], &["list"]] {
        let (code, said) = receipts(&[words, &data[..]].concat());
        assert!(code == 0 && traces.found_in(said.as_bytes()).is_empty(), "{said}");
    }
    let (_, said) = receipts(&[&["key", "--json"][..], &data[..]].concat());
    let gateway = serde_json::from_str::<Value>(&said).unwrap()["gatewayKey"].as_str().unwrap().to_owned();
    let origin = sealing.stage.person.origin().to_owned();
    let verify = |file: &str, more: &[&str]| {
        let (enrollments, file) = (path("enrollments.jsonl"), path(file));
        let words = ["verify", &file, "--origin", &origin, "--gateway-key", &gateway];
        receipts(&[&words[..], &["--enrollments", &enrollments], more].concat())
    };

    let (code, said) = verify("receipts.jsonl", &[]);
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("action: not checked: it is sealed") && said.contains("--auditor-key"), "{said}");
    assert!(!said.contains("Verified") && !said.contains("\nProven:"), "{said}");

    let other = path("other.key");
    receipts(&["keygen", "--out", &other]);
    let (code, said) = verify("receipts.jsonl", &["--auditor-key", &other]);
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("action: the auditor's key does not open `canonicalArguments`"), "{said}");

    let key = sealing.key.to_str().unwrap();
    let (code, said) = verify("receipts.jsonl", &["--auditor-key", key]);
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains("Verified: signed by keys that were enrolled, as this gateway recorded it."),
        "{said}"
    );
    assert!(said.contains(SECRET), "the auditor reads it: {said}");

    // Somebody without the key checks what the auditor opened, and nobody can tell them anything else.
    let (code, said) =
        receipts(&["open", &path("receipts.jsonl"), "--auditor-key", key, "--out", &path("opened")]);
    assert_eq!(code, 0, "{said}");
    let (code, said) = verify("receipts.jsonl", &["--opened", &path("opened")]);
    assert_eq!(code, 0, "{said}");
    let opened = std::fs::read_to_string(folder.join("opened")).unwrap();
    std::fs::write(folder.join("forged"), opened.replace(SECRET, "DE00")).unwrap();
    let (code, said) = verify("receipts.jsonl", &["--opened", &path("forged")]);
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("client-data: another tool, other arguments"), "{said}");
    let (code, said) = receipts(&["open", &path("receipts.jsonl"), "--auditor-key", &other]);
    assert!(code == 4 && !said.contains(SECRET), "{said}");

    changed_anywhere(folder, &exported, &|more| verify("changed.jsonl", more), key);
}

/// Whatever is changed of what is sealed, its part is named; also by whoever does not know the gateway.
fn changed_anywhere(folder: &Path, exported: &str, verify: &dyn Fn(&[&str]) -> (i32, String), key: &str) {
    let receipt: Value = serde_json::from_str(exported.trim()).unwrap();
    for (field, part) in [
        ("canonicalArguments", "action"),
        ("displayText", "display-text"),
        ("nonce", "client-data"),
        ("clientDataJSON", "client-data"),
    ] {
        let sealed = receipt[field]["sealed"].as_str().unwrap();
        let places = [0, sealed.len() / 2, sealed.len() - 2];
        for at in places.into_iter().skip(if part == "action" { 0 } else { 2 }) {
            let mut changed = sealed.to_owned();
            let to = if sealed.get(at..=at) == Some("A") { "B" } else { "A" };
            changed.replace_range(at..=at, to);
            std::fs::write(folder.join("changed.jsonl"), exported.replace(sealed, &changed)).unwrap();
            let (code, said) = verify(&["--auditor-key", key]);
            assert_eq!(code, 4, "{field}: {said}");
            assert!(
                said.contains(&format!("changed.jsonl:1: {part}: the auditor's key does not open")),
                "{said}"
            );
            assert!(said.contains("FAILED     gateway-signature"), "{said}");
        }
    }
    // One sealed text in the place of another.
    let (one, other) =
        (receipt["nonce"]["sealed"].as_str(), receipt["canonicalArguments"]["sealed"].as_str());
    std::fs::write(folder.join("changed.jsonl"), exported.replace(one.unwrap(), other.unwrap())).unwrap();
    let (code, said) = verify(&["--auditor-key", key]);
    assert!(code == 4 && said.contains("client-data: the auditor's key does not open `nonce`"), "{said}");
}

#[tokio::test]
async fn killed_in_between_nothing_stays_behind_either() {
    let mut sealing = Sealing::new(BRIEFLY).await;
    // The grant waits for its call; the gateway is killed.
    let client = sealing.stage.client(Era::Modern).await;
    let id = waits(&client.call(DELETE, arguments()).await.unwrap());
    let (status, said) = sealing.stage.person.sign(&id, &sealing.stage.passkey).await;
    assert_eq!(status, 200, "{said}");
    drop(client);
    sealing.stage.gateway.kill().await.unwrap();
    sealing.stage.restart().await;
    let client = sealing.stage.client(Era::Modern).await;
    done(&client.call(DELETE, arguments()).await.unwrap());
    sealing.is_clean(DELETE).await;

    // The call has gone out; the gateway is killed before anything else.
    let id = waits(&client.call(DELETE, arguments()).await.unwrap());
    let (status, said) = sealing.stage.person.sign(&id, &sealing.stage.passkey).await;
    assert_eq!(status, 200, "{said}");
    let pid = Pid::from_raw(i32::try_from(sealing.stage.gateway.pid().unwrap()).unwrap()).unwrap();
    let journal = sealing.stage.gateway.home().path().join("journal.jsonl");
    let killer = tokio::task::spawn_blocking(move || {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let text = std::fs::read_to_string(&journal).unwrap_or_default();
            if text.matches(SECRET).count() >= 2 {
                return kill_process(pid, Signal::KILL).is_ok();
            }
            std::thread::sleep(Duration::from_micros(50));
        }
        false
    });
    // The kill cuts it off, or does not.
    client.call(DELETE, arguments()).await.ok();
    assert!(killer.await.unwrap());
    sealing.stage.gateway.kill().await.unwrap();
    drop(client);
    sealing.stage.restart().await;
    assert_eq!(sealing.stage.ran(SECRET), 2);
    sealing.is_clean(DELETE).await;
    assert_eq!(sealing.receipts().await.iter().filter(|receipt| is_sealed(receipt)).count(), 2);
}

#[tokio::test]
async fn the_operator_says_which_tools_are_sensitive_and_keys_are_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("auditor.key");
    let file = key.to_str().unwrap();
    let (code, said) = receipts(&["keygen", "--out", file]);
    assert_eq!(code, 0, "{said}");
    let written = std::fs::read_to_string(&key).unwrap();
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&key).unwrap());
    assert_eq!(mode & 0o777, 0o600);
    assert!(!said.contains(written.trim()), "the private key is not shown");
    let (code, said) = receipts(&["keygen", "--out", file]);
    assert!(code == 1 && std::fs::read_to_string(&key).unwrap() == written, "{said}");

    let (_, said) = receipts(&["keygen", "--out", folder.path().join("other").to_str().unwrap(), "--json"]);
    let public = serde_json::from_str::<Value>(&said).unwrap()["key"].clone();
    let stage = Stage::standing(HELD, |config| {
        config["approvals"]["auditor_key"] = public;
        config["approvals"]["tools"] = json!({ "files:delete": { "sensitive": false } });
    })
    .await;
    let client = stage.client(Era::Modern).await;
    let signing = async {
        let request = stage.pending().await;
        assert_eq!(stage.person.sign(request["id"].as_str().unwrap(), &stage.passkey).await.0, 200);
    };
    done(&tokio::join!(client.call(DELETE, arguments()), signing).0.unwrap());
    let (_, said) = stage.api(Method::GET, "receipts", None).await;
    assert_eq!(said["receipts"][0]["canonicalArguments"], arguments().to_string(), "{said}");
}
