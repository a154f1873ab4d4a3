//! Who came, was turned away, or looked at what there is: on record, and bounded. Of what happens often the first few of a
//! minute are written as they come, and the rest of that minute as one record with their number, so that whoever tries tokens
//! all day fills no disk.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use highwater_audit::{Access, AuditEvent, Happened};
use highwater_store::{AuditError, AuditLog};
use tokio::time::Instant;

use crate::gateway::now;

/// How long things are counted together.
const TOGETHER: Duration = Duration::from_secs(60);

/// The most who are counted apart; whoever comes beyond that is counted with the others.
const MOST: usize = 1024;

/// Stands for those.
const OTHERS: &str = "others";

/// How long a text of a client may be on record.
const LONGEST: usize = 128;

/// Puts it on record.
#[derive(Debug)]
pub(crate) struct AccessLog {
    audit: Arc<AuditLog>,
    counts: Mutex<HashMap<Counted, Count>>,
}

/// What is counted together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Counted {
    act: &'static str,
    principal: Option<String>,
    from: Option<String>,
}

#[derive(Debug)]
struct Count {
    since: Instant,
    /// How many there were since then.
    seen: u64,
    /// How many of them are not on record yet.
    unwritten: u64,
}

// === impl AccessLog ===

impl AccessLog {
    pub(crate) fn new(audit: Arc<AuditLog>) -> Self {
        Self { audit, counts: Mutex::default() }
    }

    /// Puts something on record, at once or counted. What cannot be recorded is told, and `/readyz` says no.
    pub(crate) fn note(&self, act: &'static str, access: Access<'_>) {
        let what = access.what.map(shortened);
        let access = Access { act, what: what.as_deref(), ..access };
        let owned = |text: Option<&str>| text.map(shortened);
        let mut key = Counted { act, principal: owned(access.principal), from: owned(access.from) };
        let mut counts = self.counts();
        if counts.len() >= MOST && !counts.contains_key(&key) {
            key = Counted { act, principal: None, from: Some(OTHERS.to_owned()) };
        }
        let count = counts.entry(key.clone()).or_insert_with(Count::begin);
        let over = count.is_over().then(|| std::mem::replace(count, Count::begin()).unwritten);
        count.seen += 1;
        let is_written = count.seen <= most_apart(act);
        count.unwritten += u64::from(!is_written);
        drop(counts);
        self.sum(&key, over.unwrap_or_default());
        if is_written && let Err(error) = self.write(access) {
            tracing::error!(%error, act, "who came could not be recorded");
        }
    }

    /// Puts something on record that does not happen otherwise.
    pub(crate) fn must(&self, access: Access<'_>) -> Result<(), AuditError> {
        self.write(access)
    }

    /// Writes down what was counted in minutes that are over.
    pub(crate) fn settle(&self) {
        let mut over = Vec::new();
        self.counts().retain(|key, count| {
            if count.is_over() {
                over.push((key.clone(), count.unwritten));
            }
            !count.is_over()
        });
        over.iter().for_each(|(key, count)| self.sum(key, *count));
    }

    /// Writes down everything that was counted.
    pub(crate) fn close(&self) {
        let counted = std::mem::take(&mut *self.counts());
        counted.iter().for_each(|(key, count)| self.sum(key, count.unwritten));
    }

    fn sum(&self, key: &Counted, count: u64) {
        if count == 0 {
            return;
        }
        let Counted { act, principal, from } = key;
        let (principal, from) = (principal.as_deref(), from.as_deref());
        let access = Access { act, principal, from, count: Some(count), ..Access::default() };
        if let Err(error) = self.write(access) {
            tracing::error!(%error, act, count, "who came could not be recorded");
        }
    }

    fn write(&self, access: Access<'_>) -> Result<(), AuditError> {
        let happened = Happened::Access(access);
        self.audit.append(&AuditEvent { time: now(), id: None, happened }).map(|_| ())
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<Counted, Count>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Count ===

impl Count {
    fn begin() -> Self {
        Self { since: Instant::now(), seen: 0, unwritten: 0 }
    }

    fn is_over(&self) -> bool {
        self.since.elapsed() >= TOGETHER
    }
}

/// How many of a minute are each a record.
fn most_apart(act: &str) -> u64 {
    match act {
        "list" | "wrong-token" | "signed-in" => 1,
        _ => 20,
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use highwater_store::DataDir;
    use serde_json::Value;

    use super::*;

    fn log() -> (tempfile::TempDir, AccessLog) {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::open(folder.path().join("data")).unwrap();
        (folder, AccessLog::new(Arc::new(AuditLog::open(&dir).unwrap())))
    }

    fn records(folder: &tempfile::TempDir) -> Vec<Value> {
        let text = std::fs::read_to_string(folder.path().join("data/audit/000001.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_wrong_tokens_is_two_records_a_minute_and_none_is_uncounted() {
        let (folder, log) = log();
        for _ in 0..3 {
            for _ in 0..10_000 {
                log.note("wrong-token", Access { from: Some("192.0.2.1"), ..Access::default() });
            }
            tokio::time::advance(TOGETHER).await;
            log.settle();
        }
        let records = records(&folder);
        assert_eq!(records.len(), 6, "{records:#?}");
        let counted: u64 = records.iter().map(|record| record["count"].as_u64().unwrap_or(1)).sum();
        assert_eq!(counted, 30_000);
        assert!(records.iter().all(|record| record["from"] == "192.0.2.1" && record["act"] == "wrong-token"));
    }

    #[tokio::test(start_paused = true)]
    async fn from_however_many_addresses_it_comes_it_is_bounded() {
        let (folder, log) = log();
        for number in 0..5_000 {
            let from = format!("address {number}");
            log.note("wrong-token", Access { from: Some(&from), ..Access::default() });
        }
        log.close();
        let records = records(&folder);
        assert!(records.len() <= MOST + 2, "{}", records.len());
        let counted: u64 = records.iter().map(|record| record["count"].as_u64().unwrap_or(1)).sum();
        assert_eq!(counted, 5_000);
    }

    #[tokio::test(start_paused = true)]
    async fn a_text_of_a_client_is_shortened() {
        let (folder, log) = log();
        let name = "x".repeat(10_000);
        log.note("unknown-tool", Access { principal: Some("agent"), what: Some(&name), ..Access::default() });
        assert_eq!(records(&folder)[0]["what"].as_str().unwrap().len(), LONGEST);
    }
}
