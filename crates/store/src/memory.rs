//! A store in memory: the model that the real ones are held against, with faults on demand. Tests only.

mod approvals;
mod conversations;
mod marks;
mod model;
mod pins;

use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use highwater_core::id::SessionKey;
pub(crate) use model::Model;

use crate::admin::SessionHistory;
use crate::backend::Backend;
use crate::operation::{Access, Durability, Operation};
use crate::{Store, StoreError, StoreOptions};

/// A database in memory. Copies are the same database, so several stores can lie in it as replicas would.
#[derive(Clone, Debug)]
pub struct Memory {
    database: Arc<Mutex<Database>>,
    is_shared: bool,
    link: Option<Arc<dyn Link>>,
}

#[derive(Debug, Default)]
struct Database {
    model: Model,
    /// As it was when something was last on disk.
    flushed: Model,
    /// What a standby that lags behind would answer.
    standby: Model,
    fault: Option<Fault>,
}

/// What goes wrong with every operation until it is taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Reads fail.
    Read,
    /// Writes fail and change nothing.
    Write,
    /// Writes happen, and then nobody is told.
    LostAnswer,
    /// Nothing is answered.
    Hang,
}

/// The way between one store and its database, which may be long and unsafe.
pub trait Link: Debug + Send + Sync {
    /// What happens to the next operation.
    fn passage(&self, writes: bool) -> Passage;

    /// Whether what is on its way still arrives.
    fn arrives(&self) -> bool;

    /// Whether a write that must be on disk is, once it is answered. `doing` says what it does.
    fn flushes(&self, _doing: &str) -> bool {
        true
    }
}

/// What happens to one operation on its way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Passage {
    /// How long it takes to get there.
    pub there: Duration,
    /// What goes wrong.
    pub fault: Option<Fault>,
    /// Whether a read is answered by the standby.
    pub lagging: bool,
    /// How long the answer takes.
    pub back: Duration,
}

// === impl Memory ===

impl Memory {
    /// An empty database, for one node or for several.
    pub fn new(is_shared: bool) -> Self {
        Self { database: Arc::default(), is_shared, link: None }
    }

    /// The same database at the end of a way of its own.
    pub fn over(&self, link: Arc<dyn Link>) -> Self {
        Self { link: Some(link), ..self.clone() }
    }

    /// Opens a store in it.
    pub async fn open(&self, options: &StoreOptions) -> Result<Store, StoreError> {
        if options.restored {
            self.perform(crate::operation::Restored).await?;
        }
        // A database that was ever opened has one.
        self.database().keep_print_key();
        Store::on(Backend::Memory(self.clone()), options).await
    }

    /// Sets what goes wrong from now on.
    pub fn set_fault(&self, fault: Option<Fault>) {
        self.database().fault = fault;
    }

    /// Loses what was committed and not flushed, as a power cut does.
    pub fn lose_power(&self) {
        let mut database = self.database();
        database.model = database.flushed.clone();
    }

    /// Brings the standby up to date.
    pub fn catch_up(&self) {
        let mut database = self.database();
        database.standby = database.model.clone();
    }

    /// A session as it lies in the database at this moment, whatever the ways there are like.
    pub fn look(&self, key: &SessionKey) -> Option<SessionHistory> {
        self.database().model.show(key)
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.is_shared
    }

    pub(crate) async fn perform<O: Operation>(&self, operation: O) -> Result<O::Output, StoreError> {
        // An answer takes a moment, in which others are served.
        tokio::task::yield_now().await;
        let is_write = matches!(operation.access(), Access::Write(_));
        let passage = self.link.as_ref().map(|link| link.passage(is_write)).unwrap_or_default();
        wait(passage.there).await;
        let fault = passage.fault.or(self.database().fault);
        if fault == Some(Fault::Hang) || self.link.as_ref().is_some_and(|link| !link.arrives()) {
            std::future::pending::<()>().await;
        }
        let failed = || StoreError::Failed { doing: O::DOING, why: "a fault was asked for".into() };
        match (operation.access(), fault) {
            (Access::Read, Some(Fault::Read)) | (Access::Write(_), Some(Fault::Write)) => {
                return Err(failed());
            }
            _ => {}
        }
        let done = if passage.lagging && !is_write {
            operation.model(&mut self.database().standby)
        } else {
            let flushes = self.link.as_ref().is_none_or(|link| link.flushes(O::DOING));
            self.database().run(&operation, self.is_shared, flushes)
        };
        wait(passage.back).await;
        match (operation.access(), fault) {
            (Access::Write(_), Some(Fault::LostAnswer)) => Err(failed()),
            _ => Ok(done),
        }
    }

    fn database(&self) -> std::sync::MutexGuard<'_, Database> {
        self.database.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn wait(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}

// === impl Database ===

impl Database {
    fn keep_print_key(&mut self) {
        for model in [&mut self.model, &mut self.flushed, &mut self.standby] {
            model.print_key.get_or_insert_with(|| "A".repeat(32));
        }
    }

    fn run<O: Operation>(&mut self, operation: &O, is_shared: bool, flushes: bool) -> O::Output {
        let done = operation.model(&mut self.model);
        // Committed means flushed where replicas share a database.
        if is_shared || flushes && operation.access() == Access::Write(Durability::Flushed) {
            self.flushed = self.model.clone();
        }
        done
    }
}
