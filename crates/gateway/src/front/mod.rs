//! Where clients connect. Bytes come in, are scanned once, and go on as frames; HTTP types stop here.

pub mod http;
pub mod stdio;

use highwater_config::Settings;
use highwater_mcp::error_code;
use highwater_mcp::scan::{ScanError, ScanRules};
use highwater_mcp::text::quote;

/// The bounds on what a client may send.
fn client_rules(settings: &Settings) -> ScanRules {
    ScanRules {
        max_bytes: settings.limits.max_message,
        max_depth: settings.limits.max_depth,
        ..ScanRules::FROM_CLIENT
    }
}

/// The answer to a message that the scan refused, naming the offending place.
fn scan_refusal(error: &ScanError) -> Vec<u8> {
    let data = format!(r#"{{"path":{}}}"#, quote(&error.path));
    error_code::error_response(error.recovered_id(), error.code(), &error.to_string(), Some(&data))
}
