//! The moment at which something is over that is written with its last day.

use super::time::Timestamp;

const DAY: u64 = 86_400_000;

/// The first moment at which something that is written with this last day is over: the end of the named day (UTC), or
/// the moment itself. For waivers and for tokens.
pub fn end_of(until: &str) -> Option<Timestamp> {
    let (date, time) = match until.split_once('T') {
        Some((date, time)) => (date, Some(time.strip_suffix('Z')?)),
        None => (until, None),
    };
    let start = start_of_day(date)?;
    let end = match time {
        None => start.checked_add(DAY)?,
        Some(time) => start.checked_add(within_day(time)?)?,
    };
    Some(Timestamp(end))
}

fn start_of_day(date: &str) -> Option<u64> {
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let months = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let before = months.get(..usize::try_from(month.checked_sub(1)?).ok()?)?.iter().sum::<u64>();
    let length = months.get(usize::try_from(month - 1).ok()?)?;
    if year < 1970 || !(1..=*length).contains(&day) {
        return None;
    }
    let last = year - 1;
    let leap_days = (last / 4 - last / 100 + last / 400) - (1969 / 4 - 1969 / 100 + 1969 / 400);
    Some(((year - 1970) * 365 + leap_days + before + day - 1) * DAY)
}

fn within_day(time: &str) -> Option<u64> {
    let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
    (hour < 24 && minute < 60 && second < 60).then_some(((hour * 60 + minute) * 60 + second) * 1000)
}

/// Numbers of exactly these widths.
fn numbers(text: &str, between: char, widths: [usize; 3]) -> Option<[u64; 3]> {
    let mut parts = text.split(between);
    let mut found = [0; 3];
    for (place, width) in found.iter_mut().zip(widths) {
        let part = parts.next()?;
        if part.len() != width || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        *place = part.parse().ok()?;
    }
    parts.next().is_none().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_in_force_until_it_has_passed() {
        assert_eq!(end_of("1970-01-01"), Some(Timestamp(DAY)));
        assert_eq!(end_of("2027-01-31"), Some(Timestamp(1_801_440_000_000)));
        assert_eq!(end_of("2028-02-29"), Some(Timestamp(1_835_481_600_000)));
        assert_eq!(end_of("2027-01-31T12:00:00Z"), Some(Timestamp(1_801_396_800_000)));
    }

    #[test]
    fn what_is_no_day_is_refused() {
        for wrong in [
            "2027-02-29",
            "2027-13-01",
            "2027-00-10",
            "27-1-1",
            "2027-01-31T12:00:00",
            "tomorrow",
            "",
            "2027-1-031",
        ] {
            assert_eq!(end_of(wrong), None, "{wrong}");
        }
    }
}
