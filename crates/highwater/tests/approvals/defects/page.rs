//! What a person reads before they answer: on the page of a request, in the inbox, at enrollment and where mandates are
//! signed.

use highwater_passkey::Algorithm;
use highwater_testkit::client::{Era, Request};
use highwater_testkit::passkey::Passkey;
use http::Method;
use serde_json::{Value, json};

use crate::person::Person;
use crate::stage::{BRIEFLY, DELETE, Stage, WRITE, waits};

/// The page of a call with these arguments that waits, as the operator sees it, and what the interface says of it.
async fn asked(stage: &Stage, tool: &str, arguments: Value) -> (String, Value) {
    let client = stage.client(Era::Modern).await;
    let id = waits(&client.call(tool, arguments).await.unwrap());
    let (_, request) = stage.api(Method::GET, &id, None).await;
    (stage.person.document(&format!("/approve/{id}")).await, request)
}

/// D6: sixty lines were 59 hidden characters, and what joins letters was hidden, too.
#[tokio::test]
async fn d6_line_breaks_and_what_joins_letters_are_no_hidden_characters() {
    let mail = (1..=60).map(|line| format!("line {line} of a letter")).collect::<Vec<_>>().join("\n");
    let mut hidden = Vec::new();
    for ordinary in [mail.as_str(), "a\tb", "20\u{a0}%", "❤️", "👨‍👩‍👧", "می‌خواهم"]
    {
        // Only so many questions wait at once.
        let stage = Stage::new(BRIEFLY).await;
        let (page, request) = asked(&stage, WRITE, json!({ "path": ordinary })).await;
        if page.contains("hidden character") || request["hidden"] != 0 {
            hidden.push((ordinary.chars().take(9).collect::<String>(), request["hidden"].clone()));
        }
    }
    assert!(hidden.is_empty(), "taken for hidden: {hidden:?}");
    let stage = Stage::new(BRIEFLY).await;
    let (page, _) = asked(&stage, WRITE, json!({ "path": "x\u{202e}y" })).await;
    assert!(page.contains("1 hidden character."), "{page}");
}

/// D6: letters of another script that look alike were shown without a word.
#[tokio::test]
async fn d6_letters_of_another_script_within_a_word_are_marked() {
    let stage = Stage::new(BRIEFLY).await;
    let mut unmarked = Vec::new();
    for (name, marked) in [("аpple.com", "⟦Cyrillic: а⟧"), ("раураl.com", "⟦Cyrillic: р а у⟧")]
    {
        let (page, _) = asked(&stage, WRITE, json!({ "path": name })).await;
        if !page.contains(marked) {
            unmarked.push(name);
        }
    }
    assert!(unmarked.is_empty(), "they stand there like Latin letters: {unmarked:?}");
}

/// Ada, whose only passkey is built into a device, and the page of a call that she is asked about.
async fn of_ada() -> (Stage, Person, String) {
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
    (stage, ada, page)
}

/// D9: a passkey that is built into a device was offered the button, and only the signature failed.
#[tokio::test]
async fn d9_whose_passkey_does_not_fit_is_offered_no_button_and_told_why() {
    let (_stage, _ada, page) = of_ada().await;
    let (offered, told) =
        (page.contains("id=\"approve\""), page.contains("None of your passkeys may approve this tool"));
    assert_eq!((offered, told), (false, true), "whether the button is offered, and the reason told: {page}");
}

/// D9: "Your first passkey counts", and not a word of what it counts for.
#[tokio::test]
async fn d9_which_passkey_to_take_is_told_before_it_is_added() {
    let stage = Stage::new(BRIEFLY).await;
    let page = stage.person.stranger().document("/enroll?user=ben").await;
    assert!(page.contains("Which one to take"), "nobody is told which passkey to take: {page}");
}

/// D9: nor afterwards.
#[tokio::test]
async fn d9_what_a_passkey_approves_stands_beside_it() {
    let (_stage, ada, _page) = of_ada().await;
    let page = ada.document("/enroll").await;
    for words in ["This passkey approves nothing yet.", "Approves only tools that"] {
        assert!(page.contains(words), "it is not said that the passkey approves nothing: {page}");
    }
}

/// D10: it was said that the tool's description asks, wherever it was said why.
#[tokio::test]
async fn d10_who_asks_for_a_person_is_named_as_the_operators_configuration() {
    let stage = Stage::new(BRIEFLY).await;
    let mut untrue = Vec::new();
    for (tool, says) in [
        (DELETE, "Your configuration asks for a passkey at every call of this tool"),
        (WRITE, "Your configuration asks for a person’s yes at every call of this tool"),
    ] {
        let (page, request) = asked(&stage, tool, json!({ "path": "a" })).await;
        let told = std::process::Command::new(env!("CARGO_BIN_EXE_highwater"))
            .args(["approvals", "show", request["id"].as_str().unwrap(), "--data-dir"])
            .arg(stage.gateway.home().data_dir())
            .output()
            .unwrap();
        let told = String::from_utf8(told.stdout).unwrap();
        for (place, text) in [("page", page), ("interface", request.to_string()), ("command", told)] {
            if text.contains("description asks") || !text.contains(says) {
                untrue.push((place, tool, text));
            }
        }
    }
    let places: Vec<_> = untrue.iter().map(|(place, tool, _)| (place, tool)).collect();
    assert!(untrue.is_empty(), "the description is said to ask: {places:?}: {untrue:#?}");
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
}

/// D14: what lasts until a definition changes was listed with a day ten years ahead.
#[tokio::test]
async fn d14_what_lasts_until_the_tool_changes_is_listed_without_a_day() {
    let stage = Stage::new(BRIEFLY).await;
    let client = stage.client(Era::Modern).await;
    let id = waits(&client.call(WRITE, json!({ "path": "the-ledger" })).await.unwrap());
    assert_eq!(stage.person.confirm(&id, Some("until-definition-changes")).await.0, 200);
    let inbox = stage.person.document("/inbox").await;
    assert!(inbox.contains("until the server changes this tool"), "{inbox}");
}

/// D14: the same choice was called one thing on the page and another in a form.
#[tokio::test]
async fn d14_a_form_and_the_page_call_a_scope_the_same() {
    let stage = Stage::new(BRIEFLY).await;
    let client = stage.client(Era::Modern).await;
    let arguments = json!({ "path": "the-ledger" });
    let id = waits(&client.call(WRITE, arguments.clone()).await.unwrap());
    let page = stage.person.document(&format!("/approve/{id}")).await;
    let forms = json!({ "elicitation": { "form": {} } });
    let client = stage.setup(Era::Modern).capabilities(forms).connect().await.unwrap();
    let asked = client.send(Request::call(WRITE, &arguments).once()).await.unwrap();
    let form =
        asked.at("/result/inputRequests/highwater_approval/params/requestedSchema/properties/remember");
    let words = "any `files__write` with `path` “the-ledger”, until this conversation ends";
    let words = if page.contains(words) { words } else { words.trim_start_matches("any ") };
    let says = (page.contains(words), form.to_string().contains(words));
    assert_eq!(says, (true, true), "whether the page says so, and the form: {form}, {page}");
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
