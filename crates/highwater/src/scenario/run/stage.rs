//! Where a telling takes place: a gateway of its own, put together as `serve` does it, with its servers behind it.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context, anyhow, ensure};
use highwater_config::document::Way;
use highwater_config::{Listen, Settings};
use highwater_gateway::front::http;
use highwater_gateway::{Gateway, Speaker};
use highwater_store::Secret;
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::client::{Client, Connection};
use super::configuration;
use super::follow::Followed;
use super::operator::Operator;
use super::scratch::Scratch;
use crate::place::{ConfigSource, text};
use crate::scenario::file::Era;
use crate::scenario::model::{ClientSpec, Scenario, Telling, Upstream};
use crate::wire::{Held, Plan, program};

/// The data directory of the gateway, below the scratch directory.
const DATA: &str = "data";

/// The first segment of the audit log. A scenario never fills it.
const AUDIT: &str = "audit/000001.jsonl";

/// One telling under way.
pub(super) struct Stage<'a> {
    scenario: &'a Scenario,
    telling: Telling,
    scratch: Scratch,
    servers: Map<String, Value>,
    house: Option<House>,
    clients: BTreeMap<String, Client>,
    /// The session each client was last in.
    keys: BTreeMap<String, String>,
    /// The ids of the contexts, by what the story calls them.
    contexts: BTreeMap<String, String>,
    /// The secrets of the tokens that were needed.
    secrets: BTreeMap<String, String>,
    journals: Journals,
    audit: Followed,
}

/// What each server writes down, under its name.
type Journals = Vec<(String, Followed)>;

/// A running gateway.
struct House {
    held: Held,
    gateway: Arc<Gateway>,
    serving: JoinHandle<()>,
    stop: watch::Sender<bool>,
    address: SocketAddr,
    operator: Operator,
}

// === impl Stage ===

impl<'a> Stage<'a> {
    /// Writes the scripts and starts the gateway.
    pub(super) async fn open(scenario: &'a Scenario, telling: Telling) -> anyhow::Result<Self> {
        let scratch = Scratch::new().context("cannot make a temporary directory")?;
        let audit = Followed::new(scratch.path().join(DATA).join(AUDIT));
        let (servers, journals) = servers(scenario, &scratch)?;
        let mut stage = Self {
            scenario,
            telling,
            scratch,
            servers,
            house: None,
            clients: BTreeMap::new(),
            keys: BTreeMap::new(),
            contexts: BTreeMap::new(),
            secrets: BTreeMap::new(),
            journals,
            audit,
        };
        let settings = stage.settings(&configuration::START)?;
        stage.start(settings).await?;
        Ok(stage)
    }

