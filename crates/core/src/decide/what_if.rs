//! What would have changed a decision: the same action judged again as if the session had read less. Made only where
//! an action is not simply allowed; for people.

use serde::{Deserialize, Serialize};

use super::gates::demands;
use super::verdict::Demands;
use crate::label::Label;
use crate::policy::{Effect, Facts, Policy};
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
}

/// What the decision would have been otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhatIf {
    /// If this were so,
    #[serde(rename = "if")]
    pub otherwise: Otherwise,
    /// this would follow.
    pub effect: Effect,
}

// === impl Otherwise ===

impl Otherwise {
    /// Everything that could have been otherwise, the smallest change first.
    pub const ALL: [Self; 3] = [Self::NothingUntrusted, Self::NothingPrivate, Self::NothingRead];

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
        }
    }
}

/// Everything that would have made the decision milder, the smallest change first. A change that helps no more than a
/// smaller one is left out.
pub(super) fn what_if(policy: &Policy, facts: &Facts<'_>, effect: Effect) -> Vec<WhatIf> {
    let mut found: Vec<WhatIf> = Vec::new();
    for otherwise in Otherwise::ALL {
        let label = otherwise.label(facts.session);
        let Demands { effect: then, .. } = demands(policy, &facts.under(&label));
        let helps = then < effect;
        let helps_more = otherwise != Otherwise::NothingRead || found.iter().all(|known| then < known.effect);
        if helps && helps_more {
            found.push(WhatIf { otherwise, effect: then });
        }
    }
    found
}
