//! A request before it is sent: its parameters as the exact text they will have.

use serde_json::{Map, Value};

/// A request to be sent.
#[derive(Clone, Debug)]
pub struct Request {
    pub(super) method: String,
    /// The text of `params` without `_meta`.
    pub(super) params: String,
    pub(super) meta: Map<String, Value>,
    /// Further members of `_meta` as text.
    pub(super) raw_meta: String,
    pub(super) id: Option<String>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) rounds: bool,
}

// === impl Request ===

impl Request {
    pub fn new(method: &str) -> Self {
        Self {
            method: method.to_owned(),
            params: "{}".to_owned(),
            meta: Map::new(),
            raw_meta: String::new(),
            id: None,
            headers: Vec::new(),
            rounds: true,
        }
    }

    /// A call of a tool.
    pub fn call(tool: &str, arguments: &Value) -> Self {
        Self::new("tools/call").params(serde_json::json!({ "name": tool, "arguments": arguments }))
    }

    /// The parameters; their `_meta` is merged with what the era demands.
    pub fn params(mut self, mut params: Value) -> Self {
        if let Value::Object(members) = &mut params
            && let Some(Value::Object(meta)) = members.remove("_meta")
        {
            self.meta.extend(meta);
        }
        self.params = params.to_string();
        self
    }

    /// The parameters as text, sent as they are. They have no `_meta`; it is put in front.
    pub fn raw_params(mut self, params: &str) -> Self {
        self.params = params.to_owned();
        self
    }

    /// A member of `_meta`.
    pub fn meta(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.meta.insert(key.to_owned(), value.into());
        self
    }

    /// Further members of `_meta` as text, such as `"a": 1, "b": 2`, sent as they are.
    pub fn raw_meta(mut self, members: &str) -> Self {
        self.raw_meta = members.to_owned();
        self
    }

    /// Asks for progress under this token.
    pub fn progress(self, token: impl Into<Value>) -> Self {
        self.meta("progressToken", token)
    }

    /// The id, as JSON text: a string has its quotes. Without it, the next number.
    pub fn id(mut self, raw: &str) -> Self {
        self.id = Some(raw.to_owned());
        self
    }

    /// A header for HTTP, in place of what would be sent under its name.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Leaves an `input_required` result to the caller.
    pub fn once(mut self) -> Self {
        self.rounds = false;
        self
    }

    /// The message, with `meta` in front of everything else the parameters say.
    pub(super) fn text(&self, id: &str, meta: &Map<String, Value>) -> String {
        let Self { method, params, raw_meta, .. } = self;
        let method = Value::from(method.as_str());
        let mut metas: Vec<String> =
            meta.iter().map(|(key, value)| format!("{}:{value}", Value::from(key.as_str()))).collect();
        metas.extend((!raw_meta.is_empty()).then(|| raw_meta.clone()));
        let params = match (metas.is_empty(), params.trim_start().strip_prefix('{')) {
            (false, Some(members)) => {
                let comma = if members.trim_start().starts_with('}') { "" } else { "," };
                format!(r#"{{"_meta":{{{}}}{comma}{members}"#, metas.join(","))
            }
            _ => params.clone(),
        };
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#)
    }

    /// What `Mcp-Name` says of this request.
    pub(super) fn name(&self) -> Option<String> {
        let member = match self.method.as_str() {
            "tools/call" | "prompts/get" => "name",
            "resources/read" => "uri",
            "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
            _ => return None,
        };
        let params: Named = serde_json::from_str(&self.params).ok()?;
        match member {
            "name" => params.name,
            "uri" => params.uri,
            _ => params.task_id,
        }
    }
}

#[derive(serde::Deserialize)]
struct Named {
    name: Option<String>,
    uri: Option<String>,
    #[serde(rename = "taskId")]
    task_id: Option<String>,
}
