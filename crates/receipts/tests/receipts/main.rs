//! Receipts: one verifies anywhere with the file alone, and one changed byte fails and names its part.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../core/tests/approval/scene.rs"]
#[expect(dead_code, reason = "the tests of the core use the rest")]
mod scene;

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use highwater_notation::{CanonicalArguments, Timestamp, encode_base64url, to_iso};
use highwater_passkey::{ActionHash, Algorithm, ReservedAction, ServerId, ToolName};
use highwater_receipts::{
    AuditorSecret, ChainFault, ChainLink, Circumstances, Enrolled, Expected, Guarded, Opened, Outcome, Part,
    Receipt, SignedReceipt, check, check_chain, check_use,
};
use highwater_testkit::passkey::{ORIGIN, Passkey, RP_ID};
use proptest::prelude::*;

use crate::scene::{NOW, Scene, arguments};

struct Gateway {
    pair: Ed25519KeyPair,
    key: [u8; 32],
}

impl Gateway {
    fn new() -> Self {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[5; 32]).unwrap();
        let key = pair.public_key().as_ref().try_into().unwrap();
        Self { pair, key }
    }

    fn sign(&self, receipt: Receipt) -> SignedReceipt {
        let signature: [u8; 64] =
            self.pair.sign(receipt.signing_input().as_bytes()).as_ref().try_into().unwrap();
        SignedReceipt::new(receipt, &self.key, &signature)
    }

    fn expected(&self) -> Expected<'_> {
        Expected {
            rp_id: RP_ID,
            origins: &[ORIGIN],
            gateway_key: Some(&self.key),
            enrollments: None,
            auditor: None,
            opened: &[],
        }
    }
}

fn receipt(scene: &Scene, chain: ChainLink) -> Receipt {
    let verified = scene.judge().unwrap();
    let circumstances = Circumstances {
        id: "r-1",
        chain,
        signed_at: scene.now,
        caller: "some client",
        policy_rules: vec!["confirm-irreversible-actions".to_owned()],
        labels: vec!["private".to_owned()],
        approval_id: Some("a-1"),
    };
    let (challenge, credential) = (scene.challenge.as_ref().unwrap(), scene.credential.as_ref().unwrap());
    Receipt::of(&verified, challenge, credential, &scene.party, circumstances).unwrap()
}

fn enrolled(scene: &Scene) -> Enrolled {
    Enrolled {
        credential_id: scene.credential.as_ref().unwrap().id.to_string(),
        public_key_cose: encode_base64url(&scene.passkey.cose()),
        user_ref: "ada".to_owned(),
        authorized_by: "operator".to_owned(),
        confirmed_at: to_iso(NOW),
        revoked_at: None,
    }
}

fn failed(text: &str, expected: &Expected<'_>) -> Vec<Part> {
    let report = check(text, expected);
    assert!(!report.holds() || report.failed().next().is_none());
    report.failed().collect()
}

#[test]
fn a_receipt_verifies_with_the_file_alone() {
    let gateway = Gateway::new();
    for algorithm in Algorithm::ALL {
        let scene = Scene::with(Passkey::new(algorithm));
        let text = gateway.sign(receipt(&scene, ChainLink::first("gw"))).to_text();
        let enrollments = [enrolled(&scene)];
        let expected = Expected { enrollments: Some(&enrollments), ..gateway.expected() };
        let report = check(&text, &expected);
        assert!(report.holds(), "{algorithm:?}: {report:?}");
        assert!(report.held(Part::Enrollment) && report.held(Part::GatewaySignature));
        assert!(check(&format!("{text}\n"), &expected).holds());
    }
}

#[test]
fn what_was_not_asked_is_not_said_to_hold() {
    let gateway = Gateway::new();
    let text = gateway.sign(receipt(&Scene::new(), ChainLink::first("gw"))).to_text();
    let report = check(&text, &Expected { gateway_key: None, ..gateway.expected() });
    assert!(report.holds() && report.held(Part::Signature));
    assert!(!report.held(Part::Enrollment) && !report.held(Part::GatewaySignature));
}

