//! The person's own browser, where there is one.

use std::process::{Command, Stdio};

use crate::environment::variable;

/// Shows a page. Whether that worked is said as far as it can be known.
pub(super) fn open(url: &str) -> bool {
    let program = match variable("BROWSER") {
        Some(program) if !program.is_empty() => program,
        _ if cfg!(target_os = "macos") => "open".to_owned(),
        _ if variable("DISPLAY").is_some() || variable("WAYLAND_DISPLAY").is_some() => "xdg-open".to_owned(),
        _ => return false,
    };
    let mut command = Command::new(program);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
