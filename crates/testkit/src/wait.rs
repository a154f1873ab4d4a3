//! Waiting for what must come about, with one bound for all of it.

use std::time::Duration;

use anyhow::ensure;
use tokio::time::Instant;

/// How long anything that must come about may take. It only decides how late a test fails: one that passes waits for the
/// event itself, so this is far more than a busy machine needs.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// How often something is looked at that does not tell when it changes, such as a file.
const INTERVAL: Duration = Duration::from_millis(5);

/// Looks until there is something, and returns it. `what` names it if it never comes.
pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> anyhow::Result<T> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look().await {
            return Ok(found);
        }
        next_look(what, deadline).await?;
    }
}

/// Waits until a condition holds. `what` names it if it never does.
pub async fn until_true(what: &str, mut holds: impl FnMut() -> bool) -> anyhow::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        next_look(what, deadline).await?;
    }
    Ok(())
}

async fn next_look(what: &str, deadline: Instant) -> anyhow::Result<()> {
    ensure!(Instant::now() < deadline, "{what}: not within {PATIENCE:?}");
    tokio::time::sleep(INTERVAL).await;
    Ok(())
}
