//! Whom a question reaches, and how: clients that sign by themselves, the others that hold their token, and the person.

use highwater_testkit::client::Era;
use http::Method;
use serde_json::json;

use crate::attention;
use crate::stage::{BRIEFLY, DELETE, ERAS, KEY, Stage, WRITE, done, waits};

/// D4: it was refused for want of evidence, and there was none that it could bring.
#[tokio::test]
async fn d4_a_confirmation_reaches_a_client_that_signs_by_itself() {
    for era in ERAS {
        let stage = Stage::new(BRIEFLY).await;
        let knows = json!({ "extensions": { KEY: {} } });
        let client = stage.setup(era).capabilities(knows).connect().await.unwrap();
        let id = waits(&client.call(WRITE, json!({ "path": "a" })).await.unwrap());
        let (status, said) = stage.person.confirm(&id, None).await;
        assert_eq!(status, 200, "{said}");
        done(&client.call(WRITE, json!({ "path": "a" })).await.unwrap());
        assert_eq!(stage.ran("write"), 1, "{era:?}");
    }
}

/// D5: from then on every client of that token was told that evidence was missing.
#[tokio::test]
async fn d5_a_client_that_signs_by_itself_changes_nothing_for_others_of_its_token() {
    let stage = Stage::new(BRIEFLY).await;
    stage.signature(&stage.native().await, &json!({ "path": "a" })).await;
    for era in ERAS {
        let other = stage.client(era).await;
        let arguments = json!({ "path": format!("{era:?}") });
        let id = waits(&other.call(DELETE, arguments.clone()).await.unwrap());
        assert_eq!(stage.person.sign(&id, &stage.passkey).await.0, 200);
        done(&other.call(DELETE, arguments).await.unwrap());
    }
    assert_eq!(stage.ran("delete"), 2);
}

/// D12: of three within ten seconds one was, and of the others nobody learnt later either.
#[tokio::test]
async fn d12_the_desktop_tells_of_each_of_three_questions_within_ten_seconds() {
    let (stage, desktop) = attention::stage().await;
    let client = stage.client(Era::Modern).await;
    for path in ["a", "b", "c"] {
        waits(&client.call(WRITE, json!({ "path": path })).await.unwrap());
    }
    desktop.notified(3).await;
}

/// D12: the browser opened a tab for each question, also while the inbox was open.
#[tokio::test]
async fn d12_no_tab_is_opened_while_a_page_is_open() {
    let (stage, desktop) = attention::stage().await;
    let inbox = stage.person.watch_inbox().await;
    let client = stage.client(Era::Modern).await;
    let id = waits(&client.call(WRITE, json!({ "path": "a" })).await.unwrap());
    desktop.notified(1).await;
    // Long enough for another program to have been started as well.
    let (status, said) = stage.api(Method::POST, &format!("{id}/deny"), Some(&json!({}))).await;
    assert_eq!(status, 200, "{said}");
    assert_eq!(desktop.log("xdg-open"), Vec::<String>::new());
    drop(inbox);
}

/// D12: rows named the tool alone, and the title of the tab said nothing.
#[tokio::test]
async fn d12_the_inbox_tells_two_calls_of_one_tool_apart_and_its_title_counts_them() {
    let stage = Stage::new(BRIEFLY).await;
    let client = stage.client(Era::Modern).await;
    for path in ["ledger-of-may", "ledger-of-june"] {
        waits(&client.call(WRITE, json!({ "path": path })).await.unwrap());
    }
    let inbox = stage.person.document("/inbox").await;
    let title = inbox.split("<title>").nth(1).unwrap().split("</title>").next().unwrap();
    let rows = ["ledger-of-may", "ledger-of-june"].map(|path| inbox.contains(path));
    assert_eq!((rows, title), ([true, true], "(2) Inbox · Highwater"), "{inbox}");
}
