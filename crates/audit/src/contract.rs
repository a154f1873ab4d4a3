//! The contract of a decision, read back from its record.

use highwater_core::annotation::{
    Accepts, ApprovalWish, Authority, Contract, DataClass, KeptContract, Sensitivity,
};
use highwater_core::trust::{ServerTrust, TrustLevel};
use highwater_notation::Words;

use super::record::RecordedContract;

/// The contract that a decision was made by. `None` where the record does not hold all of it: nothing was found then, and
/// there is nothing to judge again.
pub fn contract_of(record: &RecordedContract, server: ServerTrust) -> Option<Contract> {
    let kept = KeptContract {
        integrity: TrustLevel::parse(record.integrity.as_deref()?)?,
        destination: record.destination.iter().copied().collect(),
        accepts: accepts(record.accepts.as_ref()?)?,
        outcomes: record.outcomes.iter().copied().collect(),
        source: record.source.iter().copied().collect(),
        returns: Sensitivity::of(record.returns.iter().copied()),
        approval: ApprovalWish::parse(record.approval.as_deref()?)?,
    };
    let said = |by: &String| Authority::parse(by);
    let basis = |axis: highwater_core::annotation::Axis| record.basis.get(axis.short()).and_then(said);
    Contract::of_kept(kept, |axis| basis(axis).unwrap_or(Authority::Nothing), server)
}

/// Whether the record of a decision shows this contract, as far as it shows any.
pub fn is_as_recorded(contract: &Contract, record: &RecordedContract) -> bool {
    contract.destination().members() == record.destination.iter().copied().collect()
        && contract.outcomes().members() == record.outcomes.iter().copied().collect()
        && contract.source().members() == record.source.iter().copied().collect()
        && contract.returns().classes() == record.returns.iter().copied().collect()
        && record.integrity.as_deref().is_none_or(|level| level == contract.integrity().as_str())
        && record.approval.as_deref().is_none_or(|wish| wish == contract.approval().as_str())
        && record.accepts.as_ref().is_none_or(|held| accepts(held).as_ref() == Some(contract.accepts()))
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

    use highwater_core::annotation::{Claim, Claims, Hints};

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
        assert!(is_as_recorded(&contract, &record));
        assert!(!is_as_recorded(&Contract::unknown(), &record));
        let again = contract_of(&record, trust).unwrap();
        assert_eq!(again.destination(), contract.destination());
        assert_eq!(again.integrity(), contract.integrity());
    }
}
