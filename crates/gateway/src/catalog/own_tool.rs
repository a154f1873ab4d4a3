//! The five tools that stand for all the others where a virtual server offers search.

use highwater_core::grant::{CallVariant, Grant, Permission};

/// A tool of our own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnTool {
    /// Finds tools.
    Retrieve,
    /// Tells all about one.
    Describe,
    /// Calls one, stating what the caller takes it for.
    Call(CallVariant),
}

const RETRIEVE: &str = r#"{"name":"retrieve_tools","title":"Find tools","description":"Finds tools by what they do. Ask for one step at a time, in a few words (\"create an issue\", \"read a file\"): a whole task in one query finds less. Each hit has the tool's `name`, its `inputSchema`, and: `call_with`, the tool to call it through (call_tool_read, call_tool_write or call_tool_destructive); `status`, what would become of a call in this conversation now (callable_now, needs_confirmation: a person is asked first, needs_passkey: a person must sign it first, blocked: do not try); `would_taint`, true if its reply brings in data that may close other tools afterwards. Arguments can make a status milder; describe_tool with `arguments` says exactly. Without `query`, lists tools by name. `filter_diagnostics` says what the filters left out.","inputSchema":{"type":"object","properties":{"query":{"type":"string","description":"What the tool should do, in a few words."},"limit":{"type":"integer","minimum":1,"maximum":100,"default":10,"description":"How many tools to return at most."},"server":{"type":"string","description":"Only tools of this server."},"read_only_only":{"type":"boolean","default":false,"description":"Only tools that certainly change nothing."},"exclude_destructive":{"type":"boolean","default":false,"description":"No tool that may destroy something."},"exclude_open_world":{"type":"boolean","default":false,"description":"No tool that may reach the outside world or bring in what strangers wrote."},"detail":{"type":"string","enum":["full","compact"],"default":"full","description":"`compact` leaves out the schemas; describe_tool gives them."}},"additionalProperties":false},"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}"#;

const DESCRIBE: &str = r#"{"name":"describe_tool","title":"Describe a tool","description":"Gives the whole definition of one tool found with retrieve_tools, with `call_with`, `status` and `would_taint` as there. With `arguments`, `status` is that of a call with exactly these; nothing is called.","inputSchema":{"type":"object","properties":{"name":{"type":"string","description":"The tool's name as retrieve_tools gives it."},"arguments":{"type":"object","description":"The arguments of a call that is considered."}},"required":["name"],"additionalProperties":false},"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}"#;

const READ: &str = r#"{"name":"call_tool_read","title":"Call a tool that only reads","description":"Calls a tool that only looks and changes nothing. Use it exactly for tools whose `call_with` is call_tool_read; a tool that can do more is refused, and the refusal names the right one.","inputSchema":{"type":"object","properties":{"name":{"type":"string","description":"The tool's name as retrieve_tools gives it."},"arguments":{"type":"object","description":"The tool's own arguments, as its inputSchema says.","default":{}}},"required":["name"],"additionalProperties":false},"annotations":{"readOnlyHint":true,"openWorldHint":true}}"#;

const WRITE: &str = r#"{"name":"call_tool_write","title":"Call a tool that changes something","description":"Calls a tool that creates or changes something. Use it for tools whose `call_with` is call_tool_write; one that may destroy something is refused, and the refusal names the right one.","inputSchema":{"type":"object","properties":{"name":{"type":"string","description":"The tool's name as retrieve_tools gives it."},"arguments":{"type":"object","description":"The tool's own arguments, as its inputSchema says.","default":{}}},"required":["name"],"additionalProperties":false},"annotations":{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":false,"openWorldHint":true}}"#;

const DESTRUCTIVE: &str = r#"{"name":"call_tool_destructive","title":"Call a tool that may destroy something","description":"Calls a tool that may delete or overwrite something for good. Use it for tools whose `call_with` is call_tool_destructive.","inputSchema":{"type":"object","properties":{"name":{"type":"string","description":"The tool's name as retrieve_tools gives it."},"arguments":{"type":"object","description":"The tool's own arguments, as its inputSchema says.","default":{}}},"required":["name"],"additionalProperties":false},"annotations":{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true}}"#;

// === impl OwnTool ===

impl OwnTool {
    /// All of them, in the order in which they are listed.
    pub(crate) const ALL: [Self; 5] = [
        Self::Retrieve,
        Self::Describe,
        Self::Call(CallVariant::Read),
        Self::Call(CallVariant::Write),
        Self::Call(CallVariant::Destructive),
    ];

    /// The name under which hosts' hooks call us. No list has it, and no tool of a server may have it either.
    pub(crate) const HIDDEN: [&'static str; 1] = [highwater_hosts::table::tool_call::TOOL];

    /// The names that no tool of a server may have beside these.
    pub(crate) const RESERVED: [&'static str; 6] = {
        let [retrieve, describe, read, write, destructive] = Self::NAMES;
        let [hidden] = Self::HIDDEN;
        [retrieve, describe, read, write, destructive, hidden]
    };

    /// Their names.
    pub(crate) const NAMES: [&'static str; 5] =
        ["retrieve_tools", "describe_tool", "call_tool_read", "call_tool_write", "call_tool_destructive"];

    /// The tool of this name.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Retrieve => "retrieve_tools",
            Self::Describe => "describe_tool",
            Self::Call(variant) => variant.as_str(),
        }
    }

    /// What a token must hold to be offered it. Calling needs more where the tool that is called does.
    pub(crate) fn permission(self) -> Permission {
        match self {
            Self::Retrieve | Self::Describe => Permission::Retrieve,
            Self::Call(variant) => variant.into(),
        }
    }

    /// Whether a token is offered it.
    pub(crate) fn is_granted(self, grant: &Grant) -> bool {
        grant.permits(self.permission())
    }

    /// Its definition, as JSON text.
    pub(crate) fn definition(self) -> &'static str {
        match self {
            Self::Retrieve => RETRIEVE,
            Self::Describe => DESCRIBE,
            Self::Call(CallVariant::Read) => READ,
            Self::Call(CallVariant::Write) => WRITE,
            Self::Call(CallVariant::Destructive) => DESTRUCTIVE,
        }
    }
}

#[cfg(test)]
mod tests {
    use highwater_search::Filter;
    use serde_json::Value;

    use super::*;

    fn defined(tool: OwnTool) -> Value {
        serde_json::from_str(tool.definition()).unwrap()
    }

    #[test]
    fn each_is_defined_under_its_own_name() {
        assert_eq!(OwnTool::ALL.map(OwnTool::name), OwnTool::NAMES);
        for tool in OwnTool::ALL {
            assert_eq!(defined(tool)["name"], tool.name());
            assert_eq!(defined(tool)["inputSchema"]["additionalProperties"], false, "{}", tool.name());
            assert_eq!(OwnTool::of_name(tool.name()), Some(tool));
        }
    }

    #[test]
    fn every_filter_can_be_asked_for() {
        let retrieve = defined(OwnTool::Retrieve);
        for filter in Filter::NAMES {
            assert_eq!(retrieve["inputSchema"]["properties"][filter]["type"], "boolean");
        }
    }
}
