//! Streams of events: a page hears when its request changes, the inbox when anything does.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use highwater_core::id::ApprovalId;
use http::StatusCode;
use tokio::sync::{broadcast, watch};

use super::answer::{self, Answer};
use super::backend::PageBackend;
use super::document;
use crate::front::server::{ResponseBody, stopped};

/// How often a page is told that we are still here, and how often we look for ourselves: another replica may have
/// changed something.
const BEAT: Duration = Duration::from_secs(2);

/// How long a stream lasts. A browser opens another.
const LONGEST: Duration = Duration::from_secs(30 * 60);

struct Watching<C> {
    counter: Arc<C>,
    changes: broadcast::Receiver<ApprovalId>,
    stop: watch::Receiver<bool>,
    /// What is watched; everything if nothing is named.
    id: Option<ApprovalId>,
    /// How many changes were heard of.
    heard: u64,
    /// What was said last.
    said: Option<String>,
    until: tokio::time::Instant,
}

/// The events of one request, or of the inbox.
pub(super) fn of<C: PageBackend>(
    counter: &Arc<C>,
    id: Option<ApprovalId>,
    stop: watch::Receiver<bool>,
) -> Answer {
    let watching = Watching {
        changes: counter.changes(),
        counter: Arc::clone(counter),
        stop,
        id,
        heard: 0,
        said: None,
        until: tokio::time::Instant::now() + LONGEST,
    };
    let events = stream::unfold(watching, |mut watching| async move {
        let event = watching.next().await?;
        Some((event, watching))
    });
    answer::with(StatusCode::OK, ResponseBody::Events(Box::pin(events)))
}

// === impl Watching ===

impl<C: PageBackend> Watching<C> {
    async fn next(&mut self) -> Option<Bytes> {
        if self.said.is_some() {
            let beat = tokio::time::sleep(BEAT);
            tokio::pin!(beat);
            loop {
                tokio::select! {
                    changed = self.changes.recv() => match changed {
                        Ok(changed) if self.id.as_ref().is_some_and(|id| *id != changed) => {}
                        // Whoever missed some looks, too.
                        Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {
                            self.heard += 1;
                            break;
                        }
                        Err(broadcast::error::RecvError::Closed) => return None,
                    },
                    () = &mut beat => break,
                    () = stopped(&mut self.stop) => return None,
                }
            }
        }
        if tokio::time::Instant::now() >= self.until {
            return None;
        }
        let now = self.state().await?;
        if self.said.as_ref() == Some(&now) {
            return Some(Bytes::from_static(b": still here\n\n"));
        }
        let event = format!("data: {now}\n\n");
        self.said = Some(now);
        Some(Bytes::from(event))
    }

    /// What there is to be said, without anything that is for some eyes only.
    async fn state(&self) -> Option<String> {
        let Some(id) = &self.id else { return Some(format!(r#"{{"heard":{}}}"#, self.heard)) };
        let view = self.counter.view(id).await.ok()??;
        let (state, signed) = (document::state_word(view.state), view.need.signed.len());
        Some(format!(r#"{{"state":"{state}","signed":{signed}}}"#))
    }
}
