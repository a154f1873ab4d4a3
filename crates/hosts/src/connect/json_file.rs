//! Puts values into a JSON file of a host, and takes them out again.

use serde_json::{Map, Value};

use super::json_edit::{Style, add_item, add_member, remove_item, remove_member, replace};
use super::json_text::{Kind, Part, line_and_column, parse};
use super::undo::{Purpose, Step, TextEdit, Undo};
use super::{ConnectError, Disconnected, FileChange, is_blank};

/// A value that a file should have.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Wanted {
    /// The member at this path.
    Member(Vec<String>, Value),
    /// An item of the list at this path.
    Item(Vec<String>, Value),
}

/// The text with everything that is wanted, and what was done.
pub(super) fn install(
    place: &FileChange<'_>,
    contents: Option<&str>,
    wanted: &[Wanted],
) -> Result<(String, Vec<Step>), ConnectError> {
    let mut steps = Vec::new();
    let mut text = contents.unwrap_or_default().to_owned();
    if is_blank(&text) {
        // Hosts take an empty file for one without settings.
        let frame = TextEdit::replacing(&text, 0..text.len(), "{}\n".to_owned());
        text = frame.apply(&text).unwrap_or_default();
        steps.push(Step { edit: frame, purpose: Purpose::Frame });
    }
    for wanted in wanted {
        let root = read(place, &text)?;
        let Some((edit, purpose)) = edit_for(place, &text, &root, wanted)? else { continue };
        let mut expected = root.value();
        set(&mut expected, wanted);
        text = checked(place, &edit, &text, &expected)?;
        steps.push(Step { edit, purpose });
    }
    Ok((text, steps))
}

/// The text without what was installed.
pub(super) fn remove(
    place: &FileChange<'_>,
    contents: &str,
    undo: &Undo,
) -> Result<Disconnected, ConnectError> {
    let mut text = contents.to_owned();
    let mut left = Vec::new();
    for step in undo.steps.iter().rev() {
        let root = read(place, &text)?;
        let mut expected = root.value();
        let (path, made) = match &step.purpose {
            Purpose::Member { path, value, before, made } => {
                if lookup(&expected, path) != Some(value) {
                    left.extend(lookup(&expected, path).map(|_| path.join(".")));
                    continue;
                }
                unset(&mut expected, path, before.as_ref());
                (path.as_slice(), *made)
            }
            Purpose::Item { path, value, made } => {
                let Some(index) = index_of(&expected, path, value) else { continue };
                drop_item(&mut expected, path, index);
                (path.as_slice(), *made)
            }
            Purpose::Frame | Purpose::StaleHook | Purpose::SectionRemoved | Purpose::Section { .. } => {
                continue;
            }
        };
        // What was inserted may have brought the objects around it; where they hold nothing else they go too.
        if let Some(whole) = step.edit.take_back_anywhere(&text)
            && let Some(found) = value_after(&text, &whole)
            && without_empty(found, path) == without_empty(expected.clone(), path)
        {
            text = whole;
            continue;
        }
        let edit = removal(&text, &root, &step.purpose).ok_or_else(|| place.unsupported(&path.join(".")))?;
        text = checked(place, &edit, &text, &expected)?;
        let list = usize::from(matches!(step.purpose, Purpose::Member { .. }));
        let around = path.get(..path.len().saturating_sub(list)).unwrap_or_default();
        text = prune(place, text, around, made)?;
    }
    let is_gone = undo.created && is_empty(&read(place, &text)?.value());
    Ok(Disconnected { contents: (!is_gone).then_some(text), left })
}

