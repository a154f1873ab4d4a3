//! The way to a running gateway on the same machine: a socket of the data directory's owner.
//!
//! `hello` is the first line on it, `socket` is where it is, `attend` is the gateway's side of it, with `answer` and
//! `approval_service` for those who only ask and `hook` for events of hosts, and `visit` is the other.

mod ancestors;
pub(crate) mod answer;
mod approvals;
pub(crate) mod attend;
pub(crate) mod hello;
pub(crate) mod hook;
pub(crate) mod socket;
pub(crate) mod visit;
