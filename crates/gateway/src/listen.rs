//! `subscriptions/listen`: a modern client's open ear. Lists are announced to it; resources it names are subscribed to
//! on its behalf, each by an action of its own.

use std::sync::{Arc, Mutex};

use highwater_core::id::UpstreamId;
use highwater_mcp::era::Era;
use highwater_mcp::era::meta_key::SUBSCRIPTION_ID;
use highwater_mcp::error_code::{self, INTERNAL_ERROR, INVALID_PARAMS};
use highwater_mcp::frame::Frame;
use highwater_mcp::method::Method;
use highwater_mcp::scan::ScanRules;
use highwater_mcp::text::{elements, is_array, is_object, is_true, member, quote, unquote};
use tokio::sync::Notify;
use tokio::sync::mpsc;

use crate::client::{Caller, Client, ModernClient, Outlet};
use crate::gateway::Gateway;
use crate::handshake::{Unmet, by_us};
use crate::pipeline::Arrival;
use crate::registry::{Listener, Registry, ShownLists, Wants};
use crate::world::World;

/// How many resources one listener may name.
const MAX_RESOURCES: usize = 256;

/// Takes a listener off the register, however its request ends.
struct Registered<'a> {
    registry: &'a Registry,
    number: u64,
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        self.registry.remove_listener(self.number);
    }
}

/// Ends the subscriptions made for a listener, however its request ends.
struct Subscribed {
    gateway: std::sync::Weak<Gateway>,
    client: Client,
    uris: Vec<String>,
}

impl Drop for Subscribed {
    fn drop(&mut self) {
        let Some(gateway) = self.gateway.upgrade() else { return };
        let (client, uris) = (self.client.clone(), std::mem::take(&mut self.uris));
        if !uris.is_empty()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move { gateway.give_up(client.caller(), uris).await });
        }
    }
}

