//! Boxes a rarely awaited future, so that neither its state nor its code is part of the future that may await it.

use std::future::Future;
use std::pin::Pin;

/// Boxes a large future that few calls wait for. Awaited as it is, every call would be born with room for it, and its code
/// would lie amid the code of every call. That has a price of its own: on a machine that slept until the call came,
/// fetching code is most of the work.
#[inline(never)]
pub fn box_cold<'a, T>(
    future: impl Future<Output = T> + Send + 'a,
) -> Pin<Box<dyn Future<Output = T> + Send + 'a>> {
    Box::pin(future)
}
