//! Boxes for futures that are made where they will live.

use std::pin::Pin;

/// Boxes a future. A call's future is some kilobytes of which only what it captures is filled in at first; made after
/// its box it is written there, where `Box::pin` would make it on the stack and copy all of it.
#[inline(always)]
pub(crate) fn boxed<F>(make: impl FnOnce() -> F) -> Pin<Box<F>> {
    let place = Box::new_uninit();
    Box::into_pin(Box::write(place, make()))
}
