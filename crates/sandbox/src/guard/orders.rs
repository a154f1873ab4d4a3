//! What the guard is told: `--parent PID -- COMMAND ARGS…`.

use std::ffi::OsString;

use rustix::process::Pid;

/// The guard's orders.
#[derive(Debug)]
pub(super) struct Orders {
    /// The gateway, whose end is the child's end.
    pub(super) parent: Pid,
    /// The program.
    pub(super) command: OsString,
    /// Its arguments.
    pub(super) args: Vec<OsString>,
}

// === impl Orders ===

impl Orders {
    pub(super) fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, String> {
        let usage =
            || "usage: guard --parent PID -- COMMAND ARGS…; it is started by the gateway alone".to_owned();
        let mut arguments = arguments.into_iter();
        let parent = match (arguments.next(), arguments.next(), arguments.next()) {
            (Some(flag), Some(pid), Some(dashes)) if flag == "--parent" && dashes == "--" => pid,
            _ => return Err(usage()),
        };
        let parent =
            parent.to_str().and_then(|pid| pid.parse().ok()).and_then(Pid::from_raw).ok_or_else(usage)?;
        let command = arguments.next().ok_or_else(usage)?;
        Ok(Self { parent, command, args: arguments.collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Orders, String> {
        Orders::read(words.iter().map(OsString::from))
    }

    #[test]
    fn the_command_keeps_every_argument_as_it_came() {
        let orders = read(&["--parent", "42", "--", "prog", "--", "--parent", "1"]).unwrap();
        assert_eq!(orders.parent, Pid::from_raw(42).unwrap());
        assert_eq!(orders.command, "prog");
        assert_eq!(orders.args, ["--", "--parent", "1"]);
    }

    #[test]
    fn incomplete_orders_are_refused() {
        for words in [&[][..], &["--parent", "x", "--", "prog"], &["--parent", "1", "--"], &["prog"]] {
            assert!(read(words).is_err(), "{words:?}");
        }
    }
}
