//! The writing thread under requests that no caller makes: ones that fail, that fill the disk, that panic.

use highwater_core::id::{Principal, UpstreamId, VirtualServerId};
use highwater_core::label::Label;
use highwater_core::pin::PinDigest;
use highwater_pins::{PinKey, PinKind};
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::*;
use crate::admin::Context;
use crate::key::{SessionKind, SessionOwner};
use crate::memory::Model;
use crate::operation::{Durability, FindContext, Join, MintContext, Observe, ReadMarks};
use crate::pins::Observation;
use crate::sql::Tx;
use crate::sql::schema::{self, Dialect};

/// Runs a statement, and panics if it is told to.
struct Raw(&'static str);

impl Operation for Raw {
    type Output = ();

    const DOING: &'static str = "do as it is told";

    fn access(&self) -> Access {
        Access::Write(Durability::Ordinary)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<(), StoreError> {
        assert_ne!(self.0, "PANIC", "as it was told");
        tx.define(self.0).await
    }

    fn model(&self, _model: &mut Model) {}
}

fn context(id: &str) -> MintContext {
    let created = highwater_notation::Timestamp(1);
    MintContext(Context {
        id: id.to_owned(),
        created,
        person: String::new(),
        note: "x".repeat(8000),
        label: String::new(),
    })
}

fn open(folder: &tempfile::TempDir) -> Sqlite {
    let file = folder.path().join(FILE);
    Sqlite::open(Opening { file, restored: false }).unwrap()
}

#[tokio::test]
async fn one_failure_does_not_spoil_its_batch() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = open(&folder);
    sqlite.perform(context("before")).await.unwrap();
    // While somebody else holds the file, requests gather and then share one transaction.
    let shell = Connection::open(folder.path().join(FILE)).unwrap();
    shell.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut answers = Vec::new();
    for number in 0..20 {
        let (reply, answer) = oneshot::channel();
        if number % 5 == 2 {
            sqlite.writer.send(Raw("NONSENSE"), reply).await.unwrap();
        } else {
            sqlite.writer.send(context(&format!("c{number}")), reply).await.unwrap();
        }
        answers.push((number, answer));
    }
    // A half-done request is undone alone.
    let (reply, twice) = oneshot::channel();
    let text = "INSERT INTO context(id,created,person,note) VALUES('half',1,'',''); NONSENSE";
    sqlite.writer.send(Raw(text), reply).await.unwrap();
    shell.execute_batch("ROLLBACK").unwrap();
    for (number, answer) in answers {
        assert_eq!(answer.await.unwrap().is_ok(), number % 5 != 2, "request {number}");
    }
    twice.await.unwrap().unwrap_err();
    for number in (0..20).filter(|number| number % 5 != 2) {
        assert!(sqlite.perform(FindContext(format!("c{number}"))).await.unwrap().is_some());
    }
    assert!(sqlite.perform(FindContext("half".to_owned())).await.unwrap().is_none());
}

/// Says whether the commit that it is part of goes to disk at once.
struct Flushes;

impl Operation for Flushes {
    type Output = bool;

    const DOING: &'static str = "look how it commits";

    fn access(&self) -> Access {
        Access::Write(Durability::Ordinary)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<bool, StoreError> {
        let rows = tx.query("PRAGMA synchronous", &[]).await?;
        Ok(rows[0].int(0)? >= 2)
    }

    fn model(&self, _model: &mut Model) -> bool {
        true
    }
}

/// A join of this durability.
fn join(durability: Durability) -> Join {
    let (principal, kind) = (Principal::new("agent"), SessionKind::Principal);
    let key = kind.key(&principal, "");
    let owner = SessionOwner { principal, virtual_server: VirtualServerId::new("default"), kind };
    Join { key, owner, label: Label::bottom().with_open_world(), known: None, durability, now: 1 }
}

#[tokio::test]
async fn a_raise_puts_its_whole_batch_on_disk_and_a_note_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = open(&folder);
    for durability in [Durability::Ordinary, Durability::Flushed, Durability::Ordinary] {
        // While somebody else holds the file, requests gather behind the first and then share one transaction.
        let shell = Connection::open(folder.path().join(FILE)).unwrap();
        shell.execute_batch("BEGIN IMMEDIATE").unwrap();
        sqlite.queue(Raw(";")).unwrap_or_else(|_| panic!("there is room"));
        while sqlite.writer.has_waiting() {
            tokio::task::yield_now().await;
        }
        let (reply, flushes) = oneshot::channel();
        sqlite.writer.send(Flushes, reply).await.unwrap();
        let (reply, joined) = oneshot::channel();
        sqlite.writer.send(join(durability), reply).await.unwrap();
        shell.execute_batch("ROLLBACK").unwrap();
        joined.await.unwrap().unwrap();
        assert_eq!(flushes.await.unwrap().unwrap(), durability == Durability::Flushed, "{durability:?}");
    }
}

#[tokio::test]
async fn a_full_disk_is_told_as_such_and_forgiven_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = open(&folder);
    sqlite.perform(context("before")).await.unwrap();
    sqlite.perform(Raw("PRAGMA max_page_count=40")).await.unwrap();
    let mut kept = 0;
    let error = loop {
        match sqlite.perform(context(&format!("c{kept}"))).await {
            Ok(()) => kept += 1,
            Err(error) => break error,
        }
        assert!(kept < 1000, "the disk never fills");
    };
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert_eq!(error.to_string(), "the session store cannot make a context: the disk is full");
    assert!(sqlite.is_writing());
    assert!(sqlite.perform(FindContext(format!("c{kept}"))).await.unwrap().is_none());
    sqlite.perform(Raw("PRAGMA max_page_count=100000")).await.unwrap();
    sqlite.perform(context("after")).await.unwrap();
    for number in 0..kept {
        assert!(sqlite.perform(FindContext(format!("c{number}"))).await.unwrap().is_some());
    }
}

