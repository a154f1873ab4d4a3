//! Asks a server about one call before it is judged: `tools/resolve`. The arguments leave with that, so it is an action of
//! its own; where it is not plainly allowed nobody is asked, and the tool's declared possible set stands at its worst.

use std::sync::Arc;
use std::time::Duration;

use highwater_audit::Outcome;
use highwater_core::action::{Action, ActionKind};
use highwater_core::annotation::{Authority, Claims, Contract};
use highwater_core::decide::{PermittedAction, Verdict};
use highwater_mcp::annotations::{TOOL_RESOLUTION, resolved_claims};
use highwater_mcp::era::ClientMeta;
use highwater_mcp::text::quote;
use highwater_upstream::{CallClient, DefinitionGuard, Party};
use tokio::sync::mpsc;

use super::arrival::{Excuse, Route};
use super::definition_guard::JudgedServer;
use super::files::Files;
use super::judge::Judge;
use super::layout::Layout;
use super::local::LocalFacts;
use super::permitted::Granted;
use super::proposed::{EffectiveContract, Proposed};
use super::record::End;
use super::value_origins::ValueOrigins;

/// How long a server may think about a call that has not been made yet.
const PATIENCE: Duration = Duration::from_secs(2);

// === impl Judge ===

impl Judge {
    /// What the server says of this call, if it may be asked and answers.
    pub(super) async fn resolve(&self, call: &Proposed) -> Option<Claims> {
        if is_settled(&call.contract) {
            return None;
        }
        let route = &call.route;
        let own = call.action.target();
        let params = format!(r#"{{"name":{},"arguments":{}}}"#, quote(own), call.arguments());
        let upstream = call.action.upstream().clone();
        let action = Action::new(ActionKind::ResolveTool, upstream, "tools/resolve", Arc::clone(own), params);
        let resolving = Arc::clone(route.contracts.resolving());
        let contract = EffectiveContract::Listed(Arc::clone(&resolving));
        let asking = Proposed {
            decision: self.next_decision(),
            layout: Layout::of(&action),
            action: Arc::new(action),
            variant: None,
            contract: contract.clone(),
            reply_contract: contract,
            route: Route { known: resolving, ..route.clone() },
            relayed: None,
            local: LocalFacts::default(),
            files: Files::default(),
            continues_agreed: false,
            excuse: Excuse::Nothing,
            origins: ValueOrigins::default(),
            // It has the arguments of the call that it is about.
            sealed: self.seals(call),
            policy: Arc::clone(&call.policy),
            host: call.host.clone(),
            caller: call.caller.clone(),
            standing: Arc::clone(&call.standing),
            before: Arc::clone(&call.before),
            earlier: call.earlier.clone(),
            server: call.server,
            request: call.request.clone(),
            unstored: call.unstored,
            now: call.now,
        };
        let (asking, Verdict::Allow(permit)) = self.verdict(asking).await else { return None };
        let granted = Granted::from(permit);
        let mut record = self.recorder.permit(&asking, &granted).ok()?;
        let permitted = PermittedAction::bind(Arc::clone(&asking.action), granted.permit).ok()?;
        let capabilities = format!(r#"{{"extensions":{{"{TOOL_RESOLUTION}":{{}}}}}}"#);
        let judged_server = JudgedServer::of(route);
        let client = CallClient {
            party: Party::Gateway,
            capabilities: &capabilities,
            log_level: None,
            progress: false,
            meta: ClientMeta::Kept,
            definition_guard: judged_server
                .as_ref()
                .map(|judged_server| judged_server as &dyn DefinitionGuard),
        };
        // Whatever it says besides its answer is heard by nobody; nor does anybody try this again.
        let (events, _) = mpsc::channel(1);
        let perform = route.catalog_server.upstream.perform(permitted, client, &events, None);
        let answer = tokio::time::timeout(PATIENCE, perform);
        let reply = match answer.await {
            Ok(Ok(reply)) => reply,
            Ok(Err(error)) => {
                tracing::debug!(%error, "a call could not be resolved");
                record.settle(Outcome::Failed, End::default()).ok()?;
                return None;
            }
            Err(_) => {
                record.settle(Outcome::TimedOut, End::default()).ok()?;
                return None;
            }
        };
        let provenance = Some(asking.provenance());
        let end = End { bytes: reply.frame.bytes().len(), provenance, ..End::default() };
        record.settle(Outcome::Delivered, end).ok()?;
        let result = reply.frame.result()?;
        let by = if call.known().believed { Authority::ResolvedVerified } else { Authority::Resolved };
        match resolved_claims(result, own, by) {
            Ok(reading) => {
                for notice in &reading.notices {
                    tracing::info!(decision = %asking.decision, ?notice, "noted about a resolution");
                }
                Some(reading.claims)
            }
            Err(error) => {
                tracing::warn!(%error, server = %route.upstream(), "a resolution is not used");
                None
            }
        }
    }
}

/// Whether there is nothing left to be narrowed.
fn is_settled(contract: &Contract) -> bool {
    let one = |count: usize| count == 1;
    one(contract.destination().members().iter().count())
        && one(contract.outcomes().members().iter().count())
        && one(contract.source().members().iter().count())
        && contract.returns().classes().is_empty()
}
