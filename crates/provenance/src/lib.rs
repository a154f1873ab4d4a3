//! Where a value in a call comes from: the user's words, something they name, a reply that no stranger could write, or
//! nowhere.
//!
//! Everything here is pure: no I/O, no clock, no randomness.
//!
//! [`Evidence`] is what one conversation has said and read. Whoever runs the conversation tells it what happens, in
//! this order: [`Evidence::words`] with a prompt, [`Evidence::approved`] when a person said yes to a call,
//! [`Evidence::acted`] when a call that acts is sent, [`Evidence::reply`] after the label of a reply is committed,
//! [`Evidence::lose`] when something was forgotten. [`stand`] asks it about a call; [`Evidence::first_sight`] looks for
//! a value in what was read, for an explanation alone.
//!
//! Replies are kept as they came and read when a call is judged for the first time after them: most calls never ask.

mod act;
mod argument;
mod call;
mod carrier;
mod closed;

mod directory;
mod evidence;
mod kept;
mod language;
mod listed;
mod negation;
mod normal;
mod number;
mod quoted;
mod record;
mod reply;
mod request;
mod sight;
mod significance;
mod standing;
mod text;
mod top_level;
mod value;
mod view;
mod vouch;

pub use call::Call;
pub use directory::{DIRECTORY_ENTRIES, Directory};
pub use evidence::{Evidence, KEPT_BYTES, REMEMBERED_VALUES, SEEN_BYTES};
pub use listed::ListedThing;
pub use reply::{Body, Reply};
pub use request::{OPEN_TURNS, PROMPT_BYTES};
pub use sight::Sight;
pub use standing::stand;