#[tokio::test]
async fn a_writer_that_died_is_seen_and_answers_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = open(&folder);
    sqlite.perform(context("before")).await.unwrap();
    assert!(sqlite.is_writing());
    assert!(matches!(sqlite.perform(Raw("PANIC")).await, Err(StoreError::Stopped)));
    assert!(matches!(sqlite.perform(context("after")).await, Err(StoreError::Stopped)));
    while sqlite.is_writing() {
        tokio::task::yield_now().await;
    }
    assert!(sqlite.queue(context("after")).is_err());
    assert!(sqlite.perform(FindContext("before".to_owned())).await.unwrap().is_some(), "reading goes on");
}

#[tokio::test]
async fn a_full_queue_is_a_wait_and_no_loss() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = std::sync::Arc::new(open(&folder));
    let mut tasks = Vec::new();
    for number in 0..3000 {
        let sqlite = std::sync::Arc::clone(&sqlite);
        tasks.push(tokio::spawn(async move {
            sqlite.perform(Raw(if number == 7 { "NONSENSE" } else { ";" })).await
        }));
    }
    let mut failed = 0;
    for task in tasks {
        failed += usize::from(task.await.unwrap().is_err());
    }
    assert_eq!(failed, 1);
}

#[test]
fn an_approval_of_an_earlier_layout_is_not_belief() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(FILE);
    let mut old = connection::open(&file, Purpose::Write).unwrap();
    let mut tx = connection::reading(&mut old);
    connection::at_once(schema::migrate_to(&mut tx, Dialect::Sqlite, 5)).unwrap();
    for (name, basis) in [("seen", "person"), ("vouched", "vouched")] {
        let row = format!(
            "INSERT INTO pin VALUES('s','tool','{name}','d','{{}}',1,'d','{{}}',1,'{basis}',1,'','',1)"
        );
        old.execute(&row, []).unwrap();
    }
    for what in ["approved", "approved-unbelieved"] {
        let row =
            format!("INSERT INTO pin_event VALUES('{what}','s','tool','seen',1,'{what}','d','','ada','',1)");
        old.execute(&row, []).unwrap();
    }
    connection::migrate(&mut old).unwrap();
    let believed = |name: &str| -> i64 {
        old.query_row("SELECT believed FROM pin WHERE name=$1", [name], |row| row.get(0)).unwrap()
    };
    assert_eq!((believed("seen"), believed("vouched")), (0, 1));
    let what = |id: &str| -> String {
        old.query_row("SELECT what FROM pin_event WHERE id=$1", [id], |row| row.get(0)).unwrap()
    };
    assert_eq!(
        (what("approved"), what("approved-unbelieved")),
        ("approved-believed".into(), "approved".into())
    );
}

