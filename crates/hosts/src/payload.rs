//! Reads members of a hook's JSON, and says where one is garbled.

use serde_json::{Map, Value};

use crate::event::{AgentId, CallId, ConversationId, TurnId};

/// More than this is not read. A tool's result may be a whole file, so there is room for one.
pub const MAX_PAYLOAD: usize = 32 << 20;

/// Longer names and paths than this are garbled; the longest path that Linux takes has room.
const MAX_NAME: usize = 4_096;

/// Why a hook's input is not an event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    #[error("the input is longer than {MAX_PAYLOAD} bytes")]
    TooLong,
    #[error("the input is not JSON: line {line}, column {column}")]
    NotJson { line: usize, column: usize },
    #[error("`{at}` is missing")]
    Missing { at: String },
    #[error("`{at}` is not {expected}")]
    Garbled { at: String, expected: &'static str },
    #[error("the hook was installed for `{installed}` and the input is of `{given}`")]
    OtherEvent { installed: &'static str, given: String },
}

/// An object and the JSON pointer at which it stands.
pub(crate) struct Fields<'a> {
    object: &'a Map<String, Value>,
    at: String,
}

/// The input as a JSON value.
pub(crate) fn parse(input: &[u8]) -> Result<Value, EventError> {
    if input.len() > MAX_PAYLOAD {
        return Err(EventError::TooLong);
    }
    serde_json::from_slice(input)
        .map_err(|error| EventError::NotJson { line: error.line(), column: error.column() })
}

// === impl Fields ===

impl<'a> Fields<'a> {
    /// The members of a value that must be an object.
    pub(crate) fn of(value: &'a Value, at: &str) -> Result<Self, EventError> {
        match value.as_object() {
            Some(object) => Ok(Self { object, at: at.to_owned() }),
            None => Err(EventError::Garbled {
                at: if at.is_empty() { "/".to_owned() } else { at.to_owned() },
                expected: "an object",
            }),
        }
    }

    fn pointer(&self, key: &str) -> String {
        format!("{}/{key}", self.at)
    }

    fn garbled(&self, key: &str, expected: &'static str) -> EventError {
        EventError::Garbled { at: self.pointer(key), expected }
    }

    /// A member that is there. `null` is not.
    fn present(&self, key: &str) -> Option<&'a Value> {
        self.object.get(key).filter(|value| !value.is_null())
    }

    pub(crate) fn value(&self, key: &str) -> Result<&'a Value, EventError> {
        self.present(key).ok_or_else(|| EventError::Missing { at: self.pointer(key) })
    }

    pub(crate) fn text(&self, key: &str) -> Result<&'a str, EventError> {
        self.value(key)?.as_str().ok_or_else(|| self.garbled(key, "a text"))
    }

    pub(crate) fn optional_text(&self, key: &str) -> Result<Option<&'a str>, EventError> {
        let Some(value) = self.present(key) else { return Ok(None) };
        value.as_str().map(Some).ok_or_else(|| self.garbled(key, "a text"))
    }

    /// A name or a path, which is kept and therefore bounded.
    pub(crate) fn optional_name(&self, key: &str) -> Result<Option<&'a str>, EventError> {
        match self.optional_text(key)? {
            Some(text) if text.len() > MAX_NAME => Err(self.garbled(key, NAME)),
            text => Ok(text),
        }
    }

    pub(crate) fn name(&self, key: &str) -> Result<&'a str, EventError> {
        self.optional_name(key)?.ok_or_else(|| EventError::Missing { at: self.pointer(key) })
    }

    /// A member that is an object; what it holds is the tool's own.
    pub(crate) fn object(&self, key: &str) -> Result<&'a Value, EventError> {
        let value = self.value(key)?;
        if value.is_object() { Ok(value) } else { Err(self.garbled(key, "an object")) }
    }

    /// The members of an object that may be missing.
    pub(crate) fn optional_fields(&self, key: &str) -> Result<Option<Fields<'a>>, EventError> {
        self.present(key).map(|value| Fields::of(value, &self.pointer(key))).transpose()
    }

    /// The objects of a list.
    pub(crate) fn list(&self, key: &str) -> Result<Vec<Fields<'a>>, EventError> {
        let items = self.value(key)?.as_array().ok_or_else(|| self.garbled(key, "a list"))?;
        let at = self.pointer(key);
        items.iter().enumerate().map(|(index, item)| Fields::of(item, &format!("{at}/{index}"))).collect()
    }

    pub(crate) fn conversation(&self, key: &str) -> Result<ConversationId, EventError> {
        ConversationId::new(self.text(key)?).ok_or_else(|| self.garbled(key, ID))
    }

    pub(crate) fn call(&self, key: &str) -> Result<CallId, EventError> {
        CallId::new(self.text(key)?).ok_or_else(|| self.garbled(key, ID))
    }

    pub(crate) fn optional_turn(&self, key: &str) -> Result<Option<TurnId>, EventError> {
        let Some(text) = self.optional_text(key)? else { return Ok(None) };
        TurnId::new(text).map(Some).ok_or_else(|| self.garbled(key, ID))
    }

    pub(crate) fn optional_agent(&self, key: &str) -> Result<Option<AgentId>, EventError> {
        let Some(text) = self.optional_text(key)? else { return Ok(None) };
        AgentId::new(text).map(Some).ok_or_else(|| self.garbled(key, ID))
    }
}

const NAME: &str = "a text of at most 4096 bytes";

const ID: &str = "an id (1 to 256 bytes, no control characters)";
