//! What in a text can lead somebody somewhere: addresses, hosts, accounts, phone numbers and keys, as people write
//! them.
//!
//! An address that is spelled out ("mark at evil dot com") is not found.

mod address;
mod code;

pub(crate) use address::{host_of, mail, page};

/// Something that leads somewhere, in its normal form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Carrier {
    /// A mail address.
    Mail(String),
    /// A host, without `www.`, and what follows it in a URL.
    Page {
        /// The host.
        host: String,
        /// Path, query and fragment; empty where the host stands alone.
        rest: String,
    },
    /// An account, a phone number, a key: letters and digits without what separates them, in lower case.
    Code(String),
}

/// Every carrier in a text, which is composed.
pub(crate) fn carriers(composed: &str) -> Vec<Carrier> {
    let opened = address::open_brackets(composed);
    let (mut found, rest) = address::addresses(&opened);
    code::codes(&rest, &mut found);
    found.sort_unstable();
    found.dedup();
    found
}

/// The value as an account, a phone number or a key, if it is nothing else.
pub(crate) fn code(composed: &str) -> Option<String> {
    let mut found = Vec::new();
    code::codes(composed, &mut found);
    let is_whole =
        |code: &str| composed.chars().filter(|letter| letter.is_alphanumeric()).count() == code.len();
    match found.as_slice() {
        [Carrier::Code(code)] if is_whole(code) => Some(code.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
