//! What becomes of closed segments of the audit log: compressed, found by their indexes, removed when they are old or too
//! many; and what becomes of a log whose files somebody takes away.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use highwater_audit::{AuditEvent, Ended, Happened, Outcome};
use highwater_core::id::DecisionId;
use highwater_notation::Timestamp;
use highwater_store::{AuditKey, AuditLog, AuditReader, AuditRetention, DataDir};
use tempfile::TempDir;

const LONG: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// How long something that happens in the background is waited for. A busy disk takes seconds for each file that is flushed.
const PATIENCE: Duration = Duration::from_secs(180);

struct Site {
    _folder: TempDir,
    dir: DataDir,
    log: AuditLog,
}

// === impl Site ===

impl Site {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::open(folder.path().join("data")).unwrap();
        let log = AuditLog::open(&dir).unwrap();
        Self { _folder: folder, dir, log }
    }

    fn keeping(max: u64, compress: bool) -> Self {
        let site = Self::new();
        site.log.keep(AuditRetention { keep: LONG, max, compress }).unwrap();
        site
    }

    fn audit(&self) -> PathBuf {
        self.dir.path().join("audit")
    }

    /// Appends a record of this many bytes or a few more.
    fn append(&self, id: &str, at: u64, bytes: usize) {
        let detail = "x".repeat(bytes);
        let ended = Ended {
            outcome: Outcome::Delivered,
            bytes: 2,
            millis: 3,
            detail: Some(&detail),
            judgement: None,
            label: None,
            raised: false,
            provenance: None,
            marks: &[],
        };
        let id = DecisionId::new(id);
        let event = AuditEvent { time: Timestamp(at), id: Some(&id), happened: Happened::Outcome(ended) };
        self.log.append(&event).unwrap();
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.audit())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn bytes(&self) -> u64 {
        let lengths =
            fs::read_dir(self.audit()).unwrap().filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len()));
        lengths.sum()
    }

    /// Waits until one segment is left that is no more than lines.
    fn settled(&self) {
        until("the closed segments are compressed", || {
            self.names().iter().filter(|name| name.ends_with(".jsonl")).count() == 1
                && self.names().iter().all(|name| !name.ends_with(".new"))
        });
    }
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn now() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

fn id(number: usize) -> String {
    format!("hwd_Abc-_9{number:05x}")
}

