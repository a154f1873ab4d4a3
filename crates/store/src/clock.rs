//! The time of day, for rows that people read and for sessions that follow each other closely.

use std::time::{SystemTime, UNIX_EPOCH};

use highwater_notation::Timestamp;

/// Milliseconds since the Unix epoch.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// The same as the core writes it.
pub(crate) fn timestamp() -> Timestamp {
    Timestamp(now().unsigned_abs())
}
