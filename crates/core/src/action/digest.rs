//! The digest that binds a permit to its action: SHA-256 over the exact bytes.

use std::fmt;

use aws_lc_rs::digest::{Context, SHA256, digest};
use highwater_notation::{from_hex, to_hex};
use serde::{Serialize, Serializer};

use super::ActionKind;
use crate::id::UpstreamId;

/// Parameters up to this length are copied to be digested with what stands before them: that costs less than a second
/// update.
const TOGETHER: usize = 4096;

/// SHA-256 over kind, upstream, method, target and parameters, each with its length in front.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ActionDigest([u8; 32]);

// === impl ActionDigest ===

impl ActionDigest {
    pub(super) fn of(
        kind: ActionKind,
        upstream: &UpstreamId,
        method: &str,
        target: &str,
        params: &str,
    ) -> Self {
        // Everything but the parameters is short: gathered first, so that two updates do, or one where the parameters
        // are short, too.
        let names = [upstream.as_str(), method, target];
        let together = params.len() <= TOGETHER;
        let room = names.iter().map(|name| name.len() + 8).sum::<usize>() + 9;
        let mut head = Vec::with_capacity(room + if together { params.len() } else { 0 });
        head.push(kind as u8);
        for name in names {
            // The length in front keeps two different splits of the same text apart.
            head.extend_from_slice(&(name.len() as u64).to_be_bytes());
            head.extend_from_slice(name.as_bytes());
        }
        head.extend_from_slice(&(params.len() as u64).to_be_bytes());
        let digest = if together {
            head.extend_from_slice(params.as_bytes());
            digest(&SHA256, &head)
        } else {
            let mut context = Context::new(&SHA256);
            context.update(&head);
            context.update(params.as_bytes());
            context.finish()
        };
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest.as_ref());
        Self(bytes)
    }

    /// The digest itself.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Reads the hexadecimal form.
    pub fn parse(text: &str) -> Option<Self> {
        from_hex(text).map(Self)
    }
}

impl fmt::Display for ActionDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ActionDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for ActionDigest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&to_hex(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::Action;

    fn digest_of(upstream: &str, method: &str, target: &str, params: &str) -> String {
        Action::new(ActionKind::CallTool, UpstreamId::new(upstream), method, target, params)
            .digest()
            .to_string()
    }

    #[test]
    fn two_splits_of_the_same_text_have_two_digests() {
        assert_ne!(digest_of("a", "bc", "d", "{}"), digest_of("ab", "c", "d", "{}"));
        assert_ne!(digest_of("a", "b", "cd", "{}"), digest_of("a", "bc", "d", "{}"));
    }

    #[test]
    fn one_changed_byte_of_the_parameters_changes_the_digest() {
        assert_ne!(digest_of("a", "b", "c", r#"{"n":1}"#), digest_of("a", "b", "c", r#"{"n":2}"#));
        assert_ne!(digest_of("a", "b", "c", r#"{"n":1}"#), digest_of("a", "b", "c", r#"{"n": 1}"#));
    }

    #[test]
    fn the_serialised_form_is_the_displayed_form() {
        let action = Action::new(ActionKind::CallTool, UpstreamId::new("a"), "b", "c", "{}");
        let json = serde_json::to_string(&action.digest()).unwrap();
        assert_eq!(json, format!("\"{}\"", action.digest()));
    }

    #[test]
    fn long_parameters_are_digested_as_short_ones_are() {
        for length in [0, 1, TOGETHER - 1, TOGETHER, TOGETHER + 1, 3 * TOGETHER] {
            let params = "x".repeat(length);
            let mut whole = vec![ActionKind::CallTool as u8];
            for part in ["a", "b", "c", &params] {
                whole.extend_from_slice(&(part.len() as u64).to_be_bytes());
                whole.extend_from_slice(part.as_bytes());
            }
            assert_eq!(digest_of("a", "b", "c", &params), to_hex(digest(&SHA256, &whole).as_ref()));
        }
    }
}
