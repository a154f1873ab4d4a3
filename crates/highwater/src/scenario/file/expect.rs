//! What a step is expected to show, as it is written.

use highwater_config::document::{Field, FromShape, Json, Shape, Shaped};
use serde::Deserialize;
use serde::de::{Error, SeqAccess};

use super::Texts;
use crate::scenario::model::Telling;

/// What is expected. A part named after a flow mode or an era holds for that telling alone and replaces what is said
/// beside it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ExpectFile {
    pub(crate) effect: Field<EffectWord>,
    pub(crate) findings: Field<Vec<String>>,
    pub(crate) would: Field<WouldFile>,
    pub(crate) label: Field<LabelFile>,
    pub(crate) session: Field<LabelFile>,
    pub(crate) text: Field<Shaped<Texts>>,
    pub(crate) lacks: Field<Shaped<Texts>>,
    pub(crate) result: Field<Json>,
    pub(crate) error: Field<Json>,
    pub(crate) asked: Field<Shaped<AskedFile>>,
    pub(crate) upstream_saw: Field<Shaped<SawFile>>,
    pub(crate) listed: Field<Vec<String>>,
    pub(crate) hidden: Field<Vec<String>>,
    pub(crate) notices: Field<Vec<String>>,
    pub(crate) notified: Field<Shaped<Texts>>,

    pub(crate) observe: Field<Box<ExpectFile>>,
    pub(crate) balanced: Field<Box<ExpectFile>>,
    pub(crate) strict: Field<Box<ExpectFile>>,
    pub(crate) samos: Field<Box<ExpectFile>>,
    pub(crate) legacy: Field<Box<ExpectFile>>,
    pub(crate) modern: Field<Box<ExpectFile>>,
}

/// What became of the action. All but the last are the effects of the decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EffectWord {
    Allow,
    Redact,
    Confirm,
    Passkey,
    Block,
    /// It ran, and its reply was kept back.
    Withhold,
}

/// What the modes would have done, as `observe` records it, or a rule that is a dry run.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct WouldFile {
    pub(crate) balanced: Field<EffectWord>,
    pub(crate) strict: Field<EffectWord>,
    pub(crate) samos: Field<EffectWord>,
}

/// A label, as far as it is said.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct LabelFile {
    /// `low`, `high`, or exactly these classes.
    pub(crate) secrecy: Field<Shaped<Texts>>,
    pub(crate) integrity: Field<String>,
    /// Origins that must be among those there are.
    pub(crate) origins: Field<Vec<String>>,
    /// Exactly these flags.
    pub(crate) flags: Field<Vec<String>>,
}

/// The questions a client was asked.
#[derive(Clone, Debug)]
pub(crate) enum AskedFile {
    /// So many.
    Times(usize),
    /// One for each text, which holds it.
    Saying(Vec<String>),
}

/// What reached the servers.
#[derive(Clone, Debug)]
pub(crate) enum SawFile {
    /// Nothing of this step.
    Nothing,
    /// What the step did, so many times and nothing else.
    Times(usize),
    /// Exactly these, in this order.
    Exactly(Vec<SightFile>),
}

/// One message that reached a server. Exactly one of the first six.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SightFile {
    pub(crate) call: Field<String>,
    pub(crate) read: Field<String>,
    pub(crate) get_prompt: Field<String>,
    pub(crate) complete: Field<String>,
    pub(crate) resolve: Field<String>,
    pub(crate) answer: Field<Json>,
    /// The exact arguments.
    pub(crate) arguments: Field<Json>,
    /// Members of `_meta` that must be there.
    pub(crate) meta: Field<Json>,
    /// Text that must be nowhere in the message.
    pub(crate) lacks: Field<Shaped<Texts>>,
    pub(crate) server: Field<String>,
}

/// What the audit log holds in the end.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct AuditFile {
    pub(crate) events: Field<u64>,
    pub(crate) decisions: Field<u64>,
    /// Members of events that must be there, each in one event.
    pub(crate) contains: Field<Vec<Json>>,
    /// Text that must be nowhere in the log.
    pub(crate) lacks: Field<Shaped<Texts>>,
}

