//! Looks for a yes that was given before the call came, of each kind. Nothing is used up here.

use std::path::Path;
use std::sync::Arc;

use highwater_audit::label_words;
use highwater_core::action::ActionKind;
use highwater_core::annotation::{ArgumentRole, Destination};
use highwater_core::approval::{Evidence, PermitUse};
use highwater_core::decide::{Effect, Escalation, Told};
use highwater_core::id::SessionKey;
use highwater_core::label::Label;
use highwater_core::profile::{Named, Profile};
use highwater_mcp::text::{member, members};
use highwater_notation::CanonicalArguments;
use highwater_passkey::ActionHash;

use super::super::proposed::Proposed;
use super::super::{Arrival, Refusal};
use super::given::SpendableApproval;
use super::page_request::{PageRequest, failed};
use super::question::Yes;
use super::signable::{Called, Signable};
use super::{Approvals, HeldCall};
use crate::approvals::{
    Around, AskedCall, ListedCall, Mandated, Offer, Recalled, Rememberable, Surface, common_folder,
    is_content, rules_of,
};
use crate::gateway::now;

/// A call as mandates are held against it: by the tool's own name, whichever way the client made it.
pub(super) struct DelegatedCall<'a> {
    called: Called<'a>,
    aims: Vec<String>,
    around: Around,
    session: SessionKey,
    reply: Label,
}

// === impl Approvals ===

impl Approvals {
    /// Looks for a yes of one kind that covers the call. Nothing is used up.
    pub(super) async fn look_for(
        &self,
        yes: Yes,
        call: &mut HeldCall<'_>,
        proposed: &Proposed,
        escalation: &Escalation,
    ) -> Result<Option<SpendableApproval>, Refusal> {
        match yes {
            Yes::Round => self.find_round(call, proposed),
            Yes::Challenge => Ok(agreed_with_challenge(proposed, escalation)),
            Yes::Permit => Ok(self.permitted_by_file(proposed, escalation)),
            Yes::Evidence => self.find_evidence(call, proposed, escalation),
            Yes::Remembered => self.find_remembered(call, proposed, escalation).await,
            Yes::Mandate => self.find_mandate(call, proposed, escalation).await,
            // They come by the channel of their question.
            Yes::Form | Yes::Grant => Ok(None),
        }
    }

    /// A permit of the operator's file that covers the call. It is a word and no signature, so that it answers no more than
    /// a confirmation.
    fn permitted_by_file(&self, proposed: &Proposed, escalation: &Escalation) -> Option<SpendableApproval> {
        let world = self.judge.world.load_full();
        if world.permits.is_empty() || proposed.action.kind() != ActionKind::CallTool {
            return None;
        }
        let arguments = CanonicalArguments::read(member(proposed.action.params(), "arguments")).ok()?;
        let (aims, told) = (aims(proposed, &arguments), escalation.told());
        let aims: Vec<&str> = aims.iter().map(String::as_str).collect();
        let call = PermitUse {
            principal: &proposed.caller.principal,
            upstream: proposed.action.upstream(),
            tool: proposed.action.target(),
            arguments: &arguments,
            types: proposed.known().shape.types(),
            aims: &aims,
            label: proposed.label(),
            told: &told,
            now: now(),
        };
        let permit = world.permits.iter().find(|permit| permit.admits(&call).is_ok())?;
        Some(SpendableApproval::Permit(escalation.question(), format!("permit {}", permit.name())))
    }

    /// The signature that the call brings along, read (checks 1 to 3).
    fn find_evidence(
        &self,
        call: &HeldCall<'_>,
        proposed: &Proposed,
        escalation: &Escalation,
    ) -> Result<Option<SpendableApproval>, Refusal> {
        let Some(evidence) = call.evidence else { return Ok(None) };
        self.judge.recorder.asked(proposed, escalation.question(), "evidence")?;
        let evidence = Evidence::parse(Some(evidence));
        let evidence = evidence.map_err(|reason| Refusal::rejected(&reason.into(), None))?;
        Ok(Some(SpendableApproval::Evidence(Box::new(evidence))))
    }

