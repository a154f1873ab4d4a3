//! The SDK's client in front of the SDK's server: every way and era on either side of the gateway.

use rmcp::model::*;
use rmcp::service::PeerRequestOptions;
use serde_json::{Value, json};

use super::client::{Client, Heard, answered_error, model, soon, text};
use super::harbour::{Harbour, LOG_BOOK, Speaks};
use super::stage::{CLIENTS, Mode, Stage};

/// One server behind the gateway.
struct Berth {
    alias: &'static str,
    harbour: Harbour,
    speaks: Speaks,
    /// How the client in front of it begins.
    mode: Mode,
}

impl Berth {
    fn new(alias: &'static str, speaks: Speaks, mode: Mode) -> Self {
        Self { alias, harbour: Harbour::new(speaks), speaks, mode }
    }

    fn tool(&self, name: &str) -> String {
        format!("{}__{name}", self.alias)
    }

    /// The version that the gateway should speak with it: its client's era where it speaks both.
    fn version(&self) -> &'static str {
        match (self.speaks, self.mode) {
            (Speaks::Legacy, _) | (Speaks::Everything, Mode::Initialize) => "2025-11-25",
            (Speaks::Everything, Mode::Discover | Mode::Auto) => "2026-07-28",
        }
    }
}

/// Tells a story with every kind of client, to each kind of server.
async fn in_every_cell(story: impl AsyncFn(&Client, &Berth)) {
    for (way, mode) in CLIENTS {
        let berths = [
            Berth::new("over-stdio", Speaks::Everything, mode),
            Berth::new("over-stdio-old", Speaks::Legacy, mode),
            Berth::new("over-http", Speaks::Everything, mode),
            Berth::new("over-http-old", Speaks::Legacy, mode),
        ];
        let mut servers = serde_json::Map::new();
        for berth in &berths {
            let mut entry = match berth.alias.starts_with("over-stdio") {
                true => berth.harbour.behind_stdio().await,
                false => berth.harbour.behind_http().await,
            };
            // Vouched for, so that what it declares is what clients are told.
            entry["trust"] = json!({ "verified": true });
            servers.insert(berth.alias.to_owned(), entry);
        }
        let stage = Stage::served(&json!({ "flow": "observe", "servers": servers })).await;
        let client = stage.client(way, mode).await;
        for berth in &berths {
            eprintln!("{way:?}, {mode:?}, in front of {}", berth.alias);
            story(&client, berth).await;
        }
        client.leave().await;
    }
}

/// The log book's URI as the gateway lists it.
async fn log_book(client: &Client, berth: &Berth) -> String {
    let listed = soon("resources/list", client.service.list_all_resources()).await.unwrap();
    let listed: Vec<String> = listed.into_iter().map(|resource| resource.uri).collect();
    let ours = format!("{}+{LOG_BOOK}", berth.alias);
    assert!(listed.contains(&ours), "{ours} is not among {listed:?}");
    ours
}

#[tokio::test]
async fn a_definition_and_a_result_arrive_whole() {
    in_every_cell(async |client, berth| {
        let tools = client.tools().await;
        let weigh = tools.iter().find(|tool| tool.name == berth.tool("weigh")).unwrap();
        assert_eq!(weigh.title.as_deref(), Some("Weigh a ship"));
        assert_eq!(weigh.description.as_deref(), Some("Weighs a ship."));
        assert_eq!(weigh.input_schema["required"], json!(["ship"]));
        assert_eq!(weigh.output_schema.as_ref().unwrap()["type"], "object");
        let annotations = weigh.annotations.as_ref().unwrap();
        assert_eq!((annotations.read_only_hint, annotations.open_world_hint), (Some(true), Some(false)));
        assert_eq!(weigh.meta.as_ref().unwrap().0["harbour.example/berth"], 7);

        let arguments = json!({ "ship": "Grüne Flut 🌊", "tons": 7.5 });
        let weighed = client.call(&berth.tool("weigh"), arguments.clone()).await;
        assert_eq!(weighed.structured_content, Some(arguments));
        assert_ne!(weighed.is_error, Some(true));
        assert_eq!(weighed.meta.as_ref().unwrap().0["harbour.example/scale"], "east");
        let content = serde_json::to_value(&weighed.content).unwrap();
        assert_eq!(
            content[0],
            json!({ "type": "text", "text": "weighed", "annotations": { "priority": 0.5 } })
        );
        let link = content[1]["uri"].as_str().unwrap();
        assert_eq!(client.read(link).await["text"], "calm");
        berth.harbour.noted(&format!("weigh in {}", berth.version())).await;
    })
    .await;
}

