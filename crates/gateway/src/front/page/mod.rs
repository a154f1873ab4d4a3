//! The approval page: a listener of its own, and so an origin of its own, where people see what they are asked and
//! answer. Documents are made here; what is decided is decided behind [`backend::PageBackend`].

mod answer;
mod backend;
mod bundle;
mod connections;
mod document;
mod endpoints;
mod events;
mod guard;
mod html;
mod origin;
mod peer;
mod rates;
mod service_backend;
#[cfg(test)]
mod tests;
mod visitors;

use std::convert::Infallible;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use highwater_core::id::ApprovalId;
use highwater_http1::headers::Headers;
use http::request::Parts;
use http::{Method, StatusCode};
use tokio::sync::watch;
use tokio::task::JoinSet;

pub use self::origin::{BadOrigin, PageOrigin};

use self::answer::Answer;
use self::backend::{PageBackend, Refusal};
use self::bundle::Bundle;
use self::connections::{Connections, Noted};
use self::document::Frame;
use self::document::request::Beside;
use self::origin::Addressed;
use self::peer::Ends;
use self::rates::Rates;
use self::service_backend::ServiceBackend;
use self::visitors::{Visitor, Visitors};
use crate::approvals::{ApprovalState, RequestKind, RequestView};
use crate::front::Serving;
use crate::front::server::{self, Admitted, Request, RequestBody, Router, stopped};
use crate::gateway::{Gateway, now};

/// How often a connection is looked at. One that is silent is closed after 15 to 22 s: a client that sends a head byte by
/// byte has no more than that.
const LOOK_EVERY: Duration = Duration::from_millis(7_500);

/// How much a client that was refused may go on sending, to read why.
const MAX_DRAINED: usize = 4 << 20;

/// How long open answers may take when the gateway stops.
const CLOSING: Duration = Duration::from_secs(1);

const STYLE: &str = include_str!("page.css");
const MODULE: &str = include_str!("page.js");
const ICON: &str = include_str!("page.svg");

/// The page, and who is in front of it.
struct Page<C> {
    counter: Arc<C>,
    origin: PageOrigin,
    visitors: Visitors,
    rates: Rates,
}

/// One request on its way.
struct IncomingRequest<'a> {
    head: &'a Parts,
    ends: Ends,
    visitor: Option<Visitor>,
}

/// The page as one connection sees it.
struct Visit<C> {
    page: Arc<Page<C>>,
    from: From,
    stop: watch::Receiver<bool>,
}

/// Where a connection comes from, and what is noted of it.
#[derive(Clone)]
struct From {
    ends: Ends,
    noted: Noted,
}

/// Serves the page of a gateway until told to stop. One without an approval service has no page.
pub fn serve(
    gateway: Arc<Gateway>,
    origin: PageOrigin,
    listeners: Vec<TcpListener>,
    stop: watch::Receiver<bool>,
) -> Serving {
    Box::pin(async move {
        let Some(approval_service) = gateway.approval_service().map(Arc::clone) else { return };
        match Page::new(Arc::new(ServiceBackend { gateway, approval_service }), origin) {
            Some(page) => listen(page, listeners, stop).await,
            None => tracing::error!("the system gives no random numbers, so there is no approval page"),
        }
    })
}

async fn listen<C: PageBackend>(
    page: Arc<Page<C>>,
    listeners: Vec<TcpListener>,
    stop: watch::Receiver<bool>,
) {
    let mut accepting = JoinSet::new();
    for listener in listeners {
        accepting.spawn(accept(Arc::clone(&page), listener, stop.clone()));
    }
    while accepting.join_next().await.is_some() {}
}

