//! The gateway itself: what it is made of, how it is started, changed while it runs, and stopped.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwap;
use aws_lc_rs::constant_time::verify_slices_are_equal;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use highwater_config::{AuditSettings, Expose, ServerSettings, Settings, Start};
use highwater_core::id::{Principal, UpstreamId, VirtualServerId};
use highwater_core::seal::Seal;
use highwater_notation::Timestamp;
use highwater_passkey::ToolName;
use highwater_pins::PinKind;
use highwater_store::{
    AuditError, AuditLog, AuditRetention, DataDir, DataDirError, GatewayTokens, RememberedServers, Secret,
    Store, TokenRecord,
};
use highwater_upstream::{Perform, RememberedEra, ServerSpec, Upstream};
use thiserror::Error;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::access::AccessLog;
use crate::approvals::{ApprovalService, ApprovalServiceParts, Catalog, CatalogTool};
use crate::catalog::{CatalogServer, Standing, Standings, VirtualServer, wanted};
use crate::decision_ids::DecisionIds;
use crate::front::http::Workers;
use crate::hosts::Hosts;
use crate::pins::{Memory, PinEnforcer, ToolNames};
use crate::pipeline::{Road, RoadParts, places};
use crate::policy::{looks_at_origins, policy, written_patterns};
use crate::reached::{fingerprint, is_reached_alike, remember, remembered_era, spec};
use crate::registry::Registry;
use crate::session::{Evidences, Stories};
use crate::siblings::Siblings;
use crate::tokens::Tokens;
use crate::world::{CurrentWorld, World};

/// How many notices of upstreams may wait before the newest are dropped.
const NOTICE_BUFFER: usize = 1024;

/// How often is written down what was counted of those who came.
const SETTLE_EVERY: Duration = Duration::from_secs(15);

/// How long a server may take to end by itself when it is told to.
const SERVER_GRACE: Duration = Duration::from_secs(2);

/// What we call ourselves, to clients and to servers.
pub(crate) const OUR_INFO: &str =
    concat!(r#"{"name":"highwater","title":"Highwater","version":""#, env!("CARGO_PKG_VERSION"), r#""}"#);

/// Makes the connection to a server; nothing is started by it.
pub(crate) type OpenServer = Box<
    dyn Fn(ServerSpec, Arc<highwater_upstream::World>, Option<RememberedEra>) -> Box<dyn Perform>
        + Send
        + Sync,
>;

/// A running gateway.
pub struct Gateway {
    /// For work that outlives the request it came from.
    myself: Weak<Gateway>,
    pub(crate) world: Arc<CurrentWorld>,
    pub(crate) settings: Arc<ArcSwap<Settings>>,
    pub(crate) audit: Arc<AuditLog>,
    /// Who came and was turned away, on record.
    pub(crate) access: Arc<AccessLog>,
    /// What every call passes on its way.
    pub(crate) road: Road,
    /// Where the labels of sessions and objects are.
    pub(crate) store: Store,
    /// Where people answer; nothing where nobody can be asked on a page.
    approval_service: Option<Arc<ApprovalService>>,
    pub(crate) stories: Arc<Stories>,
    /// What conversations have said and read.
    pub(crate) evidence: Arc<Evidences>,
    pub(crate) registry: Registry,
    /// What agent hosts have told through their hooks.
    pub(crate) hosts: Hosts,
    pub(crate) agent_token: String,
    pub(crate) tokens: Tokens,
    operator_token: String,
    /// The gateways that share our database.
    pub(crate) siblings: Siblings,
    pub(crate) started: Instant,
    /// The data directory, which is no agent's to change.
    /// What steers the gateway: its data directory and its configuration.
    own_files: Vec<PathBuf>,
    upstream_world: Arc<highwater_upstream::World>,
    /// Makes the connection to a server.
    open: OpenServer,
    remembered: Arc<RememberedServers>,
    /// Which tools each server has.
    pub(crate) tool_names: Arc<ToolNames>,
    /// The fingerprint each server was opened with: what is learned about it counts for that alone.
    prints: Arc<Mutex<BTreeMap<String, String>>>,
    /// The threads of the HTTP front, once it serves. They outlive it: a call may go on without its connection.
    pub(crate) workers: OnceLock<Workers>,
}

/// What a gateway is made from.
pub struct Parts {
    /// The configuration.
    pub settings: Settings,
    /// Where it keeps what must survive.
    pub data_dir: DataDir,
    /// Files that steer it beside those, as its configuration: no agent may change them.
    pub own_files: Vec<PathBuf>,
    /// Where the labels of sessions and objects are.
    pub store: Store,
    /// The agents' tokens in the store.
    pub tokens: Vec<TokenRecord>,
    /// What approvals need; nothing where nobody can be asked on a page.
    pub approvals: Option<ApprovalServiceParts>,
    /// Our own executable, which watches over child processes.
    pub guard: PathBuf,
    /// Variables every child gets, such as `PATH`.
    pub safe_env: Vec<(String, String)>,
    /// With what request states are sealed: our own key, or that of all that share the database.
    pub seal_key: String,
    /// The gateways that share the database.
    pub gateways: Vec<GatewayTokens>,
}

/// Why a gateway does not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The data directory cannot be used.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The audit log cannot be written.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// The system gives no random numbers or no ciphers.
    #[error("the system gives no random numbers")]
    NoEntropy,
}

