//! The account of a decision as data. What is on record stays in its recorded form; what was worked out stands beside it.

use highwater_audit::{Recorded, RecordedLabel, Ruling};
use highwater_core::decide::Finding;
use highwater_core::label::Label;
use highwater_core::session::SessionRisk;
use serde_json::{Value, json};

use super::account::{Account, Summary};
use super::advice::Advice;
use super::chronicle::Chronicle;
use super::phrase;
use super::values;
use super::when::moment;
use crate::reevaluate::{Trials, balanced_effect};

/// The whole account.
pub(crate) fn data(account: &Account, trials: Option<&Trials>) -> Value {
    let decision = &account.decision;
    let advice = Advice::on(account, trials);
    let contract = &decision.contract;
    json!({
        "id": account.id,
        "time": account.time,
        "at": moment(account.time),
        "effect": decision.effect,
        "ruling": decision.ruling,
        "sent": account.was_sent(),
        "action": {
            "server": decision.upstream,
            "trustLabel": decision.provenance.trust.as_ref().and_then(|trust| trust.label.as_deref()),
            "virtualServer": decision.virtual_server,
            "kind": decision.kind,
            "method": decision.method,
            "tool": decision.tool,
            "variant": decision.variant,
            "target": decision.target,
            "digest": decision.digest,
            "receipts": decision.receipts,
        },
        "principal": decision.principal,
        "mode": decision.mode,
        "policy": decision.policy,
        "session": {
            "key": decision.session,
            "epoch": decision.epoch,
            "label": label(&decision.label),
            "brought": brought(&account.chronicle),
            "unaccounted": account.chronicle.unaccounted,
        },
        "contract": {
            "destination": contract.destination,
            "accepts": contract.accepts,
            "outcomes": contract.outcomes,
            "source": contract.source,
            "returns": contract.returns,
            "approval": contract.approval,
            "basis": contract.basis,
        },
        "values": values::data(account),
        "findings": findings(account, &decision.findings),
        "would": decision.would,
        "course": course(account),
        "rounds": account.rounds,
        "whatIf": account.what_if(),
        "changes": advice.changes,
        "steps": advice
            .steps
            .iter()
            .map(|step| json!({ "what": step.what, "how": step.how, "then": step.then }))
            .collect::<Vec<_>>(),
        "note": advice.note,
    })
}

/// The calls that raised a label.
pub(crate) fn brought(chronicle: &Chronicle) -> Vec<Value> {
    chronicle
        .brought
        .iter()
        .map(|brought| {
            json!({
                "id": brought.id,
                "time": brought.time,
                "what": brought.what,
                "server": brought.upstream,
                "added": brought.added,
                "origins": brought.origins,
                "marks": brought.marks,
                "session": brought.elsewhere,
            })
        })
        .collect()
}

/// The risk of a session, with the calls on record that set its legs.
pub(crate) fn risk(label: &Label, chronicle: &Chronicle) -> Value {
    let risk = SessionRisk::of(label);
    let set_by: serde_json::Map<String, Value> = risk
        .legs()
        .filter_map(|leg| {
            let call = chronicle.set_by(leg)?;
            let told =
                json!({ "id": call.id, "time": call.time, "what": call.what, "server": call.upstream });
            Some((leg.as_str().to_owned(), told))
        })
        .collect();
    json!({ "score": risk.score(), "legs": risk.legs().collect::<Vec<_>>(), "trifecta": risk.trifecta(), "setBy": set_by })
}

fn label(label: &RecordedLabel) -> Value {
    json!({ "words": label.label, "origins": label.origins, "scopes": label.scopes })
}

fn findings(account: &Account, findings: &[Finding]) -> Vec<Value> {
    findings
        .iter()
        .map(|finding| json!({ "summary": phrase::found(finding, &account.decision), "finding": finding }))
        .collect()
}

fn course(account: &Account) -> Vec<Value> {
    let event = |name: &str, mut rest: Value, time| {
        if let Some(members) = rest.as_object_mut() {
            members.insert("event".to_owned(), name.into());
            members.insert("time".to_owned(), json!(time));
        }
        rest
    };
    account
        .course
        .iter()
        .filter_map(|record| {
            let (name, rest) = match &record.happened {
                Recorded::Decision(decision) => (
                    "decision",
                    json!({ "effect": decision.effect, "ruling": decision.ruling,
                            "findings": findings(account, &decision.findings) }),
                ),
                Recorded::Outcome(outcome) => (
                    "outcome",
                    json!({ "outcome": outcome.outcome, "bytes": outcome.bytes, "millis": outcome.millis,
                            "detail": outcome.detail, "label": label(&outcome.label),
                            "raised": outcome.raised, "findings": findings(account, &outcome.findings),
                            "would": outcome.would, "marks": outcome.marks }),
                ),
                Recorded::Question(question) => (
                    "question",
                    json!({ "server": question.upstream, "kind": question.kind, "effect": question.effect,
                            "label": label(&question.label), "raised": question.raised,
                            "findings": findings(account, &question.findings) }),
                ),
                Recorded::Asked { question, how } => ("asked", json!({ "question": question, "how": how })),
                Recorded::Answered { question, answer, by } => {
                    ("answered", json!({ "question": question, "answer": answer, "by": by }))
                }
                Recorded::Retried { attempt, why, sent } => {
                    ("retried", json!({ "attempt": attempt, "why": why, "sent": sent }))
                }
                Recorded::Remark { what, detail, .. } => {
                    ("remark", json!({ "what": what, "detail": detail }))
                }
                Recorded::Approval { act, by, request, receipt, .. } => {
                    ("approval", json!({ "act": act, "by": by, "request": request, "receipt": receipt }))
                }
                Recorded::Notice { .. }
                | Recorded::Waived { .. }
                | Recorded::Declassification { .. }
                | Recorded::MarksCleared { .. }
                | Recorded::Token { .. }
                | Recorded::Review { .. }
                | Recorded::Access { .. }
                | Recorded::Log { .. }
                | Recorded::Unknown => return None,
            };
            Some(event(name, rest, record.time))
        })
        .collect()
}

/// One decision in a list, as data.
pub(crate) fn summary(summary: &Summary) -> Value {
    let decision = &summary.decision;
    json!({
        "id": summary.id,
        "time": summary.time,
        "at": moment(summary.time),
        "effect": decision.effect,
        "ruling": decision.ruling,
        "balancedWould": balanced_effect(decision),
        "tool": decision.tool,
        "target": decision.target,
        "server": decision.upstream,
        "session": decision.session,
        "findings": decision.findings.iter().map(|finding| finding.id.to_string()).collect::<Vec<_>>(),
    })
}

/// What was decided, in one word.
pub(crate) fn ruling(ruling: Ruling) -> &'static str {
    match ruling {
        Ruling::Allowed => "allowed",
        Ruling::Approved => "approved",
        Ruling::Asked => "asked",
        Ruling::Blocked => "refused",
        Ruling::Unavailable => "unavailable",
    }
}
