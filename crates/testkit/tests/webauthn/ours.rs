//! What our software passkey makes, right and wrong, before both verifiers.

use highwater_core::approval::{
    ApprovalCall, ApprovalReason, AuthenticatorClass, Evidence, Proposal, issue, verify,
};
use highwater_core::id::{ChallengeId, Principal, UserId};
use highwater_notation::{CanonicalArguments, Timestamp, encode_base64url};
use highwater_passkey::{Algorithm, Nonce, ToolName};
use highwater_testkit::passkey::{BE, Draft, Passkey, UP, UV, attestation_object, self_attestation};
use serde_json::{Value, json};

use crate::judge::Judge;
use crate::{assertion, challenge, enrolled, party, registration};

const ALGORITHMS: [Algorithm; 3] = [Algorithm::Es256, Algorithm::EdDsa, Algorithm::Rs256];

#[test]
fn s16_s18_s49_what_we_accept_they_accept_too() {
    let mut judge = Judge::new();
    for algorithm in ALGORITHMS {
        let passkey = Passkey::new(algorithm);
        let response = passkey.register(&challenge(1), |_| ());
        let ours = registration(&response, &challenge(1)).unwrap();
        let theirs = judge.registration(&response, &challenge(1)).unwrap();
        assert_eq!(theirs["publicKey"], encode_base64url(ours.key.as_cose()), "{algorithm:?}");
        assert_eq!(theirs["id"], ours.id.to_string());
        assert_eq!(theirs["counter"], ours.counter);
        assert_eq!(theirs["fmt"], *ours.format);

        let credential = enrolled(&ours, &passkey.user_handle);
        let response = passkey.assert(&challenge(2), |_| ());
        let verified = assertion(&response, &challenge(2), &credential).unwrap();
        let told = judge.assertion(&response, &challenge(2), &theirs).unwrap();
        assert_eq!(told["counter"], verified.counter, "{algorithm:?}");
    }
}

#[test]
fn g08_a_key_that_vouches_for_itself_is_checked_by_both() {
    let mut judge = Judge::new();
    for algorithm in ALGORITHMS {
        let passkey = Passkey::new(algorithm);
        let sign = |message: &[u8], data: &[u8], spoil: u8| {
            let mut signature = passkey.sign(message);
            *signature.last_mut().unwrap() ^= spoil;
            attestation_object("packed", &self_attestation(algorithm, &signature), data)
        };
        let good = passkey.register_with(&challenge(1), |_| (), |message, data| sign(message, data, 0));
        assert!(registration(&good, &challenge(1)).is_ok(), "{algorithm:?}");
        judge.registration(&good, &challenge(1)).unwrap();
        let bad = passkey.register_with(&challenge(1), |_| (), |message, data| sign(message, data, 1));
        assert!(registration(&bad, &challenge(1)).is_err(), "{algorithm:?}");
        assert!(judge.registration(&bad, &challenge(1)).is_err(), "{algorithm:?}");
    }
}

