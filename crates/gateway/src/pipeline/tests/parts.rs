//! Parts of the road by themselves: the router, the judge, the recorder, the sessions and the seals.

use futures_util::FutureExt;
use highwater_audit::Outcome;
use highwater_core::action::ActionKind;
use highwater_core::decide::Effect;
use highwater_core::label::Label;
use highwater_core::seal::Purpose;
use highwater_store::{Declassified, Fault, Memory};
use serde_json::{Value, json};

use super::{
    ACT, Agent, ClientOptions, ERAS, FETCH, LOOK, Setup, Stage, forms, pages, refusal, remediation, text,
};
use crate::pipeline::judge::Settled;
use crate::pipeline::permitted::Granted;
use crate::pipeline::proposed::Proposed;
use crate::pipeline::record::End;

/// A call of a tool, as far as it comes before anybody has judged it.
async fn proposed(stage: &Stage, agent: &Agent, tool: &str) -> Proposed {
    let road = &stage.gateway.road;
    let (arrival, _) = agent.arrival("tools/call", &json!({ "name": tool, "arguments": { "a": 1 } }), true);
    let routed = road.router.route(&arrival, None).await.unwrap();
    road.judge.gather(&arrival, routed).await
}

/// A call that may be made.
async fn granted(stage: &Stage, tool: &str) -> (Proposed, Granted) {
    let proposed = proposed(stage, &stage.of_era(ERAS[1]), tool).await;
    match stage.gateway.road.judge.judge(proposed).await.unwrap() {
        Settled::Granted(proposed, granted) => (proposed, granted),
        Settled::Open(_, _) => panic!("no approval is needed"),
    }
}

#[tokio::test]
async fn the_router_puts_an_action_into_its_servers_words_and_changes_nothing_else() {
    let stage = Setup::usual().open().await;
    let params = json!({ "name": LOOK, "arguments": { "name": LOOK }, "other": [LOOK] });
    let (arrival, _) = stage.of_era(ERAS[1]).arrival("tools/call", &params, true);
    let routed = stage.gateway.road.router.route(&arrival, Some("theirs")).await.unwrap();
    let (action, tool) = (&routed.action, routed.route.tool.as_ref().unwrap());
    assert_eq!(
        (action.kind(), action.upstream().as_str(), &**action.target()),
        (ActionKind::CallTool, "up", "look")
    );
    assert_eq!((&*tool.shown, &*tool.own), (LOOK, "look"));
    let sent: Value = serde_json::from_str(action.params()).unwrap();
    let expected =
        json!({ "name": "look", "arguments": { "name": LOOK }, "other": [LOOK], "requestState": "theirs" });
    assert_eq!(sent, expected);
    assert!(stage.up().journal().is_empty() && stage.audit().is_empty());
}

#[tokio::test]
async fn the_judge_gives_every_decision_a_name_of_its_own_and_judges_by_the_label_of_the_moment() {
    let stage = Setup::usual().open().await;
    let agent = stage.of_era(ERAS[1]);
    let (one, two) = (proposed(&stage, &agent, ACT).await, proposed(&stage, &agent, ACT).await);
    assert_ne!(one.decision, two.decision);
    assert_eq!(one.before.label, Label::bottom());
    text(&agent.call(FETCH, json!({})).await);
    // What was gathered before is judged by what was known then, unless it is read again.
    let judge = &stage.gateway.road.judge;
    assert!(matches!(judge.judge(one).await, Ok(Settled::Granted(_, _))));
    let again = stage.gateway.road.sessions.read_again(two).await;
    match judge.judge(again).await {
        Ok(Settled::Open(_, escalation)) => assert_eq!(escalation.grade(), Effect::Confirm),
        Ok(Settled::Granted(_, _)) | Err(_) => panic!("a person is asked"),
    }
}

