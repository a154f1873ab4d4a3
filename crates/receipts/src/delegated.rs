//! A use under a mandate: it has no signature of its own and is as good as the mandate's receipt and its own arguments.

use highwater_core::approval::Mandate;
use highwater_core::id::Principal;
use highwater_notation::from_iso;
use highwater_passkey::{ReservedAction, ToolName};

use super::check::{Checking, Expected, Outcome, Part, Report, check};
use super::signature::SignedReceipt;

/// Checks the receipt of a use together with the receipt of its mandate; the report is of the use.
pub fn check_use(text: &str, mandate: &str, expected: &Expected<'_>) -> Report {
    let mut report = check(text, expected);
    let mandate_report = check(mandate, expected);
    let (Some(used), Some(mandate)) = (SignedReceipt::parse(text), SignedReceipt::parse(mandate)) else {
        report.set(Part::Mandate, Outcome::failed("the receipt of the mandate cannot be read"));
        return report;
    };
    let outcome = if mandate_report.holds() {
        keeps_within(
            &Checking { receipt: used.receipt(), expected },
            &Checking { receipt: mandate.receipt(), expected },
        )
    } else {
        Outcome::failed("the receipt of the mandate does not hold")
    };
    report.set(Part::Mandate, outcome);
    report
}

/// Data and trust of the session are not in a receipt: that they allowed it is the gateway's word.
fn keeps_within(use_of: &Checking<'_>, terms: &Checking<'_>) -> Outcome {
    let (used, mandate) = (use_of.receipt, terms.receipt);
    let delegate = ToolName::reserved(ReservedAction::Delegate);
    if used.mandate.as_deref() != Some(mandate.id.as_str()) || mandate.tool_name != delegate.as_str() {
        return Outcome::failed("it is a use of another mandate");
    }
    if (&used.server_id, &used.user_ref) != (&mandate.server_id, &mandate.user_ref) {
        return Outcome::failed("the mandate is of another gateway or another person");
    }
    let ((tool, arguments, _), (_, terms, _)) = match (use_of.action(), terms.action()) {
        (Ok(used), Ok(mandate)) => (used, mandate),
        (Err(Outcome::Unchecked(why)), _) | (_, Err(Outcome::Unchecked(why))) => {
            return Outcome::Unchecked(why);
        }
        (Err(_), _) | (_, Err(_)) => return Outcome::failed("the arguments cannot be read"),
    };
    let Some(at) = from_iso(&used.signed_at) else {
        return Outcome::failed("the use cannot be read");
    };
    let principal = Principal::new(used.principal.as_str());
    match Mandate::read(&terms).and_then(|mandate| mandate.covers(&principal, &tool, &arguments, at)) {
        Ok(()) => Outcome::Held,
        Err(unmandated) => Outcome::Failed(unmandated.to_string()),
    }
}
