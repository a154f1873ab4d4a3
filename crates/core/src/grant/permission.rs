//! The four permissions, and which of them an action needs.

use highwater_notation::{Words, vocabulary};

use super::CallVariant;
use crate::action::ActionKind;

vocabulary! {
    /// What a token may grant.
    Permission {
        /// Calls that only look.
        Read = "call_tool_read",
        /// Calls that change something.
        Write = "call_tool_write",
        /// Calls that may destroy something.
        Destructive = "call_tool_destructive",
        /// Searching for tools.
        Retrieve = "retrieve_tools",
    }
    aliases { "read" = Read, "write" = Write, "destructive" = Destructive }
}

/// A set of permissions.
pub type Permissions = Words<Permission>;

/// The permission that an action needs. `variant` is the one through which a tool was called, where it was called through
/// one; `class` is that of the tool whose call it is or belongs to.
pub fn required(kind: ActionKind, variant: Option<CallVariant>, class: CallVariant) -> Permission {
    match kind {
        // What a step or an answer feeds is the call, so it needs what the call needed; and who may not make a call has
        // nobody asked to approve it.
        ActionKind::CallTool
        | ActionKind::CreateChallenge
        | ActionKind::TaskStep
        | ActionKind::Answer
        | ActionKind::ExtraMethod => variant.map_or(class, |variant| variant.max(class)).into(),
        ActionKind::ReadResource
        | ActionKind::Subscribe
        | ActionKind::GetPrompt
        | ActionKind::Complete
        | ActionKind::ResolveTool => Permission::Read,
    }
}

/// Whether a tool was called through a variant below its class: whoever said so was wrong about the tool, or lied.
pub fn is_below(variant: Option<CallVariant>, class: CallVariant) -> bool {
    variant.is_some_and(|variant| variant < class)
}

// === impl Permission ===

impl From<CallVariant> for Permission {
    fn from(variant: CallVariant) -> Self {
        match variant {
            CallVariant::Read => Self::Read,
            CallVariant::Write => Self::Write,
            CallVariant::Destructive => Self::Destructive,
        }
    }
}
