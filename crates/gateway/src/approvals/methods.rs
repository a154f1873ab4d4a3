//! The methods of SEP-2672. They are answered here and never reach a server. What they register approves nothing by itself.

use std::borrow::Cow;
use std::sync::Arc;

use highwater_core::approval::{ApprovalReason, Rejection};
use highwater_core::id::UpstreamId;
use highwater_core::pin::PinDigest;
use highwater_mcp::era::Era;
use highwater_mcp::error_code::{self, APPROVAL_REJECTED, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND};
use highwater_mcp::frame::Frame;
use highwater_mcp::text::{is_object, member, members, quote, string_member, unquote};
use highwater_notation::{CanonicalArguments, to_iso};
use highwater_passkey::{ActionHash, ToolName};
use highwater_pins::PinKind;
use serde::Serialize;

use super::{ApprovalFault, ApprovalService, EnrollFrom, Proposed};
use crate::catalog::{Gate, OwnTool};
use crate::client::{Caller, Client};
use crate::gateway::Gateway;
use crate::handshake::Unmet;
use crate::pipeline::through;

/// What the names of the methods begin with.
pub(crate) const PREFIX: &str = "approval/";

/// A tool for which a challenge is asked.
struct Asked {
    upstream: UpstreamId,
    definition: Option<PinDigest>,
    gate: Option<Gate>,
    /// Several people must sign, which one evidence cannot show.
    by_several: bool,
}

