//! What may stand in a call beside its name and arguments, that no person is shown, and what becomes of it.

use highwater_testkit::client::{Era, Request};
use serde_json::Value;

use super::{Cell, Column};

/// What the server must not get.
pub(crate) const SECRET: &str = "AKIAIOSFODNN7EXAMPLE";

/// A call: the tool by the name that clients have for it, and its arguments.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) tool: String,
    pub(crate) arguments: Value,
}

/// Something in a call that no person is shown.
pub(crate) struct Extra {
    pub(crate) column: Column,
    /// Which of its column, which is also what its call is about.
    pub(crate) name: &'static str,
    /// Members of the parameters, as text.
    pub(crate) params: &'static str,
    /// Members of `_meta`, as text.
    pub(crate) meta: &'static str,
    pub(crate) fate: Fate,
    /// Whether it is tried between all eras, and not only between those that a row begins with.
    pub(crate) in_every_era: bool,
}

/// What becomes of it, and of its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The call is refused for the member at this path.
    Refused(&'static str),
    /// The call is made without it.
    LeftOut,
    /// The call is made with it.
    Sent,
}

/// A call of the tool and nothing else.
pub(crate) const PLAIN: Extra = in_meta(Column::ForeignKey, "plain", "", Fate::LeftOut);

/// Whether it is the one of its kind: others differ from it in spelling.
const fn is_plain(name: &str) -> bool {
    matches!(
        name.as_bytes(),
        b"member"
            | b"task"
            | b"claude-code"
            | b"codex"
            | b"foreign-key"
            | b"traceparent"
            | b"progress-of-text"
    )
}

const fn in_params(column: Column, name: &'static str, params: &'static str, path: &'static str) -> Extra {
    Extra { column, name, params, meta: "", fate: Fate::Refused(path), in_every_era: is_plain(name) }
}

const fn in_meta(column: Column, name: &'static str, meta: &'static str, fate: Fate) -> Extra {
    Extra { column, name, params: "", meta, fate, in_every_era: is_plain(name) }
}

