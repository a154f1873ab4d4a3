//! What is at the other paths: health and numbers for monitors.

use highwater_store::{AuditError, StoreError};
use http::{Method, Response, StatusCode};

use super::response;
use super::{HttpFront, authenticate};
use crate::front::server::{Request, ResponseBody};

/// The paths besides MCP's.
const PAGES: [&str; 4] = ["/", "/healthz", "/readyz", "/metrics"];

impl HttpFront {
    pub(super) async fn page(&self, request: &Request, path: &str) -> Response<ResponseBody> {
        if !PAGES.contains(&path) {
            return response::text(StatusCode::NOT_FOUND, "nothing is here; MCP is at /mcp");
        }
        if request.head.method != Method::GET && request.head.method != Method::HEAD {
            return response::not_allowed("GET, HEAD", "this path takes GET");
        }
        match path {
            "/" => response::text(
                StatusCode::OK,
                "Highwater is running. MCP clients connect to /mcp; `highwater servers` shows its servers.",
            ),
            "/healthz" => response::text(StatusCode::OK, "ok"),
            "/readyz" => match self.readiness().await {
                Ok(()) => response::text(StatusCode::OK, "ok"),
                Err(why) => response::text(StatusCode::SERVICE_UNAVAILABLE, &why),
            },
            // Beyond this machine even the names of servers are nobody's business.
            "/metrics" if !self.gateway.settings.load().listen.is_loopback() => {
                authenticate::operator(request, "metrics", &self.gateway)
                    .map_or_else(|refused| *refused, |()| self.metrics())
            }
            "/metrics" => self.metrics(),
            _ => response::text(StatusCode::NOT_FOUND, "nothing is here; MCP is at /mcp"),
        }
    }

    /// Whether calls can be served: what cannot be recorded and what cannot be labelled does not happen. The reason names
    /// nothing of this machine.
    async fn readiness(&self) -> Result<(), String> {
        if let Err(error) = self.gateway.audit.check() {
            tracing::error!(%error, "not ready");
            return Err(match error {
                AuditError::Unwritable { why, .. } => format!("nothing can be recorded: {why}"),
                AuditError::Io { .. } => "nothing can be recorded".to_owned(),
            });
        }
        self.gateway.store.check().await.map_err(|error| {
            tracing::error!(%error, "not ready");
            match error {
                StoreError::Gone { .. } => "the session store was removed or replaced".to_owned(),
                StoreError::Full { .. } => "the session store cannot be written: the disk is full".to_owned(),
                _ => "the session store does not answer".to_owned(),
            }
        })
    }

    /// A handful of gauges in Prometheus' text form. No names of principals, no content.
    fn metrics(&self) -> Response<ResponseBody> {
        let mut out = String::new();
        let gauges = [
            ("highwater_requests_running", "Requests being served.", self.gateway.registry.running()),
            ("highwater_sessions_open", "Legacy transport sessions.", self.gateway.registry.session_count()),
        ];
        for (name, help, value) in gauges {
            out.push_str(&format!("# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}\n"));
        }
        out.push_str(
            "# HELP highwater_server_up Whether a server is up.\n# TYPE highwater_server_up gauge\n",
        );
        for server in self.gateway.servers() {
            let up = u8::from(server.state == "up");
            out.push_str(&format!("highwater_server_up{{server=\"{}\"}} {up}\n", server.name));
        }
        response::text(StatusCode::OK, out.trim_end())
    }
}
