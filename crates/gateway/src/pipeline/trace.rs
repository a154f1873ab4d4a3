//! What the log says of a call on its way: one span for each, an event for each step. At level `debug`, so off unless it is
//! asked for.

use highwater_mcp::era::Era;
use tracing::field::{Empty, display};
use tracing::{Level, Span};

use super::Arrival;
use super::proposed::Proposed;

/// The span of a call: its method and era from the start; decision, server and tool once they are known.
pub(super) fn span_of(arrival: &Arrival) -> Span {
    let era = match arrival.client.era() {
        Era::Legacy => "legacy",
        Era::Modern => "modern",
    };
    tracing::debug_span!(
        "call",
        method = arrival.frame.method(),
        era,
        decision = Empty,
        server = Empty,
        tool = Empty,
    )
}

/// Notes in the call's span which action is judged. Of a call of several steps it is the latest.
pub(super) fn name(proposed: &Proposed) {
    if tracing::enabled!(Level::DEBUG) {
        let span = Span::current();
        span.record("decision", display(&proposed.decision));
        span.record("server", display(proposed.action.upstream()));
        if let Some(tool) = &proposed.route.tool {
            span.record("tool", display(&tool.shown));
        }
    }
}
