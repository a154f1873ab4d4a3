//! Tools that list whom the operator deals with (`directory: [{ tool: … }]`). The gateway asks them by itself, by the road
//! that every call takes, in a session of its own: what they say is given to no agent. Only a tool that reads, keeps what
//! it is told here, and whose replies no stranger could write is asked.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use highwater_config::DirectoryEntry;
use highwater_core::annotation::Destination;
use highwater_core::id::{UpstreamId, VirtualServerId};
use highwater_core::trust::TrustLevel;
use highwater_mcp::error_code;
use highwater_mcp::frame::Frame;
use highwater_mcp::method::Method;
use highwater_mcp::scan::ScanRules;
use highwater_mcp::text::{is_true, member, quote};
use highwater_provenance::Body;
use highwater_upstream::box_cold;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::client::{Client, ModernClient};
use crate::gateway::Gateway;
use crate::pipeline::Arrival;
use crate::session::Place;
use crate::world::World;

/// How long a call waits for all lookups together. What comes later counts for the next call.
const PATIENCE: Duration = Duration::from_secs(5);

/// The capabilities of the gateway as a client of its own.
const NO_CAPABILITIES: &str = "{}";

/// A tool that may be asked.
struct Lookup {
    virtual_server: VirtualServerId,
    /// The tool as clients of that virtual server call it.
    shown: Arc<str>,
}

impl Gateway {
    /// Asks the tools of the directory. Boxed, because a call that is made here may be what waits for it.
    pub(crate) fn look_up_people(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.ask_directory())
    }

    async fn ask_directory(&self) {
        let settings = self.settings.load_full();
        let lookups = settings.directory.iter().filter_map(|entry| match entry {
            DirectoryEntry::Tool { server, tool } => Some((server, tool)),
            DirectoryEntry::Person { .. } => None,
        });
        for (server, tool) in lookups {
            let asked = timeout(PATIENCE, box_cold(self.look_up(server, tool))).await;
            match asked {
                Ok(Some(reply)) => self.evidence.learn_people(server, tool, reply),
                Ok(None) | Err(_) => {
                    tracing::warn!(server, tool, "a tool of the directory did not say whom it lists");
                }
            }
        }
    }

    /// What one tool of the directory lists.
    async fn look_up(&self, server: &str, tool: &str) -> Option<Body> {
        let world = self.world.load_full();
        let upstream = UpstreamId::new(server);
        if let Some(catalog_server) = world.catalog_servers.get(&upstream) {
            catalog_server.ensure_stocked().await;
        }
        let Lookup { virtual_server, shown } = lookup(&world, &upstream, tool)?;
        // A session of its own for each: what one of them brings in is not what another says.
        let context = format!("directory:{server}:{tool}");
        let token = Arc::clone(&self.tokens.local);
        let caller = self.caller(token, virtual_server, Some(&context), Place::Anywhere, None);
        let session = caller.session.clone();
        let client = ModernClient {
            caller,
            capabilities: NO_CAPABILITIES.to_owned(),
            speaks_approval: false,
            log_level: None,
        };
        let params = format!(r#"{{"name":{},"arguments":{{}}}}"#, quote(&shown));
        let message = error_code::request("1", Method::CallTool.as_str(), Some(&params));
        let (outlet, _messages) = mpsc::channel(1);
        let arrival = Arrival {
            client: Client::Modern(Arc::new(client)),
            session: session.clone(),
            host: None,
            method: Some(Method::CallTool),
            frame: Frame::parse(message.into(), &ScanRules::FROM_CLIENT).ok()?,
            outlet,
            attended: false,
            variant: None,
            world,
        };
        let answer = self.run(&arrival).await.ok()?.into_answer();
        let answer = Frame::parse(answer.bytes, &ScanRules::FROM_SERVER).ok()?;
        let result =
            answer.result().filter(|result| member(result, "isError").is_none_or(|it| !is_true(it)))?;
        // As it was labelled, whatever its contract promised.
        let is_trusted = session.current().await.ok()?.label.integrity() >= TrustLevel::Tool;
        is_trusted.then(|| Body::Result(result.into()))
    }
}

/// Where a tool can be called, if what it lists can be trusted as far as is known of it.
fn lookup(world: &World, upstream: &UpstreamId, own: &str) -> Option<Lookup> {
    world.holding(upstream).find_map(|server| {
        let names = server.known();
        let (shown, tool) = names
            .tools
            .iter()
            .find(|(_, tool)| tool.entry.upstream == *upstream && &*tool.entry.name == own)?;
        let contract = &tool.known.contract;
        let may = !tool.known.is_held()
            && !contract.acts()
            && !contract.destination().contains(Destination::Public)
            && contract.reply_label().integrity() >= TrustLevel::Tool;
        may.then(|| Lookup { virtual_server: server.id.clone(), shown: Arc::clone(shown) })
    })
}
