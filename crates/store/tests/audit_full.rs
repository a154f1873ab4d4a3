//! An audit log whose disk is full for a while: whatever failed in between, and however often, each record that was
//! acknowledged is a line of its own.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Barrier};

use highwater_audit::{AuditEvent, Ended, Happened, Outcome};
use highwater_core::id::DecisionId;
use highwater_notation::Timestamp;
use highwater_store::{AuditLog, DataDir};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Tells this program that it is the child of its test, and where the data are.
const CHILD: &str = "HIGHWATER_AUDIT_FULL_CHILD";

/// How much room is left when the disk is full: none, for a part of a line, and for a line and a part of the next.
const ROOM: [u64; 5] = [0, 1, 30, 95, 140];

/// How often in a row nothing more can be written.
const FAILURES: [usize; 4] = [1, 2, 3, 7];

/// How often several write at once after a failure.
const ROUNDS: usize = 1000;

fn event(id: &DecisionId) -> AuditEvent<'_> {
    let ended = Ended {
        outcome: Outcome::Delivered,
        bytes: 2,
        millis: 3,
        detail: None,
        judgement: None,
        label: None,
        raised: false,
        provenance: None,
        marks: &[],
    };
    AuditEvent { time: Timestamp(1), id: Some(id), happened: Happened::Outcome(ended) }
}

/// Lets the file grow to this many bytes, as a disk that is full then; `None` frees it again.
fn limit(bytes: Option<u64>) {
    let maximum = getrlimit(Resource::Fsize).maximum;
    setrlimit(Resource::Fsize, Rlimit { current: bytes, maximum }).unwrap();
}

/// Writes each record alone, or three of them together, and says whether they are in the log.
async fn append(log: &Arc<AuditLog>, name: &str, together: bool) -> (Vec<DecisionId>, bool) {
    if !together {
        let id = DecisionId::new(name);
        let written = log.append(&event(&id)).is_ok();
        return (vec![id], written);
    }
    let ids: Vec<_> = (0..3).map(|number| DecisionId::new(format!("{name}.{number}"))).collect();
    let writes: Vec<_> = ids.iter().map(|id| log.append_with_others(&event(id)).written()).collect();
    let written = futures_util::future::join_all(writes).await;
    let all = written.iter().all(Result::is_ok);
    assert!(all || written.iter().all(Result::is_err), "one write, one outcome");
    (ids, all)
}

/// The child, in which a limit on the size of files stands for a full disk.
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the parent says in the environment that this is its child")]
async fn child() {
    let Some(data) = std::env::var_os(CHILD) else { return };
    let dir = DataDir::open(Path::new(&data).to_owned()).unwrap();
    let file = dir.path().join("audit/000001.jsonl");
    let log = Arc::new(AuditLog::open(&dir).unwrap());
    let mut acknowledged = Vec::new();
    for (number, failures) in FAILURES.into_iter().enumerate() {
        for room in ROOM {
            for together in [false, true] {
                let name = format!("hwd_{number}_{room}_{together}");
                limit(Some(std::fs::metadata(&file).unwrap().len() + room));
                let mut failed = 0;
                while failed < failures {
                    let (ids, written) = append(&log, &format!("{name}_full_{failed}"), together).await;
                    // What still fits is written, and what comes after it is not.
                    if written { acknowledged.extend(ids) } else { failed += 1 }
                }
                limit(None);
                for then in ["first", "second"] {
                    let (ids, written) = append(&log, &format!("{name}_{then}"), together).await;
                    assert!(written, "{name}: there is room again");
                    acknowledged.extend(ids);
                }
            }
        }
    }
    // Several writers find room again at the same time.
    for round in 0..ROUNDS {
        limit(Some(std::fs::metadata(&file).unwrap().len() + 30));
        assert!(log.append(&event(&DecisionId::new("hwd_full"))).is_err());
        limit(None);
        let ids: Vec<_> = (0..4).map(|writer| DecisionId::new(format!("hwd_{round}_{writer}"))).collect();
        let ready = Barrier::new(ids.len());
        std::thread::scope(|scope| {
            for id in &ids {
                scope.spawn(|| {
                    ready.wait();
                    log.append(&event(id)).unwrap();
                });
            }
        });
        acknowledged.extend(ids);
    }
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.ends_with('\n') && !text.contains("\n\n"), "no line is empty");
    let mut recorded: BTreeMap<String, usize> = BTreeMap::new();
    for line in text.lines() {
        assert!(line.rfind(r#"{"v":2"#).is_none_or(|at| at == 0), "two records in one line: {line}");
        // What was torn is no record.
        let Ok(record) = serde_json::from_str::<serde_json::Value>(line) else { continue };
        // The log itself writes down for how long it could not be written.
        let Some(id) = record["id"].as_str() else { continue };
        *recorded.entry(id.to_owned()).or_default() += 1;
    }
    for id in acknowledged {
        assert_eq!(recorded.get(id.as_str()), Some(&1), "{id} is on record once");
    }
}

#[test]
fn after_any_number_of_failed_writes_a_record_starts_on_a_line_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    // Beyond the limit a write fails, if the signal that comes with it is ignored; only a shell can say so.
    let mut command = Command::new("sh");
    command.args(["-c", r#"trap "" XFSZ; exec "$@""#, "sh"]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture"]).env(CHILD, folder.path().join("data"));
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}
