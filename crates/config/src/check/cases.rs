//! Operator cases that speak of the same calls and contradict each other.

use std::collections::BTreeMap;

use highwater_core::annotation::{Claim, Claims};
use highwater_core::policy::{CaseSet, Condition, Slot, Subject};
use serde_json::Value;

use super::argument::{Arguments, Asked};
use super::condition::turned;
use super::space::{GaveUp, Space};

/// A quarrel over so many nodes is not worth an answer.
const MOST_NODES: usize = 200_000;

/// Two cases that can apply to one call and say what cannot both be.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Quarrel {
    pub(crate) first: usize,
    pub(crate) second: usize,
    /// The key they quarrel about.
    pub(crate) about: &'static str,
    /// Arguments to which both apply.
    pub(crate) example: Value,
}

/// Every pair of cases that quarrels. Where it is too hard to tell, none.
pub(crate) fn quarrels(cases: &CaseSet, claims: &[&Claims]) -> Vec<Quarrel> {
    found(cases, claims).unwrap_or_default()
}

fn found(cases: &CaseSet, claims: &[&Claims]) -> Result<Vec<Quarrel>, GaveUp> {
    let mut asked: BTreeMap<String, Asked> = BTreeMap::new();
    let pointer = |slot: Slot| match cases.subject(slot) {
        Some(Subject::Argument(pointer)) => Some(pointer.as_str().to_owned()),
        Some(Subject::Fact(_)) | None => None,
    };
    for test in cases.conditions().iter().flat_map(Condition::tests) {
        if let Some(pointer) = pointer(test.slot()) {
            asked.entry(pointer).or_default().note(test);
        }
    }
    let mut space = Space::new(MOST_NODES);
    let arguments = Arguments::new(&mut space, asked)?;
    let mut certain = Vec::new();
    for condition in cases.conditions() {
        let rails = super::condition::rails(&mut space, condition, &mut |space, test| {
            let pointer = pointer(test.slot()).unwrap_or_default();
            let rails = arguments.rails(space, &pointer, test)?;
            turned(space, test, rails)
        })?;
        certain.push(rails.must);
    }
    let mut quarrels = Vec::new();
    for (second, (condition, said)) in certain.iter().zip(claims).enumerate() {
        for (first, (other, other_said)) in certain.iter().zip(claims).enumerate().take(second) {
            let Some(about) = contradiction(other_said, said) else { continue };
            let both = space.diagram.and(*condition, *other)?;
            if let Some(values) = space.example(both)? {
                let example = arguments.spelled(&space, &values);
                quarrels.push(Quarrel { first, second, about, example });
            }
        }
    }
    Ok(quarrels)
}

/// The key on which two sets of claims leave nothing that both allow.
fn contradiction(one: &Claims, other: &Claims) -> Option<&'static str> {
    one.iter().flat_map(|one| other.iter().map(move |other| (&one.claim, &other.claim))).find_map(|pair| {
        match pair {
            (Claim::SetDestination(one), Claim::SetDestination(other)) => {
                one.members().intersection(other.members()).is_empty().then_some("inputMetadata.destination")
            }
            (Claim::SetOutcomes(one), Claim::SetOutcomes(other)) => {
                one.members().intersection(other.members()).is_empty().then_some("inputMetadata.outcomes")
            }
            (Claim::SetSource(one), Claim::SetSource(other)) => {
                one.members().intersection(other.members()).is_empty().then_some("returnMetadata.source")
            }
            (Claim::SetReturns(one), Claim::SetReturns(other)) => {
                let common = !one.classes().intersection(other.classes()).is_empty()
                    || (one.may_be_none() && other.may_be_none());
                (!common).then_some("returnMetadata.sensitivity")
            }
            (Claim::ReadConfidentiality(one), Claim::ReadConfidentiality(other)) => {
                one.members().intersection(other.members()).is_empty().then_some("read_confidentiality")
            }
            (Claim::WriteConfidentiality(one), Claim::WriteConfidentiality(other)) => {
                one.members().intersection(other.members()).is_empty().then_some("write_confidentiality")
            }
            _ => None,
        }
    })
}

/// The key on which a case says something outside what is said of every call.
pub(crate) fn outside(fixed: &Claims, case: &Claims) -> Option<&'static str> {
    fixed.iter().flat_map(|fixed| case.iter().map(move |case| (&fixed.claim, &case.claim))).find_map(|pair| {
        match pair {
            (Claim::SetDestination(fixed), Claim::SetDestination(case)) => {
                (!fixed.members().covers(case.members())).then_some("inputMetadata.destination")
            }
            (Claim::SetOutcomes(fixed), Claim::SetOutcomes(case)) => {
                (!fixed.members().covers(case.members())).then_some("inputMetadata.outcomes")
            }
            (Claim::SetSource(fixed), Claim::SetSource(case)) => {
                (!fixed.members().covers(case.members())).then_some("returnMetadata.source")
            }
            (Claim::SetReturns(fixed), Claim::SetReturns(case)) => {
                let inside = fixed.classes().covers(case.classes())
                    && fixed.scopes().covers(case.scopes())
                    && (fixed.may_be_none() || !case.may_be_none());
                (!inside).then_some("returnMetadata.sensitivity")
            }
            (Claim::SetAccepts(fixed), Claim::SetAccepts(case)) => {
                let inside = fixed.classes().covers(case.classes()) && fixed.scopes().covers(case.scopes());
                (!inside).then_some("inputMetadata.sensitivity")
            }
            (Claim::ReadConfidentiality(fixed), Claim::ReadConfidentiality(case)) => {
                (!fixed.members().covers(case.members())).then_some("read_confidentiality")
            }
            (Claim::WriteConfidentiality(fixed), Claim::WriteConfidentiality(case)) => {
                (!fixed.members().covers(case.members())).then_some("write_confidentiality")
            }
            (Claim::SetAccepts(_), Claim::AcceptsAny) => Some("inputMetadata.sensitivity"),
            _ => None,
        }
    })
}
