//! What a scripted server is told to be: written by the runner, read by the process that plays it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A whole server.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Script {
    pub(crate) name: String,
    /// The only era it speaks, if there is but one.
    pub(crate) era: Option<SpokenEra>,
    /// Members added to the capabilities it declares.
    pub(crate) capabilities: Map<String, Value>,
    /// `tools/list`, entry by entry.
    pub(crate) tools: Vec<Value>,
    pub(crate) calls: BTreeMap<String, Vec<Reply>>,
    pub(crate) resolutions: BTreeMap<String, Vec<Resolution>>,
    /// `resources/list`, entry by entry.
    pub(crate) resources: Vec<Value>,
    pub(crate) templates: Vec<Value>,
    /// By URI, or by a template that fits it.
    pub(crate) reads: BTreeMap<String, Vec<Reply>>,
    /// `prompts/list`, entry by entry.
    pub(crate) prompts: Vec<Value>,
    pub(crate) renderings: BTreeMap<String, Vec<Reply>>,
    /// By the name of the argument.
    pub(crate) completions: BTreeMap<String, Vec<String>>,
}

/// An era a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SpokenEra {
    Legacy,
    Modern,
}

/// What is said to one request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Reply {
    /// Arguments that must be just so for this reply to be given.
    pub(crate) when: Map<String, Value>,
    pub(crate) progress: Vec<String>,
    pub(crate) log: Vec<String>,
    pub(crate) ask: Option<Ask>,
    pub(crate) says: Says,
}

/// A question back: the method and its parameters, the same in both eras.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Ask {
    pub(crate) method: String,
    pub(crate) params: Value,
}

/// The end of a reply.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Says {
    Result(Value),
    Error(Value),
    /// Keeps one argument under another, then gives this result.
    Store {
        key: String,
        value: String,
        result: Value,
    },
    /// This result, with a text block of what was kept under an argument.
    Recall {
        key: String,
        result: Value,
    },
}

/// What `tools/resolve` says of a tool.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Resolution {
    pub(crate) when: Map<String, Value>,
    pub(crate) annotations: Value,
    pub(crate) meta: Option<Value>,
    pub(crate) tool: Map<String, Value>,
    pub(crate) error: Option<Value>,
}

/// The first of these whose arguments fit.
pub(crate) fn fitting<'a, T>(
    choices: &'a [T],
    when: impl Fn(&T) -> &Map<String, Value>,
    arguments: &Map<String, Value>,
) -> Option<&'a T> {
    choices.iter().find(|choice| when(choice).iter().all(|(name, value)| arguments.get(name) == Some(value)))
}
