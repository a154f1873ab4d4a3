//! Conditions on one JSON text alone, checked.

use highwater_core::policy::{Case, CaseSet};

use super::draft::{Draft, Use};
use super::{Compiler, look};
use crate::error::RuleError;
use crate::source::ConditionSource;

/// Checks a condition that looks at `arguments.…` and at nothing else.
pub fn compile_case(source: &ConditionSource) -> Result<Case, Vec<RuleError>> {
    compile_cases(std::slice::from_ref(source)).map(Case::new)
}

/// Checks several of them.
pub fn compile_cases(sources: &[ConditionSource]) -> Result<CaseSet, Vec<RuleError>> {
    let mut compiler = Compiler::default();
    let mut conditions = Vec::with_capacity(sources.len());
    for source in sources {
        if let Some(condition) = Draft::new(&mut compiler, Use::Case).condition(source) {
            look::contradiction(&condition, &mut compiler);
            conditions.push(condition);
        }
    }
    if compiler.errors.is_empty() {
        Ok(CaseSet::new(conditions, compiler.subjects))
    } else {
        Err(compiler.errors)
    }
}
