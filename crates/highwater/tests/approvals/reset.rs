//! While somebody's passkeys are being reset, nothing that they signed or would sign counts: not one of several
//! signatures, not a yes that no call rests on yet, not a button behind a sign-in, not a mandate.

use highwater_testkit::client::Era;
use http::Method;
use serde_json::{Value, json};

use crate::person::Person;
use crate::stage::{DELETE, Stage, WRITE, done, waits};

/// Two of three must sign for a deletion.
async fn by_two_of_three() -> Stage {
    let quorum = json!({ "n": 2, "approvers": ["ada", "ben", "cyd"] });
    Stage::standing("1s", |config| {
        config["approvals"]["tools"] = json!({ "files:delete": { "quorum": quorum } });
    })
    .await
}

/// Signs a request in the name of whoever is in front of the page, and gives where it stands.
async fn state(signed: (u16, Value)) -> Value {
    let (status, said) = signed;
    assert_eq!(status, 200, "{said}");
    said["state"].clone()
}

#[tokio::test]
async fn a_signature_of_somebody_in_reset_counts_in_no_quorum() {
    let stage = by_two_of_three().await;
    let [ada, ben, cyd] = [stage.enroll("ada").await, stage.enroll("ben").await, stage.enroll("cyd").await];
    let client = stage.client(Era::Modern).await;
    let call = async || client.call(DELETE, json!({ "path": "a" })).await.unwrap();
    let id = waits(&call().await);
    let (as_ada, as_ben) = (stage.person.with_passkey(&ada).await, stage.person.with_passkey(&ben).await);
    assert_eq!(state(as_ben.sign(&id, &ben).await).await, "pending");
    stage.reset("ben").await;
    assert_eq!(state(as_ada.sign(&id, &ada).await).await, "pending", "one of two");
    assert_eq!(waits(&call().await), id);
    assert_eq!(stage.ran("delete"), 0);
    let (_, request) = stage.api(Method::GET, &id, None).await;
    assert_eq!(request["need"]["signed"], json!(["ada"]), "{request}");
    // Nor does a new one.
    let (status, said) = as_ben.sign(&id, &ben).await;
    assert_eq!((status, &said["reason"]), (409, &json!("resetting")), "{said}");
    let as_cyd = stage.person.with_passkey(&cyd).await;
    assert_eq!(state(as_cyd.sign(&id, &cyd).await).await, "approved");
    done(&call().await);
    assert_eq!(stage.ran("delete"), 1);
}

#[tokio::test]
async fn a_yes_of_several_carries_no_call_once_one_of_them_is_in_reset() {
    let stage = by_two_of_three().await;
    let [ada, ben] = [stage.enroll("ada").await, stage.enroll("ben").await];
    let client = stage.client(Era::Modern).await;
    let id = waits(&client.call(DELETE, json!({ "path": "a" })).await.unwrap());
    for (passkey, expected) in [(&ada, "pending"), (&ben, "approved")] {
        let person = stage.person.with_passkey(passkey).await;
        assert_eq!(state(person.sign(&id, passkey).await).await, expected);
    }
    stage.reset("ben").await;
    let answer = client.call(DELETE, json!({ "path": "a" })).await.unwrap();
    assert_eq!(stage.ran("delete"), 0, "{}", answer.raw());
    assert_ne!(waits(&answer), id, "it is asked anew");
}

#[tokio::test]
async fn what_waited_when_the_reset_began_is_not_signed() {
    let stage = Stage::new("1s").await;
    let client = stage.client(Era::Modern).await;
    let id = waits(&client.call(DELETE, json!({ "path": "a" })).await.unwrap());
    let owner = stage.person.with_passkey(&stage.passkey).await;
    stage.reset("owner").await;
    let (status, said) = owner.sign(&id, &stage.passkey).await;
    assert_eq!((status, &said["reason"]), (409, &json!("resetting")), "{said}");
    let (_, request) = stage.api(Method::GET, &id, None).await;
    assert_eq!(request["state"], "pending", "{request}");
    client.call(DELETE, json!({ "path": "a" })).await.unwrap();
    assert_eq!(stage.ran("delete"), 0);
}

#[tokio::test]
async fn a_button_behind_a_passkey_that_is_being_reset_does_nothing() {
    let stage = Stage::new("1s").await;
    let client = stage.client(Era::Modern).await;
    let call = async || client.call(WRITE, json!({ "path": "a" })).await.unwrap();
    let owner: Person = stage.person.with_passkey(&stage.passkey).await;
    let given = waits(&call().await);
    assert_eq!(owner.confirm(&given, None).await.0, 200);
    stage.reset("owner").await;
    let id = waits(&call().await);
    assert_ne!(id, given, "what was not used yet is void");
    let (status, said) = owner.confirm(&id, None).await;
    assert_eq!((status, &said["reason"]), (409, &json!("resetting")), "{said}");
    assert_eq!(waits(&call().await), id);
    assert_eq!(stage.ran("write"), 0);
    // The operator needs no passkey for it.
    assert_eq!(stage.person.confirm(&id, None).await.0, 200);
    done(&call().await);
    assert_eq!(stage.ran("write"), 1);
}
