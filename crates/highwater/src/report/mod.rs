//! What a time of observing shows: what `balanced` would have asked or refused, and which few labels would remove most of
//! it. Each label is tried on the whole record before it is named.

mod period;
mod record;
mod remedies;
mod tell;
#[cfg(test)]
mod tests;

pub(crate) use period::Period;
pub(crate) use record::Report;
pub(crate) use remedies::remedies;
pub(crate) use tell::{data, text};
