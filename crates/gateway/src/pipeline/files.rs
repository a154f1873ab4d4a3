//! The files that a call names, and those that it makes act: that it runs, builds, tests, pushes or publishes. Where they were
//! written in doubt, that is asked about, and a person's yes to it takes the doubt off them.

use std::path::Path;
use std::sync::Arc;

use highwater_core::action::ActionKind;
use highwater_core::decide::Permit;
use highwater_core::id::UpstreamId;
use highwater_core::profile::Profile;
use highwater_core::session::Doubt;
use highwater_marks::Name;
use highwater_profile::never_free::is_inside;
use highwater_profile::{Engine, NamedThings, Places, Reach, UsesFiles, reach};
use highwater_upstream::box_cold;

use super::local::{values, work_tree};
use super::permitted::Basis;
use super::proposed::Proposed;
use super::sessions::Sessions;

/// The files of a call.
#[derive(Clone, Debug, Default)]
pub(super) struct Files {
    /// Those that it names, absolute, with their links followed, as far as that was looked at.
    pub(super) real: Arc<[String]>,
    /// Where those lie that it makes act.
    used: Used,
    /// The doubts about them.
    pub(super) doubts: Arc<[Doubt]>,
}

/// Where the files lie that a call makes act.
#[derive(Clone, Debug, Default)]
enum Used {
    /// It makes none act.
    #[default]
    Nowhere,
    /// In these folders.
    In(Arc<[Name]>),
    /// Nobody can tell.
    Anywhere,
}

// === impl Files ===

impl Files {
    /// The files of a call that names these things.
    pub(super) fn of(proposed: &Proposed, named: &NamedThings, places: &Places) -> Self {
        let used = used(proposed, named, places);
        // Most calls name no file.
        let real = if named.paths.is_empty() { Arc::default() } else { named.paths.as_slice().into() };
        Self { real, used, doubts: Arc::default() }
    }

    /// Whether it makes any act.
    pub(super) fn are_used(&self) -> bool {
        !matches!(self.used, Used::Nowhere)
    }
}

fn used(proposed: &Proposed, named: &NamedThings, places: &Places) -> Used {
    let known = proposed.known();
    let Some(uses) = known.shape.uses_files().filter(|_| proposed.action.kind() == ActionKind::CallTool)
    else {
        return Used::Nowhere;
    };
    // What somebody whose word counts calls benign runs nothing, whatever its name is.
    if !proposed.contract.acts() {
        return Used::Nowhere;
    }
    // A tool that tells nothing of its arguments may run them; that it runs files takes a server that has them.
    if known.shape.runs() == Some(&Engine::UnknownArguments) && known.profile != Profile::Local {
        return Used::Nowhere;
    }
    let is_here = match uses {
        UsesFiles::Runs => matches!(known.profile, Profile::Local | Profile::Unknown),
        UsesFiles::HandsOn => known.profile == Profile::Local,
    };
    let mut paths = named.paths.clone();
    // What lies with an account or on a website is its own, unless files of this machine are named.
    if !is_here && paths.is_empty() {
        return Used::Nowhere;
    }
    if is_here && (named.has_unknown_path || paths.is_empty()) {
        return Used::Anywhere;
    }
    for pointer in known.shape.commands() {
        for command in values(proposed.arguments(), pointer) {
            match reach(&command, places.home.as_deref()) {
                Reach::Places(others) => paths.extend(others),
                Reach::Anywhere => return Used::Anywhere,
            }
        }
    }
    let folder = |path: &String| match uses {
        UsesFiles::Runs => Name::new(&project_of(path, &places.projects)),
        UsesFiles::HandsOn => Name::new(path),
    };
    Used::In(paths.iter().map(folder).collect())
}

/// The project that a path lies in: what is run there may use all of it. Where it lies in none, the path itself.
fn project_of(path: &str, projects: &[String]) -> String {
    let named = || projects.iter().find(|project| is_inside(path, std::slice::from_ref(project))).cloned();
    work_tree(Path::new(path)).or_else(named).unwrap_or_else(|| path.to_owned())
}

// === impl Sessions ===

impl Sessions {
    /// An action with the doubts about the files that it makes act, as they are now.
    pub(super) async fn doubting(&self, proposed: Proposed) -> Proposed {
        let folders = match &proposed.files.used {
            Used::Nowhere => return proposed,
            Used::In(folders) => Some(&**folders),
            Used::Anywhere => None,
        };
        let (servers, writes) = self.of_this_machine();
        let reader = &proposed.caller.principal;
        let found = box_cold(self.store.doubts(&servers, folders, reader)).await;
        let doubts = found.unwrap_or_else(|error| {
            tracing::error!(%error, decision = %proposed.decision, "doubts about files cannot be read");
            let mut known = self.store.last_known_doubts(&servers, folders, reader);
            // Where files of this machine are written, there may be some that nobody here has heard of.
            known.extend(writes.then(Doubt::unread));
            known
        });
        let files = Files { doubts: doubts.into(), ..proposed.files.clone() };
        Proposed { files, ..proposed }
    }

    /// Takes off files what a person was told of them who said yes to running them or handing them on.
    pub(super) async fn clear_doubts(&self, proposed: &Proposed, permit: &Permit, basis: &Basis) {
        let (Some(consented), Some(person)) = (permit.consented(), &basis.person) else { return };
        let told = |doubt: &&Doubt| consented.told().doubts().any(|told| *told == doubt.id);
        let doubts: Vec<Doubt> = proposed.files.doubts.iter().filter(told).cloned().collect();
        if doubts.is_empty() {
            return;
        }
        let reason = format!("a yes to `{}`, decision {}", proposed.name(), proposed.decision);
        if let Err(error) = box_cold(self.store.clear_doubts(doubts, person, &reason)).await {
            tracing::warn!(%error, decision = %proposed.decision, "files that a person agreed to stay in doubt");
        }
    }

    /// The servers whose paths are paths of this machine, as far as anybody said; and whether one that is known to be of it
    /// may write.
    fn of_this_machine(&self) -> (Vec<UpstreamId>, bool) {
        let world = self.world.load();
        let profiles = |upstream: &UpstreamId| -> Vec<Profile> {
            let known = world.holding(upstream).map(|server| server.known());
            known.filter_map(|names| names.contracts(upstream).map(|contracts| contracts.profile())).collect()
        };
        let (mut here, mut writes) = (Vec::new(), false);
        for upstream in world.catalog_servers.keys() {
            let profiles = profiles(upstream);
            if !profiles.iter().any(|profile| matches!(profile, Profile::Private | Profile::Public)) {
                writes |= profiles.contains(&Profile::Local) && !world.keeps_nothing(upstream);
                here.push(upstream.clone());
            }
        }
        (here, writes)
    }
}
