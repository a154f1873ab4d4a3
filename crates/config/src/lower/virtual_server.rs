//! Virtual servers: names, members, and the `default` that always exists.

use highwater_core::decide::FlowPolicy;
use highwater_notation::suggest::choose;

use super::provenance::is_on;
use super::{Lowering, Refused, name};
use crate::file::{ConfigFile, VirtualServerFile};
use crate::read::{Entries, Field, Written};
use crate::settings::{Expose, Prefix, ServerSettings, VirtualServer};

/// The name of the virtual server at `/mcp`.
const DEFAULT: &str = "default";

/// What the top level says for every virtual server that does not say otherwise.
#[derive(Clone)]
pub(super) struct Common {
    pub(super) prefix: Prefix,
    pub(super) expose: Expose,
    pub(super) flow: FlowPolicy,
    pub(super) provenance: bool,
}

impl Lowering<'_> {
    /// `names` are all servers that were written, so that a faulty one is not reported as unknown, too.
    pub(super) fn virtual_servers(
        &self,
        file: &ConfigFile,
        common: Common,
        names: &[&str],
        servers: &[ServerSettings],
    ) -> Vec<VirtualServer> {
        let Common { prefix, expose, flow, provenance } = common;
        let enabled = |name: &&str| servers.iter().any(|server| server.name == **name && !server.disabled);
        let everything = VirtualServer {
            name: DEFAULT.to_owned(),
            servers: names.iter().filter(|name| enabled(name)).map(|name| (*name).to_owned()).collect(),
            prefix,
            expose,
            flow: flow.clone(),
            provenance,
        };
        let mut list = Vec::new();
        for (written, entry) in file.virtual_servers.value().into_iter().flat_map(|Entries(all)| all) {
            if let Err(refused) = name(&written.value) {
                self.report(written.span, format!("virtual server: {}", refused.message), refused.help);
            }
            let absent = VirtualServerFile::default();
            let entry = match entry {
                Field::Absent => &absent,
                Field::Broken => continue,
                Field::Read(read) => &read.value,
            };
            let members = match &entry.servers {
                Field::Absent => everything.servers.clone(),
                listed => self
                    .each(listed, |member| known(member, &written.value, names))
                    .into_iter()
                    .filter(|member| enabled(&member.as_str()))
                    .collect(),
            };
            let prefix = entry.prefix.value().copied().unwrap_or(prefix);
            let expose = entry.expose.value().copied().unwrap_or(expose);
            let subject = format!(" of virtual server `{}`", written.value);
            let flow = self.flow(flow.clone(), &subject, &entry.flow, &entry.clearance, &entry.sole_gateway);
            list.push(VirtualServer {
                name: written.value.clone(),
                servers: members,
                prefix,
                expose,
                flow,
                provenance: is_on(&entry.provenance, provenance),
            });
        }
        if !list.iter().any(|server| server.name == DEFAULT) {
            list.insert(0, everything);
        }
        list
    }
}

fn known(member: &Written<String>, owner: &str, names: &[&str]) -> Result<String, Refused> {
    if names.contains(&member.value.as_str()) {
        return Ok(member.value.clone());
    }
    let help = match names {
        [] => "define it under `servers`".to_owned(),
        names => choose(&member.value, names),
    };
    Err(Refused::new(format!("unknown server `{}` in virtual server `{owner}`", member.value), help))
}
