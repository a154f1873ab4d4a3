//! Streams of events: a page hears when its request changes, the inbox when anything does.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::StatusCode;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use tokio::sync::{broadcast, watch};

use super::answer::{self, Answer};
use super::counter::Counter;

/// How often a page is told that we are still here, and how often we look for ourselves: another replica may have
/// changed something.
const BEAT: Duration = Duration::from_secs(2);

/// How long a stream lasts. A browser opens another.
const LONGEST: Duration = Duration::from_secs(30 * 60);

struct Watching<C> {
    counter: Arc<C>,
    changes: broadcast::Receiver<String>,
    stop: watch::Receiver<bool>,
    /// What is watched; everything if nothing is named.
    id: Option<String>,
    /// What was said last.
    said: Option<String>,
    until: tokio::time::Instant,
}

/// The events of one request, or of the inbox.
pub(super) fn of<C: Counter>(counter: &Arc<C>, id: Option<String>, stop: watch::Receiver<bool>) -> Answer {
    let watching = Watching {
        changes: counter.changes(),
        counter: Arc::clone(counter),
        stop,
        id,
        said: None,
        until: tokio::time::Instant::now() + LONGEST,
    };
    let events = stream::unfold(watching, |mut watching| async move {
        let event = watching.next().await?;
        Some((Ok(Frame::data(event)), watching))
    });
    answer::with(StatusCode::OK, "text/event-stream", StreamBody::new(events).boxed_unsync())
}

// === impl Watching ===

impl<C: Counter> Watching<C> {
    async fn next(&mut self) -> Option<Bytes> {
        if self.said.is_some() {
            let beat = tokio::time::sleep(BEAT);
            tokio::pin!(beat);
            loop {
                tokio::select! {
                    changed = self.changes.recv() => match changed {
                        Ok(changed) if self.id.as_ref().is_none_or(|id| *id == changed) => break,
                        Ok(_) => {}
                        // Some were missed: look.
                        Err(broadcast::error::RecvError::Lagged(_)) => break,
                        Err(broadcast::error::RecvError::Closed) => return None,
                    },
                    () = &mut beat => break,
                    () = super::stopped(&mut self.stop) => return None,
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
        match &self.id {
            Some(id) => {
                let view = self.counter.view(id).await.ok()??;
                let signed = view.quorum.map_or(0, |quorum| quorum.signed.len());
                Some(format!(r#"{{"state":"{}","signed":{signed}}}"#, view.state.word()))
            }
            None => {
                let inbox = self.counter.inbox(None).await.ok()?;
                // Whoever listens loads the document again, so it is enough that this is another one each time.
                let decided =
                    inbox.recent.first().map_or(0, |entry| entry.decided.as_ref().map_or(0, |it| it.1));
                let newest = inbox.pending.iter().map(|entry| entry.created).max().unwrap_or(0);
                let (pending, notices) = (inbox.pending.len(), inbox.notices.len());
                Some(format!(
                    r#"{{"pending":{pending},"newest":{newest},"decided":{decided},"notices":{notices}}}"#
                ))
            }
        }
    }
}
