//! A store in memory: the model that the real ones are held against, with faults on demand. Tests only.

mod model;

use std::sync::{Arc, Mutex, PoisonError};

pub(crate) use model::Model;

use crate::backend::Backend;
use crate::operation::{Access, Durability, Operation};
use crate::{Store, StoreError, StoreOptions};

/// A database in memory. Copies are the same database, so several stores can lie in it as replicas would.
#[derive(Clone, Debug)]
pub struct Memory {
    database: Arc<Mutex<Database>>,
    is_shared: bool,
}

#[derive(Debug, Default)]
struct Database {
    model: Model,
    /// As it was when something was last on disk.
    flushed: Model,
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

// === impl Memory ===

impl Memory {
    /// An empty database, for one node or for several.
    pub fn new(is_shared: bool) -> Self {
        Self { database: Arc::default(), is_shared }
    }

    /// Opens a store in it, as a node that was started at this start of the machine.
    pub async fn open(&self, boot_id: &str, options: &StoreOptions) -> Result<Store, StoreError> {
        if !self.is_shared {
            let start = crate::operation::Start { boot_id: boot_id.to_owned(), restored: options.restored };
            self.perform(start).await?;
        }
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

    pub(crate) fn is_shared(&self) -> bool {
        self.is_shared
    }

    pub(crate) async fn perform<O: Operation>(&self, operation: O) -> Result<O::Output, StoreError> {
        // An answer takes a moment, in which others are served.
        tokio::task::yield_now().await;
        let fault = self.database().fault;
        if fault == Some(Fault::Hang) {
            std::future::pending::<()>().await;
        }
        let failed = || StoreError::Failed { doing: O::DOING, why: "a fault was asked for".into() };
        match (operation.access(), fault) {
            (Access::Read, Some(Fault::Read)) | (Access::Write(_), Some(Fault::Write)) => {
                return Err(failed());
            }
            _ => {}
        }
        let done = self.database().run(&operation, self.is_shared);
        match (operation.access(), fault) {
            (Access::Write(_), Some(Fault::LostAnswer)) => Err(failed()),
            _ => Ok(done),
        }
    }

    fn database(&self) -> std::sync::MutexGuard<'_, Database> {
        self.database.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Database ===

impl Database {
    fn run<O: Operation>(&mut self, operation: &O, is_shared: bool) -> O::Output {
        let done = operation.model(&mut self.model);
        // Committed means flushed where replicas share a database.
        if is_shared || operation.access() == Access::Write(Durability::Flushed) {
            self.flushed = self.model.clone();
        }
        done
    }
}