#[test]
fn one_changed_byte_anywhere_fails() {
    let gateway = Gateway::new();
    let text = gateway.sign(receipt(&Scene::new(), ChainLink::first("gw"))).to_text();
    assert!(check(&text, &gateway.expected()).holds());
    for at in 0..text.len() {
        for to in [b'0', b'A', b' ', b'"'] {
            let mut bytes = text.clone().into_bytes();
            if bytes[at] == to {
                continue;
            }
            bytes[at] = to;
            let Ok(changed) = String::from_utf8(bytes) else { continue };
            let report = check(&changed, &gateway.expected());
            assert!(report.failed().next().is_some(), "byte {at} as {}", char::from(to));
        }
    }
}

type Change = fn(&mut Receipt);

#[test]
fn a_changed_part_is_named_even_without_the_gateways_key() {
    let gateway = Gateway::new();
    let changes: [(Part, Change); 16] = [
        (Part::Form, |receipt| receipt.v = 2),
        (Part::Form, |receipt| receipt.signed = None),
        (Part::Form, |receipt| receipt.definition_hash = Some("x".to_owned())),
        (Part::Action, |receipt| receipt.canonical_arguments = Guarded::Clear("{ }".to_owned())),
        (Part::Action, |receipt| receipt.tool_name = "a/b".to_owned()),
        (Part::ClientData, |receipt| receipt.canonical_arguments = Guarded::Clear("{}".to_owned())),
        (Part::ClientData, |receipt| receipt.tool_name = "files__read".to_owned()),
        (Part::ClientData, |receipt| receipt.server_id = "other".to_owned()),
        (Part::ClientData, |receipt| {
            receipt.signed.as_mut().unwrap().nonce = Guarded::Clear(encode_base64url(&[8; 32]));
        }),
        (Part::ClientData, |receipt| receipt.signed.as_mut().unwrap().origin = "http://x".to_owned()),
        (Part::AuthenticatorData, |receipt| receipt.signed.as_mut().unwrap().counter = 9),
        (Part::AuthenticatorData, |receipt| receipt.rp_id = "example.com".to_owned()),
        (Part::Signature, |receipt| {
            let other = Passkey::new(Algorithm::Es256);
            receipt.signed.as_mut().unwrap().public_key_cose = encode_base64url(&other.cose());
        }),
        (Part::Signature, |receipt| receipt.signed.as_mut().unwrap().signature = "AAAA".to_owned()),
        (Part::Time, |receipt| receipt.signed_at = to_iso(Timestamp(NOW.0 + 60_000))),
        (Part::DisplayText, |receipt| receipt.display_text = Guarded::Clear("Nothing".to_owned())),
    ];
    for (index, (part, change)) in changes.into_iter().enumerate() {
        let mut changed = receipt(&Scene::new(), ChainLink::first("gw"));
        let before = gateway.sign(changed.clone()).to_text();
        change(&mut changed);
        // The old signature under the new receipt: with the key it is named too.
        let after = serde_json::to_value(&changed).unwrap();
        let mut text: serde_json::Value = serde_json::from_str(&before).unwrap();
        let signature = text["gatewaySig"].take();
        text = after;
        text["gatewaySig"] = signature;
        let text = highwater_notation::Json::from(text).to_string();
        let parts = failed(&text, &Expected { gateway_key: None, ..gateway.expected() });
        assert!(parts.contains(&part), "change {index}: {parts:?}");
        let parts = failed(&text, &gateway.expected());
        assert!(parts.contains(&Part::GatewaySignature), "change {index}: {parts:?}");
    }
}

