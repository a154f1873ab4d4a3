//! The refusals of what a person has not agreed to.

use highwater_core::approval::Rejection;
use highwater_core::id::DecisionId;
use highwater_mcp::error_code;
use highwater_mcp::text::quote;

use super::Refusal;
use super::approve::PendingApproval;
use super::refuse::Remediation;

// === impl Refusal ===

impl Refusal {
    /// A signature is missing or does not hold, in the words of SEP-2672.
    pub(crate) fn rejected(rejection: &Rejection, url: Option<&str>) -> Self {
        let mut data = format!(r#"{{"reason":"{}""#, rejection.reason);
        if let Some(fault) = rejection.fault {
            data.push_str(&format!(r#","detail":{}"#, quote(&fault.to_string())));
        }
        if let Some(url) = url {
            data.push_str(&format!(r#","approvalUrl":{}"#, quote(url)));
        }
        data.push('}');
        let message = rejection.reason.message();
        let mut refusal = Self::invalid(error_code::APPROVAL_REJECTED, message);
        refusal.data = Some(data);
        refusal
    }

    /// The parameters hold something that a person would not be shown. Nobody is asked about the rest of it.
    pub(super) fn unshown(decision: &DecisionId, member: &str) -> Self {
        let path = format!("/params/{}", member.replace('~', "~0").replace('/', "~1"));
        let message = format!(
            "a person must approve this call, and {path} is not shown to them; nothing was executed: call again without it"
        );
        let data = format!(r#"{{"path":{},"decision":{}}}"#, quote(&path), quote(decision.as_str()));
        let mut refusal = Self::invalid(error_code::INVALID_PARAMS, message);
        refusal.data = Some(data);
        refusal
    }

    /// A person has not answered yet. The identical call finds their answer.
    pub(super) fn pending(decision: &DecisionId, name: &str, pending: &PendingApproval) -> Self {
        let PendingApproval { url, expires } = pending;
        let message = format!(
            "`{name}` waits for the approval of a person: ask the user to open {url}, then call again with identical \
             arguments; nothing was executed"
        );
        let (url, expires) = (quote(url), quote(expires));
        let meta =
            format!(r#""dev.highwater/approval":{{"state":"pending","url":{url},"expiresAt":{expires}}}"#);
        let data = format!(
            r#"{{"approvalUrl":{url},"expiresAt":{expires},"decision":{}}}"#,
            quote(decision.as_str())
        );
        let mut refusal =
            Self::about(decision, error_code::NEEDS_APPROVAL, &message).with(Remediation::Undisclosed);
        refusal.data = Some(data);
        refusal.approval = Some(meta);
        refusal
    }

    /// People said no to the tool several times, so nobody is asked any more.
    pub(super) fn paused(decision: &DecisionId, name: &str) -> Self {
        let message = format!(
            "`{name}` is paused after it was declined several times; go on without it, or ask the user to resume it"
        );
        Self::about(decision, error_code::APPROVAL_DECLINED, &message).with(Remediation::Undisclosed)
    }

    /// Nobody can approve while all passkeys are being reset.
    pub(super) fn resetting(decision: &DecisionId, name: &str) -> Self {
        let message = format!("`{name}` cannot be approved now; go on without it or tell the user");
        Self::about(decision, error_code::NEEDS_APPROVAL, &message).with(Remediation::Unavailable)
    }

    /// A person could not be asked.
    pub(super) fn unaskable(decision: &DecisionId, name: &str) -> Self {
        let message =
            format!("`{name}` needs the approval of a person, who cannot be asked now; nothing was executed");
        Self::about(decision, error_code::NEEDS_APPROVAL, &message).with(Remediation::Undisclosed)
    }

    /// Whoever made the call has gone, so it is not begun.
    pub(super) fn gone(decision: &DecisionId) -> Self {
        Self::about(decision, error_code::NEEDS_APPROVAL, "not done: nobody waits for the answer any more")
    }
}
