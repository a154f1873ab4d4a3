//! Reports over a made-up time of observing.

use highwater_core::decide::FindingId;
use highwater_notation::Timestamp;

use super::{Period, Report, data, remedies, text};
use crate::explain::tests::stage::{Person, Stage};

/// An agent that works with notes of which nobody said anything, and reads a page now and then.
fn observed() -> Stage {
    let mut stage = Stage::with("flow: observe");
    for _ in 0..4 {
        stage.call("notes", "list_notes", Person::Absent);
        stage.call("notes", "write_note", Person::Absent);
    }
    stage.move_to("context/agent/ctx_2");
    stage.reset("another conversation");
    stage.call("repo", "list_issues", Person::Absent);
    stage.call("repo", "open_pull_request", Person::Absent);
    stage
}

fn report(stage: &Stage, period: &Period) -> Report {
    let folder = tempfile::tempdir().unwrap();
    Report::read(&stage.log(folder.path(), 2), period).unwrap()
}

#[test]
fn what_balanced_would_have_stopped_is_counted_by_server_and_reason() {
    let stage = observed();
    let report = report(&stage, &Period::default());
    assert_eq!(report.decisions, 10);
    let stops = report.stops();
    assert!(stops.iter().any(|stop| stop.upstream.as_str() == "notes"), "{stops:?}");
    let repo = stops.iter().find(|stop| stop.upstream.as_str() == "repo").unwrap();
    assert_eq!((repo.finding.to_string().as_str(), repo.asked, repo.refused), ("flow.act", 1, 0));
    assert!(stops.iter().all(|stop| matches!(stop.finding, FindingId::Flow(_))), "{stops:?}");
}

#[test]
fn the_label_that_removes_most_comes_first_and_its_count_is_true() {
    let stage = observed();
    let report = report(&stage, &Period::default());
    let trials = stage.trials();
    let found = remedies(&report, &trials);
    let stopped: usize = report.stops().iter().map(|stop| stop.asked + stop.refused).sum();
    assert_eq!(found.understood, stopped, "everything on record is understood");
    let first = &found.remedies[0];
    assert_eq!(first.proposal.lines, "servers:\n  notes:\n    profile: local");
    assert_eq!(first.removes, stopped - 1, "all but the pull request");
    assert!(found.remedies.len() <= 3);
    let said = text(&report, Some(&found));
    assert!(said.contains(&format!("1. removes {} of {stopped}", first.removes)), "{said}");
    assert!(said.contains("         notes:\n           profile: local\n"), "{said}");
    let json = data(&report, Some(&found));
    assert_eq!(json["remedies"][0]["removes"], first.removes);
}

#[test]
fn with_the_label_written_the_record_of_the_same_work_has_that_many_fewer() {
    let before = observed();
    let stopped = |stage: &Stage| -> usize {
        let report = report(stage, &Period::default());
        report.stops().iter().map(|stop| stop.asked + stop.refused).sum()
    };
    let found = remedies(&report(&before, &Period::default()), &before.trials());
    let first = &found.remedies[0];
    let mut after = Stage::pasted("flow: observe", &first.proposal.lines);
    for _ in 0..4 {
        after.call("notes", "list_notes", Person::Absent);
        after.call("notes", "write_note", Person::Absent);
    }
    after.move_to("context/agent/ctx_2");
    after.reset("another conversation");
    after.call("repo", "list_issues", Person::Absent);
    after.call("repo", "open_pull_request", Person::Absent);
    assert_eq!(stopped(&after), stopped(&before) - first.removes);
}

#[test]
fn a_time_in_which_nothing_was_decided_is_said_to_be_so() {
    let stage = observed();
    let period = Period { since: None, until: Some(Timestamp(1)) };
    let report = report(&stage, &period);
    assert!(report.is_any && report.decisions == 0);
    assert_eq!(text(&report, None), "no decision is on record for this time\n");
}

#[test]
fn calls_that_nobody_could_be_asked_about_are_proposed_as_permits() {
    let mut stage = Stage::with("flow: balanced");
    stage.call("repo", "list_issues", Person::Absent);
    for _ in 0..2 {
        stage.call("repo", "open_pull_request", Person::Absent);
    }
    let report = report(&stage, &Period::default());
    let unanswered = report.unanswered();
    let found: Vec<_> = unanswered.iter().map(|it| (it.tool.as_str(), it.calls)).collect();
    assert_eq!(found, [("open_pull_request", 2)]);
    let said = text(&report, None);
    assert!(said.contains("nobody was there to ask about 2 calls of `repo:open_pull_request`"), "{said}");
    assert!(said.contains("tool: repo:open_pull_request\n"), "{said}");
    assert_eq!(data(&report, None)["unanswered"][0]["tool"], "open_pull_request");
}
