//! The suite on a real PostgreSQL, and what only PostgreSQL can do to a store.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking"
)]

mod suite;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use highwater_core::annotation::DataClass;
use highwater_core::decide::Effect;
use highwater_core::id::{DecisionId, Principal, SessionKey, UpstreamId};
use highwater_core::label::Label;
use highwater_marks::{Mark, Thing, Writer};
use highwater_notation::{Json, Timestamp};
use highwater_pins::{Definition, PartClass, PinKey, PinKind};
use highwater_store::{Marked, Observation, PostgresServer, Store, StoreError, StoreOptions, StorePlace};
use suite::{Backend, context};

/// One server for all tests of a process; each takes a database of its own.
static SERVER: LazyLock<PostgresServer> = LazyLock::new(PostgresServer::start);
static DATABASES: AtomicU32 = AtomicU32::new(0);

/// A database that several stores share.
struct InPostgres {
    url: String,
}

impl Backend for InPostgres {
    async fn new() -> Self {
        let name = format!("d{}", DATABASES.fetch_add(1, Ordering::Relaxed));
        let url = tokio::task::spawn_blocking(move || SERVER.url(&name)).await.unwrap();
        Self { url }
    }

    async fn open(&self) -> Store {
        open(&self.url).await.unwrap()
    }

    async fn open_beside(&self) -> Store {
        self.open().await
    }
}

suite::run!(postgres, super::InPostgres);

async fn open(url: &str) -> Result<Store, StoreError> {
    Store::open(&place(url), &suite::shared()).await
}

/// A busy machine is no outage: only tests of the limit have it.
fn place(url: &str) -> StorePlace {
    StorePlace::Postgres { url: url.to_owned(), timeout: Some(suite::PATIENCE) }
}

fn pii() -> Label {
    Label::bottom().with_class(DataClass::Pii)
}

/// A call is held on one replica while the browser is at another.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_hears_of_an_answer_at_another_replica() {
    let (place, scene) = (InPostgres::new().await, suite::approvals::scene::Scene::new());
    let (one, other) = (place.open().await, place.open().await);
    let mut heard = one.watch_approvals();
    // It is a hint, and a replica begins to listen a moment after it is open: so it may take more than one.
    for attempt in 0..50 {
        let request = scene.asked(&other, Effect::Confirm, &format!("p{attempt}"), None).await;
        assert!(other.confirm(&request.id, "ada", None, other.now().await.unwrap()).await.unwrap());
        if let Ok(id) = tokio::time::timeout(Duration::from_millis(500), heard.recv()).await {
            return assert!(id.unwrap().as_str().starts_with("apr_"));
        }
    }
    panic!("nothing was heard of 50 answers");
}

/// Committed means flushed: whoever starts next finds what waits for a person.
#[tokio::test(flavor = "multi_thread")]
async fn everything_outstanding_counts_for_the_next_gateway() {
    let place = InPostgres::new().await;
    let left = suite::approvals::outstanding::Outstanding::leave(&place.open().await).await;
    left.counts(&place.open().await).await;
}

/// A database from a backup is an older truth.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_outstanding_counts_after_a_restore() {
    let place = InPostgres::new().await;
    let left = suite::approvals::outstanding::Outstanding::leave(&place.open().await).await;
    let options = StoreOptions { restored: true, ..suite::shared() };
    let again = Store::open(&self::place(&place.url), &options).await.unwrap();
    left.is_void(&again).await;
}

