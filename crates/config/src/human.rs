//! Sizes and durations as people write them: `4MiB`, `1h30m`.

use std::borrow::Cow;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer};

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) usize);

/// A span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Period(pub(crate) Duration);

/// Text that may also be written as a number or a truth value, which then counts as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scalar(pub(crate) String);

/// Reads a span of time as the configuration has them: `90s`, `1h30m`, `7d`.
pub fn parse_period(text: &str) -> Option<Duration> {
    Period::parse(text).map(|Period(period)| period)
}

const SIZE_UNITS: [(&str, usize); 7] = [
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
];

const PERIOD_UNITS: [(&str, u64); 5] =
    [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// Ten years: longer is a slip of the pen, and would overflow deadlines.
const MAX_PERIOD: u64 = 3_650 * 86_400_000;

/// Splits `30s` into `30` and `s`.
fn number_and_rest(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    Some((digits.parse().ok()?, rest))
}

impl Size {
    fn parse(text: &str) -> Option<Self> {
        let (number, unit) = number_and_rest(text.trim())?;
        let unit = unit.trim_start();
        let unit = if unit.is_empty() { "B" } else { unit };
        let (_, factor) = SIZE_UNITS.iter().find(|(name, _)| *name == unit)?;
        usize::try_from(number).ok()?.checked_mul(*factor).map(Self)
    }
}

impl Period {
    fn parse(text: &str) -> Option<Self> {
        let mut rest = text.trim();
        let mut total: u64 = 0;
        // Units must fall, so that `5m1h` and `1h1h` are slips and not sums.
        let mut ceiling = u64::MAX;
        while !rest.is_empty() {
            let (number, tail) = number_and_rest(rest)?;
            let end = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
            let (unit, tail) = tail.split_at_checked(end)?;
            let (_, factor) = PERIOD_UNITS.iter().find(|(name, _)| *name == unit.trim())?;
            if *factor >= ceiling {
                return None;
            }
            ceiling = *factor;
            total = total.checked_add(number.checked_mul(*factor)?)?;
            rest = tail;
        }
        (ceiling != u64::MAX && total <= MAX_PERIOD).then(|| Self(Duration::from_millis(total)))
    }
}

// === reading ===

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Scalar(text) = Scalar::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            de::Error::custom(format!(
                "`{text}` is not a size\nwrite a number of bytes, or a number with KiB, MiB or GiB: `4MiB`"
            ))
        })
    }
}

impl<'de> Deserialize<'de> for Period {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Scalar(text) = Scalar::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            de::Error::custom(format!(
                "`{text}` is not a duration\nwrite a number with ms, s, m, h or d: `30s`, `1h30m`"
            ))
        })
    }
}

// === schemas ===

impl JsonSchema for Size {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "integer"], "format": "size", "pattern": "^[0-9]+ *(B|KiB|MiB|GiB|kB|MB|GB)?$", "minimum": 1 })
    }
}

impl JsonSchema for Period {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Period".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "period", "pattern": "^([0-9]+ *(ms|s|m|h|d))+$" })
    }
}

impl JsonSchema for Scalar {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Scalar".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "number", "boolean"] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("0", Some(0)),
            ("512", Some(512)),
            ("512B", Some(512)),
            ("4MiB", Some(4 << 20)),
            ("4 MiB", Some(4 << 20)),
            ("4MB", Some(4_000_000)),
            ("4M", None),
            ("4mib", None),
            ("-4", None),
            ("4.5MiB", None),
            ("", None),
            ("MiB", None),
            ("99999999999999999999", None),
            ("18446744073709551615GiB", None),
        ] {
            assert_eq!(Size::parse(text).map(|size| size.0), bytes, "{text}");
        }
    }

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, milliseconds) in [
            ("250ms", Some(250)),
            ("30s", Some(30_000)),
            ("1h30m", Some(5_400_000)),
            ("2d", Some(172_800_000)),
            ("0s", Some(0)),
            ("30", None),
            ("s", None),
            ("", None),
            ("5m1h", None),
            ("1h1h", None),
            ("1.5s", None),
            ("-1s", None),
            ("99999d", None),
            ("18446744073709551615d", None),
        ] {
            let read = Period::parse(text).map(|period| period.0.as_millis());
            assert_eq!(read, milliseconds, "{text}");
        }
    }
}
