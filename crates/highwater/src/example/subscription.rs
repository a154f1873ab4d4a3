//! Who wants to hear about changed resources: the legacy client by `resources/subscribe`, modern ones by
//! open `subscriptions/listen` streams.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::wire::{
    Cache, Era, Request, RpcError, SERVER_INFO_KEY, SUBSCRIPTION_KEY, notification, result_message,
};

/// Open streams in one process.
const MAX_STREAMS: usize = 64;

/// Resources that one subscriber may watch.
const MAX_WATCHED: usize = 1024;

/// Everybody who listens.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    legacy: BTreeSet<String>,
    streams: Vec<Stream>,
}

/// An open `subscriptions/listen` request.
#[derive(Debug)]
struct Stream {
    id: Value,
    resources: BTreeSet<String>,
    list_changes: bool,
}

// === impl Subscriptions ===

impl Subscriptions {
    /// A handshake begins anew: what an earlier legacy client wanted is over.
    pub(crate) fn forget_legacy(&mut self) {
        self.legacy.clear();
    }

    /// `resources/subscribe`.
    pub(crate) fn watch(&mut self, uri: &str) -> Result<(), RpcError> {
        if self.legacy.len() >= MAX_WATCHED && !self.legacy.contains(uri) {
            return Err(RpcError::params(format!("at most {MAX_WATCHED} resources can be subscribed")));
        }
        self.legacy.insert(uri.to_owned());
        Ok(())
    }

    /// `resources/unsubscribe`.
    pub(crate) fn unwatch(&mut self, uri: &str) {
        self.legacy.remove(uri);
    }

    /// Opens a stream and gives the acknowledgement, which names the part of the wish that is granted:
    /// nothing at a server without resources, because its lists never change.
    pub(crate) fn listen(&mut self, request: &Request, has_resources: bool) -> Result<Value, RpcError> {
        let Some(Value::Object(wish)) = request.params.get("notifications") else {
            return Err(RpcError::params("`params.notifications` must be an object"));
        };
        if self.streams.iter().any(|stream| stream.id == request.id) {
            return Err(RpcError::invalid("this id belongs to a stream that is still open"));
        }
        if self.streams.len() >= MAX_STREAMS {
            return Err(RpcError::params(format!("at most {MAX_STREAMS} streams can be open")));
        }
        for kind in ["toolsListChanged", "promptsListChanged"] {
            wanted(wish, kind)?;
        }
        let list_changes = wanted(wish, "resourcesListChanged")? && has_resources;
        let resources = if has_resources { watched(wish)? } else { BTreeSet::new() };

        let mut granted = Map::new();
        if list_changes {
            granted.insert("resourcesListChanged".into(), json!(true));
        }
        if !resources.is_empty() {
            granted.insert("resourceSubscriptions".into(), json!(resources));
        }
        let stream = Stream { id: request.id.clone(), resources, list_changes };
        let acknowledged =
            stream.message("notifications/subscriptions/acknowledged", json!({ "notifications": granted }));
        self.streams.push(stream);
        Ok(acknowledged)
    }

    /// The client no longer wants a stream. It gets no answer to a request it has taken back.
    pub(crate) fn cancel(&mut self, id: &Value) {
        self.streams.retain(|stream| stream.id != *id);
    }

    /// What to send because a resource has new contents.
    pub(crate) fn updated(&self, uri: &str) -> Vec<Value> {
        let method = "notifications/resources/updated";
        let legacy = self.legacy.contains(uri).then(|| notification(method, json!({ "uri": uri })));
        let modern = self.streams.iter().filter(|stream| stream.resources.contains(uri));
        legacy.into_iter().chain(modern.map(|stream| stream.message(method, json!({ "uri": uri })))).collect()
    }

    /// What to send because the list of resources changed.
    pub(crate) fn list_changed(&self, has_legacy_client: bool) -> Vec<Value> {
        let method = "notifications/resources/list_changed";
        let legacy = has_legacy_client.then(|| notification(method, json!({})));
        let modern = self.streams.iter().filter(|stream| stream.list_changes);
        legacy.into_iter().chain(modern.map(|stream| stream.message(method, json!({})))).collect()
    }

    /// Ends all streams. One page of the specification asks for the notification, another for the result;
    /// a client that knows either sees a clean end.
    pub(crate) fn end_all(&mut self, server_info: &Value) -> Vec<Value> {
        self.legacy.clear();
        let end = |stream: Stream| {
            let cancelled = stream.message(
                "notifications/cancelled",
                json!({ "requestId": stream.id, "reason": "the server ends" }),
            );
            let result = json!({ "_meta": { SUBSCRIPTION_KEY: stream.id, SERVER_INFO_KEY: server_info } });
            [cancelled, result_message(&stream.id, Era::Modern, result, Cache::Silent, server_info)]
        };
        std::mem::take(&mut self.streams).into_iter().flat_map(end).collect()
    }
}

// === impl Stream ===

impl Stream {
    /// A notification on this stream, which is told by the id of the request that opened it.
    fn message(&self, method: &str, mut params: Value) -> Value {
        if let Value::Object(members) = &mut params {
            members.insert("_meta".into(), json!({ SUBSCRIPTION_KEY: self.id }));
        }
        notification(method, params)
    }
}

fn wanted(wish: &Map<String, Value>, kind: &str) -> Result<bool, RpcError> {
    match wish.get(kind) {
        None => Ok(false),
        Some(Value::Bool(wanted)) => Ok(*wanted),
        Some(_) => Err(RpcError::params(format!("`params.notifications.{kind}` must be a boolean"))),
    }
}

fn watched(wish: &Map<String, Value>) -> Result<BTreeSet<String>, RpcError> {
    let fault = || RpcError::params("`params.notifications.resourceSubscriptions` must be a list of URIs");
    let uris = match wish.get("resourceSubscriptions") {
        None => return Ok(BTreeSet::new()),
        Some(Value::Array(uris)) if uris.len() <= MAX_WATCHED => uris,
        Some(_) => return Err(fault()),
    };
    uris.iter().map(|uri| uri.as_str().map(str::to_owned).ok_or_else(fault)).collect()
}
