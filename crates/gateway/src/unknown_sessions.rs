//! Sessions that the audit log knows and the store does not: a database that was removed, replaced, or copied without the log
//! beside it. What those agents have read is forgotten then, and somebody should hear of it.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use highwater_audit::{AuditEvent, Happened, Record, Recorded};
use highwater_core::id::{DecisionId, SessionKey};
use highwater_notation::Timestamp;
use highwater_store::AuditReader;

use crate::gateway::{Gateway, now};

/// How many parts of the log are looked at, the newest.
const MOST_BLOCKS: usize = 4;

/// How many sessions are looked for.
const MOST_SESSIONS: usize = 32;

/// What is older may be gone from the store because it is long over.
const RECENT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

// === impl Gateway ===

impl Gateway {
    /// Looks for such sessions once, beside the start, and complains of them in log and record.
    pub(crate) fn look_for_unknown_sessions(&self, data: &Path) {
        let (gateway, data) = (self.myself(), data.to_owned());
        let Some(since) = now().0.checked_sub(RECENT.as_millis().try_into().unwrap_or(u64::MAX)) else {
            return;
        };
        tokio::spawn(async move {
            let told = tokio::task::spawn_blocking(move || recorded_sessions(&data, Timestamp(since))).await;
            let Some(gateway) = gateway.upgrade() else { return };
            let sessions = match told {
                Ok(Ok(sessions)) => sessions,
                Ok(Err(error)) => {
                    return tracing::warn!(%error, "the audit log could not be compared with the session store");
                }
                Err(_) => return,
            };
            let mut unknown = Vec::new();
            for session in sessions {
                match gateway.store.show(&session).await {
                    Ok(None) => unknown.push(session),
                    Ok(Some(_)) => {}
                    // A store that is away says so elsewhere.
                    Err(_) => return,
                }
            }
            if let Some(first) = unknown.first() {
                gateway.report_unknown_sessions(first, unknown.len());
            }
        });
    }

    fn report_unknown_sessions(&self, first: &SessionKey, count: usize) {
        let detail = format!(
            "the audit log tells of {count} sessions that the session store does not know, such as `{first}`: what they have \
             read is forgotten"
        );
        tracing::error!(
            "{detail}. The database was removed, or copied without the file `-wal` beside it: stop the gateway and put the \
             right one back (`highwater restore`), or start once with `--restored`"
        );
        let happened = Happened::Log { act: "unknown-sessions", detail: &detail };
        if let Err(error) = self.audit.append(&AuditEvent { time: now(), id: None, happened }) {
            tracing::error!(%error, "that could not be recorded");
        }
    }
}

/// The sessions whose labels rose of late, as the newest part of the log tells.
fn recorded_sessions(data: &Path, since: Timestamp) -> std::io::Result<BTreeSet<SessionKey>> {
    let reader = AuditReader::of(data)?;
    let mut calls: HashMap<DecisionId, SessionKey> = HashMap::new();
    let (mut raised, mut left) = (Vec::new(), MOST_BLOCKS);
    for segment in reader.segments().into_iter().rev() {
        let mut blocks = Vec::new();
        reader.blocks_back(segment, |block| {
            blocks.push(block);
            left -= 1;
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        for block in blocks {
            let shown = reader.show(block, &mut |_, line| {
                let is_raise = line.contains("\"raised\":true");
                if (is_raise || line.contains("\"event\":\"decision\""))
                    && let Ok(Record { time, id: Some(id), happened, .. }) = Record::read(line)
                    && time >= since
                {
                    match happened {
                        Recorded::Decision(decision) => drop(calls.insert(id, decision.session)),
                        _ => raised.push(id),
                    }
                }
                ControlFlow::Continue(())
            })?;
            if shown.is_break() {
                break;
            }
        }
        if left == 0 {
            break;
        }
    }
    let sessions = raised.iter().rev().filter_map(|id| calls.get(id).cloned());
    Ok(sessions.take(MOST_SESSIONS).collect())
}