/// The text without the innermost objects and lists of a path that were made for what is gone, as far as
/// they are empty now.
fn prune(
    place: &FileChange<'_>,
    mut text: String,
    path: &[String],
    made: usize,
) -> Result<String, ConnectError> {
    for length in (1..=path.len()).rev().take(made) {
        let path = path.get(..length).unwrap_or_default();
        let root = read(place, &text)?;
        let mut expected = root.value();
        if !lookup(&expected, path).is_some_and(is_empty) {
            break;
        }
        unset(&mut expected, path, None);
        let value = Value::Null;
        let gone = Purpose::Member { path: path.to_vec(), value, before: None, made: 0 };
        let edit = removal(&text, &root, &gone).ok_or_else(|| place.unsupported(&path.join(".")))?;
        text = checked(place, &edit, &text, &expected)?;
    }
    Ok(text)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

/// The text without what is ours by its looks, for files of which no record is left, and what was done.
pub(super) fn remove_ours(
    place: &FileChange<'_>,
    contents: &str,
    is_ours: &dyn Fn(&[String], &Value) -> bool,
) -> Result<(String, Vec<Step>), ConnectError> {
    let mut text = contents.to_owned();
    let mut steps = Vec::new();
    loop {
        let root = read(place, &text)?;
        let mut expected = root.value();
        let Some(purpose) = find_ours(&expected, is_ours) else { return Ok((text, steps)) };
        match &purpose {
            Purpose::Item { path, value, .. } => {
                if let Some(index) = index_of(&expected, path, value) {
                    drop_item(&mut expected, path, index);
                }
            }
            Purpose::Member { path, .. } => unset(&mut expected, path, None),
            Purpose::Frame | Purpose::StaleHook | Purpose::SectionRemoved | Purpose::Section { .. } => {}
        }
        let edit = removal(&text, &root, &purpose).ok_or_else(|| place.unsupported("hooks"))?;
        text = checked(place, &edit, &text, &expected)?;
        steps.push(Step { edit, purpose: Purpose::StaleHook });
    }
}

fn find_ours(root: &Value, is_ours: &dyn Fn(&[String], &Value) -> bool) -> Option<Purpose> {
    let servers = root.get("mcpServers").and_then(Value::as_object).into_iter().flatten();
    for (name, value) in servers {
        let path = vec!["mcpServers".to_owned(), name.clone()];
        if is_ours(&path, value) {
            return Some(Purpose::Member { path, value: value.clone(), before: None, made: 0 });
        }
    }
    let hooks = root.get("hooks").and_then(Value::as_object).into_iter().flatten();
    for (event, groups) in hooks {
        let path = vec!["hooks".to_owned(), event.clone()];
        let ours = groups.as_array().and_then(|groups| groups.iter().find(|group| is_ours(&path, group)));
        if let Some(value) = ours {
            return Some(Purpose::Item { path, value: value.clone(), made: 0 });
        }
    }
    None
}

fn read(place: &FileChange<'_>, text: &str) -> Result<Part, ConnectError> {
    let root = parse(text).map_err(|error| {
        let (line, column) = line_and_column(text, error.at);
        ConnectError::Syntax { file: place.shown.to_owned(), line, column, problem: error.problem }
    })?;
    match root.kind {
        Kind::Object(_) => Ok(root),
        _ => Err(place.shape(text, root.span.start, "the file", "an object")),
    }
}

/// The edit that gives a text what is wanted. Nothing if it has it.
fn edit_for(
    place: &FileChange<'_>,
    text: &str,
    root: &Part,
    wanted: &Wanted,
) -> Result<Option<(TextEdit, Purpose)>, ConnectError> {
    let style = Style::of(text, root);
    let path = match wanted {
        Wanted::Member(path, _) | Wanted::Item(path, _) => path,
    };
    // As far as the path leads.
    let mut part = root;
    let mut depth = 0;
    while let Some(name) = path.get(depth) {
        if !matches!(part.kind, Kind::Object(_)) {
            let shown = path.get(..depth).unwrap_or_default().join(".");
            return Err(place.shape(text, part.span.start, &shown, "an object"));
        }
        let Some(next) = part.member(name) else { break };
        part = next;
        depth += 1;
    }
    let missing = path.get(depth..).unwrap_or_default();
    let (edit, purpose) = match (wanted, missing.split_first()) {
        (Wanted::Member(path, value), Some((name, deeper))) => {
            let edit = add_member(text, &style, part, name, &nested(deeper, value.clone()));
            (
                edit,
                Purpose::Member {
                    path: path.clone(),
                    value: value.clone(),
                    before: None,
                    made: deeper.len(),
                },
            )
        }
        (Wanted::Item(path, value), Some((name, deeper))) => {
            let list = Value::Array(vec![value.clone()]);
            let edit = add_member(text, &style, part, name, &nested(deeper, list));
            (edit, Purpose::Item { path: path.clone(), value: value.clone(), made: missing.len() })
        }
        (Wanted::Member(path, value), None) => {
            let before = part.value();
            if before == *value {
                return Ok(None);
            }
            let edit = replace(text, &style, part, value);
            (
                edit,
                Purpose::Member { path: path.clone(), value: value.clone(), before: Some(before), made: 0 },
            )
        }
        (Wanted::Item(path, value), None) => {
            let Kind::Array(items) = &part.kind else {
                return Err(place.shape(text, part.span.start, &path.join("."), "a list"));
            };
            if items.iter().any(|item| item.value() == *value) {
                return Ok(None);
            }
            let edit = add_item(text, &style, part, value);
            (edit, Purpose::Item { path: path.clone(), value: value.clone(), made: 0 })
        }
    };
    Ok(Some((edit, purpose)))
}

/// The edit that takes out what an earlier edit was for.
fn removal(text: &str, root: &Part, purpose: &Purpose) -> Option<TextEdit> {
    let (path, value) = match purpose {
        Purpose::Member { path, value, .. } | Purpose::Item { path, value, .. } => (path, value),
        Purpose::Frame | Purpose::StaleHook | Purpose::SectionRemoved | Purpose::Section { .. } => {
            return None;
        }
    };
    let (name, outer) = path.split_last()?;
    let part = |path: &[String]| path.iter().try_fold(root, |part, name| part.member(name));
    if let Purpose::Item { .. } = purpose {
        let list = part(path)?;
        let Kind::Array(items) = &list.kind else { return None };
        let index = items.iter().position(|item| item.value() == *value)?;
        return remove_item(text, list, items, index);
    }
    let object = part(outer)?;
    let Kind::Object(members) = &object.kind else { return None };
    let index = members.iter().position(|member| member.name == *name)?;
    match purpose {
        Purpose::Member { before: Some(before), .. } => {
            Some(replace(text, &Style::of(text, root), &members.get(index)?.part, before))
        }
        _ => remove_member(text, object, members, index),
    }
}

/// The text after an edit, if it then says what it should.
fn checked(
    place: &FileChange<'_>,
    edit: &TextEdit,
    text: &str,
    expected: &Value,
) -> Result<String, ConnectError> {
    let after = edit.apply(text).filter(|after| value_after(text, after).as_ref() == Some(expected));
    after.ok_or_else(|| {
        let (line, _) = line_and_column(text, edit.at);
        ConnectError::Unsupported { file: place.shown.to_owned(), line, at: "this place".to_owned() }
    })
}

/// The value of a text that was changed. A text that every reader takes stays one: a comma before a closing
/// bracket is tolerated only where something like it was there before.
fn value_after(before: &str, after: &str) -> Option<Value> {
    let is_strict = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    let value = parse(after).ok()?.value();
    (is_strict(after) || !is_strict(before)).then_some(value)
}

fn nested(path: &[String], value: Value) -> Value {
    path.iter().rev().fold(value, |value, name| Value::Object(Map::from_iter([(name.clone(), value)])))
}

// The same on values, by which every edit of the text is checked.

fn lookup<'a>(root: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(root, |value, name| value.get(name))
}

