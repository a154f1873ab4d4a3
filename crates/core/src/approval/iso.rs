//! Times as the wire has them: ISO 8601 in UTC with milliseconds, one spelling for one time.

use crate::id::Timestamp;
use crate::pin::{parse_time, write_time};

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
