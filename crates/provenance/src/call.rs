//! A call, as far as the standing of its arguments needs to know it.

use highwater_core::annotation::{ArgumentRole, Destination, Outcome};
use highwater_core::id::UpstreamId;
use serde_json::Value;

/// A call that is judged, was approved or is sent.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// The server it goes to.
    pub server: &'a UpstreamId,
    /// The tool, as its server names it.
    pub tool: &'a str,
    /// The description of the tool, if a person approved it and it has not drifted; its first verb counts.
    pub description: Option<&'a str>,
    /// The arguments, an object.
    pub arguments: &'a Value,
    /// The role of the argument at this pointer (RFC 6901, without its first slash), stated or inferred. Nothing where
    /// nobody knows: then it is a target, or what its own name says.
    pub role: &'a dyn Fn(&str) -> Option<ArgumentRole>,
    /// The JSON Schema of the arguments, as it was approved.
    pub schema: Option<&'a Value>,
    /// Where the arguments may end up.
    pub destination: Destination,
    /// What the call does.
    pub outcome: Outcome,
    /// Whether somebody states that it destroys; a name that says so counts without it.
    pub destructive: bool,
    /// Numbers that the operator bounds, by pointer: above the bound the user must say them.
    pub caps: &'a [(&'a str, f64)],
}