    fn settings(&self, place: &[Way<'_>]) -> anyhow::Result<Settings> {
        let settings = configuration::settings(self.scenario, self.telling, &self.servers, place);
        settings.map_err(|wrong| anyhow!("{wrong}"))
    }

    async fn start(&mut self, settings: Settings) -> anyhow::Result<()> {
        let data = self.scratch.path().join(DATA);
        let listen = Listen::Address(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        let plan = Plan { source: ConfigSource::Example, data, listen: Some(listen), restored: false };
        let held = Held::take(&plan.data).map_err(|failure| anyhow!("{}", failure.words()))?;
        let held = held.context("the temporary directory is taken")?;
        let gateway = plan
            .start(settings, &held.data_dir, None)
            .await
            .map_err(|failure| anyhow!("{}", failure.words()))?;
        let listeners = http::bind(listen)?;
        let address = listeners.first().context("the gateway does not listen")?.local_addr()?;
        let (stop, stopping) = watch::channel(false);
        let serving = tokio::spawn(http::serve(Arc::clone(&gateway), listeners, stopping));
        let token = held.data_dir.secret(Secret::OperatorToken)?;
        let operator = Operator::new(format!("http://{address}"), token);
        self.house = Some(House { held, gateway, serving, stop, address, operator });
        Ok(())
    }

    /// Takes up the configuration that a step brings.
    pub(super) fn reload(&mut self, step: usize) -> anyhow::Result<()> {
        let settings = self.settings(&configuration::of_step(step))?;
        self.house()?.gateway.reload(settings);
        Ok(())
    }

    /// Ends the gateway and starts it again on the same data. Every client has to come again.
    pub(super) async fn restart(&mut self) -> anyhow::Result<()> {
        let settings = self.settings(&configuration::START)?;
        self.clients.clear();
        self.end().await?;
        self.start(settings).await
    }

    /// The client of that name, connected.
    pub(super) async fn client(&mut self, name: &str) -> anyhow::Result<&mut Client> {
        if !self.clients.contains_key(name) {
            let plain = ClientSpec::default();
            let connection = self.connection(self.scenario.clients.get(name).unwrap_or(&plain)).await?;
            self.clients.insert(name.to_owned(), Client::connect(connection).await?);
        }
        self.clients.get_mut(name).context("a client that is connected is there")
    }

    /// Lets a client leave; it comes again when it is next needed.
    pub(super) async fn dismiss(&mut self, name: &str) -> anyhow::Result<()> {
        match self.clients.remove(name) {
            Some(client) => client.leave().await,
            None => Ok(()),
        }
    }

    /// The id of the context that the story calls so, made when it is first needed.
    async fn context(&mut self, name: &str) -> anyhow::Result<String> {
        if let Some(id) = self.contexts.get(name) {
            return Ok(id.clone());
        }
        let id = self.house()?.operator.new_context(name).await?;
        self.contexts.insert(name.to_owned(), id.clone());
        Ok(id)
    }

    /// The secret of the token that the configuration calls so, made when it is first needed.
    async fn secret(&mut self, name: &str) -> anyhow::Result<String> {
        if let Some(secret) = self.secrets.get(name) {
            return Ok(secret.clone());
        }
        let secret = self.house()?.operator.new_token(name).await?;
        self.secrets.insert(name.to_owned(), secret.clone());
        Ok(secret)
    }

    async fn connection(&mut self, spec: &ClientSpec) -> anyhow::Result<Connection> {
        let context = match &spec.context {
            Some(name) => Some(self.context(name).await?),
            None => None,
        };
        let token = match &spec.token {
            Some(name) => self.secret(name).await?,
            None => self.house()?.held.data_dir.secret(Secret::AgentToken)?,
        };
        let mut url = format!("http://{}/mcp", self.house()?.address);
        if let Some(name) = &spec.virtual_server {
            url.push_str(&format!("/v/{name}"));
        }
        if let Some(context) = context {
            url.push_str(&format!("/c/{context}"));
        }
        let era = spec.era.or(self.telling.era).unwrap_or(Era::Legacy);
        Ok(Connection { url, token, era, capabilities: spec.capabilities.clone() })
    }

    /// Tells the gateway what the user says to a client, as its host would.
    pub(super) async fn tell_words(&mut self, client: &str, turn: usize, typed: &str) -> anyhow::Result<()> {
        let spec = self.scenario.clients.get(client).cloned().unwrap_or_default();
        let transport = self.client(client).await?.session().map(str::to_owned);
        let context = match &spec.context {
            Some(name) => Some(self.context(name).await?),
            None => None,
        };
        let token = match &spec.token {
            Some(name) => self.secret(name).await?,
            None => self.house()?.held.data_dir.secret(Secret::AgentToken)?,
        };
        let speaker = Speaker {
            token: &token,
            virtual_server: spec.virtual_server.as_deref(),
            context: context.as_deref(),
            transport_session: transport.as_deref(),
        };
        let heard = self.house()?.gateway.tell_words(&speaker, &turn.to_string(), typed).await;
        ensure!(heard, "the words of `{client}` are not heard: its token says that they are nobody's");
        Ok(())
    }

    /// Takes the label of a client's session back, as a person does who has a reason.
    pub(super) async fn reset(&mut self, client: &str, reason: &str) -> anyhow::Result<()> {
        let key = self.keys.get(client).with_context(|| format!("`{client}` has done nothing yet"))?;
        self.house()?.operator.reset(key, reason).await
    }

    /// Remembers in which session a client is, once a decision says so.
    pub(super) fn note_session(&mut self, client: &str, events: &[Value]) {
        let key = events.iter().find_map(|event| event.get("session")?.as_str());
        if let Some(key) = key {
            self.keys.insert(client.to_owned(), key.to_owned());
        }
    }

    /// The label of the session a client is in, as the gateway knows it.
    pub(super) async fn session_label(&self, client: &str) -> anyhow::Result<Option<Value>> {
        let Some(key) = self.keys.get(client) else { return Ok(None) };
        Ok(self.house()?.operator.session(key).await?.get("label").cloned())
    }

    /// What reached the servers since the last look, each with the server's name.
    pub(super) fn sights(&mut self) -> anyhow::Result<Vec<(String, Value)>> {
        let mut sights = Vec::new();
        for (server, journal) in &mut self.journals {
            sights.extend(journal.fresh()?.into_iter().map(|entry| (server.clone(), entry)));
        }
        Ok(sights)
    }

    /// How the story is told.
    pub(super) fn telling(&self) -> Telling {
        self.telling
    }

    /// What was added to the audit log since the last look.
    pub(super) fn audited(&mut self) -> anyhow::Result<Vec<Value>> {
        Ok(self.audit.fresh()?)
    }

    /// Ends everything that was started.
    pub(super) async fn close(mut self) -> anyhow::Result<()> {
        self.clients.clear();
        self.end().await
    }

    async fn end(&mut self) -> anyhow::Result<()> {
        let Some(house) = self.house.take() else { return Ok(()) };
        house.stop.send_replace(true);
        let (served, ()) = tokio::join!(house.serving, house.gateway.stop());
        served.context("the front broke")?;
        Ok(())
    }

    fn house(&self) -> anyhow::Result<&House> {
        self.house.as_ref().context("the gateway does not run")
    }
}

/// The entries of the story's servers for the configuration, and the journals they write.
fn servers(scenario: &Scenario, scratch: &Scratch) -> anyhow::Result<(Map<String, Value>, Journals)> {
    let program = path(&program().map_err(|failure| anyhow!("{}", failure.words()))?)?;
    let (mut entries, mut journals) = (Map::new(), Vec::new());
    for upstream in &scenario.upstreams {
        let name = upstream.name();
        let (args, journal) = match upstream {
            Upstream::Example { which, args, .. } => {
                let folder = scratch.path().join(format!("{name}.example"));
                let mut all =
                    vec!["example-server".to_owned(), which.clone(), "--data".to_owned(), path(&folder)?];
                all.extend(args.iter().cloned());
                (all, folder.join(format!("{which}.calls.jsonl")))
            }
            Upstream::Scripted(script) => {
                let file = scratch.path().join(format!("{name}.script.json"));
                std::fs::write(&file, serde_json::to_vec(script)?).context("cannot write a script")?;
                let journal = scratch.path().join(format!("{name}.journal.jsonl"));
                let args =
                    ["scripted-server", &path(&file)?, "--journal", &path(&journal)?].map(str::to_owned);
                (args.to_vec(), journal)
            }
        };
        entries.insert(name.to_owned(), json!({ "command": program, "args": args }));
        journals.push((name.to_owned(), Followed::new(journal)));
    }
    Ok((entries, journals))
}

/// A path as the configuration takes it, where `${` would begin a variable.
fn path(path: &std::path::Path) -> anyhow::Result<String> {
    let text = text(path).map_err(|failure| anyhow!("{}", failure.words()))?;
    Ok(text.replace("${", "$${"))
}