impl Gateway {
    /// Answers one of the methods.
    pub(crate) async fn approval_method(
        &self,
        client: &Client,
        frame: &Frame,
        method: &str,
    ) -> Result<Vec<u8>, Unmet> {
        let unknown = || Unmet::new(METHOD_NOT_FOUND, format!("method `{method}` is not offered here"));
        let Some(approval_service) = self.approval_service() else {
            return Err(self.road.relay.unissued(client, method).unwrap_or_else(unknown));
        };
        let caller = client.caller();
        let result = match method {
            "approval/enroll/begin" => self.enroll_begin(approval_service, caller).await,
            "approval/enroll/finish" => self.enroll_finish(approval_service, caller, frame).await,
            "approval/challenge/create" => self.create_challenge(approval_service, caller, frame).await,
            _ => return Err(unknown()),
        }?;
        client.note_approval();
        // No `_meta` on these: there are clients that lose everything else of a result that has one.
        let result = match client.era() {
            Era::Legacy => format!("{{{result}}}"),
            Era::Modern => format!(r#"{{"resultType":"complete",{result}}}"#),
        };
        Ok(error_code::result_response(frame.id().unwrap_or("null"), &result))
    }

    async fn enroll_begin(
        &self,
        approval_service: &Arc<ApprovalService>,
        caller: &Caller,
    ) -> Result<String, Unmet> {
        let user = caller.standing().user.clone();
        let options = approval_service.enroll_begin(Some(&user), EnrollFrom::Mcp(&caller.principal)).await?;
        Ok(format!(r#""options":{}"#, text(&options)?))
    }

    async fn enroll_finish(
        &self,
        approval_service: &Arc<ApprovalService>,
        caller: &Caller,
        frame: &Frame,
    ) -> Result<String, Unmet> {
        let response = frame.param("response").filter(|response| is_object(response));
        let response =
            response.ok_or_else(|| Unmet::new(INVALID_PARAMS, "`params.response` is not an object"))?;
        let enrolled = approval_service.enroll_finish(EnrollFrom::Mcp(&caller.principal), response).await?;
        // It counts once a person has confirmed it, and only the page takes that.
        let confirm = format!("{}/enroll?user={user}", approval_service.origin(), user = enrolled.user);
        Ok(format!(
            r#""success":true,"credentialId":{},"createdAt":{},"confirmUrl":{}"#,
            quote(&enrolled.id),
            quote(&to_iso(enrolled.created)),
            quote(&confirm)
        ))
    }

    async fn create_challenge(
        &self,
        approval_service: &Arc<ApprovalService>,
        caller: &Caller,
        frame: &Frame,
    ) -> Result<String, Unmet> {
        let name = frame.param("toolName").and_then(unquote);
        let name = name.ok_or_else(|| Unmet::new(INVALID_PARAMS, "`params.toolName` is not a string"))?;
        let arguments = frame.param("arguments");
        let unfit = |fault: highwater_notation::Unsignable| Unmet::new(INVALID_PARAMS, fault.to_string());
        let (asked, canonical) = match OwnTool::of_name(&name) {
            // The variant is what is signed, the tool it means is what is gated (G16).
            Some(OwnTool::Call(_)) => {
                // What would be refused with the call is refused before anybody signs for a part of it.
                let foreign = |(key, _): &(Cow<'_, str>, &str)| !matches!(&**key, "name" | "arguments");
                if let Some((key, _)) = arguments.into_iter().flat_map(members).find(foreign) {
                    let message = format!("`arguments` has no member {}", quote(&key));
                    return Err(Unmet::new(INVALID_PARAMS, message));
                }
                let inner = arguments.and_then(|arguments| string_member(arguments, "name"));
                let inner = inner.ok_or_else(|| Unmet::new(INVALID_PARAMS, "`arguments.name` is missing"))?;
                let given = arguments.and_then(|arguments| member(arguments, "arguments"));
                let given = given.filter(|given| !highwater_mcp::text::is_null(given));
                (
                    self.asked_tool(approval_service, caller, &inner).await,
                    through(&inner, given).map_err(unfit)?,
                )
            }
            Some(OwnTool::Retrieve | OwnTool::Describe) => return Err(not_gated().into()),
            None => {
                let canonical = CanonicalArguments::read(arguments).map_err(unfit)?;
                (self.asked_tool(approval_service, caller, &name).await, canonical)
            }
        };
        let asked = asked.ok_or_else(not_gated)?;
        let tool = ToolName::exposed(&name).map_err(|_| not_gated())?;
        if asked.by_several {
            let url = approval_service
                .url_for(&caller.principal, ActionHash::of(&tool, &canonical, approval_service.server()))
                .await?;
            let reason = ApprovalReason::NoEligibleCredential;
            let data = format!(r#"{{"reason":"{reason}","approvalUrl":{}}}"#, quote(&url));
            return Err(Unmet { data: Some(data), ..Rejection::from(reason).into() });
        }
        let user = caller.standing().user.clone();
        let proposed = Proposed {
            principal: &caller.principal,
            user: &user,
            tool: &tool,
            gated: asked.gate.is_some(),
            class: asked.gate.map(|gate| gate.class).unwrap_or_default(),
            upstream: Some(&asked.upstream),
            definition: asked.definition,
            arguments: &canonical,
        };
        let envelope = text(&approval_service.issue(&proposed, None).await?)?;
        let inner = envelope.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
        Ok(inner.unwrap_or_default().to_owned())
    }

    /// A tool that this caller may know of.
    async fn asked_tool(
        &self,
        approval_service: &Arc<ApprovalService>,
        caller: &Caller,
        name: &str,
    ) -> Option<Asked> {
        let world = self.world.load_full();
        let server = world.virtual_server(&caller.virtual_server)?;
        let (tool, names) = server.find(|merged| merged.tools.get(name).cloned()).await?;
        let standing = caller.standing();
        let entry = &tool.entry;
        if !standing.grant.shows_tool(&entry.upstream, &entry.name, tool.known.contract.variant())
            || server.hides(&caller.viewer(&standing), &names, name, &tool)
        {
            return None;
        }
        let definition = names.contracts(&entry.upstream)?.definition(PinKind::Tool, &entry.name);
        let settings = approval_service.settings();
        let by_several =
            settings.tool(&entry.upstream, &entry.name).is_some_and(|tool| tool.quorum.is_some());
        Some(Asked { upstream: entry.upstream.clone(), definition, gate: tool.gate, by_several })
    }
}

fn not_gated() -> ApprovalFault {
    ApprovalReason::ToolNotApprovedRequired.into()
}

fn text(value: &impl Serialize) -> Result<String, Unmet> {
    serde_json::to_string(value).map_err(|_| Unmet::new(INTERNAL_ERROR, "the answer could not be written"))
}

// === impl Unmet ===

impl From<ApprovalFault> for Unmet {
    fn from(fault: ApprovalFault) -> Self {
        match fault {
            ApprovalFault::Rejected(rejection) => rejection.into(),
            // The SEP has no reason for this; the nearest.
            ApprovalFault::Resetting => {
                let rejection = Rejection::from(ApprovalReason::NoEligibleCredential);
                Self { message: fault.to_string(), ..rejection.into() }
            }
            other => {
                tracing::error!(error = %other, "a method of verified approval could not be answered");
                Self::new(INTERNAL_ERROR, "approvals are not available now")
            }
        }
    }
}

impl From<Rejection> for Unmet {
    fn from(rejection: Rejection) -> Self {
        let detail = rejection.fault.map(|fault| format!(r#","detail":{}"#, quote(&fault.to_string())));
        let data = format!(r#"{{"reason":"{}"{}}}"#, rejection.reason, detail.unwrap_or_default());
        Self { data: Some(data), ..Self::new(APPROVAL_REJECTED, rejection.reason.message()) }
    }
}
