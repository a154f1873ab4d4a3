//! What a hook prints, and how it exits.
//!
//! Hosts run the tool on everything that they do not understand: a text before the JSON, an unknown value, an
//! exit status other than 2. So an answer is exactly one JSON object with documented values and nothing
//! before it, and a refusal is always explicit, never `continue: false`.

use serde_json::{Value, json};

use crate::host::{HookName, Host};

/// What a hook process leaves behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookOutput {
    pub stdout: String,
    pub stderr: String,
    pub exit: u8,
}

/// What was decided about a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing to say: the host goes on as it would without us, and asks the user where it would.
    Pass,
    /// The user need not be asked.
    Allow,
    /// The user decides; the reason holds the whole call.
    Ask(String),
    /// It is not run; the model reads the reason.
    Refuse(String),
}

/// Longer reasons are cut. Claude Code puts texts above 10,000 characters into a file, where the person
/// who is asked does not see them.
pub const MAX_REASON: usize = 8_000;

/// The answer to one event. `attended` says whether a person sits at the host.
///
/// Where the host cannot ask, or nobody is there, a question becomes a refusal: Codex runs the tool when it
/// reads `ask`. Events that cannot refuse get an answer without any effect.
pub fn answer(host: Host, hook: HookName, verdict: &Verdict, attended: bool) -> HookOutput {
    let answer = match hook {
        HookName::PreToolUse => before_tool(host, verdict, attended),
        HookName::PermissionRequest => permission(verdict),
        _ => None,
    };
    print(&answer.unwrap_or_else(nothing))
}

/// The answer when none could be had: the gateway is away or too slow, or the input is garbled. What may
/// refuse refuses, all else passes. A prompt that passes this way brings no words.
pub fn failure(hook: HookName, reason: &str) -> HookOutput {
    match hook {
        // This one is refused by JSON only; its host ignores exit 2.
        HookName::PermissionRequest => print(&denied_permission(&cut(reason))),
        hook if hook.is_gate() => {
            let reason = format!("{}\n", cut(reason).replace(['\n', '\r'], " "));
            HookOutput { stdout: String::new(), stderr: reason, exit: 2 }
        }
        _ => print(&nothing()),
    }
}

fn before_tool(host: Host, verdict: &Verdict, attended: bool) -> Option<Value> {
    let decision = |decision: &str, reason: Option<String>| {
        let mut output = json!({ "hookEventName": "PreToolUse", "permissionDecision": decision });
        if let (Some(reason), Some(output)) = (reason, output.as_object_mut()) {
            output.insert("permissionDecisionReason".to_owned(), json!(reason));
        }
        Some(json!({ "hookSpecificOutput": output }))
    };
    match (verdict, host) {
        (Verdict::Pass, _) => None,
        (Verdict::Allow, Host::ClaudeCode) => decision("allow", None),
        // Unsupported without a rewritten input, and without effect.
        (Verdict::Allow, Host::Codex) => None,
        // A question that does not show the whole call is none.
        (Verdict::Ask(reason), Host::ClaudeCode) if attended && reason.chars().count() <= MAX_REASON => {
            decision("ask", Some(reason.clone()))
        }
        (Verdict::Ask(reason) | Verdict::Refuse(reason), _) => decision("deny", Some(cut(reason))),
    }
}

fn permission(verdict: &Verdict) -> Option<Value> {
    match verdict {
        // The host is about to ask the user anyway.
        Verdict::Pass | Verdict::Ask(_) => None,
        Verdict::Allow => Some(json!({ "hookSpecificOutput":
            { "hookEventName": "PermissionRequest", "decision": { "behavior": "allow" } } })),
        Verdict::Refuse(reason) => Some(denied_permission(&cut(reason))),
    }
}

fn denied_permission(reason: &str) -> Value {
    json!({ "hookSpecificOutput":
        { "hookEventName": "PermissionRequest", "decision": { "behavior": "deny", "message": reason } } })
}

fn nothing() -> Value {
    json!({})
}

fn print(answer: &Value) -> HookOutput {
    HookOutput { stdout: format!("{answer}\n"), stderr: String::new(), exit: 0 }
}

