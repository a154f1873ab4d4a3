//! How the program ends: the codes scripts rely on, and the words for the person it failed.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | failure |
//! | 2 | usage or invalid configuration |
//! | 3 | refused, by policy or by a person |
//! | 4 | verification failed |

use std::fmt::Display;
use std::process::ExitCode;

use crate::terminal::View;

/// Why a command did not do what it was asked, in words that are ready to be shown.
#[derive(Debug)]
pub(crate) struct Failure {
    code: Code,
    words: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Code {
    Failed,
    Usage,
    Refused,
    Unverified,
}

// === impl Failure ===

impl Failure {
    /// Something could not be done.
    pub(crate) fn failed(message: impl Display) -> Self {
        Self { code: Code::Failed, words: format!("error: {message}") }
    }

    /// The command line asks for something that makes no sense.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self { code: Code::Usage, words: format!("error: {message}") }
    }

    /// Somebody who is asked said no.
    pub(crate) fn refused(message: impl Display) -> Self {
        Self { code: Code::Refused, words: format!("refused: {message}") }
    }

    /// What was to be checked does not hold.
    pub(crate) fn unverified(message: impl Display) -> Self {
        Self { code: Code::Unverified, words: format!("not verified: {message}") }
    }

    /// The configuration is wrong, in words that already say where.
    pub(crate) fn configuration(diagnostics: impl Display) -> Self {
        Self { code: Code::Usage, words: diagnostics.to_string() }
    }

    /// A tool of a host is refused, in words for the model. Hosts take this code alone for a refusal.
    pub(crate) fn hook(words: impl Display) -> Self {
        Self { code: Code::Usage, words: words.to_string() }
    }

    /// Adds the way out.
    pub(crate) fn help(mut self, help: impl Display) -> Self {
        self.words.push_str(&format!("\nhelp: {help}"));
        self
    }

    /// What to show.
    pub(crate) fn words(&self) -> &str {
        &self.words
    }

    /// Shows the words and gives the code to exit with.
    pub(crate) fn report(&self) -> ExitCode {
        eprint!("{}", View::stderr().message(&self.words));
        ExitCode::from(match self.code {
            Code::Failed => 1,
            Code::Usage => 2,
            Code::Refused => 3,
            Code::Unverified => 4,
        })
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::failed(format_args!("{error:#}"))
    }
}
