//! Pins: what a server said of itself and its tools when somebody approved it, and what follows when it says something
//! else. A [`Definition`] is what is compared, a [`Drift`] is what differs, [`stand`] says what follows.

mod canonical;
mod definition;
mod drift;
mod scan;
mod standing;

pub use canonical::{canonical, canonical_value};
pub use definition::{Definition, Part, PartClass, PinDigest, PinKey, PinKind};
pub use drift::{Change, Direction, Drift};
pub use scan::{Concern, ConcernKind, hidden_in, hidden_text, names_in, possible_names, visible};
pub use standing::{Basis, Hold, Pin, PinEntry, Standing, Terms, stand};

#[cfg(test)]
mod tests;
