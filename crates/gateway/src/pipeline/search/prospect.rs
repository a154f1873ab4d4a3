//! What would become of a call of a tool whose arguments are not known yet, judged as the call itself would be.

use std::sync::{Arc, Mutex};

use highwater_core::action::{Action, ActionKind};
use highwater_core::decide::demands;
use highwater_core::grant::CallVariant;
use highwater_core::id::DecisionId;
use highwater_core::policy::{Arguments, Facts, RequestFacts};
use highwater_core::search::Prospect;
use highwater_store::SessionState;

use crate::catalog::{Merged, Shown};
use crate::client::Caller;
use crate::gateway::{Gateway, now};
use crate::pipeline::Arrival;
use crate::pipeline::arrival::ToolName;
use crate::pipeline::gather::{Said, worst};
use crate::pipeline::layout::Layout;
use crate::pipeline::outlook::taints;
use crate::pipeline::undertaking::{Held, Undertaking};
use crate::tokens::Standing;

/// Who asks, and what their session has taken in.
pub(super) struct Outset {
    caller: Caller,
    standing: Arc<Standing>,
    before: Arc<SessionState>,
    request: RequestFacts,
    unstored: bool,
}

/// What is said of a tool besides its definition.
#[derive(Clone, Copy)]
pub(super) struct Told {
    /// The variant to call it through.
    pub(super) class: CallVariant,
    pub(super) prospect: Prospect,
    pub(super) would_taint: bool,
}

impl Gateway {
    /// What is known of a caller before any tool is looked at.
    pub(super) async fn outset(&self, arrival: &Arrival) -> Outset {
        let caller = Caller { session: arrival.session.clone(), ..arrival.client.caller().clone() };
        let Said { request, unstored } = self.take_request_in(arrival, &caller).await;
        let before = if unstored { worst() } else { self.label_of_moment(&caller.session).await };
        Outset { standing: caller.standing(), caller, before, request, unstored }
    }

    /// What would become of a call of this tool. Its server is not asked, and its contract stands at its worst: arguments
    /// can make the answer milder, never stricter than this.
    pub(super) fn prospect(
        &self,
        arrival: &Arrival,
        outset: &Outset,
        names: &Merged,
        tool: &Shown<'_>,
    ) -> Option<Told> {
        let held = Held::Listed(Arc::clone(tool.known));
        let (upstream, own) = (tool.upstream.clone(), Arc::clone(tool.own));
        let undertaking = Undertaking {
            policy: Arc::clone(&arrival.world.policy),
            decision: DecisionId::new(""),
            action: Arc::new(Action::new(ActionKind::CallTool, upstream, "tools/call", own, "{}")),
            caller: outset.caller.clone(),
            standing: Arc::clone(&outset.standing),
            variant: Some(tool.known.contract.variant()),
            before: Arc::clone(&outset.before),
            judged: held.clone(),
            told: held,
            known: Arc::clone(tool.known),
            server: *names.contracts(tool.upstream)?.server(),
            request: outset.request.clone(),
            tool: Some(ToolName { shown: Arc::clone(tool.name), own: Arc::clone(tool.own) }),
            met: None,
            relayed: None,
            agreed: None,
            consented: None,
            agreement: None,
            said: Mutex::default(),
            sealed: false,
            receipts: Vec::new(),
            unstored: outset.unstored,
            layout: Layout::default(),
            now: now(),
        };
        let facts = Facts { arguments: Arguments::Unknown, ..undertaking.facts() };
        Some(Told {
            class: tool.known.contract.variant(),
            prospect: Prospect::of(demands(&undertaking.policy, &facts).effect),
            would_taint: taints(&undertaking),
        })
    }
}

// === impl Told ===

impl Told {
    /// As members of a JSON object.
    pub(super) fn members(self) -> String {
        let Self { class, prospect, would_taint } = self;
        let (class, prospect) = (class.as_str(), prospect.as_str());
        format!(r#""call_with":"{class}","status":"{prospect}","would_taint":{would_taint}"#)
    }
}
