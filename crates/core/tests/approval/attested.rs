//! Attestations under a list: the right chain passes, and each single fault is refused and named.

use highwater_core::approval::{ApprovalReason, NewCredential, PendingEnrollment, Rejection, finish};
use highwater_core::id::{Principal, UserId};
use highwater_notation::{Timestamp, encode_base64url};
use highwater_passkey::{
    Aaguid, Algorithm, AttestationDemand, AuthenticatorList, AuthenticatorMake, Fault, NoRoot, Nonce,
    RootCertificate, Unattested, attested_by, verify_registration, verify_stored_attestation,
};
use highwater_testkit::passkey::{
    Batch, COUNTRY, CertificateDraft, Certified, Extension, NAME, Passkey, UNIT, VENDOR, attestation_object,
    der, packed_attestation, pem, self_attestation,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::scene::{NOW, party};

const CHALLENGE: [u8; 32] = [3; 32];
const MAKE: [u8; 16] = [0xaa; 16];
const OTHER: [u8; 16] = [0xbb; 16];

/// A vendor with one batch of authenticators, and the list that lets them in.
struct Vendor {
    root: Certified,
    batch: Batch,
}

// === impl Vendor ===

impl Vendor {
    fn new() -> Self {
        Self::with(|_| (), |_| ())
    }

    /// After changes to the certificate of the root and of the batch.
    fn with(root: impl FnOnce(&mut CertificateDraft), leaf: impl FnOnce(&mut CertificateDraft)) -> Self {
        let root = Certified::root(&CertificateDraft::authority("Example Root").with(root));
        let leaf = root.issue(&CertificateDraft::authenticator(MAKE).with(leaf));
        Self { batch: Batch { leaf, between: Vec::new() }, root }
    }

    /// With these between the root and the batch, from the root on.
    fn through(authorities: Vec<CertificateDraft>) -> Self {
        let root = Certified::root(&CertificateDraft::authority("Example Root"));
        Self::below(root, authorities)
    }

    fn below(root: Certified, authorities: Vec<CertificateDraft>) -> Self {
        let mut between: Vec<Certified> = Vec::new();
        for draft in &authorities {
            let next = between.last().unwrap_or(&root).issue(draft);
            between.push(next);
        }
        let leaf = between.last().unwrap_or(&root).issue(&CertificateDraft::authenticator(MAKE));
        let between = between.into_iter().rev().map(|certified| certified.der).collect();
        Self { batch: Batch { leaf, between }, root }
    }

    fn fault(&self) -> Option<Unattested> {
        fault(
            &Passkey::new(Algorithm::Es256).register_from(&self.batch, &CHALLENGE),
            &list(&[&self.root.der]),
        )
    }
}

fn list(roots: &[&[u8]]) -> AuthenticatorList {
    list_of(&[MAKE], roots)
}

fn list_of(aaguids: &[[u8; 16]], roots: &[&[u8]]) -> AuthenticatorList {
    let make = AuthenticatorMake {
        name: "example".into(),
        aaguids: aaguids.iter().copied().map(Aaguid).collect(),
        roots: roots.iter().map(|der| RootCertificate::from_der(der.to_vec()).unwrap()).collect(),
    };
    AuthenticatorList::new(vec![make]).unwrap()
}

fn enroll(response: &Value, list: &AuthenticatorList, now: Timestamp) -> Result<NewCredential, Rejection> {
    let principal = Principal::new("agent");
    let user = UserId::new("ada");
    let pending = PendingEnrollment::begin(principal.clone(), user, *b"handle", Nonce(CHALLENGE), now);
    finish(Some(&pending), &principal, &response.to_string(), &party(), Some(list), |_| false, now)
}

fn fault(response: &Value, list: &AuthenticatorList) -> Option<Unattested> {
    fault_at(response, list, NOW)
}

fn fault_at(response: &Value, list: &AuthenticatorList, now: Timestamp) -> Option<Unattested> {
    let rejection = enroll(response, list, now).err()?;
    assert_eq!(rejection.reason, ApprovalReason::VerificationFailed);
    match rejection.fault {
        Some(Fault::Unattested(unattested)) => Some(unattested),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_authenticator_that_a_listed_root_vouches_for_is_let_in() {
    let vendor = Vendor::new();
    assert_eq!(vendor.fault(), None);
    for algorithm in Algorithm::ALL {
        let vendor = Vendor::with(|_| (), |leaf| leaf.algorithm = algorithm);
        assert_eq!(vendor.fault(), None, "{algorithm:?}");
        let vendor = Vendor::with(|root| root.algorithm = algorithm, |_| ());
        assert_eq!(vendor.fault(), None, "a root of {algorithm:?}");
    }
    // It need not say its make twice, and it may say what it is for.
    assert_eq!(Vendor::with(|_| (), |leaf| leaf.extensions.truncate(1)).fault(), None);
    let purpose =
        Extension { id: vec![0x55, 29, 37], critical: true, value: der(0x30, &[&[6, 3, 0x2a, 3, 4]]) };
    assert_eq!(Vendor::with(|_| (), |leaf| leaf.extensions.push(purpose)).fault(), None);
    // Through one that is allowed to stand in between, and with the root itself sent along.
    let middle = || CertificateDraft::authority("Example Middle");
    let mut vendor = Vendor::through(vec![middle()]);
    assert_eq!(vendor.fault(), None);
    vendor.batch.between.push(vendor.root.der.clone());
    assert_eq!(vendor.fault(), None);
}

#[test]
fn the_certificate_of_a_batch_can_be_listed_by_itself() {
    let vendor = Vendor::new();
    let response = Passkey::new(Algorithm::Es256).register_from(&vendor.batch, &CHALLENGE);
    let list = list(&[&vendor.batch.leaf.der]);
    assert_eq!(fault(&response, &list), None);
    // Another with the same name and another key is another.
    let other = vendor.root.issue(&CertificateDraft::authenticator(MAKE));
    let batch = Batch { leaf: other, between: Vec::new() };
    let stranger = Passkey::new(Algorithm::Es256).register_from(&batch, &CHALLENGE);
    assert_eq!(
        fault(&stranger, &list),
        Some(Unattested::Chain("ends at no root that is listed for this make"))
    );
    let late = Timestamp(4_102_444_800_000);
    assert_eq!(fault_at(&response, &list, late), Some(Unattested::Leaf("is not valid any more")));
    let early = Timestamp(1_577_836_799_000);
    assert_eq!(fault_at(&response, &list, early), Some(Unattested::Leaf("is not valid yet")));
}

#[test]
fn who_vouches_is_kept() {
    let vendor = Vendor::new();
    let list = list(&[&vendor.root.der]);
    let new = enroll(&Passkey::new(Algorithm::Es256).register_from(&vendor.batch, &CHALLENGE), &list, NOW);
    let registration = new.unwrap().registration;
    assert_eq!(registration.attested_by.as_deref(), Some("Example Root"));
    assert_eq!(&*registration.format, "packed");
    assert_eq!(attested_by(&registration.attestation_object).as_deref(), Some("Example Root"));
    // What was let in is judged anew where it matters.
    let again = |list: &AuthenticatorList, now, client_data: &[u8]| {
        let demand = AttestationDemand::Listed(list, now);
        verify_stored_attestation(&registration.attestation_object, client_data, demand)
    };
    let unattested = |words| Err(Fault::Unattested(words));
    assert_eq!(again(&list, NOW, &registration.client_data), Ok(()));
    assert_eq!(again(&list, NOW, b"{}"), unattested(Unattested::Signature));
    let other = list_of(&[OTHER], &[&vendor.root.der]);
    assert_eq!(again(&other, NOW, &registration.client_data), unattested(Unattested::Unlisted(Aaguid(MAKE))));
    // Without a list nobody's word counts, so that what is stored with one was let in by a list.
    let response = Passkey::new(Algorithm::Es256).register_from(&vendor.batch, &CHALLENGE).to_string();
    let unasked = verify_registration(&response, &CHALLENGE, &party(), AttestationDemand::Nothing);
    assert_eq!(unasked.map(|_| ()), Err(Fault::Attestation));
}

#[test]
fn software_that_vouches_for_nobody_or_for_itself_is_refused() {
    let vendor = Vendor::new();
    let list = list(&[&vendor.root.der]);
    let passkey = Passkey::new(Algorithm::Es256);
    let with = |format: &str| {
        fault(
            &passkey.register_with(&CHALLENGE, |_| (), |_, data| attestation_object(format, &[0xa0], data)),
            &list,
        )
    };
    assert_eq!(with("none"), Some(Unattested::Nobody));
    for format in ["tpm", "apple", "android-key", "android-safetynet", "fido-u2f", "compound"] {
        assert_eq!(with(format), Some(Unattested::Format(format)));
    }
    assert_eq!(with("home-made"), Some(Unattested::Format("other")));
    let own = passkey.register_with(
        &CHALLENGE,
        |_| (),
        |signed, data| {
            attestation_object("packed", &self_attestation(Algorithm::Es256, &passkey.sign(signed)), data)
        },
    );
    assert_eq!(fault(&own, &list), Some(Unattested::Itself));
}

#[test]
fn a_make_that_is_not_listed_is_refused_whoever_vouches_for_it() {
    let vendor = Vendor::new();
    let mut passkey = Passkey::new(Algorithm::Es256);
    let answer = |passkey: &Passkey, list: &AuthenticatorList| {
        fault(&passkey.register_from(&vendor.batch, &CHALLENGE), list)
    };
    let unlisted = list_of(&[OTHER], &[&vendor.root.der]);
    assert_eq!(answer(&passkey, &unlisted), Some(Unattested::Unlisted(Aaguid(MAKE))));
    // One listed make does not pass as another.
    passkey.aaguid = OTHER;
    let both = list_of(&[MAKE, OTHER], &[&vendor.root.der]);
    assert_eq!(answer(&passkey, &both), Some(Unattested::Leaf("is of another make than the authenticator")));
    passkey.aaguid = [0; 16];
    assert_eq!(answer(&passkey, &both), Some(Unattested::Nameless));
    // The root of one make vouches for that make alone.
    let another = Vendor::new();
    let makes = [(MAKE, &another), (OTHER, &vendor)].map(|(aaguid, vendor)| AuthenticatorMake {
        name: "example".into(),
        aaguids: vec![Aaguid(aaguid)],
        roots: vec![RootCertificate::from_der(vendor.root.der.clone()).unwrap()],
    });
    passkey.aaguid = MAKE;
    let fault = answer(&passkey, &AuthenticatorList::new(makes.to_vec()).unwrap());
    assert_eq!(fault, Some(Unattested::Chain("has a signature that does not verify")));
}

#[test]
fn each_fault_of_the_statement_is_named() {
    let vendor = Vendor::new();
    let list = list(&[&vendor.root.der]);
    let passkey = Passkey::new(Algorithm::Es256);
    let leaf = &vendor.batch.leaf;
    let with = |statement: &dyn Fn(&[u8]) -> Vec<u8>| {
        let attest = |signed: &[u8], data: &[u8]| attestation_object("packed", &statement(signed), data);
        fault(&passkey.register_with(&CHALLENGE, |_| (), attest), &list)
    };
    let packed = |signature: &[u8]| packed_attestation(Algorithm::Es256, signature, &[&leaf.der]);
    assert_eq!(with(&|signed| packed(&leaf.sign(signed))), None);
    let signature = Some(Unattested::Signature);
    assert_eq!(with(&|signed| packed(&leaf.sign(&signed[1..]))), signature);
    // By the new key instead of that of the batch.
    assert_eq!(with(&|signed| packed(&passkey.sign(signed))), signature);
    // Said to be of another algorithm than the key of the certificate.
    let lies = |signed: &[u8]| packed_attestation(Algorithm::EdDsa, &leaf.sign(signed), &[&leaf.der]);
    assert_eq!(with(&lies), signature);
    let malformed = |part| Some(Unattested::Statement(part));
    let none = |signed: &[u8]| packed_attestation(Algorithm::Es256, &leaf.sign(signed), &[]);
    assert_eq!(with(&none), malformed("x5c"));
    // The keys are three letters each, so that another letter takes them away.
    for part in ["alg", "sig"] {
        let without = |signed: &[u8]| {
            let mut statement = packed(&leaf.sign(signed));
            let at = statement.windows(3).position(|window| window == part.as_bytes()).unwrap();
            statement[at] = b'z';
            statement
        };
        assert_eq!(with(&without), malformed(part));
    }
    let many =
        |signed: &[u8]| packed_attestation(Algorithm::Es256, &leaf.sign(signed), &[leaf.der.as_slice(); 9]);
    assert_eq!(with(&many), Some(Unattested::Chain("is too long")));
    let broken = |signed: &[u8]| {
        packed_attestation(Algorithm::Es256, &leaf.sign(signed), &[&leaf.der[..leaf.der.len() - 1]])
    };
    assert_eq!(with(&broken), Some(Unattested::Leaf("cannot be read")));
}

#[test]
fn each_fault_of_the_authenticators_certificate_is_named() {
    let leaf = |change: &dyn Fn(&mut CertificateDraft)| Vendor::with(|_| (), change).fault();
    let named = |words| Some(Unattested::Leaf(words));
    for version in [1, 2] {
        assert_eq!(leaf(&|draft| draft.version = version), named("is not of version 3"));
    }
    for (attribute, words) in [
        (COUNTRY, "names no country"),
        (VENDOR, "names no vendor"),
        (UNIT, "is not of the unit `Authenticator Attestation`"),
        (NAME, "has no name"),
    ] {
        assert_eq!(leaf(&|draft| draft.subject.retain(|(known, _)| *known != attribute)), named(words));
        let emptied = |draft: &mut CertificateDraft| {
            let (_, text) = draft.subject.iter_mut().find(|(known, _)| *known == attribute).unwrap();
            text.clear();
        };
        assert_eq!(leaf(&emptied), named(words));
    }
    let issues = |draft: &mut CertificateDraft| draft.extensions[0] = Extension::constraints(true, None);
    assert_eq!(leaf(&issues), named("may issue others, which none of them may"));
    let silent = |draft: &mut CertificateDraft| drop(draft.extensions.remove(0));
    assert_eq!(leaf(&silent), named("does not say that it issues no others"));
    let another = |draft: &mut CertificateDraft| draft.extensions[1] = Extension::aaguid(OTHER);
    assert_eq!(leaf(&another), named("is of another make than the authenticator"));
    let insists = |draft: &mut CertificateDraft| draft.extensions[1].critical = true;
    assert_eq!(leaf(&insists), named("says its make in a critical extension"));
    let unknown = |critical| {
        move |draft: &mut CertificateDraft| {
            draft.extensions.push(Extension { id: vec![0x2a, 3, 4], critical, value: vec![5, 0] });
        }
    };
    assert_eq!(leaf(&unknown(true)), named("has a critical extension that is not known here"));
    assert_eq!(leaf(&unknown(false)), None);
    let twice = |draft: &mut CertificateDraft| draft.extensions.push(Extension::aaguid(MAKE));
    assert_eq!(leaf(&twice), named("cannot be read"));
    for value in [der(4, &[&MAKE, &[0]]), MAKE.to_vec(), der(4, &[&MAKE[1..]])] {
        assert_eq!(leaf(&|draft| draft.extensions[1].value.clone_from(&value)), named("cannot be read"));
    }
    assert_eq!(
        leaf(&|draft| draft.until = "20210101000000Z"),
        Some(Unattested::Chain("is not valid any more"))
    );
    assert_eq!(leaf(&|draft| draft.from = "20900101000000Z"), Some(Unattested::Chain("is not valid yet")));
}

#[test]
fn each_fault_of_the_chain_is_named() {
    let named = |words| Some(Unattested::Chain(words));
    let authority = |name: &str| CertificateDraft::authority(name);
    let unlisted = named("ends at no root that is listed for this make");
    // Somebody else's root, by another name and by the same.
    let vendor = Vendor::new();
    let response = Passkey::new(Algorithm::Es256).register_from(&vendor.batch, &CHALLENGE);
    let stranger = Certified::root(&authority("Stranger"));
    assert_eq!(fault(&response, &list(&[&stranger.der])), unlisted);
    let impostor = Certified::root(&authority("Example Root"));
    assert_eq!(fault(&response, &list(&[&impostor.der])), named("has a signature that does not verify"));
    // Beside the right one it does no harm.
    assert_eq!(fault(&response, &list(&[&impostor.der, &vendor.root.der])), None);

    // Somebody who is missing in between.
    let mut vendor = Vendor::through(vec![authority("Middle")]);
    vendor.batch.between.clear();
    assert_eq!(vendor.fault(), unlisted);
    // Somebody in between who may not be there.
    let no_authority =
        || authority("Middle").with(|draft| draft.extensions = vec![Extension::constraints(false, None)]);
    let may_not = named("passes a certificate that may not issue others");
    assert_eq!(Vendor::through(vec![no_authority()]).fault(), may_not);
    assert_eq!(Vendor::through(vec![authority("Middle").with(|it| it.extensions.clear())]).fault(), may_not);
    let usage = |bits: u8| {
        authority("Middle").with(|draft| {
            let value = der(3, &[&[1, bits]]);
            draft.extensions.push(Extension { id: vec![0x55, 29, 15], critical: true, value });
        })
    };
    assert_eq!(Vendor::through(vec![usage(0x80)]).fault(), may_not);
    assert_eq!(Vendor::through(vec![usage(0x04)]).fault(), None);
    // Somebody in between who has expired, is not there yet, or insists on what is unknown.
    let middle = |change: &dyn Fn(&mut CertificateDraft)| {
        Vendor::through(vec![authority("Middle").with(change)]).fault()
    };
    assert_eq!(middle(&|draft| draft.until = "20210101000000Z"), named("is not valid any more"));
    assert_eq!(middle(&|draft| draft.from = "20900101000000Z"), named("is not valid yet"));
    let unknown = |draft: &mut CertificateDraft| {
        draft.extensions.push(Extension { id: vec![0x2a, 3, 4], critical: true, value: vec![5, 0] });
    };
    assert_eq!(middle(&unknown), named("has a critical extension that is not known here"));
    // Longer than somebody allows.
    let only = |between| {
        authority("First").with(|draft| draft.extensions = vec![Extension::constraints(true, Some(between))])
    };
    let longer = named("is longer than one of its certificates allows");
    assert_eq!(Vendor::through(vec![only(0), authority("Second")]).fault(), longer);
    assert_eq!(Vendor::through(vec![only(1), authority("Second")]).fault(), None);
    let strict = |between| {
        Certified::root(&authority("Example Root").with(|draft| {
            draft.extensions = vec![Extension::constraints(true, Some(between))];
        }))
    };
    assert_eq!(Vendor::below(strict(0), vec![authority("Middle")]).fault(), longer);
    assert_eq!(Vendor::below(strict(1), vec![authority("Middle")]).fault(), None);
    // A root that is listed and has expired, is not there yet, or may not issue.
    let root = |change: &dyn Fn(&mut CertificateDraft)| Vendor::with(change, |_| ()).fault();
    assert_eq!(root(&|draft| draft.until = "20210101000000Z"), named("is not valid any more"));
    assert_eq!(root(&|draft| draft.from = "20900101000000Z"), named("is not valid yet"));
    assert_eq!(root(&|draft| draft.extensions = vec![Extension::constraints(false, None)]), may_not);
    assert_eq!(root(&|draft| draft.extensions.clear()), may_not);
}

#[test]
fn a_list_is_read_from_pem_that_holds_certificates_alone() {
    let vendor = Vendor::new();
    let (root, leaf) = (vendor.root.pem(), vendor.batch.leaf.pem());
    assert_eq!(RootCertificate::read_pem(&root).unwrap().len(), 1);
    assert_eq!(RootCertificate::read_pem(&format!("# a vendor\n{root}\n{leaf}")).unwrap().len(), 2);
    let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    for (text, fault) in [
        ("", NoRoot::Nothing),
        ("a vendor", NoRoot::Nothing),
        (&root.replace("-----END CERTIFICATE-----\n", ""), NoRoot::Pem),
        (&root.replacen("MI", "!!", 1), NoRoot::Pem),
        (&format!("{root}{key}"), NoRoot::Other),
        (&format!("{root}{}", pem(&[0x30, 0])), NoRoot::Certificate(2)),
        (&pem(&[&vendor.root.der[..], &[0]].concat()), NoRoot::Certificate(1)),
    ] {
        assert_eq!(RootCertificate::read_pem(text).err(), Some(fault), "{text}");
    }
    assert!(AuthenticatorList::new(Vec::new()).is_none());
}

proptest! {
    /// Every byte of an attestation is either signed or judged: what is damaged is refused, and never a panic.
    #[test]
    fn a_damaged_attestation_convinces_nobody(at in any::<prop::sample::Index>(), bit in 0_u8..8) {
        let (response, list) = &*PREPARED;
        let object = response["response"]["attestationObject"].as_str().unwrap();
        let mut bytes = highwater_notation::decode_base64url(object).unwrap();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        let mut damaged = response.clone();
        damaged["response"]["attestationObject"] = json!(encode_base64url(&bytes));
        prop_assert!(enroll(&damaged, list, NOW).is_err(), "bit {bit} of byte {at}");
    }
}

static PREPARED: std::sync::LazyLock<(Value, AuthenticatorList)> = std::sync::LazyLock::new(|| {
    let vendor = Vendor::through(vec![CertificateDraft::authority("Example Middle")]);
    let response = Passkey::new(Algorithm::Es256).register_from(&vendor.batch, &CHALLENGE);
    (response, list(&[&vendor.root.der]))
});
