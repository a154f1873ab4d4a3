//! What a search says of each tool is what a call then comes to, over a random sample of sessions, tools and policies.

use highwater_testkit::client::{Client, Era};
use serde_json::{Value, json};

use crate::stage::{ACT, LOOK, PRIVATE, SEND, STRANGE, Stage};

/// Tools that answer at once: the labelled ones and some of which nobody says anything.
const TOOLS: [&str; 7] =
    [ACT, LOOK, PRIVATE, SEND, STRANGE, "up__test_embedded_resource", "up__test_tool_with_logging"];

/// How many calls are made under each policy and in each era.
const CALLS: usize = 24;

/// How many calls of a session are made before the next begins.
const SESSION: usize = 6;

/// Numbers that look random and are the same on each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

fn decisions(stage: &Stage) -> Vec<Value> {
    let folder = stage.gateway.home().data_dir().join("audit");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let text: String = files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
    let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    events.filter(|event| event["event"] == "decision").collect()
}

/// Everything that is found, by name.
async fn found(client: &Client) -> Vec<Value> {
    let answer = client.call("retrieve_tools", json!({ "limit": 100 })).await.unwrap();
    answer.at("/result/structuredContent/tools").as_array().unwrap().clone()
}

/// What a decision came to.
fn status(decided: &Value) -> &'static str {
    match decided["effect"].as_str().unwrap() {
        "allow" => "callable_now",
        "confirm" => "needs_confirmation",
        "passkey" => "needs_passkey",
        _ => "blocked",
    }
}

async fn agree(more: Value, seed: u64) -> [usize; 4] {
    let stage = Stage::new(more.clone()).await;
    let mut dice = Dice(seed);
    let mut seen = [0; 4];
    for era in [Era::Legacy, Era::Modern] {
        let mut client = stage.client(era).await;
        for turn in 0..CALLS {
            if turn % SESSION == 0 {
                client = stage.client(era).await;
            }
            let hits = found(&client).await;
            let tool = TOOLS[dice.below(TOOLS.len())];
            let hit =
                hits.iter().find(|hit| hit["name"] == tool).unwrap_or_else(|| panic!("{tool} is found"));
            let described =
                client.call("describe_tool", json!({ "name": tool, "arguments": {} })).await.unwrap();
            let before = decisions(&stage).len();
            let variant = hit["call_with"].as_str().unwrap();
            let answer = client.call(variant, json!({ "name": tool, "arguments": {} })).await.unwrap();
            let decided = decisions(&stage)[before].clone();
            let story = format!("{tool} under {more} in turn {turn} ({era:?}): {hit} but {decided}");
            assert_eq!(decided["tool"], tool, "{story}");
            let came = status(&decided);
            assert_eq!(hit["status"], came, "{story}");
            assert_eq!(described.at("/result/structuredContent/status"), came, "{story}");
            assert_eq!(described.at("/result/structuredContent/would_taint"), hit["would_taint"], "{story}");
            let called = answer.error_code().is_none() && !answer.is_tool_error();
            // One of the tools fails by itself.
            assert!(called == (came == "callable_now") || tool == SEND, "{story}: {}", answer.raw());
            let order = ["callable_now", "needs_confirmation", "needs_passkey", "blocked"];
            seen[order.iter().position(|word| *word == came).unwrap()] += 1;
            // Its reply embeds nothing of others, so what it was said to bring is all it brings.
            if called && tool == LOOK && hit["would_taint"] == json!(false) {
                let after = found(&client).await;
                let states =
                    |hits: &[Value]| -> Vec<Value> { hits.iter().map(|hit| hit["status"].clone()).collect() };
                assert_eq!(states(&after), states(&hits), "nothing was taken in: {story}");
            }
        }
    }
    seen
}

#[tokio::test]
async fn what_is_said_of_a_tool_is_what_a_call_comes_to() {
    let rule =
        |effect: &str, when: Value| json!({ "name": format!("r-{effect}"), "effect": effect, "when": when });
    let rules = json!([
        rule("confirm", json!({ "tool.id": LOOK, "session.untrusted": true })),
        rule("block", json!({ "tool.id": PRIVATE, "session.untrusted": true })),
    ]);
    let mut seen = [0; 4];
    for (seed, more) in [
        (1, json!({ "flow": "balanced" })),
        (2, json!({ "flow": "strict" })),
        (3, json!({ "flow": "balanced", "rules": rules })),
        (4, json!({ "flow": "observe" })),
    ] {
        let mut more = more;
        more["expose"] = json!("search");
        // Sessions that begin clean: the sample holds every answer.
        more["partition"] = json!("session");
        let these = agree(more, seed).await;
        seen.iter_mut().zip(these).for_each(|(sum, one)| *sum += one);
    }
    let [callable, asked, signed, blocked] = seen;
    assert!(
        callable > 20 && asked > 5 && signed > 0 && blocked > 5,
        "the sample holds every answer: {seen:?}"
    );
}

#[tokio::test]
async fn arguments_make_an_answer_milder_and_never_stricter() {
    let cases =
        json!([{ "when": { "arguments.where": "here" }, "inputMetadata": { "destination": "ephemeral" } }]);
    let anywhere = json!({ "destination": ["public", "ephemeral"] });
    let labels = json!({ "test_error_handling": { "inputMetadata": anywhere, "cases": cases } });
    let stage =
        Stage::new(json!({ "expose": "both", "flow": "strict", "servers": { "up": { "labels": labels } } }))
            .await;
    let client = stage.client(Era::Modern).await;
    client.call(PRIVATE, json!({})).await.unwrap();
    let say = async |arguments: Option<Value>| {
        let mut asked = json!({ "name": SEND });
        if let Some(arguments) = arguments {
            asked["arguments"] = arguments;
        }
        client.call("describe_tool", asked).await.unwrap().at("/result/structuredContent/status")
    };
    assert_eq!(say(None).await, "blocked", "private data to the public");
    assert_eq!(say(Some(json!({ "where": "there" }))).await, "blocked");
    assert_eq!(say(Some(json!({ "where": "here" }))).await, "callable_now");
    assert_eq!(stage.runs(SEND), 0, "nothing is called");
}
