//! Verified approval over the wire (SEP-2672), through the shipped program: a client that brings its own signatures, a
//! software passkey, and a server whose journal says what ran. Tests are named after the rules they hold.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod attested;
mod calling;
mod commands;
mod enrolling;
mod listing;
mod reset;
mod stage;
