//! Contracts of written tools, and how they differ from one another in a line.

use std::collections::BTreeMap;

use highwater_core::annotation::{Accepts, Axis, Claims, Contract, Notice, Sensitivity};
use highwater_core::trust::{ServerTrust, TrustLevel};
use highwater_mcp::annotations::{Reading, ServerSays, tool_claims};
use highwater_notation::Words;

/// A server whose word may loosen.
pub(crate) fn verified() -> ServerTrust {
    ServerTrust::of_verified(TrustLevel::Tool, TrustLevel::None)
}

/// One whose word may not, whatever the operator wrote beside it.
pub(crate) fn unverified() -> ServerTrust {
    ServerTrust::new(Some(TrustLevel::Owner), TrustLevel::Owner, Some(false))
}

/// A tool with these members in its `annotations`.
pub(crate) fn annotated(members: &str) -> String {
    format!(r#"{{"name":"t","inputSchema":{{"type":"object"}},"annotations":{{{members}}}}}"#)
}

pub(crate) fn read(tool: &str, trust: ServerTrust) -> Reading {
    tool_claims(tool, &ServerSays::default(), trust.declaring())
}

pub(crate) fn weighed(tool: &str, trust: ServerTrust) -> Contract {
    noticed(tool, trust).0
}

/// The contract, with every remark of the reading and of the weighing.
pub(crate) fn noticed(tool: &str, trust: ServerTrust) -> (Contract, Vec<Notice>) {
    let Reading { claims, mut notices } = read(tool, trust);
    let (contract, more) = Contract::weigh(&claims, &trust);
    notices.extend(more);
    (contract, notices)
}

pub(crate) fn silence(trust: ServerTrust) -> Contract {
    Contract::weigh(&Claims::new(), &trust).0
}

/// Every axis in words.
pub(crate) fn axes(contract: &Contract) -> BTreeMap<&'static str, String> {
    fn list<T: highwater_notation::Word>(words: Words<T>) -> String {
        words.iter().map(|word| word.as_str()).collect::<Vec<_>>().join(",")
    }
    fn classes(of: &Sensitivity) -> String {
        let mut words: Vec<String> = of.classes().iter().map(|class| class.as_str().to_owned()).collect();
        if of.may_be_none() {
            words.insert(0, "none".to_owned());
        }
        words.extend(of.scopes().members().iter().map(|scope| format!("<{scope}>")));
        words.extend(of.scopes().is_open().then(|| "<every>".to_owned()));
        words.join(",")
    }
    BTreeMap::from([
        ("destination", list(contract.destination().members())),
        (
            "accepts",
            match contract.accepts() {
                Accepts::Unknown => "unknown".to_owned(),
                Accepts::Only(of) => classes(of),
                Accepts::Any => "any".to_owned(),
            },
        ),
        ("outcomes", list(contract.outcomes().members())),
        ("source", list(contract.source().members())),
        ("returns", classes(contract.returns())),
        ("integrity", contract.integrity().as_str().to_owned()),
        ("approval", contract.approval().as_str().to_owned()),
        ("malicious", contract.malicious().to_string()),
        ("idempotent", contract.hints().idempotent.to_string()),
        ("origins", format!("{:?}", contract.attribution().members())),
        ("acceptFrom", format!("{:?}", contract.accept_from())),
        ("capabilities", list(contract.capabilities().effective())),
    ])
}

/// Where a contract differs from another, axis by axis.
pub(crate) fn difference(base: &Contract, contract: &Contract) -> String {
    let base = axes(base);
    let differs = axes(contract).into_iter().filter(|(axis, value)| base.get(axis) != Some(value));
    differs.map(|(axis, value)| format!("{axis}={value}")).collect::<Vec<_>>().join("; ")
}

/// The axes on which a contract is milder than another.
pub(crate) fn milder(contract: &Contract, than: &Contract) -> Vec<&'static str> {
    let lost_classes = !contract.returns().classes().covers(than.returns().classes())
        || !contract.returns().scopes().covers(than.returns().scopes())
        || (contract.returns().may_be_none() && !than.returns().may_be_none());
    let accepts_more = match (contract.accepts(), than.accepts()) {
        // What nobody spoke of is refused nothing.
        (_, Accepts::Unknown | Accepts::Any) => false,
        (Accepts::Unknown | Accepts::Any, _) => true,
        (Accepts::Only(more), Accepts::Only(held)) => {
            !held.classes().covers(more.classes()) || !held.scopes().covers(more.scopes())
        }
    };
    let checks = [
        ("destination", contract.destination().worst() < than.destination().worst()),
        ("accepts", accepts_more),
        ("outcomes", contract.outcomes().worst() < than.outcomes().worst()),
        ("benign", !contract.acts() && than.acts()),
        ("source", contract.source().worst() < than.source().worst()),
        ("returns", lost_classes),
        ("integrity", contract.integrity() > than.integrity()),
        ("approval", contract.approval() < than.approval()),
        ("malicious", !contract.malicious() && than.malicious()),
        ("verified approval", !contract.requires_verified() && than.requires_verified()),
        ("idempotent", contract.hints().idempotent && !than.hints().idempotent),
        ("variant", contract.variant() < than.variant()),
        ("reply", !contract.reply_label().covers(than.reply_label())),
        ("capabilities", !contract.capabilities().effective().covers(than.capabilities().effective())),
        ("acceptFrom", contract.accept_from().is_none() && than.accept_from().is_some()),
        (
            "declared",
            Axis::ALL.iter().any(|axis| {
                contract.is_declared(*axis)
                    && !than.is_declared(*axis)
                    && !contract.basis(*axis).may_loosen()
                    && *axis != Axis::Approval
            }),
        ),
    ];
    checks.into_iter().filter(|(_, milder)| *milder).map(|(axis, _)| axis).collect()
}