fn cut(reason: &str) -> String {
    match reason.char_indices().nth(MAX_REASON) {
        Some((at, _)) => format!("{}…", reason.get(..at).unwrap_or_default()),
        None => reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERDICTS: fn() -> [Verdict; 4] = || {
        [Verdict::Pass, Verdict::Allow, Verdict::Ask("why\n\"so\"".into()), Verdict::Refuse("R-deny".into())]
    };

    fn before(host: Host, verdict: Verdict, attended: bool) -> Value {
        serde_json::from_str(&answer(host, HookName::PreToolUse, &verdict, attended).stdout).unwrap()
    }

    fn decision(host: Host, verdict: Verdict, attended: bool) -> Option<String> {
        let answer = before(host, verdict, attended);
        answer
            .pointer("/hookSpecificOutput/permissionDecision")
            .map(|value| value.as_str().unwrap().to_owned())
    }

    #[test]
    fn every_answer_is_one_object_of_documented_values() {
        for host in Host::ALL {
            for hook in HookName::ALL {
                for verdict in VERDICTS() {
                    for attended in [true, false] {
                        let output = answer(host, hook, &verdict, attended);
                        let value: Value = serde_json::from_str(&output.stdout).unwrap();
                        let members = value.as_object().unwrap();
                        assert!(
                            output.stdout.starts_with('{') && output.exit == 0 && output.stderr.is_empty()
                        );
                        assert!(members.keys().all(|key| key == "hookSpecificOutput"), "{value}");
                        if let Some(output) = members.get("hookSpecificOutput") {
                            assert_eq!(output["hookEventName"], hook.name());
                            let word =
                                output.get("permissionDecision").or(output.pointer("/decision/behavior"));
                            assert!(["allow", "deny", "ask"].contains(&word.unwrap().as_str().unwrap()));
                        }
                        if !hook.is_gate() {
                            assert_eq!(output.stdout, "{}\n");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_question_is_asked_only_where_somebody_answers_it() {
        let ask = || Verdict::Ask("x".into());
        assert_eq!(decision(Host::ClaudeCode, ask(), true).as_deref(), Some("ask"));
        assert_eq!(decision(Host::ClaudeCode, ask(), false).as_deref(), Some("deny"));
        assert_eq!(decision(Host::Codex, ask(), true).as_deref(), Some("deny"));
        let endless = Verdict::Ask("x".repeat(MAX_REASON + 1));
        assert_eq!(decision(Host::ClaudeCode, endless, true).as_deref(), Some("deny"));
    }

    #[test]
    fn to_pass_is_not_to_allow() {
        for host in Host::ALL {
            assert_eq!(decision(host, Verdict::Pass, true), None);
        }
        assert_eq!(decision(Host::Codex, Verdict::Allow, true), None);
    }

    #[test]
    fn a_refusal_says_why() {
        let refused = before(Host::Codex, Verdict::Refuse("R-deny".into()), true);
        let expected = json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse",
            "permissionDecision": "deny", "permissionDecisionReason": "R-deny" } });
        assert_eq!(refused, expected);
        let long = before(Host::Codex, Verdict::Refuse("ä".repeat(20_000)), true);
        let reason = long["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap();
        assert_eq!(reason.chars().count(), MAX_REASON + 1);
    }

    #[test]
    fn a_failing_gate_refuses_and_anything_else_passes() {
        for hook in HookName::ALL {
            let output = failure(hook, "no answer\nin time");
            match hook {
                HookName::PreToolUse => {
                    assert_eq!((output.exit, output.stderr.as_str()), (2, "no answer in time\n"));
                    assert!(output.stdout.is_empty());
                }
                HookName::PermissionRequest => {
                    assert!(
                        output.exit == 0 && output.stdout.contains("\"behavior\":\"deny\""),
                        "{output:?}"
                    );
                }
                _ => assert_eq!((output.exit, output.stdout.as_str()), (0, "{}\n")),
            }
        }
    }

    /// What each answer did to the real hosts: the recorded cases whose answers are the ones made here.
    #[test]
    fn recorded_hosts_did_what_these_answers_mean() {
        let recordings = [
            include_str!("../tests/fixtures/claude-2.1.197.matrix.jsonl"),
            include_str!("../tests/fixtures/claude-2.1.325.matrix.jsonl"),
            include_str!("../tests/fixtures/codex-0.166.0.matrix.jsonl"),
        ];
        let mut seen = 0;
        for (index, recording) in recordings.iter().enumerate() {
            for line in recording.lines() {
                let line: Value = serde_json::from_str(line).unwrap();
                let ran = line["ran"].as_u64().unwrap() > 0;
                let is_codex = index == 2;
                let expected = match line["case"].as_str().unwrap() {
                    "pre-deny" | "pre-deny-bypass" | "pre-deny-in-sub" | "pre-exit2" => false,
                    "pre-missing-or-2" | "pre-killed-or-2" => false,
                    // Why a question becomes a refusal in Codex.
                    "pre-ask" | "pre-ask-bypass" => is_codex,
                    // Why the deadline is ours, the command ends in `|| exit 2`, and nothing stands before the JSON.
                    "pre-exit1" | "pre-timeout" | "pre-missing-binary" | "pre-killed" => true,
                    "pre-text-before-json" | "pre-bad-value" | "pre-bad-json" | "pre-continue-false" => true,
                    _ => continue,
                };
                assert_eq!(ran, expected, "{line}");
                seen += 1;
            }
        }
        assert!(seen >= 25, "{seen} cases");
    }
}
