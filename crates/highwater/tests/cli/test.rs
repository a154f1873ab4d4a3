//! `highwater test`: what it says of scenarios that go well, that do not, and that cannot be read.

use serde_json::Value;

use crate::program::{Site, text};

const GOOD: &str = "
upstreams:
  notes:
    tools: { read: { readOnlyHint: true } }
    replies: { read: the note }
steps:
  - call: notes__read
    expect: { effect: allow, text: the note }
";

#[test]
fn a_scenario_that_goes_well_exits_with_zero() {
    let site = Site::new();
    site.write("good.yaml", GOOD);
    let output = site.run(&["test", "good.yaml", "--verbose"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(
        text(&output.stdout).contains("ok      good.yaml\n1 passed, 0 failed, in "),
        "{}",
        text(&output.stdout)
    );
}

#[test]
fn a_scenario_that_does_not_exits_with_one_and_shows_expected_and_seen() {
    let site = Site::new();
    let wrong = GOOD
        .replace("effect: allow, text: the note", "effect: block, text: another note, upstream_saw: nothing");
    site.write("wrong.yaml", &wrong);
    let output = site.run(&["test", "wrong.yaml"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    let (said, _time) = said.split_once(", in ").unwrap();
    insta::assert_snapshot!("test_a_wrong_expectation", said);

    let output = site.run(&["test", "wrong.yaml", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["passed"], &report["failed"]), (&Value::from(0), &Value::from(1)));
    let failure = &report["scenarios"][0]["failure"];
    assert_eq!(failure["line"], 7);
    assert_eq!(failure["mismatches"][0]["part"], "effect");
    assert_eq!(failure["mismatches"][0]["expected"], "block");
}

#[test]
fn what_cannot_be_read_exits_with_two_and_says_where() {
    let site = Site::new();
    let cases = [
        ("key", "steps:\n  - call: notes__read\n    expects: { effect: allow }\n"),
        ("effect", "steps:\n  - call: notes__read\n    expect: { effect: allowed }\n"),
        ("finding", "steps:\n  - call: notes__read\n    expect: { findings: [flows.read] }\n"),
        ("client", "clients: { other: {} }\nsteps:\n  - call: notes__read\n    client: othr\n"),
        ("two_things", "steps:\n  - call: notes__read\n    read: note://a\n"),
        ("nothing", "steps:\n  - arguments: {}\n"),
        (
            "telling",
            "matrix: { flow: [strict] }\nsteps:\n  - call: a\n    expect: { balanced: { effect: allow } }\n",
        ),
        ("cannot", "steps:\n  - call: a\n    answer: cannot\n"),
        (
            "reply",
            "upstreams:\n  notes:\n    tools: { read: {} }\n    replies:\n      read: { structureContent: {} }\nsteps: [{ call: a }]\n",
        ),
        (
            "tool",
            "upstreams:\n  notes:\n    tools: { read: {} }\n    replies: { reed: hello }\nsteps: [{ call: a }]\n",
        ),
        (
            "config",
            "config:\n  servers:\n    notes: { strat: lazy }\nupstreams: { notes: {} }\nsteps: [{ call: a }]\n",
        ),
        ("example", "upstreams: { mail: { example: mial } }\nsteps: [{ call: a }]\n"),
        ("saw", "steps:\n  - call: a\n    expect: { upstream_saw: everything }\n"),
        ("empty", "steps: []\n"),
    ];
    let mut said = String::new();
    for (name, scenario) in cases {
        let file = format!("{name}.yaml");
        site.write(&file, scenario);
        let output = site.run(&["test", &file]);
        assert_eq!(output.status.code(), Some(2), "{name}: {}", text(&output.stderr));
        assert!(output.stdout.is_empty(), "{name}");
        said.push_str(&format!("{}\n", text(&output.stderr)));
    }
    insta::assert_snapshot!("test_files_that_cannot_be_read", said);
}

#[test]
fn folders_are_followed_and_a_filter_chooses() {
    let site = Site::new();
    std::fs::create_dir_all(site.home().join("all/deeper")).unwrap();
    site.write("all/one.yaml", &format!("matrix: {{ era: [legacy, modern] }}\n{GOOD}"));
    site.write("all/deeper/two.yml", GOOD);
    site.write("all/README.md", "no scenario");
    let counted = |arguments: &[&str]| {
        let output = site.run(arguments);
        (output.status.code(), text(&output.stdout).lines().last().unwrap_or_default().to_owned())
    };
    assert!(counted(&["test", "all"]).1.starts_with("3 passed, 0 failed"));
    assert!(counted(&["test", "all", "--filter", "modern"]).1.starts_with("1 passed, 0 failed"));
    assert_eq!(counted(&["test", "all", "--filter", "nothing like it"]).0, Some(2));
    std::fs::create_dir(site.home().join("none")).unwrap();
    assert_eq!(counted(&["test", "none"]).0, Some(2));
    assert_eq!(counted(&["test", "missing.yaml"]).0, Some(2));
}

#[test]
fn nothing_is_left_behind() {
    let site = Site::new();
    site.write("good.yaml", GOOD);
    let temporary = site.home().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let output = site.run_with(&["test", "good.yaml"], &[("TMPDIR", temporary.to_str().unwrap())]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
    site.wait_until_quiet();
}
