//! Approvals: what happens at most once, whatever happens at the same time.

mod ask;
mod consume;
mod enrollment;
mod grant;
#[allow(dead_code, reason = "PostgreSQL has a clock of its own")]
mod histories;
#[allow(dead_code, reason = "PostgreSQL has a clock of its own")]
mod later;
pub(crate) mod outstanding;
mod reset;
pub(crate) mod scene;
mod standing;

#[allow(unused_imports, reason = "PostgreSQL has a clock of its own")]
pub(crate) use later::*;
pub(crate) use {ask::*, consume::*, enrollment::*, grant::*, histories::*, reset::*, standing::*};
