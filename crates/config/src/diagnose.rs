//! Problems of the file, and how they are shown: the sentence, the line with a caret, the way out.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;

use crate::node::Span;
use crate::source::Sources;

/// More problems than this are counted, not shown: the first few dozen already say what kind of file it is.
const MAX_SHOWN: usize = 50;
/// Longer lines are cut round the caret; pasted JSON is often a single line.
const MAX_LINE: usize = 120;

/// Everything wrong with a file. Its `Display` shows each problem with its place; it ends without a newline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
}

/// One problem of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The kind of problem, where it has a name of its own, such as `unknown-fact`.
    pub code: Option<&'static str>,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// Where; absent when the problem is the file as a whole.
    pub place: Option<Place>,
    /// What stands at another place that has to do with it.
    pub also: Option<(String, Place)>,
}

/// A place in the file, with the line as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The name of the file as given to [`load`](crate::load()).
    pub file: String,
    /// The line, counted from one.
    pub line: usize,
    /// The column, counted from one, in characters.
    pub column: usize,
    excerpt: String,
    underline: String,
}

/// A problem on its way to becoming a [`Diagnostic`].
#[derive(Debug, Clone, Default)]
pub(crate) struct Problem {
    pub(crate) code: Option<&'static str>,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
    pub(crate) span: Option<Span>,
    pub(crate) also: Option<Box<(String, Span)>>,
}

/// Where every stage puts what it finds, so that one run reports as much as it can.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    list: RefCell<Vec<Problem>>,
    /// What has keys that nobody knows; see [`Problems::has_unknown_keys`].
    misspelt: RefCell<BTreeSet<String>>,
    /// Places that no excerpt may show.
    secrets: RefCell<Vec<Span>>,
    /// What is worth a look and no problem.
    warnings: RefCell<Vec<Problem>>,
    /// Where each compiled rule and waiver is written.
    rules: RefCell<Vec<Span>>,
    waivers: RefCell<Vec<Span>>,
}

/// What is worth saying of a file that is right.
#[derive(Debug)]
pub(crate) struct Remarks {
    pub(crate) warnings: Vec<Diagnostic>,
    /// Where each rule and each waiver is written.
    pub(crate) rules: Vec<Place>,
    pub(crate) waivers: Vec<Place>,
}

// === impl Problems ===

impl Problems {
    pub(crate) fn push(&self, problem: Problem) {
        self.list.borrow_mut().push(problem);
    }

    /// How many there are so far.
    pub(crate) fn count(&self) -> usize {
        self.list.borrow().len()
    }

    /// Reports a problem and its way out.
    pub(crate) fn report(&self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.push(Problem {
            message: message.into(),
            help: Some(help.into()),
            span: Some(span),
            ..Problem::default()
        });
    }

    /// Reports a problem of a named kind.
    pub(crate) fn report_code(
        &self,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(Problem {
            code: Some(code),
            message: message.into(),
            help: Some(help.into()),
            span: Some(span),
            also: None,
        });
    }

    /// Reports a key that nobody knows, in what `owner` names.
    pub(crate) fn report_unknown_key(&self, owner: String, span: Span, message: String, help: String) {
        self.misspelt.borrow_mut().insert(owner);
        self.report_code("unknown-key", span, message, help);
    }

    /// Remarks on something that is no problem.
    pub(crate) fn warn(&self, problem: Problem) {
        self.warnings.borrow_mut().push(problem);
    }

    /// Takes down where the rules and waivers are written, in the order in which they are compiled.
    pub(crate) fn place_rules(&self, rules: Vec<Span>, waivers: Vec<Span>) {
        self.rules.replace(rules);
        self.waivers.replace(waivers);
    }

    /// What is worth saying if nothing is wrong.
    pub(crate) fn remarks(&self, sources: &Sources) -> Remarks {
        let shown = masked(sources.text(), &self.secrets.borrow());
        let mut warnings = self.warnings.borrow().clone();
        warnings.sort_by_key(|problem| problem.span);
        let places = |spans: &[Span]| spans.iter().map(|span| Place::of(*span, sources, &shown)).collect();
        Remarks {
            warnings: warnings.into_iter().map(|problem| problem.locate(sources, &shown)).collect(),
            rules: places(&self.rules.borrow()),
            waivers: places(&self.waivers.borrow()),
        }
    }

    /// Whether a key that seems missing may have been there, misspelt.
    pub(crate) fn has_unknown_keys(&self, owner: &str) -> bool {
        self.misspelt.borrow().contains(owner)
    }

    /// Keeps these places out of every excerpt. What does not parse has no such places yet, and is shown.
    pub(crate) fn hide(&self, secrets: Vec<Span>) {
        self.secrets.replace(secrets);
    }

    /// Gives back the value if nothing was found, else everything that was, in the order of the file.
    pub(crate) fn into_result<T>(self, sources: &Sources, value: Option<T>) -> Result<T, Diagnostics> {
        let mut found = self.list.into_inner();
        match value {
            Some(value) if found.is_empty() => return Ok(value),
            None if found.is_empty() => found.push(Problem {
                message: "the file could not be understood".to_owned(),
                ..Problem::default()
            }),
            _ => {}
        }
        found.sort_by_key(|problem| problem.span);
        let shown = masked(sources.text(), &self.secrets.into_inner());
        let list = found.into_iter().map(|problem| problem.locate(sources, &shown)).collect();
        Err(Diagnostics { list })
    }
}

