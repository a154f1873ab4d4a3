//! Enrolling on the page: the first passkey by the code, further ones by a passkey that counts.

use highwater_testkit::webdriver::{Authenticator, PHONE, WINDOW};
use http::Method;
use serde_json::json;

use super::stage::Stage;

#[tokio::test(flavor = "multi_thread")]
async fn the_first_passkey_counts_by_the_code_and_the_second_by_the_first() {
    let stage = Stage::open().await;
    let browser = &stage.browser;
    let first = stage.enrolled(&Authenticator::usb()).await;
    // One authenticator at a time: the new one registers, the old one confirms.
    let mine = browser.credentials(&first).await.unwrap();
    browser.remove(&first).await.unwrap();
    let second = browser.add(&Authenticator::hybrid()).await.unwrap();
    // The page goes straight on to the second: no command, no code.
    stage.wait_text("#second h2", "Add your second, now or later").await;
    assert!(!browser.has("#code").await.unwrap() && !browser.has(".banner.good").await.unwrap());
    browser.fill("#key-name", "My phone").await.unwrap();
    browser.click("#enroll button").await.unwrap();
    stage.wait("#vouch:not([hidden])").await;
    let says = browser.text("#vouch-says").await.unwrap();
    let named = says.strip_prefix("Add the passkey “").and_then(|rest| rest.strip_suffix("” for owner."));
    assert_eq!(named, Some("My phone"), "{says}");
    browser.click("#vouch-exact").await.unwrap();
    let shown = browser.text("#vouch-text").await.unwrap();
    assert!(shown.contains("highwater/enroll") && shown.contains("publicKey"), "{shown}");
    browser.remove(&second).await.unwrap();
    let first = browser.add(&Authenticator::usb()).await.unwrap();
    browser.put_credential(&first, &mine[0]).await.unwrap();
    browser.click("#vouch-button").await.unwrap();
    stage.wait(".keys li:nth-child(2) .state.good").await;
    stage.wait_text(".banner.good", "Finished.").await;
    let (_, credentials) = stage.api(Method::GET, "/api/v1/approvals/credentials", None).await;
    let standing: Vec<&str> =
        credentials.as_array().unwrap().iter().map(|it| it["standing"].as_str().unwrap()).collect();
    assert_eq!(standing, ["active", "active"], "{credentials}");
    assert!(credentials.to_string().contains("hybrid"), "{credentials}");
}

