//! Puts our section into Codex's `config.toml`, and takes it out again.
//!
//! The text is changed where it must be and nowhere else. A parser says where its parts are and checks the
//! outcome; it writes nothing, since one that writes would normalise line ends.

use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use super::json_edit::newline_of;
use super::json_text::line_and_column;
use super::undo::{Purpose, Step, TextEdit, Undo};
use super::{ConnectError, Disconnected, FileChange};

/// The table in which Codex keeps its MCP servers.
const SERVERS: &str = "mcp_servers";

/// A server of that table: its name and its members, each as TOML text.
pub(super) struct Entry<'a> {
    pub(super) name: &'a str,
    pub(super) members: Vec<(String, String)>,
}

/// A part of the file that begins with a header.
struct Section {
    path: Vec<String>,
    start: usize,
    /// Behind its last value; comments after it may be the next section's.
    end: usize,
}

/// The text with the entry, and what was done.
pub(super) fn install(
    place: &FileChange<'_>,
    contents: Option<&str>,
    entry: &Entry<'_>,
) -> Result<(String, Vec<Step>), ConnectError> {
    let mut text = contents.unwrap_or_default().to_owned();
    let mut expected = read(place, &text)?;
    let wanted = entry.value().ok_or_else(|| place.unsupported(SERVERS))?;
    if lookup(&expected, entry.name) == Some(&wanted) {
        return Ok((text, Vec::new()));
    }
    let mut steps = Vec::new();
    let mut step = |text: &mut String, edit: TextEdit, purpose: Purpose| {
        if let Some(after) = edit.apply(text) {
            *text = after;
            steps.push(Step { edit, purpose });
        }
    };
    let ours = Purpose::Section { name: entry.name.to_owned() };
    match inline_value(&text, entry.name) {
        Some(span) => {
            let edit = TextEdit::replacing(&text, span, entry.inline());
            step(&mut text, edit, ours);
        }
        None => {
            // The last one first, so that the places of the others stay.
            for section in sections_of(&text, entry.name).into_iter().rev() {
                let edit = TextEdit::replacing(&text, section.start..section.end, String::new());
                step(&mut text, edit, Purpose::SectionRemoved);
            }
            let edit = TextEdit::inserting(text.len(), entry.section(&text));
            step(&mut text, edit, ours);
        }
    }
    let servers = expected.entry(SERVERS).or_insert_with(|| Value::Table(Table::new()));
    if let Some(servers) = servers.as_table_mut() {
        servers.insert(entry.name.to_owned(), wanted);
    }
    match text.parse::<Table>() {
        Ok(found) if found == expected => Ok((text, steps)),
        _ => {
            let before = contents.unwrap_or_default();
            let at = DeTable::parse(before).ok().and_then(|root| place_of(root.get_ref(), SERVERS));
            let (line, _) = line_and_column(before, at.unwrap_or_default());
            Err(ConnectError::Unsupported { file: place.shown.to_owned(), line, at: SERVERS.to_owned() })
        }
    }
}

/// The text without what was installed.
pub(super) fn remove(
    place: &FileChange<'_>,
    contents: &str,
    undo: &Undo,
) -> Result<Disconnected, ConnectError> {
    let mut text = contents.to_owned();
    read(place, &text)?;
    let mut left = Vec::new();
    for step in undo.steps.iter().rev() {
        match &step.purpose {
            Purpose::Section { name } => match step.edit.take_back_anywhere(&text) {
                Some(without) => text = without,
                None => {
                    left.extend(lookup(&read(place, &text)?, name).map(|_| format!("{SERVERS}.{name}")));
                }
            },
            // Where it stood cannot be told any more. If the name is free again it goes to the end.
            Purpose::SectionRemoved if left.is_empty() => {
                let newline = newline_of(&text);
                let gap = if text.is_empty() || text.ends_with('\n') { "" } else { newline };
                text = format!("{text}{gap}{newline}{}{newline}", step.edit.removed.trim_end());
            }
            _ => {}
        }
    }
    read(place, &text)?;
    let is_empty = text.trim().is_empty();
    Ok(Disconnected { contents: (!(undo.created && is_empty)).then_some(text), left })
}

/// The text without a section that is ours by its looks, for files of which no record is left.
pub(super) fn remove_ours(
    place: &FileChange<'_>,
    contents: &str,
    is_ours: &dyn Fn(&str, &Table) -> bool,
) -> Result<String, ConnectError> {
    let found = read(place, contents)?;
    let mut text = contents.to_owned();
    let servers = found.get(SERVERS).and_then(Value::as_table).into_iter().flatten();
    for (name, server) in servers {
        if server.as_table().is_some_and(|server| is_ours(name, server)) {
            for section in sections_of(&text, name).into_iter().rev() {
                let edit = TextEdit::replacing(&text, section.start..section.end, String::new());
                text = edit.apply(&text).unwrap_or(text);
            }
        }
    }
    read(place, &text)?;
    Ok(text)
}

