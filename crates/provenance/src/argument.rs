//! The arguments of a call, leaf by leaf.

use highwater_core::annotation::ArgumentRole;
use serde_json::Value;

use crate::{Call, act};

/// The most leaves of a call that are looked at. One with more is not vouched for.
pub(crate) const MOST_LEAVES: usize = 512;

/// How deep schemas and arguments are followed.
const DEPTH: usize = 16;

/// One value in the arguments.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    /// Where it stands, as a JSON pointer.
    pub(crate) pointer: String,
    /// The name of the nearest argument or field around it.
    pub(crate) key: String,
    pub(crate) role: ArgumentRole,
    /// What its argument takes.
    pub(crate) takes: Takes,
    /// Whether it is one of the values that the schema lists.
    pub(crate) is_listed_value: bool,
    pub(crate) given: Given,
}

/// What is given.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Given {
    /// A text.
    Text(String),
    /// A number.
    Number(f64),
    /// Yes or no.
    Flag(bool),
}

/// What kind of value an argument takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// Any.
    Anything,
    /// A mail address.
    Mail,
    /// A URL or a host.
    Page,
    /// An id.
    Id,
    /// A password or a key.
    Secret,
}

// === impl Given ===

impl Given {
    /// The text, if it is one.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Number(_) | Self::Flag(_) => None,
        }
    }

    /// As it is written.
    pub(crate) fn written(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
            Self::Flag(flag) => flag.to_string(),
        }
    }
}

/// Every value of a call, in the order of its arguments; nothing where they are too many or too deep to look at.
pub(crate) fn leaves(call: &Call<'_>) -> Option<Vec<Leaf>> {
    let mut walk = Walk { call, found: Vec::new(), is_too_much: false };
    walk.node(call.arguments, &mut String::new(), "", call.schema, DEPTH);
    (!walk.is_too_much).then_some(walk.found)
}

struct Walk<'a> {
    call: &'a Call<'a>,
    found: Vec<Leaf>,
    is_too_much: bool,
}

// === impl Walk ===

impl Walk<'_> {
    fn node(&mut self, node: &Value, pointer: &mut String, key: &str, schema: Option<&Value>, depth: usize) {
        self.is_too_much |= depth == 0 || self.found.len() > MOST_LEAVES;
        if self.is_too_much {
            return;
        }
        match node {
            Value::Null => {}
            Value::Object(fields) => {
                for (name, value) in fields {
                    let inner = schema.and_then(|schema| property(schema, name, self.call.schema, DEPTH));
                    let length = pointer.len();
                    pointer.push('/');
                    pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
                    // A key that nobody foresaw is a value, too: `{"mark@evil.example": "rw"}`.
                    if length > 0 && inner.is_none() && !is_plain_key(name, schema) {
                        self.leaf(Given::Text(name.clone()), pointer, key, schema);
                    }
                    self.node(value, pointer, name, inner, depth - 1);
                    pointer.truncate(length);
                }
            }
            Value::Array(rows) => {
                let inner = schema.and_then(|schema| items(schema, self.call.schema, DEPTH));
                for (at, value) in rows.iter().enumerate() {
                    let length = pointer.len();
                    pointer.push('/');
                    pointer.push_str(&at.to_string());
                    self.node(value, pointer, key, inner, depth - 1);
                    pointer.truncate(length);
                }
            }
            Value::Bool(flag) => self.leaf(Given::Flag(*flag), pointer, key, schema),
            Value::Number(number) => match number.as_f64() {
                Some(number) => self.leaf(Given::Number(number), pointer, key, schema),
                None => self.leaf(Given::Text(number.to_string()), pointer, key, schema),
            },
            Value::String(text) => match list_in(text) {
                // A list that is written as a text is read as its elements.
                Some(rows) => rows.iter().for_each(|row| self.node(row, pointer, key, schema, depth - 1)),
                None if text.trim().is_empty() => {}
                None => self.leaf(Given::Text(text.clone()), pointer, key, schema),
            },
        }
    }

    fn leaf(&mut self, given: Given, pointer: &str, key: &str, schema: Option<&Value>) {
        let stated = (self.call.role)(pointer.strip_prefix('/').unwrap_or(pointer));
        let takes = takes(key, schema);
        let role = match stated.unwrap_or(ArgumentRole::Target) {
            ArgumentRole::Target | ArgumentRole::Object if takes == Takes::Secret => ArgumentRole::Secret,
            role => role,
        };
        let is_listed_value = schema.is_some_and(|schema| lists(schema, &given));
        self.found.push(Leaf {
            pointer: pointer.to_owned(),
            key: key.to_owned(),
            role,
            takes,
            is_listed_value,
            given,
        });
    }
}

fn list_in(text: &str) -> Option<Vec<Value>> {
    let trimmed = text.trim();
    (trimmed.starts_with('[') && trimmed.ends_with(']')).then(|| serde_json::from_str(trimmed).ok()).flatten()
}

/// Whether a key is a name of a field, as far as one can tell: nobody describes what else there may be, and it looks like
/// one.
fn is_plain_key(key: &str, schema: Option<&Value>) -> bool {
    let others = schema.and_then(|schema| schema.get("additionalProperties"));
    let is_map = others.is_some_and(Value::is_object);
    let is_closed = schema.is_some_and(|schema| schema.get("properties").is_some()) && others.is_none();
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    !is_map
        && !is_closed
        && key.chars().all(is_word)
        && !key.starts_with(|letter: char| letter.is_ascii_digit())
}

/// The schema behind a reference into the same document.
fn resolved<'a>(schema: &'a Value, root: Option<&'a Value>) -> &'a Value {
    let target = schema.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#'));
    target.and_then(|target| root?.pointer(target)).unwrap_or(schema)
}

