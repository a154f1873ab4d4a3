//! Half a gigabyte of audit log: one decision is explained from one index and one segment, and what is kept stays within its
//! limit.
//!
//! The lines are written by the test, in records of some eight kilobytes, and compressed and indexed by the log itself; the
//! compressor is built with optimisation for tests.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use highwater_store::{AuditLog, AuditRetention, DataDir};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::program::{Site, text};

/// How much is in the log in all.
const VOLUME: usize = 512 << 20;

/// How much is in a segment, as the gateway writes them.
const SEGMENT: usize = 16 << 20;

/// How many bytes of a record are what was found.
const FINDINGS: usize = 8_000;

/// What the program reads besides: itself, the footers of all indexes.
const BESIDES: u64 = 1 << 20;

/// How long the background may take for all of it.
const BACKGROUND: Duration = Duration::from_secs(120);

/// The segments of a log in which each call has a decision and an outcome; a session has a hundred calls, of which the
/// second raises its label. Gives the number of calls.
fn write(folder: &Path) -> usize {
    let long = "what was found ".repeat(FINDINGS / 15);
    let (mut call, mut written, mut segment) = (0, 0, 1);
    let mut lines = String::with_capacity(SEGMENT + FINDINGS + 2_000);
    while written < VOLUME {
        call += 1;
        let (id, session) = (id(call), call / 100);
        let raised = if call % 100 == 1 { r#","raised":true"# } else { "" };
        let label =
            if call % 100 > 1 { r#""openWorld","integrity:none","source:untrustedPublic""# } else { "" };
        lines.push_str(&format!(
            r#"{{"v":2,"time":{time},"id":"{id}","event":"decision","principal":"agent","session":"connection/agent/{session}","epoch":0,"virtual_server":"default","upstream":"web","kind":"call-tool","method":"tools/call","target":"fetch_page","tool":"web__fetch_page","digest":"00","mode":"balanced","effect":"allow","ruling":"allowed","label":[{label}],"contract":{{"destination":["public"],"outcomes":["benign"],"source":["untrustedPublic"],"returns":[]}},"findings":[],"note":"{long}"}}
{{"v":2,"time":{time},"id":"{id}","event":"outcome","outcome":"delivered","bytes":120,"millis":2,"label":["openWorld","integrity:none","source:untrustedPublic"]{raised}}}
"#,
            time = 1_794_736_194_000 + call as u64,
        ));
        if lines.len() > SEGMENT {
            written += lines.len();
            fs::write(folder.join(format!("{segment:06}.jsonl")), &lines).unwrap();
            segment += 1;
            lines.clear();
        }
    }
    // The one that is written.
    fs::write(folder.join(format!("{segment:06}.jsonl")), "").unwrap();
    call
}

fn id(call: usize) -> String {
    format!("hwd_Vo1ume{call:05x}")
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < BACKGROUND, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn bytes(folder: &Path, end: &str) -> Vec<u64> {
    let files = fs::read_dir(folder).unwrap().map(|it| it.unwrap());
    let files = files.filter(|it| it.path().to_string_lossy().ends_with(end));
    // One that is removed meanwhile has no length.
    files.filter_map(|it| Some(it.metadata().ok()?.len())).collect()
}

/// Explains a decision, and says how many bytes the process read, as the system counts them.
fn explained(site: &Site, id: &str) -> (String, u64) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_highwater"))
        .args(["explain", id, "--data-dir"])
        .arg(site.data())
        .current_dir(site.home())
        .env_clear()
        .env("HOME", site.home())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = Pid::from_child(&child);
    waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
    let io = fs::read_to_string(format!("/proc/{}/io", child.id())).unwrap();
    let read = io.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap();
    let mut said = String::new();
    std::io::Read::read_to_string(child.stdout.as_mut().unwrap(), &mut said).unwrap();
    assert!(child.wait().unwrap().success(), "{said}");
    (said, read)
}

#[test]
fn half_a_gigabyte_is_explained_by_one_index_and_one_segment_and_kept_within_its_limit() {
    let site = Site::new();
    let dir = DataDir::open(site.data()).unwrap();
    let folder = site.data().join("audit");
    fs::create_dir_all(&folder).unwrap();
    let calls = write(&folder);
    let long = Duration::from_secs(3_650 * 24 * 60 * 60);
    let log = AuditLog::open(&dir).unwrap();
    log.keep(AuditRetention { keep: long, max: 4 << 30, compress: true }).unwrap();
    until("closed segments are compressed", || {
        bytes(&folder, ".jsonl").len() == 1 && bytes(&folder, ".new").is_empty()
    });
    let (indexes, segments) = (bytes(&folder, ".index"), bytes(&folder, ".jsonl.gz"));
    assert!(segments.len() >= 30 && indexes.len() == segments.len(), "{} segments", segments.len());
    let (index, segment) = (indexes.iter().max().unwrap(), segments.iter().max().unwrap());
    let most = index + segment + BESIDES;
    assert!(most < 4 << 20, "an index of {index} and a segment of {segment} bytes are a small part of it");
    // In the first segment, in the middle, and in the last that is closed.
    for call in [7, calls / 2, calls - 2 * calls / segments.len()] {
        // Not the one that raised the label of its session, which is the second.
        let call = call / 100 * 100 + 7;
        let (said, read) = explained(&site, &id(call));
        assert!(said.contains(&id(call)) && said.contains("web__fetch_page"), "{said}");
        assert!(said.contains(&id(call - call % 100 + 1)), "what raised its label is told: {said}");
        assert!(read < most, "{call}: {read} bytes were read of at most {most}");
    }
    // Nothing is on record under this name, and that takes no more.
    let unknown = site.run(&["explain", "hwd_Vo1umffffff"]);
    assert_eq!(unknown.status.code(), Some(1), "{}", text(&unknown.stderr));

    let max = (bytes(&folder, "").iter().sum::<u64>() / 2).max(1 << 20);
    log.keep(AuditRetention { keep: long, max, compress: true }).unwrap();
    until("the oldest are gone", || bytes(&folder, "").iter().sum::<u64>() <= max);
    assert!(!folder.join("000001.jsonl.gz").exists() && !folder.join("000001.index").exists());
    let gone = site.run(&["explain", &id(7)]);
    assert_eq!(gone.status.code(), Some(1));
    let text = fs::read_dir(&folder).unwrap().map(|it| it.unwrap().path());
    let open = text.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).max().unwrap();
    assert!(
        fs::read_to_string(open).unwrap().contains(r#""event":"log","act":"removed""#),
        "it is on record"
    );
}