    /// An answer that is remembered.
    async fn find_remembered(
        &self,
        call: &HeldCall<'_>,
        proposed: &Proposed,
        escalation: &Escalation,
    ) -> Result<Option<SpendableApproval>, Refusal> {
        let Ok(here) = &call.on_page else { return Ok(None) };
        let (told, scope, reply) = (escalation.told(), proposed.scope(), predicted_reply(proposed));
        let listed = self.judge.sessions.listed_call(proposed);
        let recalled = recalled(here, proposed, (&told, listed.as_ref()), &scope, &reply);
        let recalled = here.approval_service.recall(&recalled).await;
        let recalled = recalled.map_err(|fault| failed(proposed, &fault))?;
        Ok(recalled.map(|answer| {
            SpendableApproval::Remembered(
                escalation.question(),
                format!("remembered {} by {}", answer.id, answer.user),
            )
        }))
    }

    /// A mandate that covers the call.
    async fn find_mandate(
        &self,
        call: &HeldCall<'_>,
        proposed: &Proposed,
        escalation: &Escalation,
    ) -> Result<Option<SpendableApproval>, Refusal> {
        let Ok(here) = &call.on_page else { return Ok(None) };
        let Some(call) = DelegatedCall::of(here, call.arrival, proposed, escalation) else { return Ok(None) };
        let found = here.approval_service.has_mandate(&call.held_against(here, proposed)).await;
        let found = found.map_err(|fault| failed(proposed, &fault))?;
        Ok(found.then(|| SpendableApproval::Mandate(escalation.question())))
    }

    /// What may be kept of a yes to this question that is given in a form, if anything.
    pub(super) fn offer(
        &self,
        here: &PageRequest<'_>,
        proposed: &Proposed,
        escalation: &Escalation,
    ) -> Option<Offer> {
        if escalation.grade() != Effect::Confirm {
            return None;
        }
        let (signable, told) = (&here.signable, escalation.told());
        Some(Offer {
            user: proposed.standing.user.clone(),
            principal: proposed.caller.principal.clone(),
            session: proposed.scope(),
            tool: signable.tool.clone(),
            upstream: Some(proposed.action.upstream().clone()),
            // Of a sealed call nothing is kept that could be compared.
            definition: signable.definition.filter(|_| !proposed.sealed)?,
            same: self
                .rememberable(proposed, signable, &told)
                .filter(|same| !same.scopes(Surface::Form).is_empty())?,
            told: serde_json::to_string(&told).ok()?.into(),
        })
    }

    /// What a yes to a question may cover beyond this one call, if anything.
    pub(super) fn rememberable(
        &self,
        proposed: &Proposed,
        signable: &Signable,
        told: &Told,
    ) -> Option<Rememberable> {
        let reply = predicted_reply(proposed);
        let told_with_reply = Told::with_reply(&proposed.policy, &proposed.facts(), &reply);
        let listed = self.judge.sessions.listed_call(proposed);
        let call = asked_call(proposed, signable, (told, listed.as_ref()), &reply);
        let places = Arc::clone(&self.judge.world.load().places);
        let home = places.home.as_deref().and_then(|home| Path::new(home).canonicalize().ok());
        let home = home.as_deref().and_then(Path::to_str);
        let folder = common_folder(call.files, &places, home);
        let call = AskedCall { folder: folder.as_deref(), told_with_reply: told_with_reply.as_ref(), ..call };
        Rememberable::of(signable.tool.as_str(), &call)
    }
}

// === impl DelegatedCall ===

impl<'a> DelegatedCall<'a> {
    pub(super) fn of(
        here: &'a PageRequest<'_>,
        arrival: &Arrival,
        proposed: &Proposed,
        escalation: &Escalation,
    ) -> Option<Self> {
        let called = here.signable.called(proposed, here.approval_service.server())?;
        Some(Self {
            aims: aims(proposed, called.arguments),
            around: around(arrival, proposed, escalation),
            session: proposed.scope(),
            reply: predicted_reply(proposed),
            called,
        })
    }

