//! Finds out where an action goes and puts it into its upstream's own words. Only names change; arguments never do.

use std::sync::Arc;

use highwater_audit::Access;
use highwater_core::action::{Action, ActionKind};
use highwater_core::id::UpstreamId;
use highwater_mcp::annotations::VERIFIED_APPROVAL;
use highwater_mcp::edit::{Edit, edit_object, replace_part};
use highwater_mcp::era::Era;
use highwater_mcp::error_code::{INVALID_PARAMS, METHOD_NOT_FOUND};
use highwater_mcp::method::Method;
use highwater_mcp::text::{quote, string_member, unquote};
use highwater_upstream::box_cold;

use super::arrival::{Route, RoutedAction, TaskBridge, ToolName};
use super::layout::{Layout, Splice};
use super::relay::{CREATE_CHALLENGE, Relay};
use super::seals::Seals;
use super::tasks::OpenTask;
use super::{Arrival, Refusal};
use crate::access::AccessLog;
use crate::catalog::{Entry, Known, Merged, VirtualServer};

/// Where a name leads.
pub(super) struct Found {
    pub(super) entry: Entry,
    pub(super) names: Arc<Merged>,
    pub(super) subject: Subject,
}

impl Found {
    fn plain(entry: Entry, names: Arc<Merged>) -> Self {
        Self { entry, names, subject: Subject::default() }
    }
}

/// What is known of an action's subject beforehand.
#[derive(Default)]
pub(super) struct Subject {
    pub(super) known: Option<Arc<Known>>,
    pub(super) tool: Option<ToolName>,
}

impl Subject {
    /// A tool, by its server's own name.
    fn of_tool(names: &Merged, upstream: &UpstreamId, own: &str) -> Self {
        let known = names.contracts(upstream).map(|contracts| Arc::clone(contracts.tool(own)));
        let shown = names.shown_tool(upstream, own).unwrap_or_else(|| own.into());
        Self { known, tool: Some(ToolName { shown, own: own.into() }) }
    }
}

/// Finds out where actions go.
pub(crate) struct Router {
    pub(super) seals: Arc<Seals>,
    pub(super) relay: Arc<Relay>,
    pub(super) access: Arc<AccessLog>,
}

// === impl Router ===

impl Router {
    /// Puts something on record that is no action.
    pub(super) fn note(&self, arrival: &Arrival, act: &'static str, what: Option<&str>) {
        let (principal, session) = (&arrival.client.caller().principal, arrival.session.key());
        let (principal, session) = (Some(principal.as_str()), Some(session.as_str()));
        self.access.note(act, Access { principal, session, what, ..Access::default() });
    }

    /// Routes an arrival. `state` replaces the request's `requestState`, if we had wrapped the upstream's own.
    pub(super) async fn route(
        &self,
        arrival: &Arrival,
        state: Option<&str>,
    ) -> Result<RoutedAction, Refusal> {
        let caller = arrival.client.caller();
        let server = arrival
            .world
            .virtual_server(&caller.virtual_server)
            .ok_or_else(|| Refusal::unknown("virtual server", caller.virtual_server.as_str(), &[]))?;
        match arrival.method {
            Some(Method::CallTool | Method::ResolveTool) => {
                let name = text_param(arrival, "name")?;
                let look = |merged: &Merged| merged.tools.get(&*name).cloned();
                let missing = || {
                    self.note(arrival, "unknown-tool", Some(&name));
                    unknown(arrival, "tool", &name)
                };
                let (tool, names) = server.find(look).await.ok_or_else(missing)?;
                let (tool, names) = match self.met(arrival, server, &tool.entry.upstream).await? {
                    None => (tool, names),
                    Some(names) => (look(&names).ok_or_else(missing)?, names),
                };
                // Whoever searches was not shown what a rule hides, and does not get at it by its name either.
                if arrival.variant.is_some()
                    && server.hides(&caller.viewer(&caller.standing()), &names, &name, &tool)
                {
                    return Err(missing());
                }
                let called = ToolName { shown: name.as_str().into(), own: Arc::clone(&tool.entry.name) };
                let known = Arc::clone(&tool.known);
                let subject = Subject { known: Some(known), tool: Some(called) };
                let found = Found { entry: tool.entry, names, subject };
                let mut routed = self.named(arrival, ActionKind::CallTool, "name", found, state)?;
                // Through a variant nobody can know that the tool is called as a task alone.
                let unasked = arrival.variant.is_some() && arrival.frame.param("task").is_none();
                if tool.needs_task
                    && arrival.method == Some(Method::CallTool)
                    && (arrival.client.era() == Era::Modern || unasked)
                    && era_of(&routed.route) == Some(Era::Legacy)
                {
                    routed = as_task(routed);
                }
                Ok(routed)
            }
            _ => self.route_other(arrival, server, state).await,
        }
    }

