//! Definitions as they are pinned: which of their parts a model reads, which are claims, which are for the eye, with the
//! defaults of the protocol filled in.

use std::sync::Arc;

use highwater_core::annotation::Authority;
use highwater_core::pin::{Definition, PartClass, PinKey, PinKind, canonical_value};
use serde_json::{Map, Value, json};

use super::heard::Reading;
use super::resolution::ServerSays;
use super::table::{self, Of};
use super::tool::tool_claims;
use crate::era::meta_key;

/// What the protocol takes a hint for that is not written.
const DEFAULTS: [(&str, bool); 4] =
    [("readOnlyHint", false), ("destructiveHint", true), ("idempotentHint", false), ("openWorldHint", true)];

/// Where the server's own policy is kept with each of its tools. Nobody else can write it: keys of ours are taken off
/// what servers send.
const ACCEPT_FROM: &str = "dev.highwater/acceptFrom";

type Parts = Vec<(Arc<str>, PartClass, Value)>;

/// A tool's definition; `None` if it is no object with a name.
pub fn tool(item: &str, says: &ServerSays) -> Option<Definition> {
    let mut members = object(item)?;
    if let Some(tokens) = &says.accept_from {
        members.insert(ACCEPT_FROM.to_owned(), tokens.iter().map(|token| Value::from(&**token)).collect());
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

/// The instructions, given as a JSON string.
pub fn instructions(literal: &str) -> Option<Definition> {
    let text: Value = serde_json::from_str(literal).ok().filter(Value::is_string)?;
    let parts: Parts = vec![("".into(), PartClass::Wording, text.clone())];
    Some(Definition::new(PinKey::instructions(), canonical_value(&text), parts))
}

/// Who a server is, part by part.
pub fn identity(parts: impl IntoIterator<Item = (&'static str, Value)>) -> Definition {
    let parts: Map<String, Value> = parts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    of_identity(parts)
}

/// A definition from the text that was kept of it.
pub fn read_back(kind: PinKind, text: &str) -> Option<Definition> {
    match kind {
        PinKind::Identity => Some(of_identity(parse(text)?)),
        PinKind::Instructions => instructions(text),
        PinKind::Tool => of_tool(parse(text)?),
        PinKind::Prompt => of_text(PinKind::Prompt, "name", parse(text)?),
        PinKind::Template => of_text(PinKind::Template, "uriTemplate", parse(text)?),
    }
}

/// What a pinned tool claims of itself.
pub fn claims(tool: &Definition, by: Authority) -> Reading {
    let Some(mut members) = parse(tool.text()) else { return Reading::default() };
    let accept_from = members.remove(ACCEPT_FROM).and_then(|tokens| {
        let tokens = tokens.as_array()?.iter().filter_map(Value::as_str).map(Arc::from);
        Some(tokens.collect())
    });
    let says = ServerSays { accept_from, resolves: None };
    tool_claims(&canonical_value(&Value::Object(members)), &says, by)
}

fn parse(text: &str) -> Option<Map<String, Value>> {
    match serde_json::from_str(text).ok()? {
        Value::Object(members) => Some(members),
        _ => None,
    }
}

/// The members of what a server sent, without what only we may say and what says nothing.
fn object(item: &str) -> Option<Map<String, Value>> {
    let ours = |key: &String| key.starts_with(meta_key::OURS);
    let mut members = parse(item)?;
    members.retain(|key, value| !ours(key) && !value.is_null());
    if let Some(Value::Object(meta)) = members.get_mut("_meta") {
        meta.retain(|key, _| !ours(key));
    }
    Some(members)
}

fn of_identity(members: Map<String, Value>) -> Definition {
    let text = canonical_value(&Value::Object(members.clone()));
    let parts =
        members.into_iter().map(|(name, value)| (format!("/{name}").into(), PartClass::Identity, value));
    Definition::new(PinKey::identity(), text, parts)
}

fn of_tool(members: Map<String, Value>) -> Option<Definition> {
    let key = PinKey::new(PinKind::Tool, members.get("name")?.as_str()?);
    let text = canonical_value(&Value::Object(members.clone()));
    let mut parts = Parts::new();
    for (name, value) in members {
        match (name.as_str(), value) {
            ("name", _) => {}
            ("annotations", Value::Object(annotations)) => claimed(&mut parts, "/annotations", annotations),
            ("annotations", other) => parts.push(("/annotations".into(), PartClass::Annotation, other)),
            ("_meta", Value::Object(mut meta)) => {
                if let Some(Value::Object(inner)) = meta.get("annotations").cloned() {
                    meta.remove("annotations");
                    claimed(&mut parts, "/_meta/annotations", inner);
                }
                claimed(&mut parts, "/_meta", meta);
            }
            ("icons", icons) => parts.push(("/icons".into(), PartClass::Cosmetic, icons)),
            // On the tool itself this is the protocol's word for how it is called, not a capability.
            ("execution", how @ Value::Object(_)) => {
                parts.push(("/execution".into(), PartClass::Schema, how));
            }
            ("inputSchema" | "outputSchema", schema) => {
                parts.push((pointer("", &name), PartClass::Schema, schema));
            }
            (ACCEPT_FROM, tokens) => {
                parts.push(("/capabilities/flow".into(), PartClass::Annotation, tokens));
            }
            (_, value) => parts.push((pointer("", &name), class(&name), value)),
        }
    }
    for (hint, default) in DEFAULTS {
        let pointer = pointer("/annotations", hint);
        if !parts.iter().any(|(known, _, _)| *known == pointer) {
            parts.push((pointer, PartClass::Annotation, json!(default)));
        }
    }
    Some(Definition::new(key, text, parts))
}

/// Something of which a model reads every word.
fn of_text(kind: PinKind, named: &str, members: Map<String, Value>) -> Option<Definition> {
    let key = PinKey::new(kind, members.get(named)?.as_str()?);
    let text = canonical_value(&Value::Object(members.clone()));
    let parts = members.into_iter().filter(|(name, _)| name != named).map(|(name, value)| {
        let class = if name == "icons" { PartClass::Cosmetic } else { PartClass::Wording };
        (pointer("", &name), class, value)
    });
    Some(Definition::new(key, text, parts))
}

/// The members of a place where claims stand, each a part of its own.
fn claimed(parts: &mut Parts, place: &str, members: Map<String, Value>) {
    parts.extend(members.into_iter().map(|(name, value)| (pointer(place, &name), class(&name), value)));
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
