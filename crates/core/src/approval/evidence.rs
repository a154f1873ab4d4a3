//! The evidence a client puts beside a call: checks 1 to 3.

use highwater_passkey::{CredentialId, object};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::reason::ApprovalReason;
use crate::id::ChallengeId;

/// The only method there is.
pub const METHOD: &str = "webauthn";

/// Evidence in its shape. Nothing in it is believed yet.
#[derive(Clone, Debug)]
pub struct Evidence {
    challenge: ChallengeId,
    /// Absent if it cannot be read: then no credential is enrolled under it, which is a later check.
    credential: Option<CredentialId>,
    response: Box<str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Shape<'a> {
    method: String,
    challenge_id: String,
    #[serde(borrow)]
    response: &'a RawValue,
}

#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
}

// === impl Evidence ===

impl Evidence {
    /// Reads the value at `params._meta["io.modelcontextprotocol/verified-approval"]`, as JSON text.
    pub fn parse(meta: Option<&str>) -> Result<Self, ApprovalReason> {
        let text = meta.ok_or(ApprovalReason::MissingEvidence)?;
        let shape: Shape<'_> = object(text).ok_or(ApprovalReason::MissingEvidence)?;
        let named: Named<'_> = object(shape.response.get()).ok_or(ApprovalReason::MissingEvidence)?;
        if shape.method != METHOD {
            return Err(ApprovalReason::UnsupportedMethod);
        }
        let id = named.id.and_then(|id| serde_json::from_str::<String>(id.get()).ok());
        Ok(Self {
            challenge: ChallengeId::new(shape.challenge_id),
            credential: id.as_deref().and_then(CredentialId::parse),
            response: shape.response.get().into(),
        })
    }

    /// Evidence that our own page collected.
    pub fn of_page(challenge: ChallengeId, response: &str) -> Result<Self, ApprovalReason> {
        let named: Named<'_> = object(response).ok_or(ApprovalReason::MissingEvidence)?;
        let id = named.id.and_then(|id| serde_json::from_str::<String>(id.get()).ok());
        Ok(Self {
            challenge,
            credential: id.as_deref().and_then(CredentialId::parse),
            response: response.into(),
        })
    }

    /// Which challenge it claims to answer.
    pub fn challenge(&self) -> &ChallengeId {
        &self.challenge
    }

    /// Which credential it claims to be of, if that can be read.
    pub fn credential(&self) -> Option<&CredentialId> {
        self.credential.as_ref()
    }

    /// The response of the authenticator, as received.
    pub(super) fn response(&self) -> &str {
        &self.response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<(), ApprovalReason> {
        Evidence::parse(Some(text)).map(|_| ())
    }

    #[test]
    fn s40_absent_evidence_is_missing() {
        assert_eq!(Evidence::parse(None).map(|_| ()), Err(ApprovalReason::MissingEvidence));
    }

    #[test]
    fn s41_evidence_of_another_shape_is_missing() {
        for text in [
            "null",
            "\"webauthn\"",
            "[]",
            "{}",
            r#"["webauthn","c",{}]"#,
            r#"{"method":"webauthn","challengeId":"c"}"#,
            r#"{"method":"webauthn","response":{}}"#,
            r#"{"challengeId":"c","response":{}}"#,
            r#"{"method":"webauthn","challengeId":7,"response":{}}"#,
            r#"{"method":7,"challengeId":"c","response":{}}"#,
            r#"{"method":"webauthn","challengeId":"c","response":null}"#,
            r#"{"method":"webauthn","challengeId":"c","response":"x"}"#,
            r#"{"method":"webauthn","challengeId":"c","response":[]}"#,
            // Fails 2 and 3; the earlier counts.
            r#"{"method":"x"}"#,
        ] {
            assert_eq!(parse(text), Err(ApprovalReason::MissingEvidence), "{text}");
        }
    }

    #[test]
    fn s42_only_one_method_is_known() {
        for method in ["x", "", "WebAuthn", "webauthn "] {
            let text = format!(r#"{{"method":"{method}","challengeId":"c","response":{{}}}}"#);
            assert_eq!(parse(&text), Err(ApprovalReason::UnsupportedMethod), "{method}");
        }
    }

    #[test]
    fn a_credential_that_cannot_be_read_is_for_a_later_check() {
        for (id, read) in
            [(r#""AQI""#, true), ("7", false), ("null", false), (r#""+""#, false), (r#""""#, false)]
        {
            let text =
                format!(r#"{{"method":"webauthn","challengeId":"c","response":{{"id":{id}}},"more":1}}"#);
            assert_eq!(Evidence::parse(Some(&text)).unwrap().credential().is_some(), read, "{id}");
        }
        let none = r#"{"method":"webauthn","challengeId":"c","response":{}}"#;
        assert_eq!(Evidence::parse(Some(none)).unwrap().credential(), None);
    }
}
