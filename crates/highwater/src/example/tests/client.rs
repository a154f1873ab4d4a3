//! A client for tests: sends lines, sorts what comes back.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::example::server::Server;
use crate::example::{ExampleArgs, ExampleServer, Switch, open};

/// One conversation with an example server in this process.
pub(crate) struct Client {
    server: Server,
    era: ClientEra,
    next_id: u64,
    /// What arrived beside the answer to the last request.
    pub(crate) notifications: Vec<Value>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientEra {
    Legacy,
    Modern,
}

pub(crate) const BOTH: [ClientEra; 2] = [ClientEra::Legacy, ClientEra::Modern];

/// The arguments of a server with all defaults.
pub(crate) fn plain() -> ExampleArgs {
    ExampleArgs { data: None, result_labels: Switch::On, resolve: false, split_tools: false }
}

/// The arguments of a server that keeps its data.
pub(crate) fn kept(directory: &Path) -> ExampleArgs {
    ExampleArgs { data: Some(directory.to_owned()), ..plain() }
}

/// What a modern request carries.
pub(crate) fn modern_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {
            "extensions": { "io.modelcontextprotocol/tool-resolution": {} }
        }
    })
}

impl Client {
    pub(crate) fn legacy(which: ExampleServer, args: &ExampleArgs) -> Self {
        let mut client = Self::raw(which, args);
        client.era = ClientEra::Legacy;
        let info = json!({ "name": "test", "version": "1" });
        client.ask(
            "initialize",
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info }),
        );
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    pub(crate) fn modern(which: ExampleServer, args: &ExampleArgs) -> Self {
        Self::raw(which, args)
    }

    pub(crate) fn of(era: ClientEra, which: ExampleServer, args: &ExampleArgs) -> Self {
        match era {
            ClientEra::Legacy => Self::legacy(which, args),
            ClientEra::Modern => Self::modern(which, args),
        }
    }

    /// A client that has not said anything yet.
    fn raw(which: ExampleServer, args: &ExampleArgs) -> Self {
        let server = open(which, args).unwrap();
        Self { server, era: ClientEra::Modern, next_id: 1, notifications: Vec::new() }
    }

    pub(crate) fn send(&mut self, message: &Value) -> Vec<Value> {
        self.server.receive(message.to_string().as_bytes())
    }

    pub(crate) fn send_text(&mut self, text: &str) -> Vec<Value> {
        self.server.receive(text.as_bytes())
    }

    pub(crate) fn close(&mut self) -> Vec<Value> {
        self.server.close()
    }

    /// Sends a request with the metadata of the era and gives the whole answer.
    pub(crate) fn request(&mut self, method: &str, mut params: Value) -> Value {
        let id = self.next_id;
        self.next_id += 1;
        if self.era == ClientEra::Modern {
            let Value::Object(own) = modern_meta() else { panic!("an object") };
            let members = params.as_object_mut().unwrap();
            let meta = members.entry("_meta").or_insert_with(|| Value::Object(Map::new()));
            meta.as_object_mut().unwrap().extend(own);
        }
        let sent = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let mut messages = self.send(&sent);
        let answer = messages.pop().expect("an answer");
        assert_eq!(answer["id"], json!(id), "the answer comes last: {answer}");
        assert_eq!(answer["jsonrpc"], "2.0");
        self.notifications = messages;
        answer
    }

    /// The result of a request that succeeds.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.request(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        let result = answer["result"].take();
        if self.era == ClientEra::Modern {
            assert_eq!(result["resultType"], "complete", "{method}");
            assert!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"].is_string(), "{method}");
        } else {
            assert!(result.get("resultType").is_none(), "{method}");
        }
        result
    }

    /// The error of a request that fails.
    pub(crate) fn fail(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.request(method, params);
        assert!(answer.get("result").is_none(), "{method}: {answer}");
        answer["error"].take()
    }

    /// The whole result of a tool that does what it is asked.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert_eq!(result["isError"], false, "{tool}: {result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), result["structuredContent"], "{tool}");
        result
    }

    /// The structured content of a tool that does what it is asked.
    pub(crate) fn data(&mut self, tool: &str, arguments: Value) -> Value {
        self.call(tool, arguments)["structuredContent"].take()
    }

    /// What the reply of a tool says about its data.
    pub(crate) fn label(&mut self, tool: &str, arguments: Value) -> Value {
        self.call(tool, arguments)["_meta"]["annotations"].take()
    }

    /// The text of a tool that refuses.
    pub(crate) fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert_eq!(result["isError"], true, "{tool}: {result}");
        assert!(result.get("structuredContent").is_none());
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// The annotations that `tools/resolve` gives in the client's era.
    pub(crate) fn resolved(&mut self, tool: &str, arguments: Value) -> Value {
        let mut result = self.ask("tools/resolve", json!({ "name": tool, "arguments": arguments }));
        match self.era {
            ClientEra::Legacy => result["tool"]["annotations"].take(),
            ClientEra::Modern => result["annotations"].take(),
        }
    }
}
