//! The hidden tool: hooks that arrive as calls on the client's own connection. It is in no list, and a call of a model is
//! not served by it.

use highwater_hosts::binding::Carrier;
use highwater_hosts::call_meta::{CallMeta, read_meta};
use highwater_hosts::sample::is_made_up;
use highwater_hosts::table::tool_call::{TOOL, read_arguments};
use highwater_mcp::era::Era;
use highwater_mcp::error_code;
use highwater_mcp::frame::Frame;
use highwater_mcp::method::Method;
use highwater_mcp::text::{quote, unquote};
use serde_json::Value;

use super::HookFault;
use crate::client::Client;
use crate::gateway::Gateway;
use crate::handshake::by_us;

/// Whether a request calls the hidden tool as a hook does. A model's call bears a call id, and goes the way of every
/// unknown tool.
pub(crate) fn is_hidden_tool(method: Option<Method>, frame: &Frame) -> bool {
    method == Some(Method::CallTool)
        && frame.param("name").and_then(unquote).is_some_and(|name| name == TOOL)
        && matches!(meta_of(frame), Ok(meta) if meta.as_ref().is_none_or(|meta| meta.call.is_none()))
}

/// What the `_meta` of a request tells of a host.
pub(super) fn meta_of(frame: &Frame) -> Result<Option<CallMeta>, HookFault> {
    let Some(meta) = frame.param("_meta").and_then(|meta| serde_json::from_str::<Value>(meta).ok()) else {
        return Ok(None);
    };
    Ok(read_meta(&meta)?)
}

impl Gateway {
    /// Answers a call of the hidden tool: an empty object, which means nothing to the host.
    pub(crate) async fn hook_tool(&self, client: &Client, frame: &Frame) -> Vec<u8> {
        let heard = self.hear_tool(client, frame).await;
        let (text, is_error) = match &heard {
            Ok(()) => ("{}".to_owned(), ""),
            Err(fault) => {
                tracing::warn!(%fault, "a hook that came as a call could not be taken in");
                (fault.to_string(), r#","isError":true"#)
            }
        };
        let era = match client.era() {
            Era::Modern => r#","resultType":"complete""#,
            Era::Legacy => "",
        };
        let result = format!(r#"{{"content":[{{"type":"text","text":{}}}]{is_error}{era}}}"#, quote(&text));
        error_code::result_response(frame.id().unwrap_or("null"), &by_us(client.era(), &result))
    }

    async fn hear_tool(&self, client: &Client, frame: &Frame) -> Result<(), HookFault> {
        let arguments = frame.param("arguments").and_then(|text| serde_json::from_str(text).ok());
        let event = read_arguments(&arguments.unwrap_or(Value::Null), meta_of(frame)?.as_ref())?;
        let mut state = self.hosts.state.lock().await;
        if is_made_up(&event.conversation) {
            state.note_made_up(&event);
            return Ok(());
        }
        state.note(&event, None);
        Ok(self.hear(&mut state, &event, Carrier::Tool(self.connection_of(client))).await?)
    }
}