/// The time, for records and expiry. The one clock of the gateway that is not monotonic.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

// === impl Gateway ===

impl Gateway {
    /// Starts a gateway. Servers are started when they are first needed, or now if they are `start: eager`.
    pub fn start(parts: Parts) -> Result<Arc<Self>, StartError> {
        Self::start_with(parts, Box::new(|spec, world, era| Box::new(Upstream::new(spec, world, era))))
    }

    /// Starts a gateway whose servers are reached in another way.
    pub(crate) fn start_with(parts: Parts, open: OpenServer) -> Result<Arc<Self>, StartError> {
        let Parts {
            settings,
            data_dir,
            own_files,
            store,
            tokens,
            approvals,
            guard,
            safe_env,
            seal_key,
            gateways,
        } = parts;
        let tokens = Tokens::new(tokens, &settings, store.is_shared());
        let siblings = Siblings::new(GatewayTokens::of(&data_dir)?, gateways);
        let key = Secret::SealKey.key_bytes(&seal_key).ok_or(StartError::NoEntropy)?;
        let (notices, received) = mpsc::channel(NOTICE_BUFFER);
        let remembered = Arc::new(RememberedServers::load(&data_dir));
        let prints: Arc<Mutex<BTreeMap<String, String>>> = Arc::default();
        let remember = remember(Arc::clone(&remembered), Arc::clone(&prints));
        let client_info = OUR_INFO.to_owned();
        let upstream_world =
            Arc::new(highwater_upstream::World { notices, guard, safe_env, client_info, remember });
        let agent_token = data_dir.secret(Secret::AgentToken)?;
        let operator_token = data_dir.secret(Secret::OperatorToken)?;
        let audit = Arc::new(AuditLog::open(&data_dir)?);
        let access = Arc::new(AccessLog::new(Arc::clone(&audit)));
        let seal = Seal::new(&key).ok_or(StartError::NoEntropy)?;
        let boot = random_text(4).ok_or(StartError::NoEntropy)?;
        let approval_service = approvals.map(|parts| {
            ApprovalService::new(parts, store.clone(), Arc::clone(&audit), settings.approvals.clone())
        });
        if approval_service.is_none() {
            ApprovalService::tidy_up_for_nobody(&store);
        }
        let world = Arc::new(CurrentWorld::from_pointee(World::empty()));
        let shared_settings = Arc::new(ArcSwap::from_pointee(settings.clone()));
        let stories: Arc<Stories> = Arc::default();
        let evidence = Arc::new(Evidences::new(store.is_shared()));
        let gateway = Arc::new_cyclic(|myself| Self {
            myself: Weak::clone(myself),
            road: Road::new(RoadParts {
                gateway: Weak::clone(myself),
                world: Arc::clone(&world),
                settings: Arc::clone(&shared_settings),
                store: store.clone(),
                stories: Arc::clone(&stories),
                evidence: Arc::clone(&evidence),
                audit: Arc::clone(&audit),
                access: Arc::clone(&access),
                seal,
                service: approval_service.clone(),
                ids: DecisionIds::of_run(boot),
            }),
            world,
            settings: shared_settings,
            audit,
            access,
            approval_service,
            store,
            stories,
            evidence,
            registry: Registry::default(),
            hosts: Hosts::new(&settings),
            agent_token,
            tokens,
            operator_token,
            siblings,
            started: Instant::now(),
            own_files: [vec![data_dir.path().to_owned()], own_files].concat(),
            upstream_world,
            open,
            remembered,
            tool_names: Arc::default(),
            prints,
            workers: OnceLock::new(),
        });
        gateway.adopt(settings);
        gateway.introduce_catalog();
        gateway.follow_notices(received);
        gateway.follow_tokens();
        gateway.follow_pins();
        gateway.settle_access();
        gateway.look_for_unknown_sessions(data_dir.path());
        Ok(gateway)
    }

