//! The keys that say what an agent's token grants.

use schemars::JsonSchema;
use serde::Deserialize;

use super::words::{AcceptedWord, FloorWord, FormsWord, PermissionWord};
use crate::human::Period;
use crate::read::{Deliberate, Field, Written};
use crate::settings::{ApprovalFlow, Partition};

/// What the token of one agent grants.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "agent_token")]
pub(crate) struct AgentTokenFile {
    /// Which calls it grants. A call needs the greater of what the agent called it and what the tool is: a tool that
    /// nobody you trust calls read-only is a write. Each is granted by itself; none includes another. Resources,
    /// prompts and completions need `call_tool_read`, searching for tools needs `retrieve_tools`.
    #[schemars(required)]
    pub(crate) permissions: Field<Vec<Written<PermissionWord>>>,

    /// The servers it reaches, by alias. `"*"` stands for all, also those that are added later.
    #[schemars(required)]
    #[schemars(extend("examples" = [["*"], ["database", "analytics"]]))]
    pub(crate) servers: Field<Vec<Written<String>>>,

    /// The tools it reaches, by their servers' own names. `*` stands for any run of characters and `?` for one;
    /// `github:get_*` is about one server. Without this key it reaches all tools of its servers, with `[]` none.
    #[schemars(extend("type" = ["array", "null"], "default" = null, "examples" = [["get_*", "github:search_*"]]))]
    pub(crate) tools: Deliberate<Vec<Written<String>>>,

    /// The one virtual server it opens. Without this key it opens all.
    #[schemars(extend("examples" = ["coding"]))]
    pub(crate) virtual_server: Field<String>,

    /// The least that its calls are judged with, where the virtual server would do with less.
    pub(crate) flow: Field<FloorWord>,

    /// The last day on which it grants anything, in UTC.
    #[schemars(with = "String", extend("format" = "date", "examples" = ["2027-01-31"]))]
    pub(crate) expires: Field<String>,

    /// How many requests it may make a minute. A minute's worth may come at once. Counted by each gateway for itself.
    #[schemars(extend("minimum" = 1))]
    pub(crate) rate_per_minute: Field<u64>,

    /// How many of its requests may be under way at once. Counted by each gateway for itself.
    #[schemars(extend("minimum" = 1))]
    pub(crate) concurrency: Field<u64>,

    /// Whose agent it is. Their passkeys approve what it does, and they are asked.
    #[schemars(extend("default" = "owner"))]
    pub(crate) user: Field<String>,

    /// Whether it brings signatures by itself, in place of `approvals.flow`.
    pub(crate) approval_flow: Field<ApprovalFlow>,

    /// Whether what its clients answer to a form is a person's word. A form comes back from the client, so this is for
    /// clients that you know to show it to somebody. Otherwise people are asked on the page.
    #[schemars(extend("default" = "never"))]
    pub(crate) forms: Field<FormsWord>,

    /// Whose words the prompts are that its host tells of through its hooks. What they ask for counts as wanted, so what
    /// the users of a bot write must not.
    #[schemars(extend("default" = "owner"))]
    pub(crate) words: Field<AcceptedWord>,

    /// What tells its sessions apart, in place of `partition` at the top.
    pub(crate) partition: Field<Partition>,

    /// How long it must be silent before what it does next may be a new conversation, in place of `sessions.quiet`.
    pub(crate) quiet: Field<Period>,
}
