//! A load that comes from an agent's host with hooks: each session is a conversation whose user said what is done in it,
//! and each call is announced before it is made. What is told is what Claude Code tells.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::answer;
use super::client::{Endpoint, McpClient, Prepared};

/// The tool by which a host's hooks are heard on its own connection.
const HOOK: &str = "highwater__hook";

/// What the user asks for: to keep texts in the folder that the load keeps them in.
const PROMPT: &str = "Keep the tide tables: write them to the folder tables/ please.";

/// What a host's hooks need.
#[derive(Clone, Debug)]
pub struct HostHooks {
    /// The program that the host runs as a hook.
    pub program: PathBuf,
    /// The gateway's data directory.
    pub data: PathBuf,
    /// Where the host keeps its transcripts.
    pub transcripts: PathBuf,
}

/// One conversation of the host.
pub struct Conversation {
    id: String,
    transcript: PathBuf,
    turn: String,
    calls: u64,
}

static CONVERSATIONS: AtomicU64 = AtomicU64::new(0);

// === impl HostHooks ===

impl HostHooks {
    /// Begins a conversation, before there is a connection: its hook is a command. Returns how long that took as well.
    pub async fn begin(&self) -> anyhow::Result<(Conversation, Duration)> {
        let number = CONVERSATIONS.fetch_add(1, Ordering::Relaxed);
        let name = |kind: u64| format!("{:08x}-0000-4000-8{kind:03x}-{number:012x}", std::process::id());
        let (id, turn) = (name(0), name(1));
        let transcript = self.transcripts.join(format!("{id}.jsonl"));
        let told = json!({
            "session_id": id, "transcript_path": transcript, "source": "startup", "cwd": self.transcripts,
            "hook_event_name": "SessionStart",
        });
        let before = Instant::now();
        self.run("SessionStart", &told).await?;
        let taken = before.elapsed();
        Ok((Conversation { id, transcript, turn, calls: 0 }, taken))
    }

    async fn run(&self, event: &str, told: &Value) -> anyhow::Result<()> {
        let mut child = Command::new(&self.program)
            .args(["hook", "claude-code", "--data-dir"])
            .arg(&self.data)
            .arg(event)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .context("the hook could not be started")?;
        let mut input = child.stdin.take().context("the hook has no input")?;
        input.write_all(told.to_string().as_bytes()).await.context("the hook does not listen")?;
        drop(input);
        let status = child.wait().await.context("the hook was lost")?;
        ensure!(status.success(), "the hook of {event} ended with {status}");
        Ok(())
    }
}

// === impl Conversation ===

impl Conversation {
    /// The user says what is to be done.
    pub async fn prompt(&self, endpoint: &Endpoint, session: &mut McpClient) -> anyhow::Result<()> {
        let typed = json!({
            "type": "user", "promptId": self.turn, "turnOrigin": "human", "origin": { "kind": "human" },
            "promptSource": "typed", "sessionId": self.id, "message": { "role": "user", "content": PROMPT },
        });
        std::fs::write(&self.transcript, format!("{typed}\n")).context("the transcript cannot be written")?;
        let more = json!({ "prompt": PROMPT });
        hear(session, &self.event(endpoint, "UserPromptSubmit", &more)?).await
    }

    /// Announces a call of `tool`, and returns the call with the id under which it was announced.
    pub async fn announce(
        &mut self,
        endpoint: &Endpoint,
        session: &mut McpClient,
        tool: &str,
        arguments: &str,
    ) -> anyhow::Result<Prepared> {
        self.calls += 1;
        let id = format!("toolu_{}_{}", self.id, self.calls);
        let more = json!({
            "tool_name": format!("mcp__highwater__{tool}"), "tool_input": arguments, "tool_use_id": id,
        });
        hear(session, &self.event(endpoint, "PreToolUse", &more)?).await?;
        let params = format!(
            r#"{{"_meta":{{"claudecode/toolUseId":"{id}"}},"name":"{tool}","arguments":{arguments}}}"#
        );
        endpoint.prepare("tools/call", &params, Some(tool))
    }

    fn event(&self, endpoint: &Endpoint, event: &str, more: &Value) -> anyhow::Result<Prepared> {
        let folder = self.transcript.parent().unwrap_or_else(|| Path::new("/"));
        let mut told = json!({
            "host": "claude-code", "hook_event_name": event, "session_id": self.id, "prompt_id": self.turn,
            "transcript_path": self.transcript, "cwd": folder, "agent_id": "", "agent_type": "",
        });
        if let (Some(told), Some(more)) = (told.as_object_mut(), more.as_object()) {
            told.extend(more.clone());
        }
        let params = json!({ "name": HOOK, "arguments": told });
        endpoint.prepare("tools/call", &params.to_string(), Some(HOOK))
    }
}

async fn hear(session: &mut McpClient, event: &Prepared) -> anyhow::Result<()> {
    let (id, body) = session.ask(event).await?;
    answer::check_any(&body, id).context("a hook was refused")
}
