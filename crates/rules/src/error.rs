//! What can be wrong with a rule: everything, and all of it is found at load, with its place and a way out.

use std::fmt;

use highwater_core::policy::Span;

/// One thing wrong (or, among the warnings of a `RuleSet`, one thing worth a look).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    /// What kind of thing.
    pub code: RuleErrorCode,
    /// Where to put the caret.
    pub span: Span,
    /// What is wrong, in the words of the file.
    pub message: String,
    /// What to do about it, such as "did you mean `session.private`?".
    pub suggestion: String,
    /// A second place that has to do with it, and what is there.
    pub also: Option<(Span, String)>,
}

/// The stable names of what can be wrong. Those about keys of the file (`unknown-key`, `duplicate-key`) belong
/// to its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RuleErrorCode {
    /// No fact has this path.
    UnknownFact,
    /// Nothing produces the fact.
    UnproducedFact,
    /// No operator has this name.
    UnknownOperator,
    /// The operator or the value does not fit the kind of the fact.
    WrongType,
    /// The word is none of an enum's or a closed set's.
    OutsideDomain,
    /// The facts of the rule can never be known at the same time.
    NoCommonPhase,
    /// The rule could fall silent, or the waiver begin to apply, as the label rises.
    NonMonotone,
    /// The condition can never hold.
    Contradiction,
    /// `and: []` or `or: []`.
    EmptyCondition,
    /// A rule with the effect `allow`.
    AllowRule,
    /// Two rules of one name.
    DuplicateName,
    /// A waiver names a finding that does not exist.
    WaiverTarget,
    /// A waiver names a finding of layer L0.
    WaiverStructural,
    /// A waiver lacks one of its four members.
    WaiverIncomplete,
    /// A limit of [`limits`](super::limits) is exceeded.
    TooLarge,
    /// Warning: the rule fires for calls that lack the argument though their tool has it.
    UnguardedArgument,
    /// Warning: the waiver lowers nothing, since its finding is at most a question already.
    WaiverWithoutEffect,
}

/// What is wrong, before its way out is known.
#[must_use]
pub(super) struct Complaint {
    code: RuleErrorCode,
    span: Span,
    message: String,
}

// === impl RuleError ===

impl RuleError {
    /// Begins with what is wrong; nobody is told that without the way out.
    #[expect(clippy::new_ret_no_self, reason = "it is an error once it helps")]
    pub(super) fn new(code: RuleErrorCode, span: Span, message: impl Into<String>) -> Complaint {
        Complaint { code, span, message: message.into() }
    }

    pub(super) fn also(mut self, span: Span, what: impl Into<String>) -> Self {
        self.also = Some((span, what.into()));
        self
    }
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}]: {}", self.code, self.message)
    }
}

impl std::error::Error for RuleError {}

// === impl Complaint ===

impl Complaint {
    pub(super) fn help(self, suggestion: impl Into<String>) -> RuleError {
        let Self { code, span, message } = self;
        RuleError { code, span, message, suggestion: suggestion.into(), also: None }
    }
}

// === impl RuleErrorCode ===

impl RuleErrorCode {
    /// The name as it is printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnknownFact => "unknown-fact",
            Self::UnproducedFact => "unproduced-fact",
            Self::UnknownOperator => "unknown-operator",
            Self::WrongType => "wrong-type",
            Self::OutsideDomain => "outside-domain",
            Self::NoCommonPhase => "no-common-phase",
            Self::NonMonotone => "non-monotone",
            Self::Contradiction => "contradiction",
            Self::EmptyCondition => "empty-condition",
            Self::AllowRule => "allow-rule",
            Self::DuplicateName => "duplicate-name",
            Self::WaiverTarget => "waiver-target",
            Self::WaiverStructural => "waiver-structural",
            Self::WaiverIncomplete => "waiver-incomplete",
            Self::TooLarge => "too-large",
            Self::UnguardedArgument => "unguarded-argument",
            Self::WaiverWithoutEffect => "waiver-without-effect",
        }
    }
}

impl fmt::Display for RuleErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
