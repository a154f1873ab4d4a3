//! What the gateway runs on: checked, typed, with every default filled in.
//!
//! Values are compared with `==` on reload, server by server, to find out what must be restarted.

mod approvals;
mod judgement;
mod labels;
mod policy;
mod provenance;
mod transport;

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use highwater_core::approval::StandingPermit;
use highwater_core::decide::FlowPolicy;
use highwater_core::grant::{self, Grant};
use highwater_core::id::UserId;
use highwater_core::profile::Profile;
use highwater_core::provenance::People;
use highwater_core::trust::ServerTrust;
use highwater_pins::ManifestKey;
use schemars::JsonSchema;
use serde::Deserialize;

pub use self::approvals::{ApprovalFlow, ApprovalSettings, OWNER, ToolApproval, Webhook};
pub(crate) use self::approvals::{AttestationWord, PasskeyClass};
pub use self::judgement::{AuditSettings, Partition, ShareContext, StoreSettings};
pub use self::labels::{LabelSettings, Labels};
pub use self::policy::Rules;
pub use self::provenance::DirectoryEntry;
pub use self::transport::{HttpKind, Transport};

/// Everything the operator configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Where the gateway listens.
    pub listen: Listen,
    /// What a client must show to use `/mcp`. Never [`Auth::None`] beyond loopback.
    pub auth: Auth,
    /// Further values of the `Host` header that are answered, in lower case, with a port if one was written.
    pub allowed_hosts: Vec<String>,
    /// Further values of the `Origin` header that are answered, in lower case.
    pub allowed_origins: Vec<String>,
    /// The bounds on what clients and servers may make the gateway hold.
    pub limits: Limits,
    /// The servers in the order of the file, disabled ones included.
    pub servers: Vec<ServerSettings>,
    /// The virtual servers in the order of the file. There is always one named `default`.
    pub virtual_servers: Vec<VirtualServer>,
    /// What the tokens of agents grant, in the order of the file.
    pub agent_tokens: Vec<AgentToken>,
    /// What agents may do that nobody watches.
    pub permits: Vec<StandingPermit>,
    /// How people are asked, and who must sign.
    pub approvals: ApprovalSettings,
    /// The operator's rules and waivers, of all files.
    pub rules: Rules,
    /// The files with further rules, as they were written: paths start at the folder of the configuration.
    pub rules_files: Vec<String>,
    /// Where labels are kept.
    pub store: StoreSettings,
    /// What is kept of the audit log.
    pub audit: AuditSettings,
    /// What tells one agent session from another.
    pub partition: Partition,
    /// How long an agent must be silent before what it does next may be a new conversation.
    pub quiet: Duration,
    /// The folders that the operator works in, as they are written.
    pub projects: Vec<PathBuf>,
    /// The operator's own addresses and accounts.
    pub identity: Vec<String>,
    /// The people that the operator deals with, and the tools that list them.
    pub directory: Vec<DirectoryEntry>,
    /// Who vouches for the addresses of people whom the user names.
    pub people: People,
}

/// How long an agent must be silent before what it does next may be a new conversation, where nobody says.
pub(crate) const DEFAULT_QUIET: Duration = Duration::from_secs(30 * 60);

/// Where the gateway listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listen {
    /// Both loopback addresses, so that nobody else can own `localhost` in the other family.
    Localhost {
        /// The port on both addresses.
        port: u16,
    },
    /// One address.
    Address(SocketAddr),
}

/// What a client must show to use `/mcp`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Auth {
    /// The agent token, as a bearer token.
    Token,
    /// Nothing. This frees `/mcp` only, and is refused when the gateway listens beyond loopback.
    None,
}

/// Bounds on what clients and servers may make the gateway hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The longest message a client may send, in bytes.
    pub max_message: usize,
    /// The deepest nesting of JSON in any message.
    pub max_depth: usize,
    /// The longest reply of a server, in bytes, where the server does not say otherwise.
    pub max_reply: usize,
    /// How long the body of a request may make no progress.
    pub request_silence: Duration,
    /// How long it may take altogether.
    pub request_time: Duration,
    /// How many bytes requests may have together that are arriving or being served.
    pub request_bytes: usize,
    /// The same for the requests of one token.
    pub request_bytes_per_token: usize,
    /// How many transport sessions may be open.
    pub sessions: usize,
    /// How many of one token.
    pub sessions_per_token: usize,
    /// How long a transport session may be silent before it is closed.
    pub session_idle: Duration,
    /// How long calls in flight may still take when the gateway stops.
    pub drain: Duration,
}

