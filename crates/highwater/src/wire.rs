//! From places to a gateway: reads the configuration, takes the data directory, puts the parts together.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use highwater_config::{Listen, Settings, StoreSettings};
use highwater_gateway::{ApprovalServiceParts, Gateway, Parts};
use highwater_store::{DataDir, DataDirLock, GatewayTokens, Secret, Store, StoreOptions, StorePlace};

use crate::configuration;
use crate::environment;
use crate::exit::Failure;
use crate::place::{ConfigSource, text};
use crate::running::Running;

/// The servers that run when nothing is configured.
pub(crate) const EXAMPLES: [&str; 4] = ["mail", "files", "repo", "web"];

/// What is configured then.
pub(crate) const EXAMPLE: &str = include_str!("example/example.yaml");

/// Where the example servers keep their data, below the data directory.
pub(crate) const EXAMPLE_DATA: &str = "example";

/// What a gateway is built from, and built from again when the file changes.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Where the configuration comes from.
    pub(crate) source: ConfigSource,
    /// The data directory.
    pub(crate) data: PathBuf,
    /// Where to listen in place of what the configuration says.
    pub(crate) listen: Option<Listen>,
    /// The operator says that the session store comes from a backup.
    pub(crate) restored: bool,
}

/// The data directory, ours alone until this is dropped.
pub(crate) struct Held {
    pub(crate) data_dir: DataDir,
    _lock: DataDirLock,
}

// === impl Plan ===

impl Plan {
    /// Reads the configuration as it is now.
    pub(crate) fn settings(&self) -> Result<Settings, Failure> {
        let settings = match &self.source {
            ConfigSource::File(file) => read(file)?,
            ConfigSource::Example => self.example()?,
        };
        match self.listen {
            Some(listen) => settings.listening_on(listen).map_err(|exposed| {
                Failure::usage(exposed).help("listen on `localhost:PORT`, or remove `auth: none`")
            }),
            None => Ok(settings),
        }
    }

    /// Opens the session store and puts the gateway together. `page` is the port of the page where people approve.
    pub(crate) async fn start(
        &self,
        settings: Settings,
        data_dir: &DataDir,
        page: Option<u16>,
    ) -> Result<Arc<Gateway>, Failure> {
        let store = self.open_store(&settings.store, data_dir).await?;
        let tokens = store.tokens().await.map_err(Failure::failed)?;
        let seal_key = data_dir.secret(Secret::SealKey).map_err(Failure::failed)?;
        let seal_key = store.seal_key(seal_key).await.map_err(Failure::failed)?;
        let own_tokens = GatewayTokens::of(data_dir).map_err(Failure::failed)?;
        let gateways = store.announce_gateway(own_tokens).await.map_err(Failure::failed)?;
        let approvals = match page {
            Some(port) => {
                let (origin, rp_id) = settings.approvals.origin(port);
                let installation = store.installation(&rp_id, &origin).await.map_err(Failure::failed)?;
                Some(ApprovalServiceParts {
                    installation,
                    key: data_dir.receipt_key().map_err(Failure::failed)?,
                })
            }
            None => None,
        };
        let parts = Parts {
            settings,
            data_dir: data_dir.clone(),
            own_files: match &self.source {
                ConfigSource::File(file) => vec![file.clone()],
                ConfigSource::Example => Vec::new(),
            },
            store,
            tokens,
            approvals,
            guard: program()?,
            safe_env: environment::for_children(),
            seal_key,
            gateways,
        };
        Gateway::start(parts).map_err(Failure::failed)
    }

    pub(crate) async fn open_store(
        &self,
        settings: &StoreSettings,
        data_dir: &DataDir,
    ) -> Result<Store, Failure> {
        let place = match settings {
            StoreSettings::Sqlite => StorePlace::Sqlite(data_dir.clone()),
            StoreSettings::Postgres { url, timeout } => {
                StorePlace::Postgres { url: url.clone(), timeout: *timeout }
            }
        };
        let options = StoreOptions { restored: self.restored, ..StoreOptions::default() };
        Store::open(&place, &options).await.map_err(|error| match error.is_outage() {
            true => Failure::failed(&error)
                .help("is the database of `store:` running, and may it be reached from here?"),
            false => Failure::failed(error),
        })
    }

    /// The example servers: this very program, once for each.
    fn example(&self) -> Result<Settings, Failure> {
        let program = text(&program()?)?;
        let data = text(&self.data.join(EXAMPLE_DATA))?;
        let variable = |name: &str| match name {
            "HIGHWATER_PROGRAM" => Some(program.clone()),
            "HIGHWATER_EXAMPLE" => Some(data.clone()),
            _ => None,
        };
        highwater_config::load("built-in example", EXAMPLE, &variable).map_err(Failure::configuration)
    }
}

// === impl Held ===

impl Held {
    /// Takes the data directory; `None` if another gateway has it.
    pub(crate) fn take(data: &std::path::Path) -> Result<Option<Self>, Failure> {
        let data_dir = DataDir::open(data).map_err(Failure::failed)?;
        let lock = data_dir.try_lock().map_err(Failure::failed)?;
        Ok(lock.map(|lock| Self { data_dir, _lock: lock }))
    }

    /// The words for somebody who wanted the directory and did not get it.
    pub(crate) fn taken(data: &std::path::Path) -> Failure {
        let who = match Running::read(data) {
            Some(Running { pid, endpoint: Some(endpoint), .. }) => format!(" at {endpoint} (process {pid})"),
            Some(Running { pid, endpoint: None, .. }) => {
                format!(", started by `highwater stdio` (process {pid})")
            }
            None => String::new(),
        };
        Failure::failed(format_args!("a gateway already runs on `{}`{who}", data.display()))
            .help("stop it first, or name another directory with `--data-dir`")
    }
}

/// Reads and checks a configuration file.
pub(crate) fn read(file: &std::path::Path) -> Result<Settings, Failure> {
    let absolute = std::path::absolute(file).context("cannot tell where the configuration is")?;
    let folder = absolute.parent().unwrap_or(&absolute);
    let checked = configuration::check(file)?.map_err(Failure::configuration)?;
    // Of all that `check` remarks on, this is what a server will fail of.
    for warning in checked.warnings.iter().filter(|warning| warning.code == Some("unexpanded")) {
        let place =
            warning.place.as_ref().map(|place| format!("{}:{}:{}", place.file, place.line, place.column));
        let help = warning.help.as_deref().unwrap_or_default();
        tracing::warn!(place, help, "{}", warning.message);
    }
    Ok(checked.settings.beside(folder))
}

/// Our own executable.
pub(crate) fn program() -> Result<PathBuf, Failure> {
    Ok(std::env::current_exe().context("cannot tell where this program is")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_configures_each_example_server_and_stands_for_it() {
        let plan = Plan {
            source: ConfigSource::Example,
            data: PathBuf::from("/data/with ${dollar} and: colon"),
            listen: None,
            restored: false,
        };
        let settings = plan.example().unwrap_or_else(|failure| panic!("{}", failure.words()));
        let names: Vec<&str> = settings.servers.iter().map(|server| server.name.as_str()).collect();
        assert_eq!(names, EXAMPLES);
        for server in &settings.servers {
            assert!(server.trust.verified(), "{}", server.name);
            let highwater_config::Transport::Stdio { args, .. } = &server.transport else {
                panic!("a program")
            };
            let data = format!("/data/with ${{dollar}} and: colon/example/{}", server.name);
            assert_eq!(args.last(), Some(&data));
        }
    }
}
