//! One upstream together with what it last listed. Loading is shared: whoever comes while it is under way waits
//! for the same attempt, and only for a bounded time. Until it has listed anything in this run, what was approved of it
//! in an earlier one is listed.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::gateway::now;
use crate::pins::{Observed, PinEnforcer};
use arc_swap::ArcSwapOption;
use highwater_core::id::UpstreamId;
use highwater_upstream::Perform;
use highwater_upstream::control::{ControlMessage, ControlReply, ListKind, Listing, LogLevel};
use highwater_upstream::error::{Cause, UpstreamError};
use highwater_upstream::event::{Notice, NoticeKind, NoticeSink};
use tokio::sync::watch;
use tokio::time::Instant;

use super::loading::{Loaded, Loading};
use super::refresh::Refresh;
use super::server_listing::ServerListing;

/// How long a server that is still starting is waited for, from the beginning of its start. What comes later is announced
/// as a change.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// How long one list waits for it: many clients give up after five seconds.
const LIST_PATIENCE: Duration = Duration::from_secs(4);

/// How long until what was approved of a server is looked up again after that failed.
const AGAIN: Duration = Duration::from_secs(2);

/// An upstream and what it lists.
pub(crate) struct CatalogServer {
    pub(crate) upstream: Box<dyn Perform>,
    /// Holds the server to what was approved.
    pub(crate) enforcer: PinEnforcer,
    /// Whoever changes the listing keeps others from changing it meanwhile.
    settling: tokio::sync::Mutex<()>,
    /// Of several who find that it must be looked at again one does. Whoever waits for that waits for this.
    pub(super) refreshing: Arc<tokio::sync::Mutex<()>>,
    pub(super) refresh: Refresh,
    /// When the last listing of everything that came to an end was begun.
    pub(super) listed_from: Mutex<Option<Instant>>,
    /// Set while it is looked at because of a new client, whose first list waits for that.
    pub(super) for_new_client: AtomicBool,
    /// Lists are read again one after another.
    restocking: tokio::sync::Mutex<()>,
    /// Which of them somebody waits to read again.
    waiting_to_restock: Mutex<BTreeSet<ListKind>>,
    pub(super) server_listing: ArcSwapOption<ServerListing>,
    /// Counts changes of the listing, so that merged lists know when they are stale.
    stamp: AtomicU64,
    loading: Mutex<Option<Loading>>,
    /// Whether it was looked up what was approved of it in an earlier run.
    looked_up: AtomicBool,
    /// Whether any of that was offered.
    offered: AtomicBool,
    /// The most verbose log level this upstream was set to.
    pub(super) log_level: Mutex<Option<LogLevel>>,
    /// Set when somebody was shown a list without this server.
    missed: AtomicBool,
    /// Where we say that its lists are there after all.
    notices: NoticeSink,
    /// Shared with every action that is bound for here, from its routing to its delivery.
    bound: Arc<()>,
}

/// Whether a server was not there at all, so that a call to it fails by itself.
fn cannot_be_reached(cause: &Cause) -> bool {
    matches!(
        cause,
        Cause::Unreachable(_)
            | Cause::NoConnection(_)
            | Cause::Gone(_)
            | Cause::NotStarted(_)
            | Cause::NoProgram { .. }
            | Cause::BackingOff(_)
    )
}

// === impl CatalogServer ===

