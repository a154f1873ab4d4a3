//! What a manifest proves, and every way in which it does not.

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};

use super::*;

const ITEM: &str =
    r#"{"name":"t","description":"d","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#;

fn pair(seed: u8) -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap()
}

fn public(pair: &Ed25519KeyPair) -> ManifestKey {
    ManifestKey::new(pair.public_key().as_ref().try_into().unwrap())
}

fn manifest(issued: u64, expires: u64) -> Manifest {
    let tool = PinKey::new(PinKind::Tool, "t");
    Manifest {
        server: "https://mcp.example/mcp".to_owned(),
        publisher: Some("Example".to_owned()),
        issued: Timestamp(issued * 1000),
        expires: Timestamp(expires * 1000),
        nonce: "n".to_owned(),
        hashes: [(tool, ContentHash::of(ITEM).unwrap())].into(),
    }
}

fn signed(manifest: &Manifest, pair: &Ed25519KeyPair) -> String {
    let header = signature_header(&public(pair));
    let text = manifest.to_json().to_string();
    let signature = pair.sign(signing_input(&header, &text).as_bytes());
    Envelope::write(manifest, &format!("{header}..{}", URL_SAFE_NO_PAD.encode(signature)))
}

fn verified(text: &str, keys: &[ManifestKey]) -> Result<SignedManifest, ManifestFault> {
    Envelope::parse(text)?.signed_by(keys)
}

#[test]
fn what_was_signed_is_verified_and_nothing_else() {
    let (pair, other) = (pair(1), pair(2));
    let text = signed(&manifest(100, 200), &pair);
    let found = verified(&text, &[public(&other), public(&pair)]).unwrap();
    assert_eq!(found.manifest, manifest(100, 200));
    assert_eq!(verified(&text, &[public(&other)]), Err(ManifestFault::Signature));
    assert_eq!(verified(&text, &[]), Err(ManifestFault::Signature));
    // One byte of what is signed, anywhere.
    for (from, to) in [("\"t\"", "\"u\""), ("sha256-", "sha256_"), ("Example", "Exemple"), ("\"n\"", "\"m\"")]
    {
        let changed = text.replace(from, to);
        assert_ne!(changed, text);
        assert_eq!(verified(&changed, &[public(&pair)]), Err(ManifestFault::Signature), "{from}");
    }
    // Blanks and order are not what is signed.
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(verified(&serde_json::to_string_pretty(&value).unwrap(), &[public(&pair)]).is_ok());
}

#[test]
fn other_ways_of_signing_are_refused() {
    let pair = pair(1);
    let body = manifest(100, 200);
    let text = body.to_json().to_string();
    for head in
        [r#"{"alg":"none"}"#, r#"{"alg":"HS256"}"#, r#"{"alg":"EdDSA","crit":["b64"],"b64":false}"#, r#"{}"#]
    {
        let header = URL_SAFE_NO_PAD.encode(head);
        let signature = URL_SAFE_NO_PAD.encode(pair.sign(signing_input(&header, &text).as_bytes()));
        let envelope = Envelope::write(&body, &format!("{header}..{signature}"));
        assert_eq!(verified(&envelope, &[public(&pair)]), Err(ManifestFault::Algorithm), "{head}");
    }
    for signature in ["", "a..b", "a.b.c", "a..b.c", "...."] {
        let found = verified(&Envelope::write(&body, signature), &[public(&pair)]);
        assert!(matches!(found, Err(ManifestFault::Malformed(_))), "{signature}: {found:?}");
    }
    for text in ["", "{}", r#"{"manifest":{}}"#, r#"{"signature":"a..b"}"#] {
        assert!(matches!(verified(text, &[]), Err(ManifestFault::Malformed(_))), "{text}");
    }
}

#[test]
fn a_manifest_counts_for_its_server_in_its_time_and_only_onwards() {
    let pair = pair(1);
    let of =
        |issued, expires| verified(&signed(&manifest(issued, expires), &pair), &[public(&pair)]).unwrap();
    let (now, servers) = (Timestamp(150_000), ["https://mcp.example/mcp/", "files"]);
    let current = of(100, 200);
    assert_eq!(current.counts(&servers, now, None), Ok(()));
    assert_eq!(current.counts(&servers, now, Some(&current)), Ok(()));
    assert_eq!(
        current.counts(&["https://other.example/mcp"], now, None),
        Err(ManifestFault::OtherServer("https://mcp.example/mcp".to_owned()))
    );
    assert_eq!(
        current.counts(&servers, Timestamp(200_000), None),
        Err(ManifestFault::Expired(Timestamp(200_000)))
    );
    let future = of(1_000_000, 2_000_000);
    assert_eq!(future.counts(&servers, now, None), Err(ManifestFault::NotYet(Timestamp(1_000_000_000))));
    let newer = of(120, 300);
    assert_eq!(newer.counts(&servers, now, Some(&current)), Ok(()));
    assert_eq!(
        current.counts(&servers, now, Some(&newer)),
        Err(ManifestFault::Older { issued: Timestamp(100_000), seen: Timestamp(120_000) })
    );
    assert_eq!(of(100, 201).counts(&servers, now, Some(&current)), Err(ManifestFault::Twice));
    assert_eq!(SignedManifest::read_back(&current.text), Some(current));
}

#[test]
fn the_hash_is_of_every_byte_that_counts() {
    let hash = |item: &str| ContentHash::of(item).unwrap();
    let same = r#" { "inputSchema":{ "type":"object" },"annotations":{"readOnlyHint":true},"name":"t","description":"d","contentHash":"x"}"#;
    assert_eq!(hash(ITEM), hash(same));
    for (from, to) in [("\"d\"", "\"D\""), ("object", "0bject"), ("true", "false"), ("\"t\"", "\"T\"")] {
        assert_ne!(hash(ITEM), hash(&ITEM.replace(from, to)), "{from}");
    }
    assert_eq!(ContentHash::of("{"), None);
}

#[test]
fn a_name_that_is_listed_twice_is_nobodys() {
    let entry = r#"{"name":"t","contentHash":"sha256-a"}"#;
    let text = format!(
        r#"{{"manifest":{{"server":"s","issuedAt":"1970-01-01T00:00:00Z","expiresAt":"1970-01-02T00:00:00Z","nonce":"n","tools":[{entry},{entry}]}},"signature":"a..b"}}"#
    );
    let found = Envelope::parse(&text).unwrap().unverified();
    assert_eq!(found, Err(ManifestFault::Malformed("a name is listed twice")));
}
