//! What the tools and prompts of the fixture on rmcp answer.

use std::time::Duration;

use rmcp::model::*;
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{RmcpFixture, internal, is_modern, model};
use crate::fixture::Offer;
use crate::fixture::content::{audio, image, resource, text};

/// The tools that are offered, in this order.
pub(super) const NAMES: [&str; 31] = [
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_error_handling",
    "test_tool_with_progress",
    "test_tool_with_logging",
    "test_logging_tool",
    "test_sampling",
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_streaming_elicitation",
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_tampered_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_capabilities",
    "test_missing_capability",
    // What the scenarios of the tasks extension call; this server has no tasks.
    "greet",
    "slow_compute",
    "confirm_delete",
    "json_schema_2020_12_tool",
    "test_routed_parameters",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
    // Only while it is there.
    "test_passing_tool",
];

/// Between two messages of one call.
const PAUSE: Duration = Duration::from_millis(50);

/// A call, and what the client has said to the questions that ended it before.
struct Call {
    params: CallToolRequestParams,
    context: RequestContext<RoleServer>,
}

type Answer = Result<CallToolResponse, ErrorData>;

impl RmcpFixture {
    pub(super) async fn call(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Answer {
        let call = Call { params, context };
        match &*call.params.name {
            "test_simple_text" => words("This is a simple text response for testing."),
            "test_image_content" => said(json!([image()])),
            "test_audio_content" => said(json!([audio()])),
            "test_embedded_resource" => {
                let uri = "test://embedded-resource";
                said(json!([resource(uri, "text/plain", "This is an embedded resource content.")]))
            }
            "test_multiple_content_types" => {
                let document = r#"{"test":"data","value":123}"#;
                let mixed = resource("test://mixed-content-resource", "application/json", document);
                said(json!([text("Multiple content types test:"), image(), mixed]))
            }
            "test_error_handling" => {
                let why = ContentBlock::text("This tool intentionally returns an error for testing");
                Ok(CallToolResult::error(vec![why]).into())
            }
            "test_tool_with_progress" => {
                for done in [0.0, 50.0, 100.0] {
                    call.progress(done, 100.0).await?;
                    sleep(PAUSE).await;
                }
                words("The work is done.")
            }
            "test_tool_with_logging" => {
                for line in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
                    call.log(line).await?;
                    sleep(PAUSE).await;
                }
                words("Three messages were logged.")
            }
            "test_logging_tool" => {
                call.log("The tool runs").await?;
                words("The tool ran.")
            }
            "test_sampling" => {
                let answer = call.send(sample(&call.argument("prompt"), 100)).await?;
                words(format!("LLM response: {}", string(&answer, "/content/text")))
            }
            "test_elicitation" => {
                let fields = json!({
                    "username": { "type": "string", "description": "User's response" },
                    "email": { "type": "string", "description": "User's email address" },
                });
                let question = form(&call.argument("message"), fields, &["username", "email"]);
                words(format!("User response: {}", told(&call.send(question).await?)))
            }
            "test_elicitation_sep1034_defaults" => {
                let question = form("Please check these values", Offer::defaults(), &[]);
                words(format!("Elicitation completed: {}", told(&call.send(question).await?)))
            }
            "test_elicitation_sep1330_enums" => {
                let question = form("Please choose", Offer::choices(), &[]);
                words(format!("Elicitation completed: {}", told(&call.send(question).await?)))
            }
            "test_streaming_elicitation" => {
                call.progress(1.0, 2.0).await?;
                match call.field("consent", "agree") {
                    Some(agrees) => words(format!("Agreed: {agrees}")),
                    None => ask([("consent", field("Do you agree?", "agree", "boolean"))], None),
                }
            }
            "test_input_required_result_elicitation" => match call.field("user_name", "name") {
                Some(name) => words(format!("Hello, {}!", string(name, ""))),
                None => ask([name()], None),
            },
            "test_input_required_result_sampling" => match call.answer("capital_question") {
                Some(answer) => words(string(answer, "/content/text")),
                None => ask([("capital_question", sample("What is the capital of France?", 100))], None),
            },
            "test_input_required_result_list_roots" => match call.answer("client_roots") {
                Some(answer) => words(format!("Roots: {}", answer["roots"])),
                None => ask([("client_roots", roots())], None),
            },
            "test_input_required_result_request_state" => self.confirmed(&call, "state-ok"),
            "test_input_required_result_tampered_state" => {
                self.confirmed(&call, "The state came back unchanged.")
            }
            "test_input_required_result_multiple_inputs" => self.three_at_once(&call),
            "test_input_required_result_multi_round" => self.two_rounds(&call),
            "test_input_required_result_capabilities" => what_the_client_can(&call),
            "test_missing_capability" => match call.able("sampling") {
                true => words("The client declared sampling."),
                false => {
                    let data = json!({ "requiredCapabilities": { "sampling": {} } });
                    let why = "the client did not declare `sampling`";
                    Err(ErrorData::new(ErrorCode(-32021), why, Some(data)))
                }
            },
            "greet" => words(format!("Hello, {}!", call.argument("name"))),
            "slow_compute" => words("Computed."),
            "confirm_delete" => words("Nothing was deleted."),
            "json_schema_2020_12_tool" => words("Contact noted."),
            "test_routed_parameters" => words(format!("Routed to {}", call.argument("region"))),
            "test_passing_tool" => words("This tool came with a change of the list."),
            "test_trigger_tool_change" => {
                self.offer.change_tools();
                self.announce(&call.context, false).await?;
                words("The list of tools has changed.")
            }
            "test_trigger_prompt_change" => {
                self.offer.change_prompts();
                self.announce(&call.context, true).await?;
                words("The list of prompts has changed.")
            }
            name => Err(ErrorData::invalid_params(format!("no tool `{name}`"), None)),
        }
    }

