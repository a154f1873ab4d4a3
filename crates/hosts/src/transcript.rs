//! Claude Code's transcript: which prompt of which turn, and who wrote it.
//!
//! The file is written a little after the hook has run, and the agent can write it too: it is one voice, and
//! [`words`](crate::words) wants all of them to agree.

use serde_json::Value;

use crate::event::TurnId;
use crate::words::PromptOrigin;

/// The line of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptLine {
    pub origin: PromptOrigin,
    /// The text of the prompt as it is recorded there.
    pub text: Option<String>,
}

/// The line of the prompt with which a turn began. The first line of the turn counts: messages of other
/// processes come later under the same id, and so do results of tools.
pub fn find_prompt(transcript: &str, turn: &TurnId) -> Option<PromptLine> {
    transcript.lines().find_map(|line| {
        // Most lines are of other turns, and a whole transcript is long.
        if !line.contains(turn.as_str()) {
            return None;
        }
        let line: Value = serde_json::from_str(line).ok()?;
        let is_prompt = line.get("type").and_then(Value::as_str) == Some("user")
            && line.get("promptId").and_then(Value::as_str) == Some(turn.as_str());
        is_prompt.then(|| PromptLine { origin: origin(&line), text: text(&line) })
    })
}

fn origin(line: &Value) -> PromptOrigin {
    let text = |key: &str| line.get(key).and_then(Value::as_str);
    let kind = line.get("origin").map(|origin| origin.get("kind").and_then(Value::as_str).unwrap_or("?"));
    let by_the_host = line.get("isMeta").and_then(Value::as_bool).unwrap_or(false)
        || text("promptSource") == Some("system");
    match (text("turnOrigin"), kind) {
        (_, Some("peer")) | (Some("peer"), _) => PromptOrigin::Peer,
        (_, Some("task-notification")) | (Some("task_notification"), _) => PromptOrigin::Subagent,
        (Some("human"), Some("human") | None) if !by_the_host => PromptOrigin::Human,
        (Some("sdk"), None) if !by_the_host => PromptOrigin::Sdk,
        (None, None) => PromptOrigin::Unrecorded,
        (turn, kind) => {
            let told = [turn, kind].into_iter().flatten().collect::<Vec<_>>();
            PromptOrigin::Other(told.join(", "))
        }
    }
}

fn text(line: &Value) -> Option<String> {
    match line.get("message")?.get("content")? {
        Value::String(text) => Some(text.clone()),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block.get("text").and_then(Value::as_str));
            Some(texts.collect::<Vec<_>>().join("\n"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(more: Value) -> String {
        let mut line =
            json!({ "type": "user", "promptId": "p1", "message": { "role": "user", "content": "hi" } });
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line.to_string()
    }

    fn origin_of(more: Value) -> PromptOrigin {
        find_prompt(&line(more), &TurnId::new("p1").unwrap()).unwrap().origin
    }

    #[test]
    fn each_measured_origin_is_read() {
        let typed = json!({ "turnOrigin": "human", "origin": { "kind": "human" }, "promptSource": "typed" });
        assert_eq!(origin_of(typed), PromptOrigin::Human);
        assert_eq!(origin_of(json!({ "turnOrigin": "sdk" })), PromptOrigin::Sdk);
        let peer = json!({ "turnOrigin": "peer", "isMeta": true, "promptSource": "system",
            "origin": { "kind": "peer", "verifiedPeerPid": 7 } });
        assert_eq!(origin_of(peer), PromptOrigin::Peer);
        let ended = json!({ "turnOrigin": "task_notification", "origin": { "kind": "task-notification" } });
        assert_eq!(origin_of(ended), PromptOrigin::Subagent);
    }

    #[test]
    fn contradictions_and_unknown_origins_are_no_person() {
        let other = |more| matches!(origin_of(more), PromptOrigin::Other(_));
        assert!(other(json!({ "turnOrigin": "human", "promptSource": "system" })));
        assert!(other(json!({ "turnOrigin": "human", "isMeta": true })));
        assert!(other(json!({ "turnOrigin": "human", "origin": { "kind": "channel" } })));
        assert!(other(json!({ "turnOrigin": "sdk", "origin": { "kind": "cron" } })));
        assert!(other(json!({ "turnOrigin": "cron" })));
        assert_eq!(origin_of(json!({})), PromptOrigin::Unrecorded);
    }

    #[test]
    fn the_first_line_of_the_turn_counts() {
        let typed = line(json!({ "turnOrigin": "human", "origin": { "kind": "human" } }));
        let peer = line(json!({ "turnOrigin": "human", "isMeta": true, "origin": { "kind": "peer" } }));
        let other = typed.replace("p1", "p0");
        let file = format!("garbled p1\n{other}\n{typed}\n{peer}\n{{\"type\":\"us");
        let found = find_prompt(&file, &TurnId::new("p1").unwrap()).unwrap();
        assert_eq!((found.origin, found.text.as_deref()), (PromptOrigin::Human, Some("hi")));
        assert_eq!(find_prompt(&file, &TurnId::new("p2").unwrap()), None);
    }

    #[test]
    fn blocks_of_text_are_joined() {
        let blocks = line(json!({ "turnOrigin": "human", "message": { "content": [
            { "type": "text", "text": "a" }, { "type": "image" }, { "type": "text", "text": "b" }] } }));
        let found = find_prompt(&blocks, &TurnId::new("p1").unwrap()).unwrap();
        assert_eq!(found.text.as_deref(), Some("a\nb"));
    }
}