    /// Routes what is no call of a tool.
    async fn route_other(
        &self,
        arrival: &Arrival,
        server: &VirtualServer,
        state: Option<&str>,
    ) -> Result<RoutedAction, Refusal> {
        match arrival.method {
            Some(Method::GetPrompt) => {
                let name = text_param(arrival, "name")?;
                let look = |merged: &Merged| merged.prompts.get(&*name).cloned();
                let (entry, names) =
                    server.find(look).await.ok_or_else(|| unknown(arrival, "prompt", &name))?;
                let names = self.met(arrival, server, &entry.upstream).await?.unwrap_or(names);
                self.named(arrival, ActionKind::GetPrompt, "name", Found::plain(entry, names), state)
            }
            Some(method @ (Method::ReadResource | Method::Subscribe | Method::Unsubscribe)) => {
                let kind = if method == Method::ReadResource {
                    ActionKind::ReadResource
                } else {
                    ActionKind::Subscribe
                };
                let uri = text_param(arrival, "uri")?;
                let look = |merged: &Merged| merged.resource(&uri);
                let found = server.find(look).await;
                let (entry, names) =
                    found.ok_or_else(|| Refusal::unknown_resource(&uri, arrival.client.era()))?;
                let names = self.met(arrival, server, &entry.upstream).await?.unwrap_or(names);
                self.named(arrival, kind, "uri", Found::plain(entry, names), state)
            }
            Some(Method::Complete) => self.completion(arrival, server).await,
            Some(Method::GetTask | Method::TaskResult | Method::CancelTask | Method::UpdateTask) => {
                let shown = text_param(arrival, "taskId")?;
                let OpenTask { upstream, own, tool } = self
                    .seals
                    .open_task_id(arrival, &shown)
                    .filter(|task| arrival.world.catalog_servers.contains_key(&task.upstream))
                    .ok_or_else(|| Refusal::invalid(INVALID_PARAMS, "unknown task"))?;
                let names = self.met(arrival, server, &upstream).await?.unwrap_or_else(|| server.known());
                let subject = match tool {
                    Some(tool) => Subject::of_tool(&names, &upstream, &tool),
                    None => Subject::default(),
                };
                let entry = Entry { upstream, name: own.into() };
                self.named(arrival, ActionKind::TaskStep, "taskId", Found { entry, names, subject }, state)
            }
            // Whatever of these methods comes here is for a server that verifies approvals itself.
            None if arrival.frame.method() == Some(CREATE_CHALLENGE) => {
                self.route_challenge(arrival, server).await
            }
            None => self.extra(arrival, server).await,
            Some(_) => Err(method_not_found(arrival)),
        }
    }

    /// An action whose parameters name its target in one member.
    pub(super) fn named(
        &self,
        arrival: &Arrival,
        kind: ActionKind,
        member: &'static str,
        found: Found,
        state: Option<&str>,
    ) -> Result<RoutedAction, Refusal> {
        let Found { entry, names, subject } = found;
        let route = self.towards(arrival, kind, &entry, names, subject)?;
        let own_name = quote(&entry.name);
        let state = state.map(quote);
        let mut edits = vec![(member, Edit::Set(own_name.as_str()))];
        if let Some(state) = &state {
            edits.push(("requestState", Edit::Set(state)));
        }
        // Tasks of 2025-11-25 mean nothing to a modern server: the tool is called plainly.
        if arrival.client.era() == Era::Legacy
            && arrival.frame.param("task").is_some()
            && era_of(&route) == Some(Era::Modern)
        {
            edits.push(("task", Edit::Remove));
        }
        let without_evidence = [(VERIFIED_APPROVAL, Edit::Remove)];
        if kind == ActionKind::CallTool
            && arrival.frame.meta(VERIFIED_APPROVAL).is_some()
            && !self.relay.passes_evidence(arrival, &route, &route.known)
        {
            edits.push(("_meta", Edit::Merge(&without_evidence)));
        }
        let sent = arrival.frame.params().unwrap_or("{}");
        // Most change nothing but the name, and where that is the scan has seen.
        let spliced = match (edits.as_slice(), arrival.frame.param(member)) {
            ([_], Some(name)) => {
                let splice = Splice { replaced: name, length: own_name.len() };
                let layout = if kind == ActionKind::CallTool {
                    Layout::of_call(&arrival.frame, &splice)
                } else {
                    None
                };
                replace_part(sent, name, &own_name).map(|params| (params, layout))
            }
            _ => None,
        };
        let (params, layout) = spliced.unwrap_or_else(|| (edit_object(sent, &edits), None));
        let method = arrival.frame.method().unwrap_or_default();
        let action = Action::new(kind, entry.upstream, method, entry.name, params);
        let layout = layout.unwrap_or_else(|| Layout::of(&action));
        Ok(RoutedAction { action: Arc::new(action), route, layout, call: None })
    }

