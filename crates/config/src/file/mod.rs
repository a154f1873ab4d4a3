//! The file as the operator writes it. Each key is documented here and nowhere else.
//!
//! `default` in a schema attribute is what the reference shows; a test compares it with the value in effect.

mod approvals;
pub(crate) mod foreign;
mod judgement;
pub(crate) mod label;
mod permit;
pub(crate) mod provenance;
pub(crate) mod rule;
mod server;
mod token;
pub(crate) mod words;

use schemars::JsonSchema;
use serde::Deserialize;

pub(crate) use self::approvals::{
    ApprovalsFile, AuthenticatorFile, QuorumFile, ToolApprovalFile, WebhookFile,
};
pub(crate) use self::judgement::{ClearanceFile, FlowWord, StoreFile, TrustFile};
pub(crate) use self::permit::PermitFile;
pub(crate) use self::provenance::{DirectoryFile, RecordsFile};
pub(crate) use self::server::{KindFile, RetryFile, ServerFile, TimeoutsFile};
pub(crate) use self::token::AgentTokenFile;
use crate::human::{Period, Scalar, Size};
use crate::read::{Entries, Field, Tree, Written};
use crate::settings::{Auth, Expose, Partition, Prefix};
use words::{PeopleWord, ProvenanceWord};

/// The configuration of Highwater: one YAML file. JSON is YAML, so JSON works too.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Highwater configuration")]
pub(crate) struct ConfigFile {
    /// Where the gateway listens, as `host:port`. The host is `localhost`, which means both loopback
    /// addresses, or an IP address; IPv6 addresses stand in brackets.
    #[schemars(extend("default" = "localhost:7411", "examples" = ["0.0.0.0:7411", "[::1]:7411"]))]
    #[schemars(with = "String")]
    pub(crate) listen: Field<Scalar>,

    /// What a client must show to use `/mcp`.
    #[schemars(extend("default" = "token"))]
    pub(crate) auth: Field<Auth>,

    /// Further values of the `Host` header to answer, besides the loopback names: the names under which
    /// clients reach this machine, with a port if it is not the usual one.
    #[schemars(extend("default" = [], "examples" = [["gateway.example.com"]]))]
    pub(crate) allowed_hosts: Field<Vec<Written<String>>>,

    /// Further values of the `Origin` header to answer, besides loopback origins. Browsers send it; most MCP
    /// clients do not.
    #[schemars(extend("default" = [], "examples" = [["https://app.example.com"]]))]
    pub(crate) allowed_origins: Field<Vec<Written<String>>>,

    /// How the names of tools are made. A virtual server can say otherwise for itself.
    #[schemars(extend("default" = "always"))]
    pub(crate) prefix: Field<Prefix>,

    /// What clients are offered of tools: the tools themselves, or five tools to search, describe and call them with,
    /// or both. A virtual server can say otherwise for itself.
    #[schemars(extend("default" = "direct"))]
    pub(crate) expose: Field<Expose>,

    /// Bounds on what clients and servers may make the gateway hold.
    pub(crate) limits: Field<LimitsFile>,

    /// The MCP servers behind the gateway, by alias. An alias has letters, digits, `_` and `-`, starts with a
    /// letter or digit, and is at most 32 characters long; `highwater` is reserved. The entries are those that
    /// Claude Desktop, Cursor and VS Code use, so they can be pasted.
    ///
    /// In `command`, `args`, `env`, `cwd`, `url` and `headers`, `${NAME}` stands for an environment variable
    /// and `${NAME:-default}` for one that may be missing or empty. `$${` is a literal `${`.
    #[schemars(extend("propertyNames" = { "pattern": "^[a-zA-Z0-9][a-zA-Z0-9_-]{0,31}$", "not": { "const": "highwater" } }))]
    pub(crate) servers: Field<Entries<Field<ServerFile>>>,

    /// The same as `servers`, under the name that clients use, so that a whole block can be pasted. A server
    /// must not be in both.
    #[serde(rename = "mcpServers")]
    #[schemars(schema_with = "same_as_servers")]
    pub(crate) pasted_servers: Field<Entries<Field<ServerFile>>>,

    /// How far servers are trusted, by alias or by URL: another place for `trust` of a server. A server must not
    /// have both.
    pub(crate) mcp_servers: Field<Entries<Field<TrustFile>>>,

    /// Sets of servers that are offered as one, by name. Names follow the rule for server aliases. The one
    /// named `default` is at `/mcp`, every other at `/mcp/v/NAME`. Without a `default`, all servers are at
    /// `/mcp`.
    #[schemars(extend("propertyNames" = { "pattern": "^[a-zA-Z0-9][a-zA-Z0-9_-]{0,31}$" }))]
    pub(crate) virtual_servers: Field<Entries<Field<VirtualServerFile>>>,

