//! The shapes of the two protocol eras: how a request says which one it speaks, and what an answer must
//! carry because of it.

use serde_json::{Map, Value, json};

use super::story::Level;

/// The version without sessions, in which every request describes itself.
pub(crate) const MODERN: &str = "2026-07-28";

/// The versions that begin with `initialize`, newest first.
pub(crate) const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The one version in which a message may be an array of messages.
pub(crate) const BATCHING: &str = "2025-03-26";

pub(crate) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const LOG_LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";
pub(crate) const SERVER_INFO_KEY: &str = "io.modelcontextprotocol/serverInfo";
pub(crate) const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";
pub(crate) const RESOLUTION_KEY: &str = "io.modelcontextprotocol/tool-resolution";

/// Keys that only a modern request carries. One of them without the version is a modern request with a
/// mistake in it, not a legacy one.
const MODERN_KEYS: [&str; 4] =
    [VERSION_KEY, CAPABILITIES_KEY, LOG_LEVEL_KEY, "io.modelcontextprotocol/clientInfo"];

/// Methods that exist in the modern era alone, so that a request for one is judged by its rules.
const MODERN_METHODS: [&str; 2] = ["server/discover", "subscriptions/listen"];

/// Which rules a request is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// Versions with a handshake.
    Legacy,
    /// Versions without one.
    Modern,
}

/// A request whose frame is sound.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) id: Value,
    pub(crate) method: String,
    pub(crate) params: Map<String, Value>,
    pub(crate) era: Era,
}

/// An answer that is a JSON-RPC error.
#[derive(Debug)]
pub(crate) struct RpcError {
    code: i32,
    message: String,
    data: Option<Value>,
}

/// How long a result may be kept, and by whom.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cache {
    /// Not the kind of result that says so.
    Silent,
    /// The same for everybody for as long as the process lives.
    Definition,
    /// Somebody's data, which may change at any time.
    Contents,
}

// === impl Request ===

impl Request {
    /// Reads params and era. `method` and `id` have been found sound by the caller.
    pub(crate) fn new(id: Value, method: &str, params: Option<Value>) -> Result<Self, RpcError> {
        let params = match params {
            None => Map::new(),
            Some(Value::Object(params)) => params,
            Some(_) => return Err(RpcError::params("`params` must be an object")),
        };
        let meta = params.get("_meta");
        if meta.is_some_and(|meta| !meta.is_object()) {
            return Err(RpcError::params("`params._meta` must be an object"));
        }
        let modern = MODERN_METHODS.contains(&method)
            || MODERN_KEYS.iter().any(|key| meta.and_then(|meta| meta.get(key)).is_some());
        let era = if modern { Era::Modern } else { Era::Legacy };
        Ok(Self { id, method: method.to_owned(), params, era })
    }

    /// The rules of the modern era for what every request must carry.
    pub(crate) fn check_modern(&self) -> Result<(), RpcError> {
        match self.meta(VERSION_KEY) {
            Some(Value::String(version)) if version == MODERN => {}
            Some(Value::String(version)) => return Err(RpcError::unsupported_version(version)),
            _ => {
                return Err(RpcError::params(format!("`params._meta[\"{VERSION_KEY}\"]` must be a version")));
            }
        }
        match self.meta(CAPABILITIES_KEY) {
            Some(Value::Object(_)) => Ok(()),
            _ => Err(RpcError::params(format!("`params._meta[\"{CAPABILITIES_KEY}\"]` must be an object"))),
        }
    }

    /// One member of the request's metadata.
    pub(crate) fn meta(&self, key: &str) -> Option<&Value> {
        self.params.get("_meta").and_then(|meta| meta.get(key))
    }

    /// The token under which the client wants progress.
    pub(crate) fn progress_token(&self) -> Option<&Value> {
        self.meta("progressToken").filter(|token| token.is_string() || token.is_number())
    }

    /// A text that the method requires.
    pub(crate) fn text(&self, name: &str) -> Result<&str, RpcError> {
        self.params
            .get(name)
            .and_then(Value::as_str)
            .ok_or_else(|| RpcError::params(format!("`params.{name}` must be a string")))
    }

