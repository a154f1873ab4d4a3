//! Moments as people write them, in UTC.

use highwater_notation::Timestamp;

const DAY: u64 = 24 * 60 * 60 * 1000;

/// `2026-11-15 12:34:56 UTC`
pub(crate) fn moment(time: Timestamp) -> String {
    format!("{} {} UTC", date(time), clock(time))
}

/// `12:34:56`
pub(crate) fn clock(time: Timestamp) -> String {
    let seconds = time.0 % DAY / 1000;
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// `2026-11-15`
pub(crate) fn date(time: Timestamp) -> String {
    let (year, month, day) = civil(time.0 / DAY);
    format!("{year:04}-{month:02}-{day:02}")
}

/// So many days later.
pub(crate) fn days_after(time: Timestamp, days: u64) -> Timestamp {
    Timestamp(time.0.saturating_add(days * DAY))
}

/// The date that lies so many days after 1 January 1970. Years are counted from March, so that the leap day is the last.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_as_date_and_time() {
        for (millis, written) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_399_000, "2000-02-28 23:59:59 UTC"),
            (951_868_800_000, "2000-03-01 00:00:00 UTC"),
            (1_709_208_000_000, "2024-02-29 12:00:00 UTC"),
            (1_794_736_194_163, "2026-11-15 09:49:54 UTC"),
            (4_107_542_399_999, "2100-02-28 23:59:59 UTC"),
            (4_107_542_400_000, "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(moment(Timestamp(millis)), written);
        }
    }

    #[test]
    fn days_are_added_across_the_end_of_a_month() {
        assert_eq!(date(days_after(Timestamp(1_794_736_194_163), 30)), "2026-12-15");
    }
}
