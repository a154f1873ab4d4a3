//! What the operator says about the tools, resources and prompts of one server.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use highwater_core::annotation::OperatorLabel;
use highwater_core::policy::{PathGlob, Truth};
use highwater_core::provenance::RecordShape;
use highwater_display::Sentence;

/// The operator's labels of one server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Labels {
    /// By the names the server gives its tools, each above what is said of every tool.
    pub(crate) tools: BTreeMap<String, LabelSettings>,
    /// Of every tool that has no label of its own: the key `*`.
    pub(crate) every_tool: Option<LabelSettings>,
    /// By patterns of URIs, the longest first.
    pub(crate) resources: Vec<(PathGlob, LabelSettings)>,
    /// By the names the server gives its prompts.
    pub(crate) prompts: BTreeMap<String, LabelSettings>,
}

/// The label of one tool, resource or prompt. Two are equal if the same was written.
#[derive(Clone)]
pub struct LabelSettings {
    label: Arc<OperatorLabel>,
    /// What a call does, for whoever is asked about one.
    display: Option<Arc<Sentence>>,
    /// What its replies list.
    records: Option<Arc<RecordShape>>,
    written: String,
}

// === impl Labels ===

impl Labels {
    /// The labels that a resource may have; `None` stands for no label. It is that of the longest pattern its URI
    /// matches. There are several where the URI matches one pattern in this spelling and another in that.
    pub fn resource(&self, uri: &str) -> Vec<Option<&Arc<OperatorLabel>>> {
        let mut possible = Vec::new();
        for (pattern, label) in &self.resources {
            match pattern.truth(uri) {
                Truth::False => {}
                Truth::Unknown => possible.push(Some(label.label())),
                Truth::True => {
                    possible.push(Some(label.label()));
                    return possible;
                }
            }
        }
        possible.push(None);
        possible
    }

    /// The label of a tool.
    pub fn tool(&self, name: &str) -> Option<&Arc<OperatorLabel>> {
        self.tools.get(name).or(self.every_tool.as_ref()).map(LabelSettings::label)
    }

    /// The sentence that the operator wrote for a tool.
    pub fn display(&self, name: &str) -> Option<&Arc<Sentence>> {
        self.tools.get(name).or(self.every_tool.as_ref())?.display.as_ref()
    }

    /// What the replies of a tool list.
    pub fn records(&self, name: &str) -> Option<&Arc<RecordShape>> {
        self.tools.get(name).or(self.every_tool.as_ref())?.records.as_ref()
    }

    /// The names of tools that have a label of their own.
    pub fn tool_names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }

    /// The names of prompts that have a label of their own.
    pub fn prompt_names(&self) -> impl Iterator<Item = &str> {
        self.prompts.keys().map(String::as_str)
    }

    /// The label of a prompt.
    pub fn prompt(&self, name: &str) -> Option<&Arc<OperatorLabel>> {
        self.prompts.get(name).map(LabelSettings::label)
    }

    /// Whether nothing is said of anything.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
            && self.every_tool.is_none()
            && self.resources.is_empty()
            && self.prompts.is_empty()
    }
}

// === impl LabelSettings ===

impl LabelSettings {
    pub(crate) fn new(
        label: Arc<OperatorLabel>,
        display: Option<Arc<Sentence>>,
        records: Option<Arc<RecordShape>>,
        written: String,
    ) -> Self {
        Self { label, display, records, written }
    }

    /// This label above that of every tool.
    pub(crate) fn over(&self, general: &Self) -> Self {
        let written = format!("{}; of every tool: {}", self.written, general.written);
        let display = self.display.as_ref().or(general.display.as_ref()).cloned();
        let records = self.records.as_ref().or(general.records.as_ref()).cloned();
        Self::new(Arc::new(self.label.over(&general.label)), display, records, written)
    }

    /// The label of every tool, for one that has none of its own.
    pub(crate) fn of_every_tool(&self) -> Self {
        Self { label: Arc::new(self.label.of_every_tool()), ..self.clone() }
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
