//! Explanations, one story each, as people read them.

mod stage;

use highwater_core::id::DecisionId;
use insta::assert_snapshot;

use super::{data, last, latest, list};
use stage::{Person, Stage};

#[test]
fn an_allowed_call_in_a_session_that_has_read_nothing() {
    let mut stage = Stage::with("");
    let id = stage.call("repo", "list_issues", Person::Absent);
    assert_snapshot!(stage.explain(&id));
}

#[test]
fn private_data_to_the_public_is_refused_once_the_session_is_untrusted() {
    let mut stage = Stage::with("");
    stage.call("repo", "list_issues", Person::Absent);
    stage.call("repo", "get_file", Person::Absent);
    let id = stage.call("repo", "open_pull_request", Person::Absent);
    assert_snapshot!(stage.explain(&id));
}

#[test]
fn private_data_to_the_public_is_a_question_while_the_session_is_trusted() {
    let mut stage = Stage::with("");
    stage.call("repo", "get_file", Person::Absent);
    let id = stage.call("repo", "open_pull_request", Person::Agrees);
    assert_snapshot!(stage.explain(&id));
}

#[test]
fn an_act_of_an_untrusted_session_is_declined() {
    let mut stage = Stage::with("");
    stage.call("repo", "list_issues", Person::Absent);
    let id = stage.call("repo", "open_pull_request", Person::Declines);
    assert_snapshot!(stage.explain(&id));
}

#[test]
fn nobody_can_be_asked_through_this_client() {
    let mut stage = Stage::with("");
    stage.call("repo", "list_issues", Person::Absent);
    let id = stage.call("repo", "open_pull_request", Person::Absent);
    assert_snapshot!(stage.explain(&id));
}

#[test]
fn a_question_waits_for_its_answer() {
    let mut stage = Stage::with("");
    let id = stage.call("repo", "delete_branch", Person::Thinks);
    assert_snapshot!(stage.explain(&id));
}

#[test]
fn a_private_read_of_an_untrusted_session_is_refused_in_strict() {
    let mut stage = Stage::with("flow: strict");
    stage.call("repo", "list_issues", Person::Absent);
    let id = stage.call("repo", "get_file", Person::Absent);
    assert_snapshot!(stage.explain(&id));
}

#[test]
fn what_cannot_be_undone_needs_a_passkey_in_strict() {
    let mut stage = Stage::with("flow: strict");
    stage.call("repo", "list_issues", Person::Absent);
    let id = stage.call("repo", "delete_branch", Person::Absent);
    assert_snapshot!(stage.explain(&id));
}

#[test]
fn a_tool_that_nobody_described_is_the_worst_case() {
    let mut stage = Stage::with("");
    stage.call("web", "fetch", Person::Absent);
    let id = stage.call("web", "fetch", Person::Absent);
    assert_snapshot!(stage.explain(&id));
}

#[test]
fn a_tool_outside_its_allow_list_is_refused() {
    let mut stage = Stage::with("");
    let id = stage.call("web", "post", Person::Agrees);
    assert_snapshot!(stage.explain(&id));
}