impl Problem {
    /// The same problem in a text that starts `by` bytes later.
    pub(crate) fn moved(self, by: usize) -> Self {
        Self { span: self.span.map(|span| span.moved(by)), ..self }
    }

    /// `shown` is the text of the sources without what nobody may see.
    fn locate(self, sources: &Sources, shown: &str) -> Diagnostic {
        let place = self.span.map(|span| Place::of(span, sources, shown));
        let also = self.also.map(|also| (also.0, Place::of(also.1, sources, shown)));
        Diagnostic { code: self.code, message: self.message, help: self.help, place, also }
    }
}

/// The text with the given places starred out. Stand-ins are as long as what they stand for, so that lines,
/// columns and offsets stay as they are.
fn masked(text: &str, places: &[Span]) -> String {
    let stand_in = |c: char| match (c, c.len_utf8()) {
        ('\n' | '\r', _) => c,
        (_, 1) => '*',
        (_, 2) => '\u{b7}',
        (_, 3) => '\u{2022}',
        _ => '\u{1f7b6}',
    };
    let mut places = places.to_vec();
    places.sort_unstable();
    let mut shown = String::with_capacity(text.len());
    let mut at = 0;
    for Span { start, end } in places {
        let (start, end) = (start.max(at), end.max(at));
        shown.push_str(text.get(at..start).unwrap_or_default());
        shown.extend(text.get(start..end).unwrap_or_default().chars().map(stand_in));
        at = end;
    }
    shown.push_str(text.get(at..).unwrap_or_default());
    shown
}

// === impl Place ===

impl Place {
    fn of(span: Span, sources: &Sources, shown: &str) -> Self {
        let (file, within) = sources.file_at(span.start);
        let text = within.of(shown);
        let span = Span {
            start: span.start.saturating_sub(within.start),
            end: span.end.saturating_sub(within.start),
        };
        let before = text.get(..span.start).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let content = text.get(line_start..).unwrap_or_default().lines().next().unwrap_or_default();
        let lead = before.len() - line_start;
        let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
        // A value over several lines is marked to the end of its first.
        let end = span.end.saturating_sub(line_start).min(content.len());
        let marked = content.get(lead..end).unwrap_or_default().chars().count();
        let (excerpt, underline) = excerpt(content, column - 1, marked.max(1));
        Self { file: file.to_owned(), line, column, excerpt, underline }
    }
}

/// The line and the carets under it. Tabs stay tabs in both, so that they stay aligned; other control
/// characters are replaced, because the line goes to a terminal.
fn excerpt(line: &str, lead: usize, marked: usize) -> (String, String) {
    let printable = |c: char| if c.is_control() && c != '\t' { '\u{fffd}' } else { c };
    let characters: Vec<char> = line.chars().map(printable).collect();
    let from = if characters.len() > MAX_LINE { lead.saturating_sub(MAX_LINE / 3) } else { 0 };
    let to = characters.len().min(from + MAX_LINE);
    let ellipsis = |cut: bool| if cut { "…" } else { "" };
    let window: String = characters.iter().skip(from).take(to - from).collect();
    let shown = format!("{}{window}{}", ellipsis(from > 0), ellipsis(to < characters.len()));
    let mut underline: String = ellipsis(from > 0).replace('…', " ");
    underline
        .extend(characters.iter().skip(from).take(lead - from).map(|&c| if c == '\t' { '\t' } else { ' ' }));
    underline.push_str(&"^".repeat(marked.min(to.saturating_sub(lead)).max(1)));
    (shown, underline)
}

// === impl Diagnostics ===

impl Diagnostics {
    /// The problems in the order of the file; there is at least one.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter()
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.list.iter().take(MAX_SHOWN).enumerate() {
            if index > 0 {
                f.write_str("\n\n")?;
            }
            write!(f, "{diagnostic}")?;
        }
        match self.list.len().saturating_sub(MAX_SHOWN) {
            0 => Ok(()),
            more => write!(f, "\n\nand {more} more"),
        }
    }
}

impl Diagnostic {
    /// The same, as something that is worth a look and stops nobody.
    pub fn as_warning(&self) -> impl fmt::Display {
        fmt::from_fn(|f| self.write("warning", f))
    }

    fn write(&self, severity: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => write!(f, "{severity}[{code}]: {}", self.message)?,
            None => write!(f, "{severity}: {}", self.message)?,
        }
        if let Some(Place { file, line, column, excerpt, underline }) = &self.place {
            let number = line.to_string();
            let gutter = " ".repeat(number.len());
            write!(f, "\n {gutter}--> {file}:{line}:{column}")?;
            write!(f, "\n {gutter} |\n {number} | {excerpt}\n {gutter} | {underline}")?;
        }
        if let Some((what, Place { file, line, column, .. })) = &self.also {
            write!(f, "\nnote: {what}: {file}:{line}:{column}")?;
        }
        match &self.help {
            Some(help) => write!(f, "\nhelp: {help}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write("error", f)
    }
}

impl std::error::Error for Diagnostics {}
