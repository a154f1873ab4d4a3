//! Our own answers to `tools/resolve`: what applies to a call with these arguments, in this session.

use highwater_core::annotation::{Contract, EffectiveHints};

use super::attribution;
use super::contract::{contract_json, resolved_metadata};
use crate::annotations::ours::{CONTRACT, OUTLOOK};
use crate::edit::{Edit, edit_object};
use crate::text::quote_into;

/// What would become of a call. No reasons: they would be an oracle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlook<'a> {
    /// What would be decided: a word of the chain of effects.
    pub effect: &'a str,
    /// Whether its reply would raise the session's label.
    pub would_taint: bool,
}

/// The answer in the form of the extension, without what an era adds.
pub fn resolution(name: &str, contract: &Contract, outlook: Outlook<'_>) -> String {
    let resolved = Resolved::of(contract);
    let mut out = String::with_capacity(1024);
    out.push_str(r#"{"name":"#);
    quote_into(&mut out, name);
    out.push_str(r#","annotations":"#);
    out.push_str(&edit_object("{}", &resolved.edits()));
    out.push_str(r#","_meta":{"#);
    for (key, value) in [(CONTRACT, contract_json(contract)), (OUTLOOK, outlook.json())] {
        if !out.ends_with('{') {
            out.push(',');
        }
        quote_into(&mut out, key);
        out.push(':');
        out.push_str(&value);
    }
    out.push_str("}}");
    out
}

/// The answer in the form of SEP-1862: the whole tool, as clients are shown it, with what applies to this call.
pub fn resolution_of_tool(shown: &str, contract: &Contract, outlook: Outlook<'_>) -> String {
    let resolved = Resolved::of(contract);
    let (contract, outlook) = (contract_json(contract), outlook.json());
    let meta = [(CONTRACT, Edit::Set(&contract)), (OUTLOOK, Edit::Set(&outlook))];
    let tool =
        edit_object(shown, &[("annotations", Edit::Merge(&resolved.edits())), ("_meta", Edit::Merge(&meta))]);
    let mut out = String::with_capacity(tool.len() + 10);
    out.push_str(r#"{"tool":"#);
    out.push_str(&tool);
    out.push('}');
    out
}

/// The annotations of one call.
struct Resolved {
    hints: EffectiveHints,
    input: String,
    returned: String,
    /// Where its data comes from; nothing where nobody said.
    attribution: Option<String>,
}

// === impl Resolved ===

impl Resolved {
    fn of(contract: &Contract) -> Self {
        let (input, returned) = resolved_metadata(contract);
        let attribution = attribution(None, contract.attribution());
        Self { hints: contract.hints(), input, returned, attribution }
    }

    /// All four hints as the contract has them, and what the possible sets come to.
    fn edits(&self) -> Vec<(&'static str, Edit<'_>)> {
        let EffectiveHints { read_only, destructive, idempotent, open_world } = self.hints;
        let flag = |flag| Edit::Set(if flag { "true" } else { "false" });
        let mut edits = vec![
            ("readOnlyHint", flag(read_only)),
            ("destructiveHint", flag(destructive)),
            ("idempotentHint", flag(idempotent)),
            ("openWorldHint", flag(open_world)),
            ("inputMetadata", Edit::Set(&self.input)),
            ("returnMetadata", Edit::Set(&self.returned)),
        ];
        edits.extend(self.attribution.as_deref().map(|origins| ("attribution", Edit::Set(origins))));
        edits
    }
}

// === impl Outlook ===

impl Outlook<'_> {
    fn json(self) -> String {
        let Self { effect, would_taint } = self;
        format!(r#"{{"effect":"{effect}","wouldTaint":{would_taint}}}"#)
    }
}
