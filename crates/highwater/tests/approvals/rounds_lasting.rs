//! Rounds of approved calls (G25) over time and across the eras: what ends them, what they outlive, and that a person is
//! asked once whatever their client can do.

use std::sync::{Arc, Mutex};

use highwater_core::seal::{Purpose, Seal};
use highwater_store::Secret;
use highwater_testkit::client::{Era, Question, Reply, Request, Setup};
use serde_json::{Value, json};

use crate::killed::{Moment, killed, lines};
use crate::rounds::{Way, nobody_is_asked, on, question, receipts, refused, resumed, script, stage};
use crate::stage::{BRIEFLY, DELETE, HELD, Stage, WRITE, done};

/// The state with something of it changed, by somebody who has the key.
pub(crate) fn resealed(stage: &Stage, state: &Value, change: impl Fn(&mut Value, &mut Value)) -> Value {
    let text = std::fs::read_to_string(stage.gateway.home().data_dir().join("seal-key")).unwrap();
    let seal = Seal::new(&Secret::SealKey.key_bytes(text.trim()).unwrap()).unwrap();
    let mut outer: Value = seal.open(Purpose::RequestState, state.as_str().unwrap()).unwrap();
    let mut round: Value = seal.open(Purpose::Round, outer["round"].as_str().unwrap()).unwrap();
    change(&mut outer, &mut round);
    outer["round"] = json!(seal.close(Purpose::Round, &round).unwrap());
    json!(seal.close(Purpose::RequestState, &outer).unwrap())
}

