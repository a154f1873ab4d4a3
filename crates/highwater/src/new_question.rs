//! Tells whoever watches `serve` that a question waits for a person: a line with the address, and in a terminal its bell.

use std::io::{IsTerminal, Write};

use highwater_gateway::NewQuestion;

use crate::log::LogOptions;

/// How a new question is announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Announce {
    /// To a person at a terminal, who may look elsewhere.
    Terminal,
    /// To a file or a program that takes lines.
    Line,
    /// As an event among the others of the log.
    Log,
}

// === impl Announce ===

impl Announce {
    /// As standard error takes it.
    pub(crate) fn of(log: &LogOptions) -> Self {
        Self::to(log.is_json(), std::io::stderr().is_terminal())
    }

    fn to(json: bool, terminal: bool) -> Self {
        match (json, terminal) {
            (true, _) => Self::Log,
            (false, true) => Self::Terminal,
            (false, false) => Self::Line,
        }
    }

    pub(crate) fn tell(self, question: &NewQuestion) {
        match self.text(question) {
            Some(text) => {
                // One write, so that no line of the log comes between. Whoever closed it has the page.
                std::io::stderr().lock().write_all(text.as_bytes()).ok();
            }
            None => question.log(),
        }
    }

    /// What is written; nothing where it is an event of the log.
    fn text(self, question: &NewQuestion) -> Option<String> {
        let line = question.line();
        match self {
            Self::Terminal => Some(format!("\u{7}question  {line}\n")),
            Self::Line => Some(format!("question  {line}\n")),
            Self::Log => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_rings_and_a_log_of_objects_stays_one() {
        let question = NewQuestion {
            tool: "mail__send".to_owned(),
            server: Some("mail".to_owned()),
            token: "agent".to_owned(),
            user: "owner".to_owned(),
            needs_passkey: true,
            url: "http://localhost:7412/approve/1".to_owned(),
        };
        let line = "question  mail__send on mail, wanted by token agent, waits for a passkey of owner: \
                    http://localhost:7412/approve/1\n";
        assert_eq!(Announce::to(false, true).text(&question), Some(format!("\u{7}{line}")));
        assert_eq!(Announce::to(false, false).text(&question).as_deref(), Some(line));
        for terminal in [true, false] {
            assert_eq!(Announce::to(true, terminal).text(&question), None);
        }
    }
}