async fn accept<C: PageBackend>(page: Arc<Page<C>>, listener: TcpListener, mut stop: watch::Receiver<bool>) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return tracing::error!(%error, "the approval page has no listener"),
    };
    let mut connections = Connections::default();
    loop {
        let next = async {
            connections.room().await;
            listener.accept().await
        };
        let accepted = tokio::select! {
            accepted = next => accepted,
            () = stopped(&mut stop) => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                let noted = Noted::new();
                let local = stream.local_addr().unwrap_or(peer);
                let from = From { ends: Ends { peer, local }, noted: noted.clone() };
                let visit = Arc::new(Visit { page: Arc::clone(&page), from, stop: stop.clone() });
                connections.add(server::serve(visit, stream, (peer, Arc::default()), stop.clone()), noted);
            }
            Err(error) => {
                tracing::warn!(%error, "a connection to the approval page could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    drop(listener);
    if tokio::time::timeout(CLOSING, connections.finished()).await.is_err() {
        tracing::debug!("connections to the approval page were cut");
    }
}

// === impl Visit ===

impl<C: PageBackend> Router for Visit<C> {
    /// Whatever is asked is answered at once.
    type Work = Infallible;

    async fn admit(&self, request: &Request, body: &mut RequestBody<'_>) -> Admitted<Infallible> {
        self.from.noted.heard();
        let answer = match request.head.to_parts() {
            Some(head) => self.page.handle(&head, body, &self.from, self.stop.clone()).await,
            None => answer::text(StatusCode::BAD_REQUEST, "the request is not understood"),
        };
        self.from.noted.heard();
        Admitted::Answered(answer)
    }

    async fn respond(self: Arc<Self>, work: Infallible, _: &Headers) -> Answer {
        match work {}
    }

    fn max_drained(&self) -> usize {
        MAX_DRAINED
    }

    fn look_every(&self) -> Duration {
        LOOK_EVERY
    }
}

// === impl Page ===

impl<C: PageBackend> Page<C> {
    /// `None` if the system gives no random numbers.
    fn new(counter: Arc<C>, origin: PageOrigin) -> Option<Arc<Self>> {
        let visitors = Visitors::new()?;
        Some(Arc::new(Self { counter, origin, visitors, rates: Rates::default() }))
    }

    async fn handle(
        &self,
        head: &Parts,
        body: &mut RequestBody<'_>,
        from: &From,
        stop: watch::Receiver<bool>,
    ) -> Answer {
        // Before anything else: a name that was made to point here gets nothing.
        match self.origin.addressed(&head.method, &head.uri, &head.headers) {
            Addressed::Ours => {}
            Addressed::Elsewhere(place) => return answer::redirect(&place),
            Addressed::NotUs => {
                return answer::text(StatusCode::MISDIRECTED_REQUEST, "this name is not served here");
            }
        }
        let asked = IncomingRequest { visitor: self.visitors.of(&head.headers), head, ends: from.ends };
        if asked.visitor.is_some() {
            from.noted.is_known();
        }
        let path: Vec<&str> = head.uri.path().split('/').skip(1).collect();
        match head.method {
            Method::GET => self.get(&asked, &path, stop).await,
            Method::POST => self.post(&asked, &path, body).await,
            _ => answer::not_allowed("GET, POST"),
        }
    }

    async fn get(&self, asked: &IncomingRequest<'_>, path: &[&str], stop: watch::Receiver<bool>) -> Answer {
        let headers = &asked.head.headers;
        match path {
            ["page.css"] => return answer::asset("text/css; charset=utf-8", STYLE),
            ["page.js"] => return answer::asset("text/javascript; charset=utf-8", MODULE),
            ["page.svg"] => return answer::asset("image/svg+xml", ICON),
            ["approve", id, "events"] => {
                return match guard::events(headers) {
                    Ok(()) => events::of(&self.counter, Some(ApprovalId::new(*id)), stop),
                    Err((status, words)) => answer::text(status, words),
                };
            }
            ["inbox", "events"] => {
                return match guard::events(headers) {
                    Ok(()) if asked.visitor.is_some() => events::of(&self.counter, None, stop),
                    Ok(()) => answer::text(StatusCode::FORBIDDEN, "sign in first"),
                    Err((status, words)) => answer::text(status, words),
                };
            }
            _ => {}
        }
        if let Err((status, words)) = guard::document(headers) {
            return answer::text(status, words);
        }
        match path {
            [""] => answer::redirect("/inbox"),
            ["approve", id] => self.request_document(asked, id).await,
            ["approve", id, "together"] => self.bundle_document(asked, id).await,
            ["inbox"] => self.inbox_document(asked).await,
            ["enroll"] => self.enroll_document(asked).await,
            ["mandate"] => self.mandate_document(asked).await,
            _ => {
                let csrf = self.visitors.csrf(headers);
                let frame = self.frame("Not here", "none", &csrf, asked);
                let words =
                    "There is nothing at this address. Requests end after a while, and so do their pages.";
                answer::document(StatusCode::NOT_FOUND, document::message(&frame, "Not here", words))
            }
        }
    }

    async fn request_document(&self, asked: &IncomingRequest<'_>, id: &str) -> Answer {
        let csrf = self.visitors.csrf(&asked.head.headers);
        match self.counter.view(&ApprovalId::new(id)).await {
            Ok(Some(view)) => match asked.visitor.as_ref().filter(|visitor| visitor.may_see(&view)) {
                Some(visitor) => {
                    let title = document::request::title(&view);
                    let frame = self.frame(&title, "request", &csrf, asked);
                    match self.request_of(&frame, &view, visitor).await {
                        Ok(document) => answer::document(StatusCode::OK, document),
                        Err(refusal) => self.trouble(asked, &refusal),
                    }
                }
                None => {
                    let frame = self.frame("Sign in", "sign-in", &csrf, asked);
                    answer::document(StatusCode::OK, document::sign_in::before_request(&frame, &view))
                }
            },
            Ok(None) => {
                let frame = self.frame("No such request", "none", &csrf, asked);
                let words = "This request does not exist, or it ended long ago. Nothing is approved here.";
                answer::document(StatusCode::NOT_FOUND, document::message(&frame, "No such request", words))
            }
            Err(refusal) => self.trouble(asked, &refusal),
        }
    }

    /// A request for somebody who may see it, with what they need to answer it or to go on.
    async fn request_of(
        &self,
        frame: &Frame<'_>,
        view: &RequestView,
        visitor: &Visitor,
    ) -> Result<String, Refusal> {
        let server = view.server.as_deref().filter(|_| visitor.may_describe());
        let what_it_is = server.and_then(|server| self.counter.what_it_is(server));
        let is_pending = view.state == ApprovalState::Pending;
        let passkeys = match view.kind {
            RequestKind::Passkey if is_pending => self.counter.credentials().await?,
            RequestKind::Passkey | RequestKind::Confirm => Vec::new(),
        };
        let mut waiting = self.counter.inbox().await?.pending;
        waiting.retain(|other| visitor.may_see(other));
        waiting.sort_by_key(|other| other.created);
        let mut alike = 0;
        if is_pending {
            alike = Bundle::of(view, &waiting).map_or(0, |bundle| bundle.members.len());
        }
        waiting.retain(|other| other.id != view.id);
        let beside = Beside { server: what_it_is.as_ref(), passkeys: &passkeys, alike, waiting: &waiting };
        Ok(document::request::document(frame, view, visitor, &beside))
    }

    /// Calls that differ in a few values. A call that is alone is shown alone.
    async fn bundle_document(&self, asked: &IncomingRequest<'_>, id: &str) -> Answer {
        let alone = format!("/approve/{id}");
        let Some(visitor) = &asked.visitor else { return answer::redirect(&alone) };
        let (view, inbox) = match (self.counter.view(&ApprovalId::new(id)).await, self.counter.inbox().await)
        {
            (Ok(Some(view)), Ok(inbox)) if visitor.may_see(&view) => (view, inbox),
            (Ok(_), Ok(_)) => return answer::redirect(&alone),
            (Err(refusal), _) | (_, Err(refusal)) => return self.trouble(asked, &refusal),
        };
        let mut all = inbox.pending;
        all.extend(inbox.recent);
        all.retain(|other| visitor.may_see(other));
        let Some(bundle) = Bundle::of(&view, &all) else { return answer::redirect(&alone) };
        let csrf = self.visitors.csrf(&asked.head.headers);
        let title = document::bundle::title(&bundle);
        let frame = self.frame(&title, "bundle", &csrf, asked);
        let document = document::bundle::document(&frame, &bundle, visitor, &inbox.credentials);
        answer::document(StatusCode::OK, document)
    }

    async fn inbox_document(&self, asked: &IncomingRequest<'_>) -> Answer {
        let csrf = self.visitors.csrf(&asked.head.headers);
        let Some(visitor) = &asked.visitor else {
            let frame = self.frame("Sign in", "sign-in", &csrf, asked);
            return answer::document(StatusCode::OK, document::sign_in::before_inbox(&frame));
        };
        match self.counter.inbox().await {
            Ok(inbox) => {
                // Whoever has the tab open among others sees that something waits.
                let title = match inbox.pending.iter().filter(|view| visitor.may_see(view)).count() {
                    0 => "Inbox".to_owned(),
                    waiting => format!("({waiting}) Inbox"),
                };
                let frame = self.frame(&title, "inbox", &csrf, asked);
                answer::document(StatusCode::OK, document::inbox::document(&frame, &inbox, visitor))
            }
            Err(refusal) => self.trouble(asked, &refusal),
        }
    }

    async fn enroll_document(&self, asked: &IncomingRequest<'_>) -> Answer {
        let csrf = self.visitors.csrf(&asked.head.headers);
        let all = match self.counter.credentials().await {
            Ok(all) => all,
            Err(refusal) => return self.trouble(asked, &refusal),
        };
        let theirs = all.iter().filter(|credential| {
            asked.visitor.as_ref().is_some_and(|visitor| visitor.operator || visitor.user == credential.user)
        });
        let frame = self.frame("Passkeys", "enroll", &csrf, asked);
        let theirs: Vec<_> = theirs.collect();
        let query = asked.head.uri.query().unwrap_or_default();
        let named = query.split('&').find_map(|part| part.strip_prefix("user="));
        answer::document(StatusCode::OK, document::enroll::document(&frame, named, &theirs))
    }

    async fn mandate_document(&self, asked: &IncomingRequest<'_>) -> Answer {
        let csrf = self.visitors.csrf(&asked.head.headers);
        let Some(visitor) = &asked.visitor else {
            let frame = self.frame("Sign in", "sign-in", &csrf, asked);
            return answer::document(StatusCode::OK, document::sign_in::before_mandate(&frame));
        };
        let query = asked.head.uri.query().unwrap_or_default();
        let like = match query.split('&').find_map(|part| part.strip_prefix("like=")) {
            Some(id) => match self.counter.view(&ApprovalId::new(id)).await {
                Ok(view) => view.filter(|view| visitor.may_see(view)),
                Err(refusal) => return self.trouble(asked, &refusal),
            },
            None => None,
        };
        let frame = self.frame("Mandate", "mandate", &csrf, asked);
        answer::document(StatusCode::OK, document::mandate::document(&frame, like.as_ref()))
    }

    /// A document that says what went wrong.
    fn trouble(&self, asked: &IncomingRequest<'_>, refusal: &Refusal) -> Answer {
        let csrf = self.visitors.csrf(&asked.head.headers);
        let frame = self.frame("Not now", "none", &csrf, asked);
        answer::document(refusal.status, document::message(&frame, "That did not work", &refusal.words))
    }

    fn frame<'a>(
        &self,
        title: &'a str,
        page: &'static str,
        csrf: &'a str,
        asked: &'a IncomingRequest<'_>,
    ) -> Frame<'a> {
        Frame { title, page, csrf, visitor: asked.visitor.as_ref(), now: now() }
    }
}

// === impl Visitor ===

impl Visitor {
    /// Whether they may say what a server is, which holds for every agent: the owner of the gateway.
    fn may_describe(&self) -> bool {
        self.operator || self.user.as_str() == visitors::OWNER
    }

    /// Whether a request is any of their business.
    fn may_see(&self, view: &RequestView) -> bool {
        self.operator || self.user == view.user || view.need.approvers.contains(&self.user)
    }
}
