//! People learn that a question waits: from the terminal of the gateway and from their desktop, of each question once, and
//! not from us where their client sends them to the page.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use highwater_testkit::client::Era;
use highwater_testkit::client::gateway::Home;
use highwater_testkit::wait::until;
use serde_json::{Value, json};

use crate::stage::{BRIEFLY, Stage, WRITE, waits};

/// Programs of a desktop that write down what they are asked to do.
pub(crate) struct Desktop {
    folder: PathBuf,
}

// === impl Desktop ===

impl Desktop {
    fn in_home(home: Home) -> (Home, Self) {
        let folder = home.path().join("desktop");
        std::fs::create_dir(&folder).unwrap();
        for name in ["notify-send", "xdg-open"] {
            let program = folder.join(name);
            let log = folder.join(format!("{name}.log"));
            let script = format!("#!/bin/sh\necho \"$@\" >> {}\n", log.display());
            std::fs::write(&program, script).unwrap();
            std::fs::set_permissions(&program, PermissionsExt::from_mode(0o700)).unwrap();
        }
        let path = format!("{}:/usr/bin:/bin", folder.display());
        (home.env("PATH", &path).env("DISPLAY", ":99"), Self { folder })
    }

    pub(crate) fn log(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder.join(Path::new(name).with_extension("log")));
        text.unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// What the notifications said, once they name all these addresses or the inbox.
    pub(crate) async fn notified(&self, count: usize) -> Vec<String> {
        let told = until("the desktop is told", async || {
            Some(self.log("notify-send")).filter(|lines| questions(lines) >= count)
        });
        told.await.unwrap_or_else(|error| panic!("{error:#}: {:?}", self.log("notify-send")))
    }
}

/// How many questions these notifications tell of.
fn questions(lines: &[String]) -> usize {
    let count = |line: &String| match line.split(" questions wait").next() {
        Some(before) if before.len() < line.len() => {
            before.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
        }
        _ => usize::from(line.contains("waits for you")),
    };
    lines.iter().map(count).sum()
}

pub(crate) async fn stage() -> (Stage, Desktop) {
    stage_with(|_| ()).await
}

/// The same with something else configured.
pub(crate) async fn stage_with(change: impl FnOnce(&mut Value)) -> (Stage, Desktop) {
    Stage::at_home(BRIEFLY, Desktop::in_home, |config: &mut Value| {
        config["approvals"]["notify"] = json!(true);
        config["approvals"]["open_browser"] = json!(true);
        change(config);
    })
    .await
}

/// The lines of the terminal that name a question.
fn lines(stage: &Stage) -> Vec<String> {
    let log = stage.gateway.log();
    log.lines().filter(|line| line.starts_with("question  ")).map(str::to_owned).collect()
}

#[tokio::test]
async fn three_questions_within_ten_seconds_are_each_announced_once() {
    let (stage, desktop) = stage().await;
    let client = stage.client(Era::Modern).await;
    let call = async |path: &str| waits(&client.call(WRITE, json!({ "path": path })).await.unwrap());
    let first = call("a").await;
    let (second, third) = tokio::join!(call("b"), call("c"));
    // Joined, and so announced already.
    assert_eq!(call("a").await, first);
    let said = lines(&stage);
    assert_eq!(said.len(), 3, "{said:?}");
    for id in [&first, &second, &third] {
        assert_eq!(said.iter().filter(|line| line.contains(id.as_str())).count(), 1, "{id}: {said:?}");
    }
    assert!(said.iter().all(|line| line.contains("files__write on files") && !line.contains('\u{7}')));
    let told = desktop.notified(3).await;
    assert_eq!(questions(&told), 3, "{told:?}");
    assert!(!desktop.log("xdg-open").is_empty());
}

#[tokio::test]
async fn whoever_has_the_address_from_their_client_is_not_called_by_the_desktop() {
    let (stage, desktop) = stage().await;
    let pages = json!({ "elicitation": { "url": {} } });
    let client = stage.setup(Era::Modern).capabilities(pages).connect().await.unwrap();
    client.call(WRITE, json!({ "path": "a" })).await.unwrap();
    let plain = stage.client(Era::Modern).await;
    let other = waits(&plain.call(WRITE, json!({ "path": "b" })).await.unwrap());
    let told = desktop.notified(1).await;
    assert!(told.iter().all(|line| line.contains(other.as_str())), "{told:?}");
    assert_eq!((told.len(), lines(&stage).len()), (1, 2), "{told:?}");
    let opened = desktop.log("xdg-open");
    assert!(opened.iter().all(|url| url.contains(other.as_str())), "{opened:?}");
}
