//! The answers of the benchmark's upstream. Everything but the id is made once, at the start; an answer is the
//! id between two prepared pieces.

use std::collections::HashMap;

use bytes::Bytes;

use super::pieces::Pieces;
use super::{Era, LEGACY_VERSION, MODERN_VERSION, payload};

const SERVER: &str = r#"{"name":"bench-upstream","version":"1"}"#;

/// Everything the upstream can say, by era.
pub(super) struct Replies {
    legacy: EraReplies,
    modern: EraReplies,
}

struct EraReplies {
    /// What follows the id in the answer to `initialize` or `server/discover`.
    hello: Bytes,
    list: Bytes,
    /// By size of the text.
    echo: HashMap<usize, Bytes>,
    /// What is added to every result of the era, with its comma.
    mark: &'static str,
}

// === impl Replies ===

impl Replies {
    pub(super) fn new(tools: usize, sizes: &[usize]) -> Self {
        let definitions = payload::tool_definitions(tools).join(",");
        let legacy = format!(
            r#","result":{{"protocolVersion":"{LEGACY_VERSION}","capabilities":{{"tools":{{}}}},"serverInfo":{SERVER}}}}}"#
        );
        let modern = format!(
            r#","result":{{"resultType":"complete","supportedVersions":["{MODERN_VERSION}"],"capabilities":{{"tools":{{}}}},"ttlMs":3600000,"cacheScope":"public","_meta":{{"io.modelcontextprotocol/serverInfo":{SERVER}}}}}}}"#
        );
        Self {
            legacy: EraReplies::new(legacy, "", "", &definitions, sizes),
            modern: EraReplies::new(
                modern,
                r#""resultType":"complete","#,
                r#""ttlMs":3600000,"cacheScope":"public","#,
                &definitions,
                sizes,
            ),
        }
    }

    pub(super) fn hello(&self, era: Era, id: &str) -> Pieces {
        Pieces::message(id, &self.of(era).hello)
    }

    pub(super) fn list(&self, era: Era, id: &str) -> Pieces {
        Pieces::message(id, &self.of(era).list)
    }

    /// A text of `size` bytes, if one was prepared.
    pub(super) fn echo(&self, era: Era, id: &str, size: usize) -> Option<Pieces> {
        self.of(era).echo.get(&size).map(|tail| Pieces::message(id, tail))
    }

    /// A text made for this one call.
    pub(super) fn text(&self, era: Era, id: &str, text: &str) -> Pieces {
        Pieces::message(id, &Bytes::from(call_result(self.of(era).mark, text)))
    }

    /// A result without members of its own.
    pub(super) fn empty(id: &str) -> Pieces {
        Pieces::message(id, &Bytes::from_static(br#","result":{}}"#))
    }

    pub(super) fn error(id: &str, code: i32, message: &str) -> Pieces {
        let message = serde_json::Value::from(message);
        Pieces::message(id, &Bytes::from(format!(r#","error":{{"code":{code},"message":{message}}}}}"#)))
    }

    fn of(&self, era: Era) -> &EraReplies {
        match era {
            Era::Legacy => &self.legacy,
            Era::Modern => &self.modern,
        }
    }
}

impl EraReplies {
    fn new(hello: String, mark: &'static str, list_mark: &str, definitions: &str, sizes: &[usize]) -> Self {
        let echo = sizes
            .iter()
            .map(|&size| (size, Bytes::from(call_result(mark, &payload::escaped_text(size)))))
            .collect();
        let list = format!(r#","result":{{{mark}{list_mark}"tools":[{definitions}]}}}}"#);
        Self { hello: Bytes::from(hello), list: Bytes::from(list), echo, mark }
    }
}

fn call_result(mark: &str, escaped: &str) -> String {
    format!(r#","result":{{{mark}"content":[{{"type":"text","text":"{escaped}"}}]}}}}"#)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(pieces: &Pieces) -> serde_json::Value {
        serde_json::from_slice(&pieces.concat()).unwrap()
    }

    #[test]
    fn every_answer_is_json_in_both_eras() {
        let replies = Replies::new(5, &[100, 1_048_576]);
        for era in [Era::Legacy, Era::Modern] {
            assert_eq!(whole(&replies.hello(era, "1"))["id"], 1);
            assert_eq!(whole(&replies.list(era, "\"a\""))["result"]["tools"].as_array().unwrap().len(), 5);
            for size in [100, 1_048_576] {
                let answer = whole(&replies.echo(era, "7", size).unwrap());
                assert_eq!(answer["result"]["content"][0]["text"].as_str().unwrap(), payload::text(size));
                assert_eq!(answer["result"]["resultType"] == "complete", era == Era::Modern);
            }
            assert!(replies.echo(era, "7", 99).is_none());
        }
        assert_eq!(whole(&Replies::error("3", -32601, "no `such` \"thing\""))["error"]["code"], -32601);
    }
}
