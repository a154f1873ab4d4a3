//! Other files of this program in YAML, read with the same care and the same complaints as the configuration,
//! of which they may hold one.
//!
//! Shapes are structs of [`Field`]s that derive `Deserialize`. Unknown keys, wrong values and misspelt words
//! are reported with their place; what a shape cannot say is checked by its owner and reported with
//! [`Complaints::complain`].

use highwater_notation::suggest::{choose, listed};
use serde::Deserialize;
use serde_json::Value as JsonValue;

pub use crate::node::Span;
pub use crate::read::{Entries, Field, FromShape, Json, Shape, Shaped, Written};

use crate::diagnose::{Diagnostics, Problem, Problems};
use crate::load::{Surroundings, no_files, settings_of};
use crate::node::{Node, Value};
use crate::read::read;
use crate::settings::Settings;
use crate::source::Sources;
use crate::yaml::parse;

/// A file that has been parsed.
#[derive(Debug, Clone)]
pub struct Document {
    name: String,
    text: String,
    root: Node,
}

/// One step from a value of the document to another.
#[derive(Debug, Clone, Copy)]
pub enum Way<'a> {
    /// To the value of a key.
    Key(&'a str),
    /// To an item of a list, counted from zero.
    Item(usize),
}

/// Something wrong that no shape could say.
#[derive(Debug, Clone)]
pub struct Complaint {
    /// Where.
    pub span: Span,
    /// What, in one sentence.
    pub message: String,
    /// The way out.
    pub help: Option<String>,
}

// === impl Document ===

impl Document {
    /// Parses a file. The name is only shown.
    ///
    /// # Errors
    ///
    /// The first place where the text is no YAML.
    pub fn parse(name: &str, text: &str) -> Result<Self, Diagnostics> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let problems = Problems::default();
        let root = parse(text).map_err(|problem| problems.push(problem)).ok();
        let root = problems.into_result(&Sources::new(name, text), root)?;
        Ok(Self { name: name.to_owned(), text: text.to_owned(), root })
    }

    /// The name the document was given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads the whole document as one shape.
    ///
    /// # Errors
    ///
    /// Everything that does not fit.
    pub fn read<'d, T: Deserialize<'d>>(&'d self, problems: &'d Complaints) -> Option<T> {
        read(&self.root, &self.text, &problems.0)
    }

    /// The settings of the configuration that stands at `place`, with `defaults` for what it does not say. Nothing
    /// there counts as an empty configuration.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it, at its places in this document.
    pub fn settings(
        &self,
        place: &[Way<'_>],
        defaults: &JsonValue,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Settings, Diagnostics> {
        let empty = Node { span: Span::default(), value: Value::Map(Vec::new()) };
        let node = with_defaults(self.at(place).unwrap_or(&empty), defaults);
        let problems = Problems::default();
        let surroundings = Surroundings { environment, files: &no_files };
        let settings = settings_of(&node, &[], &self.text, &surroundings, &problems);
        problems.into_result(&Sources::new(&self.name, &self.text), settings)
    }

    /// The keys of the mapping at `place`; none if there is no mapping.
    pub fn keys(&self, place: &[Way<'_>]) -> Vec<String> {
        match self.at(place).map(|node| &node.value) {
            Some(Value::Map(entries)) => entries.iter().map(|(key, _)| key.name().to_owned()).collect(),
            _ => Vec::new(),
        }
    }

    /// The line of a place, counted from one.
    pub fn line(&self, span: Span) -> usize {
        self.text.get(..span.start).unwrap_or(&self.text).matches('\n').count() + 1
    }

    fn at(&self, place: &[Way<'_>]) -> Option<&Node> {
        place.iter().try_fold(&self.root, |node, step| match (step, &node.value) {
            (Way::Key(wanted), Value::Map(entries)) => {
                entries.iter().find(|(key, _)| key.name() == *wanted).map(|(_, value)| value)
            }
            (Way::Item(index), Value::List(items)) => items.get(*index),
            _ => None,
        })
    }
}

/// Where everything wrong with a document is collected.
#[derive(Debug, Default)]
pub struct Complaints(Problems);

// === impl Complaints ===

impl Complaints {
    /// Adds something wrong.
    pub fn complain(&self, complaint: Complaint) {
        let Complaint { span, message, help } = complaint;
        self.0.push(Problem { message, help, span: Some(span), ..Problem::default() });
    }

    /// The value, if there is one and nothing was wrong.
    ///
    /// # Errors
    ///
    /// Everything that was.
    pub fn or<T>(self, document: &Document, value: Option<T>) -> Result<T, Diagnostics> {
        self.0.into_result(&Sources::new(&document.name, &document.text), value)
    }
}

// === impl Complaint ===

impl Complaint {
    /// A complaint about this place.
    pub fn new(span: Span, message: impl std::fmt::Display) -> Self {
        Self { span, message: message.to_string(), help: None }
    }

    /// Adds the way out.
    #[must_use]
    pub fn help(self, help: impl std::fmt::Display) -> Self {
        Self { help: Some(help.to_string()), ..self }
    }

    /// A complaint about a word that is none of those that mean something here.
    pub fn unknown(span: Span, what: &str, word: &str, known: &[&str]) -> Self {
        let help = match known {
            [] => None,
            _ if choose(word, known).starts_with("did you mean") => Some(choose(word, known)),
            _ => Some(format!("there are {}", listed(known))),
        };
        Self { span, message: format!("unknown {what} `{word}`"), help }
    }
}

/// The node with what it leaves out. What was written always wins.
fn with_defaults(node: &Node, defaults: &JsonValue) -> Node {
    let JsonValue::Object(members) = defaults else { return node.clone() };
    let mut entries = match &node.value {
        Value::Map(entries) => entries.clone(),
        Value::Null { .. } => Vec::new(),
        _ => return node.clone(),
    };
    for (name, default) in members {
        match entries.iter_mut().find(|(key, _)| key.name() == name) {
            Some((_, value)) => *value = with_defaults(value, default),
            None => entries.push((made(node.span, name), made_of(node.span, default))),
        }
    }
    Node { span: node.span, value: Value::Map(entries) }
}

fn made(span: Span, text: &str) -> Node {
    Node { span: Span { end: span.start, ..span }, value: Value::Text(text.to_owned()) }
}

/// A node for a value that stands nowhere in the text. A number would have to: it becomes text.
fn made_of(span: Span, value: &JsonValue) -> Node {
    let place = Span { end: span.start, ..span };
    let value = match value {
        JsonValue::Null => Value::Null { spelled: true },
        JsonValue::Bool(value) => Value::Bool { value: *value, defined: place },
        JsonValue::Number(number) => Value::Text(number.to_string()),
        JsonValue::String(text) => Value::Text(text.clone()),
        JsonValue::Array(items) => Value::List(items.iter().map(|item| made_of(span, item)).collect()),
        JsonValue::Object(members) => {
            Value::Map(members.iter().map(|(key, item)| (made(span, key), made_of(span, item))).collect())
        }
    };
    Node { span: place, value }
}
