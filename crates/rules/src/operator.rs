//! The operators: which there are, which kinds they fit, and the check each comes down to.

use highwater_core::policy::{Check, Kind, Span, by_length};
use highwater_notation::suggest::{choose, listed};
use highwater_notation::{Glob, LONGEST_GLOB};

use crate::error::{RuleError, RuleErrorCode as Code};
use crate::limits;
use crate::source::{Spanned, ValueSource, Written};

/// An operator as a rule writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// Equality; on a set, membership.
    Equals,
    /// `equals` with one of several values.
    In,
    /// Membership.
    Contains,
    /// Above, strictly.
    GreaterThan,
    /// Below, strictly.
    LessThan,
    /// A glob.
    Matches,
    /// Presence.
    Exists,
}

/// What a test is made on: a row of the table, or an argument, whose kind is given by its use.
#[derive(Clone, Copy)]
pub(super) enum Target {
    Fact(Kind),
    Argument,
}

/// A check, and whether its answer is turned round.
pub(super) struct Made {
    pub(super) check: Check,
    pub(super) negated: bool,
}

// === impl Operator ===

impl Operator {
    /// Every operator, in the order of [`Operator::WORDS`].
    pub const ALL: [Self; 7] = [
        Self::Equals,
        Self::In,
        Self::Contains,
        Self::GreaterThan,
        Self::LessThan,
        Self::Matches,
        Self::Exists,
    ];

    /// Their names.
    pub const WORDS: [&'static str; 7] =
        ["equals", "in", "contains", "greaterThan", "lessThan", "matches", "exists"];

    /// The operator of this name.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operator| operator.as_str() == word)
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Equals => "equals",
            Self::In => "in",
            Self::Contains => "contains",
            Self::GreaterThan => "greaterThan",
            Self::LessThan => "lessThan",
            Self::Matches => "matches",
            Self::Exists => "exists",
        }
    }

    /// Whether it can be used on this kind.
    pub fn fits(self, kind: Kind) -> bool {
        match self {
            Self::Equals | Self::In => true,
            Self::Contains => matches!(kind, Kind::Set(_) | Kind::Open { .. } | Kind::OneOf(_)),
            Self::GreaterThan | Self::LessThan => {
                matches!(kind, Kind::Int(..) | Kind::Enum { ordered: true, .. })
            }
            Self::Matches => matches!(kind, Kind::Str | Kind::Open { .. }),
            Self::Exists => matches!(kind, Kind::Open { .. }),
        }
    }
}

/// The operator that was written, or what is wrong with it.
pub(super) fn read(word: &Spanned<String>) -> Result<Operator, RuleError> {
    Operator::of_word(&word.value).ok_or_else(|| {
        RuleError::new(Code::UnknownOperator, word.span, format!("no operator is called `{}`", word.value))
            .help(choose(&word.value, &Operator::WORDS))
    })
}

/// Checks operator and value against the kind.
pub(super) fn make(
    path: &str,
    target: Target,
    operator: Operator,
    at: Span,
    value: &ValueSource,
) -> Result<Made, RuleError> {
    if let Target::Fact(kind) = target
        && !operator.fits(kind)
    {
        let fitting: Vec<&str> =
            Operator::ALL.into_iter().filter(|other| other.fits(kind)).map(Operator::as_str).collect();
        let message = format!("`{}` does not fit `{path}`, which is {}", operator.as_str(), kind.noun());
        return Err(
            RuleError::new(Code::WrongType, at, message).help(format!("use one of {}", listed(&fitting)))
        );
    }
    if operator == Operator::Exists {
        return match value.value {
            Written::Bool(wanted) => Ok(Made { check: Check::Exists, negated: !wanted }),
            _ => Err(wrong(path, value, "`true` or `false`")),
        };
    }
    let values = values(path, operator, value)?;
    let check = match target {
        Target::Argument => argument(path, operator, &values)?,
        Target::Fact(kind) => fact(path, kind, operator, &values)?,
    };
    Ok(Made { check, negated: false })
}

/// The values to compare with: those of a list under `in`, the one otherwise.
fn values<'v>(
    path: &str,
    operator: Operator,
    value: &'v ValueSource,
) -> Result<Vec<&'v ValueSource>, RuleError> {
    match (operator, &value.value) {
        (Operator::In, Written::List(list)) if list.is_empty() => {
            Err(RuleError::new(Code::EmptyCondition, value.span, "`in` with an empty list never holds")
                .help("list the values, or leave the test out"))
        }
        (Operator::In, Written::List(list)) if list.len() > limits::VALUES => {
            let message =
                format!("the list has {} values, and at most {} are allowed", list.len(), limits::VALUES);
            Err(RuleError::new(Code::TooLarge, value.span, message)
                .help("make several rules of it, or use `matches` with a pattern"))
        }
        (Operator::In, Written::List(list)) => Ok(list.iter().collect()),
        (Operator::In, _) => Err(wrong(path, value, "a list")),
        (_, Written::List(_)) => {
            let message = format!("`{}` takes one value, not a list", operator.as_str());
            Err(RuleError::new(Code::WrongType, value.span, message)
                .help("to allow several values write `in`"))
        }
        _ => Ok(vec![value]),
    }
}

