//! Issuing a challenge, rule by rule.

use highwater_core::approval::{
    ApprovalReason, AuthenticatorClass, CHALLENGE_LIFETIME_MS, Credential, CredentialStanding, Issued,
    Proposal, issue,
};
use highwater_core::id::{ChallengeId, Principal, UpstreamId, UserId};
use highwater_passkey::{ActionHash, Algorithm, CredentialId, Nonce, ToolName};
use highwater_testkit::passkey::Passkey;

use crate::scene::{NOW, arguments, credential, definition, party, transports};

/// Credentials with these ids and transports, all of one person.
fn credentials(of: &[(u8, &[&str])]) -> Vec<Credential> {
    let passkey = Passkey::new(Algorithm::EdDsa);
    let with = |(id, names): &(u8, &[&str])| Credential {
        id: CredentialId::new([*id]).unwrap(),
        transports: transports(names),
        ..credential(&passkey, "ada")
    };
    of.iter().map(with).collect()
}

fn ask<'a>(
    credentials: &'a [Credential],
    class: AuthenticatorClass,
    gated: bool,
) -> Result<Issued<'a>, ApprovalReason> {
    let proposal = Proposal {
        principal: &Principal::new("agent"),
        user: &UserId::new("ada"),
        tool: &ToolName::exposed("files__delete").unwrap(),
        gated,
        class,
        upstream: Some(&UpstreamId::new("files")),
        definition: Some(definition('a')),
        arguments: &arguments(r#"{"b":1.0,"a":2}"#),
    };
    issue(&proposal, credentials, party().server(), (ChallengeId::new("c"), Nonce([7; 32])), NOW)
}

fn allowed(issued: &Issued<'_>) -> Vec<u8> {
    issued.allowed.iter().map(|credential| credential.id.as_bytes()[0]).collect()
}

#[test]
fn s23_a_tool_that_needs_no_approval_gets_no_challenge() {
    let enrolled = credentials(&[(1, &["usb"])]);
    fn reason(credentials: &[Credential], gated: bool) -> Option<ApprovalReason> {
        ask(credentials, AuthenticatorClass::CrossPlatform, gated).err()
    }
    assert_eq!(reason(&enrolled, false), Some(ApprovalReason::ToolNotApprovedRequired));
    // Fails two: the earlier is told.
    assert_eq!(reason(&[], false), Some(ApprovalReason::ToolNotApprovedRequired));
    assert_eq!(reason(&enrolled, true), None);
}

#[test]
fn s27_s29_s30_a_challenge_holds_what_was_asked_and_ends_after_a_minute() {
    let enrolled = credentials(&[(1, &["usb"])]);
    let record = ask(&enrolled, AuthenticatorClass::CrossPlatform, true).unwrap().record;
    let tool = ToolName::exposed("files__delete").unwrap();
    let action = ActionHash::of(&tool, &arguments(r#"{"a":2,"b":1}"#), party().server());
    assert_eq!((record.wire.nonce(), record.wire.action()), (Nonce([7; 32]), action));
    assert_eq!(record.wire.to_base64url().len(), 86);
    assert_eq!((record.tool, record.arguments.as_str()), (tool, r#"{"a":2,"b":1}"#));
    assert_eq!((record.issued, record.expires.0), (NOW, NOW.0 + CHALLENGE_LIFETIME_MS));
    assert_eq!(CHALLENGE_LIFETIME_MS, 60_000);
    assert!(!record.consumed);
}

#[test]
fn s31_s37_s38_the_browser_is_offered_what_passes_the_class() {
    let enrolled = credentials(&[(1, &["usb"]), (2, &["internal"]), (3, &["internal", "hybrid"]), (4, &[])]);
    let of = |class| allowed(&ask(&enrolled, class, true).unwrap());
    assert_eq!(of(AuthenticatorClass::CrossPlatform), [1, 3]);
    assert_eq!(of(AuthenticatorClass::Platform), [1, 2, 3, 4]);
}

#[test]
fn s32_without_a_credential_that_may_there_is_no_challenge() {
    let none = Some(ApprovalReason::NoEligibleCredential);
    fn reason(credentials: &[Credential]) -> Option<ApprovalReason> {
        ask(credentials, AuthenticatorClass::CrossPlatform, true).err()
    }
    assert_eq!(reason(&[]), none);
    assert_eq!(reason(&credentials(&[(1, &["internal"]), (2, &[])])), none);
    for spoil in [
        (|credential| credential.standing = CredentialStanding::Dormant) as fn(&mut Credential),
        |credential| credential.standing = CredentialStanding::Revoked,
        |credential| credential.user = UserId::new("eve"),
    ] {
        let mut enrolled = credentials(&[(1, &["usb"])]);
        spoil(&mut enrolled[0]);
        assert_eq!(reason(&enrolled), none);
        assert_eq!(ask(&enrolled, AuthenticatorClass::Platform, true).err(), none);
    }
}
