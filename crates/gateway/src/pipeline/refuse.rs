//! The exits of the road. A refusal says what happened in our words, never in an upstream's, and names no rule: the
//! full reason is on record under the decision's id.

use highwater_core::audit::{Outcome, Ruling};
use highwater_core::decide::{Denial, Finding, FindingId};
use highwater_core::id::DecisionId;
use highwater_core::policy::{Facts, Policy};
use highwater_mcp::era::Era;
use highwater_mcp::error_code;
use highwater_mcp::method::Method;
use highwater_mcp::text::{quote, unquote};
use highwater_store::AuditError;
use highwater_upstream::error::{Cause, UpstreamError};

use super::{Arrival, Delivery, Flight};
use crate::client::Caller;
use crate::gateway::Gateway;

/// Why there is no reply.
#[derive(Debug)]
pub(crate) struct Refusal {
    code: i64,
    message: String,
    decision: Option<DecisionId>,
    /// JSON text for the error's `data`.
    data: Option<String>,
    /// A tool's caller gets a result, because models read results and often never see errors.
    as_tool_result: bool,
    /// Nothing was executed, so the client may be told that asking for authorisation could help.
    denied: bool,
}

// === impl Refusal ===

impl Refusal {
    /// The request itself is at fault.
    pub(crate) fn invalid(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            decision: None,
            data: None,
            as_tool_result: false,
            denied: false,
        }
    }

    /// A control character where a name or a URI stands; servers read those in many ways.
    pub(crate) fn control_character(path: &str) -> Self {
        let data = format!(r#"{{"path":{}}}"#, quote(path));
        let message = format!("control character at {path}");
        Self { data: Some(data), ..Self::invalid(error_code::INVALID_PARAMS, message) }
    }

    /// The name leads nowhere, or nowhere that this client may know of; the two read the same.
    pub(crate) fn unknown(what: &str, name: &str, unavailable: &[String]) -> Self {
        let mut message = format!("unknown {what} `{name}`");
        if !unavailable.is_empty() {
            message.push_str(&format!("; not available right now: {}", unavailable.join(", ")));
        }
        let data = format!(r#"{{"code":{}}}"#, error_code::UNKNOWN_HERE);
        Self { data: Some(data), ..Self::invalid(error_code::INVALID_PARAMS, message) }
    }

    /// The same with the resource's URI where clients look for it.
    pub(crate) fn unknown_resource(uri: &str, era: Era) -> Self {
        let code = match era {
            Era::Legacy => error_code::RESOURCE_NOT_FOUND,
            Era::Modern => error_code::INVALID_PARAMS,
        };
        let data = format!(r#"{{"uri":{},"code":{}}}"#, quote(uri), error_code::UNKNOWN_HERE);
        Self { data: Some(data), ..Self::invalid(code, format!("unknown resource `{uri}`")) }
    }

    /// The decision could not be recorded, so nothing was done.
    pub(super) fn unrecorded(decision: &DecisionId, error: &AuditError) -> Self {
        tracing::error!(%error, %decision, "refused: the decision could not be recorded");
        Self {
            decision: Some(decision.clone()),
            as_tool_result: true,
            ..Self::invalid(error_code::REFUSED, "not done: the gateway could not record the call")
        }
    }

    /// A refusal in the course of a call; a tool's caller reads it as a result.
    pub(super) fn about(decision: &DecisionId, code: i64, message: &str) -> Self {
        Self { decision: Some(decision.clone()), as_tool_result: true, ..Self::invalid(code, message) }
    }

    /// Something that cannot happen happened; nothing was done.
    pub(super) fn internal(decision: &DecisionId) -> Self {
        tracing::error!(%decision, "refused: a permit did not fit its action");
        Self {
            decision: Some(decision.clone()),
            ..Self::invalid(error_code::INTERNAL_ERROR, "not done: internal error")
        }
    }

    /// A call that waited for an answer is gone.
    pub(crate) fn expired() -> Self {
        Self {
            as_tool_result: true,
            ..Self::invalid(
                error_code::INVALID_PARAMS,
                "the interaction has expired; call again without `requestState`",
            )
        }
    }

    /// The same refusal, but if what was asked for was never granted it reads as if it did not exist: the client must not
    /// learn what else there is.
    pub(super) fn hiding(self, denial: &Denial, arrival: &Arrival) -> Self {
        let ungranted = |finding: &Finding| matches!(finding.id, FindingId::Grant | FindingId::AllowList);
        if !denial.findings().iter().any(ungranted) {
            return self;
        }
        let shown = |key| arrival.frame.param(key).and_then(unquote).unwrap_or_default();
        match arrival.method {
            Some(Method::CallTool) => Self::unknown("tool", &shown("name"), &[]),
            Some(Method::GetPrompt) => Self::unknown("prompt", &shown("name"), &[]),
            Some(Method::ReadResource | Method::Subscribe | Method::Unsubscribe) => {
                Self::unknown_resource(&shown("uri"), arrival.client.era())
            }
            _ => self,
        }
    }

    /// The refusal as the answer to its request.
    pub(crate) fn into_delivery(self, arrival: &Arrival) -> Delivery {
        let decision = self.decision.as_ref().map(|decision| quote(decision.as_str()));
        if self.as_tool_result && arrival.method == Some(Method::CallTool) {
            let mut meta = String::new();
            if self.denied
                && let Some(decision) = &decision
            {
                meta.push_str(&format!(
                    r#""io.modelcontextprotocol/authorization":{{"reason":"insufficient_authorization","remediation":"unavailable","authorizationContextId":{decision}}},"#
                ));
            }
            if let Some(decision) = &decision {
                meta.push_str(&format!(r#""dev.highwater/decision":{decision}"#));
            }
            let era = match arrival.client.era() {
                Era::Modern => r#","resultType":"complete""#,
                Era::Legacy => "",
            };
            let text = match &self.decision {
                Some(decision) => quote(&format!("{} (decision {decision})", self.message)),
                None => quote(&self.message),
            };
            let meta = if meta.is_empty() { String::new() } else { format!(r#","_meta":{{{meta}}}"#) };
            let result =
                format!(r#"{{"content":[{{"type":"text","text":{text}}}],"isError":true{era}{meta}}}"#);
            return Delivery::refusal(error_code::result_response(arrival.id(), &result), None);
        }
        let data = match (self.data, decision) {
            (Some(data), _) => Some(data),
            (None, Some(decision)) => Some(format!(r#"{{"decision":{decision}}}"#)),
            (None, None) => None,
        };
        let bytes = error_code::error_response(Some(arrival.id()), self.code, &self.message, data.as_deref());
        Delivery::refusal(bytes, Some(self.code))
    }
}

impl Gateway {
    /// Records a blocked action and refuses it.
    pub(super) fn block(
        &self,
        policy: &Policy,
        facts: &Facts<'_>,
        caller: &Caller,
        denial: &Denial,
    ) -> Refusal {
        let recorded = self.record_decision(policy, facts, caller, denial.judgement(), Ruling::Blocked);
        if let Err(error) = recorded {
            return Refusal::unrecorded(facts.decision, &error);
        }
        Refusal {
            decision: Some(denial.decision().clone()),
            as_tool_result: true,
            denied: true,
            ..Refusal::invalid(error_code::REFUSED, "this call is not permitted; do not retry it unchanged")
        }
    }

    /// Records that no reply came, or none that can be passed on.
    pub(super) fn upstream_failed(&self, mut flight: Flight, error: UpstreamError) -> Refusal {
        let (outcome, code) = match &error.cause {
            Cause::TimedOut(_) => (Outcome::TimedOut, error_code::UPSTREAM_UNAVAILABLE),
            Cause::TooLarge { .. } | Cause::Malformed(_) => (Outcome::Failed, error_code::RESULT_WITHHELD),
            _ => (Outcome::Failed, error_code::UPSTREAM_UNAVAILABLE),
        };
        let text = error.to_string();
        tracing::warn!(decision = %flight.decision(), "{text}");
        if let Err(error) = flight.record.settle(outcome, 0, Some(&text), None) {
            return self.unrecorded(&flight, error);
        }
        let advice = if error.sent {
            "it may have taken effect: check before calling again"
        } else {
            "nothing was executed: try again later or use another tool"
        };
        Refusal {
            decision: Some(flight.decision().clone()),
            as_tool_result: true,
            ..Refusal::invalid(code, format!("{text}; {advice}"))
        }
    }

    /// Records that a reply is not passed on. The call has run, so the refusal never says that nothing happened.
    pub(super) fn withhold(&self, mut flight: Flight, denial: &Denial) -> Refusal {
        if let Err(error) = flight.record.settle(Outcome::Withheld, 0, None, Some(denial.judgement())) {
            return self.unrecorded(&flight, error);
        }
        Refusal {
            decision: Some(flight.decision().clone()),
            as_tool_result: true,
            ..Refusal::invalid(error_code::REPLY_WITHHELD, "the call has run, but its reply is withheld")
        }
    }

    /// The outcome could not be recorded: the reply stays here.
    pub(super) fn unrecorded(&self, flight: &Flight, error: AuditError) -> Refusal {
        tracing::error!(%error, decision = %flight.decision(), "withheld: the outcome could not be recorded");
        Refusal {
            decision: Some(flight.decision().clone()),
            as_tool_result: true,
            ..Refusal::invalid(
                error_code::RESULT_WITHHELD,
                "the call has run, but its result could not be recorded and is withheld",
            )
        }
    }
}
