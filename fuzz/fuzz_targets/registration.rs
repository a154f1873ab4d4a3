//! Any bytes as one registration; what must hold is shared with the tests of the crate.

#![no_main]

#[path = "../../crates/core/tests/invariants/mod.rs"]
#[expect(dead_code, reason = "each target uses its own part")]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| invariants::registration_holds(data));
