//! How text is shown: colour and line width where somebody sits at a terminal, neither where a program reads. Everything
//! can be read without colour.

mod table;
mod wrap;

use std::io::IsTerminal as _;
use std::sync::OnceLock;

use clap::ValueEnum;

use crate::environment::variable;

pub(crate) use table::{Cell, Table};
pub(crate) use wrap::wrap;

/// Narrower terminals are treated as this wide: below it, nothing can be laid out.
const NARROWEST: usize = 40;
/// Running text is not wider than this, however wide the terminal is.
const WIDEST_TEXT: usize = 120;

/// What `--color` says.
static CHOICE: OnceLock<ColorChoice> = OnceLock::new();

/// When to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// Where a terminal is, unless `NO_COLOR`, `CLICOLOR` or `CLICOLOR_FORCE` says otherwise.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// A meaning that has a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Heading,
    Good,
    Bad,
    Caution,
    Help,
    Faint,
}

/// Where text is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct View {
    pub(crate) colour: bool,
    /// How wide it is, if lines are to be broken.
    pub(crate) width: Option<usize>,
}

/// What the environment says of colour.
struct Wishes {
    no_color: bool,
    force: bool,
    off: bool,
    dumb: bool,
}

// === impl ColorChoice ===

impl ColorChoice {
    /// Keeps what the command line says, for everything this process prints.
    pub(crate) fn keep(self) {
        CHOICE.get_or_init(|| self);
    }

    /// What a command line says, before it is parsed: help is coloured, too.
    pub(crate) fn of_arguments(arguments: impl IntoIterator<Item = String>) -> Self {
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let said = match argument.strip_prefix("--color") {
                Some("") => arguments.next(),
                Some(rest) => rest.strip_prefix('=').map(str::to_owned),
                None if argument == "--" => break,
                None => None,
            };
            if let Some(choice) = said.and_then(|said| Self::from_str(&said, false).ok()) {
                return choice;
            }
        }
        Self::Auto
    }

    fn colours(self, is_terminal: bool, wishes: &Wishes) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto if wishes.no_color => false,
            Self::Auto if wishes.force => true,
            Self::Auto => is_terminal && !wishes.off && !wishes.dumb,
        }
    }
}

impl From<ColorChoice> for clap::ColorChoice {
    fn from(choice: ColorChoice) -> Self {
        match choice {
            ColorChoice::Auto => Self::Auto,
            ColorChoice::Always => Self::Always,
            ColorChoice::Never => Self::Never,
        }
    }
}

// === impl Wishes ===

impl Wishes {
    fn of_environment() -> Self {
        let said = |name| variable(name).filter(|value| !value.is_empty());
        Self {
            no_color: said("NO_COLOR").is_some(),
            force: said("CLICOLOR_FORCE").is_some_and(|value| value != "0"),
            off: said("CLICOLOR").is_some_and(|value| value == "0"),
            dumb: said("TERM").is_some_and(|value| value == "dumb"),
        }
    }
}

// === impl View ===

impl View {
    /// Neither colour nor lines that are broken.
    #[cfg(test)]
    pub(crate) const PLAIN: Self = Self { colour: false, width: None };

    /// Standard output.
    pub(crate) fn stdout() -> Self {
        let stdout = std::io::stdout();
        Self::of(stdout.is_terminal(), || rustix::termios::tcgetwinsize(&stdout).ok())
    }

    /// Standard error.
    pub(crate) fn stderr() -> Self {
        let stderr = std::io::stderr();
        Self::of(stderr.is_terminal(), || rustix::termios::tcgetwinsize(&stderr).ok())
    }

    fn of(is_terminal: bool, size: impl FnOnce() -> Option<rustix::termios::Winsize>) -> Self {
        let choice = CHOICE.get().copied().unwrap_or_default();
        // A terminal that does not say how wide it is breaks lines by itself.
        let columns = is_terminal.then(size).flatten().map(|size| usize::from(size.ws_col));
        Self {
            colour: choice.colours(is_terminal, &Wishes::of_environment()),
            width: columns.filter(|columns| *columns > 0).map(|columns| columns.max(NARROWEST)),
        }
    }

