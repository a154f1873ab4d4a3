//! Where clients connect. Bytes come in, are scanned once, and go on as frames; HTTP types stop here.

pub mod http;
pub mod page;
mod server;
pub mod stdio;

use std::pin::Pin;

use highwater_config::Settings;
use highwater_mcp::error_code;
use highwater_mcp::scan::ScanRules;

use crate::tokens::Busy;

/// The request that stays open for as long as its client listens.
const LISTEN: &str = "subscriptions/listen";

/// A front at work. Boxed: a future is compiled wherever it is awaited, and the road with it; this way, once.
pub type Serving = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The bounds on what a client may send.
pub(crate) fn client_rules(settings: &Settings) -> ScanRules {
    ScanRules {
        max_bytes: settings.limits.max_message,
        max_depth: settings.limits.max_depth,
        ..ScanRules::FROM_CLIENT
    }
}

/// Says that a token has no room for another request, and when to come again.
fn busy_response(id: Option<&str>, busy: &Busy) -> Vec<u8> {
    let data = format!(r#"{{"retryAfterMs":{}}}"#, busy.retry_after.as_millis());
    error_code::error_response(id, error_code::TOO_MANY_REQUESTS, busy.words(), Some(&data))
}
