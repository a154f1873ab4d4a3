//! JSON-RPC error codes, and the few messages the gateway writes itself.

use crate::text::quote_into;

/// The bytes are not JSON.
pub const PARSE_ERROR: i64 = -32700;
/// The JSON is not a message.
pub const INVALID_REQUEST: i64 = -32600;
/// Nobody serves this method.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The parameters do not fit the method.
pub const INVALID_PARAMS: i64 = -32602;
/// The fault is ours.
pub const INTERNAL_ERROR: i64 = -32603;

/// A verified approval was rejected. Only for the methods and evidence of that extension, always with
/// `data.reason`: elsewhere the number means other things.
pub const APPROVAL_REJECTED: i64 = -32001;
/// No such resource; legacy versions only.
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// A header is missing or contradicts the body. HTTP 400.
pub const HEADER_MISMATCH: i64 = -32020;
/// The request needs a capability that the client did not declare. HTTP 400.
pub const MISSING_CLIENT_CAPABILITY: i64 = -32021;
/// A protocol version that is not spoken here. HTTP 400.
pub const UNSUPPORTED_PROTOCOL_VERSION: i64 = -32022;
/// A URL has to be visited first; version `2025-11-25` only.
pub const URL_ELICITATION_REQUIRED: i64 = -32042;

/// Refused by policy or flow.
pub const REFUSED: i64 = 403_100;
/// Needs an approval; `data.approvalUrl` says where.
pub const NEEDS_APPROVAL: i64 = 403_101;
/// The approval was declined or has expired.
pub const APPROVAL_DECLINED: i64 = 403_102;
/// Quarantined, or changed since it was pinned.
pub const QUARANTINED: i64 = 403_103;
/// Not known to this virtual server or token, whether or not it exists.
pub const UNKNOWN_HERE: i64 = 403_104;
/// The reply is withheld by policy; the call has run.
pub const REPLY_WITHHELD: i64 = 403_105;
/// The token has made as many requests as it may, or as many are under way. HTTP 429.
pub const TOO_MANY_REQUESTS: i64 = 429_100;
/// The upstream cannot be reached or did not start.
pub const UPSTREAM_UNAVAILABLE: i64 = 503_100;
/// The result could not be recorded, labelled or read; the side effect may have happened.
pub const RESULT_WITHHELD: i64 = 503_101;
/// The gateway's own store is away, so nothing was executed. The same request may be tried again.
pub const STORE_UNAVAILABLE: i64 = 503_102;

/// An error response. Without an id it carries `null`. `data` is JSON text.
#[cold]
pub fn error_response(id: Option<&str>, code: i64, message: &str, data: Option<&str>) -> Vec<u8> {
    let mut out = String::with_capacity(96 + message.len() + data.map_or(0, str::len));
    open(&mut out, id.unwrap_or("null"));
    out.push_str(r#","error":{"code":"#);
    out.push_str(&code.to_string());
    out.push_str(r#","message":"#);
    quote_into(&mut out, message);
    if let Some(data) = data {
        out.push_str(r#","data":"#);
        out.push_str(data);
    }
    out.push_str("}}");
    out.into_bytes()
}

/// A response. `id` and `result` are JSON text.
pub fn result_response(id: &str, result: &str) -> Vec<u8> {
    let mut out = String::with_capacity(40 + id.len() + result.len());
    open(&mut out, id);
    out.push_str(r#","result":"#);
    out.push_str(result);
    out.push('}');
    out.into_bytes()
}

/// A request. `id` and `params` are JSON text, `method` is not.
pub fn request(id: &str, method: &str, params: Option<&str>) -> Vec<u8> {
    let mut out = String::with_capacity(56 + id.len() + method.len() + params.map_or(0, str::len));
    open(&mut out, id);
    out.push(',');
    call(&mut out, method, params);
    out.into_bytes()
}

/// A notification. `params` is JSON text, `method` is not.
pub fn notification(method: &str, params: Option<&str>) -> Vec<u8> {
    let mut out = String::with_capacity(48 + method.len() + params.map_or(0, str::len));
    out.push_str(r#"{"jsonrpc":"2.0","#);
    call(&mut out, method, params);
    out.into_bytes()
}

fn open(out: &mut String, id: &str) {
    out.push_str(r#"{"jsonrpc":"2.0","id":"#);
    out.push_str(id);
}

fn call(out: &mut String, method: &str, params: Option<&str>) {
    out.push_str(r#""method":"#);
    quote_into(out, method);
    if let Some(params) = params {
        out.push_str(r#","params":"#);
        out.push_str(params);
    }
    out.push('}');
}

#[cfg(test)]
mod tests;
