//! What a server has, each definition as the server writes it: from a running gateway, or from a file.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use highwater_core::id::UpstreamId;
use highwater_pins::{ContentHash, PinKey, PinKind};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::exit::Failure;
use crate::explain::plain;
use crate::local::hello::{Ask, Hello};
use crate::local::visit::{Visit, visit_for};

/// How long a gateway may take: the server may have to be started.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a server has.
#[derive(Debug, Deserialize)]
pub(super) struct Definitions {
    /// Where it is, or what it calls itself.
    pub(super) server: Option<String>,
    items: Vec<(PinKey, Box<RawValue>)>,
}

/// The lists of a server in one file.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Lists {
    tools: Vec<Box<RawValue>>,
    prompts: Vec<Box<RawValue>>,
    resource_templates: Vec<Box<RawValue>>,
    instructions: Option<Box<RawValue>>,
}

/// What names an item of a list.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Named {
    name: Option<String>,
    uri_template: Option<String>,
}

// === impl Definitions ===

impl Definitions {
    /// What a server of the running gateway lists.
    pub(super) fn of_server(data: &Path, server: &str) -> Result<Self, Failure> {
        let ask = Hello::ask(Ask::Offer { server: UpstreamId::new(server) });
        match visit_for(data, &ask, PATIENCE).context("cannot reach the gateway")? {
            Visit::Welcome { welcome, .. } => {
                let answer = welcome.answer.context("the gateway does not answer that")?;
                Ok(serde_json::from_str(answer.get()).context("the gateway speaks another language")?)
            }
            Visit::Refused(why) => Err(Failure::failed(why)),
            Visit::Absent => Err(Failure::failed(format_args!("no gateway runs on `{}`", data.display()))
                .help("start one with `highwater serve`, or name a file with `--definitions`")),
        }
    }

    /// What a file lists.
    pub(super) fn of_file(file: &Path) -> Result<Self, Failure> {
        let text = super::read(file)?;
        let lists: Lists = serde_json::from_str(&text).map_err(|error| {
            Failure::usage(format_args!("`{}` holds no lists: {error}", file.display()))
                .help("it is an object with `tools`, `prompts`, `resourceTemplates` and `instructions`")
        })?;
        let mut items = Vec::new();
        for (kind, list) in [
            (PinKind::Tool, lists.tools),
            (PinKind::Prompt, lists.prompts),
            (PinKind::Template, lists.resource_templates),
        ] {
            for item in list {
                let named: Named =
                    serde_json::from_str(item.get()).context("an item of a list is no object")?;
                let name = if kind == PinKind::Template { named.uri_template } else { named.name };
                let name = name.context("an item of a list has no name")?;
                items.push((PinKey::new(kind, name), item));
            }
        }
        items.extend(lists.instructions.map(|text| (PinKey::instructions(), text)));
        Ok(Self { server: None, items })
    }

    /// The hash of each.
    pub(super) fn hashes(&self) -> Result<BTreeMap<PinKey, ContentHash>, Failure> {
        let mut hashes = BTreeMap::new();
        for (key, item) in &self.items {
            let hash = ContentHash::of(item.get())
                .with_context(|| format!("`{}` is no JSON", plain(&key.to_string())))?;
            if hashes.insert(key.clone(), hash).is_some() {
                return Err(Failure::failed(format_args!("`{}` is there twice", plain(&key.to_string()))));
            }
        }
        Ok(hashes)
    }
}
