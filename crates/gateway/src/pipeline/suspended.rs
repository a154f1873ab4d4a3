//! Calls that wait while a modern client answers a legacy upstream's question. The client's request has ended with
//! `input_required`; the upstream's call is still open. This is the one place where a call outlives its request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use highwater_core::id::{Principal, UpstreamId};
use highwater_core::label::Label;
use highwater_mcp::era::Era;
use highwater_mcp::era::reply::without_ours;
use highwater_mcp::error_code::{UPSTREAM_UNAVAILABLE, result_response};
use highwater_mcp::text::quote;
use highwater_upstream::event::Ask;

use super::approve::PendingQuestions;
use super::ask::{Cleared, modern_question};
use super::asked_page::marked;
use super::seals::{GoesOn, Seals};
use super::sent::Sent;
use super::{Arrival, Delivery, Refusal};
use crate::gateway::fresh_id;
use crate::handshake::by_us;

/// How long a suspended call waits for its answer.
pub(super) const SUSPENSION: Duration = Duration::from_secs(300);

/// How many calls may be suspended in all, and for one principal.
const MAX_SUSPENDED: usize = 1024;
const MAX_SUSPENDED_EACH: usize = 64;

/// The key of the one question a suspended call asks.
pub(super) const QUESTION: &str = "question";

/// What waits for a client's next request.
#[derive(Default)]
pub(crate) struct Suspended {
    pub(super) calls: Arc<SuspendedCalls>,
    /// Questions to people.
    pub(super) questions: Arc<PendingQuestions>,
}

/// The table of suspended calls.
#[derive(Default)]
pub(super) struct SuspendedCalls {
    calls: Mutex<HashMap<String, SuspendedCall>>,
}

pub(super) struct SuspendedCall {
    pub(super) principal: Principal,
    pub(super) sent: Sent,
    pub(super) ask: Ask,
    /// The label of the question.
    pub(super) label: Label,
}

/// Too many calls wait for an answer already.
pub(super) struct TooMany;

// === impl Suspended ===

impl Suspended {
    /// Gives everything up: the calls are cancelled upstream and recorded as such.
    pub(crate) fn clear(&self) {
        self.calls.clear();
        self.questions.clear();
    }

    /// Ends a modern client's request with the upstream's question and keeps the call open behind it.
    pub(super) fn suspend(
        &self,
        seals: &Seals,
        arrival: &Arrival,
        sent: Sent,
        ask: Ask,
        cleared: Cleared,
    ) -> Result<Delivery, Refusal> {
        let decision = sent.decision().clone();
        let id = fresh_id();
        let state = seals
            .state(arrival, GoesOn::Suspended(id.clone()))
            .ok_or_else(|| Refusal::internal(&decision))?;
        let answer = input_required(arrival, sent.permitted.route.upstream(), &ask, &state);
        let Cleared { recorded, joined, label } = cleared;
        let principal = arrival.client.caller().principal.clone();
        let call = SuspendedCall { principal, sent, ask, label };
        if self.calls.put(&id, call).is_err() {
            // Dropped here, the call is cancelled upstream and recorded so.
            return Err(Refusal::about(
                &decision,
                UPSTREAM_UNAVAILABLE,
                "too many calls wait for an answer already",
            ));
        }
        expire_later(&self.calls, id);
        Ok(Delivery::released(answer, None, recorded, joined))
    }
}

// === impl SuspendedCalls ===

impl SuspendedCalls {
    /// Keeps a call, or drops it, which cancels it, if too many are kept already.
    pub(super) fn put(&self, id: &str, call: SuspendedCall) -> Result<(), TooMany> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let theirs = calls.values().filter(|other| other.principal == call.principal).count();
        if calls.len() >= MAX_SUSPENDED || theirs >= MAX_SUSPENDED_EACH {
            return Err(TooMany);
        }
        calls.insert(id.to_owned(), call);
        Ok(())
    }

    pub(super) fn take(&self, id: &str) -> Option<SuspendedCall> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(id)
    }

    fn clear(&self) {
        let calls = std::mem::take(&mut *self.calls.lock().unwrap_or_else(PoisonError::into_inner));
        drop(calls);
    }
}

pub(super) fn input_required(arrival: &Arrival, from: &UpstreamId, ask: &Ask, state: &str) -> Vec<u8> {
    let params = ask.params.as_deref().and_then(|params| std::str::from_utf8(params).ok());
    let params = params
        .map(|params| {
            format!(r#","params":{}"#, marked(from, &ask.method, &modern_question(&without_ours(params))))
        })
        .unwrap_or_default();
    let (method, state) = (quote(&ask.method), quote(state));
    let result = format!(
        r#"{{"resultType":"input_required","inputRequests":{{"{QUESTION}":{{"method":{method}{params}}}}},"requestState":{state}}}"#
    );
    result_response(arrival.id(), &by_us(Era::Modern, &result))
}

/// Gives a suspended call up when its time is over.
fn expire_later(calls: &Arc<SuspendedCalls>, id: String) {
    let calls: Weak<SuspendedCalls> = Arc::downgrade(calls);
    tokio::spawn(async move {
        tokio::time::sleep(SUSPENSION).await;
        if let Some(calls) = calls.upgrade() {
            drop(calls.take(&id));
        }
    });
}
