//! Phases, unknown facts, the two judgements, redaction, and what an explanation says.

use highwater_core::action::{Action, ActionKind};
use highwater_core::annotation::{
    Claim, Contract, DataClass, Destination, Outcome, Possible, Sensitivity, Source,
};
use highwater_core::id::UpstreamId;
use highwater_core::label::{Label, TextSet};
use highwater_core::policy::*;
use highwater_notation::{Arguments, Parameters};

use super::support::{Call, blocking, early_rules, hits, rules};

const DESTINATION: &str = "tool.annotations.inputMetadata.destination";

fn fires(rules: &RuleSet, call: &Call, phase: Phase) -> bool {
    !call.hits(rules, phase).is_empty()
}

#[test]
fn a_rule_is_evaluated_before_the_action_and_not_again() {
    let set = blocking(r#"{"fact":"tool.name","equals":"send"}"#);
    assert_eq!(set.rules()[0].phases(), Phases::of(&[Phase::Call]));
    let call = Call::of("send");
    assert!(fires(&set, &call, Phase::Call));
    assert!(!fires(&set, &call, Phase::Result));
    assert!(!fires(&set, &call, Phase::List));
}

#[test]
fn a_rule_on_the_server_concerns_resources_too() {
    let set = blocking(r#"{"fact":"server.verified","equals":false}"#);
    assert_eq!(set.rules()[0].phases(), Phases::of(&[Phase::Call, Phase::Resource]));
}

#[test]
fn a_rule_may_narrow_its_phases() {
    let set = rules(
        r#"{"rules":[{"name":"hide","effect":"block","phase":"list","conditions":{"fact":"tool.approved","equals":false}}]}"#,
    );
    assert!(fires(&set, &Call::of("send"), Phase::List));
    assert!(!fires(&set, &Call::of("send"), Phase::Call));
}

#[test]
fn a_tool_that_may_go_elsewhere_does_not_slip_through_a_not() {
    let set = blocking(&format!(r#"{{"not":{{"fact":"{DESTINATION}","equals":"internal"}}}}"#));
    let both = Possible::only(Destination::Internal).with(Destination::Public);
    assert!(fires(&set, &Call::of("send").with([Claim::SetDestination(both)]), Phase::Call));
    let inside = Possible::only(Destination::Internal);
    assert!(!fires(&set, &Call::of("send").with([Claim::SetDestination(inside)]), Phase::Call));
}

#[test]
fn any_test_of_an_axis_nobody_spoke_of_is_unknown() {
    for fact in
        FACTS.iter().filter(|fact| matches!(fact.kind, Kind::OneOf(_)) && fact.path.starts_with("tool."))
    {
        for word in fact.kind.words().unwrap() {
            let set = blocking(&format!(r#"{{"fact":"{}","equals":"{word}"}}"#, fact.path));
            assert_eq!(Call::of("send").truth(&set, Phase::Call), Truth::Unknown, "{} {word}", fact.path);
        }
    }
}

/// The column "value when nothing is known" of the table, against the one function that says what that is.
#[test]
fn the_worst_case_is_what_the_table_says() {
    assert_eq!(Call::of("send").contract, Contract::unknown());
    let expected = [
        ("tool.annotations.readOnlyHint", "false"),
        ("tool.annotations.destructiveHint", "true"),
        ("tool.annotations.idempotentHint", "false"),
        ("tool.annotations.openWorldHint", "true"),
        ("tool.annotations.maliciousActivityHint", "false"),
        ("tool.readConfidentiality", "\"high\""),
        ("tool.writeConfidentiality", "\"low\""),
        ("tool.callWith", "\"call_tool_write\""),
        ("tool.status", "\"pending\""),
        ("tool.approved", "false"),
        ("server.trust", "\"none\""),
        ("server.resourceTrust", "\"none\""),
        ("server.verified", "false"),
        ("server.manifest", "\"absent\""),
        ("server.sandboxed", "false"),
    ];
    for (path, value) in expected {
        let set = blocking(&format!(r#"{{"fact":"{path}","equals":{value}}}"#));
        assert_eq!(Call::of("send").truth(&set, Phase::Call), Truth::True, "{path}");
    }
    for capability in highwater_core::annotation::Capability::NAMES {
        let set = blocking(&format!(r#"{{"fact":"tool.capabilities","contains":"{capability}"}}"#));
        assert_eq!(Call::of("send").truth(&set, Phase::Call), Truth::True, "{capability}");
    }
    for class in ["none", "user", "pii", "financial", "credentials", "regulated"] {
        let set = blocking(&format!(
            r#"{{"fact":"tool.annotations.inputMetadata.sensitivity","contains":"{class}"}}"#
        ));
        assert_eq!(Call::of("send").truth(&set, Phase::Call), Truth::Unknown, "{class}");
    }
}

#[test]
fn what_was_declared_is_known() {
    let call = Call::of("send").with([
        Claim::SetReturns(Sensitivity::of([DataClass::Pii])),
        Claim::SetAccepts(Sensitivity::of([DataClass::Financial])),
        Claim::SetSource(Possible::only(Source::Internal)),
        Claim::SetOutcomes(Possible::only(Outcome::Benign)),
    ]);
    for (fact, word, expected) in [
        ("tool.annotations.returnMetadata.sensitivity", "pii", Truth::True),
        ("tool.annotations.returnMetadata.sensitivity", "none", Truth::False),
        ("tool.annotations.inputMetadata.sensitivity", "financial", Truth::True),
        ("tool.annotations.inputMetadata.sensitivity", "pii", Truth::False),
        ("tool.annotations.returnMetadata.source", "internal", Truth::True),
        ("tool.annotations.inputMetadata.outcomes", "irreversible", Truth::False),
        ("tool.undeclared", "inputMetadata.destination", Truth::True),
        ("tool.undeclared", "returnMetadata.source", Truth::False),
    ] {
        let set = blocking(&format!(r#"{{"fact":"{fact}","equals":"{word}"}}"#));
        assert_eq!(call.truth(&set, Phase::Call), expected, "{fact} {word}");
    }
}

#[test]
fn scopes_are_compared_in_lower_case() {
    let set = blocking(r#"{"fact":"session.scopes","contains":"HIPAA"}"#);
    let session = Label::bottom().with_scopes(&TextSet::of(["hipaa"]));
    assert!(fires(&set, &Call::of("send").in_session(session), Phase::Call));
}

#[test]
fn a_set_that_overflowed_may_hold_anything() {
    let set = blocking(r#"{"fact":"session.attribution","contains":"https://evil.example"}"#);
    let full = TextSet::of((0..300).map(|number| format!("urn:{number}")));
    let call = Call::of("send").in_session(Label::bottom().with_origins(&full));
    assert_eq!(call.truth(&set, Phase::Call), Truth::Unknown);
}

#[test]
fn a_prompt_has_no_uri_and_a_resource_no_tool() {
    let action = Action::new(ActionKind::GetPrompt, UpstreamId::new("docs"), "prompts/get", "summary", "{}");
    let prompt = Call::action(action);
    assert!(fires(&blocking(r#"{"fact":"prompt.name","equals":"summary"}"#), &prompt, Phase::Resource));
    assert!(!fires(&blocking(r#"{"fact":"resource.uri","matches":"*"}"#), &prompt, Phase::Resource));
    assert!(fires(
        &blocking(r#"{"not":{"fact":"resource.uri","matches":"docs:*"}}"#),
        &prompt,
        Phase::Resource
    ));
    let reference = |kind: &str| {
        let params = format!(r#"{{"ref":{{"type":"{kind}"}},"argument":{{"name":"x","value":"y"}}}}"#);
        Call::action(Action::new(
            ActionKind::Complete,
            UpstreamId::new("docs"),
            "completion/complete",
            "summary",
            params,
        ))
    };
    let named = blocking(r#"{"fact":"prompt.name","equals":"summary"}"#);
    assert_eq!(reference("ref/prompt").truth(&named, Phase::Resource), Truth::True);
    assert_eq!(reference("ref/resource").truth(&named, Phase::Resource), Truth::False);
    assert_eq!(
        reference("?").truth(&blocking(r#"{"fact":"action.kind","equals":"completion"}"#), Phase::Resource),
        Truth::True
    );
}

#[test]
fn a_tool_whose_name_nobody_knows_may_be_any() {
    let step = Action::new(ActionKind::TaskStep, UpstreamId::new("mail"), "tasks/get", "task-7", "{}");
    let call = Call::action(step);
    let set = blocking(r#"{"fact":"tool.name","in":["send","delete"]}"#);
    assert_eq!(call.hits(&set, Phase::Call), [("r".to_owned(), Effect::Block)]);
}

#[test]
fn rules_for_named_tools_fire_for_these_alone() {
    let set = rules(
        r#"{"rules":[
            {"name":"one","effect":"block","conditions":{"and":[{"fact":"tool.name","in":["send","reply"]},{"fact":"server.id","equals":"mail"}]}},
            {"name":"two","effect":"confirm","conditions":{"fact":"tool.id","equals":"mail__send"}},
            {"name":"three","effect":"confirm","conditions":{"fact":"tool.id","equals":"mail__delete"}},
            {"name":"four","effect":"block","conditions":{"not":{"fact":"tool.name","equals":"send"}}}]}"#,
    );
    let named = |tool: &str| {
        Call::of(tool).hits(&set, Phase::Call).into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert_eq!(named("send"), ["one", "two"]);
    assert_eq!(named("reply"), ["four", "one", "two"]);
    assert_eq!(named("delete"), ["four", "two"]);
}

#[test]
fn the_worst_judgement_fires_for_whatever_the_label_might_become() {
    let set = rules(
        r#"{"rules":[
            {"name":"up","effect":"block","conditions":{"fact":"session.untrusted","equals":true}},
            {"name":"down","effect":"confirm","non_monotone":true,"conditions":{"fact":"session.private","equals":false}},
            {"name":"middle","effect":"confirm","non_monotone":true,"conditions":{"fact":"session.integrity","equals":"agent"}},
            {"name":"flow","effect":"confirm","conditions":{"fact":"flow.violations","contains":"write"}},
            {"name":"has","effect":"redact","conditions":{"fact":"session.sensitivity","contains":"pii"}}]}"#,
    );
    let call = Call::of("send").in_session(Label::bottom().with_class(DataClass::Pii));
    let names = |facts: &Facts<'_>| {
        hits(&set, Phase::Call, facts).into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert_eq!(names(&call.facts()), ["has"]);
    // `down` cannot hold any more: what is private stays so.
    assert_eq!(names(&call.facts().at_worst()), ["up", "middle", "has"]);
    let facts = call.facts().at_worst();
    let mut reading = set.read(Phase::Call, &facts, FlowViolations::EMPTY.with(FlowRule::Write));
    assert!(reading.hits().iter().any(|hit| &**hit.rule.name() == "flow" && hit.truth == Truth::Unknown));
}

#[test]
fn redact_removes_what_it_names_or_everything() {
    let set = early_rules(
        r#"{"rules":[
            {"name":"named","effect":"redact","conditions":{"fact":"response.sightings","in":["secret","pii"]}},
            {"name":"all","effect":"redact","conditions":{"fact":"session.untrusted","equals":true}}]}"#,
    );
    assert_eq!(set.rules()[0].redacts(), Some(0b1100));
    assert_eq!(set.rules()[1].redacts(), None);
}

#[test]
fn a_text_nobody_looked_into_may_hold_anything() {
    let set = blocking(r#"{"fact":"response.sightings","contains":"injection"}"#);
    assert_eq!(Call::of("x").answered(ResponseFacts::default()).truth(&set, Phase::Result), Truth::Unknown);
    let looked =
        ResponseFacts { sightings: Some(highwater_notation::Words::EMPTY), ..ResponseFacts::default() };
    assert_eq!(Call::of("x").answered(looked).truth(&set, Phase::Result), Truth::False);
}

#[test]
fn an_explanation_names_each_fact_its_value_and_why_it_is_unknown() {
    let set = blocking(&format!(
        r#"{{"and":[{{"fact":"session.sensitivity","contains":"financial"}},{{"fact":"{DESTINATION}","equals":"public"}},
            {{"fact":"arguments.to","matches":"*@x"}},{{"fact":"tool.name","equals":"send"}}]}}"#
    ));
    let call = Call::of("send")
        .with([Claim::SetDestination(Possible::only(Destination::Internal).with(Destination::Public))])
        .in_session(Label::bottom().with_class(DataClass::Financial));
    let facts = call.facts();
    let mut reading = set.read(Phase::Call, &facts, FlowViolations::EMPTY);
    let hits = reading.hits();
    let text = serde_json::to_string(&reading.explain(&hits[0])).unwrap();
    assert_eq!(
        text,
        concat!(
            r#"[{"fact":"session.sensitivity","test":"contains financial","value":["financial"],"truth":"true"},"#,
            r#"{"fact":"tool.annotations.inputMetadata.destination","test":"equals public","value":["internal","public"],"truth":"unknown","because":"several-possible"},"#,
            r#"{"fact":"arguments.to","test":"matches *@x","value":null,"truth":"unknown","because":"argument-missing"},"#,
            r#"{"fact":"tool.name","test":"equals send","value":"send","truth":"true"}]"#,
        )
    );
}

#[test]
fn an_explanation_does_not_repeat_arguments() {
    let set = blocking(
        r#"{"and":[{"fact":"arguments.to","equals":"secret@x"},{"fact":"tool.name","equals":"send"}]}"#,
    );
    let call = Call::of("send").arguing(r#"{"to":"secret@x"}"#);
    let facts = call.facts();
    let mut reading = set.read(Phase::Call, &facts, FlowViolations::EMPTY);
    let hits = reading.hits();
    let seen = reading.explain(&hits[0]);
    assert_eq!(seen[0].value, SeenValue::Text("text".to_owned()));
}

#[test]
fn the_table_names_each_fact_once_and_its_words_fit() {
    let mut paths: Vec<&str> = FACTS.iter().map(|fact| fact.path).collect();
    paths.sort_unstable();
    paths.dedup();
    assert_eq!(paths.len(), FACTS.len());
    for fact in FACTS {
        assert!(!fact.doc.is_empty() && !fact.phases.is_empty(), "{}", fact.path);
        assert!(fact.kind.words().is_none_or(|words| words.len() <= 64), "{}", fact.path);
        assert_eq!(
            fact.rises != Rises::No,
            ["session.", "request.", "flow."].iter().any(|start| fact.path.starts_with(start))
        );
    }
}

#[test]
fn a_rule_on_an_argument_does_not_concern_a_tool_that_has_none() {
    let to = r#"{"fact":"arguments.to","matches":"*@evil.example"}"#;
    let not = format!(r#"{{"not":{to}}}"#);
    let absent = r#"{"fact":"arguments.to","exists":false}"#;
    let inside = r#"{"fact":"arguments.to/0","equals":"kim"}"#;
    let either = format!(r#"{{"or":[{to},{{"fact":"server.id","equals":"mail"}}]}}"#);
    let (none, declares) = (Parameters::of(["body"]), Parameters::of(["body", "to"]));
    for (condition, arguments, undeclared, declared) in [
        (to, "{}", Truth::False, Truth::Unknown),
        (&not, "{}", Truth::False, Truth::Unknown),
        (absent, "{}", Truth::False, Truth::True),
        (inside, "{}", Truth::False, Truth::Unknown),
        (&either, "{}", Truth::True, Truth::True),
        // What a call brings is looked at, declared or not.
        (to, r#"{"to":"kim@evil.example"}"#, Truth::True, Truth::True),
        (&not, r#"{"to":"kim@evil.example"}"#, Truth::False, Truth::False),
        (&not, r#"{"to":"kim"}"#, Truth::True, Truth::True),
        (to, r#"{"to":7}"#, Truth::Unknown, Truth::Unknown),
        // What cannot be read may hold anything.
        (to, "{", Truth::Unknown, Truth::Unknown),
    ] {
        let (rules, call) = (blocking(condition), Call::of("send").arguing(arguments));
        for (parameters, expected) in
            [(Some(&none), undeclared), (Some(&declares), declared), (None, declared)]
        {
            let facts = Facts { parameters, ..call.facts() };
            let truth =
                rules.read(Phase::Call, &facts, FlowViolations::EMPTY).hits().first().map(|hit| hit.truth);
            assert_eq!(truth.unwrap_or(Truth::False), expected, "{condition} on {arguments}, {parameters:?}");
        }
    }
}

#[test]
fn of_arguments_that_nobody_has_chosen_the_declared_ones_are_unknown() {
    let rules = blocking(r#"{"fact":"arguments.to","matches":"*@evil.example"}"#);
    let call = Call::of("send");
    let fires = |parameters: Option<&Parameters>| {
        let facts = Facts { parameters, arguments: Arguments::Unknown, ..call.facts() };
        !rules.read(Phase::Call, &facts, FlowViolations::EMPTY).hits().is_empty()
    };
    assert!(!fires(Some(&Parameters::default())));
    assert!(fires(Some(&Parameters::of(["to"]))));
    assert!(fires(None));
}

#[test]
fn reading_a_resource_takes_no_arguments() {
    let action =
        Action::new(ActionKind::ReadResource, UpstreamId::new("mail"), "resources/read", "mail://1", "{}");
    let rules = blocking(r#"{"not":{"fact":"arguments.to","equals":"kim"}}"#);
    assert_eq!(Call::action(action).truth(&rules, Phase::Resource), Truth::False);
}
