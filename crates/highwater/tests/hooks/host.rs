//! A host: a process with a host's name that runs hooks one after the other, as the real ones do, through a shell.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use highwater_hosts::command_line::HookCommand;
use highwater_hosts::host::{HookName, Host as Kind};
use highwater_testkit::wait::until;
use serde_json::{Value, json};

use crate::stage::{PROGRAM, Stage};

/// What a host does: runs the hooks whose names it is told.
const LOOP: &str = r#"while read -r hook; do
    sh "$hook.sh" < "$hook.in" > "$hook.out" 2> "$hook.err"
    echo $? > "$hook.tmp"
    mv "$hook.tmp" "$hook.code"
done
"#;

/// A running host.
pub(crate) struct Host {
    kind: Kind,
    folder: tempfile::TempDir,
    data: PathBuf,
    /// It ends when this is closed.
    orders: File,
    next: AtomicU32,
}

/// What a hook left behind.
#[derive(Debug)]
pub(crate) struct Printed {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

// === impl Host ===

impl Host {
    /// A host whose hooks talk to the gateway of a stage. Its parent is the first process of the system.
    pub(crate) fn of(stage: &Stage) -> Self {
        Self::at(Kind::ClaudeCode, &stage.gateway.home().data_dir())
    }

    pub(crate) fn at(kind: Kind, data: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let name = match kind {
            Kind::ClaudeCode => "claude",
            Kind::Codex => "codex",
        };
        let (program, orders, script) =
            (folder.path().join(name), folder.path().join("orders"), folder.path().join("loop"));
        fs::copy(fs::canonicalize("/bin/sh").unwrap(), &program).unwrap();
        fs::write(&script, LOOP).unwrap();
        assert!(Command::new("mkfifo").arg(&orders).status().unwrap().success());
        // The shell ends at once, and what it left in the background is nobody's child.
        let started = Command::new("/bin/sh")
            .args(["-c", r#""$1" "$2" < "$3" > /dev/null 2>&1 &"#, "sh"])
            .args([&program, &script, &orders])
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .status();
        assert!(started.unwrap().success());
        let orders = OpenOptions::new().write(true).open(orders).unwrap();
        Self { kind, folder, data: data.to_owned(), orders, next: AtomicU32::new(0) }
    }

    /// The line that `connect` installs for an event.
    pub(crate) fn line(&self, hook: HookName) -> String {
        self.line_of(PROGRAM, hook)
    }

    pub(crate) fn line_of(&self, program: &str, hook: HookName) -> String {
        let options = vec!["--data-dir".to_owned(), self.data.to_str().unwrap().to_owned()];
        HookCommand { program: program.to_owned(), options, watchdog: true }.line(self.kind, hook)
    }

    /// Runs the installed hook of an event.
    pub(crate) async fn hook(&self, payload: &Value) -> Printed {
        let hook = HookName::from_name(payload["hook_event_name"].as_str().unwrap()).unwrap();
        self.run(&self.line(hook), payload.to_string().as_bytes()).await
    }

    /// Runs a command line as a hook, or as a tool of the model: hosts run both in the same way.
    pub(crate) async fn run(&self, line: &str, input: &[u8]) -> Printed {
        let name = format!("hook-{}", self.next.fetch_add(1, Ordering::Relaxed));
        let file = |end: &str| self.folder.path().join(format!("{name}.{end}"));
        fs::write(file("in"), input).unwrap();
        fs::write(file("sh"), format!("{line}\n")).unwrap();
        (&self.orders).write_all(format!("{name}\n").as_bytes()).unwrap();
        let code = until("the hook to end", async || fs::read_to_string(file("code")).ok()).await.unwrap();
        let read = |end: &str| fs::read_to_string(file(end)).unwrap();
        Printed { code: code.trim().parse().unwrap(), stdout: read("out"), stderr: read("err") }
    }

    /// A file in the host's own folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

// === impl Printed ===

impl Printed {
    /// Nothing was said: the host goes on as it would without the hook.
    #[track_caller]
    pub(crate) fn passed(&self) {
        assert_eq!((self.code, self.stdout.as_str(), self.stderr.as_str()), (0, "{}\n", ""), "{self:?}");
    }

    /// The tool is refused, for a reason that holds this.
    #[track_caller]
    pub(crate) fn refused(&self, reason: &str) {
        assert_eq!((self.code, self.stdout.as_str()), (2, ""), "{self:?}");
        assert!(self.stderr.contains(reason), "{self:?}");
    }
}

/// What a command of the program prints that talks to the gateway of a stage.
pub(crate) async fn terminal(stage: &Stage, arguments: &[&str]) -> String {
    let data = stage.gateway.home().data_dir();
    let mut command = tokio::process::Command::new(PROGRAM);
    let output = command.args(arguments).arg("--data-dir").arg(data).output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// An event of a conversation of Claude Code.
pub(crate) fn event(hook: HookName, conversation: &str, more: Value) -> Value {
    let mut payload = json!({ "hook_event_name": hook.name(), "session_id": conversation, "cwd": "/home/ada",
        "transcript_path": format!("/nowhere/{conversation}.jsonl"), "prompt_id": "turn-1" });
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    payload
}

/// What is about to run a command of the shell.
pub(crate) fn shell(conversation: &str, call: &str) -> Value {
    let more = json!({ "tool_name": "Bash", "tool_input": { "command": "true" }, "tool_use_id": call });
    event(HookName::PreToolUse, conversation, more)
}

/// What is on record of conversations of hosts: what happened, and in which.
pub(crate) fn remarks(stage: &Stage) -> Vec<(String, String)> {
    let folder = stage.gateway.home().data_dir().join("audit");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let text: String = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let records = records.filter(|record| record["event"] == "remark");
    let word = |record: &Value, key: &str| record[key].as_str().unwrap().to_owned();
    records.map(|record| (word(&record, "what"), word(&record, "session"))).collect()
}

/// Only what happened.
pub(crate) fn happened(stage: &Stage) -> Vec<String> {
    remarks(stage).into_iter().map(|(what, _)| what).collect()
}
