//! The arguments of an action, and how single values are found in them.
//!
//! They stay the text they came as. All values that any rule names are picked out in one pass, and only if some
//! rule still depends on them.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Parts of one pointer.
const LONGEST_POINTER: usize = 32;

/// What is known of the arguments of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arguments<'a> {
    /// The JSON text. It was scanned before: no object in it has a key twice.
    Known(&'a str),
    /// Nobody has chosen any yet: a tool is being listed.
    Unknown,
}

/// The names of the arguments that a tool or a prompt declares, at the top level. A rule on another argument does not
/// concern it, unless a call brings that argument all the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    /// Sorted.
    names: Box<[Box<str>]>,
}

/// Where in the arguments a value stands: an RFC 6901 pointer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pointer {
    path: Box<str>,
    tokens: Box<[Box<str>]>,
}

/// Several pointers, to be looked for together.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// A tree of tokens, the root first.
    nodes: Vec<Node>,
    /// How many places the answer has.
    count: usize,
}

#[derive(Clone, Debug, Default)]
struct Node {
    /// Whose value this is.
    place: Option<usize>,
    children: Vec<(Box<str>, usize)>,
}

/// What stands at a pointer.
#[derive(Clone, Debug, PartialEq)]
pub enum Found<'a> {
    /// Nothing does.
    Missing,
    /// True or false.
    Bool(bool),
    /// A whole number, written as one.
    Int(i64),
    /// Text.
    Text(Cow<'a, str>),
    /// A value that no operator but `exists` has a reading for.
    Other(&'static str),
}

// === impl Arguments ===

impl Arguments<'_> {
    /// An action without arguments.
    pub const NONE: Self = Self::Known("{}");
}

// === impl Parameters ===

impl Parameters {
    /// These names and no others.
    pub fn of<N: Into<Box<str>>>(names: impl IntoIterator<Item = N>) -> Self {
        let mut names: Vec<Box<str>> = names.into_iter().map(Into::into).collect();
        names.sort_unstable();
        names.dedup();
        Self { names: names.into() }
    }

    /// Whether one of them holds, or is, what the pointer points at.
    pub fn hold(&self, pointer: &Pointer) -> bool {
        pointer.tokens.first().is_some_and(|first| self.names.binary_search(first).is_ok())
    }
}

// === impl Pointer ===

impl Pointer {
    /// Reads what follows `arguments.` in the path of a fact: a pointer without its first slash.
    pub fn parse(path: &str) -> Option<Self> {
        let tokens: Option<Box<[Box<str>]>> = path.split('/').map(unescape).collect();
        let tokens = tokens.filter(|tokens| !path.is_empty() && tokens.len() <= LONGEST_POINTER)?;
        Some(Self { path: path.into(), tokens })
    }

    /// The pointer as written, without its first slash.
    pub fn as_str(&self) -> &str {
        &self.path
    }

    /// Whether `other` points at this value or at something inside it.
    pub fn holds(&self, other: &Self) -> bool {
        other.tokens.starts_with(&self.tokens)
    }
}

/// `~1` is a slash, `~0` a tilde; any other tilde is a mistake.
fn unescape(token: &str) -> Option<Box<str>> {
    let mut plain = String::with_capacity(token.len());
    let mut rest = token.chars();
    while let Some(character) = rest.next() {
        plain.push(match character {
            '~' => match rest.next() {
                Some('0') => '~',
                Some('1') => '/',
                _ => return None,
            },
            other => other,
        });
    }
    Some(plain.into())
}

// === impl Wanted ===

impl Wanted {
    /// These pointers; each keeps its place among them, and where there is none nothing is looked for.
    pub fn of<'p>(pointers: impl IntoIterator<Item = Option<&'p Pointer>>) -> Self {
        let mut wanted = Self { nodes: vec![Node::default()], count: 0 };
        for (place, pointer) in pointers.into_iter().enumerate() {
            wanted.count += 1;
            let Some(pointer) = pointer else { continue };
            let mut at = 0;
            for token in &pointer.tokens {
                at = wanted.child(at, token);
            }
            if let Some(node) = wanted.nodes.get_mut(at) {
                node.place = Some(place);
            }
        }
        wanted
    }

    fn child(&mut self, of: usize, token: &str) -> usize {
        let new = self.nodes.len();
        let Some(node) = self.nodes.get_mut(of) else { return of };
        if let Some(known) = node.child(token) {
            return known;
        }
        node.children.push((token.into(), new));
        self.nodes.push(Node::default());
        new
    }

    /// What stands at each pointer, or nothing where the text cannot be read: it is then unknown, not absent.
    pub fn find<'a>(&self, text: &'a str) -> Option<Vec<Found<'a>>> {
        let mut found = vec![Found::Missing; self.count];
        let root = self.nodes.first()?;
        let mut reader = serde_json::Deserializer::from_str(text);
        Look { wanted: self, node: root, found: &mut found }.deserialize(&mut reader).ok()?;
        reader.end().ok()?;
        Some(found)
    }
}

impl Node {
    fn child(&self, token: &str) -> Option<usize> {
        self.children.iter().find(|(name, _)| **name == *token).map(|(_, child)| *child)
    }
}

// === the pass over the text ===