/// How often each decision is on record, in any segment.
fn recorded(dir: &Path) -> BTreeMap<String, usize> {
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    let reader = AuditReader::of(dir).unwrap();
    reader
        .walk(|_, line| {
            let record: serde_json::Value = serde_json::from_str(line).unwrap();
            if let Some(id) = record["id"].as_str() {
                *found.entry(id.to_owned()).or_default() += 1;
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    found
}

/// The lines that an index leads to.
fn found(reader: &AuditReader, id: &str) -> Vec<String> {
    let named = format!("\"{id}\"");
    let mut lines = Vec::new();
    for segment in reader.segments() {
        for block in reader.find(segment, AuditKey::Id(id)).unwrap() {
            let shown = reader.show(block, &mut |_, line| {
                if line.contains(&named) {
                    lines.push(line.to_owned());
                }
                ControlFlow::Continue(())
            });
            assert!(shown.unwrap().is_continue());
        }
    }
    lines
}

#[test]
fn closed_segments_are_compressed_and_every_record_is_found_by_its_index() {
    const RECORDS: usize = 2_000;
    let site = Site::keeping(4 << 20, true);
    (0..RECORDS).for_each(|number| site.append(&id(number), now(), 1_000));
    site.settled();
    let names = site.names();
    assert!(names.contains(&"000001.jsonl.gz".to_owned()), "{names:?}");
    assert!(names.contains(&"000001.index".to_owned()), "{names:?}");
    assert!(site.bytes() < 1 << 20, "{} bytes for 2 MB of records", site.bytes());
    let all = recorded(site.dir.path());
    assert_eq!(all.len(), RECORDS);
    assert!(all.values().all(|count| *count == 1));
    let reader = AuditReader::of(site.dir.path()).unwrap();
    for number in [0, 1, 700, RECORDS - 1] {
        assert_eq!(found(&reader, &id(number)).len(), 1, "{number}");
    }
    assert!(found(&reader, "hwd_Abc-_9fffff").is_empty());
}

#[test]
fn the_oldest_segments_go_when_all_are_too_much_and_that_is_on_record() {
    const MAX: u64 = 1 << 20;
    let site = Site::keeping(MAX, false);
    for number in 0..5_000 {
        site.append(&id(number), now(), 1_000);
        if number % 50 == 0 {
            // Faster than this the background does not have to be.
            until("there is room", || site.bytes() <= MAX);
        }
    }
    until("the limit holds", || site.bytes() <= MAX);
    let left = recorded(site.dir.path());
    assert!(left.len() > 300 && left.len() < 1_000, "{}", left.len());
    // What is left is the newest, without a gap.
    let first = left.keys().next().unwrap().clone();
    let expected: Vec<String> = (0..5_000).map(id).filter(|id| *id >= first).collect();
    assert_eq!(left.keys().cloned().collect::<Vec<_>>(), expected);
    let text: String = site
        .names()
        .iter()
        .filter(|name| name.ends_with(".jsonl"))
        .map(|name| fs::read_to_string(site.audit().join(name)).unwrap())
        .collect();
    assert!(text.contains(r#""event":"log","act":"removed""#) && text.contains("`audit.max`"), "on record");
}

#[test]
fn what_is_older_than_it_is_kept_goes_and_nothing_else() {
    let site = Site::keeping(4 << 20, true);
    (0..600).for_each(|number| site.append(&id(number), 1_000, 1_000));
    (600..1_200).for_each(|number| site.append(&id(number), now(), 1_000));
    until("the old records are gone", || !recorded(site.dir.path()).contains_key(&id(0)));
    site.settled();
    let left = recorded(site.dir.path());
    assert!((600..1_200).all(|number| left.contains_key(&id(number))), "{}", left.len());
    assert!(!site.names().contains(&"000001.index".to_owned()), "{:?}", site.names());
}

/// Without that what is old would stay as long as little comes after it.
#[test]
fn a_segment_that_was_written_to_for_long_is_closed_and_goes_in_its_time() {
    let site = Site::new();
    let keep = Duration::from_secs(10);
    site.log.keep(AuditRetention { keep, max: 4 << 20, compress: true }).unwrap();
    site.append("hwd_1", now(), 10);
    until("the next segment is begun", || site.names().contains(&"000002.jsonl".to_owned()));
    site.append("hwd_2", now() + 60_000, 10);
    until("what is older than it is kept is gone", || {
        site.append("hwd_3", now() + 60_000, 10);
        !recorded(site.dir.path()).contains_key("hwd_1")
    });
    assert!(recorded(site.dir.path()).contains_key("hwd_2"));
}

#[test]
fn an_index_that_is_missing_damaged_or_of_another_file_is_made_again() {
    let site = Site::keeping(4 << 20, true);
    (0..1_000).for_each(|number| site.append(&id(number), now(), 1_000));
    site.settled();
    let index = site.audit().join("000001.index");
    let whole = fs::read(&index).unwrap();
    for place in [0, 100, whole.len() - 600, whole.len() - 300, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[place] ^= 0x55;
        fs::write(&index, &damaged).unwrap();
        for number in 0..200 {
            let reader = AuditReader::of(site.dir.path()).unwrap();
            assert_eq!(found(&reader, &id(number)).len(), 1, "damaged at {place}");
        }
    }
    for broken in [&b""[..], &whole[..whole.len() / 2], &fs::read(site.audit().join("000002.index")).unwrap()]
    {
        fs::write(&index, broken).unwrap();
        let reader = AuditReader::of(site.dir.path()).unwrap();
        assert_eq!(found(&reader, &id(7)).len(), 1);
        assert!(fs::read(&index).unwrap() == whole, "it is there again");
    }
    fs::remove_file(&index).unwrap();
    assert_eq!(found(&AuditReader::of(site.dir.path()).unwrap(), &id(7)).len(), 1);
    assert!(fs::read(&index).unwrap() == whole, "it is there again");
}

/// Every state that a process can leave when it is killed while it compresses.
#[test]
fn a_kill_at_any_step_of_compressing_loses_no_record() {
    let site = Site::keeping(4 << 20, false);
    (0..1_000).for_each(|number| site.append(&id(number), now(), 1_000));
    let all = recorded(site.dir.path());
    let lines = fs::read(site.audit().join("000001.jsonl")).unwrap();
    let (folder, dir) = (site.audit(), site.dir.clone());
    drop(site.log);
    let compressed = {
        let log = AuditLog::open(&dir).unwrap();
        log.keep(AuditRetention { keep: LONG, max: 4 << 20, compress: true }).unwrap();
        until("it is compressed", || !folder.join("000001.jsonl").exists());
        fs::read(folder.join("000001.jsonl.gz")).unwrap()
    };
    let index = fs::read(folder.join("000001.index")).unwrap();
    let half = |bytes: &[u8]| bytes[..bytes.len() / 2].to_vec();
    let states: [Vec<(&str, Vec<u8>)>; 4] = [
        vec![("000001.jsonl", lines.clone()), ("000001.jsonl.gz.1.new", half(&compressed))],
        vec![
            ("000001.jsonl", lines.clone()),
            ("000001.jsonl.gz.1.new", compressed.clone()),
            ("000001.index.1.new", half(&index)),
        ],
        vec![
            ("000001.jsonl", lines.clone()),
            ("000001.jsonl.gz.1.new", compressed.clone()),
            ("000001.index", index.clone()),
        ],
        vec![("000001.jsonl", lines), ("000001.jsonl.gz", compressed), ("000001.index", index)],
    ];
    for (number, state) in states.iter().enumerate() {
        for name in ["000001.jsonl", "000001.jsonl.gz", "000001.index"] {
            fs::remove_file(folder.join(name)).ok();
        }
        state.iter().for_each(|(name, content)| fs::write(folder.join(name), content).unwrap());
        assert_eq!(recorded(dir.path()), all, "state {number}, before anybody tidies up");
        let log = AuditLog::open(&dir).unwrap();
        log.keep(AuditRetention { keep: LONG, max: 4 << 20, compress: true }).unwrap();
        until("it is tidied up", || {
            let left = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
            !folder.join("000001.jsonl").exists()
                && !left.into_iter().any(|name| name.to_string_lossy().ends_with(".new"))
        });
        assert_eq!(recorded(dir.path()), all, "state {number}");
        assert_eq!(found(&AuditReader::of(dir.path()).unwrap(), &id(3)).len(), 1, "state {number}");
    }
}

#[test]
fn a_segment_that_was_removed_is_begun_again_with_all_its_records() {
    let site = Site::new();
    site.append("hwd_1", now(), 10);
    fs::remove_file(site.audit().join("000001.jsonl")).unwrap();
    site.append("hwd_2", now(), 10);
    until("a segment is there again", || recorded(site.dir.path()).contains_key("hwd_2"));
    let all = recorded(site.dir.path());
    assert_eq!(all.get("hwd_1"), Some(&1), "what was written to the removed file is in the new one");
    let second = site.audit().join("000002.jsonl");
    until("it is on record", || {
        fs::read_to_string(&second).is_ok_and(|text| text.contains(r#""event":"log","act":"reopened""#))
    });
    site.append("hwd_3", now(), 10);
    assert_eq!(recorded(site.dir.path()).get("hwd_3"), Some(&1));
    site.log.check().unwrap();
}

#[test]
fn a_segment_that_was_moved_away_keeps_its_records_and_the_next_begins() {
    let site = Site::new();
    site.append("hwd_1", now(), 10);
    let elsewhere = site.dir.path().join("rotated");
    fs::rename(site.audit(), &elsewhere).unwrap();
    until("there is a folder again", || site.audit().join("000002.jsonl").exists());
    until("it can be written", || site.log.check().is_ok());
    site.append("hwd_2", now(), 10);
    let all = recorded(site.dir.path());
    assert_eq!((all.get("hwd_1"), all.get("hwd_2")), (None, Some(&1)));
    assert!(fs::read_to_string(elsewhere.join("000001.jsonl")).unwrap().contains("hwd_1"));
}

#[test]
fn while_no_segment_can_be_begun_nothing_can_be_recorded() {
    let site = Site::new();
    site.append("hwd_1", now(), 10);
    fs::remove_dir_all(site.audit()).unwrap();
    fs::write(site.audit(), "no folder").unwrap();
    until("it is noticed", || site.log.check().is_err());
    let id = DecisionId::new("hwd_2");
    let happened = Happened::Log { act: "test", detail: "" };
    let event = AuditEvent { time: Timestamp(1), id: Some(&id), happened };
    assert!(site.log.append(&event).is_err());
    let said = site.log.check().unwrap_err().to_string();
    assert!(said.contains("removed and cannot be made again"), "{said}");
    fs::remove_file(site.audit()).unwrap();
    until("it is there again", || site.log.check().is_ok());
    site.append("hwd_3", now(), 10);
    let all = recorded(site.dir.path());
    assert_eq!((all.get("hwd_1"), all.get("hwd_2"), all.get("hwd_3")), (Some(&1), None, Some(&1)));
}

#[test]
fn closed_segments_that_somebody_took_away_are_missed() {
    let site = Site::keeping(1 << 20, true);
    (0..300).for_each(|number| site.append(&id(number), now(), 1_000));
    site.settled();
    // The log has seen them once.
    let first = site.audit().join("000001.jsonl.gz");
    std::thread::sleep(Duration::from_millis(1_100));
    fs::remove_file(&first).unwrap();
    let open = || {
        let name = site.names().into_iter().rfind(|name| name.ends_with(".jsonl")).unwrap();
        fs::read_to_string(site.audit().join(name)).unwrap()
    };
    until("it is on record", || open().contains(r#""act":"missing""#) && open().contains("000001"));
}
