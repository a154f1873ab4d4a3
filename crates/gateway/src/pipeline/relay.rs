//! A server that verifies approvals itself (G17): its challenges and the evidence for them pass through here as they are.
//! What a client of it must keep to is held to before anything reaches it; what is signed is its own to judge, and its
//! answer comes back as it is. Nothing of ours stands in for it, and it stands in for nothing of ours.

use std::sync::Arc;

use highwater_audit::Ruling;
use highwater_core::action::ActionKind;
use highwater_core::approval::{ApprovalReason, Evidence, RelayedApproval, RelayedCall, relay};
use highwater_core::decide::{Effect, Finding, Permit, judge};
use highwater_core::id::ChallengeId;
use highwater_mcp::annotations::{VERIFIED_APPROVAL, declares_approval};
use highwater_mcp::edit::{Edit, edit_object};
use highwater_mcp::era::Era;
use highwater_mcp::error_code::{APPROVAL_REJECTED, INVALID_PARAMS, NEEDS_APPROVAL, REFUSED};
use highwater_mcp::frame::Frame;
use highwater_mcp::text::{member, pointer, quote, string_member, unquote};
use highwater_notation::CanonicalArguments;
use highwater_pins::PinKind;

use super::arrival::{Route, RoutedAction, TaskBridge, ToolName};
use super::judge::Judge;
use super::permitted::Permitted;
use super::proposed::Proposed;
use super::refuse::Remediation;
use super::route::{Found, Router, Subject, era_of, text_param, unknown};
use super::{Arrival, Refusal};
use crate::catalog::{CatalogServer, Known, Merged, VirtualServer};
use crate::client::Client;
use crate::handshake::Unmet;
use crate::relayed::RelayedChallenges;

/// Asks for a challenge.
pub(crate) const CREATE_CHALLENGE: &str = "approval/challenge/create";

/// Says of `displayText` whose words it holds. It stands beside it, because the text itself is shown as it is (C6), and
/// not in `_meta`: there is an SDK that loses a result of these methods which has one.
const SAID_BY: &str = "dev.highwater/displayText";

/// Why evidence does not go on.
enum Unfit {
    /// For a reason of the text.
    Rejected(ApprovalReason),
    /// It cannot be signed at all.
    Unsignable(String),
}

/// What passes between clients and servers that verify approvals themselves.
pub(crate) struct Relay {
    pub(super) challenges: RelayedChallenges,
    pub(super) judge: Arc<Judge>,
}

// === impl Relay ===

impl Relay {
    /// Whether a request asks for a challenge of a tool whose server verifies approvals itself. Of one that does so in
    /// some cases alone, ours come first where we may ask too.
    pub(crate) async fn is_relayed(&self, client: &Client, frame: &Frame) -> bool {
        let world = self.judge.world.load_full();
        let Some(server) = world.virtual_server(&client.caller().virtual_server) else { return false };
        let Some(name) = frame.param("toolName").and_then(unquote) else { return false };
        let found = server.find(|merged: &Merged| merged.tools.get(&*name).cloned()).await;
        found.is_some_and(|(tool, _)| {
            tool.known.contract.requires_verified() || (tool.known.gated && tool.gate.is_none())
        })
    }

