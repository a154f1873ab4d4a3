//! An upstream that verifies approvals itself (G17). Its challenge and its evidence pass through; what is judged here is
//! only what a client of it must keep to (C5, C11 to C13): evidence answers a challenge that was issued through here, to
//! whoever calls, for this tool with these arguments, and it is used once. The signature is the upstream's to judge: what
//! is signed is its own, and nothing of ours can stand in for it.

use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use highwater_notation::CanonicalArguments;

use super::evidence::Evidence;
use super::reason::ApprovalReason;
use crate::decide::Agreement;
use crate::id::{ChallengeId, Principal, UpstreamId};
use crate::pin::PinDigest;

/// A call whose approval its server verifies.
#[derive(Clone, Copy, Debug)]
pub struct RelayedCall<'a> {
    /// Who makes it.
    pub principal: &'a Principal,
    /// Where it goes.
    pub upstream: &'a UpstreamId,
    /// The tool, as its server calls it.
    pub tool: &'a str,
    /// The definition of the tool now.
    pub definition: Option<PinDigest>,
    /// The arguments.
    pub arguments: &'a CanonicalArguments,
}

/// A challenge that an upstream issued through here, as it is remembered.
#[derive(Clone, Debug)]
pub struct RelayedChallenge {
    id: ChallengeId,
    principal: Principal,
    upstream: UpstreamId,
    tool: Arc<str>,
    definition: Option<PinDigest>,
    /// SHA-256 of the canonical arguments: they may be long, and are only compared.
    arguments: [u8; 32],
    /// What a person agreed to before it was asked for, if we asked one.
    agreement: Option<Agreement>,
    spent: bool,
}

/// Evidence that may be passed on to the server that will verify it. It meets that server's demand and no other.
///
/// It cannot be made without the checks:
///
/// ```compile_fail
/// use highwater_core::approval::RelayedApproval;
/// let forged = RelayedApproval { challenge: todo!() };
/// ```
#[derive(Debug)]
pub struct RelayedApproval {
    challenge: ChallengeId,
    principal: Principal,
    upstream: UpstreamId,
    tool: Arc<str>,
    arguments: [u8; 32],
    agreement: Option<Agreement>,
}

/// Whether evidence may be passed on, in the order of the checks that can be made here. `challenge` is what is
/// remembered of the challenge that it names, for whoever calls and for this server.
pub fn relay(
    evidence: &Evidence,
    challenge: Option<&RelayedChallenge>,
    call: &RelayedCall<'_>,
) -> Result<RelayedApproval, ApprovalReason> {
    let challenge = challenge
        .filter(|known| known.id == *evidence.challenge() && known.belongs_to(call))
        .ok_or(ApprovalReason::ChallengeUnknown)?;
    if challenge.spent {
        return Err(ApprovalReason::ChallengeConsumed);
    }
    challenge.fits(call)?;
    Ok(challenge.approval())
}

/// Whether a call goes on with an execution that its server let begin: it asked something back, and the answer comes with
/// what was signed before (G25). The server knows its own state; here counts that the call is still the same.
pub fn resume(challenge: &RelayedChallenge, call: &RelayedCall<'_>) -> Option<RelayedApproval> {
    let same = challenge.spent && challenge.belongs_to(call) && challenge.fits(call).is_ok();
    same.then(|| challenge.approval())
}

// === impl RelayedChallenge ===

impl RelayedChallenge {
    /// A challenge that was just issued for this call.
    pub fn issued(id: ChallengeId, call: &RelayedCall<'_>) -> Self {
        Self {
            id,
            principal: call.principal.clone(),
            upstream: call.upstream.clone(),
            tool: call.tool.into(),
            definition: call.definition,
            arguments: digest_of(call.arguments),
            agreement: None,
            spent: false,
        }
    }

    /// The same where a person was asked about it first.
    pub fn agreed(self, agreement: Option<Agreement>) -> Self {
        Self { agreement, ..self }
    }

    /// Uses it up (C12).
    pub fn spend(&mut self) -> Result<(), ApprovalReason> {
        match std::mem::replace(&mut self.spent, true) {
            false => Ok(()),
            true => Err(ApprovalReason::ChallengeConsumed),
        }
    }

    /// Whether it was used.
    pub fn is_spent(&self) -> bool {
        self.spent
    }

    fn belongs_to(&self, call: &RelayedCall<'_>) -> bool {
        self.principal == *call.principal && self.upstream == *call.upstream
    }

    /// A tool that changed since is another tool (G16).
    fn fits(&self, call: &RelayedCall<'_>) -> Result<(), ApprovalReason> {
        if *self.tool != *call.tool || self.definition != call.definition {
            return Err(ApprovalReason::ChallengeWrongTool);
        }
        if self.arguments != digest_of(call.arguments) {
            return Err(ApprovalReason::ArgumentHashMismatch);
        }
        Ok(())
    }

    fn approval(&self) -> RelayedApproval {
        RelayedApproval {
            challenge: self.id.clone(),
            principal: self.principal.clone(),
            upstream: self.upstream.clone(),
            tool: Arc::clone(&self.tool),
            arguments: self.arguments,
            agreement: self.agreement.clone(),
        }
    }
}

// === impl RelayedApproval ===

impl RelayedApproval {
    /// The challenge that the evidence answers.
    pub fn challenge(&self) -> &ChallengeId {
        &self.challenge
    }

