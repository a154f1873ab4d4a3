//! `highwater receipts verify`, on a machine that has nothing but the files.

use highwater_mcp::annotations::pinned;
use highwater_notation::encode_base64url;
use highwater_passkey::Algorithm;
use highwater_pins::PinKind;
use highwater_testkit::passkey::{ORIGIN, Passkey, RP_ID};
use highwater_testkit::receipts::Notary;
use serde_json::Value;

use crate::program::{Site, text};

const ARGUMENTS: &str = r#"{"path":"a"}"#;

/// The exit code, and everything that was said.
fn verify(site: &Site, arguments: &[&str]) -> (i32, String) {
    let output = site.run(&[&["receipts", "verify"], arguments].concat());
    (output.status.code().unwrap(), text(&output.stdout) + &text(&output.stderr))
}

struct Signed {
    site: Site,
    key: String,
    receipts: Vec<String>,
}

fn signed(count: usize) -> Signed {
    let (site, passkey) = (Site::new(), Passkey::new(Algorithm::Es256));
    let mut notary = Notary::new(RP_ID, ORIGIN);
    let definition = r#"{"name":"delete","inputSchema":{"type":"object"}}"#;
    site.write("delete.json", definition);
    notary.define(pinned::read_back(PinKind::Tool, definition).unwrap().digest());
    let receipts: Vec<String> =
        (0..count).map(|_| notary.receipt(&passkey, "files__delete", ARGUMENTS).to_text()).collect();
    for (at, receipt) in receipts.iter().enumerate() {
        site.write(&format!("r{at}.json"), &format!("{receipt}\n"));
    }
    let enrolled = serde_json::to_string(&Notary::enrolled(&passkey)).unwrap();
    site.write("enrollments.jsonl", &format!("{enrolled}\n"));
    let other = Passkey::fresh(Algorithm::Es256, ORIGIN);
    let other = serde_json::to_string(&Notary::enrolled(&other)).unwrap();
    site.write("others.jsonl", &format!("{other}\n"));
    Signed { site, key: encode_base64url(&notary.key()), receipts }
}

