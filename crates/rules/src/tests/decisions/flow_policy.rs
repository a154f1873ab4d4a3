//! What an upstream says of whose data it takes, held before anything is sent.

use std::sync::Arc;

use highwater_core::label::TextSet;
use highwater_core::policy::RequestFacts;
use highwater_core::session::{Assurance, Contributor, Contributors};

use super::*;

/// A call of a tool of `mail` that takes data from these, in a session to which those contributed.
fn desk(tokens: &[&str], origins: &[&str], sole_gateway: bool) -> Desk {
    let tokens: Arc<[Arc<str>]> = tokens.iter().map(|token| Arc::from(*token)).collect();
    let accepting = told(&[Claim::SetOutcomes(Possible::only(Outcome::Benign)), Claim::AcceptFrom(tokens)]);
    let mut desk = Desk::new(FlowMode::Balanced).calling(accepting);
    desk.flow.sole_gateway = sole_gateway;
    desk.session = desk.session.with_origins(&TextSet::of(origins.iter().copied()));
    let server = |assurance, principal: &str| Contributor {
        principal: Some(principal.into()),
        ..Contributor::unnamed(assurance)
    };
    desk.policy = desk.policy.with_contributors(
        [
            (UpstreamId::new("mail"), Contributor::unnamed(Assurance::Tofu)),
            (UpstreamId::new("files"), server(Assurance::Verified, "https://files.example/mcp")),
        ]
        .into(),
    );
    desk.settled()
}

fn taken(desk: &Desk) -> bool {
    match desk.found().as_slice() {
        [] => true,
        [only] if only == "structural.flow-policy block" => false,
        other => panic!("{other:?}"),
    }
}

#[test]
fn everybody_who_contributed_must_be_accepted() {
    assert!(taken(&desk(&["user"], &[], true)));
    assert!(!taken(&desk(&["verified"], &[], true)), "the user stands behind every session");
    assert!(taken(&desk(&["user", "verified"], &["mcp:files:read"], true)));
    assert!(taken(&desk(&["user", "https://files.example/mcp"], &["mcp:files:read"], true)));
    assert!(!taken(&desk(&["user", "tofu"], &["mcp:files:read"], true)));
    assert!(!taken(&desk(&["user", "verified"], &["mcp:files:read", "mcp:web:fetch"], true)));
    assert!(taken(&desk(&["user", "verified", "unverified"], &["mcp:files:read", "mcp:web:fetch"], true)));
}

#[test]
fn a_server_without_an_address_is_itself_all_the_same() {
    assert!(taken(&desk(&["user", "self"], &["mcp:mail:list"], true)));
    assert!(!taken(&desk(&["user", "self"], &["mcp:files:read"], true)));
}

#[test]
fn a_host_that_may_read_elsewhere_holds_a_stranger() {
    assert!(!taken(&desk(&["self", "user", "host", "verified"], &[], false)));
    assert!(taken(&desk(&["user", "unverified"], &[], false)));
}

#[test]
fn a_set_that_lost_track_may_hold_anybody() {
    let mut lost = desk(&["user", "unverified"], &[], true);
    assert!(taken(&lost));
    lost.session = lost.session.with_origins(&TextSet::EVERY);
    assert!(!taken(&lost));
    let mut lost = desk(&["user", "unverified", "tofu", "verified"], &[], true);
    lost.session = lost.session.with_origins(&TextSet::EVERY);
    assert!(taken(&lost));
}

#[test]
fn what_the_client_says_of_its_sources_counts_too() {
    let desk = desk(&["user"], &[], true);
    let stranger = Contributors::new([Contributor::unnamed(Assurance::Unverified)], true);
    let request = RequestFacts { contributors: Some(stranger), ..RequestFacts::default() };
    let facts = Facts { request: &request, ..desk.facts() };
    assert_eq!(found(&judge(&desk.policy, &facts)), ["structural.flow-policy block"]);
}

#[test]
fn nothing_stated_is_nothing_asked() {
    let plain = Desk::new(FlowMode::Balanced);
    assert_eq!(plain.found(), [""; 0]);
}