/// A server that a test may treat badly.
async fn own_server() -> (PostgresServer, String) {
    tokio::task::spawn_blocking(|| {
        let server = PostgresServer::start();
        let url = server.url("hw");
        (server, url)
    })
    .await
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_taint_through_one_replica_is_seen_by_the_other_at_once() {
    let place = InPostgres::new().await;
    let (one, other) = (place.open().await, place.open().await);
    let (here, there) = (context(&one, "a"), context(&other, "a"));
    assert_eq!(there.current().await.unwrap().label, Label::bottom());
    here.join(&pii()).await.unwrap();
    assert_eq!(there.current().await.unwrap().label, pii());
    // The announcement reaches even those who do not ask. It is a hint, so one may be missed.
    for attempt in 0..100 {
        there.current().await.unwrap();
        let origin = format!("o{attempt}");
        here.join(&pii().with_origin(&origin)).await.unwrap();
        for _ in 0..40 {
            tokio::time::sleep(Duration::from_millis(5)).await;
            if there.cached().is_some_and(|copy| copy.label.origins().contains(&origin) == Some(true)) {
                return;
            }
        }
    }
    panic!("no announcement ever came");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_closes_and_its_end_opens_without_a_restart() {
    let (mut server, url) = own_server().await;
    let store = open(&url).await.unwrap();
    let session = context(&store, "a");
    session.join(&pii()).await.unwrap();
    leave(&store, "kept").await.unwrap();

    server = tokio::task::spawn_blocking(move || {
        server.crash();
        server
    })
    .await
    .unwrap();
    let refused = session.join(&pii()).await.unwrap_err();
    assert!(matches!(refused, StoreError::Failed { .. } | StoreError::TimedOut { .. }), "{refused}");
    session.join(&pii().with_malicious()).await.unwrap_err();
    session.current().await.unwrap_err();
    leave(&store, "lost").await.unwrap_err();
    leave(&store, "kept").await.unwrap_err();
    store.all_marks().await.unwrap_err();
    store.check().await.unwrap_err();
    // What has no label needs no store.
    assert!(session.join(&Label::bottom()).await.unwrap().covers(&Label::bottom()));

    let _server = tokio::task::spawn_blocking(move || {
        server.restart();
        server
    })
    .await
    .unwrap();
    let deadline = Instant::now() + suite::PATIENCE;
    while let Err(error) = session.current().await {
        assert!(Instant::now() < deadline, "{error}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(session.current().await.unwrap().label, pii(), "what failed was not written, the rest was");
    session.join(&pii().with_malicious()).await.unwrap();
    store.check().await.unwrap();
    let marks =
        |marks: Vec<Arc<Mark>>| marks.iter().map(|mark| mark.thing.name.to_string()).collect::<Vec<_>>();
    assert_eq!(marks(store.all_marks().await.unwrap()), ["kept"], "no mark is lost, and none is made");
    let other = open(&url).await.unwrap();
    assert_eq!(marks(other.all_marks().await.unwrap()), ["kept"]);
}

async fn leave(store: &Store, task: &str) -> Result<Marked, StoreError> {
    let by = Writer {
        session: SessionKey::new("one"),
        principal: Principal::new("agent"),
        tool: "write".into(),
        decision: DecisionId::new("d"),
        at: Timestamp(1),
    };
    store.leave(vec![Thing::task(UpstreamId::new("u"), task)], &pii(), &by).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stands_still_costs_a_bounded_wait() {
    let (server, url) = own_server().await;
    context(&open(&url).await.unwrap(), "a").join(&pii()).await.unwrap();
    let store =
        Store::open(&StorePlace::Postgres { url, timeout: Some(Duration::from_secs(6)) }, &suite::shared())
            .await
            .unwrap();
    let session = context(&store, "a");
    server.pause();
    assert!(matches!(session.current().await, Err(StoreError::TimedOut { .. })));
    assert!(matches!(session.join(&pii().with_open_world()).await, Err(StoreError::TimedOut { .. })));
    server.resume();
    let deadline = Instant::now() + suite::PATIENCE;
    while session.join(&pii().with_open_world()).await.is_err() {
        assert!(Instant::now() < deadline, "no recovery");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(session.current().await.unwrap().label.open_world());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_connection_is_tried_again_where_that_is_harmless() {
    let place = InPostgres::new().await;
    let store = place.open().await;
    let session = context(&store, "a");
    session.join(&pii()).await.unwrap();
    let (client, connection) = tokio_postgres::connect(&place.url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    for round in 0..5 {
        let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                    WHERE application_name='highwater' AND datname=current_database()";
        client.batch_execute(kill).await.unwrap();
        session.join(&pii().with_origin(&format!("o{round}"))).await.unwrap();
        assert_eq!(session.current().await.unwrap().label.origins().members().len(), round + 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_layout_of_a_newer_program_is_refused() {
    let place = InPostgres::new().await;
    place.open().await;
    let (client, connection) = tokio_postgres::connect(&place.url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute("UPDATE highwater.highwater_layout SET version=99").await.unwrap();
    let refused = open(&place.url).await.unwrap_err();
    assert!(matches!(refused, StoreError::Newer { found: 99, .. }), "{refused}");
    assert!(refused.to_string().contains("newer Highwater"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_that_start_together_make_the_layout_once() {
    let place = InPostgres::new().await;
    let mut tasks = Vec::new();
    for number in 0..8 {
        let url = place.url.clone();
        tasks.push(tokio::spawn(async move {
            let store = open(&url).await.unwrap();
            context(&store, "a").join(&Label::bottom().with_origin(&format!("o{number}"))).await.unwrap();
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let label = context(&place.open().await, "a").current().await.unwrap().label.clone();
    assert_eq!(label.origins().members().len(), 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_database_taints_every_session() {
    let place = InPostgres::new().await;
    let store = place.open().await;
    context(&store, "a").join(&pii()).await.unwrap();
    let options = StoreOptions { restored: true, ..StoreOptions::default() };
    let again = Store::open(&self::place(&place.url), &options).await.unwrap();
    assert!(context(&again, "a").current().await.unwrap().label.covers(&Label::top()));
    assert!(context(&store, "a").current().await.unwrap().label.covers(&Label::top()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_there_is_an_error_in_words() {
    let refused = open("postgres://hw:geheim@127.0.0.1:1/hw").await.unwrap_err().to_string();
    assert!(refused.contains("renew its layout") && !refused.contains("geheim"), "{refused}");
    let refused = open("postgres://").await.unwrap_err().to_string();
    assert!(refused.contains("store.postgres"), "{refused}");
}

#[tokio::test]
async fn definitions_are_read_from_a_shared_database_that_is_left_as_it_is() {
    let place = InPostgres::new().await;
    let look = || Store::look_at_shared_pins(&place.url, Some(suite::PATIENCE), &["mail", "other"]);
    assert!(look().await.is_err(), "a look makes nothing");
    let store = place.open().await;
    let parts = [("/description".into(), PartClass::Wording, Json::text("sends"))];
    let send = Definition::new(PinKey::new(PinKind::Tool, "send"), "\"sends\"".to_owned(), parts);
    let seen = Observation {
        key: send.key().clone(),
        seen: Some((send.digest(), send.text().to_string())),
        approve: None,
    };
    store.observe("mail", vec![seen]).await.unwrap();
    let found = look().await.unwrap();
    let keys: Vec<_> = found["mail"].iter().map(|pin| pin.key.clone()).collect();
    assert_eq!(keys, [send.key().clone()]);
    assert!(found["other"].is_empty());
}
