//! What a person reads before they answer: on the page of a request, in the inbox, at enrollment and where mandates are
//! signed.

use highwater_core::approval::Algorithm;
use highwater_testkit::client::Era;
use highwater_testkit::passkey::Passkey;
use http::Method;
use serde_json::{Value, json};

use crate::stage::{BRIEFLY, DELETE, Stage, WRITE, waits};

/// The page of a call with these arguments that waits, as the operator sees it, and what the interface says of it.
async fn asked(stage: &Stage, tool: &str, arguments: Value) -> (String, Value) {
    let client = stage.client(Era::Modern).await;
    let id = waits(&client.call(tool, arguments).await.unwrap());
    let (_, request) = stage.api(Method::GET, &id, None).await;
    (stage.person.document(&format!("/approve/{id}")).await, request)
}

/// D6: sixty lines were 59 hidden characters.
#[tokio::test]
async fn d6_line_breaks_and_what_joins_letters_are_no_hidden_characters() {
    let stage = Stage::new(BRIEFLY).await;
    let mail = (1..=60).map(|line| format!("line {line}\tof a letter")).collect::<Vec<_>>().join("\n");
    for ordinary in [mail.as_str(), "❤️ 👨‍👩‍👧", "می‌خواهم", "20\u{a0}%"] {
        let (page, request) = asked(&stage, WRITE, json!({ "path": ordinary })).await;
        let warned = page.contains("hidden character");
        assert!(!warned && request["hidden"] == 0, "{} hidden in {ordinary:?}", request["hidden"]);
    }
    let (page, _) = asked(&stage, WRITE, json!({ "path": "x\u{202e}y" })).await;
    assert!(page.contains("1 hidden character."), "{page}");
}

/// D6: letters of another script that look alike were shown without a word.
#[tokio::test]
async fn d6_letters_of_another_script_within_a_word_are_marked() {
    let stage = Stage::new(BRIEFLY).await;
    for (name, marked) in [("аpple.com", "⟦Cyrillic: а⟧"), ("раураl.com", "⟦Cyrillic: р а у⟧")]
    {
        let (page, _) = asked(&stage, WRITE, json!({ "path": name })).await;
        assert!(page.contains(marked), "{name} stands there unmarked: {page}");
    }
}

/// D9: a passkey that is built into a device was enrolled without a word, and only the first signature failed.
#[tokio::test]
async fn d9_whose_passkey_does_not_fit_is_told_at_enrollment_and_is_offered_no_button() {
    let tools = json!({ "files:delete": { "quorum": { "n": 1, "approvers": ["ada"] } } });
    let stage = Stage::standing(BRIEFLY, |config| config["approvals"]["tools"] = tools).await;
    let (_, opened) = stage.api(Method::POST, "enroll", Some(&json!({ "user": "ada" }))).await;
    let mut passkey = Passkey::fresh(Algorithm::Es256, stage.person.origin());
    passkey.transports = vec!["internal"];
    stage.person.enroll("ada", opened["code"].as_str().unwrap(), &mut passkey).await;
    let ada = stage.person.with_passkey(&passkey).await;
    let client = stage.client(Era::Modern).await;
    let id = waits(&client.call(DELETE, json!({ "path": "a" })).await.unwrap());
    let page = ada.document(&format!("/approve/{id}")).await;
    assert!(
        !page.contains("id=\"approve\""),
        "the button is offered to whose passkey cannot press it: {page}"
    );
    assert!(page.contains("None of your passkeys may approve this tool"), "{page}");
    let enrollment = ada.document("/enroll").await;
    assert!(enrollment.contains("This passkey approves nothing yet."), "{enrollment}");
    assert!(enrollment.contains("Which one to take"), "{enrollment}");
}

