//! The configuration as it is, and with lines pasted into it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use highwater_config::{Settings, StoreSettings, Surroundings};
use highwater_core::decide::FlowMode;
use highwater_core::policy::Policy;
use highwater_gateway::ToolContracts;
use highwater_notation::Timestamp;
use highwater_store::{Store, StoredPin};

use crate::configuration::beside;
use crate::environment::variable;
use crate::exit::Failure;
use crate::life::runtime;
use crate::place::{ConfigSource, Places, text};
use crate::running::Running;
use crate::wire::{EXAMPLE, EXAMPLE_DATA, program};

/// The text of a configuration with everything around it that is needed to load it again.
pub(crate) struct BaseConfiguration {
    name: String,
    text: String,
    /// Where the files are that it names; nothing for one that stands alone.
    file: Option<PathBuf>,
    /// Variables that count before those of the environment.
    variables: BTreeMap<&'static str, String>,
    /// What is stored of each server's definitions.
    pins: BTreeMap<String, Vec<StoredPin>>,
}

/// A configuration that has been loaded, with all that follows from it.
pub(crate) struct LoadedConfiguration {
    pub(crate) settings: Settings,
    pub(crate) contracts: ToolContracts,
    /// The policy in each enforcing mode.
    policies: [Policy; FlowMode::ENFORCING.len()],
}

/// The configuration as it is, ready to be tried with lines pasted into it.
pub(crate) struct Trials {
    base: BaseConfiguration,
    /// As it is.
    pub(crate) now: LoadedConfiguration,
    /// What time it is.
    pub(crate) time: Timestamp,
}

// === impl Trials ===

impl Trials {
    /// The configuration from where a gateway would take it, and what the data directory knows of its servers.
    /// One that is named must be there and right; without the one that is found, what is on record can be told all the
    /// same.
    pub(crate) fn found(places: &Places, data: &Path) -> Result<Option<Self>, Failure> {
        // A gateway that runs there says which configuration is its own.
        let running = Running::read(data).filter(|_| !places.names_config());
        let source = match running.map(|running| running.config) {
            Some(Some(file)) => ConfigSource::File(file),
            Some(None) => ConfigSource::Example,
            None => places.config(),
        };
        match Self::read(&source, data) {
            Ok(trials) => Ok(Some(trials)),
            Err(failure) if places.names_config() => Err(failure),
            Err(failure) => {
                tracing::warn!("no remedy was tried: {}", failure.words());
                Ok(None)
            }
        }
    }

    /// What time it is.
    pub(crate) fn clock() -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    fn read(source: &ConfigSource, data: &Path) -> Result<Self, Failure> {
        let base = BaseConfiguration::read(source, data)?;
        Self::of(base, Self::clock())
            .ok_or_else(|| Failure::failed("the configuration changed while it was read"))
    }

    /// With this configuration, at this time; `None` if it does not load.
    pub(crate) fn of(base: BaseConfiguration, time: Timestamp) -> Option<Self> {
        let now = base.with(&[])?;
        Some(Self { base, now, time })
    }

    /// The configuration with these lines pasted into it; `None` if that does not load.
    pub(crate) fn with(&self, lines: &[&str]) -> Option<LoadedConfiguration> {
        self.base.with(lines)
    }
}

// === impl BaseConfiguration ===

impl BaseConfiguration {
    /// The configuration from where a gateway would take it, and what the data directory knows of its servers.
    pub(crate) fn read(source: &ConfigSource, data: &Path) -> Result<Self, Failure> {
        let mut base = match source {
            ConfigSource::File(file) => {
                let name = file.display().to_string();
                let text = std::fs::read_to_string(file)
                    .map_err(|error| Failure::usage(format_args!("cannot read `{name}`: {error}")))?;
                Self { file: Some(file.clone()), ..Self::of(&name, &text) }
            }
            ConfigSource::Example => {
                let variables = BTreeMap::from([
                    ("HIGHWATER_PROGRAM", text(&program()?)?),
                    ("HIGHWATER_EXAMPLE", text(&data.join(EXAMPLE_DATA))?),
                ]);
                Self { variables, ..Self::of("built-in example", EXAMPLE) }
            }
        };
        let settings = base.settings(&[]).map_err(Failure::configuration)?;
        let servers: Vec<&str> = settings.servers.iter().map(|server| server.name.as_str()).collect();
        let pins = match &settings.store {
            StoreSettings::Sqlite => Store::look_at_pins(data, &servers),
            StoreSettings::Postgres { url, timeout } => {
                runtime()?.block_on(Store::look_at_shared_pins(url, *timeout, &servers))
            }
        };
        match pins {
            Ok(pins) => base.pins = pins,
            // What is not known of servers is not proposed about them.
            Err(error) => tracing::warn!(%error, "the definitions of servers cannot be read"),
        }
        Ok(base)
    }

    /// A configuration that stands alone, at servers of which nothing is known.
    pub(crate) fn of(name: &str, text: &str) -> Self {
        Self {
            name: name.to_owned(),
            text: text.to_owned(),
            file: None,
            variables: BTreeMap::new(),
            pins: BTreeMap::new(),
        }
    }

    /// The same, with what is stored of a server's definitions.
    #[cfg(test)]
    pub(crate) fn knowing(mut self, server: &str, pins: Vec<StoredPin>) -> Self {
        self.pins.insert(server.to_owned(), pins);
        self
    }

    /// Loads it with these lines pasted into it, one after the other; `None` if that does not load.
    pub(crate) fn with(&self, lines: &[&str]) -> Option<LoadedConfiguration> {
        let settings = self.settings(lines).ok()?;
        let policy = highwater_gateway::policy(&settings);
        Some(LoadedConfiguration {
            contracts: ToolContracts::weigh(&settings, &self.pins),
            policies: FlowMode::ENFORCING.map(|mode| policy.clone().in_mode(mode)),
            settings,
        })
    }

    fn settings(&self, lines: &[&str]) -> Result<Settings, highwater_config::Diagnostics> {
        let environment = |name: &str| self.variables.get(name).cloned().or_else(|| variable(name));
        let files = |path: &str| match &self.file {
            Some(file) => std::fs::read_to_string(beside(file, path)).map_err(|error| error.to_string()),
            None => Err("there is no folder to look in".to_owned()),
        };
        let surroundings = Surroundings { environment: &environment, files: &files };
        highwater_config::load_with(&self.name, &self.text, lines, &surroundings)
    }
}

// === impl LoadedConfiguration ===

impl LoadedConfiguration {
    /// The policy, if flow rules were enforced as in this mode; in `observe` as in `balanced`, which comes after it.
    pub(crate) fn policy(&self, mode: FlowMode) -> &Policy {
        let [balanced, strict, samos] = &self.policies;
        match mode {
            FlowMode::Observe | FlowMode::Balanced => balanced,
            FlowMode::Strict => strict,
            FlowMode::Samos => samos,
        }
    }
}