/// What is on record about passkeys.
fn recorded(stage: &Stage, act: &str) -> usize {
    let folder = std::fs::read_dir(stage.gateway.home().data_dir().join("audit")).unwrap();
    let logs = folder.filter_map(|entry| std::fs::read_to_string(entry.unwrap().path()).ok());
    logs.map(|log| log.lines().filter(|line| line.contains(act)).count()).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_wants_no_second_passkey_says_so_and_that_is_recorded() {
    let stage = Stage::open().await;
    let browser = &stage.browser;
    stage.enrolled(&Authenticator::usb()).await;
    stage.wait_text(".banner.warn", "It is the only one").await;
    for (look, name) in [
        (WINDOW, "window-light"),
        (WINDOW.dark(), "window-dark"),
        (PHONE, "phone-light"),
        (PHONE.dark(), "phone-dark"),
    ] {
        browser.look(look).await.unwrap();
        stage.go("/enroll").await;
        stage.wait("html[data-ready]").await;
        let focus = "return document.activeElement.id";
        assert_eq!(browser.run(focus, json!([])).await.unwrap(), "ready", "what became of it has the focus");
        browser.click("details summary").await.unwrap();
        assert!(browser.fits().await.unwrap(), "the second step is wider than {name}");
        browser.picture(&super::stage::pictures().join(format!("second-{name}.png"))).await.unwrap();
    }
    // Not by one press of a button.
    browser.click("#alone button").await.unwrap();
    assert_eq!(recorded(&stage, "accepted-one-passkey"), 0);
    assert!(browser.url().await.unwrap().contains("/enroll"));
    browser.click("#alone-yes").await.unwrap();
    browser.click("#alone button").await.unwrap();
    stage.wait_text(".notices", "owner has only one passkey").await;
    assert_eq!(recorded(&stage, "accepted-one-passkey"), 1);
    // It is said again wherever passkeys are, and it keeps nobody from signing.
    let client = stage.native().await;
    let arguments = json!({ "path": "/a" });
    let challenge = stage.challenge(&client, "files__wipe", &arguments).await;
    let signed = super::stage::evidence(&challenge, &stage.sign(&challenge).await.unwrap());
    let answer = client.send(super::stage::call("files__wipe", &arguments, &signed)).await.unwrap();
    assert_eq!(answer.text().unwrap(), "done", "{}", answer.raw());
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_accepts_one_passkey_for_somebody_else() {
    let stage = Stage::open().await;
    stage.enrolled(&Authenticator::usb()).await;
    stage.browser.click("#sign-out").await.unwrap();
    // The page loads itself again once that is done, and would take the place of the next.
    stage.wait("#code").await;
    stage.go("/inbox").await;
    sign_in_as_operator(&stage).await;
    stage.go("/enroll").await;
    assert!(!stage.browser.has("#alone").await.unwrap());
    let post = "const headers = { 'content-type': 'application/json', 'highwater-csrf': document.body.dataset.csrf, \
                'highwater-page-secret': localStorage.getItem('highwater-page-secret') }; \
                const body = JSON.stringify({ act: 'accept-one-passkey' }); \
                return (await fetch('/act', { method: 'POST', headers, body })).status;";
    assert_eq!(stage.browser.run_async(post, json!([])).await.unwrap(), 403);
    assert_eq!(recorded(&stage, "accepted-one-passkey"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_code_confirms_nothing_and_five_close_the_window() {
    let stage = Stage::open().await;
    let browser = &stage.browser;
    browser.add(&Authenticator::usb()).await.unwrap();
    let code = stage.window("owner").await["code"].as_str().unwrap().to_owned();
    stage.go("/enroll").await;
    browser.fill("#code", "AAAA-AAAA-AAAA").await.unwrap();
    browser.click("#enroll button").await.unwrap();
    stage.wait_text("#status", "4 attempts are left").await;
    // Registered and dormant; the operator sees it, and tries on.
    stage.go("/inbox").await;
    sign_in_as_operator(&stage).await;
    stage.go("/enroll").await;
    for left in [3, 2, 1] {
        browser.fill("#code", "AAAA-AAAA-AAAA").await.unwrap();
        browser.click(".confirm-key").await.unwrap();
        stage.wait_text("#status", &format!("{left} attempt")).await;
    }
    browser.fill("#code", "AAAA-AAAA-AAAA").await.unwrap();
    browser.click(".confirm-key").await.unwrap();
    stage.wait("#status.bad").await;
    browser.fill("#code", &code).await.unwrap();
    browser.click(".confirm-key").await.unwrap();
    stage.wait_text("#status", "No enrollment is open").await;
    assert!(!browser.has(".keys .state.good").await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_window_nothing_is_registered() {
    let stage = Stage::open().await;
    stage.browser.add(&Authenticator::usb()).await.unwrap();
    stage.go("/enroll").await;
    stage.browser.click("#enroll button").await.unwrap();
    stage.wait_text("#status", "No enrollment is open").await;
    let (_, credentials) = stage.api(Method::GET, "/api/v1/approvals/credentials", None).await;
    assert_eq!(credentials, json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn s14_the_same_authenticator_cannot_be_enrolled_twice() {
    let stage = Stage::open().await;
    stage.enrolled(&Authenticator::usb()).await;
    stage.window("owner").await;
    stage.go("/enroll").await;
    stage.browser.click("#enroll button").await.unwrap();
    stage.wait_text("#status", "already has a passkey here").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s12_without_user_verification_the_browser_registers_nothing() {
    let stage = Stage::open().await;
    let browser = &stage.browser;
    let key = browser.add(&Authenticator::usb()).await.unwrap();
    browser.verify_user(&key, false).await.unwrap();
    let code = stage.window("owner").await["code"].as_str().unwrap().to_owned();
    stage.go("/enroll").await;
    browser.fill("#code", &code).await.unwrap();
    browser.click("#enroll button").await.unwrap();
    stage.wait_text("#status", "Nothing was approved").await;
}

pub(super) async fn sign_in_as_operator(stage: &Stage) {
    let browser = &stage.browser;
    browser.click("summary").await.unwrap();
    browser.fill("#token", stage.gateway.operator_token()).await.unwrap();
    browser.click("#operator button").await.unwrap();
    stage.wait("#sign-out").await;
}
