//! How often an allowed action may be sent.

use highwater_core::annotation::Hints;

use super::*;

/// What a server of this standing gets for its hints.
fn says(verified: bool, read_only: bool, idempotent: bool) -> Contract {
    let trust = ServerTrust::new(Some(TrustLevel::Tool), TrustLevel::Tool, Some(verified));
    let hints = Hints {
        read_only: Some(read_only),
        idempotent: Some(idempotent),
        destructive: None,
        open_world: Some(false),
    };
    let mut claims = Claims::new();
    claims.push(Claim::Hints(hints), trust.declaring(), "test");
    Contract::weigh(&claims, &trust).0
}

fn permitted(kind: ActionKind, contract: Contract) -> PermittedAction {
    let mut desk = Desk::new(FlowMode::Observe).calling(contract);
    desk.action = Action::new(kind, UpstreamId::new("mail"), "tools/call", "send", "{}");
    let Verdict::Allow(permit) = desk.decide() else { panic!("it is allowed") };
    let same = Action::new(kind, UpstreamId::new("mail"), "tools/call", "send", "{}");
    PermittedAction::bind(same, permit).unwrap()
}

#[test]
fn only_what_a_believed_contract_calls_harmless_twice_is_sent_twice() {
    for (verified, read_only, idempotent, conduct) in [
        (true, true, false, Conduct::Reads),
        (true, true, true, Conduct::Reads),
        (true, false, true, Conduct::Idempotent),
        (true, false, false, Conduct::Once),
        // A stranger's word loosens nothing.
        (false, true, true, Conduct::Once),
        (false, false, true, Conduct::Once),
    ] {
        let permitted = permitted(ActionKind::CallTool, says(verified, read_only, idempotent));
        assert_eq!(permitted.conduct(), conduct);
        let second = permitted.begin().again(true);
        assert_eq!(second.is_ok(), conduct.is_repeatable(), "{conduct:?}");
    }
}

#[test]
fn what_nobody_described_is_done_once() {
    let permitted = permitted(ActionKind::CallTool, Contract::unknown());
    assert_eq!(permitted.conduct(), Conduct::Once);
    assert_eq!(permitted.begin().again(true).unwrap_err(), Spent);
}

#[test]
fn what_never_left_may_be_sent_whatever_it_does() {
    let first = permitted(ActionKind::CallTool, Contract::unknown()).begin();
    let second = first.again(false).unwrap();
    assert_eq!(second.number(), 2);
    assert_eq!(second.elsewhere(false).unwrap().number(), 2);
    let third = permitted(ActionKind::CallTool, Contract::unknown()).begin();
    assert_eq!(third.elsewhere(true).unwrap_err(), Spent);
}

#[test]
fn a_step_of_a_call_under_way_is_neither_repeated_nor_queued() {
    for kind in [ActionKind::Answer, ActionKind::TaskStep] {
        let permitted = permitted(kind, says(true, true, true));
        assert_eq!(permitted.conduct(), Conduct::Step);
        assert!(!permitted.conduct().writes());
        assert_eq!(permitted.begin().again(true).unwrap_err(), Spent);
    }
}