    fn confirmed(&self, call: &Call, done: &'static str) -> Answer {
        let state = self.state(call)?;
        if state == Some(json!(done)) && call.field("confirm", "ok").is_some() {
            return words(done);
        }
        ask([("confirm", field("Please confirm", "ok", "boolean"))], Some(self.offer.close(&json!(done))))
    }

    fn three_at_once(&self, call: &Call) -> Answer {
        let complete = ["user_name", "greeting", "client_roots"].iter().all(|key| call.answer(key).is_some());
        if self.state(call)?.is_some() && complete {
            return words("Three questions were answered.");
        }
        let questions = [name(), ("greeting", sample("Generate a greeting", 50)), ("client_roots", roots())];
        ask(questions, Some(self.offer.close(&json!("all"))))
    }

    fn two_rounds(&self, call: &Call) -> Answer {
        let Some(state) = self.state(call)? else {
            let question = field("Step 1: What is your name?", "name", "string");
            return ask([("step1", question)], Some(self.offer.close(&json!({ "step": 1 }))));
        };
        let user = state.get("name").or_else(|| call.field("step1", "name"));
        match (user, call.field("step2", "color")) {
            (Some(user), Some(color)) => words(format!("{user} likes {color}.")),
            (user, _) => {
                let question = field("Step 2: What is your favorite color?", "color", "string");
                let state = self.offer.close(&json!({ "step": 2, "name": user }));
                ask([("step2", question)], Some(state))
            }
        }
    }

    /// The state that a call brings back, if it is as it was given out.
    fn state(&self, call: &Call) -> Result<Option<Value>, ErrorData> {
        let Some(state) = &call.params.request_state else { return Ok(None) };
        let refused = || ErrorData::invalid_params("`requestState` was not made by this server", None);
        self.offer.open(state).map(Some).ok_or_else(refused)
    }
}

// === impl Call ===

impl Call {
    /// An argument that is a text; none where it is missing.
    fn argument(&self, name: &str) -> String {
        let given = self.params.arguments.as_ref().and_then(|given| given.get(name)?.as_str());
        given.unwrap_or_default().to_owned()
    }

    /// What the client answered to a question.
    fn answer(&self, key: &str) -> Option<&Value> {
        self.params.input_responses.as_ref()?.get(key)
    }

    /// A field of a form that was filled in.
    fn field(&self, key: &str, name: &str) -> Option<&Value> {
        let answer = self.answer(key)?;
        answer.get("content")?.get(name).filter(|_| answer["action"] == "accept")
    }

    fn able(&self, capability: &str) -> bool {
        let declared = self.context.client_capabilities().and_then(|able| serde_json::to_value(able).ok());
        declared.is_some_and(|able| able.get(capability).is_some())
    }

    /// Asks the client in mid-call, which only clients of the older versions can be.
    async fn send(&self, question: Question) -> Result<Value, ErrorData> {
        let request = match question? {
            InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
            InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
            InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
            other => return Err(internal(format!("no such question: {other:?}"))),
        };
        let answer = self.context.peer.send_request(request).await.map_err(internal)?;
        serde_json::to_value(answer).map_err(internal)
    }

    async fn progress(&self, done: f64, total: f64) -> Result<(), ErrorData> {
        let Some(token) = self.context.meta.get_progress_token() else { return Ok(()) };
        let step = ProgressNotificationParam::new(token, done).with_total(total);
        self.context.peer.notify_progress(step).await.map_err(internal)
    }