fn fact(path: &str, kind: Kind, operator: Operator, values: &[&ValueSource]) -> Result<Check, RuleError> {
    match kind {
        Kind::Bool => {
            let mut bits = 0;
            for value in values {
                match value.value {
                    Written::Bool(flag) => bits |= if flag { 2 } else { 1 },
                    _ => return Err(wrong(path, value, kind.noun())),
                }
            }
            Ok(Check::Among(bits))
        }
        Kind::Int(..) => numbers(path, operator, values),
        Kind::Str | Kind::Open { .. } if operator == Operator::Matches => matches(path, kind, values),
        Kind::Str => texts(path, values, false),
        Kind::Open { folded } => texts(path, values, folded),
        Kind::Set(words) => Ok(Check::Has(bits(path, words, values)?)),
        Kind::OneOf(words) => Ok(Check::Among(bits(path, words, values)?)),
        Kind::Enum { words, .. } => {
            let bits = bits(path, words, values)?;
            let all = u64::MAX >> (64_usize.saturating_sub(words.len()));
            Ok(Check::Among(match operator {
                Operator::GreaterThan => all & !(bits | bits.wrapping_sub(1)),
                Operator::LessThan => bits.wrapping_sub(1) & all,
                _ => bits,
            }))
        }
    }
}

/// An argument's kind is that of the value it is compared with; under `in` all must be of one kind.
fn argument(path: &str, operator: Operator, values: &[&ValueSource]) -> Result<Check, RuleError> {
    match (operator, values.first().map(|value| &value.value)) {
        (Operator::Contains, _) => {
            let at = values.first().map_or(Span::default(), |value| value.span);
            Err(RuleError::new(
                Code::WrongType,
                at,
                format!("`contains` does not fit `{path}`, which is an argument"),
            )
            .help("use `equals`, `in` or `matches`"))
        }
        (Operator::Matches, _) => matches(path, Kind::Str, values),
        (Operator::GreaterThan | Operator::LessThan, _) | (_, Some(Written::Int(_))) => {
            numbers(path, operator, values)
        }
        (_, Some(Written::Bool(_))) => fact(path, Kind::Bool, operator, values),
        _ => texts(path, values, false),
    }
}

fn numbers(path: &str, operator: Operator, values: &[&ValueSource]) -> Result<Check, RuleError> {
    let mut numbers = Vec::with_capacity(values.len());
    for value in values {
        match value.value {
            Written::Int(number) => numbers.push(number),
            _ => return Err(wrong(path, value, "a whole number")),
        }
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(match (operator, numbers.first()) {
        (Operator::GreaterThan, Some(bound)) => Check::Above(*bound),
        (Operator::LessThan, Some(bound)) => Check::Below(*bound),
        _ => Check::Number(numbers.into()),
    })
}

fn texts(path: &str, values: &[&ValueSource], folded: bool) -> Result<Check, RuleError> {
    let mut texts: Vec<Box<str>> = Vec::with_capacity(values.len());
    for value in values {
        match &value.value {
            Written::Text(text) if folded => texts.push(text.to_ascii_lowercase().into()),
            Written::Text(text) => texts.push(text.as_str().into()),
            _ => return Err(wrong(path, value, "text")),
        }
    }
    texts.sort_unstable_by(|a, b| by_length(a, b));
    texts.dedup();
    Ok(Check::Text(texts.into()))
}

fn matches(path: &str, kind: Kind, values: &[&ValueSource]) -> Result<Check, RuleError> {
    let Some(value) = values.first() else { return Ok(Check::Text(Box::default())) };
    let Written::Text(pattern) = &value.value else { return Err(wrong(path, value, "text")) };
    let folded = matches!(kind, Kind::Open { folded: true });
    let pattern = if folded { pattern.to_ascii_lowercase() } else { pattern.clone() };
    Glob::new(&pattern).map(Check::Matches).ok_or_else(|| {
        let message = format!("the pattern is longer than {} characters", LONGEST_GLOB);
        RuleError::new(Code::TooLarge, value.span, message)
            .help("write a shorter one; `*` stands for any run of characters")
    })
}

/// The places of the words in the kind's list, as bits.
fn bits(path: &str, words: &'static [&'static str], values: &[&ValueSource]) -> Result<u64, RuleError> {
    let mut bits = 0;
    for value in values {
        let Written::Text(word) = &value.value else {
            let error = wrong(path, value, "a word");
            return Err(RuleError { suggestion: format!("use one of {}", listed(words)), ..error });
        };
        let Some(place) = words.iter().position(|known| known == word) else {
            return Err(RuleError::new(
                Code::OutsideDomain,
                value.span,
                format!("`{word}` is no value of `{path}`"),
            )
            .help(choose(word, words)));
        };
        bits |= 1 << place;
    }
    Ok(bits)
}

fn wrong(path: &str, value: &ValueSource, wanted: &str) -> RuleError {
    let found = match &value.value {
        Written::Bool(_) => "`true` or `false`",
        Written::Int(_) => "a number",
        Written::Text(_) => "text",
        Written::List(_) => "a list",
        Written::Other(what) => what,
    };
    let help = match (&value.value, wanted) {
        (_, "a list") => "write the values in square brackets",
        (Written::Bool(_) | Written::Int(_), "text" | "a word") => "put it in quotes to make it text",
        (Written::Text(text), "`true` or `false`") if matches!(text.as_str(), "true" | "false") => {
            "leave the quotes out"
        }
        (Written::Text(text), "a whole number") if text.parse::<i64>().is_ok() => "leave the quotes out",
        (_, "`true` or `false`") => "write `true` or `false`",
        (_, "a whole number") => "write digits alone, such as `50`",
        _ => "write one text, in quotes if it looks like anything else",
    };
    let message = format!("`{path}` is compared with {wanted}, and this is {found}");
    RuleError::new(Code::WrongType, value.span, message).help(help)
}
