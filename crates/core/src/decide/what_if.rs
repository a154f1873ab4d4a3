//! What would have changed a decision: the same action judged again as if the session had read less. Made only where
//! an action is not simply allowed; for people.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::flow::FlowMode;
use super::gates::demands;
use super::verdict::Demands;
use crate::annotation::ArgumentRole;
use crate::label::Label;
use crate::policy::{Effect, Facts, Policy};
use crate::provenance::{CallProvenance, Standing};
use crate::trust::TrustLevel;

/// Something that could have been otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Otherwise {
    /// The session has read nothing that a stranger may have written.
    NothingUntrusted,
    /// The session has read nothing private.
    NothingPrivate,
    /// The session has read nothing at all.
    NothingRead,
    /// The user has asked for it.
    AskedFor,
}

/// What the decision would have been otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhatIf {
    /// If this were so,
    #[serde(rename = "if")]
    pub otherwise: Otherwise,
    /// of these arguments, by JSON pointer; of the call itself where there are none,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<Arc<str>>,
    /// this would follow.
    pub effect: Effect,
}

// === impl Otherwise ===

impl Otherwise {
    /// Everything that the session could have read otherwise, the smallest change first.
    pub const READ: [Self; 3] = [Self::NothingUntrusted, Self::NothingPrivate, Self::NothingRead];

    /// The label that the session would have had.
    pub fn label(self, session: &Label) -> Label {
        match self {
            Self::NothingUntrusted => Label::bottom()
                .with_names(session.names())
                .with_classes(session.classes())
                .with_scopes(session.scopes())
                .with_origins(session.origins())
                .with_integrity(session.integrity().max(TrustLevel::Tool)),
            Self::NothingPrivate => {
                let public =
                    Label::bottom().with_integrity(session.integrity()).with_origins(session.origins());
                let public = if session.open_world() { public.with_open_world() } else { public };
                if session.malicious() { public.with_malicious() } else { public }
            }
            Self::NothingRead => Label::bottom(),
            Self::AskedFor => session.clone(),
        }
    }
}

/// Everything that would have made the decision milder, the smallest change first. A change that helps no more than a
/// smaller one is left out.
pub(super) fn what_if(policy: &Policy, facts: &Facts<'_>, effect: Effect) -> Vec<WhatIf> {
    let mut found: Vec<WhatIf> = Vec::from_iter(asked_for(policy, facts, effect));
    for otherwise in Otherwise::READ {
        let label = otherwise.label(facts.session);
        let Demands { effect: then, .. } = demands(policy, &facts.under(&label));
        let helps = then < effect;
        let helps_more = otherwise != Otherwise::NothingRead || found.iter().all(|known| then < known.effect);
        if helps && helps_more {
            found.push(WhatIf { otherwise, arguments: Vec::new(), effect: then });
        }
    }
    found
}

/// What would have followed had the user asked for everything that is missing.
fn asked_for(policy: &Policy, facts: &Facts<'_>, effect: Effect) -> Option<WhatIf> {
    let provenance = facts.by_words()?;
    let is_strict = policy.flow_for(facts).modes().any(|mode| mode == FlowMode::Strict);
    let lacks = if is_strict { &provenance.lacks_strictly } else { &provenance.lacks };
    let mut arguments: Vec<Arc<str>> = lacks.iter().filter_map(|lack| lack.pointer.clone()).collect();
    arguments.sort();
    arguments.dedup();
    let wanted = wanting(provenance, &arguments);
    let Demands { effect: then, .. } = demands(policy, &Facts { provenance: Some(&wanted), ..*facts });
    (then < effect).then_some(WhatIf { otherwise: Otherwise::AskedFor, arguments, effect: then })
}

/// The same call, if the user had named these arguments and nothing were missing.
fn wanting(provenance: &CallProvenance, named: &[Arc<str>]) -> CallProvenance {
    let is_wanted = |pointer: &Arc<str>, standing| standing == Standing::Wanted || named.contains(pointer);
    let mut targets = provenance.arguments.iter().filter(|argument| argument.role == ArgumentRole::Target);
    let has_target = targets.clone().next().is_some();
    CallProvenance {
        lacks: Vec::new(),
        lacks_strictly: Vec::new(),
        audience_wanted: has_target
            && targets.all(|argument| is_wanted(&argument.pointer, argument.standing)),
        ..provenance.clone()
    }
}
