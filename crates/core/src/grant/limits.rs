//! How much of a token's time the gateway gives: calls a minute, and calls at once.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

/// The bounds on what one token asks. No bound where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Requests a minute, evenly: a minute's worth may come at once, then one each time its share of the minute is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_minute: Option<NonZeroU32>,
    /// Requests that are being served at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<NonZeroU32>,
}
