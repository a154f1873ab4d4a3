//! Whom a question reaches, and how: clients that sign by themselves, the others that hold their token, and the person.

use highwater_testkit::client::{Era, Question, Reply, Setup};
use http::Method;
use serde_json::{Value, json};

use crate::attention;
use crate::stage::{BRIEFLY, DELETE, ERAS, HELD, KEY, Stage, WRITE, done, waits};

/// D4: it was refused for want of evidence, and there was none that it could bring. So were clients that can show a form or
/// open a page, too.
#[tokio::test]
async fn d4_a_confirmation_reaches_a_client_that_signs_by_itself() {
    let mut dead_ends = Vec::new();
    for era in ERAS {
        for elicitation in [json!({}), json!({ "url": {} }), json!({ "form": {} })] {
            let stage = Stage::new(HELD).await;
            let mut knows = json!({ "extensions": { KEY: {} } });
            if elicitation != json!({}) {
                knows["elicitation"] = elicitation.clone();
            }
            let answering = |question: &Question| match question.json().unwrap()["mode"].as_str() {
                Some("url") => Reply::Result(json!({ "action": "accept" })),
                _ => Reply::accept(json!({ "allow": true })),
            };
            let setup = stage.setup(era).capabilities(knows).answering(answering);
            let client = setup.connect().await.unwrap();
            let mut answer = std::pin::pin!(client.call(WRITE, json!({ "path": "a" })));
            let answer = tokio::select! {
                answer = &mut answer => answer.unwrap(),
                request = stage.pending(), if elicitation["form"].is_null() => {
                    let (status, said) = stage.person.confirm(request["id"].as_str().unwrap(), None).await;
                    assert_eq!(status, 200, "{said}");
                    answer.await.unwrap()
                }
            };
            if answer.error_code().is_some() || stage.ran("write") != 1 {
                dead_ends.push((era, elicitation, answer.raw().to_owned()));
            }
        }
    }
    assert!(dead_ends.is_empty(), "nobody can answer there: {dead_ends:#?}");
}

/// D4: a client that can show nothing is told the page, and the identical call collects.
#[tokio::test]
async fn d4_a_client_that_signs_by_itself_and_can_show_nothing_is_told_where_to_confirm() {
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
    let mut turned_away = Vec::new();
    for era in ERAS {
        let other = stage.client(era).await;
        let arguments = json!({ "path": format!("{era:?}") });
        let asked = other.call(DELETE, arguments.clone()).await.unwrap();
        if asked.error_code().is_some() {
            turned_away.push((era, asked.raw().to_owned()));
            continue;
        }
        assert_eq!(stage.person.sign(&waits(&asked), &stage.passkey).await.0, 200);
        done(&other.call(DELETE, arguments).await.unwrap());
    }
    assert!(turned_away.is_empty(), "they were told that evidence is missing: {turned_away:#?}");
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

/// D12: it told of what somebody else is asked, who sits elsewhere.
#[tokio::test]
async fn d12_the_desktop_tells_nothing_of_what_other_people_are_asked() {
    let (stage, desktop) = attention::stage_with(|config| {
        let of_ada =
            json!({ "permissions": ["read", "write", "destructive"], "servers": ["*"], "user": "ada" });
        config["agent_tokens"] = json!({ "hers": of_ada });
    })
    .await;
    let url = stage.gateway.endpoint().replace("/mcp", "/api/v1/tokens");
    let person = Setup::http(&url).token(stage.gateway.operator_token()).connect_silently().await.unwrap();
    let made = person.exchange(Method::POST, r#"{"name":"hers"}"#, &[]).await.unwrap();
    let made: Value = serde_json::from_str(&made.body).unwrap();
    let hers = stage.setup(Era::Modern).token(made["secret"].as_str().unwrap()).connect().await.unwrap();
    let others = waits(&hers.call(WRITE, json!({ "path": "a" })).await.unwrap());
    let client = stage.client(Era::Modern).await;
    let own = waits(&client.call(WRITE, json!({ "path": "b" })).await.unwrap());
    // What comes within ten seconds was one notification in that version, so that the first of both would be told.
    let told = desktop.notified(1).await;
    assert!(told.iter().all(|line| line.contains(&own) && !line.contains(&others)), "{told:?}");
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