type Wrong = (&'static str, fn(&mut Draft));

/// What is wrong with a ceremony, whichever it is.
const WRONG: [Wrong; 9] = [
    ("another challenge", |draft| draft.challenge = challenge(9)),
    ("half of the challenge", |draft| draft.challenge.truncate(32)),
    ("another page", |draft| draft.origin = "http://localhost:7413".to_owned()),
    ("the page over TLS", |draft| draft.origin = "https://localhost:7412".to_owned()),
    ("another relying party", |draft| draft.rp_id = "example.com".to_owned()),
    ("nobody verified", |draft| draft.flags &= !UV),
    ("nobody there", |draft| draft.flags &= !UP),
    ("bytes behind the end", |draft| draft.behind.push(0)),
    ("the other ceremony", |draft| {
        draft.r#type = if draft.r#type == "webauthn.get" { "webauthn.create" } else { "webauthn.get" };
    }),
];

#[test]
fn s16_s17_s49_g03_what_is_wrong_both_refuse() {
    let mut judge = Judge::new();
    for algorithm in ALGORITHMS {
        let passkey = Passkey::new(algorithm);
        let good = passkey.register(&challenge(1), |_| ());
        let ours = registration(&good, &challenge(1)).unwrap();
        let theirs = judge.registration(&good, &challenge(1)).unwrap();
        let credential = enrolled(&ours, &passkey.user_handle);
        for (what, wrong) in WRONG {
            let response = passkey.register(&challenge(1), wrong);
            assert!(registration(&response, &challenge(1)).is_err(), "registration: {what}");
            assert!(judge.registration(&response, &challenge(1)).is_err(), "registration: {what}");
            let response = passkey.assert(&challenge(2), wrong);
            assert!(assertion(&response, &challenge(2), &credential).is_err(), "assertion: {what}");
            assert!(judge.assertion(&response, &challenge(2), &theirs).is_err(), "assertion: {what}");
        }
        let mut response = passkey.assert(&challenge(2), |_| ());
        flip(&mut response, "signature");
        assert!(assertion(&response, &challenge(2), &credential).is_err());
        assert!(judge.assertion(&response, &challenge(2), &theirs).is_err());
        // A key of somebody else.
        let stranger = Passkey::new(algorithm).assert(&challenge(2), |_| ());
        assert!(assertion(&stranger, &challenge(2), &credential).is_err());
        assert!(judge.assertion(&stranger, &challenge(2), &theirs).is_err());
    }
}

/// Where we are stricter than they are, it is on purpose: nobody else would notice.
#[test]
fn g03_what_only_we_refuse() {
    let mut judge = Judge::new();
    let passkey = Passkey::new(Algorithm::Es256);
    let good = passkey.register(&challenge(1), |_| ());
    let ours = registration(&good, &challenge(1)).unwrap();
    let theirs = judge.registration(&good, &challenge(1)).unwrap();
    let credential = enrolled(&ours, &passkey.user_handle);
    // A key that became one that is copied: for us it is another key.
    let response = passkey.assert(&challenge(2), |draft| draft.flags |= BE);
    assert!(assertion(&response, &challenge(2), &credential).is_err());
    judge.assertion(&response, &challenge(2), &theirs).unwrap();
    // A page in a frame of another: they look at it when somebody signs, we also when somebody enrolls.
    let framed = |draft: &mut Draft| draft.more = r#","topOrigin":"https://evil.example""#.to_owned();
    let response = passkey.assert(&challenge(2), framed);
    assert!(assertion(&response, &challenge(2), &credential).is_err());
    assert!(judge.assertion(&response, &challenge(2), &theirs).is_err());
    let response = passkey.register(&challenge(1), framed);
    assert!(registration(&response, &challenge(1)).is_err());
    judge.registration(&response, &challenge(1)).unwrap();
    // Any user handle would do for them.
    let mut other = credential.clone();
    other.user_handle = b"somebody else".as_slice().into();
    let response = passkey.assert(&challenge(2), |_| ());
    assert!(assertion(&response, &challenge(2), &other).is_err());
    judge.assertion(&response, &challenge(2), &theirs).unwrap();
}

/// Both hold the counter against what they know; they at once, we behind the signature.
#[test]
fn s50_a_counter_that_went_back_is_refused_by_both() {
    let (mut judge, passkey) = (Judge::new(), Passkey::new(Algorithm::Es256));
    let (tool, arguments) =
        (ToolName::exposed("files__delete").unwrap(), CanonicalArguments::read(None).unwrap());
    let (principal, user) = (Principal::new("agent"), UserId::new("ada"));
    let class = AuthenticatorClass::CrossPlatform;
    let response = passkey.register(&challenge(1), |_| ());
    let mut credential = enrolled(&registration(&response, &challenge(1)).unwrap(), &passkey.user_handle);
    let proposal = Proposal {
        principal: &principal,
        user: &user,
        tool: &tool,
        gated: true,
        class,
        upstream: None,
        definition: None,
        arguments: &arguments,
    };
    let drawn = (ChallengeId::new("c-1"), Nonce([7; 32]));
    let issued = issue(&proposal, [&credential], party().server(), drawn, Timestamp(1)).unwrap().record;
    let call = ApprovalCall {
        principal: &principal,
        tool: &tool,
        upstream: None,
        definition: None,
        class,
        arguments: &arguments,
    };
    for (stored, signed) in [(0, 0), (0, 1), (4, 5), (5, 5), (6, 5), (1, 0), (u32::MAX, 5)] {
        let response = passkey.assert(issued.wire.as_bytes(), |draft| draft.counter = signed);
        let evidence = json!({ "method": "webauthn", "challengeId": "c-1", "response": response });
        let evidence = Evidence::parse(Some(&evidence.to_string())).unwrap();
        credential.counter = stored;
        let ours = verify(&evidence, Some(&issued), Some(&credential), &call, &party(), Timestamp(2));
        let known = json!({
            "id": encode_base64url(&passkey.id), "publicKey": encode_base64url(&passkey.cose()), "counter": stored,
        });
        let theirs = judge.assertion(&response, issued.wire.as_bytes(), &known);
        assert_eq!(theirs.is_ok(), ours.is_ok(), "{stored}, then {signed}: {theirs:?}, {ours:?}");
        if let Err(rejection) = ours {
            assert_eq!(rejection.reason, ApprovalReason::SignatureCounterRegression);
        }
    }
}

fn flip(response: &mut Value, part: &str) {
    let text = response["response"][part].as_str().unwrap();
    let mut bytes = highwater_notation::decode_base64url(text).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    response["response"][part] = encode_base64url(&bytes).into();
}