#[test]
fn the_one_who_checks_says_which_page_and_which_gateway() {
    let gateway = Gateway::new();
    let text = gateway.sign(receipt(&Scene::new(), ChainLink::first("gw"))).to_text();
    let expected = gateway.expected();
    assert_eq!(
        failed(&text, &Expected { origins: &["http://localhost:1"], ..expected.clone() }),
        [Part::ClientData]
    );
    assert_eq!(
        failed(&text, &Expected { rp_id: "example.com", ..expected.clone() }),
        [Part::AuthenticatorData]
    );
    assert_eq!(
        failed(&text, &Expected { gateway_key: Some(&[9; 32]), ..expected }),
        [Part::GatewaySignature]
    );
}

#[test]
fn anybody_can_make_a_receipt_with_a_key_of_their_own_and_an_enrollment_tells() {
    let gateway = Gateway::new();
    let (scene, forger) = (Scene::new(), Scene::new());
    let text = gateway.sign(receipt(&forger, ChainLink::first("gw"))).to_text();
    let expected = Expected { gateway_key: None, ..gateway.expected() };
    assert!(check(&text, &expected).holds());
    let parts = |enrolled: Enrolled| {
        let enrollments = [enrolled];
        failed(&text, &Expected { enrollments: Some(&enrollments), ..expected.clone() })
    };
    assert_eq!(parts(enrolled(&forger)), []);
    // The same credential id, another key.
    assert_eq!(parts(enrolled(&scene)), [Part::Enrollment]);
    let changes: [fn(&mut Enrolled); 5] = [
        |known| known.credential_id = "AAAA".to_owned(),
        |known| known.user_ref = "eve".to_owned(),
        |known| known.confirmed_at = to_iso(Timestamp(NOW.0 + 6000)),
        |known| known.revoked_at = Some(to_iso(Timestamp(NOW.0 + 5000))),
        |known| known.revoked_at = Some("never".to_owned()),
    ];
    for change in changes {
        let mut known = enrolled(&forger);
        change(&mut known);
        assert_eq!(parts(known), [Part::Enrollment]);
    }
}

#[test]
fn a_sealed_receipt_says_that_it_is_and_opens_with_what_the_auditor_has() {
    let gateway = Gateway::new();
    let clear = receipt(&Scene::new(), ChainLink::first("gw"));
    let signed = clear.signed.as_ref().unwrap();
    let secrets = [&clear.canonical_arguments, &clear.display_text, &signed.nonce, &signed.client_data_json];
    let auditor = AuditorSecret::new([5; 32]);
    let once = [[1; 32], [2; 32], [3; 32], [4; 32]];
    let sealed = clear.clone().sealed(&auditor.public().unwrap(), &once).unwrap();
    assert_eq!((clear.is_sealed(), sealed.is_sealed()), (Some(false), Some(true)));
    let opened = sealed.opened(&auditor);
    let text = gateway.sign(sealed.clone()).to_text();
    let hash = ActionHash::of(
        &ToolName::parse(&clear.tool_name).unwrap(),
        &CanonicalArguments::read(clear.canonical_arguments.clear()).unwrap(),
        &ServerId::new(&clear.server_id).unwrap(),
    );
    for secret in secrets
        .map(|secret| secret.clear().unwrap().to_owned())
        .into_iter()
        .chain([hash.to_string(), encode_base64url(hash.as_bytes())])
    {
        let quoted = serde_json::to_string(&secret).unwrap();
        assert!(!text.contains(quoted.trim_matches('"')), "{secret}");
    }
    let report = check(&text, &gateway.expected());
    assert!(!report.holds() && report.failed().next().is_none());
    assert!(report.held(Part::GatewaySignature) && !report.held(Part::Signature));
    assert!(matches!(
        report.parts().iter().find(|(part, _)| *part == Part::Action),
        Some((_, Outcome::Unchecked(_)))
    ));
    // The key opens everything, and so does whoever has the key for somebody who has not.
    let report = check(&text, &Expected { auditor: Some(&auditor), ..gateway.expected() });
    assert!(report.holds(), "{report:?}");
    let report = check(&text, &Expected { opened: std::slice::from_ref(&opened), ..gateway.expected() });
    assert!(report.holds(), "{report:?}");
    let some = Opened { nonce: None, ..opened.clone() };
    let report = check(&text, &Expected { opened: &[some], ..gateway.expected() });
    assert!(!report.holds() && report.held(Part::Action) && !report.held(Part::ClientData));
    let other = Opened { canonical_arguments: Some("{}".to_owned()), ..opened };
    assert!(failed(&text, &Expected { opened: &[other], ..gateway.expected() }).contains(&Part::ClientData));
    let stranger = AuditorSecret::new([6; 32]);
    let faults = failed(&text, &Expected { auditor: Some(&stranger), ..gateway.expected() });
    assert_eq!(faults, [Part::Action, Part::ClientData, Part::DisplayText]);
    // Sealed in part is not sealed.
    let mut some = sealed;
    some.display_text = clear.display_text.clone();
    let text = gateway.sign(some).to_text();
    assert!(failed(&text, &Expected { auditor: Some(&auditor), ..gateway.expected() }).contains(&Part::Form));
}