    /// Whether a secret is the operator's. Compared in constant time, so that it cannot be guessed letter by letter.
    pub(crate) fn is_operator(&self, shown: &[u8]) -> bool {
        verify_slices_are_equal(shown, self.operator_token.as_bytes()).is_ok()
            || self.siblings.is_operator(shown).is_ok()
    }

    /// Takes up a new configuration. Servers whose entries did not change keep running and are not disturbed.
    pub fn reload(&self, settings: Settings) {
        self.adopt(settings);
        self.announce_everything();
    }

    fn adopt(&self, settings: Settings) {
        let AuditSettings { keep, max, compress } = settings.audit;
        if let Err(error) = self.audit.keep(AuditRetention { keep, max, compress }) {
            tracing::error!(%error, "the audit log grows without a bound");
        }
        let old_world = self.world.load_full();
        let old_settings = self.settings.load_full();
        let mut catalog_servers = BTreeMap::new();
        for server in settings.servers.iter().filter(|server| !server.disabled) {
            let id = UpstreamId::new(server.name.as_str());
            let unchanged =
                old_settings.server(&server.name).is_some_and(|old| is_reached_alike(old, server));
            let catalog_server = match old_world.catalog_servers.get(&id) {
                Some(catalog_server) if unchanged => {
                    catalog_server.set_refresh(server.refresh);
                    if catalog_server.enforcer.want(server, wanted(server)) {
                        // What somebody stands for now is approved now.
                        let catalog_server = Arc::clone(catalog_server);
                        tokio::spawn(async move { catalog_server.review().await });
                    } else if let Some(server_listing) = catalog_server.seen() {
                        catalog_server.enforcer.tell(&server_listing);
                    }
                    Arc::clone(catalog_server)
                }
                _ => self.open_station(server),
            };
            catalog_servers.insert(id, catalog_server);
        }
        let policy = Arc::new(policy(&settings));
        let standings: Arc<Standings> = Arc::new(
            settings
                .servers
                .iter()
                .map(|server| (UpstreamId::new(server.name.as_str()), Standing::new(server)))
                .collect(),
        );
        if let Some(approval_service) = &self.approval_service {
            approval_service.under(settings.approvals.clone());
        }
        let terms = self.approval_service.as_ref().map(|_| Arc::new(settings.approvals.clone()));
        let virtual_servers = settings
            .virtual_servers
            .iter()
            .map(|server| {
                let id = VirtualServerId::new(server.name.as_str());
                let held = server
                    .servers
                    .iter()
                    .filter_map(|name| catalog_servers.get(&UpstreamId::new(name.as_str())).cloned());
                (id.clone(), {
                    let (policy, standings) = (Arc::clone(&policy), Arc::clone(&standings));
                    let said = (policy, terms.clone());
                    VirtualServer::new(id, (server.prefix, server.expose), said, standings, held.collect())
                })
            })
            .collect();
        for server in settings.servers.iter().filter(|server| server.start == Start::Eager) {
            if let Some(catalog_server) = catalog_servers.get(&UpstreamId::new(server.name.as_str())).cloned()
            {
                tokio::spawn(async move { catalog_server.start().await });
            }
        }
        for permit in settings.permits.iter().filter(|permit| permit.is_over(now())) {
            tracing::warn!(permit = permit.name(), "a permit is over and does nothing");
        }
        let drain = settings.limits.drain;
        let origins_matter = looks_at_origins(&policy, &settings);
        let offers_search = settings.virtual_servers.iter().any(|server| server.expose != Expose::Direct);
        let ordered_writes =
            catalog_servers.values().any(|catalog_server| catalog_server.upstream.spec().ordered_writes);
        let without_provenance = settings.virtual_servers.iter().filter(|server| !server.provenance);
        self.evidence.adopt(&settings);
        let world = Arc::new(World {
            without_provenance: without_provenance
                .map(|server| VirtualServerId::new(server.name.as_str()))
                .collect(),
            policy,
            origins_matter,
            offers_search,
            ordered_writes,
            places: Arc::new(places(&settings.projects, &self.own_files, self.home())),
            permits: settings.permits.as_slice().into(),
            catalog_servers,
            virtual_servers,
        });
        let settings = Arc::new(settings);
        self.settings.store(Arc::clone(&settings));
        self.tokens.under(&settings);
        self.world.store(Arc::clone(&world));
        self.expect_tool_names();
        // Requests that began with the old world finish with it; its servers go when their grace is over.
        for (id, catalog_server) in &old_world.catalog_servers {
            if world.catalog_servers.get(id).is_none_or(|kept| !Arc::ptr_eq(kept, catalog_server)) {
                tokio::spawn(retire(Arc::clone(catalog_server), drain));
            }
        }
    }

