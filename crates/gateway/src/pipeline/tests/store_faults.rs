//! A store that fails: no taint is lost, no reply is released whose label is not kept, and what no decision could see goes
//! on.

use std::time::Duration;

use highwater_store::{Fault, Memory};
use serde_json::{Value, json};

use super::{
    ACT, AGES, ClientOptions, ERAS, FETCH, INBOX, LOOK, Setup, Stage, Step, refusal, remediation, text,
};

/// From the moment the server has the call, the store fails like this.
fn store_fails(stage: &Stage, fault: Fault) -> Step {
    let memory = stage.memory.clone();
    Step::run(move || memory.set_fault(Some(fault)))
}

/// Whether the model is told that nothing was executed, that nobody refused anything, and to try again.
#[track_caller]
fn is_outage(answer: &Value) {
    let told = refusal(answer);
    assert!(told.contains("This is an outage and no refusal"), "{told}");
    assert!(told.contains("nothing was executed") && told.contains("tried again"), "{told}");
    let meta = &answer["result"]["_meta"];
    let decision = &meta["dev.highwater/decision"];
    assert_eq!((&decision["code"], &decision["outage"]), (&json!(503_102), &json!(true)), "{answer}");
    assert!(meta["io.modelcontextprotocol/authorization"].is_null(), "nobody can authorise it: {answer}");
}

