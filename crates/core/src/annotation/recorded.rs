//! A contract made again from the record of a decision, to judge the decision once more. It holds what the gates of flow
//! look at; what the record does not have is unknown.

use highwater_notation::Words;

use super::contract::{Contract, added_by};
use super::{Accepts, ApprovalWish, Authority, Axis, DataClass, Possible, Sensitivity, Source};
use crate::audit::RecordedContract;
use crate::label::Label;
use crate::trust::{ServerTrust, TrustLevel};

impl Contract {
    /// The contract that a decision was made by. `None` where the record does not hold all of it: nothing was found then,
    /// and there is nothing to judge again.
    pub fn on_record(record: &RecordedContract, server: ServerTrust) -> Option<Self> {
        let integrity = TrustLevel::parse(record.integrity.as_deref()?)?;
        let mut contract = Self {
            destination: Possible::of(record.destination.iter().copied().collect())?,
            accepts: accepts(record.accepts.as_ref()?)?,
            outcomes: Possible::of(record.outcomes.iter().copied().collect())?,
            source: Possible::of(record.source.iter().copied().collect())?,
            returns: Sensitivity::of(record.returns.iter().copied()),
            approval: ApprovalWish::parse(record.approval.as_deref()?)?,
            server,
            ..Self::unknown()
        };
        contract.wish = contract.approval;
        for axis in Axis::ALL {
            let by = record.basis.get(axis.short()).and_then(|by| Authority::parse(by));
            contract.set_basis(*axis, by.unwrap_or(Authority::Nothing));
        }
        contract.reply = reply(&contract, integrity);
        Some(contract)
    }

    /// Whether the record of a decision shows this contract, as far as it shows any.
    pub fn is_as_recorded(&self, record: &RecordedContract) -> bool {
        self.destination.members() == record.destination.iter().copied().collect()
            && self.outcomes.members() == record.outcomes.iter().copied().collect()
            && self.source.members() == record.source.iter().copied().collect()
            && self.returns.classes() == record.returns.iter().copied().collect()
            && record.integrity.as_deref().is_none_or(|level| level == self.integrity().as_str())
            && record.approval.as_deref().is_none_or(|wish| wish == self.approval.as_str())
            && record.accepts.as_ref().is_none_or(|held| accepts(held).as_ref() == Some(&self.accepts))
    }
}

/// The label of a reply that says nothing of itself. The record has what it is worth, and not who said what of its source.
fn reply(contract: &Contract, integrity: TrustLevel) -> Label {
    let sources = contract.source.members();
    let mut label = Label::bottom()
        .with_classes(contract.returns.classes())
        .with_scopes(contract.returns.scopes())
        .with_integrity(integrity)
        .with_sources(sources);
    if contract.basis(Axis::Returns) != Authority::Operator {
        label = label.with_classes(added_by(sources));
    }
    if sources.contains(Source::UntrustedPublic) {
        label = label.with_open_world();
    }
    label
}

/// What a tool is built to receive, as it is published.
fn accepts(held: &serde_json::Value) -> Option<Accepts> {
    let list = match held {
        serde_json::Value::String(word) if word == "unknown" => return Some(Accepts::Unknown),
        serde_json::Value::String(word) if word == "any" => return Some(Accepts::Any),
        serde_json::Value::Array(list) => list,
        _ => return None,
    };
    let mut accepted = Sensitivity::of(Words::<DataClass>::EMPTY.iter());
    let mut says_none = false;
    for member in list {
        let class = match member {
            serde_json::Value::String(word) if word == "none" => {
                says_none = true;
                continue;
            }
            serde_json::Value::String(word) => Sensitivity::of([DataClass::parse(word)?]),
            serde_json::Value::Object(regulated) => {
                let scopes = regulated.get("regulated")?.get("scopes")?.as_array()?;
                Sensitivity::regulated(scopes.iter().filter_map(serde_json::Value::as_str))
            }
            _ => return None,
        };
        accepted = accepted.and(&class);
    }
    Some(Accepts::Only(if says_none { accepted.or(&Sensitivity::none()) } else { accepted }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::annotation::{Claim, Claims, Hints};

    #[test]
    fn what_a_tool_is_built_to_receive_reads_back_as_published() {
        for accepted in [
            Sensitivity::none(),
            Sensitivity::of([DataClass::User, DataClass::Pii]),
            Sensitivity::of([DataClass::Regulated]),
            Sensitivity::regulated(["hipaa"]),
            Sensitivity::of([DataClass::User]).or(&Sensitivity::none()),
        ] {
            let published = serde_json::to_value(&accepted).unwrap();
            assert_eq!(accepts(&published), Some(Accepts::Only(accepted)), "{published}");
        }
        assert_eq!(accepts(&serde_json::json!("any")), Some(Accepts::Any));
        assert_eq!(accepts(&serde_json::json!(["nonsense"])), None);
    }

    #[test]
    fn a_contract_is_found_again_in_its_record_and_no_other_is() {
        let mut claims = Claims::new();
        let hints = Hints { read_only: Some(true), open_world: Some(false), ..Hints::default() };
        claims.push(Claim::Hints(hints), Authority::DeclaredVerified, "core");
        let trust = ServerTrust::default().believed_if(true);
        let contract = Contract::weigh(&claims, &trust).0;
        let record = RecordedContract {
            destination: contract.destination().members().iter().collect(),
            outcomes: contract.outcomes().members().iter().collect(),
            source: contract.source().members().iter().collect(),
            returns: contract.returns().classes().iter().collect(),
            accepts: Some("unknown".into()),
            integrity: Some(contract.integrity().as_str().to_owned()),
            approval: Some("none".to_owned()),
            basis: std::collections::BTreeMap::new(),
        };
        assert!(contract.is_as_recorded(&record));
        assert!(!Contract::unknown().is_as_recorded(&record));
        let again = Contract::on_record(&record, trust).unwrap();
        assert_eq!(again.destination(), contract.destination());
        assert_eq!(again.integrity(), contract.integrity());
    }
}
