//! Compares what a server lists with what is known of it, writes down what is new, and approves what is seen first of a
//! server that somebody stands for.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::{ArcSwap, ArcSwapOption};
use highwater_config::{ManifestSettings, ManifestSource, ServerSettings, Transport};
use highwater_core::id::UpstreamId;
use highwater_core::pin::Hold;
use highwater_core::policy::ManifestState;
use highwater_mcp::annotations::pinned;
use highwater_pins::{Basis, Concern, Definition, Drift, ManifestKey, PinKey, Terms, hidden_in, names_in};
use highwater_store::{Observation, Store, StoreError, StoredPin};
use highwater_upstream::Perform;
use serde_json::Value;

use super::admin::state;
use super::manifest::{self, Checked};
use super::masked::reached_words;
use super::observed::{Observed, Wanted, beside};
use super::offered_before_start::Memory;
use super::seen::{Definitions, definitions, reached};
use super::tool_names::{ToolNames, UnknownName};
use crate::catalog::{Contracts, Noted, ServerListing, Standing};
use crate::gateway::now;

/// Of how many resources of a server it is kept what they said. Those beyond are shown as they are listed, as new ones are.
const MAX_RESOURCES: usize = 1000;

/// What is known of a server once everything new is written down.
struct Written {
    stored: Vec<StoredPin>,
    concerns: BTreeMap<PinKey, Vec<Concern>>,
    manifest: Checked,
}

/// Keeps one server to its word.
#[derive(Debug)]
pub(crate) struct PinEnforcer {
    store: Store,
    server: UpstreamId,
    reached: Vec<(&'static str, Value)>,
    /// How it is reached, for people: without what looks like a secret.
    reached_words: String,
    /// Where it is, if it is anywhere.
    address: Option<String>,
    wanted: ArcSwap<Wanted>,
    standing: ArcSwap<Standing>,
    manifest: ArcSwapOption<ManifestSettings>,
    names: Arc<ToolNames>,
    memory: Memory,
    /// What the log says of it.
    told: Mutex<Option<Summary>>,
}

/// A server in one line of the log; `highwater servers inspect` has the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Summary {
    hold: Option<Hold>,
    tools: usize,
    approval: &'static str,
    held: usize,
    manifest: ManifestState,
    notices: usize,
    unverifiable: Vec<Arc<str>>,
    unknown_names: Vec<UnknownName>,
}

// === impl PinEnforcer ===

impl PinEnforcer {
    pub(crate) fn new(
        store: Store,
        server: &ServerSettings,
        wanted: Wanted,
        names: Arc<ToolNames>,
        memory: Memory,
    ) -> Self {
        let address = match &server.transport {
            Transport::Http { url, .. } => url.split('?').next().map(str::to_owned),
            Transport::Stdio { .. } => None,
        };
        Self {
            store,
            server: UpstreamId::new(server.name.as_str()),
            reached: reached(server),
            reached_words: reached_words(server),
            address,
            wanted: ArcSwap::from_pointee(wanted),
            standing: ArcSwap::from_pointee(Standing::new(server)),
            manifest: ArcSwapOption::new(server.manifest.clone().map(Arc::new)),
            names,
            memory,
            told: Mutex::default(),
        }
    }

    /// Takes up what the operator wants now. Whether it must be looked at again.
    pub(crate) fn want(&self, server: &ServerSettings, wanted: Wanted) -> bool {
        let manifest = server.manifest.clone().map(Arc::new);
        // A file may hold something else than it did.
        let in_file = manifest.as_ref().is_some_and(|it| matches!(it.from, ManifestSource::File(_)));
        let other = self.manifest.swap(manifest.clone()) != manifest;
        self.standing.store(Arc::new(Standing::new(server)));
        *self.wanted.swap(Arc::new(wanted)) != wanted || other || in_file
    }

    /// Where the server is, if it is anywhere.
    pub(crate) fn address(&self) -> Option<&str> {
        self.address.as_deref()
    }

    /// How the server is reached, for people.
    pub(crate) fn reached_words(&self) -> &str {
        &self.reached_words
    }

