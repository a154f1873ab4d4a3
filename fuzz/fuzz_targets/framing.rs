//! Any bytes as the body of an HTTP message, and as its headers; what must hold is shared with the tests of the crate.

#![no_main]

#[path = "../../crates/mcp/tests/invariants/mod.rs"]
#[expect(dead_code, reason = "each target uses its own part")]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| invariants::framing_holds(data));
