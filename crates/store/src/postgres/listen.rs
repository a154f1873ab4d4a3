//! Announcements of other replicas: hints that a copy is old. Nothing depends on their arrival.

use std::future::poll_fn;
use std::sync::{Arc, Weak};
use std::time::Duration;

use highwater_core::id::ApprovalId;
use tokio::sync::{mpsc, watch};
use tokio_postgres::AsyncMessage;

use super::server::{CHANNEL, Server};
use crate::SessionHandle;
use crate::operation::approval::APPROVALS_HINT;
use crate::operation::{PINS_HINT, TOKENS};
use crate::store::Inner;

/// How long to wait before a lost connection is made again.
const AGAIN: Duration = Duration::from_secs(1);

/// Hints that may wait to be followed.
const HINTS: usize = 1024;

/// Listens until the store is closed or dropped.
pub(super) async fn follow(
    server: Arc<Server>,
    replica: Arc<str>,
    store: Weak<Inner>,
    mut closing: watch::Receiver<bool>,
) {
    while !*closing.borrow_and_update() && store.strong_count() > 0 {
        tokio::select! {
            ended = listen(&server, &replica, &store) => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "announcements of other replicas are not heard");
                }
                // The connections of calls may be gone with it.
                if let Some(store) = store.upgrade() {
                    store.health.doubt();
                }
            }
            _ = closing.changed() => return,
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// Listens on one connection until it ends.
async fn listen(server: &Server, replica: &str, store: &Weak<Inner>) -> Result<(), tokio_postgres::Error> {
    let (client, mut connection) = server.config.connect(server.tls.clone()).await?;
    let (heard, mut keys) = mpsc::channel(HINTS);
    let pump = async move {
        while let Some(message) = poll_fn(|cx| connection.poll_message(cx)).await {
            if let AsyncMessage::Notification(notification) = message? {
                // With too many at once some are missed, as after a lost connection.
                heard.try_send(notification.payload().to_owned()).ok();
            }
        }
        Ok(())
    };
    let take = async {
        client.batch_execute(&format!("LISTEN {CHANNEL}")).await?;
        // What was announced before this was missed, so nothing that is held counts.
        if let Some(store) = store.upgrade() {
            store.cache.forget_all();
            store.pins_changed.send_modify(|count| *count += 1);
            store.tokens_changed.send_modify(|count| *count += 1);
        }
        while let Some(payload) = keys.recv().await {
            refresh(&payload, replica, store).await;
        }
        Ok(())
    };
    // The pump moves both; whichever ends first ends the other.
    tokio::select! { ended = pump => ended, ended = take => ended }
}

/// Reads a session again that another replica has written, if there is a copy of it here.
async fn refresh(payload: &str, replica: &str, store: &Weak<Inner>) {
    let Some((from, key)) = payload.split_once(' ').filter(|(from, _)| *from != replica) else { return };
    let Some(store) = store.upgrade() else { return };
    if key.starts_with(PINS_HINT) {
        return store.pins_changed.send_modify(|count| *count += 1);
    }
    if let Some(id) = key.strip_prefix(APPROVALS_HINT) {
        // Nobody may be waiting.
        store.approvals_changed.send(ApprovalId::new(id)).ok();
        return;
    }
    if key == TOKENS {
        return store.tokens_changed.send_modify(|count| *count += 1);
    }
    let key = highwater_core::id::SessionKey::new(key);
    if let Some(entry) = store.cache.get(&key).filter(|entry| entry.state().is_some())
        && let Err(error) = SessionHandle::new(store, entry).current().await
    {
        tracing::debug!(%error, from, "a session could not be read again");
    }
}
