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
use crate::operation::{Access, Durability, Operation, Start};
use crate::random::random_id;
use crate::sql::schema::{self, Dialect};
use crate::store::Inner;

/// Connections for calls. Reads take a fraction of a millisecond, so a few serve many sessions.
const CONNECTIONS: usize = 8;

/// How long a call waits for a read. After it the decision is made as at the top label.
const READ_LIMIT: Duration = Duration::from_secs(1);

/// How long a call waits for a write. After it the reply is withheld.
const WRITE_LIMIT: Duration = Duration::from_secs(3);

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
    /// Tells our own announcements from those of other replicas.
    replica: Arc<str>,
    closing: watch::Sender<bool>,
}

// === impl Postgres ===

impl Postgres {
    /// Connects and makes or renews the layout.
    pub(crate) async fn open(url: &str, restored: bool) -> Result<Self, StoreError> {
        let server = Arc::new(Server::parse(url)?);
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
            .wait_timeout(Some(READ_LIMIT))
            .create_timeout(Some(READ_LIMIT))
            .recycle_timeout(Some(READ_LIMIT))
            .post_create(prepare)
            .build()
            .map_err(|error| StoreError::Failed { doing: "begin", why: error.to_string().into() })?;
        let replica = random_id("")?.into();
        let postgres = Self { pool, server, replica, closing: watch::Sender::new(false) };
        postgres.migrate().await?;
        if restored {
            let sessions = postgres.perform(Start { boot_id: String::new(), restored }).await?;
            tracing::warn!(
                sessions,
                "the store was restored, so every session counts as having read everything"
            );
        }
        Ok(postgres)
    }

    async fn migrate(&self) -> Result<(), StoreError> {
        let doing = "renew its layout";
        let mut connection = self.connection(doing).await?;
        let work = async {
            let transaction = connection.transaction().await.map_err(|error| tx::explained(doing, &error))?;
            let mut tx = PostgresTx { client: &transaction, doing, replica: &self.replica };
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
            Access::Read => READ_LIMIT,
            Access::Write(_) => WRITE_LIMIT,
        };
        let mut attempts = 1;
        loop {
            let mut connection = self.connection(O::DOING).await?;
            let again = match timeout(limit, self.attempt(&mut connection, &operation)).await {
                Ok(Ok(done)) => return Ok(done),
                Ok(Err(failure)) if attempts < ATTEMPTS && failure.is_worth_another(&operation) => failure,
                Ok(Err(failure)) => return Err(failure.error),
                Err(_) => {
                    // Nobody may be given a connection on which an unanswered question lies.
                    drop(Object::take(connection));
                    return Err(StoreError::TimedOut { doing: O::DOING });
                }
            };
            tracing::debug!(error = %again.error, attempts, "the session store is asked again");
            attempts += 1;
        }
    }

    async fn attempt<O: Operation>(
        &self,
        connection: &mut Object,
        operation: &O,
    ) -> Result<O::Output, Failure> {
        let replica = &*self.replica;
        match operation.access() {
            Access::Read => {
                let mut tx = PostgresTx { client: connection, doing: O::DOING, replica };
                let done = operation.run(&mut tx).await;
                done.map_err(|error| Failure { error, is_closed: connection.is_closed(), gave_way: false })
            }
            Access::Write(durability) => {
                let outcome = self.transact(connection, operation, durability, replica).await;
                outcome.map_err(|error| {
                    let gave_way = matches!(&error, StoreError::Failed { why, .. } if tx::gave_way(why));
                    Failure { error, is_closed: connection.is_closed(), gave_way }
                })
            }
        }
    }

    async fn transact<O: Operation>(
        &self,
        connection: &mut Object,
        operation: &O,
        durability: Durability,
        replica: &str,
    ) -> Result<O::Output, StoreError> {
        let transaction = connection.transaction().await.map_err(|error| tx::explained(O::DOING, &error))?;
        let mut tx = PostgresTx { client: &transaction, doing: O::DOING, replica };
        if durability == Durability::Statistic {
            tx.batch("SET LOCAL synchronous_commit TO off").await?;
        }
        let done = operation.run(&mut tx).await?;
        transaction.commit().await.map_err(|error| tx::explained(O::DOING, &error))?;
        Ok(done)
    }

    async fn connection(&self, doing: &'static str) -> Result<Object, StoreError> {
        self.pool.get().await.map_err(|error| match &error {
            PoolError::Timeout(_) => StoreError::TimedOut { doing },
            PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
                tx::explained(doing, error)
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

/// Why something did not work, and whether it may the next time.
struct Failure {
    error: StoreError,
    is_closed: bool,
    gave_way: bool,
}

// === impl Failure ===

impl Failure {
    fn is_worth_another<O: Operation>(&self, operation: &O) -> bool {
        self.gave_way || (self.is_closed && operation.is_repeatable())
    }
}
