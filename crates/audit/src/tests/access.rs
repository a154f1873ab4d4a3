//! Who came, and what became of the log, on record.

use super::*;

#[test]
fn who_came_and_what_became_of_the_log_are_read_back() {
    let access = Access {
        act: "wrong-token",
        from: Some("192.0.2.1"),
        what: Some("a \"name\""),
        count: Some(17),
        ..Access::default()
    };
    let Recorded::Access { act, principal, from, session, what, count } =
        written(&DecisionId::new("hwd_1"), Happened::Access(access)).happened
    else {
        panic!("an access")
    };
    assert_eq!((act.as_str(), from.as_deref(), count), ("wrong-token", Some("192.0.2.1"), Some(17)));
    assert_eq!((principal, session, what.as_deref()), (None, None, Some("a \"name\"")));
    let removed = Happened::Log { act: "removed", detail: "2 segments" };
    let Recorded::Log { act, detail } = written(&DecisionId::new("hwd_1"), removed).happened else {
        panic!("something of the log")
    };
    assert_eq!((act.as_str(), detail.as_str()), ("removed", "2 segments"));
}
