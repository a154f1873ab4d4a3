//! Any bytes as the body of an HTTP message, and as its headers; what must hold is shared with the tests of the crate.

#![no_main]

#[path = "../../crates/http1/tests/invariants/mod.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| invariants::framing_holds(data));
