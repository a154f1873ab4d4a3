//! What is signed: the hash of one action, behind a nonce that is used once.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::digest::{Context, SHA256};
use highwater_notation::{CanonicalArguments, encode_base64url, from_hex, to_hex, vocabulary};
use thiserror::Error;

/// The longest name of a tool.
const MAX_TOOL_NAME: usize = 128;

/// The longest id of an installation.
const MAX_SERVER_ID: usize = 256;

/// What the names of our own actions begin with. No tool of a server has a `/` in its name.
const RESERVED: &str = "highwater/";

vocabulary! {
    /// What people sign that is no call of a tool.
    ReservedAction {
        /// A further passkey.
        Enroll = "enroll",
        /// A mandate for work without a person.
        Delegate = "delegate",
        /// A change of the policy.
        Policy = "policy",
        /// Starting over after all passkeys were lost.
        Recover = "recover",
        /// Reading a resource.
        ReadResource = "read-resource",
        /// Getting a prompt.
        GetPrompt = "get-prompt",
        /// Letting a reply out.
        Release = "release",
        /// Asking a server that verifies approvals itself for a challenge.
        Challenge = "challenge",
    }
}

/// The name of a tool as the client calls it, or of an action of our own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ToolName(Arc<str>);

/// The id of one installation: unique among all that a credential may be enrolled with, and the same after a restart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServerId(Arc<str>);

/// A name that could blur where one hashed part ends and the next begins (G2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the name cannot be part of a signed action")]
pub struct Unnameable;

/// SHA-256 over tool, canonical arguments and installation (S26).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ActionHash([u8; 32]);

/// Thirty-two random bytes, drawn by whoever issues the challenge and never again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nonce(pub [u8; 32]);

/// The bytes that the authenticator signs: nonce and action (S27).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct WireChallenge([u8; 64]);

// === impl ToolName ===

