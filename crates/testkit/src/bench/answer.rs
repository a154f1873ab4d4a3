//! Checks that an answer is the one that was asked for: its id, its text to the last byte, or its number of
//! tools. The text of a large answer is compared where it stands, so that checking 1 MiB costs one comparison.

use std::borrow::Cow;

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;
use serde_json::value::RawValue;

const TEXT: &[u8] = br#""text":""#;

/// A text as an answer must hold it, in both of its forms.
#[derive(Debug)]
pub struct Expected {
    plain: String,
    escaped: String,
}

/// One page of a listing.
pub struct Page {
    /// How many tools stand on it.
    pub tools: usize,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

#[derive(Deserialize)]
struct Message<'a, R> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    result: Option<R>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct CallResult<'a> {
    #[serde(borrow)]
    content: Vec<Block<'a>>,
    #[serde(default, rename = "isError")]
    is_error: bool,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

#[derive(Deserialize)]
struct ListResult<'a> {
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
    #[serde(rename = "nextCursor")]
    next: Option<String>,
}

// === impl Expected ===

impl Expected {
    pub fn new(plain: String, escaped: String) -> Self {
        Self { plain, escaped }
    }

    /// Fails unless `body` is the answer to request `id` and holds exactly this text.
    pub fn check_call(&self, body: &[u8], id: u64) -> anyhow::Result<()> {
        match self.without_text(body) {
            Some(envelope) => check_envelope(&envelope, id, ""),
            // Another, equally valid way to escape the text, or a wrong answer: read it in full.
            None => check_envelope(body, id, &self.plain),
        }
    }

    /// The answer with its text cut out, if the text stands in it in the usual form.
    fn without_text(&self, body: &[u8]) -> Option<Vec<u8>> {
        let start = body.windows(TEXT.len()).position(|window| window == TEXT)? + TEXT.len();
        let (head, rest) = body.split_at_checked(start)?;
        let tail = rest.strip_prefix(self.escaped.as_bytes())?;
        Some([head, tail].concat())
    }
}

fn check_envelope(body: &[u8], id: u64, text: &str) -> anyhow::Result<()> {
    let result: CallResult<'_> = result(body, id)?;
    let Some(first) = result.content.first() else { bail!("the answer has no content") };
    ensure!(!result.is_error, "the tool refused: {}", shortened(&first.text));
    ensure!(first.text == text, "the answer holds another text: {}", shortened(&first.text));
    Ok(())
}

/// Reads one page of a listing that answers request `id`.
pub fn read_page(body: &[u8], id: u64) -> anyhow::Result<Page> {
    let listed: ListResult<'_> = result(body, id)?;
    Ok(Page { tools: listed.tools.len(), next: listed.next })
}

/// Fails unless `body` answers request `id` with a result of any kind.
pub fn check_any(body: &[u8], id: u64) -> anyhow::Result<()> {
    let _: serde_json::Map<String, serde_json::Value> = result(body, id)?;
    Ok(())
}

fn result<'a, R: Deserialize<'a>>(body: &'a [u8], id: u64) -> anyhow::Result<R> {
    let message: Message<'a, R> = serde_json::from_slice(body).with_context(|| {
        format!("the answer cannot be read: {}", shortened(&String::from_utf8_lossy(body)))
    })?;
    if let Some(error) = message.error {
        bail!("the answer is an error: {}", shortened(error.get()));
    }
    let given = message.id.map(RawValue::get);
    ensure!(
        given.is_some_and(|given| given == id.to_string()),
        "asked with id {id}, answered with {given:?}"
    );
    message.result.context("the answer has no result")
}

/// The message inside an event stream: the data of the last event, which is the answer itself.
pub fn last_event(stream: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut last = None;
    for line in stream.split(|&byte| byte == b'\n') {
        if let Some(data) = line.strip_prefix(b"data:") {
            let data = data.trim_ascii();
            if !data.is_empty() {
                last = Some(data.to_vec());
            }
        }
    }
    last.context("the event stream holds no message")
}

fn shortened(text: &str) -> String {
    text.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::payload;

    fn expected() -> Expected {
        Expected::new(payload::text(300), payload::escaped_text(300))
    }

    fn answer(id: u64, text: &str) -> Vec<u8> {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{text}"}}],"_meta":{{}}}}}}"#
        )
        .into_bytes()
    }

    #[test]
    fn the_right_answer_passes_however_it_is_escaped() {
        expected().check_call(&answer(7, &payload::escaped_text(300)), 7).unwrap();
        let otherwise = payload::escaped_text(300).replace("\\n", "\\u000a");
        expected().check_call(&answer(7, &otherwise), 7).unwrap();
    }

    #[test]
    fn a_wrong_id_size_or_byte_is_found() {
        let text = payload::escaped_text(300);
        let cases = [
            answer(8, &text),
            answer(7, &payload::escaped_text(299)),
            answer(7, &payload::escaped_text(301)),
            answer(7, &text.replacen("tide", "tidy", 1)),
            br#"{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"no"}}"#.to_vec(),
            b"not json".to_vec(),
        ];
        for wrong in cases {
            expected().check_call(&wrong, 7).unwrap_err();
        }
    }

    #[test]
    fn a_refusal_is_not_an_answer() {
        let refused =
            br#"{"jsonrpc":"2.0","id":7,"result":{"isError":true,"content":[{"type":"text","text":"no"}]}}"#;
        let error = expected().check_call(refused, 7).unwrap_err();
        assert!(error.to_string().contains("refused"), "{error}");
    }

    #[test]
    fn the_last_event_is_the_answer() {
        let stream = b"event: message\ndata: {\"progress\":1}\n\n: note\ndata: {\"id\":7}\r\n\r\n";
        assert_eq!(last_event(stream).unwrap(), br#"{"id":7}"#);
    }
}