    /// The `arguments` of a tool or a prompt; none are as good as empty ones.
    pub(crate) fn arguments(&self) -> Result<Map<String, Value>, RpcError> {
        match self.params.get("arguments") {
            None => Ok(Map::new()),
            Some(Value::Object(arguments)) => Ok(arguments.clone()),
            Some(_) => Err(RpcError::params("`params.arguments` must be an object")),
        }
    }

    /// The level from which this modern request wants log messages.
    pub(crate) fn log_level(&self) -> Result<Option<Level>, RpcError> {
        self.meta(LOG_LEVEL_KEY).map(level).transpose()
    }
}

/// Reads a log level.
pub(crate) fn level(value: &Value) -> Result<Level, RpcError> {
    serde_json::from_value(value.clone()).map_err(|_| RpcError::params(format!("unknown log level {value}")))
}

// === impl RpcError ===

impl RpcError {
    fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The text is not JSON.
    pub(crate) fn parse(why: impl Into<String>) -> Self {
        Self::new(-32700, why)
    }

    /// The JSON is not a message.
    pub(crate) fn invalid(why: impl Into<String>) -> Self {
        Self::new(-32600, why)
    }

    /// The message asks for something that does not exist here.
    pub(crate) fn method(method: &str) -> Self {
        Self::new(-32601, format!("unknown method `{method}`"))
    }

    /// The message asks in a way that cannot be answered.
    pub(crate) fn params(why: impl Into<String>) -> Self {
        Self::new(-32602, why)
    }

    /// The server failed.
    pub(crate) fn internal(why: impl Into<String>) -> Self {
        Self::new(-32603, why)
    }

    /// The two eras number a missing resource differently.
    pub(crate) fn no_resource(era: Era, uri: &str) -> Self {
        let code = match era {
            Era::Legacy => -32002,
            Era::Modern => -32602,
        };
        Self { data: Some(json!({ "uri": uri })), ..Self::new(code, format!("unknown resource `{uri}`")) }
    }

    /// The request needs an extension that the client did not declare.
    pub(crate) fn missing_extension(key: &str) -> Self {
        let data = json!({ "requiredCapabilities": { "extensions": { key: {} } } });
        Self { data: Some(data), ..Self::new(-32021, format!("the client did not declare `{key}`")) }
    }

    fn unsupported_version(requested: &str) -> Self {
        let data = json!({ "supported": supported_versions(), "requested": requested });
        Self { data: Some(data), ..Self::new(-32022, format!("unsupported protocol version `{requested}`")) }
    }

    /// The message on the wire; without an id where the request's own could not be read.
    pub(crate) fn into_message(self, id: Option<Value>) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let (Some(data), Value::Object(members)) = (self.data, &mut error) {
            members.insert("data".into(), data);
        }
        let mut message = json!({ "jsonrpc": "2.0", "error": error });
        if let (Some(id), Value::Object(members)) = (id, &mut message) {
            members.insert("id".into(), id);
        }
        message
    }
}

/// Every version this server speaks, modern first.
pub(crate) fn supported_versions() -> Vec<&'static str> {
    std::iter::once(MODERN).chain(LEGACY).collect()
}

/// The message that carries a result, completed with what its era demands.
pub(crate) fn result_message(
    id: &Value,
    era: Era,
    mut result: Value,
    cache: Cache,
    server_info: &Value,
) -> Value {
    if let (Era::Modern, Value::Object(members)) = (era, &mut result) {
        members.insert("resultType".into(), json!("complete"));
        let meta = members.entry("_meta").or_insert_with(|| json!({}));
        if let Value::Object(meta) = meta {
            meta.insert(SERVER_INFO_KEY.into(), server_info.clone());
        }
        let (ttl, scope) = match cache {
            Cache::Silent => return json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Cache::Definition => (3_600_000, "public"),
            Cache::Contents => (0, "private"),
        };
        members.insert("ttlMs".into(), json!(ttl));
        members.insert("cacheScope".into(), json!(scope));
    }
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

/// A notification.
pub(crate) fn notification(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}
