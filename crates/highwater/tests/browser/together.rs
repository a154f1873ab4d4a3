//! Calls that differ in a few values, on one page: each has its own answer, is bound to its own call and leaves its own
//! record.

use highwater_testkit::client::{Client, Pending, Request};
use highwater_testkit::wait::until;
use highwater_testkit::webdriver::{Authenticator, PHONE, WINDOW};
use http::Method;
use serde_json::{Value, json};

use super::enroll::sign_in_as_operator;
use super::five_requests::violations_in;
use super::stage::{Stage, pictures};

async fn waiting(stage: &Stage, count: usize) -> Vec<Value> {
    let listed = until("all of them wait", async || {
        let (_, listed) = stage.api(Method::GET, "/api/v1/approvals", None).await;
        listed.as_array().filter(|listed| listed.len() == count).cloned()
    });
    listed.await.unwrap_or_else(|error| panic!("{error:#}\n{}", stage.gateway.log()))
}

fn request(tool: &str, path: &str) -> Request {
    Request::call(tool, &json!({ "path": path, "note": "spring cleaning" }))
}

async fn show(stage: &Stage, id: &str, count: usize, name: &str) {
    stage.go(&format!("/approve/{id}")).await;
    stage.wait_text(".alike", &format!("{count} calls like this wait")).await;
    stage.browser.click(".alike a").await.unwrap();
    stage.wait(".bundle").await;
    let path = format!("/approve/{id}/together");
    for (look, suffix) in [(WINDOW, "window-light"), (WINDOW.dark(), "window-dark"), (PHONE, "phone-light")] {
        stage.browser.look(look).await.unwrap();
        stage.go(&path).await;
        stage.wait("html[data-ready]").await;
        assert_eq!(violations_in(&stage.browser).await, Vec::<String>::new(), "{suffix}");
        assert!(stage.browser.fits().await.unwrap(), "wider than {suffix}");
        stage.browser.picture(&pictures().join(format!("together-{name}-{suffix}.png"))).await.unwrap();
    }
    stage.browser.look(WINDOW).await.unwrap();
    stage.go(&path).await;
    stage.wait("html[data-ready]").await;
    stage.browser.run("document.getElementById('end').scrollIntoView()", json!([])).await.unwrap();
}

/// The row of a call, by its path.
async fn number(stage: &Stage, path: &str) -> u64 {
    let find = "return [...document.querySelectorAll('.call')].findIndex((it) => it.innerText.includes(given[0])) + 1";
    let script = find.replace("given[0]", "arguments[0]");
    stage.browser.run(&script, json!([path])).await.unwrap().as_u64().unwrap()
}

async fn three<'a>(client: &'a Client, tool: &str) -> Vec<Pending<'a>> {
    let mut held = Vec::new();
    for path in ["/one", "/two", "/three"] {
        held.push(client.begin(request(tool, path)).await.unwrap());
    }
    held
}

#[tokio::test(flavor = "multi_thread")]
async fn those_that_are_ticked_are_allowed_by_one_press_and_no_other() {
    let stage = Stage::open().await;
    let client = stage.client().await;
    stage.go("/inbox").await;
    sign_in_as_operator(&stage).await;
    let mut held = three(&client, "files__tidy").await;
    let listed = waiting(&stage, 3).await;
    stage.go("/inbox").await;
    stage.wait_text(".entries .name", "3 calls of files__tidy").await;
    show(&stage, listed[0]["id"].as_str().unwrap(), 3, "confirm").await;
    stage.browser.click("#allow-ticked").await.unwrap();
    stage.wait_text("#status", "Tick the calls that you mean").await;
    for path in ["/one", "/three"] {
        stage.browser.click(&format!("#tick-{}", number(&stage, path).await)).await.unwrap();
    }
    stage.browser.click("#allow-ticked").await.unwrap();
    let (third, second, first) = (held.pop().unwrap(), held.pop().unwrap(), held.pop().unwrap());
    assert_eq!(first.answer().await.unwrap().text().unwrap(), "done");
    assert_eq!(third.answer().await.unwrap().text().unwrap(), "done");
    stage.wait_text("#outcome", "2 of 3 answered.").await;
    let focus = stage.browser.run("return document.activeElement.id", json!([])).await.unwrap();
    assert_eq!(focus, "outcome");
    assert_eq!((stage.runs("/one"), stage.runs("/two"), stage.runs("/three")), (1, 0, 1));
    stage.browser.click(&format!("#refuse-{}", number(&stage, "/two").await)).await.unwrap();
    let answer = second.answer().await.unwrap();
    assert!(answer.is_tool_error() && answer.raw().contains("did not approve"), "{}", answer.raw());
    stage.wait_text("#outcome", "3 of 3 answered.").await;
    // Three answers on record, each of its own request.
    let (_, all) = stage.api(Method::GET, "/api/v1/approvals?state=all", None).await;
    let states: Vec<(&str, bool)> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["state"].as_str().unwrap(), it["arguments"].as_str().unwrap().contains("/two")))
        .collect();
    assert_eq!(states.iter().filter(|it| **it == ("consumed", false)).count(), 2, "{all}");
    assert_eq!(states.iter().filter(|it| **it == ("declined", true)).count(), 1, "{all}");
}

#[tokio::test(flavor = "multi_thread")]
async fn passkeys_sign_one_after_the_other_on_the_same_page() {
    let stage = Stage::open().await;
    stage.enrolled(&Authenticator::usb()).await;
    let client = stage.client().await;
    let held = three(&client, "files__wipe").await;
    let listed = waiting(&stage, 3).await;
    show(&stage, listed[0]["id"].as_str().unwrap(), 3, "passkey").await;
    for (signed, path) in (1..).zip(["/one", "/two", "/three"]) {
        stage.browser.run("document.getElementById('end').scrollIntoView()", json!([])).await.unwrap();
        stage.browser.click(&format!("#sign-{}", number(&stage, path).await)).await.unwrap();
        stage.wait_text("#outcome", &format!("{signed} of 3 answered.")).await;
        stage.wait("html[data-ready]").await;
    }
    for held in held {
        assert_eq!(held.answer().await.unwrap().text().unwrap(), "done");
    }
    let (_, receipts) = stage.api(Method::GET, "/api/v1/approvals/receipts", None).await;
    for path in ["/one", "/two", "/three"] {
        assert_eq!(stage.runs(path), 1, "{path}");
        let with = |it: &&Value| it.to_string().contains(path);
        assert_eq!(receipts["receipts"].as_array().unwrap().iter().filter(with).count(), 1, "{path}");
    }
}
