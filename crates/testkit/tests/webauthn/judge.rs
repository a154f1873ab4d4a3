//! The other verifier: a Node program that answers one line with one line.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use highwater_notation::encode_base64url;
use highwater_testkit::passkey::{ORIGIN, RP_ID};
use serde_json::{Value, json};

pub(crate) struct Judge {
    child: Child,
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Judge {
    pub(crate) fn new() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let script = root.join(".peers/approval/judge.mjs");
        assert!(script.is_file(), "not installed; run: cargo xtask test --only webauthn");
        let pinned = root.join(".peers/node/node_modules/.bin/node");
        let node = if pinned.exists() { pinned } else { PathBuf::from("node") };
        let mut child =
            Command::new(node).arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let questions = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Self { child, questions, answers }
    }

    /// What it says: an answer, or why it refuses.
    pub(crate) fn ask(&mut self, question: &Value) -> Result<Value, String> {
        let questions = self.questions.as_mut().unwrap();
        writeln!(questions, "{question}").unwrap();
        questions.flush().unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        let mut answer: Value = serde_json::from_str(&line).unwrap();
        match answer.get("refused").and_then(Value::as_str) {
            Some(why) => Err(why.to_owned()),
            None => Ok(answer["ok"].take()),
        }
    }

    pub(crate) fn registration(&mut self, response: &Value, challenge: &[u8]) -> Result<Value, String> {
        self.ask(&json!({
            "kind": "registration", "response": response, "challenge": encode_base64url(challenge),
            "origin": ORIGIN, "rpId": RP_ID,
        }))
    }

    /// `credential` is what its own registration said.
    pub(crate) fn assertion(
        &mut self,
        response: &Value,
        challenge: &[u8],
        credential: &Value,
    ) -> Result<Value, String> {
        self.ask(&json!({
            "kind": "assertion", "response": response, "challenge": encode_base64url(challenge),
            "origin": ORIGIN, "rpId": RP_ID, "credential": credential,
        }))
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        drop(self.questions.take());
        self.child.wait().unwrap();
    }
}
