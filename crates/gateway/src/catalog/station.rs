//! One upstream together with what it last listed. Loading is shared: whoever comes while it is under way waits
//! for the same attempt, and only for a bounded time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use highwater_core::id::UpstreamId;
use highwater_upstream::control::{ControlMessage, ControlReply, ListKind, Listing, LogLevel};
use highwater_upstream::error::UpstreamError;
use highwater_upstream::event::{Notice, NoticeKind, NoticeSink};
use highwater_upstream::{Greeting, Upstream};
use tokio::sync::watch;
use tokio::time::Instant;

/// How long a list waits for a server that is still starting. What comes later is announced as a change.
const PATIENCE: Duration = Duration::from_secs(10);

/// An upstream and its stock.
pub(crate) struct Station {
    pub(crate) upstream: Arc<Upstream>,
    stock: ArcSwapOption<Stock>,
    /// Counts changes of the stock, so that merged lists know when they are stale.
    stamp: AtomicU64,
    loading: Mutex<Option<Loading>>,
    /// The most verbose log level this upstream was set to.
    log_level: Mutex<Option<LogLevel>>,
    /// Set when somebody was shown a list without this server.
    missed: AtomicBool,
    /// Where we say that its lists are there after all.
    notices: NoticeSink,
    /// Shared with every action that is bound for here, from its routing to its delivery.
    bound: Arc<()>,
}

/// What a server said of itself and what it lists.
#[derive(Clone)]
pub(crate) struct Stock {
    pub(crate) greeting: Arc<Greeting>,
    pub(crate) tools: Arc<Listing>,
    pub(crate) prompts: Arc<Listing>,
    pub(crate) resources: Arc<Listing>,
    pub(crate) templates: Arc<Listing>,
}

struct Loading {
    done: watch::Receiver<bool>,
    begun: Instant,
}

// === impl Station ===

impl Station {
    pub(crate) fn new(upstream: Arc<Upstream>, notices: NoticeSink) -> Arc<Self> {
        Arc::new(Self {
            upstream,
            stock: ArcSwapOption::empty(),
            stamp: AtomicU64::new(0),
            loading: Mutex::new(None),
            log_level: Mutex::new(None),
            missed: AtomicBool::new(false),
            notices,
            bound: Arc::default(),
        })
    }

    /// Held by an action on its way here, so that the server is not ended under it.
    pub(crate) fn bound(&self) -> Arc<()> {
        Arc::clone(&self.bound)
    }

    /// Whether nothing is on its way here and nothing under way.
    pub(crate) fn is_idle(&self) -> bool {
        Arc::strong_count(&self.bound) == 1 && self.upstream.health().in_flight == 0
    }

    pub(crate) fn id(&self) -> &UpstreamId {
        self.upstream.id()
    }

    /// What is in stock now, without asking the server.
    pub(crate) fn stock(&self) -> Option<Arc<Stock>> {
        self.stock.load_full()
    }

    pub(crate) fn stamp(&self) -> u64 {
        self.stamp.load(Ordering::Acquire)
    }

    /// Makes sure that the lists were loaded once. Gives up waiting, but not loading, when patience ends.
    pub(crate) async fn ensure_stocked(self: &Arc<Self>) {
        if self.stock.load().is_some() {
            return;
        }
        let (mut done, begun) = self.begin_loading();
        // An error means that the loading task is gone, which is as much of an answer as `true`.
        let waited = tokio::time::timeout_at(begun + PATIENCE, done.wait_for(|done| *done)).await;
        if self.stock.load().is_none() {
            self.missed.store(true, Ordering::Release);
        }
        if waited.is_err() {
            tracing::warn!(server = %self.id(), "still starting; its tools are listed when it is ready");
        }
    }

