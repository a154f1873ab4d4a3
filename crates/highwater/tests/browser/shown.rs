//! What the page shows and how it looks: to the letter, to the end, with a keyboard, in both themes, on a phone.

use highwater_testkit::client::Request;
use highwater_testkit::wait::until;
use highwater_testkit::webdriver::{Authenticator, PHONE, WINDOW};
use serde_json::json;

use super::enroll::sign_in_as_operator;
use super::stage::{Stage, pictures};

const WIPE: &str = "files__wipe";

#[tokio::test(flavor = "multi_thread")]
async fn c06_display_text_is_shown_verbatim() {
    let stage = Stage::open().await;
    stage.enrolled(&Authenticator::usb()).await;
    let client = stage.client().await;
    let hidden = json!({
        "path": "/a\u{202e}txt.exe\u{200b}",
        "note": "<img src=x onerror=alert(1)>\nsecond line",
        "count": { "deep": [1, { "er": null }] },
    });
    let _held = client.begin(Request::call(WIPE, &hidden)).await.unwrap();
    let request = stage.go_to_request().await;
    let shown = stage.browser.run("return document.querySelector('.display').textContent", json!([])).await;
    assert_eq!(shown.unwrap(), request["displayText"]);
    for folded in [".exact summary", ".absent summary", ".theirs summary"] {
        stage.browser.click(folded).await.unwrap();
    }
    let text = stage.browser.text(".display").await.unwrap();
    assert!(text.contains("/a⟦U+202E⟧txt.exe⟦U+200B⟧"), "{text}");
    assert!(text.contains("│ <img src=x onerror=alert(1)>\n    │ second line"), "{text}");
    assert!(text.contains("\"er\": null"), "{text}");
    assert_eq!(stage.browser.text(".banner.warn strong").await.unwrap(), "2 hidden characters.");
    assert!(!stage.browser.has("main img").await.unwrap(), "text is text");
    let absent = stage.browser.text(".absent").await.unwrap();
    assert!(absent.contains("recursive") && absent.contains("true"), "{absent}");
    let theirs = stage.browser.text(".theirs").await.unwrap();
    assert!(theirs.contains("checked by nobody"), "{theirs}");
    let rows = stage.browser.text(".given").await.unwrap();
    assert!(rows.contains("/a⟦U+202E⟧txt.exe⟦U+200B⟧") && rows.find("path") < rows.find("note"), "{rows}");
    assert!(theirs.contains("Removes what is at the path.") && theirs.contains("<i>it</i>"), "{theirs}");
    stage.browser.picture(&pictures().join("hidden.png")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn c07_a_long_request_cannot_be_approved_before_its_end_was_seen() {
    let stage = Stage::open().await;
    stage.enrolled(&Authenticator::usb()).await;
    let client = stage.client().await;
    let long = json!({ "path": "/a", "note": "words and words ".repeat(2000) });
    let held = client.begin(Request::call(WIPE, &long)).await.unwrap();
    stage.go_to_request().await;
    let disabled = "return document.getElementById('approve').disabled";
    assert_eq!(stage.browser.run(disabled, json!([])).await.unwrap(), true);
    assert!(stage.browser.text("#hint").await.unwrap().contains("to their end"));
    assert!(stage.browser.text(".given").await.unwrap().len() > 30_000, "nothing is cut");
    stage.press_approve().await;
    assert_eq!(held.answer().await.unwrap().text().unwrap(), "done");
    // What fits has been seen, whatever else stands below it.
    let held = client.begin(Request::call(WIPE, &json!({ "path": "/b" }))).await.unwrap();
    stage.go_to_request().await;
    stage.wait("#approve:not(:disabled)").await;
    assert_eq!(stage.browser.run("return scrollY", json!([])).await.unwrap(), 0);
    stage.browser.click("#approve").await.unwrap();
    assert_eq!(held.answer().await.unwrap().text().unwrap(), "done");
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_can_be_done_with_the_keyboard_alone() {
    let stage = Stage::open().await;
    stage.enrolled(&Authenticator::usb()).await;
    let client = stage.client().await;
    let held = client.begin(Request::call(WIPE, &json!({ "path": "/a" }))).await.unwrap();
    stage.go_to_request().await;
    let focus = "return document.activeElement.id || document.activeElement.className";
    // End scrolls to the end, and Tab leads to the two answers.
    stage.browser.press(&["\u{e010}"]).await.unwrap();
    stage.wait("#approve:not(:disabled)").await;
    let mut seen = Vec::new();
    for _ in 0..20 {
        stage.browser.press(&["\u{e004}"]).await.unwrap();
        let at = stage.browser.run(focus, json!([])).await.unwrap().as_str().unwrap().to_owned();
        seen.push(at.clone());
        if at == "approve" {
            break;
        }
    }
    assert_eq!(seen.first().map(String::as_str), Some("skip"), "{seen:?}");
    assert_eq!(seen.last().map(String::as_str), Some("approve"), "{seen:?}");
    stage.browser.press(&["\u{e006}"]).await.unwrap();
    assert_eq!(held.answer().await.unwrap().text().unwrap(), "done");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_screen_reader_is_told_what_there_is() {
    let stage = Stage::open().await;
    stage.enrolled(&Authenticator::usb()).await;
    let client = stage.client().await;
    let _held = client.begin(Request::call(WIPE, &json!({ "path": "/a" }))).await.unwrap();
    stage.go_to_request().await;
    let tree = stage.browser.cdp("Accessibility.getFullAXTree", json!({})).await.unwrap();
    let nodes: Vec<(String, String)> = tree["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|node| node["ignored"] != true)
        .map(|node| {
            let word = |key: &str| node[key]["value"].as_str().unwrap_or_default().to_owned();
            (word("role"), word("name"))
        })
        .collect();
    for (role, name) in [
        ("banner", ""),
        ("navigation", "Pages"),
        ("main", ""),
        ("heading", "use “wipe <i>it</i>” (files)"),
        ("region", "What it is given"),
        ("region", "Why you are asked"),
        ("region", "Your answer"),
        ("button", "Approve with passkey"),
        ("button", "Decline"),
        ("status", ""),
    ] {
        assert!(nodes.iter().any(|node| node.0 == role && node.1 == name), "{role} `{name}`: {nodes:?}");
    }
    let unnamed: Vec<_> = nodes
        .iter()
        .filter(|(role, name)| {
            matches!(role.as_str(), "button" | "link" | "textbox" | "radio") && name.is_empty()
        })
        .collect();
    assert!(unnamed.is_empty(), "{unnamed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pages_fit_in_both_themes_and_on_a_phone() {
    let stage = Stage::open().await;
    let client = stage.client().await;
    let confirm = json!({ "path": "/home/ada/notes", "note": "x".repeat(200) });
    let _confirm = client.begin(Request::call("files__tidy", &confirm)).await.unwrap();
    let confirm = stage.pending().await["id"].as_str().unwrap().to_owned();
    stage.go(&format!("/approve/{confirm}")).await;
    stage.browser.look(WINDOW).await.unwrap();
    stage.browser.picture(&pictures().join("sign-in.png")).await.unwrap();
    sign_in_as_operator(&stage).await;
    let second = stage.client().await;
    let arguments = json!({ "path": "/home/ada/notes\u{202e}", "count": 3 });
    let _passkey = second.begin(Request::call(WIPE, &arguments)).await.unwrap();
    let asked = async || {
        let (_, listed) = stage.api(http::Method::GET, "/api/v1/approvals", None).await;
        let found = listed.as_array()?.iter().find(|it| it["kind"] == "passkey")?;
        Some(found["id"].as_str()?.to_owned())
    };
    let passkey = until("somebody is asked for a passkey", asked).await.unwrap();
    stage.window("owner").await;
    for (look, name) in [
        (WINDOW, "window-light"),
        (WINDOW.dark(), "window-dark"),
        (PHONE, "phone-light"),
        (PHONE.dark(), "phone-dark"),
    ] {
        stage.browser.look(look).await.unwrap();
        let mut papers = Vec::new();
        for (page, path) in [
            ("passkey", format!("/approve/{passkey}")),
            ("confirm", format!("/approve/{confirm}")),
            ("inbox", "/inbox".to_owned()),
            ("enroll", "/enroll".to_owned()),
            ("mandate", "/mandate".to_owned()),
        ] {
            stage.go(&path).await;
            stage.wait("html[data-ready]").await;
            assert!(stage.browser.fits().await.unwrap(), "{page} is wider than {name}");
            stage.browser.picture(&pictures().join(format!("{page}-{name}.png"))).await.unwrap();
            let paper = "return getComputedStyle(document.body).backgroundColor";
            papers.push(stage.browser.run(paper, json!([])).await.unwrap());
        }
        stage.browser.run("window.scrollTo(0, 1e6)", json!([])).await.unwrap();
        let bright = papers[0].as_str().unwrap().contains("246");
        assert_eq!(bright, name.ends_with("light"), "{name}: {papers:?}");
    }
}