impl Gateway {
    /// Keeps a listener informed until the client leaves or the gateway stops.
    pub(crate) async fn listen(
        &self,
        client: Client,
        frame: &Frame,
        outlet: &Outlet,
    ) -> Result<Vec<u8>, Unmet> {
        let filter = frame.param("notifications").filter(|filter| is_object(filter));
        let filter = filter.ok_or_else(|| {
            Unmet::new(INVALID_PARAMS, "`params.notifications` is missing or not an object")
        })?;
        let wants_list = |key| member(filter, key).is_some_and(is_true);
        let wants = Wants {
            tools: wants_list("toolsListChanged"),
            prompts: wants_list("promptsListChanged"),
            resources: wants_list("resourcesListChanged"),
        };
        let uris = match member(filter, "resourceSubscriptions") {
            None => Vec::new(),
            Some(list) if is_array(list) => {
                elements(list).filter_map(unquote).map(|uri| uri.into_owned()).collect()
            }
            Some(_) => {
                return Err(Unmet::new(
                    INVALID_PARAMS,
                    "`params.notifications.resourceSubscriptions` is not an array",
                ));
            }
        };
        if uris.len() > MAX_RESOURCES {
            return Err(Unmet::new(
                INVALID_PARAMS,
                format!("more than {MAX_RESOURCES} resource subscriptions"),
            ));
        }
        if let Some(index) = uris.iter().position(|uri: &String| uri.chars().any(char::is_control)) {
            let path = format!("/params/notifications/resourceSubscriptions/{index}");
            let data = Some(format!(r#"{{"path":{}}}"#, quote(&path)));
            return Err(Unmet { data, ..Unmet::new(INVALID_PARAMS, format!("control character at {path}")) });
        }
        let id = frame.id().unwrap_or("null").to_owned();
        // On the register before anything is subscribed to: a server's first update may come at once. What comes before
        // the acknowledgement, the first message on the stream, waits for it.
        let listener = Arc::new(Listener {
            virtual_server: client.caller().virtual_server.clone(),
            session: client.caller().session.clone(),
            token: Arc::clone(&client.caller().token),
            id: id.clone(),
            wants,
            resources: Mutex::default(),
            outlet: outlet.clone(),
            early: Mutex::new(Some(Vec::new())),
            closing: Notify::new(),
            shown: ShownLists::default(),
        });
        if let Some(server) = self.world.load().virtual_server(&listener.virtual_server) {
            let standing = client.caller().standing();
            listener.shown.note_all(&server.view_now(&client.caller().viewer(&standing)));
        }
        let number = self.registry.add_listener(Arc::clone(&listener));
        let _registered = Registered { registry: &self.registry, number };
        let mut subscribed = Subscribed { gateway: self.myself(), client: client.clone(), uris: Vec::new() };
        for uri in uris {
            let world = self.world.load_full();
            let Some((upstream, own)) = self.owner(&world, &client, &uri).await else { continue };
            let resource = (uri.clone(), upstream, own);
            listener.resources().push(resource.clone());
            if self.subscription(&client, Method::Subscribe, &uri).await {
                subscribed.uris.push(uri);
            } else {
                listener.resources().retain(|kept| *kept != resource);
            }
        }
        let acknowledged = acknowledgement(filter, wants, &subscribed.uris, &id);
        outlet.send(acknowledged.into()).await.map_err(|_| Unmet::new(INTERNAL_ERROR, "the client left"))?;
        listener.acknowledged();
        listener.closing.notified().await;
        let cancelled = error_code::notification(
            "notifications/cancelled",
            Some(&format!(r#"{{"requestId":{id},"_meta":{{"{SUBSCRIPTION_ID}":{id}}}}}"#)),
        );
        if outlet.send(cancelled.into()).await.is_err() {
            tracing::debug!("a listener left before it was told that the gateway stops");
        }
        let result = format!(r#"{{"resultType":"complete","_meta":{{"{SUBSCRIPTION_ID}":{id}}}}}"#);
        Ok(error_code::result_response(&id, &by_us(Era::Modern, &result)))
    }

    /// Subscribes or unsubscribes one resource for a client, down the one road. Whether that worked.
    async fn subscription(&self, client: &Client, method: Method, uri: &str) -> bool {
        let params = format!(r#"{{"uri":{}}}"#, quote(uri));
        let message = error_code::request("0", method.as_str(), Some(&params));
        let Ok(frame) = Frame::parse(message.into(), &ScanRules::FROM_CLIENT) else { return false };
        // Nothing precedes the answer to a subscription, so nobody has to read here.
        let (outlet, _events) = mpsc::channel(1);
        let world = self.world.load_full();
        let session = client.caller().session.clone();
        let arrival = Arrival {
            client: client.clone(),
            session,
            host: None,
            method: Some(method),
            frame,
            outlet,
            attended: false,
            variant: None,
            world,
        };
        self.subscribe(&arrival).await.code.is_none()
    }

    /// Gives up the subscriptions of somebody who has left or was cut off. To hear less needs nobody's grant, and the
    /// token that they were made with may grant nothing any more.
    pub(crate) async fn give_up(&self, caller: &Caller, uris: Vec<String>) {
        let caller = Caller { token: Arc::clone(&self.tokens.local), ..caller.clone() };
        let ours =
            ModernClient { caller, capabilities: "{}".to_owned(), speaks_approval: false, log_level: None };
        let ours = Client::Modern(Arc::new(ours));
        for uri in uris {
            self.subscription(&ours, Method::Unsubscribe, &uri).await;
        }
    }

    /// Whose resource this is, once every server had its chance to say so.
    pub(crate) async fn owner(
        &self,
        world: &World,
        client: &Client,
        uri: &str,
    ) -> Option<(UpstreamId, String)> {
        let server = world.virtual_server(&client.caller().virtual_server)?;
        let (entry, _) = server.find(|merged| merged.resource(uri)).await?;
        Some((entry.upstream, entry.name.to_string()))
    }
}

/// The first message on the stream: what of the filter we can keep.
fn acknowledgement(filter: &str, wants: Wants, subscribed: &[String], id: &str) -> Vec<u8> {
    let mut agreed = Vec::new();
    for (key, wanted) in [
        ("toolsListChanged", wants.tools),
        ("promptsListChanged", wants.prompts),
        ("resourcesListChanged", wants.resources),
    ] {
        if wanted {
            agreed.push(format!(r#""{key}":true"#));
        }
    }
    if member(filter, "resourceSubscriptions").is_some() {
        let uris: Vec<String> = subscribed.iter().map(|uri| quote(uri)).collect();
        agreed.push(format!(r#""resourceSubscriptions":[{}]"#, uris.join(",")));
    }
    let params =
        format!(r#"{{"notifications":{{{}}},"_meta":{{"{SUBSCRIPTION_ID}":{id}}}}}"#, agreed.join(","));
    error_code::notification("notifications/subscriptions/acknowledged", Some(&params))
}