    async fn completion(&self, arrival: &Arrival, server: &VirtualServer) -> Result<RoutedAction, Refusal> {
        let reference = arrival.frame.param("ref").ok_or_else(|| missing("ref"))?;
        let (key, what) = match string_member(reference, "type").as_deref() {
            Some("ref/prompt") => ("name", "prompt"),
            Some("ref/resource") => ("uri", "resource"),
            _ => {
                return Err(Refusal::invalid(
                    INVALID_PARAMS,
                    "`ref.type` is neither `ref/prompt` nor `ref/resource`",
                ));
            }
        };
        let shown = string_member(reference, key)
            .ok_or_else(|| missing(if key == "name" { "ref.name" } else { "ref.uri" }))?;
        if shown.chars().any(char::is_control) {
            return Err(Refusal::control_character(&format!("/params/ref/{key}")));
        }
        let look = |merged: &Merged| match key {
            "name" => merged.prompts.get(&*shown).cloned(),
            _ => merged.template(&shown).or_else(|| merged.resource(&shown)),
        };
        let (entry, names) = server.find(look).await.ok_or_else(|| unknown(arrival, what, &shown))?;
        let names = self.met(arrival, server, &entry.upstream).await?.unwrap_or(names);
        let known = names.contracts(&entry.upstream).map(|contracts| {
            contracts.completion(match key {
                "name" => contracts.prompt_hold(&entry.name),
                _ if names.template(&shown).is_some() => contracts.template_hold(&entry.name),
                _ => contracts.hold(),
            })
        });
        let subject = Subject { known, tool: None };
        let route = self.towards(arrival, ActionKind::Complete, &entry, names, subject)?;
        let own_name = quote(&entry.name);
        let inner = [(key, Edit::Set(own_name.as_str()))];
        let params = edit_object(arrival.frame.params().unwrap_or("{}"), &[("ref", Edit::Merge(&inner))]);
        let action =
            Action::new(ActionKind::Complete, entry.upstream, "completion/complete", entry.name, params);
        Ok(RoutedAction::new(action, route))
    }

    /// A method outside MCP goes to the one server it is listed for.
    async fn extra(&self, arrival: &Arrival, server: &VirtualServer) -> Result<RoutedAction, Refusal> {
        let method = arrival.frame.method().unwrap_or_default();
        let listed = |upstream: &UpstreamId| {
            arrival
                .world
                .policy
                .admission(upstream)
                .is_some_and(|admission| admission.extra_methods.contains(method))
        };
        let mut takers = server.catalog_servers().iter().filter(|catalog_server| listed(catalog_server.id()));
        let taker = takers.next().ok_or_else(|| method_not_found(arrival))?;
        if takers.next().is_some() {
            let message = format!("method `{method}` is listed for several servers, so it leads nowhere");
            return Err(Refusal::invalid(METHOD_NOT_FOUND, message));
        }
        let entry = Entry { upstream: taker.id().clone(), name: method.into() };
        let names = self.met(arrival, server, taker.id()).await?.unwrap_or_else(|| server.known());
        let route = self.towards(arrival, ActionKind::ExtraMethod, &entry, names, Subject::default())?;
        let params = arrival.frame.params().unwrap_or("{}");
        let action = Action::new(ActionKind::ExtraMethod, taker.id().clone(), method, method, params);
        Ok(RoutedAction::new(action, route))
    }

