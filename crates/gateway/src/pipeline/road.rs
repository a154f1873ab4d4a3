//! The parts of the road. Each holds only what its own methods need, and can be tried by itself.

use std::sync::{Arc, Weak};

use arc_swap::ArcSwap;
use highwater_config::Settings;
use highwater_core::seal::Seal;
use highwater_store::{AuditLog, Store};

use super::approve::Approvals;
use super::ask::ServerQuestions;
use super::judge::Judge;
use super::record::Recorder;
use super::relay::Relay;
use super::route::Router;
use super::seals::Seals;
use super::sessions::Sessions;
use super::suspended::Suspended;
use crate::access::AccessLog;
use crate::approvals::ApprovalService;
use crate::asked_pages::AskedPages;
use crate::decision_ids::DecisionIds;
use crate::gateway::Gateway;
use crate::relayed::RelayedChallenges;
use crate::session::{Evidences, Stories};
use crate::world::CurrentWorld;

/// What a call passes on its way.
pub(crate) struct Road {
    /// For what is done after the request it came from has ended.
    pub(super) gateway: Weak<Gateway>,
    pub(super) world: Arc<CurrentWorld>,
    pub(super) settings: Arc<ArcSwap<Settings>>,
    /// Sessions and their labels.
    pub(crate) sessions: Arc<Sessions>,
    pub(super) recorder: Recorder,
    pub(super) seals: Arc<Seals>,
    /// Calls and questions that wait for a client's next request.
    pub(crate) suspended: Suspended,
    pub(super) router: Router,
    /// What passes between clients and servers that verify approvals themselves.
    pub(crate) relay: Arc<Relay>,
    pub(super) judge: Arc<Judge>,
    pub(super) approvals: Approvals,
    pub(crate) questions: ServerQuestions,
}

/// What the road is made from.
pub(crate) struct RoadParts {
    pub(crate) gateway: Weak<Gateway>,
    pub(crate) world: Arc<CurrentWorld>,
    pub(crate) settings: Arc<ArcSwap<Settings>>,
    pub(crate) store: Store,
    pub(crate) stories: Arc<Stories>,
    pub(crate) evidence: Arc<Evidences>,
    pub(crate) audit: Arc<AuditLog>,
    pub(crate) access: Arc<AccessLog>,
    pub(crate) seal: Seal,
    /// Where people answer; nothing where nobody can be asked on a page.
    pub(crate) service: Option<Arc<ApprovalService>>,
    pub(crate) ids: DecisionIds,
}

// === impl Road ===

impl Road {
    pub(crate) fn new(parts: RoadParts) -> Self {
        let RoadParts {
            gateway,
            world,
            settings,
            store,
            stories,
            evidence,
            audit,
            access,
            seal,
            service,
            ids,
        } = parts;
        let recorder = Recorder::new(audit);
        let seals = Arc::new(Seals::new(seal));
        let suspended = Suspended::default();
        let sessions = Arc::new(Sessions { store, stories, evidence, world: Arc::clone(&world) });
        let judge = Arc::new(Judge {
            sessions: Arc::clone(&sessions),
            recorder: recorder.clone(),
            world: Arc::clone(&world),
            service,
            ids,
        });
        let challenges = RelayedChallenges::default();
        let relay = Arc::new(Relay { challenges, judge: Arc::clone(&judge) });
        Self {
            router: Router { seals: Arc::clone(&seals), relay: Arc::clone(&relay), access },
            approvals: Approvals {
                judge: Arc::clone(&judge),
                seals: Arc::clone(&seals),
                questions: Arc::clone(&suspended.questions),
            },
            questions: ServerQuestions {
                judge: Arc::clone(&judge),
                settings: Arc::clone(&settings),
                pages: AskedPages::default(),
            },
            gateway,
            world,
            settings,
            sessions,
            recorder,
            seals,
            suspended,
            relay,
            judge,
        }
    }
}
