//! The operator's rules, compiled, and compared by what they were compiled from.

use std::fmt;
use std::sync::Arc;

use highwater_core::policy::RuleSet;
use highwater_rules::{Compiled, RuleError, RuleSource, Spanned, WaiverSource, check};

use crate::lower::condition::shown;

/// The rules and waivers in force.
#[derive(Clone)]
pub struct Rules {
    set: Arc<RuleSet>,
    /// What they were compiled from, without places.
    written: String,
}

// === impl Rules ===

impl Rules {
    /// The rules, and what is worth a look.
    pub(crate) fn compile(
        rules: &[RuleSource],
        waivers: &[WaiverSource],
    ) -> Result<(Self, Vec<RuleError>), Vec<RuleError>> {
        let Compiled { set, warnings } = check(rules, waivers)?;
        let written = rules.iter().map(rule).chain(waivers.iter().map(waiver)).collect();
        Ok((Self { set: Arc::new(set), written }, warnings))
    }

    /// The compiled set.
    pub fn set(&self) -> &Arc<RuleSet> {
        &self.set
    }
}

impl PartialEq for Rules {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.set, &other.set) || self.written == other.written
    }
}

impl Eq for Rules {}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.set.rules().iter().map(|rule| &**rule.name()).collect();
        f.debug_struct("Rules").field("rules", &names).field("waivers", &self.set.waivers().len()).finish()
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self { set: Arc::new(RuleSet::empty()), written: String::new() }
    }
}

fn rule(source: &RuleSource) -> String {
    let RuleSource { name, effect, condition, message, phase, non_monotone, dry_run } = source;
    let phase = phase.as_ref().map(|phase| &phase.value);
    let condition = shown(condition);
    let (name, effect) = (&name.value, &effect.value);
    format!("{name:?} {effect:?} {condition} {message:?} {phase:?} {non_monotone} {dry_run}\n")
}

fn waiver(source: &WaiverSource) -> String {
    let WaiverSource { span: _, waive, when, until, reason } = source;
    let text = |part: &Option<Spanned<String>>| part.as_ref().map(|part| part.value.clone());
    let waive: Vec<&str> = waive.iter().map(|finding| finding.value.as_str()).collect();
    let when = when.as_ref().map(shown);
    format!("{waive:?} {when:?} {:?} {:?}\n", text(until), text(reason))
}
