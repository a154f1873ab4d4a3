//! What a fact says of one action: a value, several possible values, or that nobody knows.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The value of a fact. Words are numbered by their place in the fact's kind, and sets of them are bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Val<'a> {
    /// Of a Bool, an enum or a possible set: the values it may have. Exactly one bit is a known value.
    Among(u64),
    /// Of a closed set: its members, and those that may be members besides.
    Set {
        /// These are members.
        has: u64,
        /// Each of these may be one.
        may: u64,
    },
    /// Of a number: the bounds it lies between, both included.
    Int {
        /// The least it can be.
        least: i64,
        /// The most it can be.
        most: i64,
    },
    /// A text.
    Text(&'a str),
    /// Of an open set: its members, which may come from two places.
    Texts {
        /// Members.
        members: &'a [Arc<str>],
        /// Further members.
        others: &'a [Arc<str>],
        /// Why there may be members besides, if there may be.
        open: Option<Because>,
    },
    /// There is no such thing here: a prompt has no resource URI. No test on it holds.
    Absent,
    /// Nobody knows.
    Unknown(Because),
}

/// Why the outcome of a test is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Because {
    /// Several values are possible and no one has narrowed them.
    SeveralPossible,
    /// Nobody said anything.
    Undeclared,
    /// The call has no such argument.
    ArgumentMissing,
    /// The argument is of another type than the operator reads.
    ArgumentOfOtherType,
    /// In some spellings the text passes, in others it does not.
    SpelledOtherwise,
    /// The arguments are not chosen yet, or cannot be read.
    ArgumentsUnknown,
    /// The set outgrew its bound; members may be missing from it.
    Truncated,
    /// The label may have risen elsewhere.
    LabelMayRise,
    /// Nobody has looked into the text.
    NotInspected,
    /// The fact is not known at this point of the road.
    OtherPhase,
}

// === impl Val ===

impl<'a> Val<'a> {
    /// True or false.
    pub fn flag(value: bool) -> Self {
        Self::Among(if value { 2 } else { 1 })
    }

    /// The word at this place of the kind's list.
    pub fn word(index: u32) -> Self {
        Self::Among(1_u64.checked_shl(index).unwrap_or(0))
    }

    /// A number.
    pub fn number(value: i64) -> Self {
        Self::Int { least: value, most: value }
    }

    /// A closed set with exactly these members.
    pub fn set(has: u64) -> Self {
        Self::Set { has, may: 0 }
    }

    /// An open set with these members, and perhaps more.
    pub fn texts(members: &'a [Arc<str>], open: bool) -> Self {
        Self::Texts { members, others: &[], open: open.then_some(Because::Truncated) }
    }

    /// What is known when the value is at least this one and at most `most`, because the label may have risen.
    ///
    /// Both are values of one fact, read at two labels.
    pub fn up_to(self, most: Self) -> Self {
        match (self, most) {
            (least, most) if least == most => least,
            (Self::Among(least), Self::Among(most)) => Self::Among(between(least, most)),
            (Self::Set { has, .. }, Self::Set { has: later, may }) => {
                Self::Set { has, may: (later | may) & !has }
            }
            (Self::Int { least: a, most: b }, Self::Int { least: c, most: d }) => {
                Self::Int { least: a.min(c), most: b.max(d) }
            }
            (Self::Texts { members, others, .. }, Self::Texts { .. }) => {
                Self::Texts { members, others, open: Some(Because::LabelMayRise) }
            }
            _ => Self::Unknown(Because::LabelMayRise),
        }
    }
}

/// Every bit from the lowest to the highest of both: an ordered fact passes through all of them.
fn between(a: u64, b: u64) -> u64 {
    let both = a | b;
    if both == 0 {
        return 0;
    }
    let below_highest = u64::MAX >> both.leading_zeros();
    let from_lowest = u64::MAX << both.trailing_zeros();
    below_highest & from_lowest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_may_rise_is_all_that_lies_between() {
        assert_eq!(Val::flag(false).up_to(Val::flag(true)), Val::Among(0b11));
        assert_eq!(Val::flag(true).up_to(Val::flag(true)), Val::flag(true));
        // Integrity falls: from `system` (3) to `none` (0).
        assert_eq!(Val::word(3).up_to(Val::word(0)), Val::Among(0b1111));
        assert_eq!(Val::set(0b001).up_to(Val::set(0b101)), Val::Set { has: 0b001, may: 0b100 });
        assert_eq!(Val::number(10).up_to(Val::number(90)), Val::Int { least: 10, most: 90 });
    }
}
