//! One upstream together with what it last listed. Loading is shared: whoever comes while it is under way waits
//! for the same attempt, and only for a bounded time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::gateway::now;
use crate::pins::{Keeper, Observed};
use arc_swap::ArcSwapOption;
use highwater_core::id::UpstreamId;
use highwater_upstream::control::{ControlMessage, ControlReply, ListKind, Listing, LogLevel};
use highwater_upstream::error::UpstreamError;
use highwater_upstream::event::{Notice, NoticeKind, NoticeSink};
use highwater_upstream::{Greeting, Perform};
use tokio::sync::watch;
use tokio::time::Instant;

/// How long a list waits for a server that is still starting. What comes later is announced as a change.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long until what was approved of a server is looked up again after that failed.
const AGAIN: Duration = Duration::from_secs(2);

/// An upstream and its stock.
pub(crate) struct Station {
    pub(crate) upstream: Box<dyn Perform>,
    /// Holds the server to what was approved.
    pub(crate) keeper: Keeper,
    /// Whoever changes the stock keeps others from changing it meanwhile.
    settling: tokio::sync::Mutex<()>,
    /// Of several who find that it came back one looks at it again.
    refreshing: tokio::sync::Mutex<()>,
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
    /// What was approved of it.
    pub(crate) observed: Arc<Observed>,
    /// The connection on which it was listed.
    connection: Option<u64>,
}

struct Loading {
    done: watch::Receiver<bool>,
    begun: Instant,
}

// === impl Stock ===

impl Stock {
    /// The same of a server whose instructions nobody approved.
    pub(super) fn without_instructions(&self) -> Arc<Self> {
        let greeting = Greeting { instructions: None, ..Greeting::clone(&self.greeting) };
        Arc::new(Self { greeting: Arc::new(greeting), ..self.clone() })
    }
}

// === impl Station ===

impl Station {
    pub(crate) fn new(upstream: Box<dyn Perform>, keeper: Keeper, notices: NoticeSink) -> Arc<Self> {
        Arc::new(Self {
            upstream,
            keeper,
            settling: tokio::sync::Mutex::default(),
            refreshing: tokio::sync::Mutex::default(),
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
            self.announce();
        }
    }

    /// Has the lists read again, looked at, and announced.
    fn announce(&self) {
        for kind in [NoticeKind::ToolsChanged, NoticeKind::PromptsChanged, NoticeKind::ResourcesChanged] {
            let notice = Notice { upstream: self.id().clone(), kind };
            if self.notices.try_send(notice).is_err() {
                tracing::warn!(server = %self.id(), "that its lists are there now could not be announced");
            }
        }
    }

    async fn load(self: &Arc<Self>) -> Result<(), UpstreamError> {
        let greeting = self.upstream.greet().await?;
        let connection = self.upstream.connection();
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
            observed: Arc::new(Observed::nothing()),
            connection,
        };
        let _settling = self.settling.lock().await;
        self.put(stock).await;
        Ok(())
    }

    /// Loads one list again after the server said that it changed. Keeps the old one if that fails.
    pub(crate) async fn restock(self: &Arc<Self>, kinds: &[ListKind]) {
        for kind in kinds {
            let listing = match self.list(*kind).await {
                Ok(listing) => Arc::new(listing),
                Err(error) => {
                    tracing::warn!(%error, "its list could not be read again; the last one stays");
                    continue;
                }
            };
            let greeting = self.upstream.greet().await.ok();
            let connection = self.upstream.connection();
            let _settling = self.settling.lock().await;
            let Some(stock) = self.stock() else { return };
            let mut stock = Stock::clone(&stock);
            match kind {
                ListKind::Tools => stock.tools = listing,
                ListKind::Prompts => stock.prompts = listing,
                ListKind::Resources => stock.resources = listing,
                ListKind::ResourceTemplates => stock.templates = listing,
            }
            if let Some(greeting) = greeting {
                stock.greeting = greeting;
            }
            // One list alone does not show what became of the others.
            if stock.connection != connection {
                stock.connection = None;
            }
            self.put(stock).await;
        }
    }

    /// Whether what is in stock was listed by the process or on the connection that is used.
    pub(crate) fn is_current(&self) -> bool {
        let listed = self.stock.load().as_ref().and_then(|stock| stock.connection);
        listed.is_some() && listed == self.upstream.connection()
    }

    /// Whether what is in stock was listed on this connection and this is true of what was approved of it.
    pub(crate) fn stands_on(
        &self,
        connection: Option<u64>,
        is_true: impl FnOnce(&Arc<Observed>) -> bool,
    ) -> bool {
        let stock = self.stock.load();
        let listed = stock.as_ref().filter(|stock| connection.is_some() && stock.connection == connection);
        listed.is_some_and(|stock| is_true(&stock.observed))
    }

    /// Makes sure that what is in stock was listed by the process or on the connection that is used: a server that came
    /// back may not be what it was. Gives up when patience ends; what follows then fails by itself.
    pub(crate) async fn ensure_current(self: &Arc<Self>) {
        if self.stock.load().is_none() {
            return self.ensure_stocked().await;
        }
        let again = async {
            let _refreshing = self.refreshing.lock().await;
            if !self.is_current()
                && let Err(error) = self.load().await
            {
                tracing::warn!(%error, "it came back and could not be looked at again");
            }
        };
        if tokio::time::timeout(PATIENCE, again).await.is_err() {
            tracing::warn!(server = %self.id(), "it came back and could not be looked at again in time");
        }
    }

    /// Looks again at what was approved of what is in stock.
    pub(crate) async fn review(self: &Arc<Self>) {
        let _settling = self.settling.lock().await;
        if let Some(stock) = self.stock() {
            self.put(Stock::clone(&stock)).await;
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
            ControlReply::Manifest(_) | ControlReply::Done => Ok(Listing::default()),
        }
    }

    fn or_empty(&self, listing: Result<Listing, UpstreamError>) -> Listing {
        listing.unwrap_or_else(|error| {
            tracing::warn!(%error, "one of its lists could not be read");
            Listing::default()
        })
    }

    /// Nothing is in stock before it is known what was approved of it.
    async fn put(self: &Arc<Self>, mut stock: Stock) {
        stock.observed = Arc::new(self.keeper.observe(&*self.upstream, &stock).await);
        // Looked at again soon where something could not be had, and when a manifest ceases to count.
        let expires =
            stock.observed.expires().map(|time| Duration::from_millis(time.0.saturating_sub(now().0)));
        let again = if stock.observed.is_unreadable() { Some(AGAIN) } else { expires };
        self.keeper.tell(&stock);
        self.stock.store(Some(Arc::new(stock)));
        self.stamp.fetch_add(1, Ordering::AcqRel);
        if let Some(wait) = again {
            let (station, stamp) = (Arc::downgrade(self), self.stamp());
            tokio::spawn(async move {
                tokio::time::sleep(wait).await;
                // Whoever looked since has seen to it.
                if let Some(station) = station.upgrade().filter(|station| station.stamp() == stamp) {
                    station.announce();
                }
            });
        }
    }
}
