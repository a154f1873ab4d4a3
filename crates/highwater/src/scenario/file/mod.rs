//! The shapes of a scenario file, as it is written. What they mean is settled in `parse`.

pub(crate) mod expect;
pub(crate) mod upstream;

use highwater_config::document::{Entries, Field, FromShape, Json, Shape, Shaped, Written};
use serde::Deserialize;
use serde::de::{Error, SeqAccess};

use self::expect::{AuditFile, ExpectFile};
use self::upstream::UpstreamFile;

/// A whole file.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct ScenarioFile {
    /// What the story shows, in a sentence.
    pub(crate) about: Field<String>,
    /// The ways in which the story is told.
    pub(crate) matrix: Field<MatrixFile>,
    /// The configuration; read as one by `Document::settings`.
    pub(crate) config: Field<Json>,
    pub(crate) upstreams: Field<Entries<UpstreamFile>>,
    pub(crate) clients: Field<Entries<ClientFile>>,
    pub(crate) steps: Field<Vec<Written<StepFile>>>,
    pub(crate) audit: Field<AuditFile>,
}

/// Every combination is one telling.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct MatrixFile {
    pub(crate) flow: Field<Vec<Flow>>,
    pub(crate) era: Field<Vec<Era>>,
}

/// The flow modes. The words are those of the configuration, which checks them again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Flow {
    Observe,
    Balanced,
    Strict,
    Samos,
}

/// What a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Era {
    Legacy,
    Modern,
}

/// Somebody who connects.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct ClientFile {
    pub(crate) era: Field<Era>,
    pub(crate) virtual_server: Field<String>,
    pub(crate) context: Field<String>,
    /// A token that the configuration has under `agent_tokens`.
    pub(crate) token: Field<String>,
    /// In place of what a client declares otherwise.
    pub(crate) capabilities: Field<Json>,
    pub(crate) answer: Field<Shaped<AnswersFile>>,
}

/// One thing that happens.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct StepFile {
    // What; exactly one of these.
    pub(crate) call: Field<String>,
    pub(crate) read: Field<String>,
    pub(crate) get_prompt: Field<String>,
    pub(crate) complete: Field<CompleteFile>,
    pub(crate) list: Field<Listing>,
    pub(crate) resolve: Field<String>,
    pub(crate) request: Field<String>,
    pub(crate) words: Field<String>,
    pub(crate) reset: Field<String>,
    pub(crate) new_session: Field<String>,
    pub(crate) silence: Field<String>,
    pub(crate) reload: Field<Json>,
    pub(crate) restart: Field<Word>,
    // How.
    pub(crate) arguments: Field<Json>,
    pub(crate) params: Field<Json>,
    pub(crate) meta: Field<Json>,
    pub(crate) client: Field<String>,
    pub(crate) answer: Field<Shaped<AnswersFile>>,
    pub(crate) reason: Field<String>,
    /// In which tellings alone it happens: words of the matrix.
    pub(crate) only: Field<Vec<Written<String>>>,
    pub(crate) expect: Field<ExpectFile>,
}

/// What `restart` is said of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Word {
    Gateway,
}

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Listing {
    Tools,
    Resources,
    ResourceTemplates,
    Prompts,
}

/// A half-typed argument.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct CompleteFile {
    pub(crate) prompt: Field<String>,
    pub(crate) template: Field<String>,
    pub(crate) argument: Field<String>,
    pub(crate) value: Field<String>,
}

/// How questions are answered, in their order; the last answer goes on.
#[derive(Clone, Debug)]
pub(crate) struct AnswersFile(pub(crate) Vec<AnswerFile>);

/// One answer.
#[derive(Clone, Debug)]
pub(crate) enum AnswerFile {
    Word(AnswerWord),
    Long(LongAnswer),
}

/// The answers that need no more than a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AnswerWord {
    Accept,
    Decline,
    Cancel,
    /// The client says that it cannot be asked.
    Cannot,
}

/// The answers that hold something.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct LongAnswer {
    pub(crate) accept: Field<Json>,
    pub(crate) sample: Field<String>,
    pub(crate) roots: Field<Vec<String>>,
}

// === shapes ===

impl FromShape for AnswersFile {
    fn from_shape<'de, A: SeqAccess<'de>>(shape: Shape, mut value: A) -> Result<Self, A::Error> {
        match shape {
            Shape::List => {
                let list: Vec<Shaped<AnswerFile>> = value.next_element()?.unwrap_or_default();
                Ok(Self(list.into_iter().map(|answer| answer.0).collect()))
            }
            other => AnswerFile::from_shape(other, value).map(|answer| Self(vec![answer])),
        }
    }
}

impl FromShape for AnswerFile {
    fn from_shape<'de, A: SeqAccess<'de>>(shape: Shape, mut value: A) -> Result<Self, A::Error> {
        let missing = || A::Error::custom("an answer is needed here");
        match shape {
            Shape::Text => value.next_element()?.map(Self::Word).ok_or_else(missing),
            Shape::Mapping => value.next_element()?.map(Self::Long).ok_or_else(missing),
            other => Err(A::Error::custom(format!("must be an answer, not {other}"))),
        }
    }
}

/// One text or several.
#[derive(Clone, Debug, Default)]
pub(crate) struct Texts(pub(crate) Vec<String>);

impl FromShape for Texts {
    fn from_shape<'de, A: SeqAccess<'de>>(shape: Shape, mut value: A) -> Result<Self, A::Error> {
        match shape {
            Shape::Text => Ok(Self(value.next_element()?.into_iter().collect())),
            Shape::List => Ok(Self(value.next_element()?.unwrap_or_default())),
            other => Err(A::Error::custom(format!("must be text or a list of texts, not {other}"))),
        }
    }
}
