//! Definitions as they are pinned: which of their parts a model reads, which are claims, which are for the eye, with the
//! defaults of the protocol filled in.

use std::borrow::Cow;
use std::sync::Arc;

use highwater_core::annotation::Authority;
use highwater_notation::{Json, Text};
use highwater_pins::{Definition, PartClass, PinKey, PinKind, hidden_in};
use serde_json::Value;

use super::heard::Reading;
use super::resolution::ServerSays;
use super::table::{self, Of};
use super::tool::tool_claims;
use crate::edit::{Edit, edit_object};
use crate::era::meta_key;
use crate::text::{integer, is_null, member, members};

/// What the protocol takes a hint for that is not written. `destructiveHint` is not among them: a tool that says it is one
/// has another call class than a tool that says nothing (seed 003), so that to begin to say it is a change.
const DEFAULTS: [(&str, bool); 3] =
    [("readOnlyHint", false), ("idempotentHint", false), ("openWorldHint", true)];

/// Where the server's own policy is kept with each of its tools. Nobody else can write it: keys of ours are taken off
/// what servers send.
const ACCEPT_FROM: &str = "dev.highwater/acceptFrom";

type Members = Vec<(Text, Json)>;
type Parts = Vec<(Arc<str>, PartClass, Json)>;

/// A tool's definition; `None` if it is no object with a name.
pub fn tool(item: &str, says: &ServerSays) -> Option<Definition> {
    let mut members = object(item)?;
    if let Some(tokens) = &says.accept_from {
        let tokens = tokens.iter().map(|token| Json::text(token)).collect();
        members.push((Text::new(ACCEPT_FROM), Json::Array(tokens)));
    }
    of_tool(members)
}

/// A prompt's definition.
pub fn prompt(item: &str) -> Option<Definition> {
    of_text(PinKind::Prompt, "name", object(item)?)
}

/// A resource template's definition. Its URI is its name.
pub fn template(item: &str) -> Option<Definition> {
    of_text(PinKind::Template, "uriTemplate", object(item)?)
}

/// What resources say of themselves, one after the other, without what changes in the course of their life; and what
/// lists say besides their entries. The first of a URI counts, as it does in the list.
pub fn resources<'t>(
    items: impl IntoIterator<Item = &'t str>,
    lists: impl IntoIterator<Item = (&'t str, Option<Json>)>,
) -> Option<Definition> {
    let lists = lists.into_iter().filter_map(|(list, said)| Some((Text::new(list), said?)));
    // No resource goes by that name.
    let mut all: Members = vec![(Text::new(""), Json::object(lists))];
    for item in items {
        if let Some((uri, words)) = resource(item)
            && !all.iter().any(|(known, _)| known.plain() == uri.plain())
        {
            all.push((uri, words));
        }
    }
    of_resources(all)
}

/// The URIs of what `resources` kept, and what each said.
pub fn resource_words(text: &str) -> Vec<(Arc<str>, Arc<str>)> {
    let all = parse(text).unwrap_or_default();
    all.into_iter().map(|(uri, words)| (uri.plain().into(), words.to_string().into())).collect()
}

/// What a list says besides its entries; nothing if it says nothing.
pub fn beside<'t>(members: impl IntoIterator<Item = (&'t str, &'t str)>) -> Option<Json> {
    let all: Members = members
        .into_iter()
        .filter_map(|(name, value)| Some((Text::new(name), Json::parse(value)?)))
        .collect();
    (!all.is_empty()).then(|| Json::object(all))
}

/// What a list says besides its entries as clients are shown it, each member with its value, where that is something else
/// than it says now. `words` are what `resources` kept of lists.
pub fn beside_shown(words: &str, list: &str, now: Option<&Json>) -> Option<Vec<(String, String)>> {
    let kept = parse(words)?.into_iter().find(|(name, _)| name.plain() == list).map(|(_, said)| said);
    if kept.as_ref() == now {
        return None;
    }
    match kept {
        Some(Json::Object(members)) => Some(
            members.into_iter().map(|(name, value)| (name.plain().to_owned(), value.to_string())).collect(),
        ),
        _ => Some(Vec::new()),
    }
}

/// A listed resource as clients are shown it that said these words when it was approved; what changes in the course of its
/// life is as it is now.
pub fn resource_shown<'t>(words: &str, listed: &'t str) -> Cow<'t, str> {
    if resource(listed).is_some_and(|(_, now)| now.to_string() == words) {
        return shown(listed);
    }
    let modified = member(listed, "annotations").and_then(|annotations| member(annotations, MODIFIED));
    let modified = modified.filter(|time| is_time(time));
    let size = member(listed, "size").filter(|size| integer(size).is_some());
    let inner: Vec<_> = modified.map(|time| (MODIFIED, Edit::Set(time))).into_iter().collect();
    let mut edits: Vec<_> = size.map(|size| ("size", Edit::Set(size))).into_iter().collect();
    if !inner.is_empty() {
        edits.push(("annotations", Edit::Merge(&inner)));
    }
    Cow::Owned(shown(&edit_object(words, &edits)).into_owned())
}

