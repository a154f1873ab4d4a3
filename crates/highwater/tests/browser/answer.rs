//! Answering on the page: the call is held, and what the person does decides it.

use highwater_testkit::client::Request;
use highwater_testkit::webdriver::Authenticator;
use http::Method;
use serde_json::json;

use super::enroll::sign_in_as_operator;
use super::stage::Stage;

const WIPE: &str = "files__wipe";
const TIDY: &str = "files__tidy";

#[tokio::test(flavor = "multi_thread")]
async fn a_held_call_runs_once_the_passkey_has_signed_it() {
    let stage = Stage::open().await;
    stage.enrolled(&Authenticator::usb()).await;
    let client = stage.client().await;
    let held = client.begin(Request::call(WIPE, &json!({ "path": "/a" }))).await.unwrap();
    stage.go_to_request().await;
    assert_eq!(stage.runs("/a"), 0, "nothing runs before the signature");
    stage.press_approve().await;
    let answer = held.answer().await.unwrap();
    assert_eq!(answer.text().unwrap(), "done", "{}", answer.raw());
    assert_eq!(stage.runs("/a"), 1);
    stage.wait_text(".banner.good", "let through").await;
    stage.wait_text("#outcome", "Nothing else waits for you").await;
    let (_, receipts) = stage.api(Method::GET, "/api/v1/approvals/receipts", None).await;
    assert!(receipts.to_string().contains(WIPE), "{receipts}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decline_ends_the_call_and_is_remembered() {
    let stage = Stage::open().await;
    stage.enrolled(&Authenticator::usb()).await;
    let client = stage.client().await;
    let held = client.begin(Request::call(WIPE, &json!({ "path": "/a" }))).await.unwrap();
    stage.go_to_request().await;
    stage.browser.click("#decline").await.unwrap();
    let answer = held.answer().await.unwrap();
    assert!(answer.is_tool_error() && answer.raw().contains("did not approve"), "{}", answer.raw());
    stage.wait_text(".banner.bad", "Declined").await;
    let again = client.call(WIPE, json!({ "path": "/a" })).await.unwrap();
    assert!(again.is_tool_error() && again.raw().contains("did not approve"), "{}", again.raw());
    let (_, pending) = stage.api(Method::GET, "/api/v1/approvals", None).await;
    assert_eq!(pending, json!([]), "nobody is asked again");
    assert_eq!(stage.runs("/a"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_after_the_client_left_waits_for_the_identical_call() {
    let stage = Stage::with(json!({ "hold": "1s" })).await;
    stage.enrolled(&Authenticator::usb()).await;
    let client = stage.client().await;
    let answer = client.call(WIPE, json!({ "path": "/a" })).await.unwrap();
    assert!(answer.is_tool_error(), "{}", answer.raw());
    let request = stage.go_to_request().await;
    assert!(answer.raw().contains(request["url"].as_str().unwrap()), "{}", answer.raw());
    stage.press_approve().await;
    stage.wait_text(".banner.good", "Approved").await;
    assert_eq!(stage.runs("/a"), 0, "nobody is there to call");
    let other = client.call(WIPE, json!({ "path": "/b" })).await.unwrap();
    assert!(other.is_tool_error(), "other arguments are another question: {}", other.raw());
    let same = client.call(WIPE, json!({ "path": "/a" })).await.unwrap();
    assert_eq!(same.text().unwrap(), "done", "{}", same.raw());
    assert_eq!((stage.runs("/a"), stage.runs("/b")), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_passkey_that_cannot_verify_its_user_approves_nothing_and_may_try_again() {
    let stage = Stage::open().await;
    let key = stage.enrolled(&Authenticator::usb()).await;
    let client = stage.client().await;
    let held = client.begin(Request::call(WIPE, &json!({ "path": "/a" }))).await.unwrap();
    stage.go_to_request().await;
    stage.browser.verify_user(&key, false).await.unwrap();
    stage.press_approve().await;
    stage.wait_text("#status", "Nothing was approved").await;
    assert_eq!(stage.runs("/a"), 0);
    stage.browser.verify_user(&key, true).await.unwrap();
    stage.press_approve().await;
    assert_eq!(held.answer().await.unwrap().text().unwrap(), "done");
}

#[tokio::test(flavor = "multi_thread")]
async fn s37_a_platform_passkey_is_not_enough_where_a_key_is_asked_for() {
    let stage = Stage::open().await;
    stage.enrolled(&Authenticator::internal()).await;
    let client = stage.client().await;
    let _held = client.begin(Request::call(WIPE, &json!({ "path": "/a" }))).await.unwrap();
    stage.go_to_request().await;
    // It is said before anybody tries.
    stage.wait_text("#why-not", "None of your passkeys may approve this tool").await;
    assert!(!stage.browser.has("#approve").await.unwrap());
    stage.browser.click("#decline").await.unwrap();
    stage.wait(".banner.bad").await;
    // The same passkey is enough where the operator says so (S38).
    let held = client.begin(Request::call("files__local", &json!({ "path": "/l" }))).await.unwrap();
    stage.go_to_request().await;
    stage.press_approve().await;
    assert_eq!(held.answer().await.unwrap().text().unwrap(), "done");
    assert_eq!(stage.runs("/a"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_confirmation_is_a_button_for_whoever_is_signed_in() {
    let stage = Stage::open().await;
    let client = stage.client().await;
    let held = client.begin(Request::call(TIDY, &json!({ "path": "/a" }))).await.unwrap();
    let request = stage.pending().await;
    stage.go(&format!("/approve/{}", request["id"].as_str().unwrap())).await;
    stage.wait("#sign-in").await;
    assert!(!stage.browser.text("main").await.unwrap().contains("/a"), "arguments are behind the door");
    sign_in_as_operator(&stage).await;
    stage.wait("#confirm").await;
    stage.browser.run("document.getElementById('end').scrollIntoView()", json!([])).await.unwrap();
    stage.browser.click("#confirm").await.unwrap();
    assert_eq!(held.answer().await.unwrap().text().unwrap(), "done");
    assert_eq!(stage.runs("/a"), 1);
    let again = client.begin(Request::call(TIDY, &json!({ "path": "/a" }))).await.unwrap();
    stage.pending().await;
    assert_eq!(stage.runs("/a"), 1, "once means once");
    drop(again);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_remembered_is_not_asked_for_again_and_other_targets_are() {
    let stage = Stage::open().await;
    let client = stage.client().await;
    stage.go("/inbox").await;
    sign_in_as_operator(&stage).await;
    // Once, so that the session has seen what this tool answers: an answer counts for what it knew when it was given.
    for scope in ["", "tool-with-targets"] {
        let held = client.begin(Request::call(TIDY, &json!({ "path": "/a" }))).await.unwrap();
        stage.go_to_request().await;
        stage.browser.click(".scope summary").await.unwrap();
        stage.browser.click(&format!("input[value='{scope}']")).await.unwrap();
        let chosen = if scope.is_empty() { "only this call" } else { "for 30 days" };
        stage.wait_text("#scope", chosen).await;
        stage.browser.run("document.getElementById('end').scrollIntoView()", json!([])).await.unwrap();
        stage.browser.click("#confirm").await.unwrap();
        assert_eq!(held.answer().await.unwrap().text().unwrap(), "done");
    }
    let again = client.call(TIDY, json!({ "path": "/a" })).await.unwrap();
    assert_eq!(again.text().unwrap(), "done", "{}", again.raw());
    let other = client.begin(Request::call(TIDY, &json!({ "path": "/b" }))).await.unwrap();
    stage.pending().await;
    assert_eq!((stage.runs("/a"), stage.runs("/b")), (3, 0));
    drop(other);
    stage.go("/inbox").await;
    stage.wait_text(".notices", "is remembered").await;
    stage.browser.click(".notices .act").await.unwrap();
    stage.wait("#sign-out").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_whose_request_was_answered_elsewhere_says_so_by_itself() {
    let stage = Stage::open().await;
    stage.enrolled(&Authenticator::usb()).await;
    let client = stage.client().await;
    let _held = client.begin(Request::call(WIPE, &json!({ "path": "/a" }))).await.unwrap();
    let request = stage.go_to_request().await;
    let deny = format!("/api/v1/approvals/{}/deny", request["id"].as_str().unwrap());
    assert_eq!(stage.api(Method::POST, &deny, Some(&json!({}))).await.0, 200);
    stage.wait_text(".banner.bad", "Declined").await;
    assert!(!stage.browser.has("#approve").await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_whose_time_is_over_cannot_be_approved_any_more() {
    let stage = Stage::open().await;
    stage.enrolled(&Authenticator::usb()).await;
    let client = stage.client().await;
    let held = client.begin(Request::call(WIPE, &json!({ "path": "/a" }))).await.unwrap();
    let request = stage.go_to_request().await;
    let signs = "return document.querySelector('[data-left]').dataset.left";
    let left: u64 = stage.browser.run(signs, json!([])).await.unwrap().as_str().unwrap().parse().unwrap();
    assert!((200_000..=300_000).contains(&left), "five minutes, of which {left} ms are left");
    // Five minutes pass.
    let database = rusqlite::Connection::open(stage.gateway.home().data_dir().join("highwater.db")).unwrap();
    database.busy_timeout(highwater_testkit::wait::PATIENCE).unwrap();
    let changed = database
        .execute("UPDATE approval SET expires = 1 WHERE id = ?1", [request["id"].as_str().unwrap()])
        .unwrap();
    assert_eq!(changed, 1);
    stage.press_approve().await;
    stage.wait("#status.bad, .banner:not(.warn)").await;
    assert_eq!(stage.runs("/a"), 0);
    drop(held);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_who_must_sign_one_is_not_enough() {
    let quorum = json!({ "n": 2, "approvers": ["ada", "ben"] });
    let stage = Stage::with(json!({ "tools": { "files:shred": { "quorum": quorum } } })).await;
    let browser = &stage.browser;
    let key = browser.add(&Authenticator::usb()).await.unwrap();
    stage.enroll("ada").await;
    stage.enroll("ben").await;
    let client = stage.client().await;
    let held = client.begin(Request::call("files__shred", &json!({ "path": "/a" }))).await.unwrap();
    stage.go_to_request().await;
    stage.wait_text("#who", "0 of 2 have signed").await;
    stage.press_approve().await;
    stage.wait_text("#who", "1 of 2 have signed").await;
    assert!(browser.text(".people").await.unwrap().contains("ben has signed"));
    assert!(!browser.has("#approve").await.unwrap(), "nobody signs twice");
    assert_eq!(stage.runs("/a"), 0);
    // Ada comes, with her own passkey.
    let (_, known) = stage.api(Method::GET, "/api/v1/approvals/credentials", None).await;
    let bens = known.as_array().unwrap().iter().find(|key| key["user"] == "ben").unwrap();
    browser.take_credential(&key, bens["id"].as_str().unwrap()).await.unwrap();
    browser.click("#sign-out").await.unwrap();
    stage.wait("#sign-in").await;
    browser.click("#sign-in").await.unwrap();
    stage.wait("#sign-out[title='Signed in as ada']").await;
    stage.press_approve().await;
    assert_eq!(held.answer().await.unwrap().text().unwrap(), "done");
    assert_eq!(stage.runs("/a"), 1);
}

/// Where the outcome is, and whether it has the focus.
const OUTCOME: &str = "const { top, bottom } = document.getElementById('outcome').getBoundingClientRect(); \
     return [top >= 0 && bottom <= innerHeight, document.activeElement.id, getComputedStyle(document.activeElement).outlineStyle]";

#[tokio::test(flavor = "multi_thread")]
async fn d8_the_outcome_is_in_view_and_has_the_focus_and_the_next_is_offered() {
    let stage = Stage::open().await;
    let browser = &stage.browser;
    let client = stage.client().await;
    stage.go("/inbox").await;
    sign_in_as_operator(&stage).await;
    let long = "a line\n".repeat(120);
    let held = client.begin(Request::call(TIDY, &json!({ "path": "/a", "note": long }))).await.unwrap();
    stage.go_to_request().await;
    let other = stage.client().await;
    let _other = other.begin(Request::call(TIDY, &json!({ "path": "/b" }))).await.unwrap();
    let listed = async || {
        let (_, listed) = stage.api(Method::GET, "/api/v1/approvals", None).await;
        (listed.as_array()?.len() == 2).then_some(())
    };
    highwater_testkit::wait::until("two wait", listed).await.unwrap();
    browser.run("document.getElementById('end').scrollIntoView()", json!([])).await.unwrap();
    browser.click("#confirm").await.unwrap();
    assert_eq!(held.answer().await.unwrap().text().unwrap(), "done");
    stage.wait_text("#outcome", "let through").await;
    stage.wait("html[data-ready]").await;
    let at = browser.run(OUTCOME, json!([])).await.unwrap();
    assert_eq!((&at[0], &at[1]), (&json!(true), &json!("outcome")), "{at}");
    // And on to the next in line.
    assert!(browser.text("#next").await.unwrap().contains("tidy"));
    browser.click("#next").await.unwrap();
    stage.wait("#confirm:not(:disabled)").await;
    assert!(browser.text(".given").await.unwrap().contains("/b"));
    let title = browser.run("return document.title", json!([])).await.unwrap();
    assert!(title.as_str().unwrap().starts_with("Waiting"), "{title}");
    stage.go("/inbox").await;
    let title = browser.run("return document.title", json!([])).await.unwrap();
    assert_eq!(title, "(1) Inbox · Highwater");
}

/// Whether what was said of the answer is in view, and what has the focus.
const ANSWERED: &str = "const { top, bottom } = document.querySelector('.banner.good').getBoundingClientRect(); \
     return { inView: top >= 0 && bottom <= innerHeight, top, focus: document.activeElement.tagName }";

/// As it was met: the page kept its place, so that nothing in view said that it had worked.
#[tokio::test(flavor = "multi_thread")]
async fn d8_who_read_to_the_end_and_answered_sees_that_it_worked() {
    let stage = Stage::open().await;
    let client = stage.client().await;
    stage.go("/inbox").await;
    sign_in_as_operator(&stage).await;
    let long = "a line\n".repeat(120);
    let held = client.begin(Request::call(TIDY, &json!({ "path": "/a", "note": long }))).await.unwrap();
    stage.go_to_request().await;
    stage.browser.run("document.getElementById('end').scrollIntoView()", json!([])).await.unwrap();
    stage.browser.click("#confirm").await.unwrap();
    assert_eq!(held.answer().await.unwrap().text().unwrap(), "done");
    stage.wait_text(".banner.good", "Approved").await;
    stage.wait("html[data-ready]").await;
    let seen = stage.browser.run(ANSWERED, json!([])).await.unwrap();
    assert!(seen["inView"] == true && seen["focus"] != "BODY", "{seen}");
}

#[tokio::test(flavor = "multi_thread")]
async fn d15_a_mandate_is_signed_by_a_form_that_an_approved_call_fills_in() {
    let stage = Stage::with(json!({ "tools": { "files:wipe": { "delegable": true } } })).await;
    let browser = &stage.browser;
    stage.enrolled(&Authenticator::usb()).await;
    let client = stage.client().await;
    let held = client.begin(Request::call(WIPE, &json!({ "path": "/a", "count": 3 }))).await.unwrap();
    stage.go_to_request().await;
    stage.press_approve().await;
    assert_eq!(held.answer().await.unwrap().text().unwrap(), "done");
    stage.wait_text("#outcome", "let through").await;
    browser.click("#outcome a[href^='/mandate']").await.unwrap();
    stage.wait("#terms-form").await;
    // The number has a lower end as well: what is at most 5 may be far below zero.
    let limited = "const row = [...document.querySelectorAll('.limit')].find((row) => row.querySelector('.limit-name').value === 'count');
        row.querySelector('.limit-kind').value = 'range'; row.querySelector('.limit-value').value = arguments[0];";
    browser.run(limited, json!(["0 5"])).await.unwrap();
    browser.click("#terms-form button").await.unwrap();
    stage.wait_text("#status", "not two numbers with “to” between them").await;
    browser.run(limited, json!(["0 to 5"])).await.unwrap();
    browser.click("#terms-form button").await.unwrap();
    stage.wait_text("#vouch-says", "Let token agent make up to 10 calls of files__wipe until").await;
    browser.click("#vouch-button").await.unwrap();
    stage.wait_text("#status", "Signed.").await;
    let (_, listed) = stage.api(Method::GET, "/api/v1/approvals/mandates", None).await;
    let terms: serde_json::Value = serde_json::from_str(listed[0]["terms"].as_str().unwrap()).unwrap();
    assert_eq!(
        terms["arguments"],
        json!({ "path": { "const": "/a" }, "count": { "min": 0, "max": 5 } }),
        "{listed}"
    );
}
