//! A client of the SDK that writes down what it hears and answers what it is asked.

use std::sync::Mutex;
use std::time::Duration;

use rmcp::ClientHandler;
use rmcp::model::*;
use rmcp::service::{
    NotificationContext, PeerRequestOptions, RequestContext, RequestHandle, RoleClient, RunningService,
    ServiceError, Subscription,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// How long a test waits for anything. Machines that run tests are busy.
pub(crate) const PATIENCE: Duration = highwater_testkit::wait::PATIENCE;

/// What a server told the client besides answers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Heard {
    Progress(ProgressNotificationParam),
    Log(LoggingMessageNotificationParam),
    Updated(String),
    ToolsChanged,
}

/// The client's own side: notes what arrives, answers questions with what was laid out for them.
pub(crate) struct Hand {
    heard: mpsc::UnboundedSender<Heard>,
    asked: Mutex<Vec<Value>>,
    elicitation: Mutex<Value>,
}

/// A connected client.
pub(crate) struct Client {
    pub(crate) service: RunningService<RoleClient, Hand>,
    heard: tokio::sync::Mutex<mpsc::UnboundedReceiver<Heard>>,
}

/// A value of the SDK from its JSON: the SDK's types are many and their constructors differ.
pub(crate) fn model<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// Waits, but not for ever.
pub(crate) async fn soon<T>(what: &str, work: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(PATIENCE, work).await;
    done.unwrap_or_else(|_| panic!("{what}: nothing after {PATIENCE:?}"))
}

/// The text of a result.
pub(crate) fn text(result: &CallToolResult) -> String {
    let texts = result.content.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The error a server answered with, and not one of the transport.
pub(crate) fn answered_error<T: std::fmt::Debug>(outcome: Result<T, ServiceError>) -> ErrorData {
    match outcome {
        Err(ServiceError::McpError(error)) => error,
        other => panic!("no error as an answer, but {other:?}"),
    }
}

// === impl Hand ===

impl Hand {
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<Heard>) {
        let (heard, receiver) = mpsc::unbounded_channel();
        let decline = json!({ "action": "decline" });
        (Self { heard, asked: Mutex::default(), elicitation: Mutex::new(decline) }, receiver)
    }

    fn hear(&self, heard: Heard) {
        // Whoever no longer listens has all it wants.
        self.heard.send(heard).ok();
    }
}

impl ClientHandler for Hand {
    fn get_info(&self) -> ClientConfig {
        let capabilities = model(json!({ "elicitation": { "form": {} }, "sampling": {}, "roots": {} }));
        ClientConfig::new(capabilities, Implementation::new("rmcp", "3.8.0"))
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.asked.lock().unwrap().push(serde_json::to_value(params).unwrap());
        Ok(model(self.elicitation.lock().unwrap().clone()))
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.asked.lock().unwrap().push(serde_json::to_value(params).unwrap());
        Ok(model(json!({
            "role": "assistant", "model": "tide-1", "stopReason": "endTurn",
            "content": { "type": "text", "text": "Seven boats." },
        })))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(model(json!({ "roots": [{ "uri": "file:///quay", "name": "quay" }] })))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.hear(Heard::Progress(params));
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.hear(Heard::Log(params));
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.hear(Heard::Updated(params.uri));
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.hear(Heard::ToolsChanged);
    }
}

// === impl Client ===

impl Client {
    pub(crate) fn new(
        service: RunningService<RoleClient, Hand>,
        heard: mpsc::UnboundedReceiver<Heard>,
    ) -> Self {
        Self { service, heard: tokio::sync::Mutex::new(heard) }
    }

    pub(crate) fn is_modern(&self) -> bool {
        self.service.peer_info().unwrap().protocol_version == ProtocolVersion::V_2026_07_28
    }

    /// Calls a tool, answering whatever is asked in between.
    pub(crate) async fn try_call(
        &self,
        tool: &str,
        arguments: Value,
    ) -> Result<CallToolResult, ServiceError> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(model(arguments));
        soon(tool, self.service.call_tool(params)).await
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> CallToolResult {
        self.try_call(tool, arguments).await.unwrap_or_else(|error| panic!("{tool}: {error:?}"))
    }

