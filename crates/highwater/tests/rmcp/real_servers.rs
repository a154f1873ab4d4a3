//! The SDK's client in front of four real servers, two of them of the legacy era and two of both.

use std::path::{Path, PathBuf};

use rmcp::model::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::client::{Client, Heard, answered_error, model, soon, text};
use super::stage::{Mode, Stage, Way, real_servers, repository};

/// A gateway with the four servers, and what they work on.
struct Quay {
    stage: Stage,
    folder: TempDir,
}

impl Quay {
    async fn open(way: Way) -> Self {
        let folder = tempfile::tempdir().unwrap();
        repository(&folder.path().join("repository"));
        let config = real_servers(folder.path());
        let stage = match way {
            Way::Http => Stage::served(&config).await,
            Way::Stdio => Stage::empty(&config),
        };
        Self { stage, folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// One gateway for all of it: the servers take seconds to start.
async fn the_whole_story(way: Way, mode: Mode) {
    let quay = Quay::open(way).await;
    let client = quay.stage.client(way, mode).await;
    every_server_lists_its_tools(&client).await;
    every_server_answers(&client, &quay).await;
    every_server_refuses_in_its_own_words(&client, &quay).await;
    resources_can_be_read(&client).await;
    a_subscriber_hears_of_updates(&client).await;
    prompts_can_be_had(&client).await;
    progress_comes_in_order(&client).await;
    a_cancelled_call_ends_and_the_next_one_works(&client).await;
    questions_in_mid_call_are_answered(&client).await;
    calls_at_once_keep_their_answers_apart(&client).await;
    client.leave().await;
}

#[tokio::test]
async fn over_http_with_initialize() {
    the_whole_story(Way::Http, Mode::Initialize).await;
}

#[tokio::test]
async fn over_http_with_discover() {
    the_whole_story(Way::Http, Mode::Discover).await;
}

#[tokio::test]
async fn over_stdio_with_initialize() {
    the_whole_story(Way::Stdio, Mode::Initialize).await;
}

#[tokio::test]
async fn over_stdio_with_discover() {
    the_whole_story(Way::Stdio, Mode::Discover).await;
}

async fn every_server_lists_its_tools(client: &Client) {
    // A server that starts slowly is announced when it is there.
    let mut ears = client.listen_for_tools().await;
    let has_all = |tools: &[Tool]| {
        let has = |server: &str| tools.iter().any(|tool| tool.name.starts_with(server));
        ["everything__", "filesystem__", "git__", "time__"].into_iter().all(has)
    };
    let tools = client.tools_when(&mut ears, has_all).await;
    let listed =
        |server: &str| tools.iter().filter(|tool| tool.name.starts_with(&format!("{server}__"))).count();
    // As the servers list them themselves; `everything` offers more to clients that can do more.
    assert!(listed("everything") >= 13, "{}", listed("everything"));
    assert_eq!((listed("filesystem"), listed("git"), listed("time")), (14, 12, 2));
    assert_eq!(tools.len(), ["everything", "filesystem", "git", "time"].map(listed).iter().sum::<usize>());
    let echo = tools.iter().find(|tool| tool.name == "everything__echo").unwrap();
    assert_eq!(echo.title.as_deref(), Some("Echo Tool"));
    assert_eq!(echo.annotations.as_ref().unwrap().read_only_hint, Some(true));
    assert_eq!(echo.input_schema["required"], json!(["message"]));
}

async fn every_server_answers(client: &Client, quay: &Quay) {
    let echoed = client.call("everything__echo", json!({ "message": "höher als die Flut ≈ 🌊" })).await;
    let content = serde_json::to_value(&echoed.content).unwrap();
    assert_eq!(content, json!([{ "type": "text", "text": "Echo: höher als die Flut ≈ 🌊" }]));

    let weather = client.call("everything__get-structured-content", json!({ "location": "Chicago" })).await;
    assert_eq!(weather.structured_content.as_ref().unwrap()["temperature"], 36);

    let image = client.call("everything__get-tiny-image", json!({})).await;
    let is_png =
        |block: &ContentBlock| matches!(block, ContentBlock::Image(image) if image.mime_type == "image/png");
    assert!(image.content.iter().any(is_png), "{:?}", image.content);

    let file = quay.path("written.txt");
    client.call("filesystem__write_file", json!({ "path": file, "content": "Zeile 1\nZeile 2\n" })).await;
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "Zeile 1\nZeile 2\n");
    let read = client.call("filesystem__read_text_file", json!({ "path": file })).await;
    assert_eq!(text(&read), "Zeile 1\nZeile 2\n");

    let arguments = json!({ "repo_path": quay.path("repository"), "max_count": 1 });
    let log = text(&client.call("git__git_log", arguments).await);
    assert!(log.contains("Lay the keel") && log.contains("Shipwright"), "{log}");

    let arguments = json!({ "source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo" });
    let converted = text(&client.call("time__convert_time", arguments).await);
    let converted: Value = serde_json::from_str(&converted).unwrap();
    assert_eq!(converted["time_difference"], "+9.0h");
}

async fn every_server_refuses_in_its_own_words(client: &Client, quay: &Quay) {
    let outside = Path::new("/etc/hostname");
    let nowhere = quay.path("repository/nowhere");
    for (tool, arguments, words) in [
        ("everything__get-sum", json!({ "a": "many", "b": 2 }), "expected number"),
        ("filesystem__read_text_file", json!({ "path": outside }), "Access denied"),
        ("git__git_status", json!({ "repo_path": nowhere }), "nowhere"),
        ("time__get_current_time", json!({ "timezone": "Nowhere/Atlantis" }), "Atlantis"),
    ] {
        let refused = client.call(tool, arguments).await;
        assert_eq!(refused.is_error, Some(true), "{tool}: {refused:?}");
        assert!(text(&refused).contains(words), "{tool}: {}", text(&refused));
    }
    let unknown = answered_error(client.try_call("everything__no-such-tool", json!({})).await);
    assert!(unknown.message.contains("everything__no-such-tool"), "{unknown:?}");
    let unknown = answered_error(client.try_call("nobody__echo", json!({})).await);
    assert!(unknown.message.contains("nobody__echo"), "{unknown:?}");
}

/// The URI under which the gateway lists a document of `everything`.
async fn features(client: &Client) -> String {
    let resources = soon("resources/list", client.service.list_all_resources()).await.unwrap();
    let features = resources.iter().find(|resource| resource.name.ends_with("features.md"));
    features.unwrap_or_else(|| panic!("{resources:?}")).uri.clone()
}

async fn resources_can_be_read(client: &Client) {
    let uri = features(client).await;
    let document = client.read(&uri).await;
    assert_eq!(
        (document["uri"].as_str(), document["mimeType"].as_str()),
        (Some(&*uri), Some("text/markdown"))
    );
    assert!(document["text"].as_str().unwrap().contains("trigger-long-running-operation"));

    let templates = soon("templates", client.service.list_all_resource_templates()).await.unwrap();
    let template = templates.iter().find(|each| each.uri_template.contains("resource/dynamic/text")).unwrap();
    let read = client.read(&template.uri_template.replace("{resourceId}", "7")).await;
    assert!(read["text"].as_str().unwrap().contains("Resource 7: This is a plaintext resource"), "{read}");

    let links = client.call("everything__get-resource-links", json!({ "count": 2 })).await;
    let links = links.content.iter().filter_map(|block| match block {
        ContentBlock::ResourceLink(link) => Some(link.uri.as_str()),
        _ => None,
    });
    let links: Vec<&str> = links.collect();
    assert_eq!(links.len(), 2, "{links:?}");
    let read = client.read(links[1]).await;
    assert!(read["text"].as_str().unwrap().contains("Resource 2"), "{read}");

    let nothing = ReadResourceRequestParams::new(uri.replace("features.md", "nothing.md"));
    answered_error(soon("the read", client.service.read_resource(nothing)).await);
}

async fn a_subscriber_hears_of_updates(client: &Client) {
    let uri = features(client).await;
    let toggle = async |expected: &str| {
        let toggled = text(&client.call("everything__toggle-subscriber-updates", json!({})).await);
        assert!(toggled.contains(expected), "{toggled}");
    };
    if client.is_modern() {
        let filter = SubscriptionFilter::builder().resource_subscriptions([uri.clone()]).build();
        let mut subscription = soon("listening", client.service.listen(filter)).await.unwrap();
        toggle("Started").await;
        let told = soon("the update", subscription.next()).await.unwrap();
        let Some(ServerNotification::ResourceUpdatedNotification(told)) = told else { panic!("{told:?}") };
        assert_eq!(told.params.uri, uri);
        toggle("Stopped").await;
        subscription.cancel().await.unwrap();
    } else {
        let watch = client.service.subscribe(SubscribeRequestParams::new(uri.clone()));
        soon("subscribing", watch).await.unwrap();
        toggle("Started").await;
        client.hears("the update", |heard| (heard == Heard::Updated(uri.clone())).then_some(())).await;
        toggle("Stopped").await;
        let leave = client.service.unsubscribe(UnsubscribeRequestParams::new(uri));
        soon("unsubscribing", leave).await.unwrap();
    }
}

async fn prompts_can_be_had(client: &Client) {
    let prompts = soon("prompts/list", client.service.list_all_prompts()).await.unwrap();
    let names: Vec<&str> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
    assert!(names.contains(&"everything__args-prompt"), "{names:?}");
    let arguments: JsonObject = model(json!({ "city": "Hamburg", "state": "HH" }));
    let params = GetPromptRequestParams::new("everything__args-prompt").with_arguments(arguments);
    let got = soon("the prompt", client.service.get_prompt(params)).await.unwrap();
    let message = serde_json::to_value(&got.messages[0]).unwrap();
    assert_eq!(message["content"]["text"], "What's weather in Hamburg, HH?");

    let missing = client.service.get_prompt(GetPromptRequestParams::new("everything__args-prompt"));
    answered_error(soon("the prompt", missing).await);

    let context: CompletionContext = model(json!({ "arguments": { "department": "Sales" } }));
    let name = "everything__completable-prompt";
    let completed = client.service.complete_prompt_argument(name, "name", "", Some(context));
    assert_eq!(soon("the completion", completed).await.unwrap().values, ["David", "Eve", "Frank"]);
}

async fn progress_comes_in_order(client: &Client) {
    let arguments = json!({ "duration": 0.3, "steps": 3 });
    let call = client.begin("everything__trigger-long-running-operation", arguments).await;
    for step in [1.0, 2.0, 3.0] {
        let (at, total, _) = client.hears_progress(&call).await;
        assert_eq!((at, total), (step, Some(3.0)));
    }
    let done = text(&client.finish(call).await);
    assert!(done.contains("Steps: 3"), "{done}");
}

async fn a_cancelled_call_ends_and_the_next_one_works(client: &Client) {
    let arguments = json!({ "duration": 20, "steps": 200 });
    let call = client.begin("everything__trigger-long-running-operation", arguments).await;
    client.hears_progress(&call).await;
    call.cancel(Some("enough".to_owned())).await.unwrap();
    assert_eq!(
        text(&client.call("everything__echo", json!({ "message": "still here" })).await),
        "Echo: still here"
    );
}

async fn questions_in_mid_call_are_answered(client: &Client) {
    client.will_answer(json!({ "action": "accept", "content": {
        "name": "Ada Lovelace", "check": true, "email": "ada@example.com", "integer": 7,
    } }));
    let answered = text(&client.call("everything__trigger-elicitation-request", json!({})).await);
    assert!(answered.contains("Ada Lovelace"), "{answered}");
    let asked = client.asked();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(asked[0]["requestedSchema"]["properties"]["integer"]["maximum"], 100);

    client.will_answer(json!({ "action": "decline" }));
    let declined = text(&client.call("everything__trigger-elicitation-request", json!({})).await);
    assert!(declined.contains("declined"), "{declined}");
    client.asked();

    let arguments = json!({ "prompt": "count the boats", "maxTokens": 33 });
    let sampled = text(&client.call("everything__trigger-sampling-request", arguments).await);
    assert!(sampled.contains("Seven boats.") && sampled.contains("tide-1"), "{sampled}");
    let asked = client.asked();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(asked[0]["maxTokens"], 33);
    assert!(asked[0]["messages"].to_string().contains("count the boats"), "{asked:?}");
}

async fn calls_at_once_keep_their_answers_apart(client: &Client) {
    let calls = (0..20).map(|at| async move {
        let echoed = client.call("everything__echo", json!({ "message": format!("word {at}") })).await;
        assert_eq!(text(&echoed), format!("Echo: word {at}"));
    });
    futures_util::future::join_all(calls).await;
}
