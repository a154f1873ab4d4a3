//! A client over HTTP, as small as one can be.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::program::{PATIENCE, Running};

/// A gateway that runs, and what it said about how to reach it.
pub(crate) struct Gateway {
    pub(crate) running: Running,
    pub(crate) words: String,
    client: Client,
}

/// Somebody who knows where the gateway is and has the token for it.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) address: String,
    pub(crate) agent_token: String,
}

pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Gateway {
    /// Reads what `serve` says.
    pub(crate) fn of(running: Running) -> Self {
        let words = running.lines_until("  stop ");
        let address = after(&words, "http://").split('/').next().unwrap().to_owned();
        let agent_token = after(&words, "agent token").split_whitespace().next().unwrap().to_owned();
        Self { running, words, client: Client { address, agent_token } }
    }

    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }
}

impl std::ops::Deref for Gateway {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Client {
    /// Asks in the modern era, which needs no session.
    pub(crate) fn ask(&self, method: &str, params: Value) -> io::Result<Value> {
        let mut params = params;
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let name = params["name"].as_str().map(|name| format!("Mcp-Name: {name}\r\n")).unwrap_or_default();
        let headers = format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}");
        let response = self.send(&headers, Some(&self.agent_token), method, &params)?;
        assert_eq!(response.status, 200, "{}\n{}", response.head, response.body);
        Ok(serde_json::from_str(&response.body).unwrap())
    }

    /// The names of the tools.
    pub(crate) fn tools(&self) -> Vec<String> {
        let reply = self.ask("tools/list", json!({})).unwrap();
        let tools = reply["result"]["tools"].as_array().expect("tools");
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Calls a tool.
    pub(crate) fn call(&self, tool: &str, arguments: &Value) -> Value {
        self.try_call(tool, arguments).unwrap()
    }

    /// Calls a tool of a gateway that may not live to answer.
    pub(crate) fn try_call(&self, tool: &str, arguments: &Value) -> io::Result<Value> {
        let reply = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }))?;
        Ok(reply["result"].clone())
    }

    /// Sends one request.
    pub(crate) fn post(&self, headers: &str, token: Option<&str>, method: &str, params: &Value) -> Response {
        self.send(headers, token, method, params).unwrap()
    }

    fn send(&self, headers: &str, token: Option<&str>, method: &str, params: &Value) -> io::Result<Response> {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{token}{headers}Content-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let Some((head, body)) = answer.split_once("\r\n\r\n") else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        assert!(!head.to_ascii_lowercase().contains("chunked"), "this client cannot read chunks: {head}");
        Ok(Response { status, head: head.to_owned(), body: body.to_owned() })
    }
}

fn after<'t>(text: &'t str, mark: &str) -> &'t str {
    text.split_once(mark).unwrap_or_else(|| panic!("`{mark}` is not in:\n{text}")).1.trim_start()
}
