//! A real browser before a gateway that lets listed authenticators in alone. Its virtual ones sign with a certificate of
//! their own, which nobody lists by accident.

use highwater_notation::decode_base64url;
use highwater_testkit::passkey::{CertificateDraft, Certified, pem};
use highwater_testkit::webdriver::Authenticator;
use http::Method;
use serde_json::{Value, json};

use super::stage::Stage;

/// The make that virtual authenticators of Chromium say they are.
const VIRTUAL: &str = "01020304-0506-0708-0102-030405060708";

/// A root that has nothing to do with any browser.
fn stranger() -> String {
    Certified::root(&CertificateDraft::authority("Stranger")).pem()
}

fn listing(root: &str) -> Value {
    json!({
        "attestation": "required",
        "authenticators": { "virtual": { "aaguids": [VIRTUAL], "roots": [root] } },
    })
}

/// Tries to enroll the first passkey on the page.
async fn try_on_the_page(stage: &Stage) {
    let code = stage.window("owner").await["code"].as_str().unwrap().to_owned();
    stage.go("/enroll").await;
    stage.browser.fill("#code", &code).await.unwrap();
    stage.browser.click("#enroll button").await.unwrap();
}

/// The certificate that the browser shows for its authenticator.
async fn certificate(stage: &Stage) -> Vec<u8> {
    stage.window("owner").await;
    let client = stage.native().await;
    let begun = client.request("approval/enroll/begin", json!({})).await.unwrap();
    let options = begun.result().unwrap()["options"].clone();
    assert_eq!(options["attestation"], "direct");
    stage.go("/enroll").await;
    let response = stage.create(&options, None).await.unwrap();
    let object = decode_base64url(response["response"]["attestationObject"].as_str().unwrap()).unwrap();
    let at = object.windows(3).position(|part| part == b"x5c").unwrap() + 3;
    // One certificate of two bytes of length: 81 59 LL LL.
    assert_eq!(object[at..at + 2], [0x81, 0x59]);
    let length = usize::from(u16::from_be_bytes([object[at + 2], object[at + 3]]));
    object[at + 4..at + 4 + length].to_vec()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authenticator_is_refused_by_name_unless_it_is_listed() {
    let stage = Stage::with(listing(&stranger())).await;
    stage.browser.add(&Authenticator::usb()).await.unwrap();
    try_on_the_page(&stage).await;
    stage.wait_text("#status", "ends at no root that is listed for this make").await;
    let (_, credentials) = stage.api(Method::GET, "/api/v1/approvals/credentials", None).await;
    assert_eq!(credentials, json!([]));

    // The same browser before a gateway that lists the key of its authenticators.
    let leaf = certificate(&stage).await;
    let stage = Stage::with(listing(&pem(&leaf))).await;
    stage.enrolled(&Authenticator::usb()).await;
    let (_, credentials) = stage.api(Method::GET, "/api/v1/approvals/credentials", None).await;
    assert_eq!(credentials[0]["attestedBy"], "Batch Certificate", "{credentials}");
    stage.wait_text(".keys", "attested by Batch Certificate").await;
}
