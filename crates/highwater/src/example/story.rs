//! What one example server is made of: its definitions, and how it answers. The protocol around it is the
//! same for all and lives in `server`.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::label::DataLabel;

/// What a server says about itself, read from the `definition.json` beside its code.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Definition {
    /// The programmatic name, also the name of its data file.
    pub(crate) name: String,
    /// The name people see.
    pub(crate) title: String,
    /// Guidance for the model.
    pub(crate) instructions: String,
    /// `tools/list`, entry by entry.
    pub(crate) tools: Vec<Value>,
    /// `prompts/list`; empty means that the server has no prompts.
    #[serde(default)]
    pub(crate) prompts: Vec<Value>,
    /// `resources/templates/list`; empty means that the server has no resources.
    #[serde(default)]
    pub(crate) templates: Vec<Value>,
}

/// An example server without its protocol.
pub(crate) trait Story {
    /// What it says about itself.
    fn definition(&self) -> &Definition;

    /// Runs a tool. The arguments have passed the tool's own input schema.
    fn call(&mut self, tool: &str, arguments: &Arguments<'_>) -> Result<Reply, Refusal>;

    /// What a call with these arguments would do and return, as far as the arguments alone can tell.
    fn foresee(&self, _tool: &str, _arguments: &Arguments<'_>) -> Result<Foresight, Refusal> {
        Ok(Foresight::default())
    }

    /// `resources/list`, entry by entry.
    fn resources(&self) -> Result<Vec<Value>, Refusal> {
        Ok(Vec::new())
    }

    /// One resource, or nothing if there is none of that name.
    fn read(&self, _uri: &str) -> Result<Option<Reading>, Refusal> {
        Ok(None)
    }

    /// Renders a prompt that the definition lists.
    fn prompt(&self, _name: &str, _arguments: &Arguments<'_>) -> Result<PromptReply, Refusal> {
        Err(Refusal::new("this server has no prompts"))
    }

    /// Values for one argument of a prompt or a template that begin with what was typed.
    fn complete(&self, _argument: &str, _typed: &str) -> Result<Vec<String>, Refusal> {
        Ok(Vec::new())
    }
}

/// The arguments of a call, a prompt or a resolution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arguments<'a>(pub(crate) &'a Map<String, Value>);

/// The answer of a tool.
#[derive(Debug)]
pub(crate) struct Reply {
    /// The structured content; its serialisation is the text content.
    pub(crate) structured: Value,
    /// What the data in it is.
    pub(crate) label: DataLabel,
    /// What happened on the way.
    pub(crate) events: Vec<Event>,
}

/// Something a client may want to hear of while, or because, a tool runs.
#[derive(Debug)]
pub(crate) enum Event {
    /// A log message.
    Log(Level, String),
    /// So many of so many steps are done.
    Progress(usize, usize),
    /// The resource of this URI has new contents, or is gone.
    ResourceUpdated(String),
    /// A resource appeared or went.
    ResourcesChanged,
}

/// The severity of a log message, mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

/// What is known before a call; `None` leaves the static declaration as it is.
#[derive(Debug, Default)]
pub(crate) struct Foresight {
    /// Where the arguments would go.
    pub(crate) destination: Option<&'static str>,
    /// What the call would do in the world.
    pub(crate) outcomes: Option<&'static str>,
    /// What the reply would be.
    pub(crate) returns: Option<DataLabel>,
}

/// One resource with its label.
#[derive(Debug)]
pub(crate) struct Reading {
    /// The media type of the text.
    pub(crate) mime_type: &'static str,
    /// The contents.
    pub(crate) text: String,
    /// What the data in it is.
    pub(crate) label: DataLabel,
}

/// A rendered prompt with the label of what it quotes.
#[derive(Debug)]
pub(crate) struct PromptReply {
    /// What the prompt is for.
    pub(crate) description: String,
    /// The messages, in the protocol's form.
    pub(crate) messages: Vec<Value>,
    /// What the data in it is.
    pub(crate) label: DataLabel,
}

/// Why a tool did not do what it was asked: text for the model, never a protocol error.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal(String);

// === impl Arguments ===

impl<'a> Arguments<'a> {
    /// A text the schema requires. It is asked for as a result all the same: nothing here may panic.
    pub(crate) fn text(&self, name: &str) -> Result<&'a str, Refusal> {
        self.optional_text(name).ok_or_else(|| Refusal::argument(name, "is required"))
    }

    /// A text that may be missing.
    pub(crate) fn optional_text(&self, name: &str) -> Option<&'a str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// A whole number the schema requires.
    pub(crate) fn number(&self, name: &str) -> Result<u64, Refusal> {
        self.optional_number(name).ok_or_else(|| Refusal::argument(name, "is required"))
    }

    /// A whole number that may be missing.
    pub(crate) fn optional_number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Value::as_u64)
    }
}

// === impl Reply ===

impl Reply {
    /// An answer during which nothing else happened.
    pub(crate) fn new(structured: Value, label: DataLabel) -> Self {
        Self { structured, label, events: Vec::new() }
    }

    /// Adds something that happened on the way.
    pub(crate) fn and(mut self, event: Event) -> Self {
        self.events.push(event);
        self
    }
}

// === impl Refusal ===

impl Refusal {
    /// A refusal with this text.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// A refusal that names the argument at fault.
    pub(crate) fn argument(name: &str, why: impl AsRef<str>) -> Self {
        Self(format!("`{name}`: {}", why.as_ref()))
    }

    /// The text for the model.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

impl From<anyhow::Error> for Refusal {
    fn from(error: anyhow::Error) -> Self {
        // Paths of this machine are for its operator, not for the model.
        tracing::error!(error = format!("{error:#}"), "the example server's data is out of reach");
        Self::new("the server cannot reach its data")
    }
}

/// A text message of a prompt, spoken by the user.
pub(crate) fn user_text(text: impl Into<String>) -> Value {
    json!({ "role": "user", "content": { "type": "text", "text": text.into() } })
}
