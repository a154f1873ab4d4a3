//! The label of what came back: what was declared, what it says of itself, and the marks of what it names.

use crate::annotation::{
    Axis, Claim, Claims, Confidentiality, Contract, DataClass, Notice, NoticeKind, ReplyBounds, ReplyKind,
    Source, SourceSet, added_by,
};
use crate::label::Label;
use crate::trust::TrustLevel;

/// The contract of one reply, where what the reply says of itself chooses: its server is believed.
///
/// `contract` is the one for this call, narrowed by resolution and by the operator's cases.
pub fn reply_contract(contract: &Contract, claims: &Claims, bounds: ReplyBounds) -> Option<Contract> {
    let chooses = !claims.is_empty() && contract.server().is_believed();
    chooses.then(|| contract.chosen_by_reply(claims, bounds))
}

/// Labels a reply: its contract, joined with what it says of itself and with the marks of the objects it names.
pub fn label_reply(contract: &Contract, claims: &Claims, marks: &Label, kind: ReplyKind) -> Label {
    let mut label = match kind {
        ReplyKind::Server => contract.reply_label().clone(),
        ReplyKind::Resource | ReplyKind::ServerWithResource => contract.label_of(kind),
    };
    if !claims.is_empty() {
        label.join(&label_claims(claims));
    }
    label.join(marks);
    label
}

/// What claims about data add to a label, whoever makes them. Nothing that is said here loosens.
pub fn label_claims(claims: &Claims) -> Label {
    claims.iter().fold(Label::bottom(), |label, said| with_claim(label, &said.claim))
}

/// What somebody should hear about a reply: that it says more than its contract allows, or that it is malicious.
pub fn reply_notices(contract: &Contract, claims: &Claims) -> Vec<Notice> {
    let mut notices = Vec::new();
    let declared = contract.reply_label();
    for said in claims {
        let label = with_claim(Label::bottom(), &said.claim);
        if label.malicious() {
            notices.push(Notice::new(NoticeKind::Malicious, None, said.from, ""));
        }
        let beyond = label.classes().minus(declared.classes());
        if let Some(class) = beyond.iter().next_back().filter(|_| contract.is_declared(Axis::Returns)) {
            notices.push(Notice::new(NoticeKind::Drift, Some(Axis::Returns), said.from, class.as_str()));
        }
        if label.untrusted() && !declared.untrusted() && contract.is_declared(Axis::Source) {
            notices.push(Notice::new(NoticeKind::Drift, Some(Axis::Integrity), said.from, "untrusted"));
        }
    }
    notices
}

fn with_claim(label: Label, claim: &Claim) -> Label {
    match claim {
        Claim::AddReturns(classes) | Claim::SetReturns(classes) => {
            label.with_names(classes.names()).with_classes(classes.classes()).with_scopes(classes.scopes())
        }
        Claim::AddSource(sources) => with_sources(label, *sources),
        Claim::SetSource(sources) => with_sources(label, sources.members()),
        Claim::Untrusted => label.with_integrity(TrustLevel::None),
        Claim::OpenWorld => label.with_open_world(),
        Claim::Malicious => label.with_malicious(),
        Claim::SetIntegrity(level) => label.with_integrity(*level),
        Claim::AddOrigins(origins) => label.with_origins(origins),
        Claim::Hints(hints) if hints.open_world == Some(true) => label.with_open_world(),
        Claim::ReadConfidentiality(grades) => {
            let label = if grades.contains(Confidentiality::High) {
                label.with_class(DataClass::Confidential)
            } else {
                label
            };
            if grades.contains(Confidentiality::Low) { label.with_integrity(TrustLevel::None) } else { label }
        }
        // These speak of a tool's calls, not of data.
        Claim::AddDestination(_)
        | Claim::SetDestination(_)
        | Claim::NotDestination(_)
        | Claim::SetAccepts(_)
        | Claim::AcceptsAny
        | Claim::AddOutcomes(_)
        | Claim::SetOutcomes(_)
        | Claim::NotOutcomes(_)
        // What data is not adds nothing to it.
        | Claim::NotSource(_)
        | Claim::AddApproval(_)
        | Claim::SetApproval(_)
        | Claim::RequiresVerified
        | Claim::Hints(_)
        | Claim::WriteConfidentiality(_)
        | Claim::Capability(_)
        | Claim::Role { .. }
        | Claim::AcceptFrom(_) => label,
    }
}

fn with_sources(label: Label, sources: SourceSet) -> Label {
    let label = label.with_sources(sources).with_classes(added_by(sources));
    if sources.contains(Source::UntrustedPublic) { label.with_open_world() } else { label }
}
