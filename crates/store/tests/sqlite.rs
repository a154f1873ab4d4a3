//! What only a file can suffer: the death of its process, a power cut, a backup, a lock, a disk without room.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use highwater_core::annotation::DataClass;
use highwater_core::id::{DecisionId, Principal, SessionKey, UpstreamId, VirtualServerId};
use highwater_core::label::Label;
use highwater_marks::{Name, Named, Prints, ReadPrints, Reading, Thing, Writer};
use highwater_notation::Timestamp;
use highwater_store::{
    DataDir, MarkQuery, Marked, SessionHandle, SessionKind, SessionOwner, Store, StoreError, StoreOptions,
    StorePlace,
};

/// Tells this program that it is the child of one of its tests, and where the data are.
const CHILD: &str = "HIGHWATER_STORE_CHILD";

struct Place {
    _folder: tempfile::TempDir,
    data: DataDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::open(folder.path().join("data")).unwrap();
        Self { _folder: folder, data }
    }

    async fn open(&self) -> Store {
        self.try_open(false).await.unwrap()
    }

    async fn try_open(&self, restored: bool) -> Result<Store, StoreError> {
        let options = StoreOptions { restored, ..StoreOptions::default() };
        Store::open(&StorePlace::Sqlite(self.data.clone()), &options).await
    }

    /// The file, as a person with a shell would open it.
    fn shell(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(Store::file(&self.data)).unwrap()
    }
}

fn session(store: &Store, kind: SessionKind, id: &str) -> SessionHandle {
    let principal = Principal::new("agent");
    let key = kind.key(&principal, id);
    store.session(&key, &SessionOwner { principal, virtual_server: VirtualServerId::new("default"), kind })
}

async fn label(store: &Store, kind: SessionKind, id: &str) -> Label {
    session(store, kind, id).current().await.unwrap().label.clone()
}

fn pii() -> Label {
    Label::bottom().with_class(DataClass::Pii).with_origin("crm")
}

fn named(number: u64) -> Named {
    let mut named = Named::default();
    named.add("path", Name::new(&number.to_string()));
    named
}

async fn mark(store: &Store, number: u64) -> Result<Marked, StoreError> {
    let by = Writer {
        session: SessionKey::new(number.to_string()),
        principal: Principal::new("agent"),
        tool: "write".into(),
        decision: DecisionId::new("d"),
        at: Timestamp(1),
    };
    let thing = Thing::object(UpstreamId::new("notes"), &named(number), Prints::default());
    store.leave(vec![thing], &pii(), &by).await
}

async fn mark_of(store: &Store, number: u64) -> Label {
    let (reader, reading) = (Principal::new("agent"), Reading { named: named(number), ..Reading::default() });
    let servers = [UpstreamId::new("notes")];
    let text = ReadPrints::default;
    store
        .met(&MarkQuery { servers: &servers, reading: &reading, reader: &reader, text: &text, held: None })
        .await
        .unwrap()
        .label()
}

/// The child: joins and marks without end, and says what is done.
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the parent says in the environment that this is its child")]
async fn child() {
    let Some(data) = std::env::var_os(CHILD) else { return };
    let place = StorePlace::Sqlite(DataDir::open(std::path::PathBuf::from(data)).unwrap());
    let store = Store::open(&place, &StoreOptions::default()).await.unwrap();
    let first = u64::from(std::process::id()) << 32;
    for number in first.. {
        let kind = if number % 2 == 0 { SessionKind::Context } else { SessionKind::Transport };
        // Each session climbs a few steps.
        let id = (number / 8).to_string();
        let origin = number.to_string();
        let joined = session(&store, kind, &id).join(&pii().with_origin(&origin)).await;
        match joined {
            Ok(_) => println!("\njoined {} {id} {origin}", kind.word()),
            Err(error) => return println!("\nfailed {error}"),
        }
        if number % 5 == 0 {
            match mark(&store, number).await {
                Ok(_) => println!("\nmarked {number}"),
                Err(error) => return println!("\nfailed {error}"),
            }
        }
    }
}

