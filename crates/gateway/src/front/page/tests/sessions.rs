//! Who is shown what, and who may say yes.

use super::Stand;
use super::backend::{CONFIRM, FOREIGN, OPERATOR, PASSKEY, TICKET};

#[tokio::test]
async fn without_signing_in_the_name_of_the_tool_is_all_there_is() {
    let stand = Stand::open().await;
    let page = stand.send(&stand.get("/approve/pass")).await.body;
    assert!(page.contains("files__delete"), "{page}");
    for hidden in ["notes", "financial", "claude-code", "id=\"decline\"", "id=\"approve\""] {
        assert!(!page.contains(hidden), "{hidden}");
    }
    let csrf = stand.csrf("").await;
    for act in ["challenge", "assertion", "confirm", "decline"] {
        let reply = stand.send(&stand.post(&format!("/approve/{PASSKEY}/{act}"), &csrf, "{}")).await;
        assert_eq!(reply.status, 403, "{act}");
        assert!(reply.body.contains("sign_in_required"), "{}", reply.body);
    }
    assert_eq!(stand.counter.asked(), Vec::<String>::new());
    let inbox = stand.send(&stand.get("/inbox")).await.body;
    assert!(!inbox.contains("files__delete"));
}

#[tokio::test]
async fn an_agents_token_opens_nothing() {
    let stand = Stand::open().await;
    let csrf = stand.csrf("").await;
    let reply = stand.send(&stand.post("/sign-in", &csrf, r#"{"token":"hwa_agent"}"#)).await;
    assert_eq!(reply.status, 403);
    assert_eq!(reply.header("set-cookie"), None);
    let bearer = stand.get("/approve/pass").with("authorization", &format!("Bearer {OPERATOR}"));
    assert!(!stand.send(&bearer).await.body.contains("notes"), "a header is not how one signs in");
}

#[tokio::test]
async fn the_cookie_shows_and_declines_and_the_secret_confirms() {
    let stand = Stand::open().await;
    let (cookie, secret) = stand.operator().await;
    let csrf = stand.csrf(&cookie).await;
    let confirm =
        |body: &str| stand.post(&format!("/approve/{CONFIRM}/confirm"), &csrf, body).with("cookie", &cookie);
    let reply = stand.send(&confirm("{}")).await;
    assert_eq!(reply.status, 403, "every port of this machine has the cookie");
    assert!(reply.body.contains("sign_in_required"));
    let ask = confirm(r#"{"remember":"tool-with-targets"}"#).with("highwater-page-secret", &secret);
    assert_eq!(stand.send(&ask).await.body, r#"{"state":"approved"}"#);
    assert_eq!(stand.counter.asked(), ["confirm conf operator page Some(ToolWithTargets)"]);
    let decline = stand.post(&format!("/approve/{PASSKEY}/decline"), &csrf, "{}").with("cookie", &cookie);
    assert_eq!(stand.send(&decline).await.body, r#"{"state":"declined"}"#);
}

#[tokio::test]
async fn the_owner_says_what_a_server_is_by_two_answers() {
    let stand = Stand::open().await;
    let (cookie, secret) = stand.operator().await;
    let page = stand.send(&stand.get(&format!("/approve/{CONFIRM}")).with("cookie", &cookie)).await.body;
    assert!(page.contains("Can anybody but you put text there?"), "{page}");
    assert!(page.contains("Two times no is not offered: `to` of `send` is a URL or an address"), "{page}");
    let csrf = stand.csrf(&cookie).await;
    let describe =
        |body: &str| stand.post(&format!("/approve/{CONFIRM}/describe"), &csrf, body).with("cookie", &cookie);
    let answers = r#"{"strangersWrite":true,"sends":false}"#;
    assert_eq!(stand.send(&describe(answers)).await.status, 403, "every port of this machine has the cookie");
    let reply = stand.send(&describe(answers).with("highwater-page-secret", &secret)).await;
    assert!(reply.body.contains(r#""profile":"private""#), "{}", reply.body);
    let half = describe(r#"{"sends":false}"#).with("highwater-page-secret", &secret);
    assert_eq!(stand.send(&half).await.status, 400);
    assert_eq!(stand.counter.asked(), ["describe files private owner"]);
}

#[tokio::test]
async fn a_person_says_on_the_page_that_a_conversation_is_new() {
    let stand = Stand::open().await;
    let (cookie, secret) = stand.operator().await;
    let page = stand.send(&stand.get(&format!("/approve/{CONFIRM}")).with("cookie", &cookie)).await.body;
    let offered = page.find("This is a new conversation").unwrap();
    assert!(offered < page.find("What it is given").unwrap(), "it is offered first: {page}");
    assert!(page.contains("presumed: a connection of <code>agent</code>"), "{page}");
    assert!(page.contains("mcp:mail:&lt;i&gt;read&lt;/i&gt;"), "{page}");
    let csrf = stand.csrf(&cookie).await;
    let say =
        || stand.post(&format!("/approve/{CONFIRM}/new-conversation"), &csrf, "{}").with("cookie", &cookie);
    assert_eq!(stand.send(&say()).await.status, 403, "every port of this machine has the cookie");
    let reply = stand.send(&say().with("highwater-page-secret", &secret)).await;
    assert_eq!(reply.body, r#"{"conversation":"new"}"#);
    assert_eq!(stand.counter.asked(), ["begin conversation conf operator page"]);
}

#[tokio::test]
async fn the_cookie_is_out_of_reach_of_scripts_and_survives_a_link() {
    let stand = Stand::open().await;
    let body = format!(r#"{{"token":"{OPERATOR}"}}"#);
    let reply = stand.send(&stand.post("/sign-in", &stand.csrf("").await, &body)).await;
    let cookie = reply.header("set-cookie").unwrap();
    assert!(cookie.starts_with("highwater_page="), "{cookie}");
    assert!(cookie.ends_with("; HttpOnly; SameSite=Lax; Path=/; Max-Age=43200"), "{cookie}");
}

#[tokio::test]
async fn what_somebody_else_is_asked_is_not_shown_and_not_answered() {
    let stand = Stand::open().await;
    let csrf = stand.csrf("").await;
    let body = r#"{"challengeId":"c","response":{"id":"k"}}"#;
    let reply = stand.send(&stand.post("/sign-in", &csrf, body)).await;
    let cookie = reply.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let page = stand.send(&stand.get(&format!("/approve/{FOREIGN}")).with("cookie", &cookie)).await.body;
    assert!(page.contains("for somebody else") && !page.contains("notes"), "{page}");
    let csrf = stand.csrf(&cookie).await;
    let decline = stand.post(&format!("/approve/{FOREIGN}/decline"), &csrf, "{}").with("cookie", &cookie);
    assert_eq!(stand.send(&decline).await.status, 403);
    let inbox = stand.send(&stand.get("/inbox").with("cookie", &cookie)).await.body;
    assert!(!inbox.contains("files__delete"), "{inbox}");
    assert_eq!(stand.counter.asked(), [r#"sign_in c {"id":"k"}"#]);
}

#[tokio::test]
async fn c08_what_the_passkey_said_is_carried_to_the_letter() {
    let stand = Stand::open().await;
    let (cookie, _) = stand.operator().await;
    let csrf = stand.csrf(&cookie).await;
    let response = r#"{ "id":"k" ,"b":1.0, "a":{"x":[1e2,  "\u0041"]}}"#;
    let body = format!(r#"{{"challengeId":"c","response":{response}}}"#);
    let ask = stand.post(&format!("/approve/{PASSKEY}/assertion"), &csrf, &body).with("cookie", &cookie);
    let reply = stand.send(&ask).await;
    assert_eq!(stand.counter.asked(), [format!("assertion {PASSKEY} c {response}")]);
    assert_eq!(reply.status, 409);
    assert_eq!(
        reply.body, r#"{"error":"the challenge is too old","reason":"challenge_expired"}"#,
        "c14: a refusal reaches the person with its reason"
    );
}

#[tokio::test]
async fn registering_lets_nobody_in_and_the_code_or_a_passkey_does() {
    let stand = Stand::open().await;
    let csrf = stand.csrf("").await;
    let begun = stand.send(&stand.post("/enroll/begin", &csrf, r#"{"user":" owner "}"#)).await;
    assert!(begun.body.contains("\"ticket\":") && begun.header("set-cookie").is_none(), "{}", begun.body);
    let registered =
        stand.post("/enroll/finish", &csrf, r#"{"ticket":"t","response":{ "x":1.0 },"name":" Blue "}"#);
    assert_eq!(stand.send(&registered).await.header("set-cookie"), None);
    let code = stand.send(&stand.post("/enroll/code", &csrf, r#"{"id":"k","code":" AB-CD "}"#)).await;
    assert!(code.header("set-cookie").is_some() && code.body.contains("secret"), "{}", code.body);
    let signed = r#"{"act":{"act":"confirm-key","id":"k"},"challengeId":"c","response":{}}"#;
    let signed = stand.send(&stand.post("/act/assertion", &csrf, signed)).await;
    assert!(signed.header("set-cookie").is_some(), "{}", signed.body);
    assert_eq!(
        stand.counter.asked(),
        [
            "enroll_begin owner 22 false",
            r#"enroll_finish t { "x":1.0 } Some("Blue")"#,
            "confirm_by_code k AB-CD",
            r#"act_assertion ConfirmKey { id: "k" } c {}"#
        ]
    );
}

#[tokio::test]
async fn who_signs_out_is_out() {
    let stand = Stand::open().await;
    let (cookie, _) = stand.operator().await;
    let csrf = stand.csrf(&cookie).await;
    let reply = stand.send(&stand.post("/sign-out", &csrf, "{}").with("cookie", &cookie)).await;
    assert!(reply.header("set-cookie").unwrap().contains("Max-Age=0"));
    let page = stand.send(&stand.get("/approve/pass").with("cookie", &cookie)).await.body;
    assert!(!page.contains("notes"));
}

#[tokio::test]
async fn what_undoes_a_pause_needs_the_page_and_not_the_cookie_alone() {
    let stand = Stand::open().await;
    let (cookie, secret) = stand.operator().await;
    let csrf = stand.csrf(&cookie).await;
    let act = r#"{"act":"resume-tool","principal":"laptop","tool":"files__wipe"}"#;
    let ask = || stand.post("/act", &csrf, act).with("cookie", &cookie);
    assert_eq!(stand.send(&ask()).await.status, 403);
    assert_eq!(stand.send(&ask().with("highwater-page-secret", &secret)).await.status, 200);
    let asked = stand.counter.asked();
    assert_eq!(asked, [r#"act ResumeTool { principal: "laptop", tool: "files__wipe" } operator page"#]);
}

#[tokio::test]
async fn a_ticket_lets_the_browser_in_that_a_program_of_ours_opened() {
    let stand = Stand::open().await;
    let csrf = stand.csrf("").await;
    let body = |ticket: &str| format!(r#"{{"ticket":"{ticket}"}}"#);
    let let_in = stand.send(&stand.post("/sign-in", &csrf, &body(TICKET))).await;
    assert!(let_in.header("set-cookie").is_some() && let_in.body.contains("secret"), "{}", let_in.body);
    let code = stand.send(&stand.post("/enroll/ticket", &csrf, &body(TICKET))).await;
    assert_eq!((code.status, code.body.as_str()), (200, r#"{"code":"AAAA"}"#));
    assert_eq!(code.header("set-cookie"), None, "a code lets nobody in before a passkey was made");
    for path in ["/sign-in", "/enroll/ticket"] {
        let refused = stand.send(&stand.post(path, &csrf, &body("guessed"))).await;
        assert_eq!(refused.status, 403, "{}", refused.body);
        assert!(refused.body.contains("no_ticket") && refused.header("set-cookie").is_none());
        // Another page of this machine has neither our origin nor our token.
        let elsewhere = stand.post(path, &csrf, &body(TICKET)).with("origin", "http://localhost:1");
        assert_eq!(stand.send(&elsewhere).await.status, 403);
        assert_eq!(stand.send(&stand.post(path, "", &body(TICKET))).await.status, 403);
    }
    let both = format!(r#"{{"ticket":"{TICKET}","token":"{}"}}"#, super::backend::OPERATOR);
    assert_eq!(stand.send(&stand.post("/sign-in", &csrf, &both)).await.status, 400);
}

#[tokio::test]
async fn a_passkey_is_renamed_by_our_page_and_not_by_a_cookie_alone() {
    let stand = Stand::open().await;
    let (cookie, secret) = stand.operator().await;
    let csrf = stand.csrf(&cookie).await;
    let ask = || {
        stand.post("/act", &csrf, r#"{"act":"rename-key","id":"k","name":"Blue"}"#).with("cookie", &cookie)
    };
    assert_eq!(stand.send(&ask()).await.status, 403);
    assert_eq!(stand.send(&ask().with("highwater-page-secret", &secret)).await.status, 200);
    assert_eq!(stand.counter.asked(), [r#"act RenameKey { id: "k", name: "Blue" } operator page"#]);
}