    #[expect(deprecated, reason = "clients of the older versions want log lines")]
    async fn log(&self, line: &str) -> Result<(), ErrorData> {
        if is_modern(&self.context) && self.context.meta.log_level().is_none() {
            return Ok(());
        }
        let line = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(line));
        self.context.peer.notify_logging_message(line).await.map_err(internal)
    }
}

/// `prompts/get`.
pub(super) fn prompt(params: GetPromptRequestParams) -> Result<GetPromptResponse, ErrorData> {
    let given = |name: &str| {
        let given = params.arguments.as_ref().and_then(|given| given.get(name)?.as_str());
        given.unwrap_or_default().to_owned()
    };
    let blocks = match params.name.as_str() {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            let (first, second) = (given("arg1"), given("arg2"));
            vec![text(&format!("Prompt with arguments: arg1='{first}', arg2='{second}'"))]
        }
        "test_prompt_with_embedded_resource" => vec![
            resource(&given("resourceUri"), "text/plain", "Embedded resource content for testing."),
            text("Please process the embedded resource above."),
        ],
        "test_passing_prompt" => vec![text("This prompt came with a change of the list.")],
        "test_prompt_with_image" => vec![image(), text("Please analyze the image above.")],
        "test_input_required_result_prompt" => {
            let answer = params.input_responses.as_ref().and_then(|answers| answers.get("user_context"));
            match answer.and_then(|answer| answer.pointer("/content/context")) {
                Some(context) => vec![text(&format!("Work with this context: {}", string(context, "")))],
                None => {
                    let question = field("What context should the prompt use?", "context", "string")?;
                    return Ok(InputRequiredResult::new(
                        Some([("user_context".to_owned(), question)].into()),
                        None,
                    )
                    .into());
                }
            }
        }
        name => return Err(ErrorData::invalid_params(format!("no prompt `{name}`"), None)),
    };
    let messages = blocks.into_iter().map(|block| model(json!({ "role": "user", "content": block })));
    Ok(GetPromptResult::new(messages.collect::<Result<_, _>>()?).into())
}

fn what_the_client_can(call: &Call) -> Answer {
    let questions = [
        ("elicitation", name()),
        ("sampling", ("greeting", sample("Generate a greeting", 50))),
        ("roots", ("client_roots", roots())),
    ];
    let open = questions.into_iter().filter(|(able, (key, _))| call.able(able) && call.answer(key).is_none());
    let open: Vec<_> = open.map(|(_, question)| question).collect();
    if open.is_empty() { words("Everything was answered.") } else { ask(open, None) }
}

// === Answers ===

fn words(words: impl Into<String>) -> Answer {
    Ok(CallToolResult::success(vec![ContentBlock::text(words.into())]).into())
}

fn said(content: Value) -> Answer {
    Ok(CallToolResult::success(model(content)?).into())
}

fn string(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn told(answer: &Value) -> String {
    format!("action={}, content={}", string(answer, "/action"), answer["content"])
}

// === Questions ===

type Question = Result<InputRequest, ErrorData>;

fn ask<'a>(questions: impl IntoIterator<Item = (&'a str, Question)>, state: Option<String>) -> Answer {
    let questions = questions.into_iter().map(|(key, question)| Ok((key.to_owned(), question?)));
    let questions: InputRequests = questions.collect::<Result<_, ErrorData>>()?;
    Ok(InputRequiredResult::new(Some(questions), state).into())
}

fn form(message: &str, properties: Value, required: &[&str]) -> Question {
    let mut schema = json!({ "type": "object", "properties": properties });
    if let (false, Some(schema)) = (required.is_empty(), schema.as_object_mut()) {
        schema.insert("required".to_owned(), json!(required));
    }
    let params = json!({ "mode": "form", "message": message, "requestedSchema": schema });
    Ok(InputRequest::Elicitation(model(json!({ "method": "elicitation/create", "params": params }))?))
}

fn field(message: &str, name: &str, kind: &str) -> Question {
    form(message, json!({ name: { "type": kind } }), &[name])
}

fn name() -> (&'static str, Question) {
    ("user_name", field("What is your name?", "name", "string"))
}

fn sample(prompt: &str, most: u32) -> Question {
    let params = json!({ "messages": [{ "role": "user", "content": text(prompt) }], "maxTokens": most });
    Ok(InputRequest::CreateMessage(model(json!({ "method": "sampling/createMessage", "params": params }))?))
}

fn roots() -> Question {
    Ok(InputRequest::ListRoots(model(json!({ "method": "roots/list" }))?))
}