/// Starts the child, here or inside a shell that prepares its ways.
fn start_child(place: &Place, shell: Option<&str>) -> std::process::Child {
    let program = std::env::current_exe().unwrap();
    let arguments = ["--exact", "child", "--nocapture", "--test-threads=1"];
    let mut command = match shell {
        Some(script) => {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script, "sh"]).arg(program);
            command
        }
        None => Command::new(program),
    };
    command.args(arguments).env(CHILD, place.data.path()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_missing_after_kill_9() {
    let place = Place::new();
    for round in 0..8 {
        let mut child = start_child(&place, None);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut origins: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
        let mut marked = Vec::new();
        let mut said = 0;
        for line in lines.map_while(Result::ok) {
            let words: Vec<_> = line.split(' ').collect();
            match words.as_slice() {
                ["joined", kind, id, origin] => {
                    origins.entry(((*kind).into(), (*id).into())).or_default().push((*origin).into());
                    said += 1;
                }
                ["marked", number] => marked.push(number.parse().unwrap()),
                _ => {}
            }
            // Somewhere between a write and its answer; what was said before the end still counts.
            if said == 20 + 17 * round {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        assert!(said >= 20 + 17 * round, "the child ended by itself after {said}");

        let store = place.open().await;
        for ((kind, id), origins) in &origins {
            let kind = if kind == "context" { SessionKind::Context } else { SessionKind::Transport };
            let found = label(&store, kind, id).await;
            assert!(!found.malicious(), "the same start of the machine loses nothing");
            for origin in origins {
                assert_eq!(found.origins().contains(origin), Some(true), "round {round}: {origin} of {id}");
            }
        }
        for number in marked {
            assert_eq!(mark_of(&store, number).await, pii(), "round {round}");
        }
        // The next child finds it as a killed one leaves it.
        drop(store);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_takes_no_more_closes_and_loses_nothing() {
    let place = Place::new();
    // A limit on the size of files: the write fails with an error in place of a signal.
    let mut child = start_child(&place, Some("trap '' XFSZ; ulimit -f 600; exec \"$@\""));
    let lines: Vec<_> = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok).collect();
    child.wait().unwrap();
    let failed = lines.iter().find(|line| line.starts_with("failed ")).expect("the child found no limit");
    assert!(failed.contains("the session store cannot"), "{failed}");
    let store = place.open().await;
    for line in &lines {
        if let ["joined", kind, id, origin] = line.split(' ').collect::<Vec<_>>().as_slice() {
            let kind = if *kind == "context" { SessionKind::Context } else { SessionKind::Transport };
            let found = label(&store, kind, id).await;
            assert_eq!(found.origins().contains(origin), Some(true), "{line}");
        }
    }
    session(&store, SessionKind::Context, "after").join(&pii()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn another_start_of_the_machine_changes_no_label() {
    let place = Place::new();
    let store = place.open().await;
    session(&store, SessionKind::Context, "a").join(&pii()).await.unwrap();
    session(&store, SessionKind::Transport, "b").join(&pii()).await.unwrap();
    // As a power cut leaves it: nobody came to an end.
    drop(store);
    // As an earlier program wrote down which start it ran in.
    place.shell().execute("INSERT INTO node(id,boot_id,clean) VALUES('this','another',0)", []).unwrap();
    let store = place.open().await;
    for (kind, id) in [(SessionKind::Context, "a"), (SessionKind::Transport, "b")] {
        assert_eq!(label(&store, kind, id).await, pii());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_is_an_older_truth() {
    let place = Place::new();
    let store = place.open().await;
    session(&store, SessionKind::Context, "a").join(&pii()).await.unwrap();
    store.close().await.unwrap();
    drop(store);
    let store = place.try_open(true).await.unwrap();
    assert!(label(&store, SessionKind::Context, "a").await.covers(&Label::top()));
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_close_nothing_is_written_and_everybody_is_told() {
    let place = Place::new();
    let store = place.open().await;
    let handle = session(&store, SessionKind::Context, "a");
    handle.join(&pii()).await.unwrap();
    store.close().await.unwrap();
    assert!(matches!(handle.join(&pii().with_malicious()).await, Err(StoreError::Stopped)));
    assert!(matches!(store.check().await, Err(StoreError::Stopped)));
    assert_eq!(handle.cached().unwrap().label, pii(), "a join that failed raises no copy");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_of_somebody_else_is_a_wait_with_an_end() {
    let place = Place::new();
    let store = place.open().await;
    let handle = session(&store, SessionKind::Transport, "a");
    handle.join(&pii()).await.unwrap();
    let shell = place.shell();
    shell.execute_batch("BEGIN IMMEDIATE").unwrap();
    let began = Instant::now();
    let refused = handle.join(&pii().with_malicious()).await.unwrap_err();
    assert!(matches!(refused, StoreError::TimedOut { .. }), "{refused}");
    assert!(began.elapsed() < Duration::from_secs(20));
    assert!(handle.covered(&pii()).is_some(), "what needs no write goes on");
    shell.execute_batch("ROLLBACK").unwrap();
    handle.join(&pii().with_malicious()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_was_tampered_with_is_an_error_in_words() {
    let place = Place::new();
    let store = place.open().await;
    store.check().await.unwrap();
    place.shell().execute_batch("DROP TABLE session").unwrap();
    let refused = session(&store, SessionKind::Context, "a").current().await.unwrap_err();
    assert!(refused.to_string().contains("cannot read a label"), "{refused}");
    session(&store, SessionKind::Context, "a").join(&pii()).await.unwrap_err();
    store.check().await.unwrap_err();
    let place = Place::new();
    std::fs::write(Store::file(&place.data), "this is no database, and long enough to be none").unwrap();
    let refused = place.try_open(false).await.unwrap_err();
    assert!(refused.to_string().contains("not a database"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_layout_of_a_newer_program_is_refused() {
    let place = Place::new();
    drop(place.open().await);
    place.shell().execute("UPDATE highwater_layout SET version=99", []).unwrap();
    let refused = place.try_open(false).await.unwrap_err();
    assert!(matches!(refused, StoreError::Newer { found: 99, .. }), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_files_are_the_owners_alone() {
    let place = Place::new();
    let store = place.open().await;
    session(&store, SessionKind::Context, "a").join(&pii()).await.unwrap();
    for name in ["highwater.db", "highwater.db-wal", "highwater.db-shm"] {
        let mode = std::fs::metadata(place.data.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

/// The clock of the runtime is put forward; whoever prunes looks at the clock on the wall.
#[tokio::test(start_paused = true)]
async fn sessions_that_ended_long_ago_are_forgotten_while_the_store_is_open() {
    let place = Place::new();
    let store = place.open().await;
    let ended = session(&store, SessionKind::Transport, "old");
    ended.join(&pii()).await.unwrap();
    store.end_transport(ended.key()).await.unwrap();
    let shell = place.shell();
    let count = || shell.query_row("SELECT COUNT(*) FROM session", [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count(), 1);
    shell.execute("UPDATE session SET ended=1, seen=1", []).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while count() > 0 {
        assert!(Instant::now() < deadline, "it is still there");
        tokio::time::advance(Duration::from_secs(60 * 60)).await;
        tokio::task::yield_now().await;
    }
}