fn set(root: &mut Value, wanted: &Wanted) {
    let (path, value) = match wanted {
        Wanted::Member(path, value) | Wanted::Item(path, value) => (path, value),
    };
    let mut at = root;
    for name in path {
        let Some(object) = at.as_object_mut() else { return };
        let missing = Value::Object(Map::new());
        at = object.entry(name.clone()).or_insert(missing);
    }
    match wanted {
        Wanted::Member(..) => *at = value.clone(),
        Wanted::Item(..) => match at.as_array_mut() {
            Some(items) => items.push(value.clone()),
            None => *at = Value::Array(vec![value.clone()]),
        },
    }
}

fn unset(root: &mut Value, path: &[String], before: Option<&Value>) {
    let Some((name, outer)) = path.split_last() else { return };
    let at = outer.iter().try_fold(root, |value, name| value.get_mut(name));
    let Some(object) = at.and_then(Value::as_object_mut) else { return };
    match before {
        Some(before) => object.insert(name.clone(), before.clone()),
        None => object.remove(name),
    };
}

fn index_of(root: &Value, path: &[String], value: &Value) -> Option<usize> {
    lookup(root, path)?.as_array()?.iter().position(|item| item == value)
}

fn drop_item(root: &mut Value, path: &[String], index: usize) {
    let list = path.iter().try_fold(root, |value, name| value.get_mut(name));
    if let Some(items) = list.and_then(Value::as_array_mut) {
        items.remove(index);
    }
}

/// A value without what is empty along a path.
fn without_empty(mut root: Value, path: &[String]) -> Value {
    for length in (1..=path.len()).rev() {
        let path = path.get(..length).unwrap_or_default();
        if lookup(&root, path).is_some_and(is_empty) {
            unset(&mut root, path, None);
        }
    }
    root
}
