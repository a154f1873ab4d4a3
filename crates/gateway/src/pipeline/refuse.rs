//! The exits of the road. A refusal says what happened in our words, never in an upstream's, and names no rule: the
//! full reason is on record under the decision's id.

use highwater_audit::Ruling;
use highwater_core::decide::{
    Answer, Asking, Denial, Effect, Finding, FindingId, Permit, Reason, misjudged, refusal, ungranted,
};
use highwater_core::grant::{CallVariant, Permission};
use highwater_core::id::{DecisionId, UpstreamId};
use highwater_mcp::era::Era;
use highwater_mcp::error_code;
use highwater_mcp::method::Method;
use highwater_mcp::text::{quote, unquote};
use highwater_store::{AuditError, StoreError};

use super::permitted::Basis;
use super::proposed::Proposed;
use super::record::Recorder;
use super::route::unknown;
use super::{Arrival, Delivery};
use crate::handshake::by_us;

/// Why there is no reply.
#[derive(Debug)]
pub(crate) struct Refusal {
    code: i64,
    message: String,
    decision: Option<DecisionId>,
    /// JSON text for the error's `data`.
    pub(super) data: Option<String>,
    /// A tool's caller gets a result, because models read results and often never see errors.
    as_tool_result: bool,
    /// Nothing was executed, and this is what the client is told about getting it authorised after all.
    denied: Option<Remediation>,
    /// What the caller's token lacks, or what the call was wrong about.
    lack: Option<Lack>,
    /// The name leads nowhere.
    unknown: bool,
    /// Whether the caller may know that there is what was refused.
    hidden: Hidden,
    /// Where a person can answer, as a member of `_meta`.
    pub(super) approval: Option<String>,
}

/// Why a call that could be made is not made for this caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lack {
    /// The token does not grant this.
    Permission(Permission),
    /// The variant is below this class.
    Variant(CallVariant),
}

/// Who must not know that there is what was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hidden {
    /// Anybody may.
    No,
    /// Whoever searches: they were never shown what is held.
    FromSearch,
    /// Every caller: it was never granted to them.
    FromCaller,
}

