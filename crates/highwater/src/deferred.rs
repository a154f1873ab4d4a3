//! Arguments of a command that are defined when the command is chosen. A gateway would otherwise begin with the definitions
//! of all options of all commands, and keep their memory.

use std::sync::atomic::{AtomicBool, Ordering};

use clap::error::Error;
use clap::{ArgMatches, Args, Command, FromArgMatches};

/// Set where all of the command line is wanted, and not what one command takes.
static AT_ONCE: AtomicBool = AtomicBool::new(false);

/// The arguments `T`.
#[derive(Debug)]
pub(crate) struct Deferred<T>(pub(crate) T);

/// From here on arguments are defined when their command is.
pub(crate) fn define_at_once() {
    AT_ONCE.store(true, Ordering::Relaxed);
}

impl<T: Args> Args for Deferred<T> {
    fn augment_args(command: Command) -> Command {
        if AT_ONCE.load(Ordering::Relaxed) { define::<T>(command) } else { command.defer(define::<T>) }
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(command)
    }
}

impl<T: FromArgMatches> FromArgMatches for Deferred<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

/// Adds the arguments. What a command is about is said where the commands are listed, and not by the type of its arguments.
fn define<T: Args>(command: Command) -> Command {
    let about = command.get_about().cloned();
    let long_about = command.get_long_about().cloned();
    let command = T::augment_args(command);
    let command = match about {
        Some(about) => command.about(about),
        None => command,
    };
    match long_about {
        Some(long_about) => command.long_about(long_about),
        None => command.long_about(None),
    }
}