    /// What the tokens of agents grant, by name. A name has letters, digits, `_`, `-` and `.`. The secret of each is
    /// made with `highwater token create NAME` and stands nowhere in this file. Tokens that are not named here can be
    /// made with that command, too.
    #[schemars(extend("propertyNames" = { "pattern": "^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,63}$" }))]
    pub(crate) agent_tokens: Field<Entries<Field<AgentTokenFile>>>,

    /// What happens when private data, untrusted text and powerful tools are about to meet. A virtual server can
    /// say otherwise for itself.
    #[schemars(extend("default" = "balanced"))]
    pub(crate) flow: Field<FlowWord>,

    /// The folders you work in, absolute or with `~`. What a server with `profile: local` changes inside them can be undone
    /// and is no question in `balanced`, unless it is something that is run or loaded unasked.
    #[schemars(extend("default" = [], "examples" = [["~/src/website"]]))]
    pub(crate) projects: Field<Vec<Written<String>>>,

    /// Whether calls are judged by where their arguments come from, as well as by what was read. It takes hosts that tell
    /// your prompts (`highwater connect`); without them it changes nothing. A virtual server can say otherwise for itself.
    #[schemars(extend("default" = "on"))]
    pub(crate) provenance: Field<ProvenanceWord>,

    /// Your own addresses and accounts. What is sent to them is sent to you.
    #[schemars(extend("default" = [], "examples" = [["ada@example.com"]]))]
    pub(crate) identity: Field<Vec<Written<String>>>,

    /// The people that you deal with: each by name and address, or a tool whose replies list them. Whoever you name in a
    /// prompt, and exactly one entry fits, may be written to at the address that stands here.
    #[schemars(extend("default" = [], "examples" = [[{ "name": "Grace Hopper", "address": "grace@example.com" }, { "tool": "mail:list_contacts" }]]))]
    pub(crate) directory: Field<Vec<Written<DirectoryFile>>>,

    /// Who vouches for the addresses of people whom you name.
    #[schemars(extend("default" = "directory"))]
    pub(crate) people: Field<PeopleWord>,

    /// Which classes of data may go to each kind of destination. A virtual server can say otherwise for itself.
    pub(crate) clearance: Field<ClearanceFile>,

    /// Your word that clients read nothing that does not come through this gateway. Servers that ask where data
    /// comes from are then told that the list is complete. A virtual server can say otherwise for itself.
    #[schemars(extend("default" = false))]
    pub(crate) sole_gateway: Field<bool>,

    /// Rules of your own: what happens to calls, reads and replies of which a condition holds. They can only make
    /// things stricter, and do so in every flow mode. `builtin:graduated` in place of a rule switches on confirmation by
    /// degrees: calls of tools that read or add pass, calls of tools that destroy something ask.
    #[schemars(schema_with = "rule::rules_schema")]
    #[schemars(extend("default" = []))]
    pub(crate) rules: Field<Tree>,

    /// Files with further rules and waivers, in YAML or JSON: a list of rules, or a mapping with `rules` and
    /// `waivers`. Paths start at the folder of this file.
    #[schemars(extend("default" = [], "examples" = [["rules/finance.yaml"]]))]
    pub(crate) rules_files: Field<Vec<Written<String>>>,

    /// Exceptions: where they apply, the findings they name ask a person in place of refusing.
    #[schemars(with = "Vec<rule::WaiverFile>")]
    #[schemars(extend("default" = []))]
    pub(crate) waivers: Field<Tree>,

    /// What agents may do that nobody watches, by a name of your choice that stands in the record of every use: the way for
    /// an operator without a passkey; a mandate is the same, signed. A permit holds also after strangers' text was read. It
    /// answers confirmations alone, never a passkey, never in a session with credentials or regulated data or after a
    /// malicious flag, and never what a tool, a server or a token asks for at every call.
    #[schemars(extend("examples" = [{ "nightly-report": { "token": "nightly", "tool": "mail:send", "arguments": { "to": { "const": "team@example.com" }, "body": { "max_length": 4000 } }, "until": "2027-01-31" } }]))]
    pub(crate) permits: Field<Entries<Field<PermitFile>>>,

    /// What tells one agent session from another, where the address does not say it with `/c/CONTEXT`. All that
    /// an agent reads in one session counts for everything it does in that session, so a wider session is the
    /// safer one.
    #[schemars(extend("default" = "auto"))]
    pub(crate) partition: Field<Partition>,

    /// Conversations that nobody named.
    pub(crate) sessions: Field<SessionsFile>,

    /// Whether what a server says of itself and its tools is held until a person has approved it, and again when it
    /// changes. `highwater servers` shows and approves it. A server can say otherwise for itself.
    #[schemars(extend("default" = true))]
    pub(crate) quarantine: Field<bool>,

    /// How people are asked about calls that wait for them, and who must sign.
    pub(crate) approvals: Field<ApprovalsFile>,

