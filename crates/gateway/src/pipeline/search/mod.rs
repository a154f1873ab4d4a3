//! Our own tools: finding tools, describing one, and calling one through the variant that the caller takes it for. Finding
//! and describing answer from what is known; calling becomes an ordinary call of the tool, on the one road.

mod arguments;
mod describe;
mod prospect;
mod retrieve;
mod through;

use highwater_config::Expose;
use highwater_mcp::era::Era;
use highwater_mcp::error_code;
use highwater_mcp::method::Method;
use highwater_mcp::text::{quote, unquote};

use super::route::unknown;
use super::{Arrival, Delivery, Refusal, Road};
use crate::catalog::OwnTool;
use crate::handshake::by_us;
use describe::describe;
use retrieve::retrieve;
use through::through;

/// What a request that names a tool is about.
enum Meant {
    /// A server's tool, by its own name.
    Theirs,
    /// One of our own.
    Ours(OwnTool),
    /// A tool that is not offered by its own name here.
    Unoffered,
}

/// What becomes of a request that names a tool.
pub(super) enum Served {
    /// It is a call of a server's tool.
    Call(Arrival),
    /// It asks what would become of one.
    Outlook(Arrival),
    /// One of our own tools has answered.
    Answered(Delivery),
}

/// Serves a request that names a tool where some virtual server offers tools of our own.
pub(super) async fn serve(road: &Road, arrival: Arrival) -> Served {
    let answered = match (meant(&arrival), arrival.method) {
        (Meant::Theirs, method) => return Served::of(method, arrival),
        (Meant::Ours(OwnTool::Call(variant)), method) => match through(road, &arrival) {
            Ok(frame) => return Served::of(method, Arrival { frame, variant: Some(variant), ..arrival }),
            Err(refusal) => Err(refusal),
        },
        (Meant::Ours(OwnTool::Retrieve), Some(Method::CallTool)) => {
            road.router.note(&arrival, "search", None);
            retrieve(road, &arrival).await
        }
        (Meant::Ours(OwnTool::Describe), Some(Method::CallTool)) => describe(road, &arrival).await,
        (Meant::Ours(_) | Meant::Unoffered, _) => {
            let name = arrival.frame.param("name").and_then(unquote);
            road.router.note(&arrival, "unknown-tool", name.as_deref());
            Err(unoffered(&arrival))
        }
    };
    Served::Answered(answered.unwrap_or_else(|refusal| refusal.into_delivery(&arrival)))
}

// === impl Served ===

impl Served {
    fn of(method: Option<Method>, arrival: Arrival) -> Self {
        match method {
            Some(Method::ResolveTool) => Self::Outlook(arrival),
            _ => Self::Call(arrival),
        }
    }
}

fn meant(arrival: &Arrival) -> Meant {
    let server = arrival.world.virtual_server(&arrival.client.caller().virtual_server);
    let expose = server.map_or(Expose::Direct, |server| server.expose);
    if expose == Expose::Direct {
        return Meant::Theirs;
    }
    let Some(name) = arrival.frame.param("name").and_then(unquote) else { return Meant::Theirs };
    match (OwnTool::of_name(&name), expose) {
        (Some(tool), _) => Meant::Ours(tool),
        (None, Expose::Search) => Meant::Unoffered,
        (None, Expose::Direct | Expose::Both) => Meant::Theirs,
    }
}

/// The refusal of a name that leads nowhere.
fn unoffered(arrival: &Arrival) -> Refusal {
    let name = arrival.frame.param("name").and_then(unquote).unwrap_or_default();
    unknown(arrival, "tool", &name)
}

/// An answer of one of our tools: JSON text, as text and as what it is.
fn told(arrival: &Arrival, json: &str) -> Delivery {
    let era = match arrival.client.era() {
        Era::Modern => r#","resultType":"complete""#,
        Era::Legacy => "",
    };
    let text = quote(json);
    let result =
        format!(r#"{{"content":[{{"type":"text","text":{text}}}],"structuredContent":{json}{era}}}"#);
    let result = by_us(arrival.client.era(), &result);
    Delivery::ours(error_code::result_response(arrival.id(), &result), None)
}

/// Whoever asks must be granted the search.
fn granted(arrival: &Arrival, tool: OwnTool) -> Result<(), Refusal> {
    let standing = arrival.client.caller().standing();
    if tool.is_granted(&standing.grant) {
        return Ok(());
    }
    Err(Refusal::ungranted(tool.permission(), tool.name()))
}