#[test]
fn a_use_under_a_mandate_is_not_said_to_hold_by_itself() {
    let gateway = Gateway::new();
    let mut used = receipt(&Scene::new(), ChainLink::first("gw"));
    used.signed = None;
    used.mandate = Some("r-0".to_owned());
    let report = check(&gateway.sign(used).to_text(), &gateway.expected());
    assert!(!report.holds() && report.failed().next().is_none() && report.held(Part::GatewaySignature));
}

#[test]
fn a_use_holds_with_the_receipt_of_a_mandate_that_it_keeps_within() {
    let gateway = Gateway::new();
    let terms = r#"{"tools":["files__delete"],"arguments":{"path":{"prefix":"a"},"n":{"max":1}},"max_calls":2,
        "not_before":"2026-11-15T12:00:00.000Z","expires":"2026-11-15T13:00:00.000Z","agent":"agent"}"#;
    let delegate = ToolName::reserved(ReservedAction::Delegate);
    let signing = Scene::of(Passkey::new(Algorithm::Es256), delegate, arguments(terms));
    let mut mandate = receipt(&signing, ChainLink::first("gw"));
    mandate.id = "r-0".to_owned();
    let mandate = gateway.sign(mandate);
    let outcome = |mandate: &SignedReceipt, change: Change| {
        let mut used = receipt(&Scene::new(), mandate.next());
        (used.signed, used.mandate) = (None, Some("r-0".to_owned()));
        change(&mut used);
        check_use(&gateway.sign(used).to_text(), &mandate.to_text(), &gateway.expected())
    };
    let report = outcome(&mandate, |_| ());
    assert!(report.holds() && report.held(Part::Mandate), "{report:?}");
    let changes: [Change; 7] = [
        |used| used.mandate = Some("r-9".to_owned()),
        |used| used.principal = "other".to_owned(),
        |used| used.user_ref = "eve".to_owned(),
        |used| used.server_id = "other".to_owned(),
        |used| used.tool_name = "files__read".to_owned(),
        |used| used.canonical_arguments = Guarded::Clear(r#"{"n":2,"path":"a"}"#.to_owned()),
        |used| used.signed_at = "2026-11-15T13:00:00.000Z".to_owned(),
    ];
    for (index, change) in changes.into_iter().enumerate() {
        let report = outcome(&mandate, change);
        assert!(report.failed().any(|part| part == Part::Mandate), "change {index}: {report:?}");
    }
    // A sealed use is as good, for whoever can open it.
    let auditor = AuditorSecret::new([5; 32]);
    let mut used = receipt(&Scene::new(), mandate.next());
    (used.signed, used.mandate) = (None, Some("r-0".to_owned()));
    let once = [[1; 32], [2; 32], [3; 32], [4; 32]];
    let used = gateway.sign(used.sealed(&auditor.public().unwrap(), &once).unwrap()).to_text();
    let report = check_use(&used, &mandate.to_text(), &gateway.expected());
    assert!(!report.holds() && report.failed().next().is_none(), "{report:?}");
    let knowing = Expected { auditor: Some(&auditor), ..gateway.expected() };
    let report = check_use(&used, &mandate.to_text(), &knowing);
    assert!(report.holds() && report.held(Part::Mandate), "{report:?}");
    // A signature under something else is no mandate, and neither is one that does not hold.
    let other =
        gateway.sign(Receipt { id: "r-0".to_owned(), ..receipt(&Scene::new(), ChainLink::first("gw")) });
    assert!(outcome(&other, |_| ()).failed().any(|part| part == Part::Mandate));
    let edited = mandate.to_text().replace("some client", "same client");
    let edited = SignedReceipt::parse(&edited).unwrap();
    assert!(outcome(&edited, |_| ()).failed().any(|part| part == Part::Mandate));
}