impl ToolName {
    /// The name of a tool, in the letters that the protocol allows.
    pub fn exposed(name: &str) -> Result<Self, Unnameable> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        if (1..=MAX_TOOL_NAME).contains(&name.len()) && name.bytes().all(allowed) {
            Ok(Self(name.into()))
        } else {
            Err(Unnameable)
        }
    }

    /// An action of our own.
    pub fn reserved(action: ReservedAction) -> Self {
        Self(format!("{RESERVED}{action}").into())
    }

    /// Either of them, as a receipt has it.
    pub fn parse(name: &str) -> Result<Self, Unnameable> {
        match name.strip_prefix(RESERVED) {
            Some(rest) => ReservedAction::ALL
                .iter()
                .find(|action| action.as_str() == rest)
                .map(|action| Self::reserved(*action))
                .ok_or(Unnameable),
            None => Self::exposed(name),
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

// === impl ServerId ===

impl ServerId {
    /// Takes an id that can be hashed.
    pub fn new(id: &str) -> Result<Self, Unnameable> {
        if (1..=MAX_SERVER_ID).contains(&id.len()) && !id.contains('\0') {
            Ok(Self(id.into()))
        } else {
            Err(Unnameable)
        }
    }

    /// The id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

// === impl ActionHash ===

impl ActionHash {
    /// The hash of one action at one installation.
    pub fn of(tool: &ToolName, arguments: &CanonicalArguments, server: &ServerId) -> Self {
        let mut context = Context::new(&SHA256);
        for part in [tool.as_str(), "\0", arguments.as_str(), "\0", server.as_str()] {
            context.update(part.as_bytes());
        }
        let mut bytes = [0; 32];
        bytes.copy_from_slice(context.finish().as_ref());
        Self(bytes)
    }

    /// The hash itself.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Reads the hexadecimal form.
    pub fn parse(text: &str) -> Option<Self> {
        from_hex(text).map(Self)
    }
}

impl From<[u8; 32]> for ActionHash {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for ActionHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&to_hex(&self.0))
    }
}

impl fmt::Debug for ActionHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

// === impl WireChallenge ===

impl WireChallenge {
    /// A challenge for one action.
    pub fn new(nonce: Nonce, action: ActionHash) -> Self {
        let mut bytes = [0; 64];
        let (front, back) = bytes.split_at_mut(32);
        front.copy_from_slice(&nonce.0);
        back.copy_from_slice(&action.0);
        Self(bytes)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }

    /// The nonce in it.
    pub fn nonce(&self) -> Nonce {
        let mut nonce = [0; 32];
        nonce.copy_from_slice(self.0.split_at(32).0);
        Nonce(nonce)
    }

    /// The action in it.
    pub fn action(&self) -> ActionHash {
        let mut action = [0; 32];
        action.copy_from_slice(self.0.split_at(32).1);
        ActionHash(action)
    }

    /// As the wire has it: 86 letters.
    pub fn to_base64url(self) -> String {
        encode_base64url(&self.0)
    }
}

impl From<[u8; 64]> for WireChallenge {
    fn from(bytes: [u8; 64]) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for WireChallenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&to_hex(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(tool: &str, arguments: Option<&str>) -> String {
        let server = ServerId::new("3f1c1f2e-9d0a-4d53-8a6e-6f0f6b7e0001").unwrap();
        let arguments = CanonicalArguments::read(arguments).unwrap();
        ActionHash::of(&ToolName::exposed(tool).unwrap(), &arguments, &server).to_string()
    }

    #[test]
    fn s26_the_action_hash_has_the_known_answers() {
        assert_eq!(
            hash("delete_resource", Some(r#"{"resourceId":"abc123"}"#)),
            "34cc57c0e5b72693ed441a0a46f95788637bed26c9e037f87aac9681619cb55a"
        );
        for empty in [None, Some("{}")] {
            assert_eq!(
                hash("delete_resource", empty),
                "5409d009f2ae0eef2e89a83b39adfc606998a3ddf06fc90a34a0774f3cf4c245"
            );
        }
        assert_eq!(
            hash("github__delete_repo", Some(r#"{"z":"e\u0301\ud83d\ude00","n":1.0,"a":[0.5,-0]}"#)),
            "788fe2348486b0aa245fea2526503093b1e5e586f2bbd943edb185850b1e52b9"
        );
    }

    #[test]
    fn s27_a_challenge_is_nonce_and_action_in_86_letters() {
        let challenge = WireChallenge::new(Nonce([7; 32]), ActionHash([9; 32]));
        assert_eq!(challenge.as_bytes(), [[7; 32], [9; 32]].concat().as_slice());
        assert_eq!(challenge.to_base64url().len(), 86);
        assert_eq!((challenge.nonce(), challenge.action()), (Nonce([7; 32]), ActionHash([9; 32])));
    }

    #[test]
    fn s35_two_installations_have_two_hashes_of_one_call() {
        let (tool, arguments) = (ToolName::exposed("t").unwrap(), CanonicalArguments::read(None).unwrap());
        let of = |id| ActionHash::of(&tool, &arguments, &ServerId::new(id).unwrap());
        assert_ne!(of("a"), of("b"));
    }

    #[test]
    fn g02_no_name_can_move_the_border_between_two_parts() {
        let long = "x".repeat(129);
        for bad in ["", "a\0b", "a b", "a/b", "highwater/enroll", "é", long.as_str()] {
            assert_eq!(ToolName::exposed(bad), Err(Unnameable), "{bad}");
        }
        assert!(ToolName::exposed("files.write-2_x").is_ok());
        for bad in ["", "a\0b"] {
            assert_eq!(ServerId::new(bad), Err(Unnameable));
        }
        // A zero in the arguments is written out, so none stands in what is hashed.
        assert!(!CanonicalArguments::read(Some(r#"{"a":"\u0000"}"#)).unwrap().as_str().contains('\0'));
    }

    #[test]
    fn our_own_actions_have_names_that_no_tool_can_have() {
        for action in ReservedAction::ALL {
            let name = ToolName::reserved(*action);
            assert_eq!(ToolName::parse(name.as_str()), Ok(name.clone()));
            assert_eq!(ToolName::exposed(name.as_str()), Err(Unnameable));
        }
        assert_eq!(ToolName::parse("highwater/Enroll"), Err(Unnameable));
        assert_eq!(ToolName::parse("highwater/other"), Err(Unnameable));
    }
}
