//! Pins: what a server said of itself and its tools when somebody approved it, and what follows when it says something
//! else. A [`Definition`] is what is compared, a [`Drift`] is what differs, [`stand`] says what follows.

mod definition;
mod drift;
mod manifest;
mod scan;
mod standing;

pub use definition::{Definition, Part, PartClass, PinKey, PinKind, digest_of_all};
pub use drift::{Change, Direction, Drift};
pub use manifest::{
    ContentHash, Envelope, Manifest, ManifestFault, ManifestKey, SignedManifest, signature_header,
    signing_input,
};
pub use scan::{Concern, ConcernKind, hidden_in, hidden_text, names_in, possible_names, visible};
pub use standing::{Basis, Pin, PinEntry, Standing, Terms, stand};

#[cfg(test)]
mod tests;
