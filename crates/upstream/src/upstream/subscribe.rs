//! Resource subscriptions, counted over all clients: the server hears of the first and of the last.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use highwater_core::action::Action;
use highwater_mcp::era::Era;
use highwater_mcp::frame::{Frame, FrameKind};
use highwater_mcp::text::{quote, string_member};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::Upstream;
use super::perform::{CallClient, Reply};
use crate::error::{Cause, UpstreamError};
use crate::link::{Link, Outbound};

/// How many resources of one server may be subscribed to.
const MAX_URIS: usize = 10_000;

/// Who is subscribed to what.
pub(super) struct Subscriptions {
    counts: Mutex<BTreeMap<String, usize>>,
    /// Changes take turns, so that the server hears them in order. Only other changes wait for it.
    turn: Semaphore,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Subscribe,
    Unsubscribe,
}

// === impl Subscriptions ===

impl Subscriptions {
    pub(super) fn new() -> Self {
        Self { counts: Mutex::default(), turn: Semaphore::new(1) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.counts().is_empty()
    }

    fn uris(&self) -> Vec<String> {
        self.counts().keys().cloned().collect()
    }

    /// Counts a change; true if the server must hear of it.
    fn count(&self, uri: &str, change: Change) -> Result<bool, Cause> {
        let mut counts = self.counts();
        let count = counts.get(uri).copied().unwrap_or(0);
        match change {
            Change::Subscribe if count == 0 && counts.len() >= MAX_URIS => {
                return Err(Cause::Unreachable("too many of its resources are subscribed to".to_owned()));
            }
            Change::Subscribe => {
                counts.insert(uri.to_owned(), count + 1);
            }
            Change::Unsubscribe if count > 1 => {
                counts.insert(uri.to_owned(), count - 1);
            }
            Change::Unsubscribe => {
                counts.remove(uri);
            }
        }
        Ok(count == if change == Change::Subscribe { 0 } else { 1 })
    }

    fn counts(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Upstream ===

impl Upstream {
    /// Performs `resources/subscribe` or `resources/unsubscribe`.
    pub(super) async fn subscribe(
        self: &Arc<Self>,
        action: &Action,
        client: CallClient<'_>,
    ) -> Result<Reply, UpstreamError> {
        let fail = |cause| self.wire.fail(cause, false);
        let change = match &**action.method() {
            "resources/subscribe" => Change::Subscribe,
            "resources/unsubscribe" => Change::Unsubscribe,
            _ => return Err(fail(Cause::Unreachable("this is no subscription".to_owned()))),
        };
        let uri = string_member(action.params(), "uri")
            .ok_or_else(|| fail(Cause::Unreachable("the subscription names no resource".to_owned())))?;
        let link = self.door(client).await?;
        let _turn = self.subscriptions.turn.acquire().await.map_err(|_| fail(Cause::ShuttingDown))?;
        let era = link.greeting().era;
        if !self.subscriptions.count(&uri, change).map_err(fail)? {
            return self.done(era);
        }
        let told = self.tell(&link, &uri, change).await;
        let refused = match &told {
            Ok(reply) => reply.frame.kind() == FrameKind::Error,
            Err(_) => true,
        };
        if refused && change == Change::Subscribe {
            self.subscriptions.counts().remove(&*uri);
        }
        told
    }

    /// Tells the server of the first subscription or the last.
    async fn tell(&self, link: &Link, uri: &str, change: Change) -> Result<Reply, UpstreamError> {
        let patience = self.spec.timeouts.call;
        let told = timeout(patience, async {
            match link.greeting().era {
                Era::Modern => {
                    link.set_subscriptions(&self.subscriptions.uris()).await?;
                    self.done(Era::Modern)
                }
                Era::Legacy => {
                    let number = self.wire.next_number();
                    let frame = self.tell_legacy(link, uri, change, number).await?;
                    Ok(Reply { frame, era: Era::Legacy, number })
                }
            }
        });
        told.await.unwrap_or_else(|_| Err(self.wire.fail(Cause::TimedOut(patience), true)))
    }

    async fn tell_legacy(
        &self,
        link: &Link,
        uri: &str,
        change: Change,
        number: u64,
    ) -> Result<Frame, UpstreamError> {
        let method = match change {
            Change::Subscribe => "resources/subscribe",
            Change::Unsubscribe => "resources/unsubscribe",
        };
        let params = format!(r#"{{"uri":{}}}"#, quote(uri));
        link.exchange(Outbound {
            number,
            method,
            params: Some(&params),
            target: None,
            param_headers: &[],
            events: None,
        })
        .await
    }

    /// Takes up on a new link what the last one was told: the listen stream, subscriptions, the log level.
    pub(super) fn resume(self: &Arc<Self>, link: &Link) {
        let (upstream, link) = (Arc::clone(self), link.clone());
        tokio::spawn(async move {
            let Ok(_turn) = upstream.subscriptions.turn.acquire().await else { return };
            let uris = upstream.subscriptions.uris();
            let told = match link.greeting().era {
                // Without any resource too: this stream also carries the list changes.
                Era::Modern => link.set_subscriptions(&uris).await,
                Era::Legacy => upstream.resume_legacy(&link, &uris).await,
            };
            if let Err(error) = told {
                tracing::warn!(%error, "subscriptions could not be taken up again");
            }
        });
    }

    async fn resume_legacy(self: &Arc<Self>, link: &Link, uris: &[String]) -> Result<(), UpstreamError> {
        self.resume_log_level(link).await?;
        for uri in uris {
            self.tell(link, uri, Change::Subscribe).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_hears_of_the_first_and_the_last() {
        let subscriptions = Subscriptions::new();
        let heard = [
            (Change::Unsubscribe, false),
            (Change::Subscribe, true),
            (Change::Subscribe, false),
            (Change::Unsubscribe, false),
            (Change::Unsubscribe, true),
            (Change::Unsubscribe, false),
        ];
        for (change, expected) in heard {
            assert_eq!(subscriptions.count("file:///a", change), Ok(expected));
        }
        assert!(subscriptions.is_empty());
    }
}