    /// Text in the colour of its meaning.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        let code = match style {
            Style::Heading => "1",
            Style::Good => "32",
            Style::Bad => "1;31",
            Style::Caution => "33",
            Style::Help => "36",
            Style::Faint => "2",
            Style::Plain => return text.to_owned(),
        };
        if self.colour && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    /// One paragraph: `head` in its colour, then text whose further lines stand `indent` in.
    pub(crate) fn paragraph(self, style: Style, head: &str, text: &str, indent: usize) -> String {
        let whole = format!("{head}{text}");
        let broken = match self.width {
            Some(width) => wrap(&whole, width.min(WIDEST_TEXT), indent),
            None => whole,
        };
        match broken.strip_prefix(head) {
            Some(rest) => format!("{}{rest}\n", self.paint(style, head)),
            None => format!("{broken}\n"),
        }
    }

    /// What a failure or a warning says: its words coloured by how they begin, lines of prose broken, excerpts left alone.
    pub(crate) fn message(self, words: &str) -> String {
        let heads = [
            ("error", Style::Bad),
            ("refused:", Style::Bad),
            ("blocked:", Style::Bad),
            ("not verified:", Style::Bad),
            ("warning", Style::Caution),
            ("help:", Style::Help),
        ];
        let line = |line: &str| {
            let start = line.trim_start_matches([' ', '=']);
            let blank = line.get(..line.len() - start.len()).unwrap_or_default();
            let found = heads.iter().find(|(head, _)| start.starts_with(head));
            let Some((_, style)) = found else { return format!("{line}\n") };
            let end = start.find(':').map_or(0, |at| at + 1);
            let (head, rest) = start.split_at_checked(end).unwrap_or((start, ""));
            self.paragraph(*style, &format!("{blank}{head}"), rest, blank.chars().count() + 2)
        };
        words.lines().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_follows_the_option_then_the_environment_then_the_terminal() {
        let wishes = |no_color, force, off, dumb| Wishes { no_color, force, off, dumb };
        let none = wishes(false, false, false, false);
        for (choice, terminal, wishes, colours) in [
            (ColorChoice::Auto, true, &none, true),
            (ColorChoice::Auto, false, &none, false),
            (ColorChoice::Auto, true, &wishes(true, true, false, false), false),
            (ColorChoice::Auto, false, &wishes(false, true, false, false), true),
            (ColorChoice::Auto, true, &wishes(false, false, true, false), false),
            (ColorChoice::Auto, true, &wishes(false, false, false, true), false),
            (ColorChoice::Always, false, &wishes(true, false, false, false), true),
            (ColorChoice::Never, true, &wishes(false, true, false, false), false),
        ] {
            assert_eq!(choice.colours(terminal, wishes), colours, "{choice:?} {terminal}");
        }
    }

    #[test]
    fn the_choice_is_found_before_the_line_is_parsed() {
        let of = |words: &str| ColorChoice::of_arguments(words.split(' ').map(str::to_owned));
        assert_eq!(of("servers --color never"), ColorChoice::Never);
        assert_eq!(of("--color=always --help"), ColorChoice::Always);
        assert_eq!(of("servers --json"), ColorChoice::Auto);
        assert_eq!(of("x -- --color=always"), ColorChoice::Auto);
    }

    #[test]
    fn a_message_is_broken_at_words_and_its_excerpt_is_not() {
        let words = "error: the file does not say what it ought to say\n  --> highwater.yaml:3:5\n   | a line of the file that is longer than the terminal\n   = help: write it in another way altogether";
        let view = View { colour: false, width: Some(40) };
        assert_eq!(
            view.message(words),
            "error: the file does not say what it\n  ought to say\n  --> highwater.yaml:3:5\n   | a line of the file that is longer than the terminal\n   = help: write it in another way\n       altogether\n"
        );
        assert_eq!(View::PLAIN.message(words), format!("{words}\n"));
        let coloured = View { colour: true, width: None }.message("error: no\nhelp: yes");
        assert_eq!(coloured, "\u{1b}[1;31merror:\u{1b}[0m no\n\u{1b}[36mhelp:\u{1b}[0m yes\n");
    }
}