    /// What `~` stands for to the servers.
    fn home(&self) -> Option<&str> {
        let found = self.upstream_world.safe_env.iter().find(|(name, _)| name == "HOME");
        found.map(|(_, home)| home.as_str())
    }

    /// Takes up which names of tools people wrote, to say which of them name none.
    pub(crate) fn expect_tool_names(&self) {
        self.tool_names.expect(written_patterns(&self.settings.load(), &self.tokens.records()));
    }

    fn open_station(&self, server: &ServerSettings) -> Arc<CatalogServer> {
        let print = fingerprint(server);
        let guess = self.remembered.era(&server.name, &print).as_deref().and_then(remembered_era);
        self.prints.lock().unwrap_or_else(PoisonError::into_inner).insert(server.name.clone(), print.clone());
        let upstream = (self.open)(spec(server), Arc::clone(&self.upstream_world), guess);
        let memory = Memory::new(Arc::clone(&self.remembered), &server.name, print);
        let names = Arc::clone(&self.tool_names);
        let enforcer = PinEnforcer::new(self.store.clone(), server, wanted(server), names, memory);
        CatalogServer::new(upstream, enforcer, self.upstream_world.notices.clone(), server.refresh)
    }

    /// Stops everything: running requests get `limits.drain` to finish, then servers are ended.
    pub async fn stop(&self) {
        let drain = self.settings.load().limits.drain;
        self.registry.close_listeners();
        self.road.suspended.clear();
        let idle = async {
            while self.registry.running() > 0 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        if tokio::time::timeout(drain, idle).await.is_err() {
            tracing::warn!(running = self.registry.running(), "stopping although requests are still running");
        }
        let world = self.world.load_full();
        let ends = world
            .catalog_servers
            .values()
            .map(|catalog_server| catalog_server.upstream.shutdown(SERVER_GRACE));
        futures_util::future::join_all(ends).await;
        if let Err(error) = self.store.close().await {
            tracing::error!(%error, "the session store could not be closed in order");
        }
        self.access.close();
        if let Err(error) = self.audit.flush() {
            tracing::error!(%error, "the audit log could not be forced to disk");
        }
    }

    /// Writes down at intervals what was counted of those who came.
    fn settle_access(&self) {
        let access = Arc::downgrade(&self.access);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(SETTLE_EVERY).await;
                let Some(access) = access.upgrade() else { return };
                access.settle();
            }
        });
    }

    /// Where people answer; nothing where nobody can be asked on a page.
    pub fn approval_service(&self) -> Option<&Arc<ApprovalService>> {
        self.approval_service.as_ref()
    }

    /// Tells the approval service where to look up how a tool is defined now.
    fn introduce_catalog(&self) {
        let Some(approval_service) = &self.approval_service else { return };
        let (gateway, tokens) = (self.myself(), self.myself());
        let tool = move |tool: &ToolName| {
            let world = gateway.upgrade()?.world.load_full();
            world.virtual_servers.values().find_map(|server| {
                let names = server.known();
                let entry = &names.tools.get(tool.as_str())?.entry;
                let contracts = names.contracts(&entry.upstream)?;
                let known = contracts.tool(&entry.name);
                Some(CatalogTool {
                    definition: contracts.definition(PinKind::Tool, &entry.name)?,
                    upstream: entry.upstream.clone(),
                    own: Arc::from(&*entry.name),
                    contract: known.contract.clone(),
                    shape: Arc::clone(&known.shape),
                    gated: known.gated,
                })
            })
        };
        let is_agent =
            move |name: &Principal| tokens.upgrade().is_some_and(|gateway| gateway.tokens.is_agent(name));
        approval_service.know(Catalog { tool: Box::new(tool), is_agent: Box::new(is_agent) });
    }

    /// A handle that does not keep the gateway alive.
    pub(crate) fn myself(&self) -> Weak<Gateway> {
        Weak::clone(&self.myself)
    }
}

