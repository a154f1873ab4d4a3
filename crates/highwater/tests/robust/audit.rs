//! What the audit log says, read from its files.

use std::collections::BTreeMap;
use std::path::Path;

use highwater_testkit::wait;
use serde_json::Value;

/// Every decision with what came of it.
#[derive(Debug, Default)]
pub(crate) struct Audit {
    pub(crate) actions: BTreeMap<String, Page>,
}

/// What is on record under one decision's id.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) decisions: Vec<Value>,
    pub(crate) outcomes: Vec<Value>,
}

// === impl Audit ===

impl Audit {
    /// Reads the log of a data directory. Its last line may still be being written; every other must be whole.
    pub(crate) fn read(data_dir: &Path) -> Self {
        let mut audit = Self::default();
        let Ok(files) = std::fs::read_dir(data_dir.join("audit")) else { return audit };
        let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
        paths.sort();
        for path in paths {
            let text = std::fs::read_to_string(&path).unwrap();
            let (whole, _) = text.rsplit_once('\n').unwrap_or_default();
            for line in whole.lines() {
                let event: Value =
                    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
                // What belongs to no call: who came, and what became of the log itself.
                let Some(id) = event["id"].as_str() else { continue };
                let page = audit.actions.entry(id.to_owned()).or_default();
                match event["event"].as_str() {
                    Some("decision") => page.decisions.push(event),
                    Some("outcome") => page.outcomes.push(event),
                    _ => {}
                }
            }
        }
        audit
    }

    /// Every decision is on record once, and every allowed one has one outcome, which came after it.
    pub(crate) fn assert_settled(&self) {
        for (id, page) in &self.actions {
            assert_eq!(page.decisions.len(), 1, "{id}: {page:#?}");
            let allowed = page.decisions.iter().all(|decision| decision["effect"] == "allow");
            assert_eq!(page.outcomes.len(), usize::from(allowed), "{id}: {page:#?}");
        }
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.actions.values().all(|page| !page.outcomes.is_empty())
    }

    /// How often each outcome is on record.
    pub(crate) fn outcomes(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for outcome in self.actions.values().flat_map(|page| &page.outcomes) {
            *counts.entry(outcome["outcome"].as_str().unwrap().to_owned()).or_default() += 1;
        }
        counts
    }

    /// The outcomes of one tool of one server, in the order of their decisions.
    pub(crate) fn outcomes_of(&self, server: &str, tool: &str) -> Vec<String> {
        let ours = |page: &&Page| {
            page.decisions.iter().any(|decision| decision["upstream"] == server && decision["target"] == tool)
        };
        let outcomes = self.actions.values().filter(ours).flat_map(|page| &page.outcomes);
        outcomes.map(|outcome| outcome["outcome"].as_str().unwrap().to_owned()).collect()
    }
}

/// Waits until everything that was decided has an outcome, and that is exactly one.
pub(crate) async fn settled(data_dir: &Path) -> Audit {
    // One that never is fails below, with what is missing.
    wait::until_true("all is settled", || Audit::read(data_dir).is_settled()).await.ok();
    let audit = Audit::read(data_dir);
    audit.assert_settled();
    audit
}
