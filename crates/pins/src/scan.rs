//! Text that a definition should not hold: characters that people do not see, and the names of other servers' tools.

use std::fmt::Write;

use highwater_notation::{Json, vocabulary};

use super::definition::Definition;

vocabulary! {
    /// What is the matter with a text.
    ConcernKind {
        /// Characters without width: they carry text past the eye of whoever reviews it.
        ZeroWidth = "zero-width",
        /// Characters that turn the direction of writing: what is read is not what is written.
        Bidi = "bidi",
        /// Tag characters and variation selectors: a second alphabet that only models read.
        Tag = "tag",
        /// Control characters, such as those that drive a terminal.
        Control = "control",
        /// The name of a tool of another server: one server gives instructions for another.
        OtherServer = "other-server",
    }
}

/// Something that a person should see before a model does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Concern {
    /// What.
    pub kind: ConcernKind,
    /// In which part of the definition.
    pub part: String,
    /// Which character or name.
    pub what: String,
}

/// What one character hides, if it hides anything. `before` is the character in front of it.
fn hides(c: char, before: Option<char>) -> Option<ConcernKind> {
    match c {
        '\t' | '\n' | '\r' => None,
        // A joiner makes one picture of several, and shapes letters of scripts that need it.
        '\u{200d}' if before.is_some_and(is_picture) => None,
        '\u{200c}' | '\u{200d}' if before.is_some_and(|c| matches!(c, '\u{600}'..='\u{dff}')) => None,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            Some(ConcernKind::Bidi)
        }
        // After a picture or a sign one of these says how it is drawn. Another behind it says nothing to anybody but a
        // model: a run of them is bytes.
        '\u{fe00}'..='\u{fe0f}' if before.is_some_and(takes_selector) => None,
        '\u{180b}'..='\u{180d}' | '\u{180f}' if before.is_some_and(is_mongolian) => None,
        '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e0fff}' => Some(ConcernKind::Tag),
        c if is_default_ignorable(c) => Some(ConcernKind::ZeroWidth),
        // These stand around and between annotations, which nobody draws either.
        '\u{fff9}'..='\u{fffb}' => Some(ConcernKind::ZeroWidth),
        '\u{2028}' | '\u{2029}' => Some(ConcernKind::Control),
        c if c.is_control() => Some(ConcernKind::Control),
        _ => None,
    }
}

/// The rest of Unicode's Default_Ignorable_Code_Point: what is not drawn, whatever a font has. Bidirectional controls, variation
/// selectors and tags have kinds of their own.
fn is_default_ignorable(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
    )
}

/// Whether a variation selector may stand behind this: it is drawn, and is no letter that people type.
fn takes_selector(c: char) -> bool {
    !c.is_ascii_alphabetic()
        && !c.is_whitespace()
        && !c.is_control()
        && !is_default_ignorable(c)
        && !matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e0fff}')
}

/// Mongolian letters have selectors of their own.
fn is_mongolian(c: char) -> bool {
    matches!(c, '\u{1820}'..='\u{18aa}')
}

fn is_picture(c: char) -> bool {
    matches!(c, '\u{203c}'..='\u{3299}' | '\u{fe0f}' | '\u{1f000}'..='\u{1faff}')
}

/// The characters of a text that people do not see, each kind once with its first example.
pub fn hidden_text(text: &str) -> Vec<(ConcernKind, char)> {
    let mut found: Vec<(ConcernKind, char)> = Vec::new();
    let mut before = None;
    for c in text.chars() {
        if !c.is_ascii_graphic()
            && let Some(kind) = hides(c, before)
            && found.iter().all(|(known, _)| *known != kind)
        {
            found.push((kind, c));
        }
        before = Some(c);
    }
    found
}

/// A text with everything that people do not see made visible.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = None;
    for c in text.chars() {
        match hides(c, before) {
            Some(_) => write!(out, "⟨U+{:04X}⟩", u32::from(c)).unwrap_or_default(),
            None => out.push(c),
        }
        before = Some(c);
    }
    out
}

/// Everything in a definition that people do not see.
pub fn hidden_in(definition: &Definition) -> Vec<Concern> {
    let mut concerns = Vec::new();
    let mut look = |part: &str, text: &str| {
        for (kind, c) in hidden_text(text) {
            let concern = Concern { kind, part: part.to_owned(), what: format!("U+{:04X}", u32::from(c)) };
            if !concerns.contains(&concern) {
                concerns.push(concern);
            }
        }
    };
    look("/name", &definition.key().name);
    each_text(definition, &mut look);
    concerns
}

/// Every name of another server's tool in a definition. `is_foreign` knows those names.
pub fn names_in(definition: &Definition, is_foreign: impl Fn(&str) -> bool) -> Vec<Concern> {
    let mut concerns = Vec::new();
    each_text(definition, &mut |part, text| {
        for name in possible_names(text).filter(|name| is_foreign(name)) {
            let concern =
                Concern { kind: ConcernKind::OtherServer, part: part.to_owned(), what: name.to_owned() };
            if !concerns.contains(&concern) {
                concerns.push(concern);
            }
        }
    });
    concerns
}

/// Every text in a definition, keys included, with the part it stands in.
fn each_text(definition: &Definition, look: &mut impl FnMut(&str, &str)) {
    for (pointer, part) in definition.parts() {
        look(pointer, pointer);
        // It was made from a value, so it is one.
        if let Some(value) = Json::parse(&part.value) {
            value.each_text(&mut |text| look(pointer, text));
        }
    }
}

/// The words of a text that could be names of tools: long enough, and of a form that prose does not have.
pub fn possible_names(text: &str) -> impl Iterator<Item = &str> {
    let of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    text.split(move |c| !of_name(c)).map(|word| word.trim_matches(['.', '-', '/'])).filter(|word| {
        let inner_upper = word.chars().skip(1).any(|c| c.is_ascii_uppercase())
            && word.chars().any(|c| c.is_ascii_lowercase());
        word.len() >= SHORTEST_NAME && (word.contains('_') || word.contains('-') || inner_upper)
    })
}

/// Shorter words are too often just words.
const SHORTEST_NAME: usize = 6;