/// A resource's URI, and what a model reads of it.
fn resource(item: &str) -> Option<(Text, Json)> {
    let mut members = object(item)?;
    let (_, Json::Text(uri)) = members.iter().find(|(name, _)| name.plain() == "uri")? else { return None };
    let uri = uri.clone();
    members.retain(|(name, value)| name.plain() != "size" || integer(&value.to_string()).is_none());
    for (name, value) in &mut members {
        if let (true, Json::Object(annotations)) = (name.plain() == "annotations", value) {
            annotations.retain(|(name, value)| name.plain() != MODIFIED || !is_time(&value.to_string()));
        }
    }
    // Whether the place of a time is there says nothing.
    members.retain(|(name, value)| name.plain() != "annotations" || *value != Json::Object(Vec::new()));
    Some((uri, Json::object(members)))
}

/// When a resource was last changed.
const MODIFIED: &str = "lastModified";

/// Whether a JSON string is a time, which says nothing else to a model.
fn is_time(literal: &str) -> bool {
    const LONGEST: usize = 40;
    literal.len() <= LONGEST
        && literal.chars().all(|c| c.is_ascii_digit() || matches!(c, '"' | 'T' | 'Z' | ':' | '.' | '+' | '-'))
}

/// The instructions, given as a JSON string.
pub fn instructions(literal: &str) -> Option<Definition> {
    let text = Json::parse(literal).filter(|text| text.as_text().is_some())?;
    let parts: Parts = vec![("".into(), PartClass::Wording, text.clone())];
    Some(Definition::new(PinKey::instructions(), text.to_string(), parts))
}

/// Who a server is, part by part.
pub fn identity(parts: impl IntoIterator<Item = (&'static str, Value)>) -> Definition {
    of_identity(parts.into_iter().map(|(name, value)| (Text::new(name), value.into())).collect())
}

/// A definition from the text that was kept of it.
pub fn read_back(kind: PinKind, text: &str) -> Option<Definition> {
    match kind {
        PinKind::Identity => Some(of_identity(parse(text)?)),
        PinKind::Instructions => instructions(text),
        PinKind::Tool => of_tool(parse(text)?),
        PinKind::Prompt => of_text(PinKind::Prompt, "name", parse(text)?),
        PinKind::Template => of_text(PinKind::Template, "uriTemplate", parse(text)?),
        PinKind::Resources => of_resources(parse(text)?),
        // It is read as what it is, elsewhere.
        PinKind::Manifest | PinKind::Profile => None,
    }
}

/// A definition of which the text was kept, as its server would list it: without what was added to it when it was pinned.
pub fn as_listed(kind: PinKind, text: &str) -> String {
    match (kind, parse(text)) {
        (PinKind::Tool, Some(mut members)) => {
            members.retain(|(key, _)| key.plain() != ACCEPT_FROM);
            Json::object(members).to_string()
        }
        _ => text.to_owned(),
    }
}

/// What a pinned tool claims of itself.
pub fn claims(tool: &Definition, by: Authority) -> Reading {
    let Some(mut members) = parse(tool.text()) else { return Reading::default() };
    let accept_from = members.iter().find_map(|(key, value)| match value {
        Json::Array(tokens) if key.plain() == ACCEPT_FROM => {
            Some(tokens.iter().filter_map(Json::as_text).map(Arc::from).collect())
        }
        _ => None,
    });
    members.retain(|(key, _)| key.plain() != ACCEPT_FROM);
    let says = ServerSays { accept_from, resolves: None };
    tool_claims(&Json::object(members).to_string(), &says, by)
}

/// Something a server lists as clients are shown it: what is no part of what is pinned is not shown either, whatever its
/// key says.
pub fn shown(item: &str) -> Cow<'_, str> {
    let unpinned: Vec<_> = members(item)
        .filter(|(key, value)| is_null(value) || key.starts_with(meta_key::OURS))
        .map(|(key, _)| key)
        .collect();
    if unpinned.is_empty() {
        return Cow::Borrowed(item);
    }
    let edits: Vec<_> = unpinned.iter().map(|key| (&**key, Edit::Remove)).collect();
    Cow::Owned(edit_object(item, &edits))
}

/// Whether something a server lists holds text that people do not see.
pub fn hides_text(item: &str) -> bool {
    // Most items are plain, and their escapes stand for nothing hidden.
    if item.is_ascii() && !item.contains("\\u") {
        return false;
    }
    match Json::parse(item) {
        Some(item) => {
            let parts: Parts = vec![("".into(), PartClass::Wording, item)];
            !hidden_in(&Definition::new(PinKey::new(PinKind::Template, ""), "", parts)).is_empty()
        }
        None => true,
    }
}

