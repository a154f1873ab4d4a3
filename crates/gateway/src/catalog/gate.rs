//! Which tools are listed as needing a passkey: those of which the policy asks for one, or can come to ask. A list never
//! depends on a session, so what a session could change counts as changed (G14, G15).

use highwater_core::action::{Action, ActionKind};
use highwater_core::approval::AuthenticatorClass;
use highwater_core::decide::{Finding, Reason, judge};
use highwater_core::id::DecisionId;
use highwater_core::label::Label;
use highwater_core::policy::{Effect, Facts, ServerFacts};
use highwater_mcp::annotations::VERIFIED_APPROVAL;
use highwater_mcp::edit::{Edit, edit_object};
use highwater_notation::Arguments;

use super::known::Known;
use super::listed::Listed;
use super::merge::Entry;

/// How a tool is gated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gate {
    /// Which passkeys it accepts.
    pub(crate) class: AuthenticatorClass,
    /// Whether a passkey is asked for in some cases only.
    pub(crate) conditional: bool,
}

// === impl Listed ===

impl Listed<'_> {
    /// Whether the policy asks for a passkey for calls of the tool, or can.
    pub(super) fn gate(
        &self,
        shown: &str,
        entry: &Entry,
        known: &Known,
        server: &ServerFacts,
    ) -> Option<Gate> {
        let terms = self.terms?;
        let decision = DecisionId::new("");
        let upstream = entry.upstream.clone();
        let action = Action::new(ActionKind::CallTool, upstream, "tools/call", entry.name.clone(), "{}");
        let bottom = Label::bottom();
        let facts = Facts {
            tool_id: Some(shown),
            tool_status: known.status,
            contract: &known.contract,
            server,
            session: &bottom,
            arguments: Arguments::Unknown,
            parameters: known.parameters.as_ref(),
            grant: self.grant,
            ..Facts::of(&decision, self.principal, self.virtual_server, &action)
        };
        let always = judge(self.policy, &facts);
        let certain = |finding: &Finding| is_passkey(finding) && !finding.reasons.contains(&Reason::MayFire);
        let class = terms.tool(&entry.upstream, &entry.name).map(|tool| tool.class).unwrap_or_default();
        if always.findings().iter().any(certain) {
            return Some(Gate { class, conditional: false });
        }
        let sometimes = judge(self.policy, &facts.at_worst());
        let may = always.findings().iter().chain(sometimes.findings()).any(is_passkey);
        may.then_some(Gate { class, conditional: true })
    }
}

/// What a server verifies itself is its own gate, and not ours.
fn is_passkey(finding: &Finding) -> bool {
    finding.effect == Effect::Passkey && !finding.reasons.contains(&Reason::VerifiedApprovalRequired)
}

/// The tool with what we say of approving it, and without what its server says: whoever calls it here is asked by us.
pub(super) fn annotated(tool: &str, gate: Option<Gate>) -> String {
    let Some(gate) = gate else {
        // An edit of what is not there would make an empty member of it.
        return match highwater_mcp::text::pointer(tool, &["_meta", VERIFIED_APPROVAL]) {
            Some(_) => edit_object(tool, &[("_meta", Edit::Merge(&[(VERIFIED_APPROVAL, Edit::Remove)]))]),
            None => tool.to_owned(),
        };
    };
    let says = gate.annotation();
    edit_object(tool, &[("_meta", Edit::Merge(&[(VERIFIED_APPROVAL, Edit::Set(&says))]))])
}

// === impl Gate ===

impl Gate {
    /// What a list says of it (S1 to S3).
    fn annotation(self) -> String {
        let mode = if self.conditional { r#","mode":"conditional""# } else { "" };
        format!(r#"{{"required":"verified","authenticatorClass":"{}"{mode}}}"#, self.class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s01_s03_the_annotation_has_the_words_of_the_text() {
        let class = AuthenticatorClass::CrossPlatform;
        let shown = annotated(r#"{"name":"t"}"#, Some(Gate { class, conditional: false }));
        assert_eq!(
            shown,
            r#"{"name":"t","_meta":{"io.modelcontextprotocol/verified-approval":{"required":"verified","authenticatorClass":"cross-platform"}}}"#
        );
        let shown = annotated(
            r#"{"_meta":{"x":1}}"#,
            Some(Gate { class: AuthenticatorClass::Platform, conditional: true }),
        );
        assert_eq!(
            shown,
            r#"{"_meta":{"x":1,"io.modelcontextprotocol/verified-approval":{"required":"verified","authenticatorClass":"platform","mode":"conditional"}}}"#
        );
    }

    #[test]
    fn what_is_not_gated_here_is_not_called_so() {
        let theirs =
            r#"{"_meta":{"io.modelcontextprotocol/verified-approval":{"required":"verified"},"x":1}}"#;
        assert_eq!(annotated(theirs, None), r#"{"_meta":{"x":1}}"#);
        assert_eq!(annotated(r#"{"name":"t"}"#, None), r#"{"name":"t"}"#);
    }
}
