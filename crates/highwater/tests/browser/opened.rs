//! Pages that commands open: nothing is typed on them, and what makes that so counts once.

use std::os::unix::fs::PermissionsExt;

use highwater_testkit::webdriver::Authenticator;
use serde_json::json;

use super::stage::{PROGRAM, Stage};

/// Runs a command and gives the address that it opened in the browser.
fn opened(stage: &Stage, arguments: &[&str]) -> String {
    let folder = stage.gateway.home().path();
    let (program, seen) = (folder.join("browser"), folder.join("seen"));
    std::fs::write(&program, format!("#!/bin/sh\necho \"$1\" > {}\n", seen.display())).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = std::process::Command::new(PROGRAM);
    command.args(arguments).arg("--data-dir").arg(stage.gateway.home().data_dir());
    let output = command.env("BROWSER", &program).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read_to_string(seen).unwrap().trim().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_a_command_opens_is_signed_in_once() {
    let stage = Stage::open().await;
    let url = opened(&stage, &["approvals", "open"]);
    stage.browser.open(&url).await.unwrap();
    stage.wait("#sign-out").await;
    let shown = stage.browser.url().await.unwrap();
    assert_eq!(shown, format!("{}/inbox", stage.origin()), "nothing of it is left in the address");
    stage.browser.click("#sign-out").await.unwrap();
    stage.wait("#sign-in").await;
    // The same address again, as somebody might find it.
    stage.browser.open(&url).await.unwrap();
    stage.wait_text("#status", "used already").await;
    assert!(!stage.browser.has("#sign-out").await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_enrollment_that_a_command_opens_needs_no_code_typed_and_its_code_counts_once() {
    let stage = Stage::open().await;
    let browser = &stage.browser;
    browser.add(&Authenticator::usb()).await.unwrap();
    let url = opened(&stage, &["approvals", "enroll"]);
    browser.open(&url).await.unwrap();
    stage.wait_text("#code-note", "Filled in by the program").await;
    let code = "return document.getElementById('code').value";
    let code = browser.run(code, json!([])).await.unwrap().as_str().unwrap().to_owned();
    assert!(code.len() == 14 && !url.contains(&code), "the code itself is in no address: {url}");
    browser.fill("#key-name", "Blue <i>key</i>").await.unwrap();
    browser.click("#enroll button").await.unwrap();
    stage.wait(".keys .state.good").await;
    assert!(browser.text(".keys .name").await.unwrap().starts_with("Blue <i>key</i> of owner"));
    // Neither the address nor the code does anything any more.
    browser.click("#sign-out").await.unwrap();
    stage.wait("#code").await;
    browser.open(&url).await.unwrap();
    stage.wait_text("#status", "The code was not filled in").await;
    let post = "const headers = { 'content-type': 'application/json', 'highwater-csrf': document.body.dataset.csrf }; \
                const body = JSON.stringify({ user: 'owner' }); \
                return (await fetch('/enroll/begin', { method: 'POST', headers, body })).status;";
    assert_eq!(browser.run_async(post, json!([])).await.unwrap(), 409, "the enrollment is closed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_passkey_is_renamed_on_the_page() {
    let stage = Stage::open().await;
    let browser = &stage.browser;
    stage.enrolled(&Authenticator::usb()).await;
    assert!(browser.text(".keys .name").await.unwrap().starts_with("Security key, 20"));
    browser.run("document.querySelector('.rename').closest('details').open = true", json!([])).await.unwrap();
    browser.run("document.querySelector('.rename input').value = ''", json!([])).await.unwrap();
    browser.fill(".rename input", "The key on my keyring").await.unwrap();
    browser.click(".rename button").await.unwrap();
    stage.wait_text(".keys .name", "The key on my keyring of owner").await;
}
