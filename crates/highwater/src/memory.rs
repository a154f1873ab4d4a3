//! Keeps the memory of this process to itself: it holds tokens, keys and what agents read.

use crate::exit::Failure;

/// Makes the process undumpable: it leaves no core dump, and other processes of the same account can neither attach to it
/// nor read its memory or environment in `/proc`. Programs that it starts are dumpable again.
#[cfg(target_os = "linux")]
pub(crate) fn protect() -> Result<(), Failure> {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};

    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(|error| {
        Failure::failed(format_args!("cannot keep the memory of the process private: {error}"))
    })
}

/// Other systems have no such thing.
#[cfg(not(target_os = "linux"))]
pub(crate) fn protect() -> Result<(), Failure> {
    Ok(())
}
