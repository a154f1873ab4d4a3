//! One entry under `servers:` or `mcpServers:`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::judgement::TrustFile;
use super::label::LabelFile;
use super::words::ProfileWord;
use crate::human::{Period, Scalar, Size};
use crate::read::{Deliberate, Entries, Field, Written};
use crate::settings::{Era, ShareContext, Start, Writes};

/// One MCP server: a `command` to run, or a `url` to connect to.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "server")]
pub(crate) struct ServerFile {
    /// The program to run. It speaks MCP over its standard input and output. Either this or `url` is needed.
    #[schemars(extend("examples" = ["npx", "github-mcp-server"]))]
    pub(crate) command: Field<String>,

    /// The arguments of the program.
    #[schemars(extend("default" = [], "examples" = [["-y", "@modelcontextprotocol/server-memory"]]))]
    pub(crate) args: Field<Vec<Written<Scalar>>>,

    /// Variables for the environment of the program.
    #[schemars(extend("default" = {}, "examples" = [{ "GITHUB_PERSONAL_ACCESS_TOKEN": "${GITHUB_TOKEN}" }]))]
    pub(crate) env: Field<Entries<Written<Scalar>>>,

    /// The working directory of the program, an absolute path. Without this key, that of the gateway.
    #[schemars(extend("examples" = ["${HOME}/project"]))]
    pub(crate) cwd: Field<String>,

    /// Where the server is. `https`, or `http` on this machine; see `allow_plain_http`. Either this or
    /// `command` is needed.
    #[schemars(extend("examples" = ["https://example.com/mcp"]))]
    pub(crate) url: Field<String>,

    /// Headers to send with every request to `url`.
    #[schemars(extend("default" = {}, "examples" = [{ "Authorization": "Bearer ${API_TOKEN}" }]))]
    pub(crate) headers: Field<Entries<Written<Scalar>>>,

    /// The transport, as clients write it. It is not needed: `command` means `stdio`, and what a `url` speaks
    /// is found out.
    #[serde(rename = "type")]
    pub(crate) kind: Field<KindFile>,

    /// Allows a `url` with `http` to another machine, where anyone on the way can read and change everything.
    #[schemars(extend("default" = false))]
    pub(crate) allow_plain_http: Field<bool>,

    /// Keeps the entry without using it.
    #[schemars(extend("default" = false))]
    pub(crate) disabled: Field<bool>,

    /// Which protocol era the server speaks.
    #[schemars(extend("default" = "auto"))]
    pub(crate) era: Field<Era>,

    /// How long to wait for the server.
    pub(crate) timeouts: Field<TimeoutsFile>,

    /// How many calls may be under way at the server at once. Further ones wait. Without this key 64 for a
    /// program, 512 for an URL.
    #[schemars(extend("minimum" = 1))]
    pub(crate) concurrency: Field<u64>,

    /// What becomes of a call when the connection to the server fails.
    pub(crate) retry: Field<RetryFile>,

    /// Whether calls that may change something at the server run side by side, or one after another in the order in
    /// which they came. Calls of read-only tools always run side by side.
    #[schemars(extend("default" = "parallel"))]
    pub(crate) writes: Field<Writes>,

    /// When the server is started or contacted first.
    #[schemars(extend("default" = "lazy"))]
    pub(crate) start: Field<Start>,

    /// After how long a server in use is asked again what it says of itself and what it has, at the latest. It is asked
    /// sooner when its lists hold for less (`ttlMs`), for a new client, for a tool that it did not have, and after broken
    /// connections; never twice within two seconds, unless this is shorter. A server that nobody uses is left alone.
    #[schemars(extend("default" = "30s"))]
    pub(crate) refresh: Field<Period>,

    /// The only tools that clients see and can call, by the names the server gives them. Without this key, or
    /// with `null`, all tools; with `[]`, none.
    #[schemars(extend("type" = ["array", "null"], "default" = null, "examples" = [["search_issues", "get_issue"]]))]
    pub(crate) allowed_tools: Deliberate<Vec<Written<String>>>,

    /// Methods beyond MCP that are forwarded to the server. Nothing is known about what they do, so each call
    /// counts as the worst a call can be.
    #[schemars(extend("default" = [], "examples" = [["acme/reindex"]]))]
    pub(crate) extra_methods: Field<Vec<Written<String>>>,

    /// The longest reply of the server. Without this key, as `limits.max_reply` says.
    pub(crate) max_reply: Field<Size>,

    /// How far the server is trusted. Without this key, not at all: everything it returns counts as written by
    /// anyone, and what it says about its tools can only make things stricter.
    #[schemars(extend("examples" = [{ "server_trust": "tool", "verified": true }]))]
    pub(crate) trust: Field<TrustFile>,

    /// What the server is to you, in one word. It fills in what nobody says of its tools: `local` for things of this
    /// machine, `private` for an account of yours, `public` for the web. Tools that send something away or run what they
    /// are given are not made harmless by it. Without it counts what a person said on the approval page or with `highwater
    /// servers describe`, if anybody did.
    #[schemars(extend("examples" = ["local"]))]
    pub(crate) profile: Field<ProfileWord>,