fn property<'a>(schema: &'a Value, name: &str, root: Option<&'a Value>, depth: usize) -> Option<&'a Value> {
    let schema = resolved(schema, root);
    let own = schema.get("properties").and_then(|properties| properties.get(name));
    own.or_else(|| variants(schema, depth).find_map(|variant| property(variant, name, root, depth - 1)))
        .map(|found| resolved(found, root))
}

fn items<'a>(schema: &'a Value, root: Option<&'a Value>, depth: usize) -> Option<&'a Value> {
    let schema = resolved(schema, root);
    let own = schema.get("items").map(|items| resolved(items, root));
    own.or_else(|| variants(schema, depth).find_map(|variant| items(variant, root, depth - 1)))
}

fn variants(schema: &Value, depth: usize) -> impl Iterator<Item = &Value> {
    let lists = ["anyOf", "oneOf", "allOf"].into_iter().filter(move |_| depth > 1);
    lists.filter_map(|list| schema.get(list)).filter_map(Value::as_array).flatten()
}

/// Whether the schema lists this value.
fn lists(schema: &Value, given: &Given) -> bool {
    let is_it = |value: &Value| match (value, given) {
        (Value::String(value), Given::Text(text)) => value == text,
        (Value::Number(value), Given::Number(number)) => value.as_f64() == Some(*number),
        _ => false,
    };
    let own = schema
        .get("enum")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .chain(schema.get("const"))
        .any(is_it);
    own || variants(schema, 2).any(|variant| {
        variant
            .get("enum")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .chain(variant.get("const"))
            .any(is_it)
    })
}

/// What an argument takes: by its schema, else by its name.
fn takes(key: &str, schema: Option<&Value>) -> Takes {
    let format = schema.and_then(|schema| {
        let inner = variants(schema, 2).find_map(|variant| variant.get("format"));
        schema.get("format").or(inner).and_then(Value::as_str)
    });
    match format {
        Some("email" | "idn-email") => return Takes::Mail,
        Some("uri" | "url" | "iri" | "hostname" | "uri-reference") => return Takes::Page,
        Some("password") => return Takes::Secret,
        Some("uuid") => return Takes::Id,
        _ => {}
    }
    let words = act::name_words(key);
    let last = words.last().map(String::as_str).unwrap_or_default();
    let has = |word: &str| words.iter().any(|known| known == word);
    match last {
        "password" | "passphrase" | "passwd" | "secret" | "apikey" => Takes::Secret,
        "key" if has("api") || has("ssh") || has("private") || has("secret") || has("access") => {
            Takes::Secret
        }
        "id" | "ids" => Takes::Id,
        "url" | "urls" | "uri" | "link" | "href" | "website" | "webpage" | "site" | "domain" | "host"
        | "hostname" | "endpoint" => Takes::Page,
        "cc" | "bcc" => Takes::Mail,
        _ if has("password") => Takes::Secret,
        _ if has("email") || has("emails") => Takes::Mail,
        _ => Takes::Anything,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_core::annotation::{Destination, Outcome};
    use highwater_core::id::UpstreamId;
    use serde_json::json;

    fn of(arguments: Value, schema: Option<Value>) -> Vec<(String, String)> {
        let server = UpstreamId::new("s");
        let call = Call {
            server: &server,
            tool: "t",
            description: None,
            arguments: &arguments,
            role: &|_| None,
            schema: schema.as_ref(),
            destination: Destination::User,
            outcome: Outcome::Consequential,
            destructive: false,
            caps: &[],
        };
        leaves(&call)
            .unwrap_or_default()
            .into_iter()
            .map(|leaf| (leaf.pointer, leaf.given.written()))
            .collect()
    }

    fn pair(pointer: &str, value: &str) -> (String, String) {
        (pointer.to_owned(), value.to_owned())
    }

    #[test]
    fn a_list_in_a_text_is_read_as_its_elements() {
        assert_eq!(of(json!({"to": "[\"a\", \"b\"]"}), None), [pair("/to", "a"), pair("/to", "b")]);
        assert_eq!(
            of(json!({"to": ["a", {"b/c": 1}]}), None),
            [pair("/to/0", "a"), pair("/to/1/b~1c", "b/c"), pair("/to/1/b~1c", "1")]
        );
    }

    #[test]
    fn a_key_that_nobody_foresaw_is_a_value() {
        let shared = json!({"with": {"mark@evil.example": "rw"}});
        assert_eq!(of(shared.clone(), None)[0], pair("/with/mark@evil.example", "mark@evil.example"));
        let schema = json!({"properties": {"with": {"additionalProperties": {"type": "string"}}}});
        assert_eq!(of(json!({"with": {"mark": "rw"}}), Some(schema))[0], pair("/with/mark", "mark"));
        assert_eq!(of(json!({"options": {"mode": "fast"}}), None), [pair("/options/mode", "fast")]);
    }

    #[test]
    fn a_format_says_what_an_argument_takes_and_else_its_name() {
        assert_eq!(takes("to", Some(&json!({"format": "email"}))), Takes::Mail);
        assert_eq!(takes("user_email", None), Takes::Mail);
        assert_eq!(takes("email_id", None), Takes::Id);
        assert_eq!(takes("fileId", None), Takes::Id);
        assert_eq!(takes("page_url", None), Takes::Page);
        assert_eq!(takes("new_password", None), Takes::Secret);
        assert_eq!(takes("channel", None), Takes::Anything);
    }

    #[test]
    fn too_many_values_are_none() {
        let many: Vec<u32> = (0..2000).collect();
        assert!(of(json!({ "n": many }), None).is_empty());
    }
}