#[tokio::test]
async fn g25_a_round_ends_with_its_time_and_is_held_against_the_call_once_more_inside() {
    let stage = stage(BRIEFLY, |_| ()).await;
    let client = Way::Native.client(&stage).await;
    let arguments = json!({ "path": "a" });
    let state = question(&Way::Native.begin(&stage, &client, &arguments).await);
    let now = u64::try_from(std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap();
    resealed(&stage, &state, |_, round| assert!(round["ends"].as_u64().unwrap() <= now + 600_000));
    for what in ["outer", "inner"] {
        let over = resealed(&stage, &state, |outer, round| match what {
            "outer" => outer["expires"] = json!(now - 1),
            _ => round["ends"] = json!(now - 1),
        });
        refused(&client.send(on(DELETE, &arguments, &over)).await.unwrap(), "expired");
    }
    let zeros = "0".repeat(64);
    for (member, value) in [("principal", json!("eve")), ("session", json!("s")), ("action", json!(zeros))] {
        let foreign = resealed(&stage, &state, |_, round| round[member] = value.clone());
        let answer = client.send(on(DELETE, &arguments, &foreign)).await.unwrap();
        assert_eq!(answer.error_code(), Some(-32602), "{member}: {}", answer.raw());
    }
    assert_eq!(resumed(&stage, "one"), 0);
    question(&client.send(on(DELETE, &arguments, &state)).await.unwrap());
}

#[tokio::test]
async fn g16_g25_a_round_outlives_the_gateway_and_not_the_definition() {
    let mut stage = stage(BRIEFLY, |_| ()).await;
    let (arguments, other) = (json!({ "path": "a" }), json!({ "path": "b" }));
    let client = Way::Native.client(&stage).await;
    let state = question(&Way::Native.begin(&stage, &client, &arguments).await);
    let pulled = question(&Way::Native.begin(&stage, &client, &other).await);
    drop(client);
    stage.gateway.kill().await.unwrap();
    stage.restart().await;
    let client = Way::Native.client(&stage).await;
    let next = question(&client.send(on(DELETE, &arguments, &state)).await.unwrap());
    drop(client);
    stage.gateway.kill().await.unwrap();
    let file = stage.gateway.home().path().join("script.json");
    std::fs::write(file, script("Changes everything.").to_string()).unwrap();
    stage.restart().await;
    let client = Way::Native.client(&stage).await;
    refused(&client.send(on(DELETE, &arguments, &state)).await.unwrap(), "call again");
    for (arguments, state) in [(&arguments, &next), (&other, &pulled)] {
        refused(&client.send(on(DELETE, arguments, state)).await.unwrap(), "changed");
    }
    assert_eq!((resumed(&stage, "one"), resumed(&stage, "two")), (1, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g25_killed_at_each_step_of_a_round_it_goes_on_at_most_once() {
    let arguments = json!({ "path": "wanted" });
    // Once through, to learn how many steps there are.
    let undisturbed = stage(BRIEFLY, |_| ()).await;
    let client = Way::Native.client(&undisturbed).await;
    let state = question(&Way::Native.begin(&undisturbed, &client, &arguments).await);
    let audit = undisturbed.gateway.home().data_dir().join("audit");
    let begun = lines(&audit);
    question(&client.send(on(DELETE, &arguments, &state)).await.unwrap());
    let steps = lines(&audit) - begun;
    assert!(steps >= 3, "{steps}");
    drop((client, undisturbed));
    let (mut before, mut after) = (0, 0);
    // One before the round is sent, two after the server has it, and whatever is between.
    let moments = [Moment::Unsent].into_iter().chain((0..=steps).map(Moment::Recorded));
    for moment in moments.chain([Moment::Departed; 2]) {
        let mut stage = stage(BRIEFLY, |_| ()).await;
        let client = Way::Native.client(&stage).await;
        let state = question(&Way::Native.begin(&stage, &client, &arguments).await);
        let going = async |_: &Stage| {
            client.send(on(DELETE, &arguments, &state)).await.unwrap();
        };
        killed(&mut stage, r#"\"requestState\":\"one\""#, moment, going).await;
        drop(client);
        let at_kill = resumed(&stage, "one");
        stage.restart().await;
        let client = Way::Native.client(&stage).await;
        for _ in 0..2 {
            let answer = client.send(on(DELETE, &arguments, &state)).await.unwrap();
            if answer.is_tool_error() {
                refused(&answer, "taken already");
            } else {
                question(&answer);
            }
        }
        let ran = resumed(&stage, "one");
        assert!(ran <= 1, "{moment:?}: {at_kill} times before the kill and {ran} in the end");
        before += at_kill;
        after += ran - at_kill;
    }
    assert!(before >= 1 && after >= 1, "the kills were not spread over the steps: {before} {after}");
}

/// A client that answers the server's questions, and counts those of the gateway that ask for a yes.
fn answering(stage: &Stage, era: Era, capabilities: Value, ours: &Arc<Mutex<usize>>) -> Setup {
    let ours = Arc::clone(ours);
    stage.setup(era).capabilities(capabilities).answering(move |question: &Question| {
        let params = question.json().unwrap();
        if params["message"] == "Who?" {
            return Reply::accept(json!({ "name": "Ada" }));
        }
        *ours.lock().unwrap() += 1;
        Reply::accept(json!({ "allow": true }))
    })
}

#[tokio::test]
async fn g25_a_client_of_the_older_era_answers_a_modern_server_and_its_person_signs_once() {
    // What the contract asks for and what a rule asks for: rules are asked about answers, too.
    let rule = json!({ "name": "always", "effect": "passkey", "when": { "tool.name": "delete" } });
    for with_rule in [false, true] {
        let stage = stage(HELD, |config| {
            if with_rule {
                config["rules"].as_array_mut().unwrap().push(rule.clone());
            }
        })
        .await;
        let ours = Arc::default();
        let forms = json!({ "elicitation": { "form": {} } });
        let client = answering(&stage, Era::Legacy, forms, &ours).connect().await.unwrap();
        let call = client.call(DELETE, json!({ "path": "a" }));
        let signing = async {
            let request = stage.pending().await;
            stage.person.sign(request["id"].as_str().unwrap(), &stage.passkey).await.0
        };
        let (answer, status) = tokio::join!(call, signing);
        assert_eq!(status, 200);
        done(&answer.unwrap());
        assert_eq!((resumed(&stage, "one"), resumed(&stage, "two"), receipts(&stage).await), (1, 1, 1));
        nobody_is_asked(&stage).await;
        assert_eq!(*ours.lock().unwrap(), 0, "no form serves a passkey");
    }
}

#[tokio::test]
async fn g25_a_confirmation_is_asked_for_once_and_not_in_every_round() {
    let rule = json!({ "name": "always", "effect": "confirm", "when": { "tool.name": "write" } });
    for era in [Era::Legacy, Era::Modern] {
        let stage = stage(HELD, |config| {
            config["rules"].as_array_mut().unwrap().push(rule.clone());
        })
        .await;
        let ours = Arc::default();
        let forms = json!({ "elicitation": { "form": {} } });
        let client = answering(&stage, era, forms, &ours).connect().await.unwrap();
        done(&client.call(WRITE, json!({ "path": "a" })).await.unwrap());
        assert_eq!(*ours.lock().unwrap(), 1, "{era:?}");
        assert_eq!((resumed(&stage, "one"), resumed(&stage, "two")), (1, 1), "{era:?}");
        // By the button.
        let client = answering(&stage, era, json!({}), &ours).connect().await.unwrap();
        let call = client.send(Request::call(WRITE, &json!({ "path": "b" })).once());
        let pressing = async {
            let request = stage.pending().await;
            stage.person.confirm(request["id"].as_str().unwrap(), None).await.0
        };
        let (answer, status) = tokio::join!(call, pressing);
        assert_eq!(status, 200);
        if era == Era::Modern {
            let one = question(&answer.unwrap());
            let two = question(&client.send(on(WRITE, &json!({ "path": "b" }), &one)).await.unwrap());
            done(&client.send(on(WRITE, &json!({ "path": "b" }), &two)).await.unwrap());
            assert_eq!((resumed(&stage, "one"), resumed(&stage, "two")), (2, 2), "{era:?}");
        }
        nobody_is_asked(&stage).await;
    }
}

#[tokio::test]
async fn g25_what_the_asking_server_wrote_makes_no_new_question_of_the_call_it_asks_about() {
    let stage = stage(HELD, |config| {
        let server = &mut config["servers"]["files"];
        server["trust"] = json!({ "server_trust": "none", "verified": true });
        let heavy = script("Changes things.").to_string().replace("benign", "consequential");
        std::fs::write(server["args"][1].as_str().unwrap(), heavy).unwrap();
        config["flow"] = json!("balanced");
    })
    .await;
    let client = Way::Held.client(&stage).await;
    let arguments = json!({ "path": "a" });
    let one = question(&Way::Held.begin(&stage, &client, &arguments).await);
    let two = question(&client.send(on(DELETE, &arguments, &one)).await.unwrap());
    done(&client.send(on(DELETE, &arguments, &two)).await.unwrap());
    assert_eq!(receipts(&stage).await, 1);
    // For a call that is not under way it is one.
    let (call, asks) = tokio::join!(client.call(DELETE, json!({ "path": "b" })), async {
        let request = stage.pending().await;
        let id = request["id"].as_str().unwrap();
        let (status, said) = stage.api(http::Method::POST, &format!("{id}/deny"), Some(&json!({}))).await;
        assert!(status < 300, "{status} {said}");
        request["asks"].to_string()
    });
    assert!(call.unwrap().is_tool_error());
    assert!(asks.contains("flow.act"), "{asks}");
}
