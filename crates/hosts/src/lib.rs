//! What agent hosts tell through their hooks, what is answered to them, and how they are connected.
//!
//! Everything here is pure: no I/O, no clock, no randomness. The program reads inputs, files and the process
//! table, and does what comes back.
//!
//! **A command hook** (`highwater hook HOST EVENT`): [`table::read_payload`] on standard input, then
//! [`Binding::hear`](binding::Binding::hear) in the gateway; the verdict becomes what is printed by
//! [`answer::answer`]. Every failure, the deadline of [`HookName::deadlines`](host::HookName::deadlines)
//! included, is [`answer::failure`].
//!
//! **The hidden tool** ([`table::tool_call::TOOL`]): a request whose `_meta` bears a call id
//! ([`call_meta::read_meta`]) is a model's and is refused; else [`table::tool_call::read_arguments`], then
//! `hear` with the connection as carrier.
//!
//! **A call of a model**: [`call_meta::read_meta`], then
//! [`Binding::bind_call`](binding::Binding::bind_call). Its turn leads to the prompt
//! ([`Binding::prompt`](binding::Binding::prompt)), and [`words::words`] says at the first decision that needs
//! them whether that is the user's words, by [`transcript::find_prompt`] and [`ancestry::ancestry`].
//!
//! **`connect` and `disconnect`**: [`connect`].

pub mod ancestry;
pub mod answer;
pub mod binding;
pub mod call_meta;
pub mod command_line;
pub mod connect;
pub mod event;
pub mod host;
mod payload;
pub mod sample;
pub mod table;
pub mod transcript;
pub mod words;

pub use payload::{EventError, MAX_PAYLOAD};
