//! What is signed of an action: the name the client calls it by, the canonical arguments, and the hash of both. What is
//! approved is sent in exactly these arguments (G27).

use std::sync::Arc;

use highwater_core::action::{Action, ActionKind};
use highwater_core::annotation::{Destination, Outcome};
use highwater_core::pin::PinDigest;
use highwater_mcp::text::{member, quote, string_member};
use highwater_notation::{CanonicalArguments, Unsignable};
use highwater_passkey::{ActionHash, ReservedAction, ServerId, ToolName};
use highwater_pins::PinKind;
use highwater_profile::Exit;

use super::super::Arrival;
use super::super::arrival::Route;
use super::super::proposed::Proposed;
use crate::catalog::OwnTool;

/// An action as it is signed.
pub(super) struct Signable {
    pub(super) tool: ToolName,
    pub(super) arguments: CanonicalArguments,
    pub(super) hash: ActionHash,
    /// The definition of the tool now.
    pub(super) definition: Option<PinDigest>,
    /// What that is the definition of, in its server's own words.
    pub(super) defined: Option<(PinKind, Arc<str>)>,
    /// Whether it is a call of a tool, which a client can let be signed by itself.
    pub(super) is_call: bool,
    /// Whether its arguments are those of the tool itself, and not a wrapping around them.
    pub(super) is_direct: bool,
    /// The arguments as the server gets them.
    sent: Option<CanonicalArguments>,
}

/// A call by the tool's own name, whichever way the client made it.
pub(super) struct Called<'a> {
    pub(super) tool: ToolName,
    pub(super) arguments: &'a CanonicalArguments,
    pub(super) hash: ActionHash,
}

/// Why nothing of an action can be signed.
pub(super) enum NotSignable {
    /// It is of a kind that nobody is asked about.
    Kind,
    /// Its name or its arguments cannot be signed.
    Request(String),
}

// === impl Signable ===