    pub(super) fn held_against(&'a self, here: &'a PageRequest<'_>, proposed: &'a Proposed) -> Mandated<'a> {
        Mandated {
            principal: &proposed.caller.principal,
            tool: &self.called.tool,
            upstream: Some(proposed.action.upstream()),
            definition: here.signable.definition,
            arguments: self.called.arguments,
            types: proposed.known().shape.types(),
            delegable: here.delegable,
            aims: &self.aims,
            session: &self.session,
            label: proposed.label(),
            reply: &self.reply,
            around: &self.around,
        }
    }

    /// The hash of the call by the tool's own name.
    pub(super) fn hash(&self) -> ActionHash {
        self.called.hash
    }
}

/// A yes that was given when the challenge of this call was asked for: one call is one question.
fn agreed_with_challenge(proposed: &Proposed, escalation: &Escalation) -> Option<SpendableApproval> {
    let relayed = proposed.relayed.as_ref()?;
    escalation.is_agreed_with(relayed).then_some(SpendableApproval::Challenge)
}

/// A call as remembered answers are held against it.
pub(super) fn recalled<'a>(
    here: &'a PageRequest<'_>,
    proposed: &'a Proposed,
    told: (&'a Told, Option<&'a ListedCall>),
    scope: &'a SessionKey,
    reply: &'a Label,
) -> Recalled<'a> {
    Recalled {
        principal: &proposed.caller.principal,
        session: scope,
        tool: &here.signable.tool,
        upstream: Some(proposed.action.upstream()),
        definition: here.signable.definition,
        call: asked_call(proposed, &here.signable, told, reply),
    }
}

/// What a receipt says beyond what was signed.
pub(super) fn around(arrival: &Arrival, proposed: &Proposed, escalation: &Escalation) -> Around {
    Around {
        caller: arrival.caller_name(),
        rules: rules_of(&escalation.told()),
        labels: label_words(&proposed.label().told()).map(str::to_owned).collect(),
        decision: Some(proposed.decision.clone()),
        sealed: proposed.sealed,
    }
}

/// A call whose answer may be remembered, or may have been.
fn asked_call<'a>(
    proposed: &'a Proposed,
    signable: &'a Signable,
    (told, listed): (&'a Told, Option<&'a ListedCall>),
    reply: &'a Label,
) -> AskedCall<'a> {
    let known = proposed.known();
    // Paths are those of this machine only at a server of this machine.
    let are_told =
        known.profile == Profile::Local && matches!(proposed.local.named, Named::Things | Named::InProjects);
    AskedCall {
        arguments: &signable.arguments,
        is_direct: signable.is_direct,
        contract: &proposed.contract,
        shape: &known.shape,
        page: signable.page(proposed),
        files: if are_told { &proposed.files.real } else { &[] },
        folder: None,
        listed,
        label: proposed.label(),
        reply,
        told,
        told_with_reply: None,
    }
}

/// What the call adds to the session by the contract of its reply.
pub(super) fn predicted_reply(proposed: &Proposed) -> Label {
    let contract = &proposed.reply_contract;
    let reply = contract.reply_label().clone();
    let goes_out = contract.destination().contains(Destination::Public);
    if goes_out { reply.with_wrote_externally() } else { reply }
}

/// The names of the arguments that say what is acted on and where.
fn aims(proposed: &Proposed, arguments: &CanonicalArguments) -> Vec<String> {
    let (contract, shape) = (&proposed.contract, &proposed.known().shape);
    members(arguments.as_str())
        .filter(|(name, value)| {
            let role = contract.role(&name.replace('~', "~0").replace('/', "~1"));
            role != ArgumentRole::Scalar && !is_content(contract, shape, name, value)
        })
        .map(|(name, _)| name.into_owned())
        .collect()
}
