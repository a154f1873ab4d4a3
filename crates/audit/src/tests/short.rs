//! What `observe` finds at nearly every call takes little room.

use highwater_core::decide::Finding;

use super::*;

/// How many arguments of the call nobody asked for.
const ARGUMENTS: usize = 60;

#[test]
fn long_findings_are_written_short_where_they_stop_nothing() {
    let pointers = (0..ARGUMENTS).map(|number| format!("/arguments/number-{number}"));
    let lacks: Vec<_> =
        pointers.map(|pointer| serde_json::json!({ "need": "value", "pointer": pointer })).collect();
    let given: CallProvenance = serde_json::from_value(serde_json::json!({
        "has_words": true, "arguments": [], "lacks": lacks, "lacks_strictly": lacks,
        "audience_wanted": false, "carries": { "things": ["pii"] },
    }))
    .unwrap();
    let findings = |mode| {
        let call = Call::in_mode(mode);
        let facts = Facts { provenance: Some(&given), ..call.facts() };
        let (found, told) = (judge(&call.policy, &facts).findings().to_vec(), call.decision_with(facts));
        assert!(found.iter().any(|finding| finding.lacks.len() == ARGUMENTS), "{found:#?}");
        (found, told)
    };
    let (found, told) = findings(FlowMode::Balanced);
    assert_eq!(told.findings, found, "what stops a call is told in full");

    let (found, told) = findings(FlowMode::Observe);
    assert!(serde_json::to_string(&found).unwrap().len() > 3_000);
    assert!(serde_json::to_string(&told.findings).unwrap().len() < 1_500, "{:#?}", told.findings);
    let essence =
        |finding: &Finding| (finding.id.clone(), finding.effect, finding.would, finding.reasons.clone());
    assert_eq!(
        told.findings.iter().map(essence).collect::<Vec<_>>(),
        found.iter().map(essence).collect::<Vec<_>>()
    );
    assert!(told.would.is_some(), "what other modes would have done is told");
}