#[test]
fn a_receipt_verifies_with_the_file_alone_and_says_what_that_is_worth() {
    let Signed { site, key, .. } = signed(1);
    let (code, said) = verify(&site, &["r0.json"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("Nothing ties them to a person or to a gateway"), "{said}");
    assert!(!said.contains("Verified"), "{said}");
    assert!(said.contains("- whose key it is: a receipt carries its own key"), "{said}");

    let (code, said) = verify(&site, &["r0.json", "--enrollments", "enrollments.jsonl"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("The key was enrolled for `ada`, authorized by `code at the terminal`."), "{said}");
    assert!(
        said.contains("Verified: signed by keys that were enrolled; that the gateway recorded it was not")
    );

    let all = ["r0.json", "--enrollments", "enrollments.jsonl", "--gateway-key", &key];
    let (code, said) = verify(&site, &[&all[..], &["--definition", "delete.json"]].concat());
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains("Verified: signed by keys that were enrolled, as this gateway recorded it."),
        "{said}"
    );
    for unproven in
        ["who the person is", "what the screen showed", "that the key lives in hardware", "the time"]
    {
        assert!(said.contains(&format!("- {unproven}: ")), "{unproven}: {said}");
    }
    insta::assert_snapshot!("a_receipt_that_holds", said);
}

#[test]
fn the_part_that_fails_is_named() {
    let Signed { site, key, receipts } = signed(1);
    let receipt = receipts.first().unwrap();
    for (from, to, part) in [
        (r#"{\"path\":\"a\"}"#, r#"{\"path\":\"b\"}"#, "client-data"),
        ("files__delete", "files__create", "client-data"),
        ("some client", "same client", "gateway-signature"),
        ("\"v\":1", "\"v\":2", "form"),
    ] {
        assert!(receipt.contains(from), "{from}: {receipt}");
        site.write("changed.json", &receipt.replace(from, to));
        let (code, said) = verify(&site, &["changed.json", "--gateway-key", &key]);
        assert_eq!(code, 4, "{said}");
        assert!(said.contains(&format!("not verified: changed.json:1: {part}: ")), "{said}");
        assert!(said.contains("Not verified. Take nothing of it for proven."), "{said}");
        assert!(!said.contains("\nProven:"), "{said}");
    }
    for (arguments, part) in [
        (&["r0.json", "--origin", "http://localhost:7413"][..], "client-data"),
        (&["r0.json", "--rp-id", "example.com"], "authenticator-data"),
        (&["r0.json", "--enrollments", "others.jsonl"], "enrollment"),
        (&["r0.json", "--gateway-key", "hSDwCYkwp1R0i33ctD73Wg2_Og0mOBr066SpjqqbTmo"], "gateway-signature"),
    ] {
        let (code, said) = verify(&site, arguments);
        assert_eq!(code, 4, "{said}");
        assert!(said.contains(&format!("not verified: r0.json:1: {part}: ")), "{said}");
    }
    site.write("other.json", r#"{"name":"delete","inputSchema":{"type":"object","required":["path"]}}"#);
    let (code, said) = verify(&site, &["r0.json", "--definition", "other.json"]);
    assert_eq!(code, 4);
    assert!(
        said.contains("not verified: r0.json:1: definition: it was signed for another definition"),
        "{said}"
    );
}

/// D16: it was said last, behind thirty lines of each.
#[test]
fn d16_whether_they_hold_is_said_first_and_each_receipt_in_a_few_lines() {
    let Signed { site, key, receipts } = signed(4);
    let with_key = |files: &[&str]| verify(&site, &[files, &["--gateway-key", &key]].concat()).1;
    let (one, all) = (with_key(&["r0.json"]), with_key(&["r0.json", "r1.json", "r2.json", "r3.json"]));
    for said in [&one, &all] {
        assert!(
            said.starts_with(
                "Verified: signed as this gateway recorded it; whose keys they are was not asked."
            ),
            "it is not said first: {said}"
        );
    }
    assert!(all.contains("\n4 of 4 receipts hold.\n"), "{all}");
    assert_eq!(all.matches("\nNot proven:\n").count(), 1, "{all}");
    let more = all.lines().count() - one.lines().count();
    assert!(more <= 3 * 9, "three more receipts take {more} more lines: {all}");
    // Where some hold and others do not, it is said of which.
    site.write("changed.json", &receipts[1].replace("files__delete", "files__create"));
    let said = with_key(&["r0.json", "changed.json"]);
    assert!(
        said.starts_with("Not verified. Take nothing of it for proven.\n1 of 2 receipts hold."),
        "{said}"
    );
    assert!(said.contains("\nNot proven of changed.json:1:\n- anything: "), "{said}");
}

#[test]
fn of_several_the_chain_is_checked_and_gaps_are_named() {
    let Signed { site, key, .. } = signed(4);
    let (code, said) = verify(&site, &["r2.json", "r0.json", "r1.json", "--gateway-key", &key]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("chain      held"), "{said}");
    let (code, said) = verify(&site, &["r0.json", "r3.json"]);
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("chain: receipts 1 to 2 are missing between the two"), "{said}");
    let (code, said) = verify(&site, &["r0.json", "r0.json"]);
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("receipt 0 does not stand in its place"), "{said}");
}

#[test]
fn programs_are_told_the_same() {
    let Signed { site, receipts, .. } = signed(1);
    let (code, said) = verify(&site, &["r0.json", "--json"]);
    let told: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((code, &told["holds"]), (0, &Value::Bool(true)));
    assert_eq!(told["receipts"][0]["receipt"]["toolName"], "files__delete");
    site.write("changed.json", &receipts.first().unwrap().replace("some client", "same client"));
    let output = site.run(&["receipts", "verify", "changed.json", "--json", "--rp-id", "x.example"]);
    let told: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert_eq!(told["holds"], Value::Bool(false));
    assert!(told["fault"].as_str().unwrap().contains("authenticator-data"), "{told}");
}

#[test]
fn what_cannot_be_read_is_wrong_usage_and_what_is_no_receipt_is_not_verified() {
    let site = Site::new();
    for (arguments, code, words) in [
        (&["none.json"][..], 2, "cannot read `none.json`"),
        (&["x.json", "--gateway-key", "abc"], 2, "`abc` is no public key"),
        (&["x.json", "--gateway-key", "-SDwCYkwp1R0i33ctD73Wg2_Og0mOBr066SpjqqbTmo"], 4, "x.json:1: form: "),
        (&["x.json", "--enrollments", "x.json"], 2, "`x.json` holds no enrollments"),
        (&["x.json", "--definition", "empty.json"], 2, "`empty.json` holds no definition of a tool"),
        (&["x.json"], 4, "x.json:1: form: this is not the text of a receipt"),
        (&["empty.json"], 4, "`empty.json` is empty"),
    ] {
        site.write("x.json", "{}");
        site.write("empty.json", "");
        let (found, said) = verify(&site, arguments);
        assert_eq!(found, code, "{said}");
        assert!(said.contains(words), "{said}");
    }
}
