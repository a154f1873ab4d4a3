//! Servers that keep the same things: said of one, it holds for all of them.

use std::collections::BTreeSet;

use highwater_notation::suggest::nearest;

use super::Lowering;
use crate::file::{ConfigFile, ServerFile};
use crate::read::{Entries, Field};
use crate::settings::ServerSettings;

impl Lowering<'_> {
    /// Tells each server with which others it keeps its things.
    pub(super) fn keeps_with(&self, file: &ConfigFile, names: &[&str], servers: &mut [ServerSettings]) {
        let mut groups: Vec<BTreeSet<String>> = Vec::new();
        let blocks = [&file.servers, &file.pasted_servers];
        for (name, entry) in blocks.into_iter().filter_map(|block| block.value()).flat_map(|Entries(all)| all)
        {
            let Field::Read(entry) = entry else { continue };
            let ServerFile { keeps_with, .. } = &entry.value;
            let mut group = BTreeSet::from([name.value.clone()]);
            for other in keeps_with.value().into_iter().flatten() {
                if names.contains(&other.value.as_str()) {
                    group.insert(other.value.clone());
                    continue;
                }
                let help = match nearest(&other.value, names.iter().copied()) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => "name servers that are configured".to_owned(),
                };
                self.report(
                    other.span,
                    format!("there is no server `{}` to keep things with", other.value),
                    help,
                );
            }
            let (same, rest): (Vec<_>, Vec<_>) =
                groups.into_iter().partition(|known| !known.is_disjoint(&group));
            group.extend(same.into_iter().flatten());
            groups = rest;
            groups.push(group);
        }
        for server in servers {
            let group = groups.iter().find(|group| group.contains(&server.name));
            let others = group.into_iter().flatten().filter(|other| **other != server.name);
            server.keeps_with = others.cloned().collect();
        }
    }
}
