//! By which arguments each tool of a server names what it is about, where nobody stated it: from their names, and from pairs
//! of tools of which one writes what the other reads.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use highwater_profile::Naming;

use super::known::Known;
use crate::pipeline::may_keep;

/// Finds out by which arguments each tool names things. `alone` says that no other server keeps its things with this one.
pub(super) fn name_things(tools: &mut HashMap<Arc<str>, Known>, alone: bool) {
    let kinds = |writes: bool| -> BTreeSet<String> {
        let of = tools.values().filter(|known| if writes { may_keep(&known.contract) } else { reads(known) });
        of.flat_map(|known| known.shape.namings()).map(|naming| naming.kind.clone()).collect()
    };
    let (written, read) = (kinds(true), kinds(false));
    let both: BTreeSet<&String> = written.intersection(&read).collect();
    for known in tools.values_mut() {
        let all = known.shape.namings();
        let objects: Vec<Naming> = all.iter().filter(|naming| naming.is_object).cloned().collect();
        // What no tool reads by that name is not found by it.
        let found = |naming: &Naming| !alone || naming.kind == "path" || read.contains(&naming.kind);
        let readable: Vec<Naming> = match reads(known) {
            true => objects,
            false => objects.into_iter().filter(found).collect(),
        };
        known.namings = match readable.is_empty() {
            false => readable.into(),
            true => all.iter().filter(|naming| both.contains(&naming.kind)).cloned().collect(),
        };
    }
}

fn reads(known: &Known) -> bool {
    !may_keep(&known.contract) || known.shape.only_reads()
}
