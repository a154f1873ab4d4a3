//! The analysis of `highwater check` against Cedar. Over a domain small enough to go through whole, a rule is dead or
//! shadowed, a leak possible, and a change a change, exactly if Cedar's verdicts on every action of the domain say so.

mod domain;
mod draw;

use std::collections::BTreeSet;

use domain::{Scene, judged};
use draw::{Drawn, drawn, two_tests};
use highwater_config::{Checked, Surroundings};
use highwater_core::policy::Effect;
use highwater_notation::Timestamp;
use highwater_rules::{ConditionSource, RuleErrorCode, RuleSource, ValueSource, Written, compile};
use serde_json::{Value, json};

use super::dice::Dice;

/// Rule sets that are analysed, each with a question and with the set that it changes into.
const SETS: u64 = 66;
/// Pairs of tests of one fact, of which the compiler refuses some.
const PAIRS: u64 = 200;
const NOW: Timestamp = Timestamp(1_800_000_000_000);

/// What was found out about a rule set.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    /// Rules that never fire.
    dead: BTreeSet<String>,
    /// Rules that never decide.
    shadowed: BTreeSet<String>,
    /// Whether a call of which the question may hold can go ahead, and whether one of which it certainly holds.
    leaks: bool,
    certainly: bool,
    /// From which effect to which other some call goes if the set is changed.
    changes: BTreeSet<(Effect, Effect)>,
}

#[test]
fn cedar_agrees_with_the_analysis_on_a_whole_domain() {
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get() as u64);
    let both: Vec<(Found, u64)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|worker| {
                let sets = (0..SETS).filter(move |set| set % threads == worker);
                scope.spawn(move || sets.map(both).collect::<Vec<_>>())
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    let asked: u64 = both.iter().map(|(_, asked)| asked).sum();
    let count = |which: fn(&Found) -> usize| both.iter().map(|(found, _)| which(found)).sum::<usize>();
    let (dead, shadowed) = (count(|one| one.dead.len()), count(|one| one.shadowed.len()));
    let (leaks, certainly) = (count(|one| usize::from(one.leaks)), count(|one| usize::from(one.certainly)));
    let changes = count(|one| one.changes.len());
    println!(
        "{SETS} sets, {asked} verdicts: {dead} dead rules, {shadowed} shadowed, {leaks} leaks, {certainly} of them certain, {changes} changes"
    );
    assert!(asked >= 100_000);
    // What never comes up would not be compared.
    assert!(dead > 5 && shadowed > 15 && changes > 30);
    assert!(leaks > 10 && leaks < both.len() - 5 && certainly > 5);
}

/// What the compiler refuses as a contradiction certainly holds nowhere.
#[test]
fn cedar_finds_no_action_for_what_is_refused_as_a_contradiction() {
    let mut refused = 0;
    for number in 0..PAIRS {
        let rule = two_tests(&mut Dice::new(number));
        let Err(errors) = compile(std::slice::from_ref(&rule), &[]) else { continue };
        assert!(errors.iter().all(|error| error.code == RuleErrorCode::Contradiction), "{errors:?}");
        refused += 1;
        let holds = |scene: &Scene| scene.must.contains(&rule.name.value);
        assert!(!judged(std::slice::from_ref(&rule)).0.iter().any(holds), "{}", condition(&rule.condition));
    }
    println!("{refused} of {PAIRS} refused");
    assert!(refused > 20);
}

/// Asks both about one set, and says how often Cedar was asked.
fn both(set: u64) -> (Found, u64) {
    let drawn = drawn(&mut Dice::new(set));
    let (theirs, asked) = domain::found(&drawn);
    assert_eq!(
        analysed(&drawn),
        theirs,
        "set {set}: {}\n{}\n{}",
        file(&drawn, false),
        file(&drawn, true),
        condition(&drawn.query)
    );
    (theirs, asked)
}

// === our analysis ===

fn analysed(drawn: &Drawn) -> Found {
    let (checked, changed) = (loaded(&file(drawn, false)), loaded(&file(drawn, true)));
    let findings = checked.analyse(NOW).unwrap();
    let named = |code: &str| {
        let of = findings.iter().filter(|finding| finding.code == Some(code));
        of.filter_map(|finding| finding.message.split('`').nth(1)).map(str::to_owned).collect()
    };
    let leaks = checked.leaks(&condition(&drawn.query).to_string(), NOW).unwrap().unwrap();
    let changes = changed.changes(&checked, NOW).unwrap();
    Found {
        dead: named("dead-rule"),
        shadowed: named("shadowed-rule"),
        leaks: !leaks.is_empty(),
        certainly: leaks.iter().any(|leak| leak.certain),
        changes: changes.iter().map(|change| (change.before, change.after)).collect(),
    }
}

fn loaded(text: &str) -> Checked {
    let surroundings =
        Surroundings { environment: &|_| None, files: &|path| Err(format!("there is no `{path}`")) };
    match highwater_config::check("rules.json", text, &surroundings) {
        Ok(checked) => checked,
        Err(problems) => panic!("{problems}"),
    }
}

/// The set as a file, before or after the change.
fn file(drawn: &Drawn, changed: bool) -> String {
    let rules: Vec<Value> = drawn.rules_of(changed).iter().map(rule).collect();
    let waivers: Vec<Value> = drawn
        .waivers
        .iter()
        .map(|waiver| {
            let waive: Vec<&str> = waiver.waive.iter().map(|name| &*name.value).collect();
            json!({ "waive": waive, "conditions": waiver.when.as_ref().map(condition), "until": "2999-01-01", "reason": "because" })
        })
        .collect();
    json!({ "servers": { "mail": { "command": "mail" } }, "flow": drawn.mode.as_str(), "rules": rules, "waivers": waivers })
        .to_string()
}

fn rule(rule: &RuleSource) -> Value {
    let mut written = json!({
        "name": rule.name.value, "effect": rule.effect.value, "non_monotone": true,
        "conditions": condition(&rule.condition)
    });
    if let Some(phase) = &rule.phase {
        written["phase"] = json!(phase.value);
    }
    written
}

fn condition(source: &ConditionSource) -> Value {
    match source {
        ConditionSource::All { of, .. } => json!({ "and": of.iter().map(condition).collect::<Vec<_>>() }),
        ConditionSource::Any { of, .. } => json!({ "or": of.iter().map(condition).collect::<Vec<_>>() }),
        ConditionSource::Not { of, .. } => json!({ "not": condition(of) }),
        ConditionSource::Test { fact, operator, value } => {
            json!({ "fact": fact.value, operator.value.as_str(): written(value) })
        }
    }
}

fn written(value: &ValueSource) -> Value {
    match &value.value {
        Written::Bool(flag) => json!(flag),
        Written::Int(number) => json!(number),
        Written::Text(text) => json!(text),
        Written::List(list) => list.iter().map(written).collect(),
        Written::Other(what) => panic!("{what} is never made"),
    }
}