#[tokio::test]
async fn progress_comes_in_order() {
    in_every_cell(async |client, berth| {
        let call = client.begin(&berth.tool("sail"), json!({})).await;
        for step in [1.0, 2.0, 3.0] {
            let expected = (step, Some(3.0), Some(format!("leg {step}")));
            assert_eq!(client.hears_progress(&call).await, expected);
        }
        assert_eq!(text(&client.finish(call).await), "arrived");
    })
    .await;
}

#[tokio::test]
async fn a_cancelled_call_is_cancelled_at_the_server() {
    in_every_cell(async |client, berth| {
        let call = client.begin(&berth.tool("drift"), json!({})).await;
        assert_eq!(client.hears_progress(&call).await.0, 1.0);
        call.cancel(Some("the tide turned".to_owned())).await.unwrap();
        berth.harbour.noted("drift was cancelled").await;
        let weighed = client.call(&berth.tool("weigh"), json!({ "ship": "Passat" })).await;
        assert_eq!(weighed.structured_content.unwrap()["ship"], "Passat");
    })
    .await;
}

#[tokio::test]
async fn questions_in_mid_call_are_answered() {
    in_every_cell(async |client, berth| {
        client.will_answer(json!({ "action": "accept", "content": { "name": "Rickmer" } }));
        let named = client.call(&berth.tool("name_ship"), json!({})).await;
        assert_eq!(text(&named), r#""accept" {"name":"Rickmer"}"#);
        let asked = client.asked();
        assert_eq!(asked.len(), 1, "{asked:?}");
        assert_eq!(asked[0]["message"], "What is she called?");
        assert_eq!(asked[0]["requestedSchema"]["properties"]["name"]["minLength"], 2);

        client.will_answer(json!({ "action": "decline" }));
        assert_eq!(text(&client.call(&berth.tool("name_ship"), json!({})).await), r#""decline" null"#);
        client.asked();

        let answered = client.call(&berth.tool("ask_model"), json!({})).await;
        assert_eq!(text(&answered), r#""tide-1" "Seven boats.""#);
        let asked = client.asked();
        assert_eq!(asked.len(), 1, "{asked:?}");
        assert_eq!(asked[0]["maxTokens"], 33);
        assert!(asked[0]["messages"].to_string().contains("Count the boats."), "{asked:?}");

        let answered = client.call(&berth.tool("ask_roots"), json!({})).await;
        assert_eq!(text(&answered), r#"[{"name":"quay","uri":"file:///quay"}]"#);
    })
    .await;
}

#[tokio::test]
async fn errors_are_the_servers_own() {
    in_every_cell(async |client, berth| {
        let aground = client.call(&berth.tool("run_aground"), json!({})).await;
        assert_eq!((aground.is_error, text(&aground).as_str()), (Some(true), "she sits on the sand"));

        let sunk = answered_error(client.try_call(&berth.tool("sink"), json!({})).await);
        assert_eq!(sunk, ErrorData::new(ErrorCode(-32050), "she went under", Some(json!({ "depth": 12 }))));

        let unknown = answered_error(client.try_call(&berth.tool("no_such_tool"), json!({})).await);
        assert_eq!(unknown.code, ErrorCode::INVALID_PARAMS, "{unknown:?}");
        assert!(unknown.message.contains("no_such_tool"), "{unknown:?}");
        assert!(!berth.harbour.notes().iter().any(|note| note.starts_with("no_such_tool")));

        let uri = log_book(client, berth).await.replace("log", "nothing");
        let read = client.service.read_resource(ReadResourceRequestParams::new(uri.clone()));
        let missing = answered_error(soon(&uri, read).await);
        // Each era has its own way to say this.
        let code = if client.is_modern() { ErrorCode::INVALID_PARAMS } else { ErrorCode::RESOURCE_NOT_FOUND };
        assert_eq!(missing.code, code, "{missing:?}");
        assert_eq!(missing.data.as_ref().unwrap()["uri"], uri, "{missing:?}");
    })
    .await;
}

#[tokio::test]
async fn a_new_tool_is_announced_and_can_be_called() {
    in_every_cell(async |client, berth| {
        let mut ears = client.listen_for_tools().await;
        let has_crane = |tools: &[Tool]| tools.iter().any(|tool| tool.name == berth.tool("crane"));
        assert!(!has_crane(&client.tools().await));
        assert_eq!(text(&client.call(&berth.tool("build_crane"), json!({})).await), "built");
        client.hears_announcement(&mut ears).await;
        client.tools_when(&mut ears, has_crane).await;
        assert_eq!(text(&client.call(&berth.tool("crane"), json!({})).await), "lifted");
    })
    .await;
}

#[tokio::test]
async fn a_watched_resource_is_told_of() {
    in_every_cell(async |client, berth| {
        let uri = log_book(client, berth).await;
        let mut subscription = None;
        if client.is_modern() {
            let filter = SubscriptionFilter::builder().resource_subscriptions([uri.clone()]).build();
            subscription = Some(soon("listening", client.service.listen(filter)).await.unwrap());
        } else {
            let watch = client.service.subscribe(SubscribeRequestParams::new(uri.clone()));
            soon("subscribing", watch).await.unwrap();
        }
        berth.harbour.noted(&format!("watched {LOG_BOOK}")).await;
        assert_eq!(text(&client.call(&berth.tool("write_log"), json!({})).await), "written");
        if let Some(mut subscription) = subscription {
            let told = soon("the update", subscription.next()).await.unwrap();
            let Some(ServerNotification::ResourceUpdatedNotification(told)) = told else {
                panic!("{told:?}")
            };
            assert_eq!(told.params.uri, uri);
            subscription.cancel().await.unwrap();
        } else {
            let updated = |heard| if let Heard::Updated(uri) = heard { Some(uri) } else { None };
            assert_eq!(client.hears("the update", updated).await, uri);
            let leave = client.service.unsubscribe(UnsubscribeRequestParams::new(uri));
            soon("unsubscribing", leave).await.unwrap();
        }
        berth.harbour.noted(&format!("unwatched {LOG_BOOK}")).await;
    })
    .await;
}

#[tokio::test]
async fn resources_prompts_and_completions_are_the_servers() {
    in_every_cell(async |client, berth| {
        let log = client.read(&log_book(client, berth).await).await;
        assert_eq!(log["text"], "calm");

        let templates = soon("templates", client.service.list_all_resource_templates()).await.unwrap();
        let template =
            templates.iter().find(|each| each.uri_template.starts_with(&format!("{}+", berth.alias)));
        let uri = template.unwrap().uri_template.replace("{number}", "12");
        let read = client.read(&uri).await;
        assert_eq!(
            (read["text"].as_str(), read["uri"].as_str()),
            (Some("berth 12 is free"), Some(uri.as_str()))
        );

        let prompts = soon("prompts", client.service.list_all_prompts()).await.unwrap();
        let name = berth.tool("hail");
        let hail = prompts.iter().find(|prompt| prompt.name == name).unwrap();
        assert_eq!(hail.arguments.as_ref().unwrap()[0].name, "ship");
        let arguments: JsonObject = model(json!({ "ship": "Passat" }));
        let params = GetPromptRequestParams::new(name.clone()).with_arguments(arguments);
        let got = soon("the prompt", client.service.get_prompt(params)).await.unwrap();
        let messages = serde_json::to_value(&got.messages).unwrap();
        let expected: Value =
            json!([{ "role": "user", "content": { "type": "text", "text": "Ahoy, Passat!" } }]);
        assert_eq!(messages, expected);
        let nameless = client.service.get_prompt(GetPromptRequestParams::new(name.clone()));
        let refused = answered_error(soon("the prompt", nameless).await);
        assert_eq!(
            (refused.code, refused.message.as_ref()),
            (ErrorCode::INVALID_PARAMS, "`ship` is missing")
        );

        let ships = client.service.complete_prompt_simple(name, "ship", "G");
        assert_eq!(soon("the completion", ships).await.unwrap(), ["Gorch Fock", "Götheborg"]);
    })
    .await;
}

#[tokio::test]
async fn log_messages_reach_who_asked_for_them() {
    in_every_cell(async |client, berth| {
        let mut options = PeerRequestOptions::no_options();
        if client.is_modern() {
            let mut meta = RequestMetaObject::new();
            meta.set_log_level(LoggingLevel::Info);
            options = options.with_meta(meta);
        } else {
            let level = client.service.set_level(SetLevelRequestParams::new(LoggingLevel::Info));
            soon("setting the level", level).await.unwrap();
        }
        let call = client.begin_with(&berth.tool("report"), json!({}), options).await;
        let log = |heard| if let Heard::Log(report) = heard { Some(report) } else { None };
        let report = client.hears("the report", log).await;
        assert_eq!((report.level, report.logger.as_deref()), (LoggingLevel::Warning, Some("pier")));
        assert_eq!(report.data, json!({ "wind": 9 }));
        berth.harbour.thank();
        assert_eq!(text(&client.finish(call).await), "reported");
    })
    .await;
}
