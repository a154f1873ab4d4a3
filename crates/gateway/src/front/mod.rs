//! Where clients connect. Bytes come in, are scanned once, and go on as frames; HTTP types stop here.

pub mod http;
pub mod stdio;

use highwater_config::Settings;
use highwater_mcp::scan::ScanRules;

/// The bounds on what a client may send.
fn client_rules(settings: &Settings) -> ScanRules {
    ScanRules {
        max_bytes: settings.limits.max_message,
        max_depth: settings.limits.max_depth,
        ..ScanRules::FROM_CLIENT
    }
}
