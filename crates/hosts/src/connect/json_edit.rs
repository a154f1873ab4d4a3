//! Adds members and items to a JSON text, and takes them out again, in the style that the text has.

use serde_json::Value;

use super::json_text::{Kind, Member, Part, comma_after};
use super::undo::TextEdit;

/// How a text is laid out.
pub(super) struct Style {
    newline: &'static str,
    /// One step of indentation.
    unit: String,
    /// Whether everything stands on one line.
    compact: bool,
}

// === impl Style ===

impl Style {
    pub(super) fn of(text: &str, root: &Part) -> Self {
        let newline = newline_of(text);
        let first = match &root.kind {
            Kind::Object(members) => members.first().map(|member| member.start),
            Kind::Array(items) => items.first().map(|item| item.span.start),
            Kind::Scalar(_) => None,
        };
        let unit = first.and_then(|start| own_line(text, start)).filter(|unit| !unit.is_empty());
        let unit = unit.unwrap_or("  ").to_owned();
        let compact = first.is_some() && !inside(text, root).contains('\n');
        Self { newline, unit, compact }
    }

    /// A value behind something that stands at this indentation.
    fn render(&self, value: &Value, indent: &str, inline: bool) -> String {
        if self.compact || inline {
            return value.to_string();
        }
        let mut out = String::new();
        self.lay_out(&mut out, value, indent);
        out
    }

    fn lay_out(&self, out: &mut String, value: &Value, indent: &str) {
        let inner = format!("{indent}{}", self.unit);
        let (open, close, parts): (_, _, Vec<(Option<&String>, &Value)>) = match value {
            Value::Object(members) if !members.is_empty() => {
                ('{', '}', members.iter().map(|(name, value)| (Some(name), value)).collect())
            }
            Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
                ('[', ']', items.iter().map(|item| (None, item)).collect())
            }
            other => return out.push_str(&other.to_string()),
        };
        out.push(open);
        for (index, (name, value)) in parts.into_iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            out.push_str(self.newline);
            out.push_str(&inner);
            if let Some(name) = name {
                out.push_str(&format!("{}: ", quote(name)));
            }
            self.lay_out(out, value, &inner);
        }
        out.push_str(self.newline);
        out.push_str(indent);
        out.push(close);
    }
}

/// The line ends of a text.
pub(super) fn newline_of(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text.get(..at).is_some_and(|before| before.ends_with('\r')) => "\r\n",
        _ => "\n",
    }
}

/// Adds a member at the end of an object.
pub(super) fn add_member(text: &str, style: &Style, object: &Part, name: &str, value: &Value) -> TextEdit {
    let last = match &object.kind {
        Kind::Object(members) => members.last().map(|member| (member.start, member.part.span.end)),
        _ => None,
    };
    let colon = if style.compact { ":" } else { ": " };
    add(text, style, object, last, &format!("{}{colon}", quote(name)), value)
}

/// Adds an item at the end of a list.
pub(super) fn add_item(text: &str, style: &Style, list: &Part, value: &Value) -> TextEdit {
    let last = match &list.kind {
        Kind::Array(items) => items.last().map(|item| (item.span.start, item.span.end)),
        _ => None,
    };
    add(text, style, list, last, "", value)
}

/// Puts another value in the place of one.
pub(super) fn replace(text: &str, style: &Style, part: &Part, value: &Value) -> TextEdit {
    let indent = line_indent(text, part.span.start);
    TextEdit::replacing(text, part.span.clone(), style.render(value, indent, false))
}

fn add(
    text: &str,
    style: &Style,
    container: &Part,
    last: Option<(usize, usize)>,
    prefix: &str,
    value: &Value,
) -> TextEdit {
    let outer = line_indent(text, container.span.start);
    let Some((start, end)) = last else {
        // Directly behind the bracket: what stands in there are blanks and comments.
        let at = container.span.start + 1;
        if style.compact {
            return TextEdit::inserting(at, format!("{prefix}{}", style.render(value, outer, true)));
        }
        let inner = format!("{outer}{}", style.unit);
        let value = style.render(value, &inner, false);
        let newline = style.newline;
        return TextEdit::inserting(at, format!("{newline}{inner}{prefix}{value}{newline}{outer}"));
    };
    // Behind the last value, or behind the comma that follows it already.
    let (at, comma) = match comma_after(text, end) {
        Some(comma) => (comma, ""),
        None => (end, ","),
    };
    match own_line(text, start).filter(|_| !style.compact) {
        Some(indent) => {
            let value = style.render(value, indent, false);
            TextEdit::inserting(at, format!("{comma}{}{indent}{prefix}{value}", style.newline))
        }
        None => {
            let blank = if style.compact { "" } else { " " };
            TextEdit::inserting(at, format!("{comma}{blank}{prefix}{}", style.render(value, outer, true)))
        }
    }
}

/// Takes a member out of an object.
pub(super) fn remove_member(text: &str, object: &Part, members: &[Member], index: usize) -> Option<TextEdit> {
    let spans: Vec<_> = members.iter().map(|member| (member.start, member.part.span.end)).collect();
    remove(text, object, &spans, index)
}

/// Takes an item out of a list.
pub(super) fn remove_item(text: &str, list: &Part, items: &[Part], index: usize) -> Option<TextEdit> {
    let spans: Vec<_> = items.iter().map(|item| (item.span.start, item.span.end)).collect();
    remove(text, list, &spans, index)
}

fn remove(text: &str, container: &Part, spans: &[(usize, usize)], index: usize) -> Option<TextEdit> {
    let (start, end) = *spans.get(index)?;
    let range = match (index.checked_sub(1).and_then(|before| spans.get(before)), spans.get(index + 1)) {
        // With the comma before it.
        (Some((_, before)), _) => *before..end,
        // With everything up to the next.
        (None, Some((next, _))) => start..*next,
        (None, None) => {
            let end = comma_after(text, end).unwrap_or(end);
            let lead = container.span.start + 1..start;
            let is_blank = text.get(lead.clone())?.trim().is_empty();
            let tail = text.get(end..container.span.end.checked_sub(1)?)?;
            let tail = if is_blank && tail.trim().is_empty() { tail.len() } else { 0 };
            (if is_blank { lead.start } else { start })..end + tail
        }
    };
    Some(TextEdit::replacing(text, range, String::new()))
}

fn inside<'a>(text: &'a str, part: &Part) -> &'a str {
    text.get(part.span.clone()).unwrap_or_default()
}

/// The blanks before a place, if there is nothing else before it on its line and it is not the first line.
fn own_line(text: &str, at: usize) -> Option<&str> {
    let before = text.get(..at)?;
    let line = before.rsplit_once('\n')?.1;
    line.trim_matches([' ', '\t']).is_empty().then_some(line)
}

/// The blanks with which the line of a place begins.
fn line_indent(text: &str, at: usize) -> &str {
    let before = text.get(..at).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    let content = line.trim_start_matches([' ', '\t']);
    line.get(..line.len() - content.len()).unwrap_or_default()
}

fn quote(name: &str) -> String {
    Value::String(name.to_owned()).to_string()
}
