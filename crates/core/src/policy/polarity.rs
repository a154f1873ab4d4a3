//! Which way a test moves as the label of the session rises.
//!
//! A rule must never fall silent because a session took in more, nor a waiver begin to apply: that is what makes
//! the same answer right on every replica, whichever of them has heard the latest.

use super::condition::Check;
use super::kind::{Kind, Rises};

/// The ways in which a test may move. A test on a fact that has nothing to do with the label moves in neither,
/// and so is sound in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moves {
    /// Once it holds it goes on holding.
    pub only_up: bool,
    /// Once it fails it goes on failing.
    pub only_down: bool,
}

/// How the test moves.
pub(super) fn of(check: &Check, kind: Kind, rises: Rises, negated: bool) -> Moves {
    let rises = if negated { rises.reversed() } else { rises };
    match rises {
        Rises::No => Moves { only_up: true, only_down: true },
        Rises::Up => rising(check, kind),
        Rises::Down => {
            let Moves { only_up, only_down } = rising(check, kind);
            Moves { only_up: only_down, only_down: only_up }
        }
    }
}

/// How a test moves on a fact that can only rise.
fn rising(check: &Check, kind: Kind) -> Moves {
    match check {
        Check::Among(wanted) => {
            let ordered = matches!(kind, Kind::Bool | Kind::Enum { ordered: true, .. });
            let all = u64::MAX >> (64_usize.saturating_sub(kind.words().map_or(0, <[_]>::len)));
            Moves { only_up: ordered && lower_end(all & !wanted), only_down: ordered && lower_end(*wanted) }
        }
        Check::Has(_) | Check::Text(_) | Check::Matches(_) | Check::Exists => match kind {
            Kind::Set(_) | Kind::Open { .. } => Moves { only_up: true, only_down: false },
            Kind::Bool | Kind::Int(..) | Kind::Str | Kind::Enum { .. } | Kind::OneOf(_) => {
                Moves { only_up: false, only_down: false }
            }
        },
        Check::Above(_) => Moves { only_up: true, only_down: false },
        Check::Below(_) => Moves { only_up: false, only_down: true },
        Check::Number(_) => Moves { only_up: false, only_down: false },
    }
}

/// Whether the bits are a run from the lowest on, or none.
fn lower_end(bits: u64) -> bool {
    bits & bits.wrapping_add(1) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const UP: Moves = Moves { only_up: true, only_down: false };
    const DOWN: Moves = Moves { only_up: false, only_down: true };
    const NEITHER: Moves = Moves { only_up: false, only_down: false };
    const LEVELS: Kind = Kind::Enum { words: &["a", "b", "c"], ordered: true };

    #[test]
    fn each_test_moves_as_the_table_says() {
        for (check, kind, expected) in [
            (Check::Among(0b10), Kind::Bool, UP),
            (Check::Among(0b01), Kind::Bool, DOWN),
            (Check::Among(0b100), LEVELS, UP),
            (Check::Among(0b110), LEVELS, UP),
            (Check::Among(0b001), LEVELS, DOWN),
            (Check::Among(0b011), LEVELS, DOWN),
            (Check::Among(0b010), LEVELS, NEITHER),
            (Check::Among(0b101), LEVELS, NEITHER),
            (Check::Has(1), Kind::Set(&["a", "b"]), UP),
            (Check::Exists, Kind::Open { folded: false }, UP),
            (Check::Above(5), Kind::Int(0, 100), UP),
            (Check::Below(5), Kind::Int(0, 100), DOWN),
            (Check::Number([5].into()), Kind::Int(0, 100), NEITHER),
        ] {
            assert_eq!(of(&check, kind, Rises::Up, false), expected, "{check:?}");
            let turned = Moves { only_up: expected.only_down, only_down: expected.only_up };
            assert_eq!(of(&check, kind, Rises::Up, true), turned, "not {check:?}");
            assert_eq!(of(&check, kind, Rises::Down, false), turned, "falling {check:?}");
            assert_eq!(of(&check, kind, Rises::Down, true), expected, "not falling {check:?}");
            assert_eq!(of(&check, kind, Rises::No, false), Moves { only_up: true, only_down: true });
        }
    }
}
