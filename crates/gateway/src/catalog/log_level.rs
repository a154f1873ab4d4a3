//! The log level of a server: the most verbose that any client wants.

use std::sync::PoisonError;

use highwater_upstream::control::{ControlMessage, LogLevel};

use super::server::CatalogServer;

// === impl CatalogServer ===

impl CatalogServer {
    /// Sets the server's log level if a client wants more than it was set to.
    pub(crate) async fn want_log_level(&self, level: LogLevel) {
        {
            let mut set = self.log_level.lock().unwrap_or_else(PoisonError::into_inner);
            if set.is_some_and(|set| set <= level) {
                return;
            }
            *set = Some(level);
        }
        // One that is still starting is told once it is up.
        if !self.is_seen() {
            return;
        }
        self.set_log_level(level).await;
    }

    pub(super) async fn resume_log_level(&self) {
        let level = *self.log_level.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(level) = level {
            self.set_log_level(level).await;
        }
    }

    async fn set_log_level(&self, level: LogLevel) {
        if let Err(error) = self.upstream.control(ControlMessage::LogLevel(level)).await {
            tracing::debug!(%error, "its log level could not be set");
            *self.log_level.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
}