    /// Other servers that keep the same things as this one: two over one folder, say, or over one repository. What is
    /// written through one of them keeps its label when it is read through another. It is enough to say it of one.
    #[schemars(extend("default" = [], "examples" = [["git"]]))]
    pub(crate) keeps_with: Field<Vec<Written<String>>>,

    /// Whether what the server says of itself and its tools is held until a person has approved it, and again when it
    /// changes. Of a server with `trust.verified: true` what is seen first is approved by that. Without this key, as
    /// the top level says.
    pub(crate) quarantine: Field<bool>,

    /// Where the server's signed manifest is, and who must have signed it. With this key the server is verified
    /// exactly while a manifest is there that counts and that it keeps to.
    #[schemars(extend("examples" = [{ "keys": ["11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"], "file": "github.manifest.json" }]))]
    pub(crate) manifest: Field<ManifestFile>,

    /// What you know about its tools, by the names the server gives them. `*` stands for every tool: what it says holds
    /// where the entry of a tool says nothing.
    #[schemars(extend("examples" = [{ "*": { "returnMetadata": { "source": "internal" } } }]))]
    pub(crate) labels: Field<Entries<Field<LabelFile>>>,

    /// What you know about its resources, by URI. In a pattern `*` is any run of characters and `?` is one; where
    /// several match, the longest counts.
    #[schemars(extend("examples" = [{ "file:///srv/public/*": { "returnMetadata": { "source": "internal", "sensitivity": "none" } } }]))]
    pub(crate) resource_labels: Field<Entries<Field<LabelFile>>>,

    /// What you know about its prompts, by name.
    pub(crate) prompt_labels: Field<Entries<Field<LabelFile>>>,

    /// How much the server is told about what the agent has read. Without this key, `full` for a server with
    /// `trust.verified: true`, and `hints` for every other.
    pub(crate) share_context: Field<ShareContext>,
}

/// A server's signed manifest.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "manifest")]
pub(crate) struct ManifestFile {
    /// The public keys of whoever may sign it, as `highwater manifest keygen` prints them. One is enough to have signed.
    pub(crate) keys: Field<Vec<Written<String>>>,

    /// The manifest's file. The path starts at the folder of the configuration. Without this key and without `url`, the
    /// server itself is asked.
    pub(crate) file: Field<String>,

    /// Where the manifest is fetched: `https`, or `http` on this machine.
    pub(crate) url: Field<String>,

    /// Whose manifest it must be. Without this key, of the server's `url`, or of the name that a program gives itself.
    pub(crate) server: Field<String>,
}

/// How long to wait for a server.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "timeouts")]
pub(crate) struct TimeoutsFile {
    /// From start or first contact until the handshake is done.
    #[schemars(extend("default" = "30s"))]
    pub(crate) start: Field<Period>,

    /// For the answer to the question which era the server speaks. A server that stays silent for so long is
    /// taken for a legacy one.
    #[schemars(extend("default" = "5s"))]
    pub(crate) probe: Field<Period>,

    /// For the reply to a call.
    #[schemars(extend("default" = "10m"))]
    pub(crate) call: Field<Period>,

    /// How long a program may say nothing while calls wait for it. Then it is pinged; if it answers neither, further calls
    /// are refused at once, and it is started anew when its silence has lasted as long as a call may take, or at once if
    /// it was stopped.
    #[schemars(extend("default" = "30s"))]
    pub(crate) silence: Field<Period>,
}

/// What becomes of a call when the connection to its server fails: it could not be made, it broke before the whole reply
/// was there, or the program ended. A call that cannot have reached the server is sent again. One that may have
/// reached it is sent again only if its tool is read-only or idempotent, and you or somebody you trust says so; every
/// other call is never sent twice.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "retry")]
pub(crate) struct RetryFile {
    /// How often a call is sent again at most. With `0`, never.
    #[schemars(extend("default" = 2, "maximum" = 10))]
    pub(crate) times: Field<u64>,

    /// How long to wait before that. The wait doubles each time, up to five seconds, and counts as a part of
    /// `timeouts.call`.
    #[schemars(extend("default" = "200ms"))]
    pub(crate) wait: Field<Period>,
}

/// The transport, as clients write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(rename = "type")]
pub(crate) enum KindFile {
    /// A program; goes with `command`.
    #[serde(rename = "stdio")]
    Stdio,
    /// Streamable HTTP; goes with `url`.
    #[serde(rename = "http")]
    Http,
    /// Another name for `http`.
    #[serde(rename = "streamable-http")]
    StreamableHttp,
    /// Another name for `http`.
    #[serde(rename = "streamableHttp")]
    StreamableHttpInCamelCase,
    /// HTTP+SSE of revision 2024-11-05; goes with `url`.
    #[serde(rename = "sse")]
    Sse,
}