    /// What the operator calls the server, if anything.
    pub(crate) fn title(&self) -> Option<String> {
        self.standing.load().title().map(str::to_owned)
    }

    pub(crate) fn wanted(&self) -> Wanted {
        **self.wanted.load()
    }

    /// What may be offered of the server before it has started: what was seen of it the last time. Nothing, where it is
    /// reached in another way now, where nobody has approved it, or where it is a manifest that counts, since only the
    /// server has that. Also whether it has tools whose names were not known.
    pub(crate) async fn kept(&self) -> Option<(ServerListing, bool)> {
        let wanted = self.wanted();
        if wanted.manifest {
            return None;
        }
        let stored = self.store.pins(self.server.as_str()).await;
        let stored = stored.inspect_err(|error| {
            tracing::warn!(server = %self.server, %error, "what was approved of it cannot be read yet");
        });
        let observed = Observed::kept(stored.ok()?);
        if !observed.was_reached_by(&self.reached) || observed.server_hold(wanted).is_some() {
            return None;
        }
        let has_new_names = self.names.note(&self.server, observed.tools().cloned().collect());
        Some((self.memory.server_listing(observed), has_new_names))
    }

    /// Keeps what the server says for the next run.
    pub(crate) fn remember(&self, server_listing: &ServerListing) {
        self.memory.keep(server_listing);
    }

    /// What is known of a server that lists this, and whether it has tools whose names were not known.
    pub(crate) async fn observe(
        &self,
        upstream: &dyn Perform,
        server_listing: &ServerListing,
    ) -> (Observed, bool) {
        let settings = self.manifest.load_full();
        let key = settings
            .as_deref()
            .map(|settings| settings.keys.iter().map(ManifestKey::id).collect::<Vec<_>>().join(" "));
        let definitions = definitions(&self.reached, server_listing, key.as_deref());
        let observed = match self.written(upstream, settings.as_deref(), server_listing, &definitions).await {
            Ok(Written { stored, concerns, manifest }) => {
                let mut observed = Observed::new(definitions, Some(stored));
                (observed.concerns, observed.manifest) = (concerns, manifest);
                observed
            }
            Err(error) => {
                tracing::error!(server = %self.server, %error, "what was approved of it cannot be read, so it is held");
                Observed::new(definitions, None)
            }
        };
        let has_new_names = self.names.note(&self.server, observed.tools().cloned().collect());
        (observed, has_new_names)
    }

    /// Pins what its resources say now: a person approved the server as it is.
    pub(crate) async fn pin_resources(&self, server_listing: &ServerListing) -> Result<(), StoreError> {
        let Some(said) = resources(server_listing) else { return Ok(()) };
        let known = self.store.pins(self.server.as_str()).await?;
        let kept = known.iter().find(|stored| stored.key == said.key).and_then(|stored| stored.seen.as_ref());
        if kept.map(|kept| kept.digest) == said.seen.as_ref().map(|(digest, _)| *digest) {
            return Ok(());
        }
        self.store.observe(self.server.as_str(), vec![said]).await
    }

    /// What people should know of how the server describes its tools.
    pub(super) fn noted(&self, server_listing: &ServerListing) -> Noted {
        Contracts::noting(Standing::clone(&self.standing.load()), Some(server_listing)).1
    }

    /// How the server's tools are judged.
    pub(crate) fn contracts(&self, server_listing: &ServerListing) -> Contracts {
        Contracts::noting(Standing::clone(&self.standing.load()), Some(server_listing)).0
    }

    /// The names in the operator's labels and allow-list that name nothing of what the server lists.
    pub(crate) fn unknown_names(&self, server_listing: &ServerListing) -> Vec<UnknownName> {
        self.standing.load().unknown_names(server_listing)
    }

