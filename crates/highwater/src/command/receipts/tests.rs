//! One changed byte anywhere fails, and the part that is named is one that the byte belongs to.

use highwater_passkey::Algorithm;
use highwater_receipts::{AuditorSecret, Expected};
use highwater_testkit::passkey::{ORIGIN, Passkey, RP_ID};
use highwater_testkit::receipts::Notary;

use super::verify::{Verification, check_all};

fn checked(text: &str, expected: &Expected<'_>) -> Verification {
    check_all(&[("receipt.json:1".to_owned(), text.to_owned())], expected, None)
}

fn part(verification: &Verification) -> Option<&'static str> {
    verification.receipts.first().unwrap().fault().map(|(part, _)| part)
}

#[test]
fn every_changed_byte_of_a_receipt_fails_and_names_its_part() {
    for algorithm in [Algorithm::Es256, Algorithm::EdDsa, Algorithm::Rs256] {
        let (mut notary, passkey) = (Notary::new(RP_ID, ORIGIN), Passkey::new(algorithm));
        let text = notary.receipt(&passkey, "files__delete", r#"{"n":1,"path":"a"}"#).to_text();
        let (key, enrollments) = (notary.key(), [Notary::enrolled(&passkey)]);
        let expected = Expected {
            rp_id: RP_ID,
            origins: &[ORIGIN],
            gateway_key: Some(&key),
            enrollments: Some(&enrollments),
            auditor: None,
            opened: &[],
        };
        assert_eq!(checked(&text, &expected).fault(), None);
        let within = |key: &str, at: usize| {
            let start = text.find(&format!("\"{key}\":\"")).unwrap() + key.len() + 4;
            let end = start + text.get(start..).unwrap().find('"').unwrap();
            (start..end).contains(&at)
        };
        for at in 0..text.len() {
            for flip in [0x01, 0x20] {
                let mut bytes = text.clone().into_bytes();
                *bytes.get_mut(at).unwrap() ^= flip;
                let changed = String::from_utf8_lossy(&bytes);
                let verification = checked(&changed, &expected);
                let named = part(&verification).unwrap_or_else(|| panic!("byte {at} of {text} may change"));
                // A byte that leaves a receipt behind is told by what it belongs to, not by the gateway's signature alone.
                if named != "form" {
                    for (field, parts) in [
                        ("clientDataJSON", &["client-data", "signature"][..]),
                        ("authenticatorData", &["authenticator-data", "signature"]),
                        ("signature", &["signature"]),
                        ("publicKeyCose", &["signature", "enrollment"]),
                        ("credentialId", &["enrollment"]),
                        ("toolName", &["action", "client-data"]),
                        ("canonicalArguments", &["action", "client-data"]),
                        ("displayText", &["display-text"]),
                        ("gatewaySig", &["gateway-signature"]),
                        ("caller", &["gateway-signature"]),
                    ] {
                        if within(field, at) {
                            assert!(parts.contains(&named), "byte {at} of `{field}` is told as {named}");
                        }
                    }
                }
            }
        }
        for cut in 0..text.len() {
            assert!(
                checked(text.get(..cut).unwrap_or_default(), &expected).fault().is_some(),
                "cut at {cut}"
            );
        }
        assert_eq!(part(&checked(&format!("{text} "), &expected)), Some("form"));
        assert_eq!(part(&checked(&format!(" {text}"), &expected)), Some("form"));
    }
}

#[test]
fn every_changed_byte_of_a_sealed_receipt_fails_and_names_its_part() {
    let (mut notary, passkey) = (Notary::new(RP_ID, ORIGIN), Passkey::new(Algorithm::Es256));
    let auditor = AuditorSecret::new([5; 32]);
    notary.seal_for(auditor.public().unwrap());
    let text = notary.receipt(&passkey, "files__delete", r#"{"n":1,"path":"a"}"#).to_text();
    let expected = Expected {
        rp_id: RP_ID,
        origins: &[ORIGIN],
        gateway_key: None,
        enrollments: None,
        auditor: Some(&auditor),
        opened: &[],
    };
    assert_eq!(checked(&text, &expected).fault(), None);
    // Even where nobody knows the gateway's key: what is sealed is told by itself.
    for (field, part_of) in [
        ("canonicalArguments", "action"),
        ("displayText", "display-text"),
        ("nonce", "client-data"),
        ("clientDataJSON", "client-data"),
    ] {
        let before = format!("\"{field}\":{{\"sealed\":\"");
        let start = text.find(&before).unwrap() + before.len();
        let end = start + text.get(start..).unwrap().find('"').unwrap();
        for at in start..end {
            for flip in [0x01, 0x20] {
                let mut bytes = text.clone().into_bytes();
                *bytes.get_mut(at).unwrap() ^= flip;
                let verification = checked(&String::from_utf8_lossy(&bytes), &expected);
                let named =
                    part(&verification).unwrap_or_else(|| panic!("byte {at} of `{field}` may change"));
                assert!(named == part_of || named == "form", "byte {at} of `{field}` is told as {named}");
            }
        }
    }
}

/// D16: whoever verifies on another port than the usual one was told neither what was expected nor what to say.
#[test]
fn a_receipt_of_another_page_says_of_which() {
    let (mut notary, passkey) = (Notary::new(RP_ID, ORIGIN), Passkey::new(Algorithm::Es256));
    let text = notary.receipt(&passkey, "files__delete", r#"{"path":"a"}"#).to_text();
    let verified = |origin: &str| {
        let expected = Expected {
            rp_id: RP_ID,
            origins: &[origin],
            gateway_key: None,
            enrollments: None,
            auditor: None,
            opened: &[],
        };
        checked(&text, &expected).other_origin(&[origin.to_owned()]).map(str::to_owned)
    };
    assert_eq!(verified("http://localhost:1").as_deref(), Some(ORIGIN));
    assert_eq!(verified(ORIGIN), None);
}
