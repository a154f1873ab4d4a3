//! What few calls need, kept out of the way of what every call runs.

use std::future::Future;
use std::pin::Pin;

/// Boxes a future that few calls wait for. Awaited as it is, every call would be born with room for it, and its code
/// would lie amid the code of every call. That has a price of its own: on a machine that slept until the call came,
/// fetching code is most of the work.
#[inline(never)]
pub fn apart<'a, T>(
    future: impl Future<Output = T> + Send + 'a,
) -> Pin<Box<dyn Future<Output = T> + Send + 'a>> {
    Box::pin(future)
}
