//! The first meeting: what does the server speak? The modern era is tried first, then `initialize`, then
//! HTTP+SSE, unless the operator or an earlier meeting says better.

use std::sync::Arc;
use std::time::Duration;

use ::http::StatusCode;
use bytes::Bytes;
use highwater_mcp::era::{Era, MODERN_VERSION};
use highwater_mcp::error_code::METHOD_NOT_FOUND;
use highwater_mcp::frame::Frame;

use super::Kind;
use super::answer::{Opened, OwnStream};
use super::body::{Resumption, is_no_answer};
use super::legacy::LegacyLink;
use super::modern::{Endpoint, ModernLink};
use super::question::Questions;
use super::sse::SseLink;
use super::wire::Wire;
use crate::error::{Cause, UpstreamError};
use crate::greeting::{Probed, code, own_modern_params, read_discover};
use crate::link::{Greeting, LinkWorld, Outbound};
use crate::spec::{EraSetting, RememberedEra, ServerSpec, Transport};

/// What is presumed of a modern server that cannot say what it can do.
const PRESUMED: &[u8] = br#"{"tools":{},"prompts":{},"resources":{},"completions":{}}"#;
/// How long the first listen stream may hold up the start.
const LISTEN_FIRST: Duration = Duration::from_millis(500);
/// Connections beside those of the calls: streams, answers, cancellations.
const SPARE_CONNECTIONS: usize = 4;

/// Meets the server, within the time it has to start.
pub(super) async fn negotiate(
    spec: &ServerSpec,
    world: &LinkWorld,
    remembered: Option<RememberedEra>,
) -> Result<(Kind, RememberedEra), UpstreamError> {
    let Transport::Http { url, headers } = &spec.transport else {
        return Err(world.fail(Cause::Unreachable("it is not reached by HTTP".to_owned()), false));
    };
    let wire = match world.endpoint.get() {
        Some(wire) => Arc::clone(wire),
        None => {
            let connections = spec.concurrency.saturating_add(SPARE_CONNECTIONS);
            let wire = Wire::new(&spec.id, url, headers, spec.timeouts.start, connections, world.breaks())?;
            Arc::clone(world.endpoint.get_or_init(|| Arc::new(wire)))
        }
    };
    let meeting = Meeting { spec, world, wire };
    match tokio::time::timeout(spec.timeouts.start, meeting.hold(remembered)).await {
        Ok(met) => met.map_err(|error| UpstreamError { sent: false, ..error }),
        Err(_) => Err(world.fail(Cause::SilentStart(spec.timeouts.start), false)),
    }
}

struct Meeting<'a> {
    spec: &'a ServerSpec,
    world: &'a LinkWorld,
    wire: Arc<Wire>,
}

type Negotiated = Result<(Kind, RememberedEra), UpstreamError>;

// === impl Meeting ===