    /// Who calls.
    pub(crate) fn principal(&self) -> &Principal {
        &self.principal
    }

    /// What a person agreed to before its challenge was asked for.
    pub(crate) fn agreement(&self) -> Option<&Agreement> {
        self.agreement.as_ref()
    }

    /// Whether it belongs to exactly this call. `arguments` is their text as it would be sent.
    pub(crate) fn covers(
        &self,
        principal: &Principal,
        upstream: &UpstreamId,
        tool: &str,
        arguments: &str,
    ) -> bool {
        self.principal == *principal
            && self.upstream == *upstream
            && *self.tool == *tool
            && CanonicalArguments::read(Some(arguments))
                .is_ok_and(|arguments| digest_of(&arguments) == self.arguments)
    }
}

fn digest_of(arguments: &CanonicalArguments) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest(&SHA256, arguments.as_str().as_bytes()).as_ref());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scene {
        principal: Principal,
        upstream: UpstreamId,
        arguments: CanonicalArguments,
    }

    fn scene(principal: &str, upstream: &str, arguments: &str) -> Scene {
        Scene {
            principal: Principal::new(principal),
            upstream: UpstreamId::new(upstream),
            arguments: CanonicalArguments::read(Some(arguments)).unwrap(),
        }
    }

    impl Scene {
        fn call<'a>(&'a self, tool: &'a str) -> RelayedCall<'a> {
            RelayedCall {
                principal: &self.principal,
                upstream: &self.upstream,
                tool,
                definition: None,
                arguments: &self.arguments,
            }
        }
    }

    fn evidence(challenge: &str) -> Evidence {
        let text = format!(r#"{{"method":"webauthn","challengeId":"{challenge}","response":{{}}}}"#);
        Evidence::parse(Some(&text)).unwrap()
    }

    #[test]
    fn c11_to_c13_evidence_fits_one_call_of_one_caller_once() {
        let here = scene("one", "files", r#"{"a":1,"b":2}"#);
        let mut known = RelayedChallenge::issued(ChallengeId::new("c"), &here.call("delete"));
        let tried = |known: &RelayedChallenge, named: &str, of: &Scene, tool: &str| {
            relay(&evidence(named), Some(known), &of.call(tool)).map(|_| ())
        };
        let (unknown, wrong) = (ApprovalReason::ChallengeUnknown, ApprovalReason::ChallengeWrongTool);
        assert_eq!(relay(&evidence("c"), None, &here.call("delete")).map(|_| ()), Err(unknown));
        assert_eq!(tried(&known, "d", &here, "delete"), Err(unknown));
        assert_eq!(tried(&known, "c", &scene("other", "files", "{}"), "delete"), Err(unknown));
        assert_eq!(tried(&known, "c", &scene("one", "mail", "{}"), "delete"), Err(unknown));
        assert_eq!(tried(&known, "c", &here, "drop"), Err(wrong));
        let other = scene("one", "files", r#"{"a":1,"b":3}"#);
        assert_eq!(tried(&known, "c", &other, "delete"), Err(ApprovalReason::ArgumentHashMismatch));
        // The same arguments in another spelling.
        let same = scene("one", "files", r#"{ "b" : 2.0, "a" : 1 }"#);
        assert_eq!(tried(&known, "c", &same, "delete"), Ok(()));
        assert!(resume(&known, &here.call("delete")).is_none(), "nothing began yet");
        assert_eq!(known.spend(), Ok(()));
        assert_eq!(known.spend(), Err(ApprovalReason::ChallengeConsumed));
        // Used before it is looked whether it would fit.
        assert_eq!(tried(&known, "c", &other, "drop"), Err(ApprovalReason::ChallengeConsumed));
        assert!(
            resume(&known, &here.call("delete")).is_some() && resume(&known, &other.call("delete")).is_none()
        );
    }

    #[test]
    fn g16_a_definition_that_changed_is_another_tool() {
        let here = scene("one", "files", "{}");
        let known = RelayedChallenge::issued(ChallengeId::new("c"), &here.call("delete"));
        let changed = RelayedCall { definition: PinDigest::parse(&"0".repeat(64)), ..here.call("delete") };
        assert!(changed.definition.is_some());
        let tried = relay(&evidence("c"), Some(&known), &changed).map(|_| ());
        assert_eq!(tried, Err(ApprovalReason::ChallengeWrongTool));
    }

    #[test]
    fn what_may_be_passed_on_covers_exactly_its_call() {
        let here = scene("one", "files", r#"{"a":1}"#);
        let known = RelayedChallenge::issued(ChallengeId::new("c"), &here.call("delete"));
        let approval = relay(&evidence("c"), Some(&known), &here.call("delete")).unwrap();
        let covers = |principal: &str, upstream: &str, tool: &str, arguments: &str| {
            approval.covers(&Principal::new(principal), &UpstreamId::new(upstream), tool, arguments)
        };
        assert!(covers("one", "files", "delete", r#"{"a":1}"#));
        assert!(!covers("two", "files", "delete", r#"{"a":1}"#));
        assert!(!covers("one", "mail", "delete", r#"{"a":1}"#));
        assert!(!covers("one", "files", "drop", r#"{"a":1}"#));
        assert!(!covers("one", "files", "delete", r#"{"a":2}"#));
        assert!(!covers("one", "files", "delete", "{"));
    }
}
