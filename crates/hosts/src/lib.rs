//! What agent hosts tell through their hooks, what is answered to them, and how they are connected.
//!
//! Everything here is pure: no I/O, no clock, no randomness. The program reads inputs, files and the process
//! table, and does what comes back.
//!
//! **A command hook** (`highwater hook HOST EVENT [OPTIONS]`, see [`command_line`]) reads standard input and hands
//! it to the gateway with the chain of its ancestors. There: [`table::read_payload`], then
//! [`Binding::hear`](binding::Binding::hear) with [`Carrier::Command`](binding::Carrier); its effects are
//! applied to labels before anything is answered. The verdict becomes what is printed by [`answer::answer`], and
//! [`Binding::note_answer`](binding::Binding::note_answer) follows. Every failure, our own deadline
//! ([`HookName::deadlines`](host::HookName::deadlines)) included, is [`answer::failure`].
//!
//! **The hidden tool** ([`table::tool_call::TOOL`]): a request whose `_meta` bears a call id
//! ([`call_meta::read_meta`]) is a model's and is refused as an unknown tool; else
//! [`table::tool_call::read_arguments`], then `hear` with [`Carrier::Tool`](binding::Carrier). The answer is
//! `{}`, as text.
//!
//! **A call of a model**: [`call_meta::read_meta`] (garbled counts as no call id), then
//! [`Binding::bind_call`](binding::Binding::bind_call). Its turn leads to the prompt
//! ([`Binding::prompt`](binding::Binding::prompt)). [`words::words`] says at the first decision that needs them
//! whether that is the user's words: for Claude Code by [`transcript::find_prompt`], for Codex by the origin that
//! was kept with the prompt, and by [`ancestry::ancestry`] of the last command hook of this conversation.
//! Where the answer is [`may_change`](words::NotTheUsers::may_change) it is asked again later.
//!
//! **A conversation that nobody has confirmed**: [`Binding::should_ask`](binding::Binding::should_ask) at the
//! first act that needs its words, [`Binding::confirm`](binding::Binding::confirm) with the person's yes.
//!
//! **`connect` and `disconnect`**: [`connect`]. **`doctor`**: [`sample::payload`] for each of
//! [`connect::installed_hooks`].

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
