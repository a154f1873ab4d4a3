//! Approvals: what happens at most once, whatever happens at the same time.

mod ask;
mod consume;
mod enrollment;
mod grant;
pub(crate) mod scene;
mod standing;

pub(crate) use {ask::*, consume::*, enrollment::*, grant::*, standing::*};
