//! Times: milliseconds as a type of their own, and how the wire writes them (RFC 3339; with milliseconds in one spelling).

use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch. What is told the time never asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

const DAY: i64 = 24 * 60 * 60;

/// Reads `2026-11-15T16:40:00Z`, with a fraction or an offset if there is one.
pub fn parse_time(text: &str) -> Option<Timestamp> {
    let digits = |from: usize, to: usize| -> Option<i64> {
        let part = text.get(from..to)?;
        part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok())?
    };
    let is = |at: usize, byte: u8| text.as_bytes().get(at) == Some(&byte);
    let punctuated =
        is(4, b'-') && is(7, b'-') && (is(10, b'T') || is(10, b't')) && is(13, b':') && is(16, b':');
    punctuated.then_some(())?;
    let (year, month, day) = (digits(0, 4)?, digits(5, 7)?, digits(8, 10)?);
    let (hour, minute, second) = (digits(11, 13)?, digits(14, 16)?, digits(17, 19)?);
    let in_range = (1..=12).contains(&month)
        && (1..=days_of(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    in_range.then_some(())?;
    let mut rest = text.get(19..)?;
    let mut millis = 0;
    if let Some(fraction) = rest.strip_prefix('.') {
        let length = fraction.bytes().take_while(u8::is_ascii_digit).count();
        (length > 0).then_some(())?;
        let padded = format!("{:0<3}", fraction.get(..length.min(3))?);
        millis = padded.parse::<i64>().ok()?;
        rest = fraction.get(length..)?;
    }
    let offset = match rest {
        "Z" | "z" => 0,
        _ => {
            let sign = match rest.as_bytes().first()? {
                b'+' => 1,
                b'-' => -1,
                _ => return None,
            };
            let (hours, minutes) = rest.get(1..)?.split_once(':')?;
            let part = |part: &str, most: i64| {
                let right = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
                right.then(|| part.parse::<i64>().ok())?.filter(|value| *value <= most)
            };
            sign * (part(hours, 23)? * 3600 + part(minutes, 59)? * 60)
        }
    };
    let seconds = days_since_epoch(year, month, day) * DAY + hour * 3600 + minute * 60 + second - offset;
    u64::try_from(seconds * 1000 + millis).ok().map(Timestamp)
}

/// Writes a time to the second, in UTC.
pub fn write_time(time: Timestamp) -> String {
    let seconds = i64::try_from(time.0 / 1000).unwrap_or(i64::MAX);
    let (days, rest) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    let (year, month, day) = date(days);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01, in the Gregorian calendar whose years begin in March.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// Writes a time, such as `2026-11-15T12:00:00.000Z`.
pub fn to_iso(time: Timestamp) -> String {
    let seconds = write_time(time);
    format!("{}.{:03}Z", seconds.trim_end_matches('Z'), time.0 % 1000)
}

/// Reads a time in the spelling that [`to_iso`] has for it, and in no other.
pub fn from_iso(text: &str) -> Option<Timestamp> {
    parse_time(text).filter(|time| to_iso(*time) == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_written() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T12:00:00Z", 951_825_600),
            ("2026-11-15T16:40:00Z", 1_794_760_800),
            ("2100-03-01T00:00:00Z", 4_107_542_400),
        ] {
            assert_eq!(parse_time(text), Some(Timestamp(seconds * 1000)), "{text}");
            assert_eq!(write_time(Timestamp(seconds * 1000)), text);
        }
        assert_eq!(parse_time("1970-01-01T01:00:00.25+01:00"), Some(Timestamp(250)));
        assert_eq!(parse_time("1969-12-31T23:00:00-01:00"), Some(Timestamp(0)));
        for wrong in [
            "2026-11-15",
            "2026-13-01T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-11-15T24:00:00Z",
            "2026-11-15T16:40:00",
            "2026-11-15T16:40:00.Z",
            "2026-11-15T16:40:00+1:00",
            "2026-11-15 16:40:00Z",
            "1969-12-31T23:59:59Z",
        ] {
            assert_eq!(parse_time(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn times_are_written_and_read_in_one_way() {
        for (time, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_794_744_000_123, "2026-11-15T12:00:00.123Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(to_iso(Timestamp(time)), text);
            assert_eq!(from_iso(text), Some(Timestamp(time)));
        }
        for bad in [
            "",
            "2026-11-15",
            "2026-11-15T12:00:00Z",
            "2026-11-15t12:00:00.123Z",
            "2026-11-15T12:00:00.123Z ",
            "2026-02-30T12:00:00.123Z",
            "2026-13-01T12:00:00.123Z",
            "2026-11-15T24:00:00.000Z",
            "99999999999999999999-11-15T12:00:00.123Z",
        ] {
            assert_eq!(from_iso(bad), None, "{bad}");
        }
    }
}
