//! Following the configuration file while the gateway runs. A file that does not compile changes nothing.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use highwater_config::{ManifestSource, Settings};
use highwater_gateway::Gateway;
use tokio::sync::watch;

use crate::configuration::beside;
use crate::exit::Failure;
use crate::place::ConfigSource;
use crate::wire::Plan;

/// How often the file is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// How long a file that changed must rest before it is read, so that it is not read half written.
const REST: Duration = Duration::from_millis(100);

/// Keeps the running gateway at what the file says.
pub(crate) struct Follower {
    plan: Plan,
    gateway: Arc<Gateway>,
    current: watch::Sender<Arc<Settings>>,
    seen: Vec<Option<Stamp>>,
}

/// What a file looks like from outside. It differs when the content does, as far as the system knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

// === impl Follower ===

impl Follower {
    /// Starts from the settings the gateway runs on.
    pub(crate) fn new(plan: Plan, gateway: Arc<Gateway>, settings: Settings) -> Self {
        let seen = stamps(&plan.source, &settings);
        Self { plan, gateway, current: watch::Sender::new(Arc::new(settings)), seen }
    }

    /// The settings the gateway runs on, now and later.
    pub(crate) fn settings(&self) -> watch::Receiver<Arc<Settings>> {
        self.current.subscribe()
    }

    /// Waits until the file is another than the one read last.
    pub(crate) async fn changed(&mut self) {
        loop {
            tokio::time::sleep(LOOK).await;
            let mut stamp = self.stamps();
            if stamp == self.seen {
                continue;
            }
            loop {
                tokio::time::sleep(REST).await;
                let later = self.stamps();
                if later == stamp {
                    break;
                }
                stamp = later;
            }
            return;
        }
    }

    /// Reads the file and takes up what it says, or says why not. Either goes to standard error.
    pub(crate) fn reload(&mut self) {
        let ConfigSource::File(file) = &self.plan.source else {
            eprintln!("the built-in example has no configuration to read again");
            return;
        };
        // Taken before the file is read: a change in between is seen the next time.
        self.seen = self.stamps();
        let name = file.display().to_string();
        let outcome = self.take_up();
        // Rule files that are named now and were not before have not been looked at.
        let configuration = self.seen.first().copied();
        if self.seen.len() != self.stamps().len() {
            self.seen = configuration.into_iter().chain(self.stamps().into_iter().skip(1)).collect();
        }
        match outcome {
            Ok(changes) if changes.is_empty() => eprintln!("`{name}` was read again; nothing changed"),
            Ok(changes) => eprintln!("`{name}` was read again: {}", changes.join(", ")),
            Err(failure) => {
                eprintln!("{}\n\nthe gateway keeps running on what `{name}` said before", failure.words());
            }
        }
    }

    /// What the files look like from which the present settings were read.
    fn stamps(&self) -> Vec<Option<Stamp>> {
        stamps(&self.plan.source, &self.current.borrow())
    }

    fn take_up(&self) -> Result<Vec<String>, Failure> {
        let old = Arc::clone(&self.current.borrow());
        let wanted = self.plan.settings()?;
        let mut changes = changes(&old, &wanted);
        if wanted.listen != old.listen {
            changes.push(format!(
                "`listen` will be `{}` after a restart, until then it stays `{}`",
                wanted.listen, old.listen
            ));
        }
        // The address stays, so the rule about addresses is about the one that stays.
        let new = wanted.listening_on(old.listen).map_err(|exposed| {
            Failure::usage(exposed).help("restart to change `listen` and `auth` together")
        })?;
        if new != *old {
            self.gateway.reload(new.clone());
            self.current.send_replace(Arc::new(new));
        }
        Ok(changes)
    }
}

/// What a new configuration changes, for people. `listen` is not among it.
fn changes(old: &Settings, new: &Settings) -> Vec<String> {
    let mut changes = Vec::new();
    for server in &new.servers {
        match old.server(&server.name) {
            None => changes.push(format!("added server `{}`", server.name)),
            Some(before) if before != server => changes.push(format!("changed server `{}`", server.name)),
            Some(_) => {}
        }
    }
    for server in old.servers.iter().filter(|server| new.server(&server.name).is_none()) {
        changes.push(format!("removed server `{}`", server.name));
    }
    // `default` follows the servers when nobody wrote it down, so it is named only if nothing else changed.
    let only_default = !changes.is_empty();
    for server in new.virtual_servers.iter().filter(|server| !(only_default && server.name == "default")) {
        match old.virtual_server(&server.name) {
            None => changes.push(format!("added virtual server `{}`", server.name)),
            Some(before) if before != server => {
                changes.push(format!("changed virtual server `{}`", server.name));
            }
            Some(_) => {}
        }
    }
    for server in old.virtual_servers.iter().filter(|server| new.virtual_server(&server.name).is_none()) {
        changes.push(format!("removed virtual server `{}`", server.name));
    }
    for (key, is_other) in [
        ("auth", old.auth != new.auth),
        ("allowed_hosts", old.allowed_hosts != new.allowed_hosts),
        ("allowed_origins", old.allowed_origins != new.allowed_origins),
        ("limits", old.limits != new.limits),
        ("agent_tokens", old.agent_tokens != new.agent_tokens),
        ("approvals", old.approvals != new.approvals),
        ("rules", old.rules != new.rules),
        ("partition", old.partition != new.partition),
        ("sessions", old.quiet != new.quiet),
        ("audit", old.audit != new.audit),
    ] {
        if is_other {
            changes.push(format!("changed `{key}`"));
        }
    }
    changes
}

/// What the configuration and the files it names look like, the configuration first.
fn stamps(source: &ConfigSource, settings: &Settings) -> Vec<Option<Stamp>> {
    let ConfigSource::File(file) = source else { return Vec::new() };
    let others = settings.rules_files.iter().chain(&settings.approvals.authenticator_files);
    let others = others.map(|path| Stamp::of(&beside(file, path)));
    let manifests = settings.servers.iter().filter_map(|server| match &server.manifest.as_ref()?.from {
        ManifestSource::File(path) => Some(Stamp::of(Path::new(path))),
        ManifestSource::Server | ManifestSource::Url(_) => None,
    });
    std::iter::once(Stamp::of(file)).chain(others).chain(manifests).collect()
}

// === impl Stamp ===

impl Stamp {
    fn of(file: &Path) -> Option<Self> {
        let found = fs::metadata(file).ok()?;
        Some(Self { inode: found.ino(), size: found.size(), modified: (found.mtime(), found.mtime_nsec()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Settings {
        highwater_config::load("highwater.yaml", text, &|_| None).unwrap()
    }

    #[test]
    fn what_changed_is_named() {
        let old = settings("servers: { a: { command: a }, b: { command: b }, c: { command: c } }");
        let new = settings(
            "{ servers: { b: { command: b }, c: { command: d }, e: { command: e } }, limits: { drain: 0s } }",
        );
        assert_eq!(
            changes(&old, &new),
            ["changed server `c`", "added server `e`", "removed server `a`", "changed `limits`"]
        );
        assert!(changes(&old, &old).is_empty());
    }

    #[test]
    fn virtual_servers_are_named_too() {
        let old = settings("{ servers: { a: { command: a } }, virtual_servers: { v: { servers: [a] } } }");
        let new = settings(
            "{ servers: { a: { command: a } }, virtual_servers: { default: { prefix: never }, w: {} } }",
        );
        assert_eq!(
            changes(&old, &new),
            ["changed virtual server `default`", "added virtual server `w`", "removed virtual server `v`"]
        );
    }
}