impl Meeting<'_> {
    async fn hold(&self, remembered: Option<RememberedEra>) -> Negotiated {
        match self.spec.era {
            EraSetting::Modern => self.modern_only().await,
            EraSetting::Legacy => self.legacy().await,
            EraSetting::Sse => self.sse().await,
            EraSetting::Auto => self.find_out(remembered).await,
        }
    }

    async fn find_out(&self, remembered: Option<RememberedEra>) -> Negotiated {
        let guess = match remembered {
            Some(RememberedEra::Legacy) => self.legacy().await,
            Some(RememberedEra::Sse) => self.sse().await,
            Some(RememberedEra::Modern) | None => return self.probe().await,
        };
        match guess {
            Ok(met) => Ok(met),
            Err(error) if is_final(&error.cause) => Err(error),
            // What was true is so no longer.
            Err(_) => self.probe().await,
        }
    }

    async fn probe(&self) -> Negotiated {
        match tokio::time::timeout(self.spec.timeouts.probe, self.discover()).await {
            Ok(Ok(Probed::Modern(greeting))) => return Ok(self.modern(greeting).await),
            Ok(Ok(Probed::NoCommonVersion)) => return Err(self.no_common_version()),
            Ok(Ok(Probed::Refused(code))) => return Err(self.refused(code)),
            Ok(Ok(Probed::LegacyOffered | Probed::NotModern)) | Err(_) => {}
            Ok(Err(error)) if is_final(&error.cause) => return Err(error),
            Ok(Err(error)) => tracing::debug!(%error, "the server does not speak the modern era"),
        }
        let error = match self.legacy().await {
            Ok(met) => return Ok(met),
            Err(error) if is_final(&error.cause) => return Err(error),
            Err(error) => error,
        };
        match tokio::time::timeout(self.spec.timeouts.probe, self.sse()).await {
            Ok(Ok(met)) => Ok(met),
            // What went wrong with `initialize` says more.
            Ok(Err(_)) | Err(_) => Err(error),
        }
    }

    async fn modern_only(&self) -> Negotiated {
        match self.discover().await? {
            Probed::Modern(greeting) => Ok(self.modern(greeting).await),
            Probed::LegacyOffered | Probed::NoCommonVersion => Err(self.no_common_version()),
            Probed::Refused(code) => Err(self.refused(code)),
            Probed::NotModern => {
                let text = "it does not answer `server/discover`";
                Err(self.world.fail(Cause::Malformed(text.to_owned()), true))
            }
        }
    }

    async fn modern(&self, greeting: Greeting) -> (Kind, RememberedEra) {
        let link = ModernLink::new(Arc::new(self.endpoint()), greeting, self.spec.timeouts.call);
        link.listening().settle(LISTEN_FIRST).await;
        (Kind::Modern(link), RememberedEra::Modern)
    }

    async fn legacy(&self) -> Negotiated {
        let link =
            LegacyLink::negotiate(Arc::clone(&self.wire), self.world.clone(), self.spec.max_reply).await?;
        Ok((Kind::Legacy(link), RememberedEra::Legacy))
    }

    async fn sse(&self) -> Negotiated {
        let link =
            SseLink::negotiate(Arc::clone(&self.wire), self.world.clone(), self.spec.max_reply).await?;
        Ok((Kind::Sse(link), RememberedEra::Sse))
    }

    fn endpoint(&self) -> Endpoint {
        Endpoint::new(Arc::clone(&self.wire), self.world.clone(), self.spec.max_reply)
    }

    /// Asks in the modern way.
    async fn discover(&self) -> Result<Probed, UpstreamError> {
        let number = self.world.next_number();
        let id = number.to_string();
        let params = own_modern_params(None, &self.world.client_info);
        let outbound = Outbound {
            number,
            method: "server/discover",
            params: Some(&params),
            target: None,
            param_headers: &[],
            events: None,
        };
        let (status, opened) = self.endpoint().request(&id, &outbound).await?;
        let answer = match opened {
            Opened::Answer(frame) => frame,
            Opened::Stream(mut events) => {
                let mut stream = OwnStream {
                    id: &id,
                    number,
                    events: None,
                    world: self.world,
                    limit: self.spec.max_reply,
                    message_endpoint: None,
                    questions: Questions::default(),
                };
                let answer = stream.until_answer(&mut events, &mut Resumption::default()).await;
                events.finish();
                answer
                    .and_then(|answer| answer.ok_or_else(|| Cause::Gone("the stream ended".to_owned())))
                    .map_err(|cause| self.world.fail(cause, true))?
            }
        };
        Ok(read_probe(status, &answer))
    }

    fn no_common_version(&self) -> UpstreamError {
        self.world.fail(Cause::Malformed("it speaks no version that is spoken here".to_owned()), true)
    }

    fn refused(&self, code: i64) -> UpstreamError {
        self.world.fail(Cause::Malformed(format!("it refused `server/discover` with error {code}")), true)
    }
}

/// The table of the eras: 404 and "method not found" is the modern way not to know a method. A legacy server
/// says it with status 200.
fn read_probe(status: StatusCode, answer: &Frame) -> Probed {
    if status == StatusCode::NOT_FOUND && code(answer) == Some(METHOD_NOT_FOUND) {
        return Probed::Modern(Greeting {
            era: Era::Modern,
            version: MODERN_VERSION.to_owned(),
            capabilities: Bytes::from_static(PRESUMED),
            instructions: None,
            server_info: None,
        });
    }
    read_discover(answer)
}

/// Whether a failure says nothing about what the server speaks, so that trying something else is no use.
fn is_final(cause: &Cause) -> bool {
    match cause {
        Cause::Unreachable(_)
        | Cause::NoConnection(_)
        | Cause::WantsOauth
        | Cause::ShuttingDown
        | Cause::BackingOff(_)
        | Cause::Silent(_)
        | Cause::Wedged(_)
        | Cause::NotStarted(_)
        | Cause::NoProgram { .. }
        | Cause::Changed
        | Cause::Disconnected => true,
        Cause::Status(status) => StatusCode::from_u16(*status).is_ok_and(is_no_answer),
        Cause::Gone(_)
        | Cause::SilentStart(_)
        | Cause::TimedOut(_)
        | Cause::TooLarge { .. }
        | Cause::WebPage
        | Cause::Malformed(_) => false,
    }
}