fn read(place: &FileChange<'_>, text: &str) -> Result<Table, ConnectError> {
    text.parse::<Table>().map_err(|error| {
        let at = error.span().map(|span| span.start).unwrap_or_default();
        let (line, column) = line_and_column(text, at);
        let problem = error.message().lines().next().unwrap_or_default().to_owned();
        ConnectError::Syntax { file: place.shown.to_owned(), line, column, problem }
    })
}

fn lookup<'a>(root: &'a Table, name: &str) -> Option<&'a Value> {
    root.get(SERVERS)?.get(name)
}

/// Where the value of a server stands that is written as `NAME = { … }`.
fn inline_value(text: &str, name: &str) -> Option<std::ops::Range<usize>> {
    let root = DeTable::parse(text).ok()?;
    let servers = root.get_ref().get(SERVERS)?.get_ref().as_table()?;
    let span = servers.get(name)?.span();
    text.get(span.clone())?.starts_with('{').then_some(span)
}

/// The sections that define a server, in the order in which they stand.
fn sections_of(text: &str, name: &str) -> Vec<Section> {
    let Ok(root) = DeTable::parse(text) else { return Vec::new() };
    let mut sections = Vec::new();
    collect(text, root.get_ref(), &mut Vec::new(), &mut sections);
    sections.retain(|section| {
        section.path.first().is_some_and(|first| first == SERVERS)
            && section.path.get(1).is_some_and(|second| second == name)
    });
    sections.sort_by_key(|section| section.start);
    sections
}

/// Every section below a table.
fn collect(text: &str, table: &DeTable<'_>, path: &mut Vec<String>, sections: &mut Vec<Section>) {
    for (name, value) in table {
        path.push(name.get_ref().to_string());
        if is_header(text, value) {
            let (start, end) = (value.span().start, last_value(text, value).max(value.span().end));
            let end = text.get(end..).and_then(|rest| rest.find('\n')).map_or(text.len(), |at| end + at + 1);
            sections.push(Section { path: path.clone(), start, end });
        }
        // Lists of tables are passed over: where a server holds one, the outcome is not what it should be, and
        // the change is refused.
        if let DeValue::Table(table) = value.get_ref() {
            collect(text, table, path, sections);
        }
        path.pop();
    }
}

/// Whether a table was begun by a header of its own.
fn is_header(text: &str, value: &Spanned<DeValue<'_>>) -> bool {
    let is_table = matches!(value.get_ref(), DeValue::Table(_));
    is_table && text.get(value.span()).is_some_and(|header| header.starts_with('['))
}

/// Where the last value ends that stands in the section of a table itself.
fn last_value(text: &str, value: &Spanned<DeValue<'_>>) -> usize {
    let DeValue::Table(table) = value.get_ref() else { return value.span().end };
    let is_own = |value: &&Spanned<DeValue<'_>>| {
        let is_list_of_tables = matches!(value.get_ref(), DeValue::Array(_))
            && text.get(value.span()).is_some_and(|header| header.starts_with("[["))
            && text
                .get(..value.span().start)
                .is_none_or(|before| before.ends_with('\n') || before.is_empty());
        !is_header(text, value) && !is_list_of_tables
    };
    let own = table.values().filter(is_own).map(|value| last_value(text, value));
    own.max().unwrap_or_default().max(value.span().end)
}

fn place_of(root: &DeTable<'_>, name: &str) -> Option<usize> {
    root.iter().find(|(key, _)| key.get_ref() == name).map(|(key, _)| key.span().start)
}

// === impl Entry ===

impl Entry<'_> {
    fn value(&self) -> Option<Value> {
        let members: String =
            self.members.iter().map(|(name, value)| format!("{name} = {value}\n")).collect();
        members.parse::<Table>().ok().map(Value::Table)
    }

    /// The section, to stand at the end of a text.
    fn section(&self, text: &str) -> String {
        let newline = newline_of(text);
        let gap = match (text.is_empty(), text.ends_with('\n')) {
            (true, _) => String::new(),
            (false, true) => newline.to_owned(),
            (false, false) => format!("{newline}{newline}"),
        };
        let members: String =
            self.members.iter().map(|(name, value)| format!("{name} = {value}{newline}")).collect();
        format!("{gap}[{SERVERS}.{}]{newline}{members}", key(self.name))
    }

    /// The same as a value on one line.
    fn inline(&self) -> String {
        let members: Vec<_> = self.members.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        format!("{{ {} }}", members.join(", "))
    }
}

/// A key, in quotes where it must be.
pub(super) fn key(name: &str) -> String {
    let is_bare = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    if !name.is_empty() && name.chars().all(is_bare) { name.to_owned() } else { string(name) }
}

/// A text in quotes.
pub(super) fn string(text: &str) -> String {
    let mut out = String::from('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            control if control.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(control))),
            plain => out.push(plain),
        }
    }
    out.push('"');
    out
}
