//! The gates of layer L2: the operator's own rules, and the waivers that lower their findings and those of layer L1.

use highwater_notation::Words;

use super::finding::{Finding, FindingId, PerMode, Reason, Waived};
use super::verdict::{Demands, Redactions};
use crate::policy::{Effect, FlowRule, Hit, Reading, Truth, Waiver};

/// Adds a finding for every rule that fires, and says what must be removed from the reply. Of a dry run nothing follows:
/// its finding says what would have.
pub(super) fn findings(reading: &mut Reading<'_>, findings: &mut Vec<Finding>) -> Redactions {
    let mut redactions = Redactions::NONE;
    for hit in reading.hits() {
        redactions = redactions.and(redacted(&hit));
        let reason = match hit.truth {
            Truth::True => Reason::Fired,
            Truth::Unknown | Truth::False => Reason::MayFire,
        };
        let saw = reading.explain(&hit);
        findings.push(Finding {
            saw,
            message: hit.rule.message().cloned(),
            waived: hit.waiver.map(|waiver| waived(hit.rule.effect(), waiver)),
            dry_run: hit.rule.dry_run(),
            would: hit.rule.dry_run().then_some(PerMode::all(hit.effect)),
            ..Finding::new(FindingId::Rule(hit.rule.name().clone()), hit.enforced(), reason)
        });
    }
    redactions
}

/// What the rules that fire demand, without the explanation.
pub(super) fn demands(reading: &mut Reading<'_>) -> Demands {
    reading.hits().iter().fold(Demands::NOTHING, |demands, hit| Demands {
        effect: demands.effect.max(hit.enforced()),
        redactions: demands.redactions.and(redacted(hit)),
    })
}

/// The finding of a flow rule, lowered if a waiver speaks of it here and now.
pub(super) fn waive_flow(reading: &mut Reading<'_>, rule: FlowRule, finding: Finding) -> Finding {
    if finding.effect <= Effect::Confirm {
        return finding;
    }
    let Some(waiver) = reading.waiver_of_flow(rule) else { return finding };
    let effect = finding.effect;
    let mut saw = finding.saw;
    saw.extend(reading.explain_waiver(waiver));
    Finding { effect: effect.waived(), saw, waived: Some(waived(effect, waiver)), ..finding }
}

/// What a waiver leaves of the effect of a flow rule.
pub(super) fn waived_flow(reading: &mut Reading<'_>, rule: FlowRule, effect: Effect) -> Effect {
    if effect > Effect::Confirm && reading.waiver_of_flow(rule).is_some() { effect.waived() } else { effect }
}

fn waived(instead_of: Effect, waiver: &Waiver) -> Waived {
    Waived { instead_of, reason: waiver.reason().clone(), until: waiver.until() }
}

/// A rule that names no kind of sighting wants all of them removed.
fn redacted(hit: &Hit<'_>) -> Redactions {
    match hit.rule.effect() {
        Effect::Redact if !hit.rule.dry_run() => {
            // A fact numbers its words as their vocabulary does.
            let named =
                hit.rule.redacts().map(|bits| Words::from_bits(u16::try_from(bits).unwrap_or(u16::MAX)));
            Redactions::of(named.unwrap_or_else(Words::all))
        }
        Effect::Allow | Effect::Redact | Effect::Confirm | Effect::Passkey | Effect::Block => {
            Redactions::NONE
        }
    }
}
