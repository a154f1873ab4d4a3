//! From `serve` with nothing configured to the first call that a passkey approved, through the shipped program at a
//! terminal: every line that a person types, every press of a button and every gesture at an authenticator is an act.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use highwater_testkit::client::{Request, Setup};
use highwater_testkit::wait::until;
use highwater_testkit::webdriver::{Authenticator, AuthenticatorId, Browser, PHONE, WINDOW};
use serde_json::{Value, json};

use super::five_requests::violations_in;
use super::stage::pictures;

const PROGRAM: &str = env!("CARGO_BIN_EXE_highwater");

/// How many acts it may take.
const MOST_ACTS: usize = 7;

/// Where the page is if nobody says otherwise: it is part of what is shown here.
const USUAL_PAGE: &str = "127.0.0.1:7412";

/// Somebody at a desktop: a home without anything of ours in it, a terminal, a browser.
struct Desktop {
    folder: tempfile::TempDir,
    browser: Browser,
    acts: Vec<String>,
    terminal: Option<Child>,
}

// === impl Desktop ===

impl Desktop {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let opener = folder.path().join("bin/xdg-open");
        std::fs::create_dir(folder.path().join("bin")).unwrap();
        let script = format!("#!/bin/sh\necho \"$1\" >> {}\n", folder.path().join("opened").display());
        std::fs::write(&opener, script).unwrap();
        std::fs::set_permissions(&opener, PermissionsExt::from_mode(0o755)).unwrap();
        let browser = Browser::start().await.unwrap_or_else(|error| panic!("{error:#}"));
        Self { folder, browser, acts: Vec::new(), terminal: None }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn act(&mut self, what: &str) {
        self.acts.push(what.to_owned());
    }

    /// Types a line into a terminal. What it prints is in `terminal`.
    fn type_line(&mut self, line: &str) {
        self.act(&format!("types `{line}`"));
        let program = line.replacen("highwater", PROGRAM, 1);
        let path = format!("{}:{}", self.path("bin").display(), env!("PATH"));
        let mut command = Command::new("script");
        // A terminal, so that the program knows that somebody sits there.
        command.args(["--quiet", "--flush", "--command", &program]).arg(self.path("terminal"));
        command.current_dir(self.folder.path()).env_clear();
        command
            .env("HOME", self.folder.path())
            .env("PATH", path)
            .env("DISPLAY", ":99")
            .env("SHELL", "/bin/sh");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        self.terminal = Some(command.spawn().unwrap());
    }

    /// What the terminal shows, once it shows this.
    async fn reads(&self, part: &str) -> String {
        let shown = until(part, async || {
            let text = String::from_utf8_lossy(&std::fs::read(self.path("terminal")).ok()?).replace('\r', "");
            text.contains(part).then_some(text)
        });
        shown
            .await
            .unwrap_or_else(|error| panic!("{error:#}: {:?}", std::fs::read_to_string(self.path("terminal"))))
    }

    /// A page comes up in the browser, which is nobody's act.
    async fn page_comes_up(&self, number: usize) -> String {
        let opened = until("a page comes up", async || {
            let log = std::fs::read_to_string(self.path("opened")).ok()?;
            log.lines().nth(number).map(str::to_owned)
        });
        let url = opened.await.unwrap_or_else(|error| panic!("{error:#}"));
        self.browser.open(&url).await.unwrap();
        self.browser.wait_for("html[data-ready]").await.unwrap();
        let shown = self.browser.url().await.unwrap();
        assert!(url.contains('#') && !shown.contains('#'), "{url} is shown as {shown}");
        url
    }

    async fn press(&mut self, selector: &str) {
        let words = self.browser.text(selector).await.unwrap();
        self.act(&format!("presses “{words}”"));
        self.browser.click(selector).await.unwrap();
    }

    /// How often an authenticator has signed, and so how often it was touched for a signature.
    async fn signatures(&self, key: &AuthenticatorId) -> u64 {
        self.browser.credentials(key).await.unwrap()[0]["signCount"].as_u64().unwrap()
    }
}