#[test]
fn a_receipt_is_of_what_was_verified_and_of_nothing_else() {
    let mut scene = Scene::new();
    let verified = scene.judge().unwrap();
    let circumstances = || Circumstances {
        id: "r-1",
        chain: ChainLink::first("gw"),
        signed_at: NOW,
        caller: "",
        policy_rules: Vec::new(),
        labels: Vec::new(),
        approval_id: None,
    };
    let credential = scene.credential.clone().unwrap();
    scene.challenge().id = highwater_core::id::ChallengeId::new("c-2");
    let challenge = scene.challenge.as_ref().unwrap();
    assert_eq!(Receipt::of(&verified, challenge, &credential, &scene.party, circumstances()), None);
}

#[test]
fn receipts_are_chained_and_gaps_are_named() {
    let gateway = Gateway::new();
    let scene = Scene::new();
    let mut chain = vec![gateway.sign(receipt(&scene, ChainLink::first("gw")))];
    for _ in 0..4 {
        let next = chain.last().unwrap().next();
        chain.push(gateway.sign(receipt(&scene, next)));
    }
    assert_eq!(check_chain(&chain), []);
    assert_eq!(check_chain(&chain[2..]), []);
    let without = |gone: std::ops::Range<usize>| {
        let kept: Vec<_> =
            (0..chain.len()).filter(|index| !gone.contains(index)).map(|at| &chain[at]).collect();
        check_chain(kept)
    };
    assert_eq!(without(1..3), [ChainFault::Gap { after: 1, before: 2 }]);
    assert_eq!(check_chain([&chain[1], &chain[0]]), [ChainFault::Disorder { seq: 0 }]);
    assert_eq!(check_chain([&chain[1], &chain[1]]), [ChainFault::Disorder { seq: 1 }]);
    let foreign = gateway.sign(receipt(&scene, ChainLink { id: "other".to_owned(), ..chain[0].next() }));
    assert_eq!(check_chain([&chain[0], &foreign]), [ChainFault::Foreign { seq: 1 }]);
    // One was put in the place of another: what follows it tells.
    let mut other = receipt(&scene, chain[0].next());
    other.caller = "another client".to_owned();
    let other = gateway.sign(other);
    assert_eq!(check_chain([&chain[0], &other, &chain[2]]), [ChainFault::Broken { seq: 2 }]);
    // A chain that does not begin with nothing, and one that begins anew.
    let unfounded = gateway.sign(receipt(&scene, ChainLink { seq: 0, ..chain[0].next() }));
    assert_eq!(check_chain([&unfounded]), [ChainFault::Broken { seq: 0 }]);
}

proptest! {
    #[test]
    fn any_text_is_no_receipt(text in ".{0,200}") {
        prop_assert!(SignedReceipt::parse(&text).is_none());
    }
}
