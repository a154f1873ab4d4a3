//! The methods a client may call, and in which era each exists.

use crate::era::Era;

/// A request method of MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// `initialize`
    Initialize,
    /// `server/discover`
    Discover,
    /// `ping`
    Ping,
    /// `logging/setLevel`
    SetLogLevel,
    /// `tools/list`
    ListTools,
    /// `prompts/list`
    ListPrompts,
    /// `resources/list`
    ListResources,
    /// `resources/templates/list`
    ListResourceTemplates,
    /// `tools/call`
    CallTool,
    /// `tools/resolve`: what would apply to a call with these arguments.
    ResolveTool,
    /// `prompts/get`
    GetPrompt,
    /// `resources/read`
    ReadResource,
    /// `completion/complete`
    Complete,
    /// `resources/subscribe`
    Subscribe,
    /// `resources/unsubscribe`
    Unsubscribe,
    /// `subscriptions/listen`
    Listen,
    /// `tasks/get`
    GetTask,
    /// `tasks/result`
    TaskResult,
    /// `tasks/list`
    ListTasks,
    /// `tasks/cancel`
    CancelTask,
    /// `tasks/update`
    UpdateTask,
}

/// One row per method: its name and the eras that have it.
const TABLE: &[(Method, &str, &[Era])] = {
    use Era::{Legacy, Modern};
    const BOTH: &[Era] = &[Legacy, Modern];
    &[
        (Method::CallTool, "tools/call", BOTH),
        (Method::ListTools, "tools/list", BOTH),
        (Method::ResolveTool, "tools/resolve", BOTH),
        (Method::ReadResource, "resources/read", BOTH),
        (Method::GetPrompt, "prompts/get", BOTH),
        (Method::Complete, "completion/complete", BOTH),
        (Method::ListPrompts, "prompts/list", BOTH),
        (Method::ListResources, "resources/list", BOTH),
        (Method::ListResourceTemplates, "resources/templates/list", BOTH),
        (Method::GetTask, "tasks/get", BOTH),
        (Method::CancelTask, "tasks/cancel", BOTH),
        (Method::UpdateTask, "tasks/update", &[Modern]),
        (Method::TaskResult, "tasks/result", &[Legacy]),
        (Method::ListTasks, "tasks/list", &[Legacy]),
        (Method::Discover, "server/discover", &[Modern]),
        (Method::Listen, "subscriptions/listen", &[Modern]),
        (Method::Initialize, "initialize", &[Legacy]),
        (Method::Ping, "ping", &[Legacy]),
        (Method::SetLogLevel, "logging/setLevel", &[Legacy]),
        (Method::Subscribe, "resources/subscribe", &[Legacy]),
        (Method::Unsubscribe, "resources/unsubscribe", &[Legacy]),
    ]
};

// === impl Method ===

impl Method {
    /// Reads a method's name.
    pub fn parse(name: &str) -> Option<Self> {
        TABLE.iter().find(|(_, known, _)| *known == name).map(|(method, _, _)| *method)
    }

    /// The method's name.
    pub fn as_str(self) -> &'static str {
        TABLE.iter().find(|(method, _, _)| *method == self).map_or("", |(_, name, _)| *name)
    }

    /// Whether the era has the method.
    pub fn exists_in(self, era: Era) -> bool {
        TABLE.iter().any(|(method, _, eras)| *method == self && eras.contains(&era))
    }

    /// Whether a result of this method carries the modern era's caching fields.
    pub fn is_cacheable(self) -> bool {
        matches!(
            self,
            Self::Discover
                | Self::ListTools
                | Self::ListPrompts
                | Self::ListResources
                | Self::ListResourceTemplates
                | Self::ReadResource
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_has_one_row_and_reads_back() {
        for (method, name, _) in TABLE {
            assert_eq!(Method::parse(name), Some(*method));
            assert_eq!(method.as_str(), *name);
            assert_eq!(TABLE.iter().filter(|(_, other, _)| other == name).count(), 1, "{name}");
        }
        assert_eq!(Method::parse("tools/Call"), None);
    }

    #[test]
    fn the_removed_methods_are_not_modern() {
        for name in ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"]
        {
            assert!(!Method::parse(name).unwrap().exists_in(Era::Modern), "{name}");
        }
    }
}
