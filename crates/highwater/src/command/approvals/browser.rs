//! The person's own browser, where there is one.

use std::process::{Command, Stdio};

use highwater_gateway::open_location;

use crate::environment::variable;

/// Whether there is one that a person may sit in front of.
pub(crate) fn is_there() -> bool {
    cfg!(target_os = "macos") || program().is_some()
}

/// Shows a page. Whether that worked is said as far as it can be known.
pub(crate) fn open(url: &str) -> bool {
    let Some(program) = program() else {
        return cfg!(target_os = "macos") && open_location(url).is_ok_and(|status| status.success());
    };
    // Other users can read the arguments of a program. On Linux the page knows them by their connections; elsewhere it
    // gets nothing that they must not see.
    let url = if cfg!(target_os = "linux") { url } else { url.split('#').next().unwrap_or(url) };
    let mut command = Command::new(program);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The program that shows it.
fn program() -> Option<String> {
    match variable("BROWSER") {
        Some(program) if !program.is_empty() => Some(program),
        _ if cfg!(target_os = "macos") => None,
        _ if variable("DISPLAY").is_some() || variable("WAYLAND_DISPLAY").is_some() => {
            Some("xdg-open".to_owned())
        }
        _ => None,
    }
}