#[tokio::test]
async fn the_judge_renews_what_it_judges_by_unless_the_tool_is_another() {
    let stage = Setup::usual().open().await;
    let agent = stage.of_era(ERAS[1]);
    let judge = &stage.gateway.road.judge;
    let (one, two) = (proposed(&stage, &agent, ACT).await, proposed(&stage, &agent, ACT).await);
    stage.reload(|config| {
        config["rules"] = json!([{ "name": "no", "effect": "block", "when": { "tool.id": ACT } }]);
    });
    let renewed = judge.renewed(one).unwrap_or_else(|refusal| panic!("{refusal:?}"));
    assert!(judge.judge(renewed).await.is_err(), "the new rule counts");
    stage.up().tools.lock().unwrap()[3]["annotations"]["inputMetadata"]["destination"] = json!("public");
    stage.restock("up").await;
    assert!(judge.renewed(two).is_err(), "it goes elsewhere now");
}

#[tokio::test]
async fn a_page_of_the_record_is_closed_once_and_by_itself_if_need_be() {
    let stage = Setup::usual().open().await;
    let recorder = &stage.gateway.road.recorder;
    let (one, permit) = granted(&stage, LOOK).await;
    let mut page = recorder.permit(&one, &permit).unwrap();
    page.settle(Outcome::Delivered, End::default()).unwrap();
    drop(page);
    assert_eq!(stage.events(), ["allowed tools/call", "delivered"]);
    drop(recorder.departure(&one, &permit).await.unwrap());
    assert_eq!(stage.events()[2..], ["allowed tools/call", "cancelled"]);
    // Given up before it is written: both are on record all the same, in their order.
    let unpolled = stage.events().len();
    let mut departing = Box::pin(recorder.departure(&one, &permit));
    assert!((&mut departing).now_or_never().is_none());
    drop(departing);
    assert_eq!(stage.events()[unpolled..], ["allowed tools/call", "cancelled"]);
}

#[tokio::test]
async fn a_decision_that_is_not_on_record_owes_no_end() {
    let stage = Setup::usual().open().await;
    let recorder = &stage.gateway.road.recorder;
    let (call, permit) = granted(&stage, LOOK).await;
    stage.log_fails();
    assert!(recorder.departure(&call, &permit).await.is_err());
    assert!(recorder.permit(&call, &permit).is_err());
    stage.log_works();
    assert!(stage.events().is_empty(), "{:?}", stage.events());
}

#[tokio::test]
async fn a_session_takes_a_label_in_once_and_says_whether_that_was_news() {
    let stage = Setup::usual().open().await;
    let agent = stage.of_era(ERAS[1]);
    let (sessions, session) = (&stage.gateway.road.sessions, agent.session());
    let label = Label::bottom().with_open_world();
    for raised in [true, false] {
        let absorbed =
            sessions.absorb(session, &label, false).await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((absorbed.raised, absorbed.joined.covers(&label)), (raised, true));
    }
    assert_eq!(stage.label(&agent), ["integrity:none", "openWorld"]);
    // A person lowers it, and it is news again.
    let lowered = session.declassify(0, &Label::bottom(), "op", "I know it").await;
    assert!(matches!(lowered, Ok(Declassified::Done(_))), "{lowered:?}");
    assert!(sessions.absorb(session, &label, false).await.is_ok_and(|absorbed| absorbed.raised));
}

#[tokio::test]
async fn a_label_is_not_lowered_while_something_that_bears_it_is_being_released() {
    let stage = Setup::usual().open().await;
    let agent = stage.of_era(ERAS[1]);
    let (sessions, session) = (&stage.gateway.road.sessions, agent.session());
    let label = Label::bottom().with_open_world();
    let absorbed = sessions.absorb(session, &label, false).await.unwrap_or_else(|error| panic!("{error}"));
    let nothing = Label::bottom();
    let mut lowering = Box::pin(session.declassify(0, &nothing, "op", "I know it"));
    tokio::task::yield_now().await;
    assert!((&mut lowering).now_or_never().is_none());
    assert_eq!(stage.label(&agent), ["integrity:none", "openWorld"]);
    drop(absorbed);
    assert!(matches!(lowering.await, Ok(Declassified::Done(_))));
    assert!(stage.label(&agent).is_empty());
}