fn parse(text: &str) -> Option<Members> {
    match Json::parse(text)? {
        Json::Object(members) => Some(members),
        _ => None,
    }
}

/// The members of what a server sent, without what only we may say and what says nothing.
fn object(item: &str) -> Option<Members> {
    let ours = |key: &Text| key.plain().starts_with(meta_key::OURS);
    let mut members = parse(item)?;
    members.retain(|(key, value)| !ours(key) && *value != Json::Null);
    for (key, value) in &mut members {
        if let (true, Json::Object(meta)) = (key.plain() == "_meta", value) {
            meta.retain(|(key, _)| !ours(key));
        }
    }
    Some(members)
}

fn named(members: &Members, key: &str) -> Option<Arc<str>> {
    let (_, value) = members.iter().find(|(name, _)| name.plain() == key)?;
    value.as_text().map(Arc::from)
}

fn of_identity(members: Members) -> Definition {
    let text = Json::object(members.clone()).to_string();
    let parts =
        members.into_iter().map(|(name, value)| (pointer("", name.exact()), PartClass::Identity, value));
    Definition::new(PinKey::identity(), text, parts)
}

fn of_resources(all: Members) -> Option<Definition> {
    let text = Json::object(all).to_string();
    let parts: Parts = vec![("".into(), PartClass::Wording, Json::parse(&text)?)];
    Some(Definition::new(PinKey::resources(), text, parts))
}

fn of_tool(members: Members) -> Option<Definition> {
    let key = PinKey::new(PinKind::Tool, named(&members, "name")?);
    let text = Json::object(members.clone()).to_string();
    let mut parts = Parts::new();
    for (name, value) in members {
        match (name.plain(), value) {
            ("name", _) => {}
            ("annotations", Json::Object(annotations)) => claimed(&mut parts, "/annotations", annotations),
            ("annotations", other) => parts.push(("/annotations".into(), PartClass::Annotation, other)),
            ("_meta", Json::Object(meta)) => {
                let (inner, rest): (Members, Members) = meta.into_iter().partition(|(key, value)| {
                    key.plain() == "annotations" && matches!(value, Json::Object(_))
                });
                for (_, inner) in inner {
                    if let Json::Object(annotations) = inner {
                        claimed(&mut parts, "/_meta/annotations", annotations);
                    }
                }
                claimed(&mut parts, "/_meta", rest);
            }
            ("icons", icons) => parts.push(("/icons".into(), PartClass::Cosmetic, icons)),
            // On the tool itself this is the protocol's word for how it is called, not a capability.
            ("execution", how @ Json::Object(_)) => {
                parts.push(("/execution".into(), PartClass::Schema, how));
            }
            ("inputSchema" | "outputSchema", schema) => {
                parts.push((pointer("", name.plain()), PartClass::Schema, schema));
            }
            (ACCEPT_FROM, tokens) => {
                parts.push(("/capabilities/flow".into(), PartClass::Annotation, tokens));
            }
            (plain, value) => parts.push((pointer("", name.exact()), class(plain), value)),
        }
    }
    for (hint, default) in DEFAULTS {
        let pointer = pointer("/annotations", hint);
        if !parts.iter().any(|(known, _, _)| *known == pointer) {
            parts.push((pointer, PartClass::Annotation, Json::Bool(default)));
        }
    }
    Some(Definition::new(key, text, parts))
}

/// Something of which a model reads every word.
fn of_text(kind: PinKind, key: &str, members: Members) -> Option<Definition> {
    let text = Json::object(members.clone()).to_string();
    let name = named(&members, key)?;
    let parts = members.into_iter().filter(|(name, _)| name.plain() != key).map(|(name, value)| {
        let class = if name.plain() == "icons" { PartClass::Cosmetic } else { PartClass::Wording };
        (pointer("", name.exact()), class, value)
    });
    Some(Definition::new(PinKey::new(kind, name), text, parts))
}

/// The members of a place where claims stand, each a part of its own.
fn claimed(parts: &mut Parts, place: &str, members: Members) {
    let part = |(name, value): (Text, Json)| (pointer(place, name.exact()), class(name.plain()), value);
    parts.extend(members.into_iter().map(part));
}

/// What is no claim of a vocabulary may be read by a model.
fn class(key: &str) -> PartClass {
    match table::find(key) {
        Some((_, row)) => match row.of {
            Of::Tools | Of::Anything => PartClass::Annotation,
            Of::Requests => PartClass::Wording,
        },
        None => PartClass::Wording,
    }
}

fn pointer(place: &str, key: &str) -> Arc<str> {
    format!("{place}/{}", key.replace('~', "~0").replace('/', "~1")).into()
}
