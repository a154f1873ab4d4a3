//! From when to when: a date, a moment, or so long ago.

use std::time::Duration;

use highwater_notation::{Timestamp, end_of};

const DAY: u64 = 86_400_000;

/// A span of the record; both ends may be open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Period {
    /// The first moment of it.
    pub(crate) since: Option<Timestamp>,
    /// The first moment after it.
    pub(crate) until: Option<Timestamp>,
}

// === impl Period ===

impl Period {
    /// Whether a moment is in it.
    pub(crate) fn contains(&self, time: Timestamp) -> bool {
        self.since.is_none_or(|since| time >= since) && self.until.is_none_or(|until| time < until)
    }

    /// A beginning: `2026-11-15` is its first moment, `2026-11-15T09:00:00Z` itself, `7d` so long before now.
    pub(crate) fn beginning(text: &str, now: Timestamp) -> Option<Timestamp> {
        match text.contains('T') {
            true => end_of(text),
            false => ago(text, now)
                .or_else(|| end_of(text).map(|Timestamp(end)| Timestamp(end.saturating_sub(DAY)))),
        }
    }

    /// An end: `2026-11-15` is the end of that day.
    pub(crate) fn end(text: &str, now: Timestamp) -> Option<Timestamp> {
        ago(text, now).or_else(|| end_of(text))
    }
}

fn ago(text: &str, now: Timestamp) -> Option<Timestamp> {
    let period: Duration = highwater_config::parse_period(text)?;
    let millis = u64::try_from(period.as_millis()).ok()?;
    Some(Timestamp(now.0.saturating_sub(millis)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_whole_and_a_duration_is_counted_back() {
        let now = Timestamp(1_794_736_194_163);
        let day = Timestamp(1_794_700_800_000);
        assert_eq!(Period::beginning("2026-11-15", now), Some(day));
        assert_eq!(Period::end("2026-11-15", now), Some(Timestamp(day.0 + DAY)));
        assert_eq!(Period::beginning("2026-11-15T01:00:00Z", now), Some(Timestamp(day.0 + 3_600_000)));
        assert_eq!(Period::beginning("2d", now), Some(Timestamp(now.0 - 2 * DAY)));
        for wrong in ["", "yesterday", "2026-13-01", "7 days"] {
            assert_eq!(Period::beginning(wrong, now), None, "{wrong}");
        }
    }

    #[test]
    fn the_end_is_not_part_of_it() {
        let period = Period { since: Some(Timestamp(5)), until: Some(Timestamp(9)) };
        assert!(period.contains(Timestamp(5)) && period.contains(Timestamp(8)));
        assert!(!period.contains(Timestamp(4)) && !period.contains(Timestamp(9)));
        assert!(Period::default().contains(Timestamp(0)));
    }
}
