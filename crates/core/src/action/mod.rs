//! What a client wants done: everything that carries client data out or asks for upstream data.

mod digest;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use digest::ActionDigest;

use crate::id::UpstreamId;

/// The kinds of action. There are no others: what is not one of these does not reach an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ActionKind {
    /// `tools/call`.
    CallTool,
    /// `tools/resolve`: the arguments leave before the call is judged, so it is an action of its own.
    ResolveTool,
    /// `approval/challenge/create` for a tool whose server verifies approvals itself: the arguments leave before the call.
    CreateChallenge,
    /// `resources/read`: the URI is an outflow.
    ReadResource,
    /// `prompts/get`.
    GetPrompt,
    /// `completion/complete`: the typed prefix is an outflow.
    Complete,
    /// Starting or ending a resource subscription; the URI is an outflow.
    Subscribe,
    /// Asking for, feeding or ending a task that an earlier call started.
    TaskStep,
    /// The client's answer to a question of the upstream.
    Answer,
    /// A method the operator listed for this server; nothing is known about it.
    ExtraMethod,
}

/// One thing to be done at one upstream, in the exact words in which it will be sent.
///
/// The era's own envelope fields are added below the decision, by the upstream connection; they hold no
/// client text. Everything else of what is sent is in `params`, and the digest covers it.
#[derive(Debug)]
pub struct Action {
    kind: ActionKind,
    upstream: UpstreamId,
    method: Arc<str>,
    target: Arc<str>,
    params: Box<str>,
    digest: ActionDigest,
}

// === impl ActionKind ===

impl ActionKind {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CallTool => "call-tool",
            Self::ResolveTool => "resolve-tool",
            Self::CreateChallenge => "create-challenge",
            Self::ReadResource => "read-resource",
            Self::GetPrompt => "get-prompt",
            Self::Complete => "complete",
            Self::Subscribe => "subscribe",
            Self::TaskStep => "task-step",
            Self::Answer => "answer",
            Self::ExtraMethod => "extra-method",
        }
    }
}

// === impl Action ===

impl Action {
    /// `target` is the upstream's own name of the tool, prompt, resource or task; `params` is JSON text.
    pub fn new(
        kind: ActionKind,
        upstream: UpstreamId,
        method: impl Into<Arc<str>>,
        target: impl Into<Arc<str>>,
        params: impl Into<Box<str>>,
    ) -> Self {
        let (method, target, params) = (method.into(), target.into(), params.into());
        let digest = ActionDigest::of(kind, &upstream, &method, &target, &params);
        Self { kind, upstream, method, target, params, digest }
    }

    /// What kind of action this is.
    pub fn kind(&self) -> ActionKind {
        self.kind
    }

    /// Where it goes.
    pub fn upstream(&self) -> &UpstreamId {
        &self.upstream
    }

    /// The JSON-RPC method it is sent as.
    pub fn method(&self) -> &Arc<str> {
        &self.method
    }

    /// The upstream's own name of what is acted on.
    pub fn target(&self) -> &Arc<str> {
        &self.target
    }

    /// The parameters as JSON text.
    pub fn params(&self) -> &str {
        &self.params
    }

    /// The digest every permit is bound to.
    pub fn digest(&self) -> ActionDigest {
        self.digest
    }
}
