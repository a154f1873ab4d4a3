//! What we say ourselves: to clients of tools and replies, to upstreams of the context.
//!
//! Everything of ours is under `_meta`, the only carrier that every SDK keeps. Inside a listed tool's `annotations` we
//! write the four hints and nothing else, and never one that reads milder than the server's own. An answer to
//! `tools/resolve` also says there what the possible sets of the list come to for one call (seed 000): a client that
//! reads no `_meta` of ours would take the sets for the answer.

mod context;
mod contract;
mod reply;
mod resolution;
mod tool;

pub use context::{Context, Share, context_meta};
pub use contract::contract_json;
pub use reply::{ReplyNote, reply_meta, with_meta};
pub use resolution::{Outlook, resolution, resolution_of_tool};
pub use tool::shown_tool;

use std::collections::HashSet;

use highwater_core::annotation::{ClassSet, DataClass};
use highwater_core::label::{Label, TextSet};
use highwater_notation::{Word, Words};

use crate::text::{elements, is_array, quote_into, unquote};

/// Writes a key of a known vocabulary, which needs no escapes, and its colon.
fn push_key(out: &mut String, key: &'static str) {
    out.push('"');
    out.push_str(key);
    out.push_str("\":");
}

/// Writes a list of words.
fn push_words<T: Word>(out: &mut String, words: Words<T>) {
    push_list(out, words.iter(), |out, word| {
        out.push('"');
        out.push_str(word.as_str());
        out.push('"');
    });
}

/// Writes a list.
fn push_list<T>(out: &mut String, items: impl Iterator<Item = T>, mut item: impl FnMut(&mut String, T)) {
    out.push('[');
    for (place, next) in items.enumerate() {
        if place > 0 {
            out.push(',');
        }
        item(out, next);
    }
    out.push(']');
}

/// Writes classes in the published spelling.
fn push_classes(out: &mut String, classes: ClassSet, scopes: &TextSet) {
    push_list(out, classes.iter(), |out, class| push_class(out, class, scopes));
}

/// Writes the classes of a label, the operator's own by their names. Where others may be in it, `named` says so.
fn push_label_classes(out: &mut String, label: &Label) {
    let names = label.names();
    let classes = label.classes();
    let classes = if names.is_open() { classes } else { classes.without(DataClass::Named) };
    let own = names.members().iter().map(Err);
    push_list(out, classes.iter().map(Ok).chain(own), |out, class| match class {
        Ok(class) => push_class(out, class, label.scopes()),
        Err(name) => quote_into(out, name),
    });
}

fn push_class(out: &mut String, class: DataClass, scopes: &TextSet) {
    match class {
        DataClass::Regulated => {
            out.push_str(r#"{"regulated":{"scopes":"#);
            push_texts(out, scopes);
            out.push_str("}}");
        }
        DataClass::User
        | DataClass::Pii
        | DataClass::Financial
        | DataClass::Credentials
        | DataClass::Confidential
        | DataClass::Unclassified
        | DataClass::Named => {
            out.push('"');
            out.push_str(class.as_str());
            out.push('"');
        }
    }
}

/// An attribution united with these origins; nothing if it names them all.
fn attribution(theirs: Option<&str>, origins: &TextSet) -> Option<String> {
    let Some(theirs) = theirs.filter(|list| is_array(list)) else {
        return (!origins.members().is_empty()).then(|| {
            let mut out = String::with_capacity(64);
            push_texts(&mut out, origins);
            out
        });
    };
    let named: HashSet<_> = elements(theirs).filter_map(unquote).collect();
    let mut missing = origins.members().iter().filter(|origin| !named.contains(&***origin)).peekable();
    missing.peek()?;
    let mut out = String::new();
    push_list(&mut out, elements(theirs).map(Ok).chain(missing.map(Err)), |out, item| match item {
        Ok(raw) => out.push_str(raw),
        Err(origin) => quote_into(out, origin),
    });
    Some(out)
}

fn push_texts(out: &mut String, texts: &TextSet) {
    push_list(out, texts.members().iter(), |out, text| quote_into(out, text));
}