impl Drop for Desktop {
    fn drop(&mut self) {
        let notice = self.path(".local/share/highwater/gateway.json");
        let running =
            std::fs::read_to_string(notice).ok().and_then(|text| serde_json::from_str::<Value>(&text).ok());
        if let Some(pid) = running.and_then(|running| running["pid"].as_i64()) {
            Command::new("kill").arg(pid.to_string()).status().ok();
        }
        if let Some(mut terminal) = self.terminal.take() {
            terminal.wait().ok();
        }
    }
}

/// The calls of the example's mail server, from its own list.
fn mail_calls(home: &Path) -> String {
    let mut folders = vec![home.join(".local/share/highwater")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with("mail.calls.jsonl") {
                return std::fs::read_to_string(path).unwrap();
            }
        }
    }
    String::new()
}

#[tokio::test(flavor = "multi_thread")]
async fn from_nothing_to_the_first_call_by_passkey_in_seven_acts() {
    // A gateway of another test may have the usual port for a moment.
    let free =
        until("the usual port is free", async || std::net::TcpListener::bind(USUAL_PAGE).ok().map(drop));
    free.await.unwrap();
    let mut person = Desktop::new().await;
    let key = person.browser.add(&Authenticator::usb()).await.unwrap();

    person.type_line("highwater serve --listen localhost:0");
    let words = person.reads("  stop  ").await;
    person.page_comes_up(0).await;
    person.browser.wait_for_text("#code-note", "Filled in by the program").await.unwrap();
    for (look, name) in [(WINDOW, "window-light"), (WINDOW.dark(), "window-dark"), (PHONE, "phone-light")] {
        person.browser.look(look).await.unwrap();
        assert_eq!(violations_in(&person.browser).await, Vec::<String>::new(), "{name}");
        assert!(person.browser.fits().await.unwrap(), "{name}");
        person.browser.picture(&pictures().join(format!("first-enroll-{name}.png"))).await.unwrap();
    }
    person.browser.look(WINDOW).await.unwrap();
    person.press("#enroll button").await;
    person.act("touches the security key");
    person.browser.wait_for(".keys .state.good").await.unwrap();
    for (look, name) in [(WINDOW, "window-light"), (WINDOW.dark(), "window-dark"), (PHONE, "phone-light")] {
        person.browser.look(look).await.unwrap();
        assert_eq!(violations_in(&person.browser).await, Vec::<String>::new(), "{name}");
        person.browser.picture(&pictures().join(format!("first-enrolled-{name}.png"))).await.unwrap();
    }
    person.browser.look(WINDOW).await.unwrap();
    let before = person.signatures(&key).await;

    person.act("gives the printed entry to an agent's client");
    let entry = words.split("\n\n").find(|part| part.starts_with('{')).unwrap();
    let entry: Value = serde_json::from_str(entry).unwrap();
    let entry = &entry["mcpServers"]["highwater"];
    let token = entry["headers"]["Authorization"].as_str().unwrap().strip_prefix("Bearer ").unwrap();
    let agent = Setup::http(entry["url"].as_str().unwrap()).token(token).name("claude-code").without_stream();
    let agent = agent.connect().await.unwrap();

    person.act("tells the agent to delete message m-4");
    let call = Request::call("mail__delete_message", &json!({ "id": "m-4" })).progress("p");
    let held = agent.begin(call).await.unwrap();
    let url = person.page_comes_up(1).await;
    assert!(url.contains("/approve/") && url.contains("#sign-in="), "{url}");
    person.browser.wait_for("#approve:not(:disabled)").await.unwrap();
    assert!(!mail_calls(person.folder.path()).contains("delete_message"));
    person.press("#approve").await;
    person.act("touches the security key");
    let answer = held.answer().await.unwrap();
    assert!(!answer.is_tool_error() && answer.error_code().is_none(), "{}", answer.raw());
    let calls = mail_calls(person.folder.path());
    assert!(calls.contains("delete_message") && calls.contains("m-4"), "{calls}");
    assert_eq!(person.signatures(&key).await - before, 1, "one gesture for the call, and none to sign in");

    println!("{} acts:", person.acts.len());
    for (number, act) in (1..).zip(&person.acts) {
        println!("{number}. {act}");
    }
    assert!(person.acts.len() <= MOST_ACTS, "{:#?}", person.acts);
}
