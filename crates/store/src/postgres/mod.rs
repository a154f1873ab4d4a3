//! PostgreSQL: for several gateways that share their sessions. What is committed is on its disk.

mod listen;
mod server;
mod tls;
mod tx;

use std::sync::Arc;
use std::sync::Weak;
use std::time::Duration;

use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime,
};
use tokio::sync::watch;
use tokio::time::timeout;

use self::server::Server;
use self::tx::PostgresTx;
use crate::StoreError;
use crate::operation::{Access, Durability, Operation, Restored};
use crate::random::random_id;
use crate::sql::schema::{self, Dialect};
use crate::store::Inner;

/// Connections for calls. Reads take a fraction of a millisecond, so a few serve many sessions.
const CONNECTIONS: usize = 8;

/// How long a call waits for the database.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// For a connection and for a read.
    read: Duration,
    /// For a write. After it the reply is withheld.
    write: Duration,
}

const DEFAULT_LIMITS: Limits = Limits { read: Duration::from_secs(1), write: Duration::from_secs(3) };

/// How long the layout may take to be renewed, which waits for other replicas that are at it.
const MIGRATION_LIMIT: Duration = Duration::from_secs(60);

/// How often something is tried that the database gave up for the sake of another transaction.
const ATTEMPTS: u32 = 4;

/// Every replica takes this lock before it looks at the layout. The number is ours, and means nothing.
const MIGRATION_LOCK: &str = "SELECT pg_advisory_xact_lock(7411741200)";

/// One database, shared with other gateways.
#[derive(Debug)]
pub(crate) struct Postgres {
    pool: Pool,
    server: Arc<Server>,
    limits: Limits,
    /// Tells our own announcements from those of other replicas.
    replica: Arc<str>,
    closing: watch::Sender<bool>,
}

// === impl Postgres ===

impl Postgres {
    /// Connects and makes or renews the layout.
    pub(crate) async fn open(
        url: &str,
        timeout: Option<Duration>,
        restored: bool,
    ) -> Result<Self, StoreError> {
        let postgres = Self::connect(url, timeout)?;
        postgres.migrate().await?;
        if restored {
            let sessions = postgres.perform(Restored).await?;
            tracing::warn!(
                sessions,
                "the store was restored, so every session counts as having read everything"
            );
        }
        Ok(postgres)
    }

    /// The same database with whatever layout it has. Connections are made when they are first needed.
    pub(crate) fn connect(url: &str, timeout: Option<Duration>) -> Result<Self, StoreError> {
        let limits = timeout.map_or(DEFAULT_LIMITS, |limit| Limits { read: limit, write: limit });
        let server = Arc::new(Server::parse(url, limits.read)?);
        let manager = Manager::from_config(
            server.config.clone(),
            server.tls.clone(),
            ManagerConfig { recycling_method: RecyclingMethod::Fast },
        );
        let prepare = Hook::async_fn(|client, _| {
            Box::pin(async move { client.batch_execute(server::SETTINGS).await.map_err(HookError::Backend) })
        });
        let pool = Pool::builder(manager)
            .max_size(CONNECTIONS)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(limits.read))
            .create_timeout(Some(limits.read))
            .recycle_timeout(Some(limits.read))
            .post_create(prepare)
            .build()
            .map_err(|error| StoreError::Failed { doing: "begin", why: error.to_string().into() })?;
        let replica = random_id("")?.into();
        Ok(Self { pool, server, limits, replica, closing: watch::Sender::new(false) })
    }

    async fn migrate(&self) -> Result<(), StoreError> {
        let doing = "renew its layout";
        let mut connection = self.connection(doing).await?;
        let work = async {
            let transaction = connection.transaction().await.map_err(|error| tx::explained(doing, &error))?;
            let mut tx = PostgresTx::new(&transaction, doing, &self.replica);
            tx.batch(MIGRATION_LOCK).await?;
            tx.batch(server::MAKE_SCHEMA).await?;
            schema::migrate(&mut tx, Dialect::Postgres).await?;
            transaction.commit().await.map_err(|error| tx::explained(doing, &error))
        };
        timeout(MIGRATION_LIMIT, work).await.unwrap_or(Err(StoreError::TimedOut { doing }))
    }

    /// Does one thing and waits for it.
    pub(crate) async fn perform<O: Operation>(&self, operation: O) -> Result<O::Output, StoreError> {
        let limit = match operation.access() {
            Access::Read => self.limits.read,
            Access::Write(_) => self.limits.write,
        };
        let mut attempts = 1;
        loop {
            let mut connection = self.connection(O::DOING).await?;
            let outcome = timeout(limit, self.attempt(&mut connection, &operation)).await;
            match outcome.unwrap_or(Err(StoreError::TimedOut { doing: O::DOING })) {
                Ok(done) => return Ok(done),
                Err(error) => {
                    if let StoreError::Lost { .. } | StoreError::TimedOut { .. } = error {
                        // Nobody may be given a connection that is broken, or on which a question lies unanswered.
                        drop(Object::take(connection));
                    }
                    if attempts == ATTEMPTS || !is_worth_another(&operation, &error) {
                        return Err(error);
                    }
                    tracing::debug!(%error, attempts, "the session store is asked again");
                }
            }
            attempts += 1;
        }
    }

    async fn attempt<O: Operation>(
        &self,
        connection: &mut Object,
        operation: &O,
    ) -> Result<O::Output, StoreError> {
        let (doing, replica) = (O::DOING, &*self.replica);
        let durability = match operation.access() {
            Access::Read => {
                return operation.run(&mut PostgresTx::new(&*connection, doing, replica)).await;
            }
            Access::Write(durability) => durability,
        };
        let failed = |error| tx::explained(doing, &error);
        let transaction = connection.transaction().await.map_err(failed)?;
        let mut tx = PostgresTx::new(&transaction, doing, replica);
        if durability == Durability::Statistic {
            tx.batch("SET LOCAL synchronous_commit TO off").await?;
        }
        let done = operation.run(&mut tx).await?;
        let given_up = tx.given_up;
        if given_up { transaction.rollback().await } else { transaction.commit().await }.map_err(failed)?;
        Ok(done)
    }

    async fn connection(&self, doing: &'static str) -> Result<Object, StoreError> {
        self.pool.get().await.map_err(|error| match &error {
            PoolError::Timeout(_) => StoreError::TimedOut { doing },
            PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
                tx::in_its_words(doing, error)
            }
            PoolError::Closed | PoolError::NoRuntimeSpecified | PoolError::PostCreateHook(_) => {
                StoreError::Failed { doing, why: error.to_string().into() }
            }
        })
    }

    /// Follows what other replicas announce, for as long as the store is there.
    pub(crate) fn listen(&self, store: Weak<Inner>) {
        let (server, replica) = (Arc::clone(&self.server), Arc::clone(&self.replica));
        tokio::spawn(listen::follow(server, replica, store, self.closing.subscribe()));
    }

    pub(crate) fn close(&self) {
        self.closing.send_replace(true);
        self.pool.close();
    }
}

/// Whether something that failed may work the next time, and does no harm if it did work.
fn is_worth_another<O: Operation>(operation: &O, error: &StoreError) -> bool {
    match error {
        StoreError::GaveWay { .. } => true,
        StoreError::Lost { .. } => operation.is_repeatable(),
        _ => false,
    }
}
