//! The GET stream of a legacy session: what the server says outside of calls. It is taken up again when it
//! breaks, for as long as the session lives.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::body::{Events, Resumption, message, scan};
use super::legacy::Session;
use super::task::Backoff;
use crate::error::Cause;

/// Listens until the session is over. A server without such a stream is left alone.
pub(super) async fn listen(session: Arc<Session>) {
    let mut resumption = Resumption::default();
    let mut backoff = Backoff::default();
    let mut had_one = false;
    while !session.is_closed() {
        match session.open_stream(resumption.last_id.as_deref()).await {
            Ok(events) => {
                if had_one && resumption.last_id.is_none() && session.world().session.is_none() {
                    // Nothing can be taken up: what changed meanwhile went unheard.
                    session.changes().notices().for_each(|kind| session.world().notice(kind));
                }
                had_one = true;
                let opened = Instant::now();
                let said_anything = hear_out(&session, events, &mut resumption).await;
                backoff.note_stream(opened, said_anything);
            }
            Err(error) => {
                tracing::debug!(%error, "no GET stream");
                match error.cause {
                    Cause::Status(401 | 403 | 407 | 408 | 425 | 429 | 500 | 502..=504)
                    | Cause::WantsOauth
                    | Cause::Gone(_)
                    | Cause::NoConnection(_)
                    | Cause::Unreachable(_) => {}
                    Cause::Status(404) if had_one && session.is_named() => return lose(&session),
                    // What was to be taken up is no longer there.
                    Cause::Status(_) if resumption.last_id.take().is_some() => {}
                    Cause::Status(400) if had_one && session.is_named() => return lose(&session),
                    // Without a stream before, it only says that there is none to be had.
                    _ => return,
                }
            }
        }
        tokio::time::sleep(backoff.next(resumption.retry) + spread(session.world().session)).await;
    }
}

/// The session is over. The gateway is told that things may have changed, and by asking for them greets the
/// server anew.
fn lose(session: &Session) {
    session.lost();
    if session.world().session.is_some() {
        // The client's next call opens another, and the server is looked at then.
        return;
    }
    session.changes().notices().for_each(|kind| session.world().notice(kind));
}

/// The sessions of one server lose their streams together; they do not all come back at the same moment.
fn spread(session: Option<u64>) -> Duration {
    session.map_or(Duration::ZERO, |number| Duration::from_millis(number % 64 * 16))
}

/// Hears the stream out; whether there was anything on it.
async fn hear_out(session: &Session, mut events: Events, resumption: &mut Resumption) -> bool {
    let mut anything = false;
    loop {
        match events.next(session.limit()).await {
            Ok(Some(event)) => {
                anything = true;
                resumption.note(&event);
                let Some(data) = message(event) else { continue };
                match scan(data, session.limit()) {
                    Ok(frame) => session.calls().hear(frame, session.world(), session.message_endpoint()),
                    Err(cause) => session.calls().heard_garbage(&cause, session.world()),
                }
            }
            Ok(None) => return anything,
            Err(cause) => {
                tracing::debug!(upstream = %session.world().upstream, %cause, "a GET stream broke");
                session.world().note_break();
                return anything;
            }
        }
    }
}