/// The `_meta` of Claude Code 2.1.325 and of Codex 0.166.0 are as these hosts sent them.
pub(crate) const EXTRAS: [Extra; 21] = [
    in_params(Column::Member, "member", r#""recipient":"AKIAIOSFODNN7EXAMPLE""#, "/params/recipient"),
    in_params(
        Column::Member,
        "member-to-be-escaped",
        r#""a\/b~c":"AKIAIOSFODNN7EXAMPLE""#,
        "/params/a~1b~0c",
    ),
    in_params(Column::Member, "empty-member", r#""":null"#, "/params/"),
    in_params(Column::Task, "task", r#""task":{"ttl":60000}"#, "/params/task"),
    in_params(Column::Task, "escaped-task", r#""t\u0061sk":{}"#, "/params/task"),
    in_params(
        Column::Member,
        "foreign-state",
        r#""requestState":"AKIAIOSFODNN7EXAMPLE""#,
        "/params/requestState",
    ),
    in_params(
        Column::Member,
        "foreign-answers",
        r#""inputResponses":{"who":{"action":"accept","content":{"name":"AKIAIOSFODNN7EXAMPLE"}}}"#,
        "/params/inputResponses",
    ),
    in_meta(
        Column::ClaudeCode,
        "claude-code",
        r#""claudecode/toolUseId": "toolu_fake_0003_0", "progressToken": 2"#,
        Fate::LeftOut,
    ),
    in_meta(
        Column::Codex,
        "codex",
        r#""callId": "call_fake_0003_0", "x-codex-turn-metadata": {"session_id": "01a1e41c-fd1a-7140-8188-938353a71559", "thread_id": "01a1e41c-fd1a-7140-8188-938353a71559", "model": "gpt-5.1-codex", "turn_id": "01a1e41c-fda5-7d13-aead-48cfe4da3180", "turn_started_at_unix_ms": 1794828467630, "thread_source": "user", "turn_trigger": "exec", "sandbox": "none", "sandbox_mode": "danger-full-access", "auto_review_enabled": false, "node_repl_auto_review_required": false, "node_repl_disabled": false, "codex_version": "0.166.0"}, "threadId": "01a1e41c-fd1a-7140-8188-938353a71559", "sessionId": "01a1e41c-fd1a-7140-8188-938353a71559", "windowId": "01a1e41c-fd1a-7140-8188-938353a71559:0", "itemId": "fc_3_0", "progressToken": 1"#,
        Fate::LeftOut,
    ),
    in_meta(Column::ForeignKey, "foreign-key", r#""x.example/note":"AKIAIOSFODNN7EXAMPLE""#, Fate::LeftOut),
    in_meta(Column::ForeignKey, "tracestate", r#""tracestate":"vendor=AKIAIOSFODNN7EXAMPLE""#, Fate::LeftOut),
    in_meta(Column::ForeignKey, "baggage", r#""baggage":"note=AKIAIOSFODNN7EXAMPLE""#, Fate::LeftOut),
    in_meta(
        Column::ForeignKey,
        "traceparent",
        r#""traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01""#,
        Fate::Sent,
    ),
    in_meta(
        Column::ForeignKey,
        "traceparent-of-text",
        r#""traceparent":"00-AKIAIOSFODNN7EXAMPLE-01""#,
        Fate::LeftOut,
    ),
    in_meta(
        Column::ForeignKey,
        "traceparent-with-more",
        r#""traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-AKIAIOSFODNN7EXAMPLE""#,
        Fate::LeftOut,
    ),
    in_meta(
        Column::ForeignKey,
        "traceparent-in-capitals",
        r#""traceparent":"00-0AF7651916CD43DD8448EB211C80319C-B7AD6B7169203331-01""#,
        Fate::LeftOut,
    ),
    in_meta(
        Column::ForeignKey,
        "traceparent-too-short",
        r#""traceparent":"00-0af7651916cd43dd-b7ad6b7169203331-01""#,
        Fate::LeftOut,
    ),
    in_meta(
        Column::ForeignKey,
        "traceparent-no-text",
        r#""traceparent":{"note":"AKIAIOSFODNN7EXAMPLE"}"#,
        Fate::LeftOut,
    ),
    in_meta(Column::ForeignKey, "traceparent-nothing", r#""traceparent":null"#, Fate::LeftOut),
    in_meta(Column::Progress, "progress-of-text", r#""progressToken":"AKIAIOSFODNN7EXAMPLE""#, Fate::LeftOut),
    in_meta(Column::Progress, "progress-of-number", r#""progressToken":20012002"#, Fate::LeftOut),
];

// === impl Wanted ===

impl Wanted {
    /// A call of it with something more in it, in another spelling than the canonical one. `more` are further members.
    pub(crate) fn call(&self, extra: &Extra, more: &str) -> Request {
        let arguments = self.arguments.to_string().replace('/', "\\/").replacen('{', "{ ", 1);
        let mut params = format!(r#"{{"name":"{}","arguments":{arguments}"#, self.tool);
        for members in [extra.params, more].into_iter().filter(|members| !members.is_empty()) {
            params = format!("{params},{members}");
        }
        Request::new("tools/call").raw_params(&format!("{params}}}")).raw_meta(extra.meta).once()
    }

    /// The name that its server has for the tool.
    pub(crate) fn own_name(&self) -> &str {
        self.tool.split("__").nth(1).unwrap()
    }
}

// === impl Extra ===

impl Extra {
    /// Its fate in a call of a client to a server of these eras: a modern server knows nothing of a legacy client's tasks.
    pub(crate) fn fate(&self, client: Era, server: Era) -> Fate {
        match self.fate {
            Fate::Refused("/params/task") if (client, server) == (Era::Legacy, Era::Modern) => Fate::LeftOut,
            fate => fate,
        }
    }

    /// Whether a retry has a member of this name for itself.
    pub(crate) fn is_of_retry(&self) -> bool {
        self.name.starts_with("foreign-") && !self.params.is_empty()
    }
}

// === impl Fate ===

impl Fate {
    /// What becomes of the call.
    pub(crate) fn cell(self) -> Cell {
        match self {
            Self::Refused(_) => Cell::Refused,
            Self::LeftOut | Self::Sent => Cell::AsShown,
        }
    }
}