    /// Begins a call that can be cancelled.
    pub(crate) async fn begin(&self, tool: &str, arguments: Value) -> RequestHandle<RoleClient> {
        self.begin_with(tool, arguments, PeerRequestOptions::no_options()).await
    }

    pub(crate) async fn begin_with(
        &self,
        tool: &str,
        arguments: Value,
        options: PeerRequestOptions,
    ) -> RequestHandle<RoleClient> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(model(arguments));
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        self.service.peer().send_cancellable_request(request, options).await.unwrap()
    }

    /// Waits for the answer to a call that was begun.
    pub(crate) async fn finish(&self, call: RequestHandle<RoleClient>) -> CallToolResult {
        match soon("a call", call.await_response()).await.unwrap() {
            ServerResult::CallToolResult(result) => result,
            other => panic!("a call is answered with {other:?}"),
        }
    }

    /// What the user will answer when asked.
    pub(crate) fn will_answer(&self, elicitation: Value) {
        *self.service.service().elicitation.lock().unwrap() = elicitation;
    }

    /// The questions that came so far; they are told once.
    pub(crate) fn asked(&self) -> Vec<Value> {
        std::mem::take(&mut self.service.service().asked.lock().unwrap())
    }

    /// The next thing the client hears that fits; servers may say other things in between.
    pub(crate) async fn hears<T>(&self, what: &str, fits: impl Fn(Heard) -> Option<T>) -> T {
        let mut heard = self.heard.lock().await;
        let listen = async {
            loop {
                if let Some(fitting) = fits(heard.recv().await.unwrap()) {
                    return fitting;
                }
            }
        };
        soon(what, listen).await
    }

    /// The next progress, which must be of this call, as step, total and words.
    pub(crate) async fn hears_progress(
        &self,
        call: &RequestHandle<RoleClient>,
    ) -> (f64, Option<f64>, Option<String>) {
        let progress = |heard| if let Heard::Progress(params) = heard { Some(params) } else { None };
        let params = self.hears("progress", progress).await;
        assert_eq!(params.progress_token, call.progress_token);
        (params.progress, params.total, params.message)
    }

    /// Opens the client's ears for changed tools: in the modern era they must be opened.
    pub(crate) async fn listen_for_tools(&self) -> Option<Subscription> {
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        if !self.is_modern() {
            return None;
        }
        let subscription = soon("listening", self.service.listen(filter)).await.unwrap();
        assert_eq!(subscription.acknowledged().tools_list_changed, Some(true));
        Some(subscription)
    }

    /// The tools, once they are as they should be. Until then every announcement is followed.
    pub(crate) async fn tools_when(
        &self,
        ears: &mut Option<Subscription>,
        complete: impl Fn(&[Tool]) -> bool,
    ) -> Vec<Tool> {
        loop {
            let tools = self.tools().await;
            if complete(&tools) {
                return tools;
            }
            self.hears_announcement(ears).await;
        }
    }

    /// Waits for the next announcement that tools have changed.
    pub(crate) async fn hears_announcement(&self, ears: &mut Option<Subscription>) {
        if let Some(subscription) = ears {
            let told = soon("an announcement", subscription.next()).await.unwrap();
            assert!(matches!(told, Some(ServerNotification::ToolListChangedNotification(_))), "{told:?}");
        } else {
            self.hears("an announcement", |heard| (heard == Heard::ToolsChanged).then_some(())).await;
        }
    }

    pub(crate) async fn tools(&self) -> Vec<Tool> {
        soon("tools/list", self.service.list_all_tools()).await.unwrap()
    }

    /// Reads a resource and gives its only content as JSON.
    pub(crate) async fn read(&self, uri: &str) -> Value {
        let read = soon(uri, self.service.read_resource(ReadResourceRequestParams::new(uri))).await;
        let read = read.unwrap_or_else(|error| panic!("{uri}: {error:?}"));
        assert_eq!(read.contents.len(), 1, "{:?}", read.contents);
        serde_json::to_value(&read.contents[0]).unwrap()
    }

    /// Leaves as a client should, and waits until it is gone.
    pub(crate) async fn leave(self) {
        soon("leaving", self.service.cancel()).await.unwrap();
    }
}