const RULE: &str = "
rules:
  - name: no-deleting-after-reading-files
    effect: block
    when: { session.sensitivity: { contains: pii }, tool.name: { matches: \"delete_*\" } }
    message: Whoever has read personal data deletes nothing.
  - name: ask-when-the-branch-is-main
    effect: confirm
    when: { tool.name: delete_branch, arguments.branch: main }
";

#[test]
fn a_rule_refuses_and_another_may_hold() {
    let mut stage = Stage::with(RULE);
    stage.call("repo", "get_file", Person::Absent);
    let id = stage.call("repo", "delete_branch", Person::Agrees);
    assert_snapshot!(stage.explain(&id));
}

#[test]
fn a_waiver_turns_a_refusal_into_a_question() {
    let mut stage = Stage::with(
        "waivers:
  - waive: [flow.write]
    when: { tool.id: repo__open_pull_request }
    until: 2027-01-31
    reason: The repository is ours alone.",
    );
    stage.call("repo", "list_issues", Person::Absent);
    stage.call("repo", "get_file", Person::Absent);
    let id = stage.call("repo", "open_pull_request", Person::Agrees);
    assert_snapshot!(stage.explain(&id));
}

#[test]
fn a_reply_is_withheld_by_a_rule() {
    let mut stage = Stage::with(
        "rules:
  - name: no-personal-data
    effect: block
    when: { response.annotations.returnMetadata.sensitivity: pii }
    message: Personal data stays in the repository.",
    );
    let id = stage.call("repo", "get_file", Person::Absent);
    assert_snapshot!(stage.explain(&id));
}

#[test]
fn observe_records_what_each_mode_would_have_done() {
    let mut stage = Stage::with("flow: observe");
    stage.call("repo", "list_issues", Person::Absent);
    stage.call("repo", "get_file", Person::Absent);
    let id = stage.call("repo", "open_pull_request", Person::Absent);
    assert_snapshot!(stage.explain(&id));
}

#[test]
fn what_was_read_before_a_reset_is_not_told_of_the_epoch_after_it() {
    let mut stage = Stage::with("");
    stage.call("repo", "list_issues", Person::Absent);
    stage.reset("the issues were our own");
    stage.call("repo", "get_file", Person::Absent);
    let id = stage.call("repo", "open_pull_request", Person::Declines);
    assert_snapshot!(stage.explain(&id));
}

#[test]
fn what_other_sessions_of_the_agent_read_is_told_with_their_names() {
    let mut stage = Stage::with("");
    stage.call("repo", "list_issues", Person::Absent);
    stage.move_to("principal/agent");
    let id = stage.call("repo", "open_pull_request", Person::Declines);
    let account = stage.account(&id).unwrap();
    let brought = &account.chronicle.brought[0];
    assert_eq!(brought.elsewhere.as_ref().map(|key| key.as_str()), Some("context/agent/ctx_1"));
    assert!(account.chronicle.unaccounted.is_empty());
}

#[test]
fn what_no_record_accounts_for_is_said_to_be_so() {
    let mut stage = Stage::with("");
    stage.says_open_world();
    let id = stage.call("repo", "open_pull_request", Person::Declines);
    let account = stage.account(&id).unwrap();
    assert_eq!(account.chronicle.unaccounted, ["integrity:none", "openWorld"]);
    assert!(stage.explain(&id).contains("not accounted for in this log: integrity none, openWorld\n"));
}

#[test]
fn a_decision_that_is_not_on_record_has_no_account() {
    let mut stage = Stage::with("");
    stage.call("repo", "list_issues", Person::Absent);
    assert!(stage.account(&DecisionId::new("hwd_")).is_none());
    assert!(stage.account(&DecisionId::new("hwd_2")).is_none());
}

#[test]
fn the_latest_decisions_are_listed_once_each_across_segments() {
    let mut stage = Stage::with("");
    for _ in 0..2 {
        stage.call("repo", "list_issues", Person::Absent);
    }
    stage.call("repo", "open_pull_request", Person::Agrees);
    let ids = |segments, most| -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let log = stage.log(folder.path(), segments);
        assert_eq!(last(&log).unwrap(), Some(DecisionId::new("hwd_3")));
        latest(&log, most).unwrap().iter().map(|summary| summary.id.to_string()).collect()
    };
    for segments in [1, 2, 3, 9] {
        assert_eq!(ids(segments, 20), ["hwd_1", "hwd_2", "hwd_3"], "{segments} segments");
        assert_eq!(ids(segments, 2), ["hwd_2", "hwd_3"], "{segments} segments");
    }
    let folder = tempfile::tempdir().unwrap();
    assert_snapshot!(list(&latest(&stage.log(folder.path(), 2), 20).unwrap()));
}

#[test]
fn programs_get_the_same_as_data() {
    let mut stage = Stage::with("");
    stage.call("repo", "list_issues", Person::Absent);
    stage.call("repo", "get_file", Person::Absent);
    let id = stage.call("repo", "open_pull_request", Person::Absent);
    assert_snapshot!(format!("{:#}", data(&stage.account(&id).unwrap())));
}
