//! What the operator says about the tools, resources and prompts of one server.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use highwater_core::annotation::OperatorLabel;
use highwater_core::policy::Glob;

/// The operator's labels of one server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Labels {
    /// By the names the server gives its tools.
    pub(crate) tools: BTreeMap<String, LabelSettings>,
    /// By patterns of URIs, the longest first.
    pub(crate) resources: Vec<(Glob, LabelSettings)>,
    /// By the names the server gives its prompts.
    pub(crate) prompts: BTreeMap<String, LabelSettings>,
}

/// The label of one tool, resource or prompt. Two are equal if the same was written.
#[derive(Clone)]
pub struct LabelSettings {
    label: Arc<OperatorLabel>,
    written: String,
}

// === impl Labels ===

impl Labels {
    /// The label of a resource: that of the longest pattern its URI matches.
    pub fn resource(&self, uri: &str) -> Option<&Arc<OperatorLabel>> {
        self.resources.iter().find(|(pattern, _)| pattern.matches(uri)).map(|(_, label)| label.label())
    }

    /// The label of a tool.
    pub fn tool(&self, name: &str) -> Option<&Arc<OperatorLabel>> {
        self.tools.get(name).map(LabelSettings::label)
    }

    /// The label of a prompt.
    pub fn prompt(&self, name: &str) -> Option<&Arc<OperatorLabel>> {
        self.prompts.get(name).map(LabelSettings::label)
    }

    /// Whether nothing is said of anything.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.resources.is_empty() && self.prompts.is_empty()
    }
}

// === impl LabelSettings ===

impl LabelSettings {
    pub(crate) fn new(label: Arc<OperatorLabel>, written: String) -> Self {
        Self { label, written }
    }

    /// What it says.
    pub fn label(&self) -> &Arc<OperatorLabel> {
        &self.label
    }
}

impl PartialEq for LabelSettings {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

impl Eq for LabelSettings {}

impl fmt::Debug for LabelSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}
