//! The conformance fixture on rmcp: what the SDK makes of the same tools, prompts and resources, in both eras.
//!
//! What it lists is defined where our own fixture defines it, so that the two are asked the same; how it is served, and what
//! becomes of a question, is the SDK's.

mod tools;

use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rmcp::model::*;
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext, SubscriptionSink};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServerHandler, ServiceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::fixture::Offer;

/// A server. Its clones are one.
#[derive(Clone)]
pub struct RmcpFixture {
    offer: Arc<Offer>,
    /// Whose modern subscriptions are open.
    listeners: Arc<Mutex<Vec<SubscriptionSink>>>,
}

// === impl RmcpFixture ===

impl RmcpFixture {
    /// Sets a server up; fails if one of the definitions is none.
    pub fn new() -> anyhow::Result<Self> {
        Ok(Self { offer: Arc::new(Offer::new()?), listeners: Arc::default() })
    }

    /// Serves standard input and output until the client leaves.
    pub async fn serve_stdio(self) -> anyhow::Result<()> {
        self.serve(rmcp::transport::stdio()).await?.waiting().await?;
        Ok(())
    }

    /// Serves HTTP until the future is dropped.
    pub async fn serve_http(self, listener: TcpListener) -> io::Result<()> {
        // Pages of other origins are not for this server, as the suite wants it.
        let config = StreamableHttpServerConfig::default()
            .with_allowed_origins(["http://127.0.0.1:*", "http://localhost:*"]);
        let service = StreamableHttpService::new(
            move || Ok(self.clone()),
            Arc::new(LocalSessionManager::default()),
            config,
        );
        loop {
            let (stream, _) = listener.accept().await?;
            let service = service.clone();
            let answer = service_fn(move |request| {
                let service = service.clone();
                async move { Ok::<_, Infallible>(service.handle(request).await) }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
        }
    }

    async fn announce(&self, context: &RequestContext<RoleServer>, prompts: bool) -> Result<(), ErrorData> {
        if !is_modern(context) {
            let told = match prompts {
                true => context.peer.notify_prompt_list_changed().await,
                false => context.peer.notify_tool_list_changed().await,
            };
            return told.map_err(internal);
        }
        let listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for listener in listeners {
            // One that left or wants something else is not told.
            match prompts {
                true => listener.notify_prompt_list_changed().await.ok(),
                false => listener.notify_tool_list_changed().await.ok(),
            };
        }
        Ok(())
    }
}

impl ServerHandler for RmcpFixture {
    fn get_info(&self) -> ServerConfig {
        let capabilities = json!({
            "tools": { "listChanged": true }, "prompts": { "listChanged": true },
            "resources": { "subscribe": true, "listChanged": true }, "completions": {}, "logging": {},
        });
        // Of these words all are known, so that there is nothing to be wrong.
        let mut config = ServerConfig::new(serde_json::from_value(capabilities).unwrap_or_default());
        config.server_info = Implementation::new("rmcp-fixture", "1.0.0");
        config
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(
            self.offer.tools(&tools::NAMES).map(model).collect::<Result<_, _>>()?,
        ))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let definition = self.offer.tools(&[name]).next()?;
        serde_json::from_value(definition).ok()
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.call(params, context).await
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(self.offer.prompts().map(model).collect::<Result<_, _>>()?))
    }

    async fn get_prompt(
        &self,
        params: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        tools::prompt(params)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(self.offer.resources().map(model).collect::<Result<_, _>>()?))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = self.offer.templates().map(model).collect::<Result<_, _>>()?;
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match Offer::read(&params.uri) {
            Some(content) => Ok(ReadResourceResult::new(vec![model(content)?]).into()),
            None => {
                let data = json!({ "uri": params.uri });
                Err(ErrorData::resource_not_found(format!("no resource `{}`", params.uri), Some(data)))
            }
        }
    }

    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).push(context.sink().clone());
        context.cancelled().await;
        Ok(())
    }

    async fn complete(
        &self,
        params: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let known =
            ["paris", "park", "party"].into_iter().filter(|word| word.starts_with(&params.argument.value));
        let completion = CompletionInfo::new(known.map(str::to_owned).collect()).map_err(internal)?;
        Ok(CompleteResult::new(completion))
    }

    #[expect(deprecated, reason = "clients of the older versions set a level")]
    async fn set_level(
        &self,
        _: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }
}

fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| !version.has_initialize())
}

/// A message of the SDK's, from what stands on the wire.
fn model<T: DeserializeOwned>(text: Value) -> Result<T, ErrorData> {
    serde_json::from_value(text).map_err(internal)
}

fn internal(error: impl ToString) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}
