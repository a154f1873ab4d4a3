//! What the harbour answers.

use std::borrow::Cow;
use std::sync::atomic::Ordering;

use rmcp::ServerHandler;
use rmcp::model::*;
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use serde_json::json;

use super::super::client::model;
use super::{Asked, Harbour, LOG_BOOK, Speaks, is_modern};

impl ServerHandler for Harbour {
    fn get_info(&self) -> ServerConfig {
        let capabilities = model(json!({
            "tools": { "listChanged": true }, "resources": { "subscribe": true }, "prompts": {},
            "completions": {}, "logging": {},
        }));
        let mut config = ServerConfig::new(capabilities);
        config.server_info = Implementation::new("harbour", "1.0.0");
        config.instructions = Some("Ask the harbour master.".to_owned());
        config
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        match self.speaks {
            Speaks::Everything => ProtocolVersion::KNOWN_VERSIONS.into(),
            Speaks::Legacy => ProtocolVersion::known_up_to(&ProtocolVersion::V_2025_11_25).into(),
        }
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools()))
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let argument =
            |name: &str| params.arguments.as_ref().and_then(|arguments| arguments.get(name)).cloned();
        let words = |words: String| CallToolResult::success(vec![ContentBlock::text(words)]).into();
        let version = context.protocol_version().map(|version| version.to_string()).unwrap_or_default();
        self.note(format!("{} in {version}", params.name));
        Ok(match params.name.as_ref() {
            "weigh" => {
                let result: CallToolResult = model(json!({
                    "content": [
                        { "type": "text", "text": "weighed", "annotations": { "priority": 0.5 } },
                        { "type": "resource_link", "uri": LOG_BOOK, "name": "log" },
                    ],
                    "structuredContent": { "ship": argument("ship"), "tons": argument("tons") },
                    "_meta": { "harbour.example/scale": "east" },
                }));
                result.into()
            }
            "sail" => {
                for step in [1.0, 2.0, 3.0] {
                    self.progress(&context, step, 3.0).await;
                }
                words("arrived".to_owned())
            }
            "drift" => {
                self.progress(&context, 1.0, 2.0).await;
                context.ct.cancelled().await;
                self.note("drift was cancelled");
                words("nobody waits for this".to_owned())
            }
            "name_ship" => {
                let question: ElicitRequest = model(json!({ "method": "elicitation/create", "params": {
                    "mode": "form", "message": "What is she called?", "requestedSchema": {
                        "type": "object", "required": ["name"],
                        "properties": { "name": { "type": "string", "minLength": 2 } },
                    },
                } }));
                match self.ask(&params, &context, InputRequest::Elicitation(question)).await? {
                    Asked::Answer(answer) => words(format!("{} {}", answer["action"], answer["content"])),
                    Asked::Demand(demand) => demand,
                }
            }
            "ask_model" => {
                let question: CreateMessageRequest = model(
                    json!({ "method": "sampling/createMessage", "params": {
                    "messages": [{ "role": "user", "content": { "type": "text", "text": "Count the boats." } }],
                    "maxTokens": 33,
                } }),
                );
                match self.ask(&params, &context, InputRequest::CreateMessage(question)).await? {
                    Asked::Answer(answer) => {
                        words(format!("{} {}", answer["model"], answer["content"]["text"]))
                    }
                    Asked::Demand(demand) => demand,
                }
            }
            "ask_roots" => {
                let question: ListRootsRequest = model(json!({ "method": "roots/list" }));
                match self.ask(&params, &context, InputRequest::ListRoots(question)).await? {
                    Asked::Answer(answer) => words(answer["roots"].to_string()),
                    Asked::Demand(demand) => demand,
                }
            }
            "run_aground" => CallToolResult::error(vec![ContentBlock::text("she sits on the sand")]).into(),
            "sink" => {
                let data = json!({ "depth": 12 });
                return Err(ErrorData::new(ErrorCode(-32050), "she went under", Some(data)));
            }
            "report" => {
                if !is_modern(&context) || context.meta.log_level().is_some() {
                    let report =
                        LoggingMessageNotificationParam::new(LoggingLevel::Warning, json!({ "wind": 9 }));
                    context.peer.notify_logging_message(report.with_logger("pier")).await.unwrap();
                }
                // The SDK sends log lines of the legacy era beside the call's own stream: an answer might overtake one,
                // and then nobody could know which call it belonged to.
                self.state.thanks.notified().await;
                words("reported".to_owned())
            }
            "build_crane" => {
                self.state.has_crane.store(true, Ordering::SeqCst);
                self.tell_of_the_crane(&context).await;
                words("built".to_owned())
            }
            "write_log" => {
                self.tell_of_the_log_book().await;
                words("written".to_owned())
            }
            "crane" if self.state.has_crane.load(Ordering::SeqCst) => words("lifted".to_owned()),
            name => return Err(ErrorData::invalid_params(format!("there is no tool `{name}`"), None)),
        })
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let log: Resource = model(json!({ "uri": LOG_BOOK, "name": "log", "mimeType": "text/plain" }));
        Ok(ListResourcesResult::with_all_items(vec![log]))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let berth: ResourceTemplate =
            model(json!({ "uriTemplate": "harbour://berth/{number}", "name": "berth" }));
        Ok(ListResourceTemplatesResult::with_all_items(vec![berth]))
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let text = match params.uri.as_str() {
            LOG_BOOK => "calm".to_owned(),
            uri => match uri.strip_prefix("harbour://berth/") {
                Some(number) => format!("berth {number} is free"),
                None => {
                    let data = json!({ "uri": uri });
                    return Err(ErrorData::resource_not_found("there is nothing there", Some(data)));
                }
            },
        };
        Ok(ReadResourceResult::new(vec![ResourceContents::text(text, params.uri)]).into())
    }

    async fn subscribe(
        &self,
        params: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.state.watchers.lock().unwrap().push(context.peer);
        self.note(format!("watched {}", params.uri));
        Ok(())
    }

    async fn unsubscribe(
        &self,
        params: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.state.watchers.lock().unwrap().clear();
        self.note(format!("unwatched {}", params.uri));
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.state.listeners.lock().unwrap().push(context.sink().clone());
        for uri in context.accepted().resource_subscriptions.iter().flatten() {
            self.note(format!("watched {uri}"));
        }
        context.cancelled().await;
        for uri in context.accepted().resource_subscriptions.iter().flatten() {
            self.note(format!("unwatched {uri}"));
        }
        Ok(())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let hail: Prompt =
            model(json!({ "name": "hail", "arguments": [{ "name": "ship", "required": true }] }));
        Ok(ListPromptsResult::with_all_items(vec![hail]))
    }

    async fn get_prompt(
        &self,
        params: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let ship = params.arguments.as_ref().and_then(|arguments| arguments.get("ship")?.as_str());
        let Some(ship) = ship else { return Err(ErrorData::invalid_params("`ship` is missing", None)) };
        let words = PromptMessage::new_text(Role::User, format!("Ahoy, {ship}!"));
        Ok(GetPromptResult::new(vec![words]).into())
    }

    async fn complete(
        &self,
        params: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let ships = ["Gorch Fock", "Götheborg", "Passat"].into_iter().map(str::to_owned);
        let ships = ships.filter(|ship| ship.starts_with(&params.argument.value)).collect();
        Ok(CompleteResult::new(CompletionInfo::new(ships).unwrap()))
    }

    async fn set_level(
        &self,
        params: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.note(format!("level {}", serde_json::to_value(params.level).unwrap()));
        Ok(())
    }
}
