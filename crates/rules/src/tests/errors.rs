//! One rule for each thing that can be wrong, and what is said of it.

use highwater_notation::LONGEST_GLOB;

use super::support::File;
use crate::error::RuleErrorCode as Code;
use crate::limits;

/// The code, what the caret stands under, the message and the way out, of each error.
fn errors(text: &str) -> Vec<(Code, String, String, String)> {
    let file = File::new(text);
    let show = |error: crate::error::RuleError| {
        let at = file.at(error.span).to_owned();
        (error.code, at, error.message, error.suggestion)
    };
    file.compile().err().unwrap_or_default().into_iter().map(show).collect()
}

fn rule(condition: &str) -> String {
    format!(r#"{{"rules":[{{"name":"r","effect":"block","conditions":{condition}}}]}}"#)
}

#[track_caller]
fn one(text: &str, code: Code, at: &str, message: &str, help: &str) {
    let expected = (code, at.to_owned(), message.to_owned(), help.to_owned());
    assert_eq!(errors(text), [expected]);
}

#[test]
fn a_misspelt_fact() {
    one(
        &rule(r#"{"fact":"session.privat","equals":true}"#),
        Code::UnknownFact,
        "session.privat",
        "no fact is called `session.privat`",
        "did you mean `session.private`?",
    );
    one(
        &rule(r#"{"fact":"weather","equals":true}"#),
        Code::UnknownFact,
        "weather",
        "no fact is called `weather`",
        "`highwater schema` lists every fact",
    );
    one(
        &rule(r#"{"fact":"argumnts.message/to","equals":"x"}"#),
        Code::UnknownFact,
        "argumnts.message/to",
        "no fact is called `argumnts.message/to`",
        "did you mean `arguments.message/to`?",
    );
    one(
        &rule(r#"{"fact":"openWorldHint","equals":true}"#),
        Code::UnknownFact,
        "openWorldHint",
        "no fact is called `openWorldHint`",
        "write its whole path: one of `tool.annotations.openWorldHint`, `request.annotations.openWorldHint`, `response.annotations.openWorldHint`",
    );
    one(
        &rule(r#"{"and":[{"fact":"tool.name","equals":"x"},{"fact":"arguments.a~2","equals":"y"}]}"#),
        Code::UnknownFact,
        "arguments.a~2",
        "`arguments.a~2` does not point into the arguments",
        "write names and numbers with `/` between them, `~1` for a slash in a name and `~0` for a tilde",
    );
}

#[test]
fn a_fact_that_nothing_produces() {
    for (path, why) in [
        ("response.sightings", "no detector looks into texts yet"),
        ("arguments.sightings", "no detector looks into texts yet"),
        ("server.sandboxed", "no server is confined yet"),
    ] {
        let value = if path == "server.sandboxed" { "true" } else { "\"secret\"" };
        one(
            &rule(&format!(r#"{{"fact":"{path}","equals":{value}}}"#)),
            Code::UnproducedFact,
            path,
            &format!("`{path}` is never known: {why}"),
            "leave the test out: it would hold always or never",
        );
    }
}

#[test]
fn a_misspelt_operator() {
    one(
        &rule(r#"{"fact":"session.risk","greatherThan":5}"#),
        Code::UnknownOperator,
        "greatherThan",
        "no operator is called `greatherThan`",
        "did you mean `greaterThan`?",
    );
}

#[test]
fn an_operator_or_a_value_of_the_wrong_type() {
    one(
        &rule(r#"{"fact":"server.verified","matches":"t*"}"#),
        Code::WrongType,
        "matches",
        "`matches` does not fit `server.verified`, which is `true` or `false`",
        "use one of `equals`, `in`",
    );
    one(
        &rule(r#"{"fact":"server.transport","greaterThan":"http"}"#),
        Code::WrongType,
        "greaterThan",
        "`greaterThan` does not fit `server.transport`, which is one of a list of words",
        "use one of `equals`, `in`",
    );
    one(
        &rule(r#"{"fact":"server.verified","equals":"true"}"#),
        Code::WrongType,
        "true",
        "`server.verified` is compared with `true` or `false`, and this is text",
        "leave the quotes out",
    );
    one(
        &rule(r#"{"fact":"tool.name","equals":42}"#),
        Code::WrongType,
        "42",
        "`tool.name` is compared with text, and this is a number",
        "put it in quotes to make it text",
    );
    one(
        &rule(r#"{"fact":"session.risk","greaterThan":1.5}"#),
        Code::WrongType,
        "1.5",
        "`session.risk` is compared with a whole number, and this is a fraction",
        "write digits alone, such as `50`",
    );
    one(
        &rule(r#"{"fact":"tool.name","equals":["a"]}"#),
        Code::WrongType,
        "",
        "`equals` takes one value, not a list",
        "to allow several values write `in`",
    );
    one(
        &rule(r#"{"fact":"tool.name","in":"send"}"#),
        Code::WrongType,
        "send",
        "`tool.name` is compared with a list, and this is text",
        "write the values in square brackets",
    );
    one(
        &rule(r#"{"and":[{"fact":"tool.name","equals":"x"},{"fact":"arguments.n","in":[1,"two"]}]}"#),
        Code::WrongType,
        "two",
        "`arguments.n` is compared with a whole number, and this is text",
        "write digits alone, such as `50`",
    );
    one(
        &rule(r#"{"fact":"tool.annotations.attribution","exists":1}"#),
        Code::WrongType,
        "1",
        "`tool.annotations.attribution` is compared with `true` or `false`, and this is a number",
        "write `true` or `false`",
    );
}

#[test]
fn every_operator_that_does_not_fit_is_refused() {
    use crate::operator::Operator;
    use highwater_core::policy::FACTS;
    for fact in FACTS.iter().filter(|fact| fact.missing().is_none()) {
        for operator in Operator::ALL.into_iter().filter(|operator| !operator.fits(fact.kind)) {
            let text = rule(&format!(r#"{{"fact":"{}","{}":"x"}}"#, fact.path, operator.as_str()));
            let codes: Vec<Code> = errors(&text).into_iter().map(|(code, ..)| code).collect();
            assert_eq!(codes, [Code::WrongType], "{} {}", fact.path, operator.as_str());
        }
    }
}

#[test]
fn a_word_outside_the_domain() {
    one(
        &rule(r#"{"fact":"session.confidentiality","equals":"hihg"}"#),
        Code::OutsideDomain,
        "hihg",
        "`hihg` is no value of `session.confidentiality`",
        "did you mean `high`?",
    );
    one(
        &rule(r#"{"fact":"session.sensitivity","in":["pii","money"]}"#),
        Code::OutsideDomain,
        "money",
        "`money` is no value of `session.sensitivity`",
        "use one of `user`, `pii`, `financial`, `credentials`, `regulated`, `confidential`, `unclassified`, `named`",
    );
    one(
        r#"{"rules":[{"name":"r","effect":"blok","conditions":{"fact":"server.verified","equals":true}}]}"#,
        Code::OutsideDomain,
        "blok",
        "no effect is called `blok`",
        "did you mean `block`?",
    );
    one(
        r#"{"rules":[{"name":"r","effect":"block","phase":"reply","conditions":{"fact":"server.verified","equals":true}}]}"#,
        Code::OutsideDomain,
        "reply",
        "no phase is called `reply`",
        "use one of `call`, `resource`, `result`, `list`",
    );
}

#[test]
fn facts_that_cannot_meet() {
    one(
        &rule(
            r#"{"and":[{"fact":"response.annotations.openWorldHint","equals":true},{"fact":"flow.violations","contains":"write"}]}"#,
        ),
        Code::NoCommonPhase,
        "flow.violations",
        "`response.annotations.openWorldHint` and `flow.violations` are never known at the same time",
        "`flow.violations` is known in call, resource, list; make two rules of it",
    );
    one(
        r#"{"rules":[{"name":"r","effect":"block","phase":"call","conditions":{"fact":"response.annotations.openWorldHint","equals":true}}]}"#,
        Code::NoCommonPhase,
        "call",
        "`response.annotations.openWorldHint` is not known in phase `call`",
        "remove `phase`; the rule is then evaluated in result",
    );
    one(
        &rule(
            r#"{"and":[{"fact":"tool.requiresApproval","equals":true},{"fact":"resource.uri","equals":"x"}]}"#,
        ),
        Code::NoCommonPhase,
        "resource.uri",
        "`tool.requiresApproval` and `resource.uri` are never known at the same time",
        "`resource.uri` is known in resource, result; make two rules of it",
    );
}

#[test]
fn a_rule_that_could_fall_silent() {
    one(
        &rule(r#"{"fact":"session.private","equals":false}"#),
        Code::NonMonotone,
        "false",
        "`session.private` only rises as the session takes in more, so the rule could cease to fire because of this `equals`",
        "turn the test round, or write `non_monotone: true` to accept it at the price of a read of the store before each decision",
    );
    one(
        &rule(r#"{"fact":"session.integrity","greaterThan":"tool"}"#),
        Code::NonMonotone,
        "tool",
        "`session.integrity` only falls as the session takes in more, so the rule could cease to fire because of this `greaterThan`",
        "turn the test round, or write `non_monotone: true` to accept it at the price of a read of the store before each decision",
    );
    assert_eq!(errors(&rule(r#"{"fact":"session.integrity","lessThan":"tool"}"#)), []);
    assert_eq!(errors(&rule(r#"{"not":{"fact":"session.private","equals":false}}"#)), []);
    let accepted = r#"{"rules":[{"name":"r","effect":"block","non_monotone":true,"conditions":{"fact":"session.private","equals":false}}]}"#;
    assert!(!File::new(accepted).compile().unwrap().monotone());
}

#[test]
fn a_condition_that_can_never_hold() {
    one(
        &rule(
            r#"{"and":[{"fact":"server.transport","equals":"stdio"},{"fact":"server.transport","equals":"http"}]}"#,
        ),
        Code::Contradiction,
        r#"server.transport","equals":"stdio"},{"fact":"server.transport","equals":"http"#,
        "these two tests of `server.transport` can never hold together",
        "write `or`, or `in` with a list, if either is meant",
    );
    for never in [
        r#"{"fact":"server.trust","greaterThan":"owner"}"#,
        r#"{"fact":"session.risk","greaterThan":100}"#,
        r#"{"not":{"fact":"server.verified","in":[true,false]}}"#,
        r#"{"and":[{"fact":"tool.name","equals":"a"},{"fact":"tool.name","in":["b","c"]}]}"#,
        r#"{"and":[{"fact":"tool.name","equals":"a"},{"not":{"fact":"tool.name","in":["a","c"]}}]}"#,
        r#"{"and":[{"fact":"arguments.n","greaterThan":5},{"fact":"arguments.n","lessThan":5}]}"#,
        r#"{"and":[{"fact":"server.verified","equals":true},{"or":[{"fact":"session.risk","greaterThan":200},{"fact":"tool.name","equals":"x"}]}]}"#,
        r#"{"not":{"or":[{"fact":"tool.capabilities","contains":"network"},{"not":{"fact":"tool.capabilities","contains":"network"}}]}}"#,
    ] {
        let codes: Vec<Code> = errors(&rule(never)).into_iter().map(|(code, ..)| code).collect();
        assert_eq!(codes, [Code::Contradiction], "{never}");
    }
    // Several possible values may come true, and a set has several members.
    for possible in [
        r#"{"and":[{"fact":"tool.annotations.inputMetadata.destination","equals":"public"},{"fact":"tool.annotations.inputMetadata.destination","equals":"internal"}]}"#,
        r#"{"and":[{"fact":"session.sensitivity","contains":"pii"},{"fact":"session.sensitivity","contains":"financial"}]}"#,
        r#"{"and":[{"fact":"arguments.n","greaterThan":4},{"fact":"arguments.n","lessThan":6}]}"#,
    ] {
        assert_eq!(errors(&rule(possible)), [], "{possible}");
    }
}

#[test]
fn a_condition_with_nothing_in_it() {
    one(
        &rule(r#"{"and":[]}"#),
        Code::EmptyCondition,
        r#""and""#,
        "`and` with nothing in it always holds",
        "list at least one test",
    );
    one(
        &rule(r#"{"or":[]}"#),
        Code::EmptyCondition,
        r#""or""#,
        "`or` with nothing in it never holds",
        "list at least one test",
    );
    one(
        &rule(r#"{"fact":"tool.name","in":[]}"#),
        Code::EmptyCondition,
        "",
        "`in` with an empty list never holds",
        "list the values, or leave the test out",
    );
}

#[test]
fn a_rule_that_allows() {
    one(
        r#"{"rules":[{"name":"r","effect":"allow","conditions":{"fact":"server.verified","equals":true}}]}"#,
        Code::AllowRule,
        "allow",
        "a rule cannot have the effect `allow`",
        "the strictest effect wins, so it would never matter; to let something through, write a waiver for the finding that stops it",
    );
}

#[test]
fn two_rules_of_one_name() {
    let rule = r#"{"name":"twice","effect":"block","conditions":{"fact":"server.verified","equals":true}}"#;
    one(
        &format!(r#"{{"rules":[{rule},{rule}]}}"#),
        Code::DuplicateName,
        "twice",
        "another rule is called `twice`",
        "give each rule a name of its own; findings and waivers go by it",
    );
}

#[test]
fn what_is_too_large() {
    let test = r#"{"fact":"server.verified","equals":true}"#;
    let codes = |text: &str| errors(text).into_iter().map(|(code, ..)| code).collect::<Vec<_>>();
    let deep = format!("{}{test}{}", r#"{"not":"#.repeat(limits::DEPTH), "}".repeat(limits::DEPTH));
    assert_eq!(codes(&rule(&deep)), [Code::TooLarge]);
    let wide = format!(r#"{{"or":[{}]}}"#, vec![test; limits::NODES].join(","));
    assert_eq!(codes(&rule(&wide)), [Code::TooLarge]);
    let many = format!(r#"{{"fact":"tool.name","in":[{}]}}"#, vec![r#""x""#; limits::VALUES + 1].join(","));
    assert_eq!(codes(&rule(&many)), [Code::TooLarge]);
    let glob = format!(r#"{{"fact":"tool.name","matches":"{}"}}"#, "x".repeat(LONGEST_GLOB + 1));
    assert_eq!(codes(&rule(&glob)), [Code::TooLarge]);
    let name = format!(
        r#"{{"rules":[{{"name":"{}","effect":"block","conditions":{test}}}]}}"#,
        "x".repeat(limits::NAME + 1)
    );
    assert_eq!(codes(&name), [Code::TooLarge]);
    let mut file = File::new(&rule(test));
    let mut first = file.rules.remove(0);
    file.rules = (0..=limits::RULES)
        .map(|number| {
            first.name.value = format!("r{number}");
            first.clone()
        })
        .collect();
    assert_eq!(
        file.compile().unwrap_err().iter().map(|error| error.code).collect::<Vec<_>>(),
        [Code::TooLarge]
    );
}

#[test]
fn all_mistakes_are_shown_together() {
    let text = r#"{"rules":[
        {"name":"a","effect":"blok","conditions":{"and":[{"fact":"session.privat","equals":true},{"fact":"tool.name","equal":"x"}]}},
        {"name":"b","effect":"block","conditions":{"fact":"session.integrity","equals":"gold"}}]}"#;
    let codes: Vec<Code> = errors(text).into_iter().map(|(code, ..)| code).collect();
    assert_eq!(codes, [Code::OutsideDomain, Code::UnknownFact, Code::UnknownOperator, Code::OutsideDomain]);
}

#[test]
fn an_argument_that_nothing_guards_is_warned_of() {
    let warnings = |condition: &str| {
        let warnings = File::new(&rule(condition)).check().unwrap().warnings;
        warnings.iter().map(|warning| (warning.code, warning.suggestion.clone())).collect::<Vec<_>>()
    };
    let test = r#"{"fact":"arguments.to","matches":"*@evil.example"}"#;
    let help = "add `{ fact: arguments.to, exists: true }`, or a test of `tool.name`".to_owned();
    assert_eq!(warnings(test), [(Code::UnguardedArgument, help.clone())]);
    assert_eq!(warnings(&format!(r#"{{"not":{test}}}"#)), [(Code::UnguardedArgument, help.clone())]);
    assert_eq!(
        warnings(&format!(r#"{{"and":[{test},{{"fact":"server.verified","equals":true}}]}}"#)),
        [(Code::UnguardedArgument, help.clone())],
    );
    assert_eq!(
        warnings(&format!(r#"{{"or":[{test},{{"fact":"tool.name","equals":"send"}}]}}"#)),
        [(Code::UnguardedArgument, help)],
    );
    assert_eq!(warnings(&format!(r#"{{"and":[{test},{{"fact":"tool.name","equals":"send"}}]}}"#)), []);
    assert_eq!(warnings(&format!(r#"{{"and":[{test},{{"fact":"arguments.to","exists":true}}]}}"#)), []);
    assert_eq!(warnings(r#"{"fact":"arguments.to","exists":true}"#), []);
}
