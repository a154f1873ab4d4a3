//! What is at the other paths: health for monitors, the state of servers for the operator.

use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;

use super::response::{self, ResponseBody};
use super::{HttpFront, authenticate};

/// The paths besides MCP's.
const PAGES: [&str; 5] = ["/", "/healthz", "/readyz", "/metrics", "/api/v1/servers"];

impl HttpFront {
    pub(super) fn page(&self, request: &Request<Incoming>) -> Response<ResponseBody> {
        let path = request.uri().path();
        if !PAGES.contains(&path) {
            return response::text(StatusCode::NOT_FOUND, "nothing is here; MCP is at /mcp");
        }
        if request.method() != Method::GET && request.method() != Method::HEAD {
            return response::not_allowed("GET, HEAD", "this path takes GET");
        }
        match path {
            "/" => response::text(
                StatusCode::OK,
                "Highwater is running. MCP clients connect to /mcp; `highwater servers` shows its servers.",
            ),
            "/healthz" | "/readyz" => response::text(StatusCode::OK, "ok"),
            // Beyond this machine even the names of servers are nobody's business.
            "/metrics" if !self.gateway.settings.load().listen.is_loopback() => {
                authenticate::operator(request.headers(), &self.gateway)
                    .map_or_else(|refused| *refused, |()| self.metrics())
            }
            "/metrics" => self.metrics(),
            "/api/v1/servers" => match authenticate::operator(request.headers(), &self.gateway) {
                Ok(()) => match serde_json::to_vec(&self.gateway.servers()) {
                    Ok(servers) => response::json(StatusCode::OK, servers),
                    Err(_) => {
                        response::text(StatusCode::INTERNAL_SERVER_ERROR, "the servers could not be listed")
                    }
                },
                Err(refused) => *refused,
            },
            _ => response::text(StatusCode::NOT_FOUND, "nothing is here; MCP is at /mcp"),
        }
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
