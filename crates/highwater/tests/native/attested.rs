//! A list of authenticators: what nobody listed vouches for is not enrolled, over the protocol as little as on the page.

use std::sync::Arc;

use highwater_passkey::Algorithm;
use highwater_testkit::client::Era;
use highwater_testkit::passkey::{Batch, CertificateDraft, Certified, Passkey};
use highwater_testkit::wait::until;
use http::Method;
use serde_json::{Value, json};

use crate::stage::{Stage, reason};

const LISTED: [u8; 16] = [0xaa; 16];
const UNLISTED: [u8; 16] = [0xbb; 16];

fn root() -> Certified {
    Certified::root(&CertificateDraft::authority("Example Root"))
}

/// Lets one make in, by a root in a file beside the configuration.
async fn strict(root: &Certified) -> Stage {
    let pem = root.pem();
    Stage::with(|config| {
        let script = config["servers"]["files"]["args"][1].as_str().unwrap();
        let folder = std::path::Path::new(script).parent().unwrap();
        std::fs::write(folder.join("vendor.pem"), pem).unwrap();
        config["approvals"]["attestation"] = json!("required");
        config["approvals"]["authenticators"] = json!({ "example": {
            "aaguids": ["aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa"], "roots": ["vendor.pem"],
        } });
    })
    .await
}

fn key(origin: &str, root: Option<&Certified>, aaguid: [u8; 16]) -> Passkey {
    let batch = root.map(|root| Arc::new(Batch::of(root, aaguid)));
    let mut passkey = Passkey::fresh(Algorithm::Es256, origin);
    (passkey.aaguid, passkey.batch) = (aaguid, batch);
    passkey
}

/// What is wrong with each authenticator that is not let in.
fn strangers(origin: &str, root: &Certified) -> Vec<(Passkey, &'static str)> {
    let other = Certified::root(&CertificateDraft::authority("Other Root"));
    vec![
        (key(origin, None, LISTED), "nobody vouches for this authenticator"),
        (key(origin, Some(root), UNLISTED), "bbbbbbbb-bbbb-bbbb-bbbb-bbbbbbbbbbbb are not on the list"),
        (key(origin, Some(root), [0; 16]), "does not say of what make it is"),
        (key(origin, Some(&other), LISTED), "ends at no root that is listed for this make"),
    ]
}

#[tokio::test]
async fn g08_over_the_protocol_only_listed_authenticators_enroll() {
    let root = root();
    let stage = strict(&root).await;
    let (_, page) = stage.window("owner").await;
    for era in [Era::Legacy, Era::Modern] {
        let client = stage.client(era).await;
        for (mut passkey, words) in strangers(page.origin(), &root) {
            let begun = client.request("approval/enroll/begin", json!({})).await.unwrap();
            assert_eq!(begun.at("/result/options/attestation"), "direct");
            let response = passkey.create(&begun.at("/result/options")).unwrap();
            let answer =
                client.request("approval/enroll/finish", json!({ "response": response })).await.unwrap();
            assert_eq!(reason(&answer), "verification_failed");
            let detail = answer.at("/error/data/detail");
            assert!(detail.as_str().unwrap().contains(words), "{detail}");
        }
        let mut passkey = key(page.origin(), Some(&root), LISTED);
        stage.register(&client, &mut passkey).await;
    }
    let (_, credentials) = stage.api(Method::GET, "/api/v1/approvals/credentials", None).await;
    let vouching: Vec<&Value> =
        credentials.as_array().unwrap().iter().map(|credential| &credential["attestedBy"]).collect();
    assert_eq!(vouching, ["Example Root", "Example Root"], "{credentials}");
    let listed = crate::commands::said(&stage, &["approvals", "credentials"]);
    assert!(listed.contains("attested by") && listed.matches("Example Root").count() == 2, "{listed}");
}

#[tokio::test]
async fn g08_on_the_page_only_listed_authenticators_enroll() {
    let root = root();
    let stage = strict(&root).await;
    let (code, page) = stage.window("owner").await;
    for (mut passkey, words) in strangers(page.origin(), &root) {
        let (_, begun) = page.post("/enroll/begin", &json!({ "user": "owner" })).await;
        assert_eq!(begun["options"]["attestation"], "direct");
        let response = passkey.create(&begun["options"]).unwrap();
        let (status, said) =
            page.post("/enroll/finish", &json!({ "ticket": begun["ticket"], "response": response })).await;
        assert_eq!((status, &said["reason"]), (409, &json!("verification_failed")), "{said}");
        assert!(said["error"].as_str().unwrap().contains(words), "{said}");
    }
    let mut passkey = key(page.origin(), Some(&root), LISTED);
    let (_, begun) = page.post("/enroll/begin", &json!({ "user": "owner" })).await;
    let response = passkey.create(&begun["options"]).unwrap();
    let (status, said) =
        page.post("/enroll/finish", &json!({ "ticket": begun["ticket"], "response": response })).await;
    assert_eq!(status, 200, "{said}");
    let (status, said) = page.post("/enroll/code", &json!({ "id": said["id"], "code": code.unwrap() })).await;
    assert_eq!(status, 200, "{said}");
}

/// A passkey that was registered before there was a list is not confirmed after it.
#[tokio::test]
async fn a_dormant_passkey_does_not_slip_through_a_list_made_since() {
    let root = root();
    let stage = Stage::new().await;
    let client = stage.client(Era::Modern).await;
    let begun = {
        let (_, page) = stage.window("owner").await;
        let mut software = key(page.origin(), None, LISTED);
        (stage.register(&client, &mut software).await, page)
    };
    let (id, page) = begun;
    let home = stage.gateway.home();
    let mut config = crate::stage::config(home.path());
    // The page keeps its port; all else of `approvals` is read again.
    config["approvals"]["attestation"] = json!("required");
    config["approvals"]["authenticators"] = json!({ "example": {
        "aaguids": ["aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa"], "roots": [root.pem()],
    } });
    home.configure(&config.to_string()).unwrap();
    let (code, _) = stage.window("owner").await;
    let taken_up = until("the configuration is taken up", async || {
        let begun = client.request("approval/enroll/begin", json!({})).await.unwrap();
        (begun.at("/result/options/attestation") == "direct").then_some(())
    });
    taken_up.await.unwrap_or_else(|error| panic!("{error:#}: {}", stage.gateway.log()));
    let (status, said) = page.post("/enroll/code", &json!({ "id": id, "code": code.unwrap() })).await;
    assert_eq!((status, &said["reason"]), (409, &json!("verification_failed")), "{said}");
}
