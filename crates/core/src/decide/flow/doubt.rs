//! `flow.doubt`: what was written in doubt is not run or handed on unseen.
//!
//! To write files of one's own asks nobody, whoever may have wanted it. So the files of a project may hold what strangers
//! wanted, and the question is put where they come to act: when they are run, built, tested, pushed or published.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::mode::FlowMode;
use super::{Concern, FlowGate, FlowInput};
use crate::annotation::{Axis, Outcome};
use crate::decide::{Effect, Finding, Reason, WayOut};
use crate::policy::SeenValue;

/// Under which name a finding holds the files in doubt.
pub const DOUBTED_FILES: &str = "call.doubted_files";

/// What is said of files that another agent wrote.
const OF_ANOTHER: &str = "what another agent wrote";

/// How many files a finding names. There may be any number.
const NAMED: usize = 20;

pub(super) static GATE: FlowGate = FlowGate {
    finding: "flow.doubt",
    concern: Concern::DoubtedFiles,
    consequence: " Your yes says that they are in order.",
    rank: 1,
    found: "the call runs or hands on files that were written after strangers' text had been read, and nobody has looked at \
            them since",
    because: &[(FlowMode::Strict, Effect::Passkey, "wants a passkey for what cannot be undone")],
    reason: Reason::DoubtedFiles,
    ways: &[WayOut::ClearMarks],
    axis: Axis::Outcomes,
    of_replies: false,
    answered_under_way: false,
    judge,
    explain,
    // It looks at files and not at the session.
    overlooks: |_| true,
};

fn judge(input: &FlowInput<'_>) -> Option<Effect> {
    if input.facts.doubts.is_empty() {
        return None;
    }
    match (input.mode, input.facts.contract.outcomes().worst()) {
        // The thesis knows no files.
        (FlowMode::Samos, _) => None,
        (FlowMode::Observe, _) => Some(Effect::Allow),
        (FlowMode::Strict, Outcome::Irreversible) => Some(Effect::Passkey),
        // The files decide what is done.
        (FlowMode::Balanced | FlowMode::Strict, _) => Some(Effect::Confirm),
    }
}

fn explain(input: &FlowInput<'_>, mut finding: Finding) -> Finding {
    let doubts = input.facts.doubts;
    finding.about = doubts.iter().map(|doubt| Arc::clone(&doubt.id)).collect();
    let names: BTreeSet<&str> =
        doubts.iter().map(|doubt| doubt.name.as_deref().unwrap_or(OF_ANOTHER)).collect();
    let more = names.len().saturating_sub(NAMED);
    let mut names: Vec<String> = names.into_iter().take(NAMED).map(str::to_owned).collect();
    if more > 0 {
        names.push(format!("{more} more"));
    }
    finding.saw(DOUBTED_FILES, SeenValue::Many(names))
}