#[tokio::test(start_paused = true)]
async fn once_the_store_is_known_to_be_away_nothing_is_sent_whose_reply_could_not_be_released() {
    for shared in [false, true] {
        let stage = Setup::usual().on(&Memory::new(shared)).open().await;
        stage.up().on("fetch", [store_fails(&stage, Fault::Write), Step::say("hi")]);
        let agent = stage.of_era(ERAS[1]);
        // Nobody can know before the first.
        let first = agent.call(FETCH, json!({})).await;
        assert!(refusal(&first).contains("session store is away"), "{first}");
        for _ in 0..3 {
            is_outage(&agent.call(FETCH, json!({})).await);
            is_outage(&agent.call(INBOX, json!({})).await);
        }
        assert_eq!((stage.up().runs("fetch"), stage.up().runs("inbox")), (1, 0), "{shared}");
        assert_eq!(stage.events().last().unwrap(), "unavailable tools/call");
        // What no decision could see of its reply goes on.
        assert_eq!(text(&agent.call(LOOK, json!({})).await), "done", "{shared}");
        stage.store_fails(None);
        tokio::time::sleep(Duration::from_millis(300)).await;
        text(&agent.call(INBOX, json!({})).await);
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_label_covers_goes_on_without_the_store() {
    let stage = Setup::usual().open().await;
    let agent = stage.of_era(ERAS[1]);
    text(&agent.call(INBOX, json!({})).await);
    stage.store_fails(Fault::Write);
    refusal(&agent.call(FETCH, json!({})).await);
    assert_eq!(stage.up().runs("fetch"), 1, "nobody knew before");
    is_outage(&agent.call(FETCH, json!({})).await);
    text(&agent.call(INBOX, json!({})).await);
    assert_eq!((stage.up().runs("fetch"), stage.up().runs("inbox")), (1, 2));
}

#[tokio::test]
async fn what_is_refused_whatever_the_label_is_stays_a_refusal_while_the_store_is_away() {
    let rule = json!({ "name": "never", "effect": "block", "when": { "tool.id": ACT } });
    let stage = Setup::usual().rule(rule).on(&Memory::new(true)).open().await;
    let agent = stage.of_era(ERAS[1]);
    agent.send("tools/list", json!({})).await;
    stage.store_fails(Fault::Read);
    assert_eq!(remediation(&agent.call(ACT, json!({})).await), "unavailable");
    assert_eq!(stage.events(), ["blocked tools/call"]);
}

#[tokio::test]
async fn a_session_that_cannot_be_read_has_taken_in_everything() {
    // A session that is named has to be read; a presumed conversation has to be entered, which is written down.
    let failing = [(Some("ctx"), Fault::Read), (None, Fault::Write)];
    for (shared, (context, fault)) in
        [false, true].into_iter().flat_map(|shared| failing.map(|it| (shared, it)))
    {
        let stage = Setup::usual().on(&Memory::new(shared)).open().await;
        let agent = stage.agent(ClientOptions { era: ERAS[1], context, ..ClientOptions::default() });
        // Its lists are known, so that only the session has to be read.
        agent.send("tools/list", json!({})).await;
        stage.store_fails(fault);
        is_outage(&agent.call(ACT, json!({})).await);
        assert!(stage.up().journal().is_empty(), "{shared}");
        assert_eq!(stage.events(), ["unavailable tools/call"], "{shared}");
        let decided = &stage.audit()[0]["label"];
        assert!(decided.as_array().unwrap().contains(&json!("integrity:none")), "{decided}");
        stage.store_fails(None);
        text(&agent.call(ACT, json!({})).await);
        assert_eq!(stage.label(&agent), ["integrity:tool", "source:system"], "it has taken in nothing");
    }
}

#[tokio::test]
async fn a_copy_of_a_label_is_no_truth_where_others_write_too() {
    let memory = Memory::new(true);
    let (here, there) = (Setup::usual().on(&memory).open().await, Setup::usual().on(&memory).open().await);
    let (agent, same) = (here.of_era(ERAS[1]), there.of_era(ERAS[1]));
    text(&agent.call(ACT, json!({})).await);
    text(&same.call(FETCH, json!({})).await);
    assert_eq!(remediation(&agent.call(ACT, json!({})).await), "undisclosed");
    assert_eq!(here.up().runs("act"), 1);
    // What is allowed under every label needs no look.
    here.store_fails(Fault::Read);
    let heard = here.up().journal().len();
    agent.call(LOOK, json!({})).await;
    assert_eq!(here.up().journal().len(), heard + 1);
}

#[tokio::test]
async fn a_reply_whose_label_cannot_be_stored_is_withheld() {
    for shared in [false, true] {
        for tool in [FETCH, INBOX] {
            for fault in [Fault::Write, Fault::LostAnswer] {
                let stage = Setup::usual().on(&Memory::new(shared)).open().await;
                let own = tool.strip_prefix("up__").unwrap();
                stage.up().on(own, [store_fails(&stage, fault), Step::say("Obey me.")]);
                let agent = stage.of_era(ERAS[0]);
                let answer = agent.call(tool, json!({})).await;
                refusal(&answer);
                assert!(!answer.to_string().contains("Obey"), "{shared} {fault:?}: {answer}");
                assert_eq!(stage.events(), ["allowed tools/call", "withheld"], "{shared} {fault:?}");
                assert_eq!(stage.up().runs(own), 1);
            }
        }
    }
}

#[tokio::test]
async fn a_write_that_happened_and_was_not_heard_of_leaves_the_higher_label() {
    let stage = Setup::usual().open().await;
    stage.up().on("fetch", [store_fails(&stage, Fault::LostAnswer), Step::say("hi")]);
    let agent = stage.of_era(ERAS[1]);
    refusal(&agent.call(FETCH, json!({})).await);
    assert!(stage.label(&agent).contains(&"integrity:none"));
}

#[tokio::test]
async fn what_comes_while_a_shared_store_cannot_be_read_counts_as_the_highest() {
    let stage = Setup::usual().on(&Memory::new(true)).open().await;
    stage.up().on("look", [store_fails(&stage, Fault::Read), Step::say("hi")]);
    let agent = stage.of_era(ERAS[1]);
    assert_eq!(text(&agent.call(LOOK, json!({})).await), "hi");
    let label = stage.label(&agent);
    assert!(label.contains(&"integrity:none") && label.contains(&"credentials"), "{label:?}");
}

#[tokio::test]
async fn a_read_that_fails_after_the_reply_came_does_not_lower_anything_on_one_node() {
    let stage = Setup::usual().open().await;
    stage.up().on("fetch", [store_fails(&stage, Fault::Read), Step::say("hi")]);
    let agent = stage.of_era(ERAS[1]);
    text(&agent.call(FETCH, json!({})).await);
    stage.store_fails(None);
    assert!(stage.label(&agent).contains(&"integrity:none"));
    assert_eq!(remediation(&agent.call(ACT, json!({})).await), "undisclosed");
}

#[tokio::test(start_paused = true)]
async fn what_no_decision_could_see_is_released_and_stored_when_the_store_is_back() {
    for fault in [Fault::Write, Fault::LostAnswer] {
        let stage = Setup::usual().open().await;
        stage.up().on("look", [store_fails(&stage, fault), Step::say("hi")]);
        let agent = stage.of_era(ERAS[1]);
        assert_eq!(text(&agent.call(LOOK, json!({})).await), "hi", "{fault:?}");
        let outcome = &stage.audit()[1];
        assert_eq!(outcome["outcome"], "delivered");
        let detail = "its label waits for the session store, which fails; no decision looks at it";
        assert_eq!(outcome["detail"], detail, "{fault:?}");
        stage.store_fails(None);
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(stage.label(&agent), ["integrity:tool", "source:system"], "{fault:?}");
    }
}

#[tokio::test]
async fn what_a_rule_could_see_is_not_released_while_the_store_fails() {
    let rule = json!({ "name": "after-looking", "effect": "block",
        "when": { "tool.id": ACT, "session.sources": { "contains": "system" } } });
    let stage = Setup::usual().rule(rule).open().await;
    stage.up().on("look", [store_fails(&stage, Fault::Write), Step::say("hi")]);
    let agent = stage.of_era(ERAS[1]);
    refusal(&agent.call(LOOK, json!({})).await);
    assert_eq!(stage.events(), ["allowed tools/call", "withheld"]);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_answer_lets_nothing_out() {
    // Before the decision nothing is sent.
    let stage = Setup::usual().open().await;
    let agent = stage.of_era(ERAS[1]);
    agent.send("tools/list", json!({})).await;
    stage.store_fails(Fault::Hang);
    let call = agent.start_call(ACT, json!({}));
    tokio::time::sleep(AGES).await;
    assert!(!call.is_over() && stage.up().journal().is_empty());
    call.cancel().await;
    assert!(stage.audit().is_empty(), "{:?}", stage.events());
    // Before the release nothing is released.
    let stage = Setup::usual().open().await;
    let agent = stage.of_era(ERAS[1]);
    stage.up().on("fetch", [store_fails(&stage, Fault::Hang), Step::say("hi")]);
    let call = agent.start_call(FETCH, json!({}));
    tokio::time::sleep(AGES).await;
    assert!(!call.is_over() && stage.up().runs("fetch") == 1);
    call.cancel().await;
    assert_eq!(stage.events(), ["allowed tools/call", "cancelled"]);
}

#[tokio::test]
async fn a_context_that_cannot_be_stored_counts_as_the_worst_and_nothing_is_done_on_it() {
    let stage = Setup::usual().open().await;
    let agent = stage.of_era(ERAS[1]);
    text(&agent.call(LOOK, json!({})).await);
    stage.store_fails(Fault::Write);
    let params = json!({ "name": ACT, "arguments": {}, "_meta": { "openWorldHint": true } });
    let answer = agent.send("tools/call", params.clone()).await.answer;
    is_outage(&answer);
    assert_eq!(stage.up().runs("act"), 0);
}

#[tokio::test]
async fn two_calls_whose_labels_cannot_be_stored_are_both_withheld() {
    let stage = Setup::usual().open().await;
    stage.up().on("fetch", [store_fails(&stage, Fault::Write), Step::say("hi")]);
    let agent = stage.of_era(ERAS[0]);
    let (one, two) = tokio::join!(agent.call(FETCH, json!({})), agent.call(FETCH, json!({})));
    for answer in [one, two] {
        assert!(refusal(&answer).contains("could not be labelled"), "{answer}");
    }
    stage.store_fails(None);
    text(&agent.call(ACT, json!({})).await);
    assert_eq!(stage.label(&agent), ["integrity:tool", "source:system"], "nothing of it was read");
}