    /// What the methods answer where nobody is asked here, but a server verifies approvals itself: for its tools there are
    /// challenges, and passkeys are enrolled there. Nothing if there is none, since then there are no such methods (S8).
    pub(crate) fn unissued(&self, client: &Client, method: &str) -> Option<Unmet> {
        let world = self.judge.world.load_full();
        let caller = client.caller();
        let standing = caller.standing();
        let verifies = |catalog_server: &Arc<CatalogServer>| {
            let server_listing = catalog_server.server_listing();
            let declared = server_listing
                .as_ref()
                .and_then(|server_listing| std::str::from_utf8(&server_listing.greeting.capabilities).ok());
            standing.grant.servers.covers(catalog_server.id()) && declared.is_some_and(declares_approval)
        };
        world
            .virtual_server(&caller.virtual_server)?
            .catalog_servers()
            .iter()
            .find(|catalog_server| verifies(catalog_server))?;
        let (reason, message) = match method {
            CREATE_CHALLENGE => {
                let reason = ApprovalReason::ToolNotApprovedRequired;
                (reason, reason.message())
            }
            "approval/enroll/begin" | "approval/enroll/finish" => (
                ApprovalReason::NoPendingEnrollment,
                "passkeys are enrolled at the server that verifies them; none are enrolled here",
            ),
            _ => return None,
        };
        Some(Unmet {
            data: Some(format!(r#"{{"reason":"{reason}"}}"#)),
            ..Unmet::new(APPROVAL_REJECTED, message)
        })
    }

    /// Whether the evidence that came with a call goes to its server: it goes to nobody but the one who issued its
    /// challenge.
    pub(super) fn passes_evidence(&self, arrival: &Arrival, route: &Route, known: &Known) -> bool {
        if !known.gated || !route.contracts.verifies() {
            return false;
        }
        if known.contract.requires_verified() {
            return true;
        }
        // A server that asks in some cases alone: where it did not ask, the evidence is for somebody else.
        let evidence = Evidence::parse(arrival.frame.meta(VERIFIED_APPROVAL)).ok();
        let principal = &arrival.client.caller().principal;
        let find =
            |evidence: Evidence| self.challenges.find(principal, route.upstream(), evidence.challenge());
        evidence.and_then(find).is_some()
    }

    /// Holds a call of a tool whose server verifies approvals to what a client of it must keep to. What the judgement
    /// refuses anyway is left to it.
    pub(super) fn meet_gate(&self, arrival: &Arrival, proposed: Proposed) -> Result<Proposed, Refusal> {
        if proposed.action.kind() != ActionKind::CallTool {
            return Ok(proposed);
        }
        let required = proposed.known().contract.requires_verified();
        let evidence = pointer(proposed.action.params(), &["_meta", VERIFIED_APPROVAL]).map(str::to_owned);
        if !required && evidence.is_none() {
            return Ok(proposed);
        }
        let unmet = match self.weigh_evidence(arrival, &proposed, evidence.as_deref()) {
            Ok(relayed) => return Ok(proposed.with_evidence(relayed)),
            Err(unmet) => unmet,
        };
        let judgement = judge(&proposed.policy, &proposed.facts());
        let blocks = |finding: &Finding| finding.effect == Effect::Block;
        if judgement.findings().iter().any(blocks) {
            return Ok(proposed);
        }
        if let Err(error) = self.judge.recorder.decision(&proposed, &judgement, Ruling::Blocked) {
            return Err(Refusal::unrecorded(&proposed.decision, &error));
        }
        let route = &proposed.route;
        let (name, server) = (proposed.name(), route.upstream().as_str());
        let decision = &proposed.decision;
        Err(match unmet {
            _ if !route.contracts.verifies() => {
                Refusal::about(decision, REFUSED, &unverifiable(name, server)).with(Remediation::Unavailable)
            }
            Unfit::Unsignable(why) => Refusal::invalid(INVALID_PARAMS, why),
            Unfit::Rejected(ApprovalReason::MissingEvidence)
                if evidence.is_none() && !self.carries(arrival, &proposed) =>
            {
                let message = format!(
                    "`{name}` must be approved with a passkey at its own server, `{server}`, and this client cannot \
                     carry that approval; no approval given to Highwater can take its place. Tell the user: it takes a \
                     client that supports verified approval (SEP-2672), or doing it at `{server}` itself. Do not call \
                     it again unchanged"
                );
                Refusal::about(decision, NEEDS_APPROVAL, &message).with(Remediation::Undisclosed)
            }
            Unfit::Rejected(reason) => Refusal::rejected(&reason.into(), None),
        })
    }

    fn weigh_evidence(
        &self,
        arrival: &Arrival,
        proposed: &Proposed,
        evidence: Option<&str>,
    ) -> Result<RelayedApproval, Unfit> {
        let arguments = member(proposed.action.params(), "arguments");
        let arguments =
            CanonicalArguments::read(arguments).map_err(|why| Unfit::Unsignable(why.to_string()))?;
        let call = call_of(proposed, &arguments);
        // The rest of a call that its server let begin.
        if goes_on(arrival, &proposed.route)
            && let Some(begun) = self.challenges.going_on(&call)
        {
            return Ok(begun);
        }
        let evidence = Evidence::parse(evidence).map_err(Unfit::Rejected)?;
        let known = self.challenges.find(call.principal, call.upstream, evidence.challenge());
        relay(&evidence, known.as_ref(), &call).map_err(Unfit::Rejected)
    }

    /// Uses the challenge up that a call rests on, which is about to be sent. Of two calls with one challenge the second
    /// is not.
    pub(super) fn spend_relayed(
        &self,
        arrival: &Arrival,
        proposed: &Proposed,
        permit: &Permit,
    ) -> Result<(), Refusal> {
        let Some(relayed) = &proposed.relayed else { return Ok(()) };
        let principal = &proposed.caller.principal;
        let spent = self.challenges.spend(principal, proposed.route.upstream(), relayed.challenge());
        match spent {
            Ok(()) => Ok(()),
            Err(ApprovalReason::ChallengeConsumed) if goes_on(arrival, &proposed.route) => Ok(()),
            Err(reason) => {
                if let Err(error) =
                    self.judge.recorder.decision(proposed, permit.judgement(), Ruling::Blocked)
                {
                    return Err(Refusal::unrecorded(&proposed.decision, &error));
                }
                Err(Refusal::rejected(&reason.into(), None))
            }
        }
    }

    /// Remembers the challenge that a server issued, and says beside its words whose they are.
    pub(super) fn issued(&self, arrival: &Arrival, permitted: &Permitted, result: &str) -> String {
        let arguments = member(permitted.action.params(), "arguments");
        let id = string_member(result, "challengeId").map(|id| ChallengeId::new(&*id));
        let remembered = match (id, CanonicalArguments::read(arguments)) {
            (Some(id), Ok(arguments)) => {
                let (call, agreed) = (call_of(permitted, &arguments), permitted.agreement.clone());
                self.challenges.issued(id, &call, agreed)
            }
            _ => false,
        };
        if remembered {
            arrival.client.note_approval();
        } else {
            tracing::warn!(server = %permitted.route.upstream(), "its answer holds no challenge; nothing can be approved with it");
        }
        let server = quote(permitted.route.upstream().as_str());
        let said = format!(r#"{{"heading":"the server says","server":{server}}}"#);
        edit_object(result, &[(SAID_BY, Edit::Set(&said))])
    }

    /// Whether this client can carry an approval from a person to a server.
    fn carries(&self, arrival: &Arrival, proposed: &Proposed) -> bool {
        arrival.client.speaks_approval()
            || proposed.standing.native
            || self.judge.service.as_ref().is_some_and(|approval_service| approval_service.is_native_only())
    }
}

// === impl Router ===

impl Router {
    /// Routes a request for a challenge to the server whose tool it is about. The name is put into its words, and nothing
    /// else is touched.
    pub(super) async fn route_challenge(
        &self,
        arrival: &Arrival,
        server: &VirtualServer,
    ) -> Result<RoutedAction, Refusal> {
        let name = text_param(arrival, "toolName")?;
        CanonicalArguments::read(arrival.frame.param("arguments"))
            .map_err(|why| Refusal::invalid(INVALID_PARAMS, why.to_string()))?;
        let missing = || unknown(arrival, "tool", &name);
        let look = |merged: &Merged| merged.tools.get(&*name).cloned();
        let (tool, names) = server.find(look).await.ok_or_else(missing)?;
        let (tool, names) = match self.met(arrival, server, &tool.entry.upstream).await? {
            None => (tool, names),
            Some(names) => (look(&names).ok_or_else(missing)?, names),
        };
        let verifies = names.contracts(&tool.entry.upstream).is_some_and(|contracts| contracts.verifies());
        if !verifies {
            return Err(Refusal::invalid(REFUSED, unverifiable(&name, tool.entry.upstream.as_str())));
        }
        let called = ToolName { shown: name.as_str().into(), own: tool.entry.name.clone() };
        let subject = Subject { known: Some(tool.known), tool: Some(called) };
        let found = Found { entry: tool.entry, names, subject };
        self.named(arrival, ActionKind::CreateChallenge, "toolName", found, None)
    }
}

/// Whether a call may be the rest of one that its server let begin. Only the modern era has such.
fn goes_on(arrival: &Arrival, route: &Route) -> bool {
    let answers = arrival.client.era() == Era::Modern && arrival.frame.param("requestState").is_some();
    (answers || route.task == TaskBridge::Modern) && era_of(route) == Some(Era::Modern)
}

fn call_of<'a>(proposed: &'a Proposed, arguments: &'a CanonicalArguments) -> RelayedCall<'a> {
    let (action, route) = (&proposed.action, &proposed.route);
    RelayedCall {
        principal: &proposed.caller.principal,
        upstream: action.upstream(),
        tool: action.target(),
        definition: route.contracts.definition(PinKind::Tool, action.target()),
        arguments,
    }
}

/// The sentence for a tool that nobody can approve (C4).
fn unverifiable(tool: &str, server: &str) -> String {
    format!(
        "`{tool}` is refused: its server, `{server}`, says that it must be approved with a passkey, but does not declare \
         that it can verify approvals (`verifiedApproval`), so nobody can approve it; tell the user"
    )
}
