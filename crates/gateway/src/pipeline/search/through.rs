//! A call through a variant becomes the call that is meant: the tool's name and its arguments, byte for byte, stand where a
//! client that knows the tool would have put them, and everything else of the request stays as it is.

use highwater_mcp::edit::{Edit, edit_object};
use highwater_mcp::error_code::{self, INVALID_PARAMS};
use highwater_mcp::frame::Frame;
use highwater_mcp::text::quote;

use super::arguments::Given;
use crate::front::client_rules;
use crate::pipeline::{Arrival, Refusal, Road};

/// The request as if the client had called the tool by its own name.
pub(super) fn through(road: &Road, arrival: &Arrival) -> Result<Frame, Refusal> {
    let given = Given::read(arrival, &["name", "arguments"])?;
    let name = given.tool()?;
    call_of(road, arrival, &name, given.object("arguments")?)
}

/// The request as a call of this tool with these arguments.
pub(super) fn call_of(
    road: &Road,
    arrival: &Arrival,
    name: &str,
    arguments: Option<&str>,
) -> Result<Frame, Refusal> {
    let name = quote(name);
    let edits = [("name", Edit::Set(&name)), ("arguments", arguments.map_or(Edit::Remove, Edit::Set))];
    let params = edit_object(arrival.frame.params().unwrap_or("{}"), &edits);
    let method = arrival.frame.method().unwrap_or_default();
    let message = error_code::request(arrival.id(), method, Some(&params));
    // Scanned like everything a client sends: the name of a tool is held to what names are.
    Frame::parse(message.into(), &client_rules(&road.settings.load()))
        .map_err(|error| Refusal::invalid(INVALID_PARAMS, error.to_string()))
}
