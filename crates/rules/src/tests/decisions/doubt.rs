//! Files in doubt, run or handed on.

use highwater_core::policy::SeenValue;
use highwater_core::session::Doubt;

use super::*;
use FlowMode::{Balanced, Observe, Samos, Strict};
use Outcome::{Benign, Consequential, Irreversible};

fn doubt(id: &str, name: &str) -> Doubt {
    Doubt { id: id.into(), name: (!name.is_empty()).then(|| name.into()) }
}

/// A call of a tool of this machine in a session that has read nothing.
fn running(mode: FlowMode, outcome: Outcome) -> Desk {
    Desk::new(mode).calling(tool(Destination::User, outcome, &[]))
}

fn judged(desk: &Desk, doubts: &[Doubt]) -> Judgement {
    judge(&desk.policy, &Facts { doubts, ..desk.facts() })
}

#[test]
fn what_is_run_in_doubt_is_asked_about_whatever_is_said_of_the_tool() {
    let doubts = [doubt("mrk_a@1", "/app/a.sh")];
    for (mode, effects) in [
        (Observe, ["allow", "allow", "allow"]),
        (Balanced, ["confirm", "confirm", "confirm"]),
        (Strict, ["confirm", "confirm", "passkey"]),
        (Samos, ["allow", "allow", "allow"]),
    ] {
        let of = |outcome| judged(&running(mode, outcome), &doubts).effect().as_str();
        assert_eq!([Benign, Consequential, Irreversible].map(of), effects, "{mode}");
        assert_eq!(judged(&running(mode, Irreversible), &[]).effect(), Effect::Allow, "{mode}");
    }
}

#[test]
fn a_finding_names_the_files_but_not_those_of_another_agent() {
    let doubts = [doubt("mrk_a@1", "/app/a.sh"), doubt("mrk_b@1", ""), doubt("mrk_c@1", "")];
    let judgement = judged(&running(Balanced, Consequential), &doubts);
    let [finding] = judgement.findings() else { panic!("{judgement:?}") };
    assert_eq!(finding.about.len(), 3);
    let names = SeenValue::Many(vec!["/app/a.sh".to_owned(), "what another agent wrote".to_owned()]);
    assert_eq!(finding.saw[0].value, names);
    let many: Vec<Doubt> =
        (0..50).map(|number| doubt(&format!("mrk_{number}@1"), &format!("/app/{number:02}"))).collect();
    let judgement = judged(&running(Balanced, Consequential), &many);
    let SeenValue::Many(names) = &judgement.findings()[0].saw[0].value else { panic!("names") };
    assert_eq!((names.len(), names[20].as_str()), (21, "30 more"));
}

#[test]
fn a_yes_is_about_the_doubts_it_was_asked_about() {
    let desk = running(Balanced, Consequential);
    let (one, two) = (doubt("mrk_a@1", "/app/a.sh"), doubt("mrk_b@1", "/app/b.sh"));
    let rewritten = doubt("mrk_a@2", "/app/a.sh");
    let approval = |doubts: &[Doubt]| {
        let Verdict::Escalate(asked) = decide(&desk.policy, &Facts { doubts, ..desk.facts() }) else {
            panic!("asked")
        };
        let question = asked.question();
        asked.answered(question, Answer::Approve).unwrap()
    };
    let allows = |told: &[Doubt], now: &[Doubt]| {
        let facts = Facts { doubts: now, ..desk.facts() };
        matches!(decide_approved(&desk.policy, &facts, approval(told)), Verdict::Allow(_))
    };
    let both = [one.clone(), two.clone()];
    assert!(allows(&both, &both));
    assert!(allows(&both, std::slice::from_ref(&two)), "what is less is covered");
    assert!(allows(&both, &[]));
    assert!(!allows(std::slice::from_ref(&one), &both), "what was not told is not");
    assert!(!allows(std::slice::from_ref(&one), &[rewritten]), "nor what was written since");
}

#[test]
fn in_a_session_that_strangers_steer_the_acts_are_asked_about_and_not_each_new_file() {
    let desk = running(Balanced, Consequential).having_read_strangers();
    let (one, two) = ([doubt("mrk_a@1", "/app/a.sh")], [doubt("mrk_a@2", "/app/a.sh")]);
    let Verdict::Escalate(asked) = decide(&desk.policy, &Facts { doubts: &one, ..desk.facts() }) else {
        panic!("asked")
    };
    let (question, told) = (asked.question(), asked.told());
    assert_eq!(told.doubts().map(|id| &**id).collect::<Vec<_>>(), ["mrk_a@1"]);
    let approval = asked.answered(question, Answer::Approve).unwrap();
    let facts = Facts { doubts: &two, ..desk.facts() };
    assert!(matches!(decide_approved(&desk.policy, &facts, approval), Verdict::Allow(_)));
}

#[test]
fn what_was_told_is_stored_and_read_back_also_from_before_there_were_doubts() {
    let desk = running(Balanced, Consequential);
    let doubts = [doubt("mrk_a@1", "/app/a.sh")];
    let Verdict::Escalate(asked) = decide(&desk.policy, &Facts { doubts: &doubts, ..desk.facts() }) else {
        panic!("asked")
    };
    let text = serde_json::to_string(&asked.told()).unwrap();
    assert_eq!(text, r#"[["flow.doubt",["doubted-files"],["mrk_a@1"]]]"#);
    assert_eq!(serde_json::from_str::<Told>(&text).unwrap(), asked.told());
    let old = r#"[["flow.act",["untrusted-acts"]]]"#;
    let told: Told = serde_json::from_str(old).unwrap();
    assert_eq!(serde_json::to_string(&told).unwrap(), old);
}
