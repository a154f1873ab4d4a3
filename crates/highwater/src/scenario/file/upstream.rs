//! A server of the story, as it is written: one of the built-in examples, or a script.

use highwater_config::document::{Entries, Field, FromShape, Json, Shape, Shaped, Written};
use serde::Deserialize;
use serde::de::{Error, SeqAccess};

use super::{Era, Texts};

/// One server.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct UpstreamFile {
    /// One of the example servers.
    pub(crate) example: Field<String>,
    /// Further arguments for it.
    pub(crate) args: Field<Vec<String>>,
    /// The only era the server speaks; both, if nothing is said.
    pub(crate) era: Field<Era>,
    /// Members added to the capabilities it declares.
    pub(crate) capabilities: Field<Json>,
    pub(crate) tools: Field<Entries<Json>>,
    pub(crate) replies: Field<Entries<Shaped<RepliesFile>>>,
    pub(crate) resolve: Field<Entries<Shaped<ResolutionsFile>>>,
    pub(crate) resources: Field<Entries<Shaped<RepliesFile>>>,
    pub(crate) templates: Field<Vec<String>>,
    pub(crate) prompts: Field<Entries<Shaped<RepliesFile>>>,
    /// By the name of the argument.
    pub(crate) completions: Field<Entries<Vec<String>>>,
}

/// The replies of one tool; the first that fits the arguments is given.
#[derive(Debug, Default)]
pub(crate) struct RepliesFile(pub(in crate::scenario) Vec<Written<ReplyFile>>);

/// One reply. A text alone is a reply, too.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ReplyFile {
    /// Arguments that must be just so.
    pub(crate) when: Field<Json>,
    pub(crate) text: Field<String>,
    #[serde(rename = "structuredContent")]
    pub(crate) structured_content: Field<Json>,
    pub(crate) content: Field<Json>,
    #[serde(rename = "_meta")]
    pub(crate) meta: Field<Json>,
    #[serde(rename = "isError")]
    pub(crate) is_error: Field<bool>,
    /// The whole result, word for word.
    pub(crate) result: Field<Json>,
    /// A JSON-RPC error.
    pub(crate) error: Field<Json>,
    /// Progress messages that come before.
    pub(crate) progress: Field<Shaped<Texts>>,
    /// Log messages that come before.
    pub(crate) log: Field<Shaped<Texts>>,
    /// A question that is asked before.
    pub(crate) ask: Field<AskFile>,
    /// Keeps an argument under the value of another.
    pub(crate) store: Field<StoreFile>,
    /// Gives what was kept under the value of an argument.
    pub(crate) recall: Field<String>,
    /// For a resource.
    #[serde(rename = "mimeType")]
    pub(crate) mime_type: Field<String>,
    /// For a prompt: the names of its arguments.
    pub(crate) arguments: Field<Vec<String>>,
}

/// A question back. Exactly one of the first three.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct AskFile {
    /// The message of a form, or of a page if there is a `url`.
    pub(crate) elicit: Field<String>,
    pub(crate) sample: Field<String>,
    pub(crate) roots: Field<bool>,
    pub(crate) schema: Field<Json>,
    pub(crate) url: Field<String>,
}

/// Which argument is kept under which.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct StoreFile {
    pub(crate) key: Field<String>,
    pub(crate) value: Field<String>,
}

/// What `tools/resolve` says of one tool; the first that fits the arguments.
#[derive(Debug, Default)]
pub(crate) struct ResolutionsFile(pub(in crate::scenario) Vec<ResolutionFile>);

/// One resolution.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ResolutionFile {
    pub(crate) when: Field<Json>,
    pub(crate) annotations: Field<Json>,
    #[serde(rename = "_meta")]
    pub(crate) meta: Field<Json>,
    /// Further members of the tool, in the form that gives a whole tool.
    pub(crate) tool: Field<Json>,
    pub(crate) error: Field<Json>,
}

// === shapes ===

/// One reply in its short or its long form.
struct OneReply(ReplyFile);

impl FromShape for OneReply {
    fn from_shape<'de, A: SeqAccess<'de>>(shape: Shape, mut value: A) -> Result<Self, A::Error> {
        match shape {
            Shape::Text => {
                let text: Option<Written<String>> = value.next_element()?;
                let text = text.map_or(Field::Absent, Field::Read);
                Ok(Self(ReplyFile { text, ..ReplyFile::default() }))
            }
            Shape::Nothing => Ok(Self(ReplyFile::default())),
            Shape::Mapping => Ok(Self(value.next_element()?.unwrap_or_default())),
            other => Err(A::Error::custom(format!("must be text or a reply, not {other}"))),
        }
    }
}

impl FromShape for RepliesFile {
    fn from_shape<'de, A: SeqAccess<'de>>(shape: Shape, mut value: A) -> Result<Self, A::Error> {
        let list: Vec<Written<Shaped<OneReply>>> = match shape {
            Shape::List => value.next_element()?.unwrap_or_default(),
            _ => value.next_element()?.into_iter().collect(),
        };
        let plain = |reply: Written<Shaped<OneReply>>| Written { span: reply.span, value: reply.value.0.0 };
        Ok(Self(list.into_iter().map(plain).collect()))
    }
}

impl FromShape for ResolutionsFile {
    fn from_shape<'de, A: SeqAccess<'de>>(shape: Shape, mut value: A) -> Result<Self, A::Error> {
        Ok(Self(match shape {
            Shape::List => value.next_element()?.unwrap_or_default(),
            _ => value.next_element()?.into_iter().collect(),
        }))
    }
}