#[tokio::test]
async fn a_mark_of_an_earlier_layout_is_kept_on_its_thing_and_no_server_is_marked_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(FILE);
    let mut old = connection::open(&file, Purpose::Write).unwrap();
    let mut tx = connection::reading(&mut old);
    connection::at_once(schema::migrate_to(&mut tx, Dialect::Sqlite, 6)).unwrap();
    for (kind, identity) in [
        ("object", "notes/a"),
        ("object", "say \"no\""),
        ("contents", "notes"),
        ("contents", ""),
        ("collection", ""),
    ] {
        old.execute("INSERT INTO object_mark VALUES('s',$1,$2,512,1)", [kind, identity]).unwrap();
        old.execute("INSERT INTO object_set VALUES('s',$1,$2,'origin','crm')", [kind, identity]).unwrap();
    }
    drop(old);
    let read = ReadMarks { upstream: UpstreamId::new("s"), seq: 0, generation: -1 };
    let mut found = open(&folder).perform(read).await.unwrap().marks;
    found.sort_by(|(one, _), (other, _)| one.id.cmp(&other.id));
    let names: Vec<_> = found.iter().map(|(mark, _)| mark.thing.words()).collect();
    assert_eq!(names, ["name notes/a", "name say \"no\""]);
    for (mark, _) in &found {
        assert_eq!(mark.label.origins().contains("crm"), Some(true));
        assert!(mark.label.private());
    }
}

#[test]
fn every_earlier_layout_can_be_renewed() {
    for version in 0..=schema::latest() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FILE);
        let mut old = connection::open(&file, Purpose::Write).unwrap();
        let mut tx = connection::reading(&mut old);
        connection::at_once(schema::migrate_to(&mut tx, Dialect::Sqlite, version)).unwrap();
        drop(old);
        let mut renewed = connection::open(&file, Purpose::Write).unwrap();
        connection::migrate(&mut renewed).unwrap();
        connection::migrate(&mut renewed).unwrap();
        let found: i64 =
            renewed.query_row("SELECT version FROM highwater_layout", [], |row| row.get(0)).unwrap();
        assert_eq!(found, schema::latest());
        for (name, statement) in crate::sql::statement::ALL {
            assert!(renewed.prepare(statement).is_ok(), "{name} does not fit the layout");
        }
    }
}

#[tokio::test]
async fn looking_at_pins_leaves_no_trace_whether_a_gateway_runs_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(FILE);
    assert!(super::pins(&file, &["up"]).unwrap().is_empty(), "there is no file yet");
    assert!(!file.exists());
    let beside = || {
        let names = std::fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let sqlite = open(&folder);
    let seen = Observation {
        key: PinKey::new(PinKind::Tool, "read_note"),
        seen: Some((PinDigest::parse(&"0".repeat(64)).unwrap(), "{}".to_owned())),
        approve: None,
    };
    let observe =
        || Observe { server: "up".to_owned(), seen: vec![seen.clone()], now: 1, event: "e".to_owned() };
    sqlite.perform(observe()).await.unwrap();
    // What is still in the log beside the file counts, and stays there.
    let before = beside();
    let found = super::pins(&file, &["up", "other"]).unwrap();
    assert_eq!(found["up"].len(), 1);
    assert_eq!(&*found["up"][0].key.name, "read_note");
    assert!(found["other"].is_empty());
    assert_eq!(beside(), before);
    sqlite.close().await;
    drop(sqlite);
    let before = beside();
    assert_eq!(super::pins(&file, &["up"]).unwrap()["up"].len(), 1);
    assert_eq!(beside(), before, "a run that came to its end has left no log, and none is made");
}