// === shapes ===

impl FromShape for AskedFile {
    fn from_shape<'de, A: SeqAccess<'de>>(shape: Shape, mut value: A) -> Result<Self, A::Error> {
        match shape {
            Shape::Number => Ok(Self::Times(count(value)?)),
            Shape::Text => Ok(Self::Saying(value.next_element()?.into_iter().collect())),
            Shape::List => Ok(Self::Saying(value.next_element()?.unwrap_or_default())),
            other => Err(A::Error::custom(format!("must be a number or the text of questions, not {other}"))),
        }
    }
}

impl FromShape for SawFile {
    fn from_shape<'de, A: SeqAccess<'de>>(shape: Shape, mut value: A) -> Result<Self, A::Error> {
        match shape {
            Shape::Number => Ok(Self::Times(count(value)?)),
            Shape::Text => match value.next_element::<String>()?.as_deref() {
                Some("nothing") => Ok(Self::Nothing),
                _ => Err(A::Error::custom("must be `nothing`, a number, or what was seen")),
            },
            Shape::List => Ok(Self::Exactly(value.next_element()?.unwrap_or_default())),
            Shape::Mapping => Ok(Self::Exactly(value.next_element()?.into_iter().collect())),
            other => {
                Err(A::Error::custom(format!("must be `nothing`, a number, or what was seen, not {other}")))
            }
        }
    }
}

fn count<'de, A: SeqAccess<'de>>(mut value: A) -> Result<usize, A::Error> {
    let number: u64 = value.next_element()?.unwrap_or_default();
    usize::try_from(number).map_err(A::Error::custom)
}

// === impl ExpectFile ===

impl ExpectFile {
    /// What holds in one telling: what is said of it in particular, and beside that what is said of all.
    pub(crate) fn in_telling(&self, telling: Telling) -> Self {
        let parts = [
            ("observe", &self.observe),
            ("balanced", &self.balanced),
            ("strict", &self.strict),
            ("samos", &self.samos),
            ("legacy", &self.legacy),
            ("modern", &self.modern),
        ];
        let mut whole = self.clone();
        for (_, part) in parts.into_iter().filter(|(word, _)| telling.is(word)) {
            if let Some(part) = part.value() {
                whole.replace(part.in_telling(telling));
            }
        }
        whole
    }

    fn replace(&mut self, part: Self) {
        fn one<T>(old: &mut Field<T>, new: Field<T>) {
            if new.read().is_some() {
                *old = new;
            }
        }
        one(&mut self.effect, part.effect);
        one(&mut self.findings, part.findings);
        one(&mut self.would, part.would);
        one(&mut self.label, part.label);
        one(&mut self.session, part.session);
        one(&mut self.text, part.text);
        one(&mut self.lacks, part.lacks);
        one(&mut self.result, part.result);
        one(&mut self.error, part.error);
        one(&mut self.asked, part.asked);
        one(&mut self.upstream_saw, part.upstream_saw);
        one(&mut self.listed, part.listed);
        one(&mut self.hidden, part.hidden);
        one(&mut self.notices, part.notices);
        one(&mut self.notified, part.notified);
    }

    /// Whether something is said of the session in this telling.
    pub(crate) fn asks_for_session(&self, telling: Telling) -> bool {
        self.in_telling(telling).session.value().is_some()
    }

    /// Whether an error would be news.
    pub(crate) fn expects_an_answer(&self) -> bool {
        matches!(self.effect.value(), Some(EffectWord::Allow | EffectWord::Redact))
            || self.listed.value().is_some()
            || self.hidden.value().is_some()
    }
}

// === impl EffectWord ===

impl EffectWord {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Redact => "redact",
            Self::Confirm => "confirm",
            Self::Passkey => "passkey",
            Self::Block => "block",
            Self::Withhold => "withhold",
        }
    }
}
