//! One suite for every backend: what a session store must do, on memory and on SQLite.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking"
)]

#[path = "../suite/mod.rs"]
mod suite;

use highwater_store::{DataDir, Memory, Store, StoreOptions, StorePlace};
use suite::Backend;
use suite::approvals::outstanding::Outstanding;

/// One node in memory: the model itself.
struct InMemory(Memory, tokio::sync::Mutex<Option<Store>>);

/// Two replicas that share a database in memory.
struct SharedMemory(Memory);

/// A file.
struct InSqlite {
    _folder: tempfile::TempDir,
    data: DataDir,
    /// The store that is open: a file has one at a time.
    open: tokio::sync::Mutex<Option<Store>>,
}

impl Backend for InMemory {
    async fn new() -> Self {
        Self(Memory::new(false), Default::default())
    }

    async fn open(&self) -> Store {
        let store = self.0.open(&StoreOptions::default()).await.unwrap();
        self.1.lock().await.insert(store).clone()
    }

    async fn open_beside(&self) -> Store {
        self.1.lock().await.clone().unwrap()
    }
}

impl Backend for SharedMemory {
    async fn new() -> Self {
        Self(Memory::new(true))
    }

    async fn open(&self) -> Store {
        self.0.open(&suite::shared()).await.unwrap()
    }

    async fn open_beside(&self) -> Store {
        self.open().await
    }
}

impl Backend for InSqlite {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::open(folder.path().join("data")).unwrap();
        Self { _folder: folder, data, open: Default::default() }
    }

    async fn open(&self) -> Store {
        let place = StorePlace::Sqlite(self.data.clone());
        let store = Store::open(&place, &StoreOptions::default()).await.unwrap();
        self.open.lock().await.insert(store).clone()
    }

    async fn open_beside(&self) -> Store {
        self.open.lock().await.clone().unwrap()
    }
}

suite::run!(memory, super::InMemory);
suite::run!(shared_memory, super::SharedMemory);
suite::run!(sqlite, super::InSqlite);
suite::run!(timed memory_later, super::InMemory);
suite::run!(timed sqlite_later, super::InSqlite);

/// Whatever waits for a person is on disk, so a power cut leaves it as it is.
#[tokio::test]
async fn everything_outstanding_counts_after_a_power_cut() {
    let memory = Memory::new(false);
    let left = Outstanding::leave(&memory.open(&StoreOptions::default()).await.unwrap()).await;
    memory.lose_power();
    left.counts(&memory.open(&StoreOptions::default()).await.unwrap()).await;
}

/// A database from a backup is an older truth.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_outstanding_counts_after_a_restore() {
    let place = InSqlite::new().await;
    let left = Outstanding::leave(&place.open().await).await;
    place.open.lock().await.take().unwrap().close().await.unwrap();
    let options = StoreOptions { restored: true, ..StoreOptions::default() };
    let again = Store::open(&StorePlace::Sqlite(place.data.clone()), &options).await.unwrap();
    left.is_void(&again).await;
}
