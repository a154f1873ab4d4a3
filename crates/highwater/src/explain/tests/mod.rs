//! Explanations, one story each, as people read them.

pub(crate) mod stage;

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
fn a_value_of_the_label_for_every_tool_is_said_to_be_that() {
    let mut stage = Stage::with("");
    stage.call("repo", "get_file", Person::Absent);
    let id = stage.call("ledger", "share", Person::Absent);
    let told = stage.explain(&id);
    assert!(told.contains("by your label for `*`"), "{told}");
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
fn observe_enforces_rules_and_a_dry_run_says_what_it_would_have_done() {
    let mut stage = Stage::with(
        "flow: observe\nrules:\n  - name: no-pull-requests\n    effect: block\n    when: { tool.name: open_pull_request }\n  \
         - name: no-files\n    effect: block\n    dry_run: true\n    when: { tool.name: { matches: '*_file' } }\n    \
         message: Files stay where they are.",
    );
    stage.call("repo", "list_issues", Person::Absent);
    let allowed = stage.call("repo", "get_file", Person::Absent);
    assert_snapshot!("a_dry_run_says_what_it_would_have_done", stage.explain(&allowed));
    let refused = stage.call("repo", "open_pull_request", Person::Absent);
    assert_snapshot!("observe_enforces_rules", stage.explain(&refused));
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
        latest(&log, most).unwrap().decisions.iter().map(|summary| summary.id.to_string()).collect()
    };
    for segments in [1, 2, 3, 9] {
        assert_eq!(ids(segments, 20), ["hwd_1", "hwd_2", "hwd_3"], "{segments} segments");
        assert_eq!(ids(segments, 2), ["hwd_2", "hwd_3"], "{segments} segments");
    }
    let folder = tempfile::tempdir().unwrap();
    let shown = list(&latest(&stage.log(folder.path(), 1), 2).unwrap());
    assert!(shown.contains("These are the latest 2; there are older ones."), "{shown}");
    assert!(shown.contains("`highwater explain --limit 20`"), "{shown}");
    let folder = tempfile::tempdir().unwrap();
    assert_snapshot!(list(&latest(&stage.log(folder.path(), 2), 20).unwrap()));
}

#[test]
fn programs_get_the_same_as_data() {
    let mut stage = Stage::with("");
    stage.call("repo", "list_issues", Person::Absent);
    stage.call("repo", "get_file", Person::Absent);
    let id = stage.call("repo", "open_pull_request", Person::Absent);
    assert_snapshot!(format!("{:#}", data(&stage.account(&id).unwrap(), Some(&stage.trials()))));
}

#[test]
fn the_list_says_what_balanced_would_have_done() {
    let mut stage = Stage::with("flow: observe");
    stage.call("repo", "list_issues", Person::Absent);
    stage.call("repo", "open_pull_request", Person::Absent);
    let folder = tempfile::tempdir().unwrap();
    let shown = list(&latest(&stage.log(folder.path(), 1), 20).unwrap());
    assert!(shown.lines().next().unwrap().contains("balanced would"), "{shown}");
    assert!(
        shown.contains("hwd_2     allowed  confirm         repo__open_pull_request  flow.act"),
        "{shown}"
    );
    assert!(shown.contains("hwd_1     allowed  allow "), "{shown}");
}

/// The steps that hold lines for the configuration, with the effect they promise.
fn lines(stage: &Stage, id: &DecisionId) -> Vec<(String, String)> {
    let data = data(&stage.account(id).unwrap(), Some(&stage.trials()));
    let steps = data["steps"].as_array().unwrap().iter();
    let with_lines = steps.filter_map(|step| {
        let how = step["how"].as_str().filter(|how| !how.starts_with("highwater "))?;
        Some((how.to_owned(), step["then"].as_str().unwrap().to_owned()))
    });
    with_lines.collect()
}

#[test]
fn one_word_for_a_server_that_nobody_described_is_offered_where_it_helps() {
    let mut stage = Stage::with("");
    stage.call("notes", "list_notes", Person::Absent);
    let id = stage.call("notes", "write_note", Person::Declines);
    let offered = lines(&stage, &id);
    let word = |word: &str| format!("servers:\n  notes:\n    profile: {word}");
    assert!(offered.contains(&(word("local"), "allow".to_owned())), "{offered:?}");
    assert!(
        !offered.iter().any(|(how, _)| *how == word("private")),
        "strangers still write there: {offered:?}"
    );
}

#[test]
fn a_server_elsewhere_is_not_called_local() {
    let mut stage = Stage::with("");
    stage.call("web", "fetch", Person::Absent);
    let id = stage.call("web", "fetch", Person::Declines);
    let offered = lines(&stage, &id);
    assert!(offered.iter().all(|(how, _)| !how.contains("profile: local")), "{offered:?}");
    assert!(offered.iter().any(|(how, _)| how.contains("profile: public")), "{offered:?}");
}

#[test]
fn observing_says_what_would_change_what_the_enforcing_modes_do() {
    let mut stage = Stage::with("flow: observe");
    stage.call("notes", "list_notes", Person::Absent);
    let id = stage.call("notes", "write_note", Person::Absent);
    let said = stage.explain(&id);
    assert!(!said.contains("nothing: `flow: observe`"), "{said}");
    assert!(said.contains("in `balanced`: `allow` in place of `confirm`, had the session read"), "{said}");
    assert!(said.contains("profile: local"), "{said}");
}

#[test]
fn a_clearance_is_offered_where_it_helps() {
    let mut stage = Stage::with("");
    stage.call("repo", "get_file", Person::Absent);
    let id = stage.call("repo", "open_pull_request", Person::Declines);
    let offered = lines(&stage, &id);
    let (how, then) = offered.iter().find(|(how, _)| how.starts_with("clearance:")).unwrap();
    assert_eq!((how.as_str(), then.as_str()), ("clearance: { public: [user, pii] }", "allow"));
}

/// What is offered for one story in one mode is tried by somebody else: pasted into the file, loaded, and the story told
/// again from its beginning.
#[test]
fn everything_that_is_offered_loads_and_is_milder_when_the_story_is_told_again() {
    let stories: [&[(&str, &str)]; 6] = [
        &[("repo", "list_issues"), ("repo", "get_file"), ("repo", "open_pull_request")],
        &[("repo", "get_file"), ("repo", "open_pull_request")],
        &[("notes", "list_notes"), ("notes", "write_note")],
        &[("web", "fetch"), ("notes", "list_notes"), ("notes", "write_note")],
        &[("repo", "list_issues"), ("notes", "write_note")],
        &[("web", "fetch"), ("web", "post")],
    ];
    let mut tried = 0;
    for flow in ["balanced", "strict", "samos"] {
        for story in stories {
            let tell = |pasted: &str| {
                let mut stage = Stage::pasted(&format!("flow: {flow}"), pasted);
                let last = story.iter().map(|(server, tool)| stage.call(server, tool, Person::Agrees)).last();
                (last.unwrap(), stage)
            };
            let (id, stage) = tell("");
            let before = stage.judged(&id);
            for (how, then) in lines(&stage, &id) {
                let (id, again) = tell(&how);
                let after = again.judged(&id);
                assert!(after < before, "{flow} {story:?}: {before:?} to {after:?}\n{how}");
                assert_eq!(after.as_str(), then, "{flow} {story:?}\n{how}");
                tried += 1;
            }
        }
    }
    assert!(tried > 20, "{tried}");
}
