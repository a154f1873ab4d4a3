//! Servers held to what was approved: quarantine, rug pulls, and what people decide, through the program itself.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

mod belief;
mod decisions;
mod fields;
mod killed;
mod manifest;
mod occasions;
mod quarantine;
mod refresh;
mod review;
mod rug_pulls;
mod shown;
mod stage;
