//! What a passkey is called: by its owner, or else by what is known of it.

use highwater_audit::ApprovalNote;
use highwater_notation::{Timestamp, to_iso};

use super::enroll::enrollment;
use super::{ApprovalFault, ApprovalService, By};

/// How long a name may be. It stands in lists and in a sentence that people sign.
const MAX_LENGTH: usize = 60;

/// How many characters of a time are its day.
const DAY: usize = 10;

/// What a passkey is, by the ways in which it is reached.
pub(crate) fn kind(transports: &[String]) -> &'static str {
    let has = |way: &str| transports.iter().any(|named| named == way);
    if has("hybrid") {
        "Phone or password manager"
    } else if has("usb") || has("nfc") || has("ble") {
        "Security key"
    } else if has("internal") {
        "Built into a device"
    } else {
        "Passkey"
    }
}

/// The name that its owner gave it, or what it is and the day on which it was made.
pub(super) fn name(given: &str, transports: &[String], created: Timestamp) -> String {
    if !given.is_empty() {
        return given.to_owned();
    }
    let made = to_iso(created);
    format!("{}, {}", kind(transports), made.get(..DAY).unwrap_or(&made))
}

/// A name that can stand in one line.
pub(crate) fn parse(text: &str) -> Result<String, ApprovalFault> {
    let name = text.trim();
    let fits = (1..=MAX_LENGTH).contains(&name.chars().count()) && !name.chars().any(char::is_control);
    if fits { Ok(name.to_owned()) } else { Err(ApprovalFault::BadName { most: MAX_LENGTH }) }
}

// === impl ApprovalService ===

impl ApprovalService {
    /// Names a passkey. Its owner may, and the operator.
    pub async fn rename_credential(&self, id: &str, name: &str, by: By<'_>) -> Result<bool, ApprovalFault> {
        let name = parse(name)?;
        let stored = self.credential(id).await?;
        match by {
            By::User(user) if *user != stored.credential.user => return Err(ApprovalFault::NotAsked),
            By::Client(_) => return Err(ApprovalFault::NotAsked),
            By::User(_) | By::Operator(_) => {}
        }
        if !self.store.rename_credential(&stored.credential.id, &name).await? {
            return Ok(false);
        }
        let by = by.words();
        let base = enrollment("renamed-passkey", &by, &stored.credential.user);
        self.record(None, ApprovalNote { credential: Some(id), detail: Some(&name), ..base })?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passkey_that_nobody_named_says_what_it_is_and_since_when() {
        let made = Timestamp(1_794_700_000_000);
        let name_of = |given: &str, ways: &[&str]| {
            let ways: Vec<String> = ways.iter().map(|way| (*way).to_owned()).collect();
            name(given, &ways, made)
        };
        assert_eq!(name_of("", &["usb", "nfc"]), "Security key, 2026-11-14");
        assert_eq!(name_of("", &["internal", "hybrid"]), "Phone or password manager, 2026-11-14");
        assert_eq!(name_of("", &["internal"]), "Built into a device, 2026-11-14");
        assert_eq!(name_of("", &[]), "Passkey, 2026-11-14");
        assert_eq!(name_of("Blue key", &["usb"]), "Blue key");
    }

    #[test]
    fn a_name_is_one_short_line() {
        assert_eq!(parse("  Blue key ").ok().as_deref(), Some("Blue key"));
        for bad in ["", "  ", "a\nb", "a\u{1b}[2J", &"x".repeat(MAX_LENGTH + 1)] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }
}
