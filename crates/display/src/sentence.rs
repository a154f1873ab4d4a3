//! The sentence that an operator writes for a tool, such as `Transfer {amount} EUR to {to}`, and what it says of one call.
//! It is the operator's word; what stands for an argument comes from the agent, and is shown apart from it.

use std::fmt;

use highwater_notation::CanonicalArguments;
use serde_json::Value;
use thiserror::Error;

use crate::plain;

/// The longest sentence. It is read at a glance.
const MAX_SENTENCE: usize = 200;

/// How much of a value is shown. All of it stands below the sentence.
const MAX_VALUE: usize = 80;

/// A sentence with places for arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    written: String,
    parts: Vec<Part>,
}

/// A part of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Words(String),
    /// The argument of this name.
    Argument(String),
}

/// A part of what a sentence says of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// The operator's words.
    Words(String),
    /// What the agent gave, with everything hidden made visible.
    Value(String),
    /// The argument of this name is not there.
    Absent(String),
}

/// Why a text is no sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadSentence {
    /// There is nothing in it.
    #[error("is empty")]
    Empty,
    /// It is too long.
    #[error("is longer than {MAX_SENTENCE} characters")]
    TooLong,
    /// It has characters that cannot be seen, a line break among them.
    #[error("has line breaks or hidden characters")]
    Hidden,
    /// A brace has no partner.
    #[error("has a brace without its partner")]
    Brace,
    /// A place names no argument.
    #[error("has an empty pair of braces")]
    Nameless,
}

// === impl Sentence ===

impl Sentence {
    /// Reads a sentence. `{{` and `}}` stand for braces.
    pub fn parse(text: &str) -> Result<Self, BadSentence> {
        if text.trim().is_empty() {
            return Err(BadSentence::Empty);
        }
        if text.chars().count() > MAX_SENTENCE {
            return Err(BadSentence::TooLong);
        }
        if plain(text).hidden > 0 || text.contains('\t') {
            return Err(BadSentence::Hidden);
        }
        let mut parts = Vec::new();
        let mut words = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            words.push_str(before);
            if let Some(after) = from.strip_prefix("{{") {
                words.push('{');
                rest = after;
            } else if let Some(after) = from.strip_prefix("}}") {
                words.push('}');
                rest = after;
            } else {
                let inside = from.strip_prefix('{').ok_or(BadSentence::Brace)?;
                let (name, after) = inside.split_once('}').ok_or(BadSentence::Brace)?;
                if name.contains('{') {
                    return Err(BadSentence::Brace);
                }
                if name.trim().is_empty() {
                    return Err(BadSentence::Nameless);
                }
                parts.extend((!words.is_empty()).then(|| Part::Words(std::mem::take(&mut words))));
                parts.push(Part::Argument(name.trim().to_owned()));
                rest = after;
            }
        }
        words.push_str(rest);
        parts.extend((!words.is_empty()).then_some(Part::Words(words)));
        Ok(Self { written: text.to_owned(), parts })
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// The arguments that it names.
    pub fn arguments(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Argument(name) => Some(name.as_str()),
            Part::Words(_) => None,
        })
    }

    /// What it says of a call with these arguments.
    pub fn of(&self, arguments: &CanonicalArguments) -> Vec<Said> {
        self.about(&arguments.value())
    }

    /// The same for arguments that were read.
    pub fn about(&self, arguments: &Value) -> Vec<Said> {
        let say = |part: &Part| match part {
            Part::Words(words) => Said::Words(words.clone()),
            Part::Argument(name) => match arguments.get(name) {
                Some(value) => Said::Value(glance(value)),
                None => Said::Absent(plain(name).text),
            },
        };
        self.parts.iter().map(say).collect()
    }
}

/// A value on one line, in quotes if it is a text, and cut where it is long or has more lines.
pub fn glance(value: &Value) -> String {
    let (text, quoted) = match value {
        Value::String(text) => (text.clone(), true),
        other => (other.to_string(), false),
    };
    let line = text.split('\n').next().unwrap_or_default();
    let cut: String = line.chars().take(MAX_VALUE).collect();
    let is_cut = cut.len() < text.len();
    let (cut, rest) = if is_cut { (cut.trim_end(), "…") } else { (cut.as_str(), "") };
    let shown = plain(cut).text;
    if quoted { format!("“{shown}{rest}”") } else { format!("{shown}{rest}") }
}

/// As plain text.
impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words(words) | Self::Value(words) => f.write_str(words),
            Self::Absent(name) => write!(f, "(no {name})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(sentence: &str, arguments: &str) -> String {
        let arguments = CanonicalArguments::read(Some(arguments)).unwrap();
        Sentence::parse(sentence).unwrap().of(&arguments).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_sentence_says_what_a_call_does() {
        let transfer = "Transfer {amount} EUR to {to}";
        assert_eq!(says(transfer, r#"{"amount":1250,"to":"mara"}"#), "Transfer 1250 EUR to “mara”");
        assert_eq!(says(transfer, r#"{"amount":"12","to":["a"]}"#), "Transfer “12” EUR to [\"a\"]");
        assert_eq!(says(transfer, r#"{"to":"x"}"#), "Transfer (no amount) EUR to “x”");
        assert_eq!(says("{{{a}}}", r#"{"a":1}"#), "{1}");
        assert_eq!(Sentence::parse(transfer).unwrap().arguments().collect::<Vec<_>>(), ["amount", "to"]);
    }

    #[test]
    fn a_value_never_passes_for_the_operators_words() {
        let said = says("Pay {to}", "{\"to\":\"x\u{202e}y\\nand all is well\"}");
        assert_eq!(said, "Pay “x⟦U+202E⟧y…”");
        let long = says("Send {body}", &format!(r#"{{"body":"{}"}}"#, "x".repeat(500)));
        assert_eq!(long, format!("Send “{}…”", "x".repeat(MAX_VALUE)));
    }

    #[test]
    fn what_is_no_sentence_is_refused() {
        for (text, fault) in [
            ("", BadSentence::Empty),
            ("  ", BadSentence::Empty),
            ("Pay {to", BadSentence::Brace),
            ("Pay to}", BadSentence::Brace),
            ("Pay {a{b}}", BadSentence::Brace),
            ("Pay { }", BadSentence::Nameless),
            ("Pay\n{to}", BadSentence::Hidden),
            ("Pay \u{200b}", BadSentence::Hidden),
        ] {
            assert_eq!(Sentence::parse(text), Err(fault), "{text}");
        }
        assert_eq!(Sentence::parse(&"x".repeat(201)), Err(BadSentence::TooLong));
    }
}
