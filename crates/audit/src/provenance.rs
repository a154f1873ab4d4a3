//! Where content comes from and what it is worth, as every record about it says: `trust` with a level and a source,
//! `metadata` with the server and what of it was used.

use highwater_core::action::ActionKind;
use highwater_core::annotation::ReplyKind;
use highwater_core::id::UpstreamId;
use highwater_core::label::Label;
use highwater_core::policy::{Facts, Policy};
use highwater_core::trust::TrustLevel;

use super::line::Line;

/// The origin of what an action brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Provenance<'a> {
    /// What the policy has for the server to be called on record; nothing for a server that it does not know.
    server: Option<&'a str>,
    /// What the operator calls the server, if anything.
    label: Option<&'a str>,
    upstream: &'a UpstreamId,
    kind: ActionKind,
    /// The server's own name of what was used.
    name: &'a str,
    /// What it is worth: the integrity in its label, or in the label that its contract foresees.
    level: TrustLevel,
}

// === impl Provenance ===

impl<'a> Provenance<'a> {
    /// The origin of what this action brings.
    pub fn of(policy: &'a Policy, facts: &Facts<'a>) -> Self {
        let upstream = facts.action.upstream();
        let own = facts.contract.integrity();
        let (name, level) = match facts.action.kind() {
            ActionKind::ReadResource | ActionKind::Subscribe => {
                (&**facts.action.target(), facts.contract.label_of(ReplyKind::Resource).integrity())
            }
            // What comes of a step or an answer comes of the tool whose call it belongs to.
            ActionKind::TaskStep | ActionKind::Answer => {
                (facts.tool_name.unwrap_or(facts.action.target()), own)
            }
            ActionKind::CallTool
            | ActionKind::ResolveTool
            | ActionKind::CreateChallenge
            | ActionKind::GetPrompt
            | ActionKind::Complete
            | ActionKind::ExtraMethod => (&**facts.action.target(), own),
        };
        Self {
            server: policy.on_record(upstream),
            label: policy.trust_label(upstream),
            upstream,
            kind: facts.action.kind(),
            name,
            level,
        }
    }

    /// The same of something that came back with this label. Without one it is what the contract foresees.
    #[must_use]
    pub fn labelled(self, label: Option<&Label>) -> Self {
        Self { level: label.map_or(self.level, Label::integrity), ..self }
    }

    pub(super) fn write(&self, line: &mut Line<'_>) {
        line.raw(b",\"trust\":{\"level\":\"").word(spelled(self.level)).raw(b"\",\"source\":\"");
        line.word(if self.is_resource() { "mcp_resource:" } else { "mcp:" });
        self.server(line).raw(b":").text(self.name);
        if let Some(label) = self.label {
            line.raw(b"\",\"label\":\"").word(label);
        }
        line.raw(b"\"},\"metadata\":{\"mcp_server\":\"");
        self.server(line);
        line.raw(b"\",\"").word(self.key()).raw(b"\":\"").text(self.name).raw(b"\"}");
    }

    fn server<'l, 'b>(&self, line: &'l mut Line<'b>) -> &'l mut Line<'b> {
        match self.server {
            Some(escaped) => line.word(escaped),
            None => line.text(self.upstream.as_str()),
        }
    }

    fn is_resource(&self) -> bool {
        matches!(self.kind, ActionKind::ReadResource | ActionKind::Subscribe)
    }

    fn key(&self) -> &'static str {
        match self.kind {
            ActionKind::CallTool
            | ActionKind::ResolveTool
            | ActionKind::CreateChallenge
            | ActionKind::TaskStep
            | ActionKind::Answer => "tool_name",
            ActionKind::ReadResource | ActionKind::Subscribe => "resource_uri",
            ActionKind::GetPrompt => "prompt_name",
            ActionKind::Complete => "completed",
            ActionKind::ExtraMethod => "method",
        }
    }
}

/// A level as the record spells it.
fn spelled(level: TrustLevel) -> &'static str {
    match level {
        TrustLevel::None => "NONE",
        TrustLevel::Tool => "TOOL",
        TrustLevel::Agent => "AGENT",
        TrustLevel::System => "SYSTEM",
        TrustLevel::User => "USER",
        TrustLevel::Owner => "OWNER",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_spells_levels_as_the_trust_policy_does() {
        for level in TrustLevel::ALL {
            assert_eq!(spelled(*level), level.as_str().to_uppercase());
        }
    }
}