impl Signable {
    pub(super) fn of(arrival: &Arrival, proposed: &Proposed, server: &ServerId) -> Result<Self, NotSignable> {
        let (action, route) = (&proposed.action, &proposed.route);
        let (kind, target) = subject(route, action);
        let of = |kind| target.clone().map(|target| (kind, target));
        let (tool, arguments, sent, defined) = match kind {
            ActionKind::CallTool => {
                let sent = CanonicalArguments::read(member(action.params(), "arguments"))?;
                let shown = proposed.name();
                let (tool, arguments) = match arrival.variant {
                    // What the client called is the variant; the tool it meant is among its arguments (G16).
                    Some(variant) => {
                        let arguments = arrival.frame.param("arguments");
                        (OwnTool::Call(variant).name(), through(shown, arguments)?)
                    }
                    None => (shown, sent.clone()),
                };
                let name = ToolName::exposed(tool).map_err(|_| NotSignable::name(tool))?;
                (name, arguments, Some(sent), of(PinKind::Tool))
            }
            ActionKind::ReadResource => {
                let uri = arrival.frame.param("uri").unwrap_or("null");
                let arguments = CanonicalArguments::read(Some(&format!(r#"{{"uri":{uri}}}"#)))?;
                (ToolName::reserved(ReservedAction::ReadResource), arguments, None, None)
            }
            ActionKind::GetPrompt => {
                let sent = CanonicalArguments::read(member(action.params(), "arguments"))?;
                let name = arrival.frame.param("name").unwrap_or("null");
                let text = format!(r#"{{"arguments":{sent},"name":{name}}}"#);
                let arguments = CanonicalArguments::read(Some(&text))?;
                let sent = member(action.params(), "arguments").map(|_| sent);
                (ToolName::reserved(ReservedAction::GetPrompt), arguments, sent, of(PinKind::Prompt))
            }
            ActionKind::CreateChallenge => {
                let sent = CanonicalArguments::read(member(action.params(), "arguments"))?;
                let name = arrival.frame.param("toolName").unwrap_or("null");
                let text = format!(r#"{{"arguments":{sent},"toolName":{name}}}"#);
                let arguments = CanonicalArguments::read(Some(&text))?;
                let sent = member(action.params(), "arguments").map(|_| sent);
                (ToolName::reserved(ReservedAction::Challenge), arguments, sent, of(PinKind::Tool))
            }
            ActionKind::ResolveTool
            | ActionKind::Complete
            | ActionKind::Subscribe
            | ActionKind::TaskStep
            | ActionKind::Answer
            | ActionKind::ExtraMethod => return Err(NotSignable::Kind),
        };
        let hash = ActionHash::of(&tool, &arguments, server);
        let is_call = kind == ActionKind::CallTool;
        let is_direct = is_call && arrival.variant.is_none();
        let definition = defined.as_ref().and_then(|(kind, name)| route.contracts.definition(*kind, name));
        Ok(Self { tool, arguments, hash, definition, defined, is_call, is_direct, sent })
    }

    /// The call by the tool's own name. What was agreed to of a tool before it is called names the tool and its own
    /// arguments, and not the variant through which a client may call it.
    pub(super) fn called(&self, proposed: &Proposed, server: &ServerId) -> Option<Called<'_>> {
        if self.is_direct {
            return Some(Called { tool: self.tool.clone(), arguments: &self.arguments, hash: self.hash });
        }
        let arguments = self.sent.as_ref().filter(|_| self.is_call)?;
        let tool = ToolName::exposed(proposed.name()).ok()?;
        let hash = ActionHash::of(&tool, arguments, server);
        Some(Called { tool, arguments, hash })
    }

    /// The argument that is the address of a page, where all that the call does is to fetch it.
    pub(super) fn page<'a>(&self, proposed: &'a Proposed) -> Option<&'a str> {
        let fetches = self.is_direct
            && proposed.contract.outcomes().worst() == Outcome::Benign
            && proposed.contract.destination().contains(Destination::Public);
        match proposed.known().shape.sends() {
            Some(Exit::Url { argument }) if fetches && !argument.contains(['/', '~', '*']) => Some(argument),
            _ => None,
        }
    }

    /// The hash that an approval is for: by the tool's own name where that is what was agreed to, else as the client
    /// called it.
    pub(super) fn hash_for(
        &self,
        agreed: Option<ActionHash>,
        proposed: &Proposed,
        server: &ServerId,
    ) -> ActionHash {
        let called = self.called(proposed, server).map(|called| called.hash);
        called.filter(|called| agreed == Some(*called)).unwrap_or(self.hash)
    }
}

/// What kind of action this is to whoever is asked about it, and what it acts on. What brings a call the answers to its
/// server's questions is that call.
fn subject(route: &Route, action: &Action) -> (ActionKind, Option<Arc<str>>) {
    let kind = match (action.kind(), &**action.method()) {
        (ActionKind::Answer, "tools/call") => ActionKind::CallTool,
        (ActionKind::Answer, "prompts/get") => ActionKind::GetPrompt,
        (ActionKind::Answer, "resources/read") => ActionKind::ReadResource,
        (kind, _) => return (kind, Some(Arc::clone(action.target()))),
    };
    let named = || string_member(action.params(), "name").map(Into::into);
    (kind, route.tool.as_ref().map(|tool| Arc::clone(&tool.own)).or_else(named))
}

/// The arguments of a variant that calls this tool.
pub(crate) fn through(tool: &str, arguments: Option<&str>) -> Result<CanonicalArguments, Unsignable> {
    let inner = CanonicalArguments::read(arguments)?;
    let name = quote(tool);
    let text = match arguments {
        Some(_) => format!(r#"{{"arguments":{inner},"name":{name}}}"#),
        None => format!(r#"{{"name":{name}}}"#),
    };
    CanonicalArguments::read(Some(&text))
}

// === impl NotSignable ===

impl NotSignable {
    fn name(tool: &str) -> Self {
        Self::Request(format!("`{tool}` cannot be approved: its name is not in the letters of a tool's name"))
    }
}

impl From<Unsignable> for NotSignable {
    fn from(fault: Unsignable) -> Self {
        Self::Request(fault.to_string())
    }
}