    /// Where the labels of sessions are kept: `sqlite` in the data directory, or `{ postgres: URL }` for several
    /// gateways that share them. In the URL `${NAME}` stands for an environment variable. `timeout` beside it says
    /// how long a call waits for the database.
    #[schemars(extend("default" = "sqlite", "examples" = [{ "postgres": "${DATABASE_URL}" }]))]
    pub(crate) store: Field<StoreFile>,

    /// How much is kept of the audit log, which says what was decided and what came of it. It is in the folder `audit` of
    /// the data directory. What is removed goes in whole files, the oldest first, and the removal is on record.
    pub(crate) audit: Field<AuditFile>,
}

fn same_as_servers(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "$ref": "#/properties/servers" })
}

/// Conversations that nobody named.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "sessions")]
pub(crate) struct SessionsFile {
    /// How long an agent must be silent before what it does next may be a new conversation. What was read before is then
    /// kept until a person says whether it is. A token can say otherwise for itself.
    #[schemars(extend("default" = "30m"))]
    pub(crate) quiet: Field<Period>,
}

/// How much is kept of the audit log.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "audit")]
pub(crate) struct AuditFile {
    /// How long a record is kept. What is older is removed.
    #[schemars(extend("default" = "90d"))]
    pub(crate) keep: Field<Period>,

    /// The most room that the log takes on disk, at least 1MiB. When it is full, the oldest records are removed, even those
    /// that `keep` would keep.
    #[schemars(extend("default" = "10GiB"))]
    pub(crate) max: Field<Size>,

    /// Whether files that are closed are compressed. `zcat` reads them, and so do `highwater explain` and `report`.
    #[schemars(extend("default" = true))]
    pub(crate) compress: Field<bool>,
}

/// Bounds on what clients and servers may make the gateway hold.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "limits")]
pub(crate) struct LimitsFile {
    /// The longest message a client may send.
    #[schemars(extend("default" = "4MiB"))]
    pub(crate) max_message: Field<Size>,

    /// The deepest nesting of JSON in a message, from 8 to 127.
    #[schemars(extend("default" = 64, "minimum" = 8, "maximum" = 127))]
    pub(crate) max_depth: Field<u64>,

    /// The longest reply of a server. A server can say otherwise for itself.
    #[schemars(extend("default" = "64MiB"))]
    pub(crate) max_reply: Field<Size>,

    /// How long a request may take to go on arriving: after so long without a byte of its body it is refused.
    #[schemars(extend("default" = "30s"))]
    pub(crate) request_silence: Field<Period>,

    /// How long the body of a request may take altogether.
    #[schemars(extend("default" = "10m"))]
    pub(crate) request_time: Field<Period>,

    /// How many bytes the requests may have together that are arriving or being served. What finds no room is refused with
    /// HTTP status 503 and may come again. At least `max_message`.
    #[schemars(extend("default" = "384MiB"))]
    pub(crate) request_bytes: Field<Size>,

    /// The same for the requests of one token, which are refused with status 429. At least `max_message`.
    #[schemars(extend("default" = "96MiB"))]
    pub(crate) request_bytes_per_token: Field<Size>,

    /// How many transport sessions may be open at once. When there are as many, the longest silent one of the same token is
    /// put away; a client that names it again finds it.
    #[schemars(extend("default" = 10000, "minimum" = 1))]
    pub(crate) sessions: Field<u64>,

    /// How many transport sessions of one token may be open at once. Without this key, half of `sessions`.
    #[schemars(extend("examples" = [100], "minimum" = 1))]
    pub(crate) sessions_per_token: Field<u64>,

    /// How long a transport session may be silent before it is closed.
    #[schemars(extend("default" = "1h"))]
    pub(crate) session_idle: Field<Period>,

    /// How long calls in flight may still take when the gateway stops. `0s` stops at once.
    #[schemars(extend("default" = "10s"))]
    pub(crate) drain: Field<Period>,
}

/// A set of servers that is offered as one.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "virtual_server")]
pub(crate) struct VirtualServerFile {
    /// The aliases of its servers. Without this key it has all of them.
    #[schemars(extend("examples" = [["github", "web"]]))]
    pub(crate) servers: Field<Vec<Written<String>>>,

    /// How the names of its tools are made. Without this key, as the top level says.
    pub(crate) prefix: Field<Prefix>,

    /// What clients are offered of its tools. Without this key, as the top level says.
    pub(crate) expose: Field<Expose>,

    /// What happens when private data, untrusted text and powerful tools are about to meet. Without this key, as
    /// the top level says.
    pub(crate) flow: Field<FlowWord>,

    /// Whether calls are judged by where their arguments come from. Without this key, as the top level says.
    pub(crate) provenance: Field<ProvenanceWord>,

    /// Which classes of data may go to each kind of destination. What is not written is as the top level says.
    pub(crate) clearance: Field<ClearanceFile>,

    /// Your word that its clients read nothing that does not come through this gateway. Without this key, as the
    /// top level says.
    pub(crate) sole_gateway: Field<bool>,
}