/// One server the gateway connects to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSettings {
    /// The alias, which also prefixes the names of the server's tools.
    pub name: String,
    /// How the server is reached.
    pub transport: Transport,
    /// Which protocol era the server speaks. [`Era::Sse`] exactly when the kind is [`HttpKind::Sse`].
    pub era: Era,
    /// How long the gateway waits for the server.
    pub timeouts: Timeouts,
    /// How many calls may be under way at the server at once; at least one.
    pub concurrency: usize,
    /// What becomes of a call when the connection fails.
    pub retry: Retry,
    /// Whether calls that may change something run side by side.
    pub writes: Writes,
    /// When the server is started or contacted first.
    pub start: Start,
    /// How long what the server lists is relied on while it is used.
    pub refresh: Duration,
    /// The only tools that exist for clients; `None` means all, the empty set none.
    pub allowed_tools: Option<BTreeSet<String>>,
    /// Methods beyond MCP that are forwarded, under the worst contract.
    pub extra_methods: BTreeSet<String>,
    /// The longest reply, in bytes.
    pub max_reply: usize,
    /// How far it is trusted.
    pub trust: ServerTrust,
    /// What it is to the operator, in one word; `None` leaves that to people who are asked.
    pub profile: Option<Profile>,
    /// The other servers that keep the same things.
    pub keeps_with: BTreeSet<String>,
    /// What it says of itself and its tools is held until a person has approved it.
    pub quarantine: bool,
    /// Its signed manifest, if it must have one.
    pub manifest: Option<ManifestSettings>,
    /// A name for people.
    pub title: Option<String>,
    /// What the operator says about its tools, resources and prompts.
    pub labels: Labels,
    /// How much the server is told about what the agent has read.
    pub share_context: ShareContext,
    /// The server is configured but not used.
    pub disabled: bool,
}

/// A server's signed manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestSettings {
    /// Who may have signed it.
    pub keys: Vec<ManifestKey>,
    /// Where it is.
    pub from: ManifestSource,
    /// Whose it must be, where that is said.
    pub server: Option<String>,
}

/// Where a manifest is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ManifestSource {
    /// The server has it.
    Server,
    /// A file; its path starts at the folder of the configuration until it was resolved.
    File(String),
    /// A URL.
    Url(String),
}

/// Which protocol era a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Era {
    /// Find out on first contact.
    Auto,
    /// MCP 2026-07-28 and later, without `initialize` and sessions.
    Modern,
    /// Revisions that begin with `initialize`.
    Legacy,
    /// HTTP+SSE of revision 2024-11-05.
    Sse,
}

/// How long the gateway waits for a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeouts {
    /// From start or first contact until the server has answered the handshake.
    pub start: Duration,
    /// For the answer to the question which era the server speaks.
    pub probe: Duration,
    /// For the reply to a call.
    pub call: Duration,
    /// How long a program may say nothing while calls wait for it before it is pinged.
    pub silence: Duration,
}

/// How often a call is sent again when the connection fails, if it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// How often at most.
    pub times: u32,
    /// The wait before the first time; it doubles each time.
    pub wait: Duration,
}

/// Whether calls that may change something at one server run side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Writes {
    /// They do.
    Parallel,
    /// One after another, in the order in which they came.
    Ordered,
}

/// When a server is started or contacted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// When a client first needs it.
    Lazy,
    /// When the gateway starts.
    Eager,
}

/// How the names of tools are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Prefix {
    /// Every tool is named `server__tool`.
    Always,
    /// Only tools whose names two servers share are prefixed.
    OnCollision,
    /// Names stay as the servers give them. Servers that share a name cannot be offered together.
    Never,
}

/// What clients are offered of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Expose {
    /// The tools themselves.
    Direct,
    /// Five tools that stand for all of them: `retrieve_tools`, `describe_tool`, `call_tool_read`,
    /// `call_tool_write`, `call_tool_destructive`.
    Search,
    /// The tools and the five.
    Both,
}

/// A set of servers offered to clients as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VirtualServer {
    /// `default` is at `/mcp`, every other at `/mcp/v/NAME`.
    pub name: String,
    /// The names of its servers. Disabled ones are left out.
    pub servers: Vec<String>,
    /// How the names of its tools are made.
    pub prefix: Prefix,
    /// What clients are offered of its tools.
    pub expose: Expose,
    /// How strictly flows are judged, and which data may go where.
    pub flow: FlowPolicy,
    /// Whether calls are judged by where their arguments come from.
    pub provenance: bool,
}

