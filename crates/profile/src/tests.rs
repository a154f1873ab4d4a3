//! What a profile and the shape of a tool make of its contract.

use highwater_core::annotation::{
    Authority, CallVariant, Claim, Claims, Contract, DataClass, Destination, Hints, Outcome, Possible,
};
use highwater_core::profile::Profile;
use highwater_core::trust::{ServerTrust, TrustLevel};
use highwater_notation::Words;

use crate::ToolShape;

const PATH: &str =
    r#"{"type":"object","properties":{"path":{"type":"string"}},"additionalProperties":false}"#;
const URL: &str = r#"{"type":"object","properties":{"url":{"type":"string"}},"additionalProperties":false}"#;

fn contract(profile: Profile, name: &str, schema: &str) -> Contract {
    let trust = match profile {
        Profile::Local => ServerTrust::default().with_profile(TrustLevel::Tool),
        Profile::Private | Profile::Public | Profile::Unknown => ServerTrust::default(),
    };
    let shape = ToolShape::read("files", name, Some(schema));
    Contract::profiled(profile, shape.acts()).weighed(&Claims::new(), &trust).0
}

#[test]
fn things_of_this_machine_stay_with_the_user_and_are_answered_for() {
    let read = contract(Profile::Local, "read_file", PATH);
    assert_eq!(read.destination(), Possible::only(Destination::User));
    assert_eq!(read.outcomes(), Possible::only(Outcome::Benign));
    assert_eq!(read.reply_label().classes(), Words::only(DataClass::Confidential));
    assert_eq!(read.integrity(), TrustLevel::Tool);
    let write = contract(Profile::Local, "write_file", PATH);
    assert_eq!(write.outcomes(), Possible::only(Outcome::Consequential));
    assert!(!write.is_known_to_be_undoable(), "one word for the server says nothing of this tool");
}

#[test]
fn a_reading_name_is_a_read_by_the_operators_word_for_the_server() {
    for (profile, class) in [
        (Profile::Local, CallVariant::Read),
        (Profile::Private, CallVariant::Read),
        (Profile::Public, CallVariant::Read),
        (Profile::Unknown, CallVariant::Write),
    ] {
        assert_eq!(contract(profile, "read_file", PATH).variant(), class, "{profile}");
        assert_eq!(contract(profile, "write_file", PATH).variant(), CallVariant::Write, "{profile}");
        let runs = r#"{"properties":{"command":{"type":"string"}}}"#;
        assert_ne!(contract(profile, "get_output", runs).variant(), CallVariant::Read, "{profile}");
    }
    // Anybody may say worse of it, and nobody who is not believed can say better.
    let shape = |name| ToolShape::read("files", name, Some(PATH));
    let said = |hints| {
        let mut claims = Claims::new();
        claims.push(Claim::Hints(hints), Authority::Declared, "core");
        claims
    };
    let weighed = |name, hints| {
        Contract::profiled(Profile::Local, shape(name).acts())
            .weighed(&said(hints), &ServerTrust::default())
            .0
            .variant()
    };
    let writes = Hints { read_only: Some(false), ..Hints::default() };
    assert_eq!(weighed("read_file", writes), CallVariant::Write);
    let destroys = Hints { destructive: Some(true), ..Hints::default() };
    assert_eq!(weighed("read_file", destroys), CallVariant::Destructive);
    let reads = Hints { read_only: Some(true), ..Hints::default() };
    assert_eq!(weighed("write_file", reads), CallVariant::Write);
}

#[test]
fn an_account_is_private_and_strangers_write_there() {
    let list = contract(Profile::Private, "list_tickets", r#"{"type":"object"}"#).reply_label().clone();
    assert_eq!(list.classes(), Words::only(DataClass::Confidential).with(DataClass::User));
    assert!(list.untrusted() && !list.open_world());
}

#[test]
fn the_web_is_public_and_a_page_is_read_by_its_address() {
    let fetch = contract(Profile::Public, "fetch_page", URL);
    assert_eq!(fetch.destination(), Possible::only(Destination::Public));
    assert!(!fetch.reply_label().private() && fetch.reply_label().open_world());
}

#[test]
fn no_word_fills_in_an_exit_or_an_engine() {
    for profile in [Profile::Local, Profile::Private, Profile::Public] {
        let sends = contract(profile, "send_email", r#"{"properties":{"to":{"type":"string"}}}"#);
        assert!(sends.destination().contains(Destination::Public) && sends.acts(), "{profile}");
        let runs = contract(profile, "execute_command", r#"{"properties":{"command":{"type":"string"}}}"#);
        assert!(runs.destination().contains(Destination::Public) && runs.destroys(), "{profile}");
        assert!(runs.reply_label().untrusted(), "{profile}: a command may fetch what strangers wrote");
    }
}

#[test]
fn what_a_believed_server_says_counts_before_the_word_for_it() {
    let mut claims = Claims::new();
    let hints = Hints { read_only: Some(true), destructive: None, idempotent: None, open_world: Some(false) };
    claims.push(Claim::Hints(hints), Authority::DeclaredVerified, "core");
    let shape = ToolShape::read("files", "convert", Some(PATH));
    let trust = ServerTrust::default().believed_if(true);
    let (contract, _) = Contract::profiled(Profile::Private, shape.acts()).weighed(&claims, &trust);
    assert_eq!(contract.destination(), Possible::only(Destination::Ephemeral));
    assert_eq!(contract.outcomes(), Possible::only(Outcome::Benign));
    assert!(contract.reply_label().untrusted(), "a closed world does not say who writes there");
}