impl CatalogServer {
    pub(crate) fn new(
        upstream: Box<dyn Perform>,
        enforcer: PinEnforcer,
        notices: NoticeSink,
        refresh: Duration,
    ) -> Arc<Self> {
        Arc::new(Self {
            upstream,
            enforcer,
            settling: tokio::sync::Mutex::default(),
            refreshing: Arc::default(),
            refresh: Refresh::every(refresh),
            listed_from: Mutex::default(),
            for_new_client: AtomicBool::new(false),
            restocking: tokio::sync::Mutex::default(),
            waiting_to_restock: Mutex::default(),
            server_listing: ArcSwapOption::empty(),
            stamp: AtomicU64::new(0),
            loading: Mutex::new(None),
            looked_up: AtomicBool::new(false),
            offered: AtomicBool::new(false),
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

    /// What is listed now, without asking the server.
    pub(crate) fn server_listing(&self) -> Option<Arc<ServerListing>> {
        self.server_listing.load_full()
    }

    /// What the server itself has listed in this run.
    pub(crate) fn seen(&self) -> Option<Arc<ServerListing>> {
        self.server_listing().filter(|server_listing| !server_listing.is_kept)
    }

    /// Whether the server itself has listed anything in this run.
    pub(crate) fn is_seen(&self) -> bool {
        self.server_listing.load().as_ref().is_some_and(|server_listing| !server_listing.is_kept)
    }

    /// Whether what is listed is what was approved in an earlier run.
    pub(crate) fn is_kept(&self) -> bool {
        self.server_listing.load().as_ref().is_some_and(|server_listing| server_listing.is_kept)
    }

    /// Whether anything of it was offered before it had started.
    pub(crate) fn was_offered(&self) -> bool {
        self.offered.load(Ordering::Acquire)
    }

    pub(crate) fn stamp(&self) -> u64 {
        self.stamp.load(Ordering::Acquire)
    }

    /// Puts what was approved of the server in an earlier run into its listing, once, unless it has listed something itself.
    pub(crate) async fn offer_kept(self: &Arc<Self>) {
        if self.server_listing.load().is_some() || self.looked_up.load(Ordering::Acquire) {
            return;
        }
        let _settling = self.settling.lock().await;
        if self.server_listing.load().is_some() || self.looked_up.swap(true, Ordering::AcqRel) {
            return;
        }
        if let Some((kept, has_new_names)) = self.enforcer.kept().await {
            tracing::debug!(server = %self.id(), "offered as it was approved; it is started meanwhile");
            self.server_listing.store(Some(Arc::new(kept)));
            self.offered.store(true, Ordering::Release);
            self.stamp.fetch_add(1, Ordering::AcqRel);
            if has_new_names {
                self.notify(NoticeKind::NewNames);
            }
        }
    }

    /// Begins to load the lists, if nobody has, and waits for nothing. Whoever is shown lists without them is told later.
    pub(crate) fn start_loading(self: &Arc<Self>) {
        if !self.is_seen() {
            self.missed.store(true, Ordering::Release);
            self.begin_loading();
        }
    }

    /// Makes sure that something is listed: what was approved of it in an earlier run, or what it lists. Gives up waiting,
    /// but not loading, when patience ends.
    pub(crate) async fn ensure_stocked(self: &Arc<Self>) {
        self.offer_kept().await;
        if self.server_listing.load().is_some() {
            return self.start_loading();
        }
        self.wait_for_list(Instant::now() + LIST_PATIENCE).await;
    }

    /// Starts the server and lists what it has, whoever may want it.
    pub(crate) async fn start(self: &Arc<Self>) {
        self.offer_kept().await;
        self.start_loading();
    }

    /// Waits until the server has listed what it has, for as long as a call that is not known may wait for that.
    pub(crate) async fn ensure_listed(self: &Arc<Self>) {
        self.wait_for_list(Instant::now() + PATIENCE).await;
    }

    /// Waits for what is not kept with its definitions, as long as one list may take.
    pub(crate) async fn ensure_resources(self: &Arc<Self>) {
        if self
            .server_listing
            .load()
            .as_ref()
            .is_some_and(|server_listing| server_listing.is_kept && server_listing.greeting.has("resources"))
        {
            self.wait_for_list(Instant::now() + LIST_PATIENCE).await;
        }
    }

    async fn wait_for_list(self: &Arc<Self>, until: Instant) {
        if self.is_seen() {
            return;
        }
        let (mut done, begun) = self.begin_loading();
        // An error means that the loading task is gone, which is as much of an answer as any.
        let waited =
            tokio::time::timeout_at(until.min(begun + PATIENCE), done.wait_for(Option::is_some)).await;
        if !self.is_seen() {
            self.missed.store(true, Ordering::Release);
        }
        if waited.is_err() {
            tracing::warn!(server = %self.id(), "still starting; its tools are listed when it is ready");
        }
    }

    /// Waits until the server has listed what it has in this run, or why it does not, in words.
    pub(crate) async fn met(self: &Arc<Self>) -> Result<(), String> {
        if self.is_seen() {
            return Ok(());
        }
        let (mut done, _) = self.begin_loading();
        let patience = self.upstream.spec().timeouts.call;
        let loaded = match tokio::time::timeout(patience, done.wait_for(Option::is_some)).await {
            Ok(Ok(loaded)) => loaded.clone(),
            Ok(Err(_)) => None,
            Err(_) => return Err(format!("is still starting after {patience:?}")),
        };
        match loaded {
            Some(Ok(())) => Ok(()),
            Some(Err(cause)) => Err(cause.to_string()),
            None => Err("cannot be reached".to_owned()),
        }
    }

    /// Whether an attempt to list everything is under way.
    pub(crate) fn is_loading(&self) -> bool {
        let loading = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        loading.as_ref().is_some_and(Loading::is_under_way)
    }

    fn begin_loading(self: &Arc<Self>) -> (watch::Receiver<Loaded>, Instant) {
        let mut loading = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = &*loading
            && running.is_under_way()
        {
            return (running.done.clone(), running.begun);
        }
        let (sender, done) = watch::channel(None);
        let begun = Instant::now();
        *loading = Some(Loading { done: done.clone(), begun });
        let catalog_server = Arc::clone(self);
        // A task of its own: the start of a server outlives the patience of whoever asked first.
        tokio::spawn(async move {
            let loaded = catalog_server.load().await;
            match &loaded {
                Ok(()) => {
                    catalog_server.announce_if_missed();
                    catalog_server.resume_log_level().await;
                }
                Err(error) => tracing::warn!(%error, "its tools are not listed"),
            }
            sender.send_replace(Some(loaded.map_err(|error| error.cause)));
        });
        (done, begun)
    }

    /// Clients that were shown a list without this server, or as it was kept, are told to look again.
    fn announce_if_missed(&self) {
        if self.missed.swap(false, Ordering::AcqRel) {
            self.notify(NoticeKind::Listed);
        }
    }

    /// Has the lists read again, looked at, and announced.
    fn announce(&self) {
        for kind in [NoticeKind::ToolsChanged, NoticeKind::PromptsChanged, NoticeKind::ResourcesChanged] {
            self.notify(kind);
        }
    }

    fn notify(&self, kind: NoticeKind) {
        let notice = Notice { upstream: self.id().clone(), session: None, kind };
        if self.notices.try_send(notice).is_err() {
            tracing::warn!(server = %self.id(), "that its lists are there now could not be announced");
        }
    }

    /// Lists everything it has. Where that is what is listed, nothing else is done.
    pub(super) async fn load(self: &Arc<Self>) -> Result<(), UpstreamError> {
        self.refresh.note_begin();
        let begun = Instant::now();
        let loaded = self.load_all().await;
        match &loaded {
            Ok(holds) => {
                self.refresh.note_look(*holds);
                *self.listed_from.lock().unwrap_or_else(PoisonError::into_inner) = Some(begun);
            }
            Err(error) if cannot_be_reached(&error.cause) => self.refresh.note_failure(),
            Err(_) => {}
        }
        loaded.map(|_| ())
    }

    /// The same; for how many milliseconds what it listed holds, by its own words.
    async fn load_all(self: &Arc<Self>) -> Result<Option<u64>, UpstreamError> {
        if self.is_seen() {
            // Without it, another server behind the same address would go by the name of the one that was met.
            self.upstream.control(ControlMessage::Greet).await?;
        }
        let greeting = self.upstream.greet().await?;
        let (connection, breaks) = (self.upstream.connection(), self.upstream.breaks());
        let (tools, prompts, resources, templates) = tokio::join!(
            self.list(ListKind::Tools),
            self.list(ListKind::Prompts),
            self.list(ListKind::Resources),
            self.list(ListKind::ResourceTemplates),
        );
        // A server whose tools cannot be listed is not up; one that fails on another list keeps its tools.
        let tools = tools?;
        let _settling = self.settling.lock().await;
        let old = self.server_listing();
        // What cannot be listed now is there as it was, unless it may be another who has it.
        let kept = old.as_deref().filter(|old| !old.is_kept && old.connection == connection);
        let server_listing = ServerListing {
            greeting,
            tools: Arc::new(tools),
            prompts: self.or_kept(prompts, kept.map(|kept| &kept.prompts)),
            resources: self.or_kept(resources, kept.map(|kept| &kept.resources)),
            templates: self.or_kept(templates, kept.map(|kept| &kept.templates)),
            observed: Arc::new(Observed::nothing()),
            connection,
            breaks,
            is_kept: false,
        };
        let lists = [
            &server_listing.tools,
            &server_listing.prompts,
            &server_listing.resources,
            &server_listing.templates,
        ];
        let holds = lists.into_iter().filter_map(|list| list.ttl).min();
        // Who was shown what an earlier run had listed is told by `announce_if_missed`.
        let listed = old.as_deref().filter(|old| !old.is_kept);
        let changed = listed.map(|old| old.changes_to(&server_listing)).unwrap_or_default();
        match old {
            Some(old) if old.is_same(&server_listing) && !old.observed.is_unreadable() => {}
            _ => self.put(server_listing).await,
        }
        for kind in changed {
            self.notify(NoticeKind::Reread(kind));
        }
        Ok(holds)
    }

    /// Whether these lists are to be read again: not if somebody waits to read them already.
    pub(crate) fn wants_restock(&self, kinds: &[ListKind]) -> bool {
        let mut waiting = self.waiting_to_restock.lock().unwrap_or_else(PoisonError::into_inner);
        let before = waiting.len();
        waiting.extend(kinds);
        waiting.len() > before
    }

    /// Reads these lists again when whoever reads lists is done.
    pub(crate) async fn restock_in_turn(self: &Arc<Self>, kinds: &[ListKind]) {
        let _restocking = self.restocking.lock().await;
        {
            let mut waiting = self.waiting_to_restock.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.retain(|kind| !kinds.contains(kind));
        }
        self.restock(kinds).await;
    }

    /// Loads one list again after the server said that it changed. Keeps the old one if that fails.
    pub(crate) async fn restock(self: &Arc<Self>, kinds: &[ListKind]) {
        if self.is_kept() {
            // Of what was kept not one list stays as it is.
            return self.ensure_listed().await;
        }
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
            let Some(server_listing) = self.server_listing() else { return };
            let mut server_listing = ServerListing::clone(&server_listing);
            match kind {
                ListKind::Tools => server_listing.tools = listing,
                ListKind::Prompts => server_listing.prompts = listing,
                ListKind::Resources => server_listing.resources = listing,
                ListKind::ResourceTemplates => server_listing.templates = listing,
            }
            if let Some(greeting) = greeting {
                server_listing.greeting = greeting;
            }
            // One list alone does not show what became of the others.
            if server_listing.connection != connection {
                server_listing.connection = None;
            }
            self.put(server_listing).await;
        }
    }

    /// Whether what is listed stands otherwise now that tools of other servers are known.
    pub(crate) fn names_others(&self) -> bool {
        self.server_listing()
            .is_some_and(|server_listing| self.enforcer.has_new_concerns(&server_listing.observed))
    }

    /// Looks again at what was approved of what is listed.
    pub(crate) async fn review(self: &Arc<Self>) {
        let _settling = self.settling.lock().await;
        match self.server_listing() {
            Some(server_listing) if server_listing.is_kept => {
                self.server_listing.store(self.enforcer.kept().await.map(|(kept, _)| Arc::new(kept)));
                self.stamp.fetch_add(1, Ordering::AcqRel);
            }
            Some(server_listing) => self.put(ServerListing::clone(&server_listing)).await,
            None => {}
        }
    }

    async fn list(&self, kind: ListKind) -> Result<Listing, UpstreamError> {
        match self.upstream.control(ControlMessage::List(kind)).await? {
            ControlReply::Listing(listing) => Ok(listing),
            ControlReply::Manifest(_) | ControlReply::Done => Ok(Listing::default()),
        }
    }

    fn or_kept(&self, listing: Result<Listing, UpstreamError>, kept: Option<&Arc<Listing>>) -> Arc<Listing> {
        listing.map(Arc::new).unwrap_or_else(|error| {
            tracing::warn!(%error, "one of its lists could not be read");
            kept.map(Arc::clone).unwrap_or_default()
        })
    }

    /// Nothing is listed before it is known what was approved of it.
    async fn put(self: &Arc<Self>, mut server_listing: ServerListing) {
        let (observed, has_new_names) = self.enforcer.observe(&*self.upstream, &server_listing).await;
        server_listing.observed = Arc::new(observed);
        // Looked at again soon where something could not be had, and when a manifest ceases to count.
        let expires = server_listing
            .observed
            .expires()
            .map(|time| Duration::from_millis(time.0.saturating_sub(now().0)));
        let again = if server_listing.observed.is_unreadable() { Some(AGAIN) } else { expires };
        self.enforcer.tell(&server_listing);
        self.enforcer.remember(&server_listing);
        self.server_listing.store(Some(Arc::new(server_listing)));
        self.stamp.fetch_add(1, Ordering::AcqRel);
        if has_new_names {
            self.notify(NoticeKind::NewNames);
        }
        if let Some(wait) = again {
            let (catalog_server, stamp) = (Arc::downgrade(self), self.stamp());
            tokio::spawn(async move {
                tokio::time::sleep(wait).await;
                // Whoever looked since has seen to it.
                if let Some(catalog_server) =
                    catalog_server.upgrade().filter(|catalog_server| catalog_server.stamp() == stamp)
                {
                    catalog_server.announce();
                }
            });
        }
    }
}