/// Reads one value at one node of the tree.
struct Look<'w, 'f, 'a> {
    wanted: &'w Wanted,
    node: &'w Node,
    found: &'f mut Vec<Found<'a>>,
}

/// Reads the key of an object and says which child it is.
struct Key<'w>(&'w Node);

impl<'a> Look<'_, '_, 'a> {
    fn note(&mut self, value: Found<'a>) {
        if let Some(place) = self.node.place.and_then(|place| self.found.get_mut(place)) {
            *place = value;
        }
    }
}

impl<'a> DeserializeSeed<'a> for Look<'_, '_, 'a> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'a>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Look<'_, '_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(mut self, value: bool) -> Result<(), E> {
        self.note(Found::Bool(value));
        Ok(())
    }

    fn visit_i64<E>(mut self, value: i64) -> Result<(), E> {
        self.note(Found::Int(value));
        Ok(())
    }

    fn visit_u64<E>(mut self, value: u64) -> Result<(), E> {
        self.note(i64::try_from(value).map_or(Found::Other("a number"), Found::Int));
        Ok(())
    }

    fn visit_f64<E>(mut self, _: f64) -> Result<(), E> {
        self.note(Found::Other("a number"));
        Ok(())
    }

    fn visit_borrowed_str<E>(mut self, value: &'a str) -> Result<(), E> {
        self.note(Found::Text(Cow::Borrowed(value)));
        Ok(())
    }

    fn visit_str<E>(mut self, value: &str) -> Result<(), E> {
        self.note(Found::Text(Cow::Owned(value.to_owned())));
        Ok(())
    }

    fn visit_unit<E>(mut self) -> Result<(), E> {
        self.note(Found::Other("null"));
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'a>>(mut self, mut items: A) -> Result<(), A::Error> {
        self.note(Found::Other("a list"));
        for index in 0_usize.. {
            let child =
                if self.node.children.is_empty() { None } else { self.node.child(&index.to_string()) };
            let more = match child.and_then(|child| self.wanted.nodes.get(child)) {
                Some(node) => {
                    items.next_element_seed(Look { wanted: self.wanted, node, found: self.found })?.is_some()
                }
                None => items.next_element::<IgnoredAny>()?.is_some(),
            };
            if !more {
                break;
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'a>>(mut self, mut members: A) -> Result<(), A::Error> {
        self.note(Found::Other("an object"));
        while let Some(child) = members.next_key_seed(Key(self.node))? {
            match child.and_then(|child| self.wanted.nodes.get(child)) {
                Some(node) => {
                    members.next_value_seed(Look { wanted: self.wanted, node, found: self.found })?;
                }
                None => {
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

impl<'a> DeserializeSeed<'a> for Key<'_> {
    type Value = Option<usize>;

    fn deserialize<D: serde::Deserializer<'a>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the key of an object")
    }

    fn visit_str<E: serde::de::Error>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.child(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find<'a>(pointer: &str, text: &'a str) -> Option<Found<'a>> {
        Wanted::of([Some(&Pointer::parse(pointer).unwrap())]).find(text).map(|mut found| found.remove(0))
    }

    #[test]
    fn a_pointer_finds_members_items_and_escaped_names() {
        let text = r#"{"to":"kim","message":{"to":["a",{"id":7}]},"a/b":{"~":true},"x\u0041":"\n"}"#;
        assert_eq!(find("to", text), Some(Found::Text("kim".into())));
        assert_eq!(find("message/to/1/id", text), Some(Found::Int(7)));
        assert_eq!(find("message/to/2", text), Some(Found::Missing));
        assert_eq!(find("message/to/01", text), Some(Found::Missing));
        assert_eq!(find("a~1b/~0", text), Some(Found::Bool(true)));
        assert_eq!(find("xA", text), Some(Found::Text("\n".into())));
        assert_eq!(find("to/0", text), Some(Found::Missing));
        assert_eq!(find("message", text), Some(Found::Other("an object")));
    }

    #[test]
    fn only_what_is_written_as_a_whole_number_is_one() {
        assert_eq!(find("n", r#"{"n":5}"#), Some(Found::Int(5)));
        for other in ["5.0", "5e0", "-0", "18446744073709551615", "1e400"] {
            let text = format!(r#"{{"n":{other}}}"#);
            let found = find("n", &text);
            assert!(matches!(found, Some(Found::Other("a number")) | None), "{other}: {found:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_unknown_and_not_missing() {
        assert_eq!(find("to", r#"{"to":"kim""#), None);
        assert_eq!(find("to", r#"{"to":"kim"} x"#), None);
        assert_eq!(find("to", &"[".repeat(1000)), None);
    }

    #[test]
    fn one_pass_finds_a_value_and_what_is_inside_it() {
        let pointers = ["a", "a/b", "c"].map(|path| Pointer::parse(path).unwrap());
        let found = Wanted::of(pointers.iter().map(Some)).find(r#"{"a":{"b":1}}"#).unwrap();
        assert_eq!(found, [Found::Other("an object"), Found::Int(1), Found::Missing]);
    }

    #[test]
    fn a_pointer_is_checked() {
        assert_eq!(Pointer::parse(""), None);
        assert_eq!(Pointer::parse("a~2"), None);
        assert_eq!(Pointer::parse(&"a/".repeat(LONGEST_POINTER)), None);
    }
}