    /// Says in one line how the server is, once it is known and whenever that changes.
    pub(crate) fn tell(&self, server_listing: &ServerListing) {
        let (server, wanted, observed) = (&self.server, self.wanted(), &server_listing.observed);
        let noted = self.noted(server_listing);
        let summary = Summary {
            hold: observed.server_hold(wanted),
            tools: server_listing.tools.items.len(),
            approval: state(Some(observed), wanted),
            held: observed.held(wanted),
            manifest: observed.manifest(),
            notices: noted.notices.values().map(Vec::len).sum(),
            unverifiable: noted.unverifiable,
            unknown_names: self.unknown_names(server_listing),
        };
        self.names.tell();
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner).replace(summary.clone());
        if told.as_ref() == Some(&summary) {
            return;
        }
        let Summary { hold, tools, approval, held, manifest, notices, unverifiable, unknown_names } = summary;
        match hold {
            None => tracing::info!(
                %server, tools, approval, held, %manifest, notices,
                "a server is known; `highwater servers inspect {server}` tells all about it"
            ),
            Some(hold) if told.as_ref().is_none_or(|told| told.hold != Some(hold)) => tracing::warn!(
                %server, tools, approval, held, %manifest, notices,
                "nothing of server `{server}` reaches an agent: {}; look at it with `highwater servers diff {server}`, \
                 then `highwater servers approve {server}`",
                hold.words()
            ),
            Some(_) => {}
        }
        for tool in unverifiable
            .iter()
            .filter(|tool| told.as_ref().is_none_or(|told| !told.unverifiable.contains(tool)))
        {
            tracing::warn!(
                %server, tool = &**tool,
                "it says that the tool needs a verified approval, and does not declare that it verifies any: the tool is \
                 refused"
            );
        }
        let is_new =
            |name: &&UnknownName| told.as_ref().is_none_or(|told| !told.unknown_names.contains(name));
        for name in unknown_names.iter().filter(is_new) {
            tracing::warn!("{name}");
        }
    }

    /// What is known, after what is new has been written down.
    async fn written(
        &self,
        upstream: &dyn Perform,
        settings: Option<&ManifestSettings>,
        server_listing: &ServerListing,
        definitions: &Definitions,
    ) -> Result<Written, StoreError> {
        let known = self.store.pins(self.server.as_str()).await?;
        let manifest =
            manifest::check(upstream, settings, self.address.as_deref(), server_listing, &known, now()).await;
        if settings.is_some() {
            let says = manifest.says.as_deref().unwrap_or_default();
            tracing::debug!(server = %self.server, manifest = %manifest.state, says, "its manifest was looked at");
        }
        let concerns = self.concerns(definitions);
        for (key, concern) in concerns.iter().flat_map(|(key, all)| all.iter().map(move |one| (key, one))) {
            tracing::warn!(
                server = %self.server, what = %key, part = concern.part,
                "its definition holds {} ({})", concern.kind, concern.what.escape_default()
            );
        }
        let terms = self.wanted().terms(manifest.state);
        let first = first_contact(&terms, definitions, &known);
        let approve = |key: &PinKey| {
            let basis = first.filter(|_| !concerns.contains_key(key))?;
            match basis {
                // A manifest stands for what it signs, and for the server itself; the operator for the rest.
                Basis::Manifest if *key == PinKey::identity() || manifest.signed.contains(key) => Some(basis),
                Basis::Manifest if manifest.unsigned.contains(key) => None,
                Basis::Manifest => terms.vouched.then_some(Basis::Vouched),
                Basis::Vouched | Basis::Person => Some(basis),
            }
        };
        let by_key: HashMap<&PinKey, &StoredPin> = known.iter().map(|stored| (&stored.key, stored)).collect();
        let mut news = Vec::new();
        for (key, seen) in definitions {
            let stored = by_key.get(key).copied();
            let last = stored.and_then(|stored| stored.seen.as_ref()).map(|seen| seen.digest);
            if last != Some(seen.digest()) {
                self.report(seen, stored);
            }
            if last != Some(seen.digest()) || approve(key).is_some() {
                let text = seen.text().to_string();
                news.push(Observation {
                    key: key.clone(),
                    seen: Some((seen.digest(), text)),
                    approve: approve(key),
                });
            }
        }
        let is_gone = |stored: &&StoredPin| {
            stored.key.is_definition() && stored.seen.is_some() && !definitions.contains_key(&stored.key)
        };
        for stored in known.iter().filter(is_gone) {
            tracing::info!(server = %self.server, "no longer has {}", stored.key);
            news.push(Observation { key: stored.key.clone(), seen: None, approve: None });
        }
        news.extend(manifest.observation());
        // What resources say is pinned with their server, without a question: where it was approved before they were.
        let is_known = by_key.get(&PinKey::identity()).and_then(|stored| stored.pin.as_ref());
        let is_approved = first.is_some() || is_known.is_some_and(|pin| terms.honours(pin.basis));
        if is_approved && !by_key.contains_key(&PinKey::resources()) {
            news.extend(resources(server_listing));
        }
        if news.is_empty() {
            return Ok(Written { stored: known, concerns, manifest });
        }
        self.store.observe(self.server.as_str(), news).await?;
        let stored = self.store.pins(self.server.as_str()).await?;
        Ok(Written { stored, concerns, manifest })
    }

    /// Whether there is more that a person should see of what was observed than there was then: tools of other servers are
    /// known that were not.
    pub(crate) fn has_new_concerns(&self, observed: &Observed) -> bool {
        self.concerns(&observed.definitions) != observed.concerns
    }

    /// What a person should see before a model does.
    fn concerns(&self, definitions: &Definitions) -> BTreeMap<PinKey, Vec<Concern>> {
        let own = definitions.keys().map(|key| Arc::clone(&key.name)).collect::<BTreeSet<_>>();
        let mut all = BTreeMap::new();
        for (key, definition) in definitions {
            let mut concerns = hidden_in(definition);
            let foreign = |name: &str| !own.contains(name) && self.names.is_of_another(&self.server, name);
            concerns.extend(names_in(definition, foreign));
            if !concerns.is_empty() {
                all.insert(key.clone(), concerns);
            }
        }
        all
    }

    /// Says what is new.
    fn report(&self, seen: &Definition, stored: Option<&StoredPin>) {
        let pinned = stored
            .and_then(|stored| stored.pin.as_ref())
            .and_then(|pin| pinned::read_back(seen.key().kind, &pin.definition.text));
        let Some(pinned) = pinned else {
            return tracing::debug!(server = %self.server, "new: {}", visible(seen.key()));
        };
        if let Some(drift) = Drift::between(&pinned, seen) {
            let parts: Vec<&str> = drift.changes().iter().map(|change| &*change.part).collect();
            let verdict = if drift.holds() { "held" } else { "noted" };
            tracing::warn!(
                server = %self.server, parts = ?parts,
                "{} is not what was approved; {verdict}. `highwater servers diff {}` shows it",
                visible(seen.key()), self.server
            );
        }
    }
}

