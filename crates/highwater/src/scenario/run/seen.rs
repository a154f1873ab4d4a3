//! What one step showed: to the client, to the servers, in the audit log.

use std::collections::BTreeMap;

use serde_json::Value;

use super::client::Heard;
use crate::scenario::file::expect::EffectWord;

/// Keys of ours in the `_meta` of results.
const LABEL: &str = "/_meta/dev.highwater~1label";

/// Everything that could be seen of a step.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) effect: Option<EffectWord>,
    pub(super) findings: Vec<String>,
    /// What each mode would have done, as recorded.
    pub(super) would: BTreeMap<String, EffectWord>,
    /// The label of the reply.
    pub(super) label: Option<Value>,
    /// The label of the session after it, where somebody asked.
    pub(super) session: Option<Value>,
    pub(super) answer: Option<Result<Value, Value>>,
    /// All text the client got.
    pub(super) text: String,
    pub(super) asked: Vec<String>,
    pub(super) unanswered: usize,
    pub(super) sights: Vec<Sight>,
    pub(super) notices: Vec<String>,
    pub(super) notified: Vec<String>,
}

/// A message that reached a server.
#[derive(Clone, Debug)]
pub(super) struct Sight {
    pub(super) server: String,
    pub(super) method: String,
    pub(super) params: Value,
}

// === impl Seen ===

impl Seen {
    /// Puts together what came back, what was written down, and what arrived.
    pub(super) fn of(method: &str, heard: Heard, audit: &[Value], sights: Vec<(String, Value)>) -> Self {
        let mut seen = Self {
            asked: heard.asked,
            unanswered: heard.unanswered,
            sights: sights.into_iter().map(Sight::of).collect(),
            notified: heard.notifications.iter().map(Value::to_string).collect(),
            ..Self::default()
        };
        seen.read_audit(method, audit);
        if let Some(Ok(result)) = &heard.answer {
            seen.label = result.pointer(LABEL).cloned();
            seen.text = texts(result).join("\n");
        }
        if let Some(Err(error)) = &heard.answer {
            seen.text = error.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
        }
        seen.answer = heard.answer;
        seen
    }

    /// The first decision about what the step did, and what became of it.
    fn read_audit(&mut self, method: &str, audit: &[Value]) {
        let is = |event: &Value, what: &str| event.get("event").and_then(Value::as_str) == Some(what);
        let text =
            |event: &Value, key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let notices = audit.iter().filter(|event| is(event, "notice"));
        self.notices.extend(notices.map(|event| text(event, "notice")));
        let decision = audit.iter().find(|event| is(event, "decision") && text(event, "method") == method);
        let Some(decision) = decision else { return };
        self.effect = effect(&text(decision, "effect"));
        let id = text(decision, "id");
        for event in audit.iter().filter(|event| text(event, "id") == id) {
            // What a person said to a held call is a further record of the same decision.
            self.add_findings(event);
            if text(event, "outcome") == "withheld" {
                self.effect = Some(EffectWord::Withhold);
            }
        }
    }

    fn add_findings(&mut self, event: &Value) {
        for finding in event.get("findings").and_then(Value::as_array).into_iter().flatten() {
            let id = finding.get("id").and_then(Value::as_str).unwrap_or_default();
            if !self.findings.iter().any(|known| known == id) {
                self.findings.push(id.to_owned());
            }
            for (mode, word) in finding.get("would").and_then(Value::as_object).into_iter().flatten() {
                let known = self.would.entry(mode.clone()).or_insert(EffectWord::Allow);
                *known = effect(word.as_str().unwrap_or_default()).map_or(*known, |found| found.max(*known));
            }
        }
    }
}

// === impl Sight ===

impl Sight {
    /// An entry of a journal; the example servers write only calls, and say less of each.
    fn of((server, entry): (String, Value)) -> Self {
        if let Some(tool) = entry.get("tool") {
            let meta = serde_json::json!({ "annotations": entry.get("annotations") });
            let params =
                serde_json::json!({ "name": tool, "arguments": entry.get("arguments"), "_meta": meta });
            return Self { server, method: "tools/call".to_owned(), params };
        }
        let method = entry.get("method").and_then(Value::as_str).unwrap_or_default().to_owned();
        Self { server, method, params: entry.get("params").cloned().unwrap_or_default() }
    }

    /// The tool, resource or prompt it is about.
    pub(super) fn name(&self) -> &str {
        let named = ["name", "uri"].into_iter().find_map(|key| self.params.get(key)?.as_str());
        let completed = || self.params.pointer("/argument/name").and_then(Value::as_str);
        named.or_else(completed).unwrap_or_default()
    }

    /// In a few words.
    pub(super) fn shown(&self) -> String {
        match self.params.get("arguments") {
            Some(arguments) => format!("{} {} {arguments} at {}", self.method, self.name(), self.server),
            None => format!("{} {} at {}", self.method, self.name(), self.server),
        }
    }
}

fn effect(word: &str) -> Option<EffectWord> {
    Some(match word {
        "allow" => EffectWord::Allow,
        "redact" => EffectWord::Redact,
        "confirm" => EffectWord::Confirm,
        "passkey" => EffectWord::Passkey,
        "block" => EffectWord::Block,
        _ => return None,
    })
}

/// Every text that a result shows to its reader.
fn texts(result: &Value) -> Vec<String> {
    let blocks = ["content", "contents"].into_iter().filter_map(|key| result.get(key)?.as_array()).flatten();
    let blocks = blocks.flat_map(|block| [block.get("text"), block.pointer("/resource/text")]);
    let messages = result.get("messages").and_then(Value::as_array).into_iter().flatten();
    let messages = messages.map(|message| message.pointer("/content/text"));
    let values =
        result.pointer("/completion/values").and_then(Value::as_array).into_iter().flatten().map(Some);
    blocks.chain(messages).chain(values).flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
