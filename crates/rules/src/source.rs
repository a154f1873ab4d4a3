//! Rules and waivers as somebody wrote them: words and the places they stand at, not yet checked.
//!
//! Whoever reads the file makes these; `compile` is the only way from here to a `RuleSet`. A place is a pair of
//! byte numbers, so that no reader of files is needed to point at it.

use highwater_core::policy::Span;

/// Something written, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spanned<T> {
    /// What is written.
    pub value: T,
    /// Where.
    pub span: Span,
}

/// A rule as written. Every member may be wrong; `compile` says so.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleSource {
    /// The name, unique over all files; the finding is called `rule.` and this.
    pub name: Spanned<String>,
    /// One of [`Effect::RULE_WORDS`](highwater_core::policy::Effect::RULE_WORDS).
    pub effect: Spanned<String>,
    /// When it fires.
    pub condition: ConditionSource,
    /// What people are told. Never shown to the model.
    pub message: Option<String>,
    /// One of [`Phase::WORDS`](highwater_core::policy::Phase::WORDS); narrows the derived phases.
    pub phase: Option<Spanned<String>>,
    /// The author knows that the rule may fall silent as the label rises.
    pub non_monotone: bool,
    /// What it would do is recorded, and nothing follows from it.
    pub dry_run: bool,
}

/// A waiver as written. Every member is required; an absent one is an error of `compile`.
#[derive(Clone, Debug, PartialEq)]
pub struct WaiverSource {
    /// The whole entry.
    pub span: Span,
    /// The findings it lowers.
    pub waive: Vec<Spanned<String>>,
    /// When it applies.
    pub when: Option<ConditionSource>,
    /// The last day it is in force, `2027-01-31`, or a moment, `2027-01-31T12:00:00Z`.
    pub until: Option<Spanned<String>>,
    /// Why somebody thought this right.
    pub reason: Option<Spanned<String>>,
}

/// A condition as written. The short form `when:` is an `All` of tests.
#[derive(Clone, Debug, PartialEq)]
pub enum ConditionSource {
    /// `and:`, or the entries of a `when:`.
    All {
        /// The whole list.
        span: Span,
        /// What must hold.
        of: Vec<ConditionSource>,
    },
    /// `or:`.
    Any {
        /// The whole list.
        span: Span,
        /// Of which one must hold.
        of: Vec<ConditionSource>,
    },
    /// `not:`.
    Not {
        /// The whole entry.
        span: Span,
        /// What must not hold.
        of: Box<ConditionSource>,
    },
    /// One fact, one operator, one value.
    Test {
        /// The path of the fact.
        fact: Spanned<String>,
        /// The operator; where none was written, `equals` at the place of the value.
        operator: Spanned<String>,
        /// What the fact is compared with.
        value: ValueSource,
    },
}

/// A value as written.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueSource {
    /// Where.
    pub span: Span,
    /// What.
    pub value: Written,
}

/// The forms a value can have in the file.
#[derive(Clone, Debug, PartialEq)]
pub enum Written {
    /// `true`, `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<ValueSource>),
    /// Anything else (a fraction, nothing, a mapping), by the word for it in a message.
    Other(&'static str),
}

// === impl Spanned ===

impl<T> Spanned<T> {
    /// Something and its place.
    pub fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }
}

// === impl ConditionSource ===

impl ConditionSource {
    /// Where the condition stands; of a test, from the fact to the value.
    pub fn span(&self) -> Span {
        match self {
            Self::All { span, .. } | Self::Any { span, .. } | Self::Not { span, .. } => *span,
            Self::Test { fact, value, .. } => {
                Span { start: fact.span.start.min(value.span.start), end: fact.span.end.max(value.span.end) }
            }
        }
    }
}