/// What the resources of a server say, to be pinned.
fn resources(server_listing: &ServerListing) -> Option<Observation> {
    let items = server_listing.resources.items.iter().take(MAX_RESOURCES);
    let lists = server_listing.lists().map(|(kind, listing)| (kind.member(), beside(listing)));
    let all = pinned::resources(items.filter_map(|item| std::str::from_utf8(item).ok()), lists)?;
    let seen = Some((all.digest(), all.text().to_string()));
    Some(Observation { key: PinKey::resources(), seen, approve: None })
}

/// On whose word everything is approved that is seen now: where the server itself is not known yet and somebody stands for
/// it.
fn first_contact(terms: &Terms, definitions: &Definitions, known: &[StoredPin]) -> Option<Basis> {
    let basis = terms.approves_first_seen()?;
    let identity = known.iter().find(|stored| stored.key == PinKey::identity());
    let is_known =
        identity.and_then(|stored| stored.pin.as_ref()).is_some_and(|pin| terms.honours(pin.basis));
    let seen = definitions.get(&PinKey::identity()).map(Definition::digest);
    let is_refused = identity.is_some_and(|stored| stored.rejected.is_some() && stored.rejected == seen);
    (!is_known && !is_refused).then_some(basis)
}

/// A name for the log; names are the server's words.
fn visible(key: &PinKey) -> String {
    key.to_string().escape_debug().to_string()
}
