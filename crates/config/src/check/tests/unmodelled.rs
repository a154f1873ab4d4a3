//! What the analysis does not know may be anything: no answer rests on it.

use highwater_core::annotation::DataClass;
use highwater_core::decide::{FlowMode, FlowPolicy};
use highwater_core::policy::{Check, Effect, FlowRule, Kind, Phase, RuleSet};
use highwater_notation::Glob;

use super::super::diagram::Function;
use super::super::flow::{FlowModel, FlowParts};
use super::super::model::Model;
use super::super::space::Space;
use super::super::texts::Pattern;
use super::super::world::World;
use super::world;

/// Whether the function can hold, and can fail.
fn can_be_either(space: &mut Space, function: Function) -> bool {
    let not = space.diagram.not(function).unwrap();
    space.possible(function).unwrap() && space.possible(not).unwrap()
}

#[test]
fn a_gate_without_a_model_may_speak_or_be_silent_in_every_session() {
    let mut world = world(Phase::Call, &RuleSet::empty());
    let policy = FlowPolicy { mode: FlowMode::Strict, ..FlowPolicy::default() };
    let World { space, label: session, contract, others, .. } = &mut world;
    let parts = FlowParts { space, policy: &policy, session, contract, doubted: others.doubted };
    let model = FlowModel::new(parts, |_| None).unwrap();
    assert_eq!(model.violated.len(), FlowRule::ALL.len());
    for (index, rule) in FlowRule::ALL.iter().enumerate() {
        for session in [world.label.untrusted(), world.label.class(DataClass::Pii)] {
            let here = world.space.diagram.and(model.violated[index], session).unwrap();
            assert!(can_be_either(&mut world.space, here), "{rule}");
            let silent = world.space.diagram.minus(session, model.violated[index]).unwrap();
            assert!(can_be_either(&mut world.space, silent), "{rule}");
        }
        for effect in [Effect::Confirm, Effect::Passkey, Effect::Block] {
            let found = model.findings.iter().find(|found| (found.0, found.1) == (*rule, effect)).unwrap();
            assert!(can_be_either(&mut world.space, found.2), "{rule} {effect:?}");
        }
    }
}

/// The same gate is the same in two questions about one policy, so that nothing changes where nothing was changed.
#[test]
fn a_flow_policy_has_one_model() {
    let mut world = world(Phase::Call, &RuleSet::empty());
    let (balanced, strict) =
        (FlowPolicy::default(), FlowPolicy { mode: FlowMode::Strict, ..FlowPolicy::default() });
    let first = world.flow(&balanced).unwrap();
    let other = world.flow(&strict).unwrap();
    assert_eq!(first.violated, world.flow(&balanced).unwrap().violated);
    assert_ne!(first.findings, other.findings);
}

#[test]
fn a_fact_without_a_name_may_have_every_value_or_be_unknown() {
    let words: &[&str] = &["a", "b", "c"];
    let glob = || Check::Matches(Glob::new("a*").unwrap());
    for (kind, check) in [
        (Kind::Bool, Check::Among(0b10)),
        (Kind::Enum { words, ordered: true }, Check::Among(0b110)),
        (Kind::OneOf(words), Check::Among(0b1)),
        (Kind::Set(words), Check::Has(0b10)),
        (Kind::Str, glob()),
        (Kind::Open { folded: false }, glob()),
        (Kind::Int(0, 100), Check::Above(50)),
    ] {
        let mut world = world(Phase::Call, &RuleSet::empty());
        let flow = world.flow(&FlowPolicy::default()).unwrap();
        let space = &mut world.space;
        let model = Model::anything(space, kind, vec![Pattern::Glob("a*".to_owned())]).unwrap();
        let rails = model.rails(space, &world.label, &flow, &check, None).unwrap();
        let unknown = space.diagram.minus(rails.may, rails.must).unwrap();
        let fails = space.diagram.not(rails.may).unwrap();
        for function in [rails.must, unknown, fails] {
            assert!(space.possible(function).unwrap(), "{kind:?}");
        }
    }
    // It may also not be there: then it is none of its words.
    let mut world = world(Phase::Call, &RuleSet::empty());
    let flow = world.flow(&FlowPolicy::default()).unwrap();
    let model = Model::anything(&mut world.space, Kind::Bool, Vec::new()).unwrap();
    let either = model.rails(&mut world.space, &world.label, &flow, &Check::Among(0b11), None).unwrap();
    assert!(can_be_either(&mut world.space, either.may) && can_be_either(&mut world.space, either.must));
}