    /// A server that is kept to its word is looked at before it is used: when it was not seen yet, and when it came back or
    /// its connections broke. Any server is looked at beside its use once its time has come. What is known then, if that
    /// is something else.
    pub(super) async fn met(
        &self,
        arrival: &Arrival,
        server: &VirtualServer,
        upstream: &UpstreamId,
    ) -> Result<Option<Arc<Merged>>, Refusal> {
        let Some(catalog_server) = arrival.world.catalog_servers.get(upstream) else { return Ok(None) };
        let stamp = catalog_server.stamp();
        if catalog_server.is_due() {
            catalog_server.refresh_in_use().await;
        }
        if catalog_server.is_current()
            || !(catalog_server.enforcer.wanted().quarantine || catalog_server.is_kept())
        {
            return Ok((catalog_server.stamp() != stamp).then(|| server.known()));
        }
        if !catalog_server.is_seen() {
            catalog_server.met().await.map_err(|why| Refusal::unavailable(upstream, Some(&why)))?;
        }
        box_cold(catalog_server.ensure_current()).await;
        if !catalog_server.is_seen() {
            return Err(Refusal::unavailable(upstream, None));
        }
        Ok(Some(server.known()))
    }

    fn towards(
        &self,
        arrival: &Arrival,
        kind: ActionKind,
        entry: &Entry,
        names: Arc<Merged>,
        subject: Subject,
    ) -> Result<Route, Refusal> {
        let upstream = &entry.upstream;
        let no_server = || Refusal::unknown("server", upstream.as_str(), &[]);
        let catalog_server = arrival.world.catalog_servers.get(upstream).ok_or_else(no_server)?;
        let contracts = Arc::clone(names.contracts(upstream).ok_or_else(no_server)?);
        let known = subject.known.unwrap_or_else(|| match kind {
            ActionKind::ReadResource | ActionKind::Subscribe => contracts.resource(&entry.name),
            ActionKind::GetPrompt => contracts.prompt(&entry.name),
            ActionKind::Complete => contracts.completion(contracts.hold()),
            ActionKind::ResolveTool => Arc::clone(contracts.resolving()),
            ActionKind::CreateChallenge
            | ActionKind::CallTool
            | ActionKind::TaskStep
            | ActionKind::Answer
            | ActionKind::ExtraMethod => Arc::clone(contracts.unknown()),
        });
        Ok(Route {
            catalog_server: Arc::clone(catalog_server),
            _bound: catalog_server.bound(),
            contracts,
            known,
            tool: subject.tool,
            names,
            method: arrival.method,
            task: TaskBridge::None,
        })
    }
}

/// The same call, asked for as a task.
fn as_task(routed: RoutedAction) -> RoutedAction {
    let RoutedAction { action, route, .. } = routed;
    let params = edit_object(action.params(), &[("task", Edit::Set("{}"))]);
    let target = Arc::clone(action.target());
    let action =
        Action::new(action.kind(), action.upstream().clone(), Arc::clone(action.method()), target, params);
    RoutedAction::new(action, Route { task: TaskBridge::Legacy, ..route })
}

pub(super) fn era_of(route: &Route) -> Option<Era> {
    route.catalog_server.server_listing().map(|server_listing| server_listing.greeting.era)
}

pub(super) fn text_param(arrival: &Arrival, key: &'static str) -> Result<String, Refusal> {
    let raw = arrival.frame.param(key).ok_or_else(|| missing(key))?;
    unquote(raw)
        .map(|text| text.into_owned())
        .ok_or_else(|| Refusal::invalid(INVALID_PARAMS, format!("`params.{key}` is not a string")))
}
fn missing(key: &str) -> Refusal {
    Refusal::invalid(INVALID_PARAMS, format!("`params.{key}` is missing"))
}
pub(super) fn method_not_found(arrival: &Arrival) -> Refusal {
    let method = arrival.frame.method().unwrap_or_default();
    Refusal::invalid(METHOD_NOT_FOUND, format!("method `{method}` is not offered here"))
}

/// Nobody has it, or nobody that the caller may know of; servers that are down might.
pub(super) fn unknown(arrival: &Arrival, what: &str, name: &str) -> Refusal {
    let down: Vec<String> = missing_servers(arrival).iter().map(|server| format!("`{server}`")).collect();
    Refusal::unknown(what, name, &down)
}

/// The servers that a caller may know of and that are not up.
pub(super) fn missing_servers(arrival: &Arrival) -> Vec<UpstreamId> {
    let caller = arrival.client.caller();
    let standing = caller.standing();
    let server = arrival.world.virtual_server(&caller.virtual_server);
    server
        .into_iter()
        .flat_map(|server| server.catalog_servers())
        .filter(|catalog_server| {
            !catalog_server.is_seen() && standing.grant.servers.covers(catalog_server.id())
        })
        .map(|catalog_server| catalog_server.id().clone())
        .collect()
}
