//! The gateway as client of a server that verifies approvals itself (SEP-2672, ruling G17): rules C1 to C16, through the
//! shipped program, over every transport and era. The server's gate is real: it checks every signature.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod detection;
mod evidence;
mod policy;
mod stage;
