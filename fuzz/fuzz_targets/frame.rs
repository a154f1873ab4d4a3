//! Any bytes as one message; what must hold is shared with the tests of the crate.

#![no_main]

#[path = "../../crates/mcp/tests/invariants/mod.rs"]
#[expect(dead_code, reason = "each target uses its own half")]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| invariants::frame_holds(data));
