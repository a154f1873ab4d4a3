//! Starting a child so that its whole tree ends with us.
//!
//! A child is never started directly. Between us and it stands a *guard*: our own executable in its hidden
//! `guard` command, a process of a few pages that adopts every orphan of the tree and ends all of it when the
//! child ends, when we ask for it, and when we die, however we die. See `guard` for that process and `launch`
//! for our side of it.

pub mod guard;
mod launch;
mod resolve;

pub use launch::{Child, Ending, Launch, LaunchError, Pipes, Reins, Searched, is_safe_variable, spawn};