/// An identifier that nobody can guess.
pub(crate) fn fresh_id() -> String {
    // Without randomness there is no id that would be safe to hand out; an empty one matches nothing.
    random_text(16).unwrap_or_default()
}

impl World {
    fn empty() -> Self {
        Self {
            policy: Arc::default(),
            origins_matter: false,
            offers_search: false,
            ordered_writes: false,
            without_provenance: BTreeSet::new(),
            places: Arc::default(),
            permits: Arc::default(),
            catalog_servers: BTreeMap::new(),
            virtual_servers: BTreeMap::new(),
        }
    }
}

pub(crate) fn random_text(bytes: usize) -> Option<String> {
    let mut random = vec![0; bytes];
    // The kernel's own numbers: they need no seeding of ours, which would cost tens of milliseconds at start.
    let filled = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty()).ok()?;
    (filled == bytes).then_some(())?;
    Some(URL_SAFE_NO_PAD.encode(random))
}

/// Ends a server that the configuration no longer has, once its calls are done or their time is over.
async fn retire(catalog_server: Arc<CatalogServer>, drain: Duration) {
    let idle = async {
        // First a pause: who looked at the old configuration a moment ago is about to be bound for the server.
        loop {
            tokio::time::sleep(Duration::from_millis(50)).await;
            if catalog_server.is_idle() {
                return;
            }
        }
    };
    if tokio::time::timeout(drain, idle).await.is_err() {
        tracing::warn!(server = %catalog_server.id(), "ended although calls are still running");
    }
    catalog_server.upstream.shutdown(SERVER_GRACE).await;
}