    fn begin_loading(self: &Arc<Self>) -> (watch::Receiver<bool>, Instant) {
        let mut loading = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = &*loading
            && !*running.done.borrow()
            && running.done.has_changed().is_ok()
        {
            return (running.done.clone(), running.begun);
        }
        let (sender, done) = watch::channel(false);
        let begun = Instant::now();
        *loading = Some(Loading { done: done.clone(), begun });
        let station = Arc::clone(self);
        // A task of its own: the start of a server outlives the patience of whoever asked first.
        tokio::spawn(async move {
            match station.load().await {
                Ok(()) => station.announce_if_missed(),
                Err(error) => tracing::warn!(%error, "its tools are not listed"),
            }
            sender.send_replace(true);
        });
        (done, begun)
    }

    /// Clients that were shown a list without this server are told to look again.
    fn announce_if_missed(&self) {
        if self.missed.swap(false, Ordering::AcqRel) {
            for kind in [NoticeKind::ToolsChanged, NoticeKind::PromptsChanged, NoticeKind::ResourcesChanged] {
                let notice = Notice { upstream: self.id().clone(), kind };
                if self.notices.try_send(notice).is_err() {
                    tracing::warn!(server = %self.id(), "that its lists are there now could not be announced");
                }
            }
        }
    }

    async fn load(&self) -> Result<(), UpstreamError> {
        let greeting = self.upstream.greet().await?;
        let (tools, prompts, resources, templates) = tokio::join!(
            self.list(ListKind::Tools),
            self.list(ListKind::Prompts),
            self.list(ListKind::Resources),
            self.list(ListKind::ResourceTemplates),
        );
        // A server whose tools cannot be listed is not up; one that fails on another list keeps its tools.
        let tools = tools?;
        let stock = Stock {
            greeting,
            tools: Arc::new(tools),
            prompts: Arc::new(self.or_empty(prompts)),
            resources: Arc::new(self.or_empty(resources)),
            templates: Arc::new(self.or_empty(templates)),
        };
        self.put(stock);
        Ok(())
    }

    /// Loads one list again after the server said that it changed. Keeps the old one if that fails.
    pub(crate) async fn restock(&self, kinds: &[ListKind]) {
        for kind in kinds {
            let listing = match self.list(*kind).await {
                Ok(listing) => Arc::new(listing),
                Err(error) => {
                    tracing::warn!(%error, "its list could not be read again; the last one stays");
                    continue;
                }
            };
            let Some(stock) = self.stock() else { return };
            let mut stock = Stock::clone(&stock);
            match kind {
                ListKind::Tools => stock.tools = listing,
                ListKind::Prompts => stock.prompts = listing,
                ListKind::Resources => stock.resources = listing,
                ListKind::ResourceTemplates => stock.templates = listing,
            }
            if let Ok(greeting) = self.upstream.greet().await {
                stock.greeting = greeting;
            }
            self.put(stock);
        }
    }

    /// Sets the server's log level if a client wants more than it was set to.
    pub(crate) async fn want_log_level(&self, level: LogLevel) {
        {
            let mut set = self.log_level.lock().unwrap_or_else(PoisonError::into_inner);
            if set.is_some_and(|set| set <= level) {
                return;
            }
            *set = Some(level);
        }
        if let Err(error) = self.upstream.control(ControlMessage::LogLevel(level)).await {
            tracing::debug!(%error, "its log level could not be set");
            *self.log_level.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    async fn list(&self, kind: ListKind) -> Result<Listing, UpstreamError> {
        match self.upstream.control(ControlMessage::List(kind)).await? {
            ControlReply::Listing(listing) => Ok(listing),
            ControlReply::Done => Ok(Listing::default()),
        }
    }

    fn or_empty(&self, listing: Result<Listing, UpstreamError>) -> Listing {
        listing.unwrap_or_else(|error| {
            tracing::warn!(%error, "one of its lists could not be read");
            Listing::default()
        })
    }

    fn put(&self, stock: Stock) {
        self.stock.store(Some(Arc::new(stock)));
        self.stamp.fetch_add(1, Ordering::AcqRel);
    }
}