/// What the token of one agent grants. Its secret is elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentToken {
    /// Its name, which is also that of its principal.
    pub name: String,
    /// What it grants.
    pub grant: Grant,
    /// How much it may ask.
    pub limits: grant::Limits,
    /// What tells its sessions apart, where that is another than for everybody.
    pub partition: Option<Partition>,
    /// How long it must be silent before a new conversation may begin, where that is another than for everybody.
    pub quiet: Option<Duration>,
    /// Whose agent it is.
    pub user: UserId,
    /// Whether it brings signatures by itself, where that is another than for everybody.
    pub approval_flow: Option<ApprovalFlow>,
    /// Whether what its clients answer to a form is a person's word.
    pub forms: grant::Forms,
    /// Whose words the prompts are that its clients tell of.
    pub words: grant::AcceptedWords,
}

/// `auth: none` together with an address that other machines can reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exposed(pub Listen);

// === impl Settings ===

impl Settings {
    /// The server with this alias.
    pub fn server(&self, name: &str) -> Option<&ServerSettings> {
        self.servers.iter().find(|server| server.name == name)
    }

    /// The virtual server with this name.
    pub fn virtual_server(&self, name: &str) -> Option<&VirtualServer> {
        self.virtual_servers.iter().find(|server| server.name == name)
    }

    /// What the token of this name grants.
    pub fn agent_token(&self, name: &str) -> Option<&AgentToken> {
        self.agent_tokens.iter().find(|token| token.name == name)
    }

    /// Whether what clients with the token of the first start answer to a form is a person's word: on this machine it is
    /// whoever sits at it.
    pub fn own_forms(&self) -> grant::Forms {
        if self.listen.is_loopback() { grant::Forms::Person } else { grant::Forms::Never }
    }

    /// With the files it names found from this folder.
    #[must_use]
    pub fn beside(mut self, folder: &std::path::Path) -> Self {
        for manifest in self.servers.iter_mut().filter_map(|server| server.manifest.as_mut()) {
            if let ManifestSource::File(path) = &mut manifest.from {
                *path = folder.join(&*path).display().to_string();
            }
        }
        self
    }

    /// Listens elsewhere than the file says, as a command line may ask, under the same rule as the file.
    pub fn listening_on(self, listen: Listen) -> Result<Self, Exposed> {
        if self.auth == Auth::None && !listen.is_loopback() {
            return Err(Exposed(listen));
        }
        Ok(Self { listen, ..self })
    }
}

impl fmt::Display for Exposed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`auth: none` is refused with `listen: {}`, which other machines can reach", self.0)
    }
}

impl std::error::Error for Exposed {}

// === impl Listen ===

impl Listen {
    /// The addresses to bind.
    pub fn addresses(self) -> Vec<SocketAddr> {
        match self {
            Listen::Localhost { port } => vec![
                SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port),
                SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), port),
            ],
            Listen::Address(address) => vec![address],
        }
    }

    /// The port, the same on every address.
    pub fn port(self) -> u16 {
        match self {
            Listen::Localhost { port } => port,
            Listen::Address(address) => address.port(),
        }
    }

    /// Whether only this machine can connect.
    pub fn is_loopback(self) -> bool {
        match self {
            Listen::Localhost { .. } => true,
            Listen::Address(address) => address.ip().to_canonical().is_loopback(),
        }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Listen::Localhost { port } => write!(f, "localhost:{port}"),
            Listen::Address(address) => address.fmt(f),
        }
    }
}

// === defaults ===

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_message: 4 << 20,
            max_depth: 64,
            max_reply: 64 << 20,
            request_silence: Duration::from_secs(30),
            request_time: Duration::from_secs(10 * 60),
            request_bytes: 384 << 20,
            request_bytes_per_token: 96 << 20,
            sessions: 10_000,
            sessions_per_token: 5_000,
            session_idle: Duration::from_secs(60 * 60),
            drain: Duration::from_secs(10),
        }
    }
}

impl Default for Retry {
    fn default() -> Self {
        Self { times: 2, wait: Duration::from_millis(200) }
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(30),
            probe: Duration::from_secs(5),
            call: Duration::from_secs(10 * 60),
            silence: Duration::from_secs(30),
        }
    }
}