#[tokio::test]
async fn a_session_that_cannot_be_read_is_taken_for_the_worst_and_only_where_it_must_be_read() {
    for shared in [false, true] {
        let stage = Setup::usual().on(&Memory::new(shared)).open().await;
        let agent = stage.of_era(ERAS[1]);
        let (sessions, session) = (&stage.gateway.road.sessions, agent.session());
        stage.store_fails(Fault::Read);
        assert_eq!(sessions.known(session).await.label, Label::top());
        stage.store_fails(None);
        assert_eq!(sessions.known(session).await.label, Label::bottom());
        stage.store_fails(Fault::Read);
        assert_eq!(sessions.known(session).await.label, Label::bottom(), "a copy is known");
        let worst = sessions.current(session).await.label == Label::top();
        assert_eq!(worst, shared, "where others write, a copy is no truth");
    }
}

/// A state of ours with one member changed, sealed again by who has the key.
fn resealed(stage: &Stage, asked: &Value, change: impl FnOnce(&mut Value)) -> Value {
    let seal = &stage.gateway.road.seals.seal;
    let text = asked["result"]["requestState"].as_str().unwrap();
    let mut state: Value = seal.open(Purpose::RequestState, text).unwrap();
    change(&mut state);
    json!({ "result": { "requestState": seal.close(Purpose::RequestState, &state).unwrap() } })
}

#[tokio::test]
async fn everything_that_a_state_is_bound_to_is_looked_at() {
    let rule = json!({ "name": "ask", "effect": "confirm", "when": { "tool.id": ACT } });
    let stage = Setup::usual().rule(rule).open().await;
    let agent = stage.modern(forms());
    let params = json!({ "name": ACT, "arguments": {} });
    let asked = agent.send("tools/call", params.clone()).await.answer;
    let answers = json!({ "highwater_approval": super::yes() });
    for bound in ["principal", "session", "method", "params"] {
        let other = resealed(&stage, &asked, |state| {
            assert!(state[bound].is_string(), "{state}");
            state[bound] = json!("other");
        });
        let answer = agent.answer("tools/call", &params, &other, answers.clone()).await;
        assert_eq!(answer["error"]["code"], -32602, "{bound}: {answer}");
    }
    let over = resealed(&stage, &asked, |state| state["expires"] = json!(1));
    assert!(refusal(&agent.answer("tools/call", &params, &over, answers.clone()).await).contains("expired"));
    // What was sealed for something else is no state.
    let seal = &stage.gateway.road.seals.seal;
    let task = seal.close(Purpose::TaskId, &("agent", "up", "t", None::<String>)).unwrap();
    let task = json!({ "result": { "requestState": task.replacen("hwt1.", "hw2.", 1) } });
    let answer = agent.answer("tools/call", &params, &task, answers.clone()).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert!(stage.up().journal().is_empty());
    let same = resealed(&stage, &asked, |_| ());
    text(&agent.answer("tools/call", &params, &same, answers).await);
}

#[tokio::test]
async fn no_person_is_asked_about_an_unattended_request() {
    let rule = json!({ "name": "ask", "effect": "confirm", "when": { "tool.id": ACT } });
    let stage = Setup::usual().rule(rule).with_page().open().await;
    for capabilities in [json!({}), forms(), pages()] {
        for era in ERAS {
            let agent = stage.agent(ClientOptions {
                era,
                capabilities: capabilities.clone(),
                ..ClientOptions::default()
            });
            let params = json!({ "name": ACT, "arguments": {} });
            let (arrival, mut heard) = agent.arrival("tools/call", &params, false);
            let answer = stage.gateway.act(&arrival).await;
            assert_eq!(remediation(&serde_json::from_slice(&answer.bytes).unwrap()), "undisclosed");
            assert!(heard.try_recv().is_err());
        }
    }
    assert!(stage.gateway.approval_service().unwrap().list(true, 8).await.unwrap().is_empty());
    assert!(stage.up().journal().is_empty());
}
