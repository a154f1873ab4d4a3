//! Which tools the operator's rules keep off the list. A list never depends on a session's label: a rule that looks at one
//! counts as if it held.

use highwater_config::ApprovalSettings;
use highwater_core::action::{Action, ActionKind};
use highwater_core::decide::judge;
use highwater_core::grant::Grant;
use highwater_core::id::{DecisionId, Principal, VirtualServerId};
use highwater_core::label::Label;
use highwater_core::policy::{Effect, Facts, Input, Phase, Policy, ServerFacts};
use highwater_notation::Arguments;

use super::known::Known;
use super::merge::Entry;

/// What decides whether a tool is shown.
pub(super) struct Listed<'a> {
    pub(super) policy: &'a Policy,
    pub(super) virtual_server: &'a VirtualServerId,
    pub(super) principal: &'a Principal,
    pub(super) grant: &'a Grant,
    /// What the operator says of approving tools; nothing where none can be approved.
    pub(super) terms: Option<&'a ApprovalSettings>,
}

// === impl Listed ===

impl Listed<'_> {
    /// Whether a rule of the list phase hides the tool. A dry run hides nothing.
    pub(super) fn hides(&self, shown: &str, entry: &Entry, known: &Known, server: &ServerFacts) -> bool {
        let rules = self.policy.rules();
        if !self.is_about_lists() {
            return false;
        }
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
        let facts = facts.at_worst();
        let mut reading = rules.read(Phase::List, &facts, judge(self.policy, &facts).violations());
        reading.hits().iter().any(|hit| hit.enforced() == Effect::Block)
    }

    /// Whether the list depends on the caller beyond their grant.
    pub(super) fn looks_at_caller(&self) -> bool {
        self.is_about_lists() && (self.grant.flow.is_some() || self.policy.rules().depend_on(Input::Caller))
    }

    fn is_about_lists(&self) -> bool {
        self.policy.rules().rules().iter().any(|rule| rule.phases().has(Phase::List))
    }
}
