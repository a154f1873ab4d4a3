//! What would become of a call of a tool whose arguments are not known yet, judged as the call itself would be.

use std::sync::Arc;

use highwater_core::action::{Action, ActionKind};
use highwater_core::decide::{Effect, demands};
use highwater_core::grant::CallVariant;
use highwater_core::id::DecisionId;
use highwater_core::label::Label;
use highwater_core::policy::{Facts, RequestFacts};
use highwater_notation::Arguments;
use highwater_search::Prospect;
use highwater_store::SessionState;

use crate::catalog::{Merged, Shown};
use crate::client::Caller;
use crate::gateway::now;
use crate::pipeline::outlook::would_taint;
use crate::pipeline::sessions::{ClientContext, worst};
use crate::pipeline::value_origins::UNVOUCHED;
use crate::pipeline::{Arrival, Road};
use crate::tokens::Standing;

/// Who asks, and what their session has taken in.
pub(super) struct Outset {
    caller: Caller,
    standing: Arc<Standing>,
    before: Arc<SessionState>,
    /// The same with what was read before a silence, if anything is pending.
    possible: Option<Label>,
    request: RequestFacts,
    /// Whether calls are judged by what the user says.
    judges_words: bool,
}

/// What is said of a tool besides its definition.
#[derive(Clone, Copy)]
pub(super) struct Told {
    /// The variant to call it through.
    pub(super) class: CallVariant,
    pub(super) prospect: Prospect,
    pub(super) would_taint: bool,
}

/// What is known of a caller before any tool is looked at.
pub(super) async fn outset(road: &Road, arrival: &Arrival) -> Outset {
    let caller = Caller { session: arrival.session.clone(), ..arrival.client.caller().clone() };
    let ClientContext { request, unstored } = road.sessions.take_context(arrival, &caller).await;
    let before = if unstored { worst() } else { road.sessions.current(&caller.session).await };
    let possible = before.pending.is_some().then(|| before.possible());
    let standing = caller.standing();
    let judges_words = road.sessions.judges_words(&caller, standing.words);
    Outset { standing, caller, before, possible, request, judges_words }
}

/// What would become of a call of this tool. Its server is not asked, and its contract stands at its worst: arguments
/// can make the answer milder, never stricter than this.
pub(super) fn prospect(arrival: &Arrival, outset: &Outset, names: &Merged, tool: &Shown<'_>) -> Option<Told> {
    let (known, policy) = (tool.known, &arrival.world.policy);
    let (upstream, own) = (tool.upstream.clone(), Arc::clone(tool.own));
    let action = Action::new(ActionKind::CallTool, upstream, "tools/call", own, "{}");
    let (decision, caller) = (DecisionId::new(""), &outset.caller);
    let facts = Facts {
        tool_id: Some(tool.name),
        tool_name: Some(tool.own),
        tool_status: known.status,
        hold: known.hold,
        grant: &outset.standing.grant,
        variant: Some(known.contract.variant()),
        class: Some(known.contract.variant()),
        contract: &known.contract,
        server: names.contracts(tool.upstream)?.server(),
        session: &outset.before.label,
        request: &outset.request,
        arguments: Arguments::Unknown,
        parameters: known.parameters.as_ref(),
        // Nobody can say yet whether the user asks for it.
        provenance: outset.judges_words.then(|| &*UNVOUCHED),
        now: now(),
        ..Facts::of(&decision, &caller.principal, &caller.virtual_server, &action)
    };
    let own = demands(policy, &facts).effect;
    let effect = match outset.possible.as_ref().map(|possible| demands(policy, &facts.under(possible)).effect)
    {
        // Whether this is a new conversation is asked first.
        Some(Effect::Block) if own < Effect::Block => own.max(Effect::Confirm),
        Some(effect) => effect,
        None => own,
    };
    Some(Told {
        class: known.contract.variant(),
        prospect: Prospect::of(effect),
        would_taint: would_taint(&outset.before.label, &known.contract),
    })
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
