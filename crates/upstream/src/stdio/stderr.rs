//! What a child grumbles on stderr: always drained, the last lines kept for people, a share of them logged.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use highwater_core::id::UpstreamId;
use tokio::io::AsyncRead;
use tokio::time::{Duration, Instant};

use super::lines::{Line, Lines};

/// How many lines are kept.
const KEPT_LINES: usize = 50;
/// The longest line that is kept; of a longer one the first kibibyte is.
const MAX_LINE: usize = 4 << 10;
/// How many lines are logged in each second.
const LOGGED: u32 = 20;
/// The shortest value that is taken for a secret. Shorter ones would black out ordinary words.
const MIN_SECRET: usize = 6;

/// The last lines of a child, and of its predecessors.
#[derive(Debug, Default)]
pub(crate) struct StderrTail {
    kept: Mutex<TailLines>,
}

#[derive(Debug, Default)]
struct TailLines {
    lines: VecDeque<String>,
    /// How many of them the child of now wrote.
    own: usize,
}

/// Lets a bounded number of things through in each second, and counts the others.
#[derive(Debug)]
pub(super) struct Quota {
    allowed: u32,
    used: u32,
    suppressed: u64,
    since: Instant,
}

// === impl StderrTail ===

impl StderrTail {
    /// The last lines, oldest first.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.kept().lines.iter().cloned().collect()
    }

    /// The last lines of the child that was started last, oldest first.
    pub(crate) fn own_lines(&self) -> Vec<String> {
        let kept = self.kept();
        kept.lines.iter().skip(kept.lines.len() - kept.own.min(kept.lines.len())).cloned().collect()
    }

    /// Another child is started.
    pub(super) fn begin(&self) {
        self.kept().own = 0;
    }

    fn keep(&self, line: String) {
        let mut kept = self.kept();
        if kept.lines.len() == KEPT_LINES {
            kept.lines.pop_front();
        }
        kept.lines.push_back(line);
        kept.own += 1;
    }

    fn kept(&self) -> MutexGuard<'_, TailLines> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drains a child's stderr to its end. Values of its environment are named, not shown.
    pub(super) async fn drain(
        &self,
        upstream: &UpstreamId,
        env: &BTreeMap<String, String>,
        stderr: impl AsyncRead + Unpin,
    ) {
        let mut lines = Lines::new(stderr, MAX_LINE);
        let mut quota = Quota::new(LOGGED);
        while let Some(line) = lines.next().await {
            let bytes = match line {
                Line::Whole(bytes) | Line::Last(bytes) | Line::TooLong { head: bytes, .. } => bytes,
            };
            let line = redact(&readable(&bytes), env);
            if line.is_empty() {
                continue;
            }
            if let Some(suppressed) = quota.admit() {
                tracing::info!(%upstream, suppressed, line, "stderr");
            }
            self.keep(line);
        }
    }
}

// === impl Quota ===

impl Quota {
    pub(super) fn new(allowed: u32) -> Self {
        Self { allowed, used: 0, suppressed: 0, since: Instant::now() }
    }

    /// Whether one more may pass; if so, how many did not since the last one that did.
    pub(super) fn admit(&mut self) -> Option<u64> {
        let now = Instant::now();
        if now.duration_since(self.since) >= Duration::from_secs(1) {
            self.since = now;
            self.used = 0;
        }
        if self.used >= self.allowed {
            self.suppressed += 1;
            return None;
        }
        self.used += 1;
        Some(std::mem::take(&mut self.suppressed))
    }
}

/// Text for people: no control characters, so that a line cannot rewrite the terminal it is read in.
pub(super) fn readable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().filter(|c| !c.is_control() || *c == '\t').collect()
}

fn redact(line: &str, env: &BTreeMap<String, String>) -> String {
    let mut line = line.trim_end().to_owned();
    for (name, value) in env {
        if value.len() >= MIN_SECRET && line.contains(value.as_str()) {
            line = line.replace(value.as_str(), &format!("[{name}]"));
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_last_lines_are_kept_without_secrets_and_control_characters() {
        let stderr_tail = StderrTail::default();
        let env = BTreeMap::from([("TOKEN".to_owned(), "s3cr3t-value".to_owned())]);
        let mut text: String = (0..100).map(|n| format!("line {n}\n")).collect();
        text.push_str("\u{1b}[31mtoken s3cr3t-value refused\n");
        stderr_tail.drain(&UpstreamId::new("x"), &env, text.as_bytes()).await;
        let lines = stderr_tail.lines();
        assert_eq!(lines.len(), KEPT_LINES);
        assert_eq!(lines.first().unwrap(), "line 51");
        assert_eq!(lines.last().unwrap(), "[31mtoken [TOKEN] refused");
    }

    #[tokio::test(start_paused = true)]
    async fn a_quota_is_renewed_each_second_and_tells_what_it_held_back() {
        let mut quota = Quota::new(2);
        assert_eq!(
            [quota.admit(), quota.admit(), quota.admit(), quota.admit()],
            [Some(0), Some(0), None, None]
        );
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(quota.admit(), Some(2));
    }
}
