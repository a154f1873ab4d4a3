//! The reference of all keys for people, made from the schema.

use serde_json::{Map, Value};

use crate::schema::schema;

/// The reference of every key as Markdown.
pub fn reference_markdown() -> String {
    let schema = schema();
    let mut reference =
        Reference { schema: &schema, page: String::new(), waiting: Vec::new(), done: Vec::new() };
    reference.page.push_str("# Configuration\n\n");
    reference
        .page
        .push_str("<!-- Made from the doc comments of the configuration crate; edit those. -->\n\n");
    reference.paragraph(text(&schema, "description"));
    reference
        .page
        .push_str("Sizes are numbers of bytes, or numbers with `KiB`, `MiB`, `GiB`, `kB`, `MB` or `GB`. ");
    reference
        .page
        .push_str("Durations are numbers with `ms`, `s`, `m`, `h` or `d`, and can be joined: `1h30m`.\n\n");
    reference.page.push_str("## Top level\n\n");
    reference.keys("", &schema);
    while let Some((path, name)) = reference.take_waiting() {
        if let Some(shape) = reference.definition(name) {
            reference.paragraph(&format!("## `{path}`"));
            reference.paragraph(text(shape, "description"));
            reference.keys(&format!("{path}."), shape);
        }
    }
    format!("{}\n", reference.page.trim_end())
}

struct Reference<'s> {
    schema: &'s Value,
    page: String,
    /// Shapes that were mentioned and have no section yet: their path in the file and their name.
    waiting: Vec<(String, &'s str)>,
    done: Vec<&'s str>,
}

impl<'s> Reference<'s> {
    fn take_waiting(&mut self) -> Option<(String, &'s str)> {
        if self.waiting.is_empty() { None } else { Some(self.waiting.remove(0)) }
    }

    fn definition(&self, name: &str) -> Option<&'s Value> {
        self.schema.get("$defs")?.get(name)
    }

    fn paragraph(&mut self, text: &str) {
        self.page.push_str(text);
        self.page.push_str("\n\n");
    }

    fn keys(&mut self, prefix: &str, shape: &'s Value) {
        for (key, value) in members(shape, "properties") {
            let path = format!("{prefix}{key}");
            let kind = self.kind(&path, value);
            let default = match value.get("default") {
                Some(default) => format!(" Default: `{}`.", inline(default)),
                None => String::new(),
            };
            self.paragraph(&format!("### `{path}`\n\n{kind}.{default}"));
            self.paragraph(text(value, "description"));
            for (name, meaning) in self.choices(value) {
                self.page.push_str(&format!("- `{name}`: {meaning}\n"));
            }
            let examples: Vec<String> =
                items(value, "examples").map(|example| format!("`{}`", inline(example))).collect();
            if !examples.is_empty() {
                self.page.push_str(&format!("For example {}.", examples.join(" or ")));
            }
            self.page.truncate(self.page.trim_end().len());
            self.page.push_str("\n\n");
        }
    }

    /// The kind of value in words; a shape of its own gets a section later.
    fn kind(&mut self, path: &str, value: &'s Value) -> String {
        if let Some(name) = referred(value) {
            return match self.definition(name) {
                Some(shape) if shape.get("properties").is_some() => {
                    self.mention(path, name);
                    "A mapping, see below".to_owned()
                }
                _ => "One of the words below".to_owned(),
            };
        }
        if let Some(other) = text(value, "$ref").strip_prefix("#/properties/") {
            return format!("As `{other}`");
        }
        if let Some(one) = items(value, "anyOf").next() {
            return match referred(one) {
                Some(_) => "One of the words below, or a list of them".to_owned(),
                None => "A word or a mapping".to_owned(),
            };
        }
        match (value.get("format").and_then(Value::as_str), first_type(value)) {
            (Some("size"), _) => "A size".to_owned(),
            (Some("period"), _) => "A duration".to_owned(),
            (_, "integer") => "A whole number".to_owned(),
            (_, "boolean") => "`true` or `false`".to_owned(),
            (_, "array") => "A list of texts".to_owned(),
            (_, "object") => match value.get("additionalProperties").and_then(referred) {
                Some(name) => {
                    self.mention(&format!("{path}.NAME"), name);
                    "A mapping from names to entries, see below".to_owned()
                }
                None => "A mapping from names to texts".to_owned(),
            },
            _ => "Text".to_owned(),
        }
    }

    fn mention(&mut self, path: &str, name: &'s str) {
        if !self.done.contains(&name) {
            self.done.push(name);
            self.waiting.push((path.to_owned(), name));
        }
    }

    /// The words a key takes, each with its meaning.
    fn choices(&self, value: &Value) -> Vec<(&'s str, &'s str)> {
        let one = items(value, "anyOf").next().unwrap_or(value);
        let Some(shape) = referred(one).and_then(|name| self.definition(name)) else { return Vec::new() };
        items(shape, "oneOf").map(|choice| (text(choice, "const"), text(choice, "description"))).collect()
    }
}

// === reading the schema ===

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn items<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn members<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = (&'v String, &'v Value)> {
    value.get(key).and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

fn referred(value: &Value) -> Option<&str> {
    value.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
}

fn first_type(value: &Value) -> &str {
    match value.get("type") {
        Some(Value::String(name)) => name,
        Some(Value::Array(names)) => names.first().and_then(Value::as_str).unwrap_or_default(),
        _ => "",
    }
}

/// A value as one would write it in the file.
fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