/// Whether an authorisation that is missing can be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remediation {
    /// No: it must not be tried again unchanged.
    Unavailable,
    /// There is a way, but not through this client.
    Undisclosed,
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
            denied: None,
            lack: None,
            unknown: false,
            hidden: Hidden::No,
            approval: None,
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
        Self { data: Some(data), unknown: true, ..Self::invalid(error_code::INVALID_PARAMS, message) }
    }

    /// What one of our own tools was given does not fit it. The model reads it and can do better.
    pub(super) fn unfit(message: impl Into<String>) -> Self {
        Self::invalid(error_code::INVALID_PARAMS, message).for_the_model()
    }

    /// One of our own tools is not granted.
    pub(super) fn ungranted(permission: Permission, tool: &str) -> Self {
        let lack = Some(Lack::Permission(permission));
        Self { lack, ..Self::invalid(error_code::REFUSED, ungranted(permission, tool)).for_the_model() }
    }

    /// The same refusal, of something that was not executed and may be authorised like this.
    pub(super) fn with(self, remediation: Remediation) -> Self {
        Self { denied: Some(remediation), ..self }
    }

    /// The same refusal as the result of a tool.
    pub(super) fn for_the_model(self) -> Self {
        Self { as_tool_result: true, ..self }
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

    /// The server cannot be looked at before it is used.
    pub(super) fn unavailable(upstream: &UpstreamId, why: Option<&str>) -> Self {
        let why = why.map(|why| format!(": it {why}")).unwrap_or_default();
        let message = format!(
            "server `{upstream}` cannot be reached{why}; nothing was executed: try again later or use another tool"
        );
        Self { as_tool_result: true, ..Self::invalid(error_code::UPSTREAM_UNAVAILABLE, message) }
    }

    /// Nobody has approved it, or it is not what was approved.
    fn held(decision: &DecisionId, name: &str, upstream: &UpstreamId) -> Self {
        let message = format!(
            "`{name}` is held until a person has approved it; go on without it, or ask the user to look at it with \
             `highwater servers diff {upstream}`"
        );
        Self {
            denied: Some(Remediation::Undisclosed),
            ..Self::about(decision, error_code::QUARANTINED, &message)
        }
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

    /// The label of what came could not be stored, so it stays here.
    pub(super) fn unlabelled(decision: &DecisionId, error: &StoreError) -> Self {
        tracing::error!(%error, %decision, "withheld: its label could not be stored");
        let message = "the call has run, but its result could not be labelled and is withheld: the gateway's session \
                       store is away; check whether it took effect before calling again";
        Self::about(decision, error_code::RESULT_WITHHELD, message)
    }

    /// The tool is another than the one a person was asked about.
    pub(super) fn changed(decision: &DecisionId) -> Self {
        let message = "not done: the tool or its server changed while the user was asked; call again";
        Self::about(decision, error_code::REFUSED, message)
    }

    /// Too many questions wait for a person already.
    pub(super) fn too_many_questions(decision: &DecisionId) -> Self {
        let message =
            "this call needs the user's confirmation, but too many questions wait for an answer already";
        Self {
            denied: Some(Remediation::Undisclosed),
            ..Self::about(decision, error_code::NEEDS_APPROVAL, message)
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

    /// A round of an approved call that went on before: an approval opens one execution.
    pub(super) fn taken() -> Self {
        let message = "this step of the call was taken already; call again without `requestState`";
        Self { as_tool_result: true, ..Self::invalid(error_code::INVALID_PARAMS, message) }
    }

    /// The same refusal, but if what was asked for was never granted it reads as if it did not exist: the client must not
    /// learn what else there is.
    pub(super) fn hiding(self, arrival: &Arrival) -> Self {
        match self.hidden {
            Hidden::No => return self,
            Hidden::FromSearch if arrival.variant.is_none() => return self,
            Hidden::FromSearch | Hidden::FromCaller => {}
        }
        let shown = |key| arrival.frame.param(key).and_then(unquote).unwrap_or_default();
        match arrival.method {
            Some(Method::CallTool) => unknown(arrival, "tool", &shown("name")),
            Some(Method::GetPrompt) => unknown(arrival, "prompt", &shown("name")),
            Some(Method::ReadResource | Method::Subscribe | Method::Unsubscribe) => {
                Self::unknown_resource(&shown("uri"), arrival.client.era())
            }
            _ => self,
        }
    }

    /// The refusal as the answer to its request.
    pub(crate) fn into_delivery(self, arrival: &Arrival) -> Delivery {
        tracing::debug!(
            decision = self.decision.as_ref().map(DecisionId::as_str),
            code = self.code,
            "refused"
        );
        let decision = self.decision.as_ref().map(|decision| quote(decision.as_str()));
        // The name of a tool that is called through a variant is an argument.
        let as_tool_result = self.as_tool_result || (self.unknown && arrival.variant.is_some());
        if as_tool_result && arrival.method == Some(Method::CallTool) {
            let mut meta = String::new();
            if let (Some(remediation), Some(decision)) = (self.denied, &decision) {
                let word = remediation.word();
                meta.push_str(&format!(
                    r#""io.modelcontextprotocol/authorization":{{"reason":"insufficient_authorization","remediation":"{word}","authorizationContextId":{decision}}},"#
                ));
            }
            if let Some(decision) = &decision {
                let lack = self.lack.map(|lack| format!(",{}", lack.members())).unwrap_or_default();
                // A reason that a person can do something about has a number, here as in an error.
                let code = match self.code {
                    error_code::QUARANTINED => format!(r#","code":{}"#, self.code),
                    error_code::STORE_UNAVAILABLE => format!(r#","code":{},"outage":true"#, self.code),
                    _ => String::new(),
                };
                meta.push_str(&format!(r#""dev.highwater/decision":{{"id":{decision}{code}{lack}}}"#));
            } else if let Some(lack) = self.lack {
                meta.push_str(&format!(r#""dev.highwater/decision":{{{}}}"#, lack.members()));
            }
            if let Some(approval) = &self.approval {
                meta.push_str(if meta.is_empty() { "" } else { "," });
                meta.push_str(approval);
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
            let result = by_us(arrival.client.era(), &result);
            return Delivery::ours(error_code::result_response(arrival.id(), &result), None);
        }
        let data = match (self.data, decision) {
            (Some(data), _) => Some(data),
            (None, Some(decision)) => {
                let lack = self.lack.map(|lack| format!(",{}", lack.members())).unwrap_or_default();
                Some(format!(r#"{{"decision":{decision}{lack}}}"#))
            }
            (None, None) => None,
        };
        let bytes = error_code::error_response(Some(arrival.id()), self.code, &self.message, data.as_deref());
        Delivery::ours(bytes, Some(self.code))
    }
}

/// Whether a finding says that the caller must not even know of what was asked for.
fn is_out_of_reach(finding: &Finding) -> bool {
    const BEYOND: [Reason; 3] =
        [Reason::VirtualServerNotGranted, Reason::ServerNotGranted, Reason::ToolNotGranted];
    match finding.id {
        FindingId::Grant | FindingId::AllowList => true,
        FindingId::Token => finding.reasons.iter().any(|reason| BEYOND.contains(reason)),
        _ => false,
    }
}

// === impl Hidden ===

impl Hidden {
    fn of(denial: &Denial) -> Self {
        let findings = denial.findings();
        if findings.iter().any(is_out_of_reach) {
            Self::FromCaller
        } else if findings.iter().any(|finding| finding.id == FindingId::Quarantine) {
            Self::FromSearch
        } else {
            Self::No
        }
    }
}

// === impl Lack ===

impl Lack {
    /// What stands between a caller and a call that was blocked, if that is all.
    fn of(proposed: &Proposed, denial: &Denial) -> Option<Self> {
        let facts = proposed.facts();
        let found = |id: FindingId| denial.findings().iter().any(|finding| finding.id == id);
        if found(FindingId::Token) {
            return facts.missing().map(Self::Permission);
        }
        found(FindingId::Intent).then(|| Self::Variant(facts.class()))
    }

    fn words(self, tool: &str) -> String {
        match self {
            Self::Permission(permission) => ungranted(permission, tool),
            Self::Variant(class) => misjudged(class, tool),
        }
    }

    /// As members of a JSON object.
    fn members(self) -> String {
        match self {
            Self::Permission(permission) => format!(r#""permission":"{permission}""#),
            Self::Variant(class) => format!(r#""code":"SERVER_MISMATCH","callWith":"{class}""#),
        }
    }
}

// === impl Remediation ===

impl Remediation {
    fn word(self) -> &'static str {
        match self {
            Self::Unavailable => "unavailable",
            Self::Undisclosed => "undisclosed",
        }
    }
}

// === impl Recorder ===

impl Recorder {
    /// Records a blocked action and refuses it. What led here is on record under the decision's id and nowhere in the
    /// words: they would tell a hijacked model where to try next.
    pub(super) fn block(&self, proposed: &Proposed, denial: &Denial, basis: &Basis) -> Refusal {
        let (code, remediation) = (error_code::REFUSED, Remediation::Unavailable);
        let refusal = self.deny(proposed, denial, basis, Asking::NotNeeded, code, remediation);
        let recorded = refusal.denied.is_some();
        let refusal = match Lack::of(proposed, denial).filter(|_| recorded) {
            Some(lack) => Refusal { message: lack.words(proposed.name()), lack: Some(lack), ..refusal },
            None if recorded
                && denial.findings().iter().any(|finding| finding.id == FindingId::Quarantine) =>
            {
                Refusal::held(denial.decision(), proposed.name(), proposed.action.upstream())
            }
            None => refusal,
        };
        Refusal { hidden: Hidden::of(denial), ..refusal }
    }

    /// Records that a reply would have to be edited, which nobody can yet.
    pub(super) fn unredactable(&self, proposed: &Proposed, permit: &Permit) -> Refusal {
        if let Err(error) = self.decision(proposed, permit.judgement(), Ruling::Blocked) {
            return Refusal::unrecorded(&proposed.decision, &error);
        }
        let message = refusal(Effect::Block, Asking::NotNeeded, proposed.name());
        Refusal {
            denied: Some(Remediation::Unavailable),
            ..Refusal::about(&proposed.decision, error_code::REFUSED, &message)
        }
    }

    /// Records that a person said no, or nothing.
    pub(super) fn declined(&self, proposed: &Proposed, denial: &Denial) -> Refusal {
        let (asking, code) = (Asking::Answered(Answer::Decline), error_code::APPROVAL_DECLINED);
        self.deny(proposed, denial, &Basis::default(), asking, code, Remediation::Unavailable)
    }

    /// Records that a person should have been asked and cannot be.
    pub(super) fn unasked(&self, proposed: &Proposed, denial: &Denial) -> Refusal {
        let (asking, code) = (Asking::Impossible, error_code::NEEDS_APPROVAL);
        self.deny(proposed, denial, &Basis::default(), asking, code, Remediation::Undisclosed)
    }

    fn deny(
        &self,
        proposed: &Proposed,
        denial: &Denial,
        basis: &Basis,
        asking: Asking,
        code: i64,
        remediation: Remediation,
    ) -> Refusal {
        if let Err(error) = self.decision_on(proposed, denial.judgement(), Ruling::Blocked, basis) {
            return Refusal::unrecorded(&proposed.decision, &error);
        }
        // What was asked about is what a person would have had to agree to, not the refusal that follows.
        let effect = match asking {
            Asking::NotNeeded => denial.judgement().effect(),
            Asking::Impossible | Asking::Answered(_) => Effect::Confirm,
        };
        let message = refusal(effect, asking, proposed.name());
        Refusal { denied: Some(remediation), ..Refusal::about(denial.decision(), code, &message) }
    }
}
