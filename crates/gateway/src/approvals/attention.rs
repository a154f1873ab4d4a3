//! Raising a person's attention: the browser, the desktop. Seldom: whoever is asked without end learns to say yes.

use std::collections::HashMap;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use highwater_core::id::UserId;
use highwater_store::ApprovalRequest;
use tokio::time::Instant;

use super::Desk;

/// How often one person is called at most. What comes between is in the inbox.
const EVERY: Duration = Duration::from_secs(10);

/// How many people are remembered.
const MOST_USERS: usize = 1024;

/// When each person was last called.
#[derive(Default)]
pub(super) struct Attention(Mutex<HashMap<UserId, Instant>>);

// === impl Attention ===

impl Attention {
    /// Whether a person may be called now; notes that they are.
    fn may_call(&self, user: &UserId) -> bool {
        let mut called = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        called.retain(|_, last| now.duration_since(*last) < EVERY);
        if called.contains_key(user) || called.len() >= MOST_USERS {
            return false;
        }
        called.insert(user.clone(), now);
        true
    }
}

// === impl Desk ===

impl Desk {
    /// Calls the person to a new request, unless they were called a moment ago.
    pub(super) fn call_attention(&self, request: &ApprovalRequest) {
        let settings = self.settings();
        if !(settings.open_browser || settings.notify) || !self.attention.may_call(&request.user) {
            return;
        }
        let url = self.url(&request.id);
        if settings.notify {
            // The name of the tool and nothing else: the arguments are for the page.
            let text = format!("{} waits for you: {url}", request.tool.as_str());
            run(notification(&text));
        }
        if settings.open_browser {
            run(browser(&url));
        }
    }
}

/// Opens the page where there is a screen that a person may sit in front of: without one a browser would open in a
/// terminal.
fn browser(url: &str) -> Command {
    let mut command;
    if cfg!(target_os = "macos") {
        command = Command::new("open");
        command.arg(url);
    } else {
        command = Command::new("sh");
        // As an argument, so that no address can be part of the script.
        command.args(["-c", r#"[ -z "$DISPLAY$WAYLAND_DISPLAY" ] || exec xdg-open "$1""#, "sh", url]);
    }
    command
}

fn notification(text: &str) -> Command {
    if cfg!(target_os = "macos") {
        let mut command = Command::new("osascript");
        // As an argument, so that no text can be part of the script.
        command.args([
            "-e",
            "on run argv",
            "-e",
            "display notification (item 1 of argv) with title \"Highwater\"",
        ]);
        command.args(["-e", "end run", text]);
        command
    } else {
        let mut command = Command::new("notify-send");
        command.args(["--app-name=Highwater", "Highwater", text]);
        command
    }
}

/// Starts a program of the desktop. Whether it works is of no concern: the page and the inbox are there anyway.
fn run(mut command: Command) {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    std::thread::spawn(move || {
        if let Err(error) = command.status() {
            tracing::debug!(%error, "the desktop could not be told of a request");
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_person_is_called_once_in_ten_seconds() {
        let attention = Attention::default();
        let (ada, ben) = (UserId::new("ada"), UserId::new("ben"));
        assert!(attention.may_call(&ada));
        assert!(!attention.may_call(&ada));
        assert!(attention.may_call(&ben));
        tokio::time::advance(EVERY).await;
        assert!(attention.may_call(&ada));
    }
}