/// D10: it was said that the tool's description asks.
#[tokio::test]
async fn d10_who_asks_for_a_person_is_named_as_the_operators_configuration() {
    let stage = Stage::new(BRIEFLY).await;
    for (tool, says) in [
        (DELETE, "Your configuration asks for a passkey at every call of this tool"),
        (WRITE, "Your configuration asks for a person’s yes at every call of this tool"),
    ] {
        let (page, _) = asked(&stage, tool, json!({ "path": "a" })).await;
        assert!(!page.contains("description asks"), "it is said that the tool's description asks: {page}");
        assert!(page.contains(says), "{page}");
    }
}

/// D11: "Wanted by" a name that anybody can claim.
#[tokio::test]
async fn d11_the_name_of_a_client_is_what_it_calls_itself() {
    let stage = Stage::new(BRIEFLY).await;
    let client = stage.setup(Era::Legacy).name("Claude Desktop").connect().await.unwrap();
    let id = waits(&client.call(WRITE, json!({ "path": "a" })).await.unwrap());
    let page = stage.person.document(&format!("/approve/{id}")).await;
    assert!(!page.contains("Wanted by"), "a name that anybody can claim stands there as a fact: {page}");
    assert!(page.contains("Token <code>agent</code>, which calls itself “<bdi>Claude Desktop"), "{page}");
}

/// D14: "for the rest of this session", which let other text to the same target run and did not say for how long.
#[tokio::test]
async fn d14_a_scope_says_what_it_covers_and_until_when() {
    let stage = Stage::new(BRIEFLY).await;
    let client = stage.client(Era::Modern).await;
    let id = waits(&client.call(WRITE, json!({ "path": "the-ledger" })).await.unwrap());
    let page = stage.person.document(&format!("/approve/{id}")).await;
    let offered: Vec<&str> = page.split("name=\"remember\"").skip(1).collect();
    for words in ["“the-ledger”, until this conversation ends", "for 30 days", "definition changes"] {
        let offers = offered.iter().any(|choice| {
            let choice = choice.split("</label>").next().unwrap_or_default();
            choice.contains(words)
        });
        assert!(offers, "no choice says `{words}`: {offered:?}");
    }
    // What lasts until a definition changes has no day.
    assert_eq!(stage.person.confirm(&id, Some("until-definition-changes")).await.0, 200);
    let inbox = stage.person.document("/inbox").await;
    assert!(inbox.contains("until the server changes this tool"), "{inbox}");
}

/// D15: an empty box for JSON.
#[tokio::test]
async fn d15_a_mandate_is_a_form_that_a_call_fills_in() {
    let stage = Stage::new(BRIEFLY).await;
    let client = stage.client(Era::Modern).await;
    let id = waits(&client.call(DELETE, json!({ "path": "build/notes" })).await.unwrap());
    let owner = stage.person.with_passkey(&stage.passkey).await;
    let page = owner.document(&format!("/mandate?like={id}")).await;
    for filled in ["value=\"agent\"", "value=\"files__delete\"", "value=\"build/notes\""] {
        assert!(page.contains(filled), "no field is filled with {filled}: {page}");
    }
}

/// D16: they were offered a button that answered with 403.
#[tokio::test]
async fn d16_who_does_not_count_is_not_offered_the_button() {
    let quorum = json!({ "n": 2, "approvers": ["ada", "ben"] });
    let stage = Stage::standing(BRIEFLY, |config| {
        config["approvals"]["tools"] = json!({ "files:delete": { "quorum": quorum } });
    })
    .await;
    let owner = stage.person.with_passkey(&stage.passkey).await;
    let client = stage.client(Era::Modern).await;
    let id = waits(&client.call(DELETE, json!({ "path": "a" })).await.unwrap());
    let page = owner.document(&format!("/approve/{id}")).await;
    assert!(page.contains("Decline"), "{page}");
    assert!(!page.contains("id=\"approve\""), "it is offered to whose signature is refused: {page}");
    assert!(page.contains("Your signature does not count for this"), "{page}");
}
