//! What persons see of a server's definitions, and what they decide about them. A decision names exactly what was seen.

use std::sync::Arc;

use highwater_audit::{AuditEvent, Happened, Review};
use highwater_core::annotation::{Authority, Axis, Contract, Notice, NoticeKind};
use highwater_core::id::UpstreamId;
use highwater_core::pin::{Hold, PinDigest};
use highwater_core::policy::{ManifestState, ToolStatus};
use highwater_core::trust::ServerTrust;
use highwater_mcp::annotations::emit::contract_json;
use highwater_mcp::annotations::pinned;
use highwater_mcp::text::string_member;
use highwater_notation::{Timestamp, Words};
use highwater_pins::{
    Basis, Concern, Definition, Direction, Drift, PartClass, PinKey, PinKind, digest_of_all,
};
use highwater_store::{PinDecision, PinEvent, PinScope, PinVerdict, PinsDecided, StoreError};
use highwater_upstream::HealthState;
use serde::Serialize;
use serde_json::value::RawValue;

use super::manifest;
use super::observed::{Observed, Wanted, is_drifted};
use crate::catalog::{CatalogServer, Noted};
use crate::describe::WhatItIs;
use crate::gateway::{Gateway, now};
use crate::registry::Changed;

/// How many lines of its history a server is shown with.
const HISTORY: u32 = 200;

/// A server as persons review it.
#[derive(Clone, Debug, Serialize)]
pub struct ServerReview {
    /// The operator's name for it.
    pub server: String,
    /// `approved`, `drifted` (some of it is in use, and not as it was approved), `quarantined`, `held` (some of it),
    /// `rejected`; `open` if nothing is ever held; `unseen` if it cannot be reached.
    pub state: &'static str,
    /// What the operator calls it: `trust.label`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// How it is reached: its command line or its address, without what looks like a secret.
    pub reached: String,
    /// When it was last looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub looked_at: Option<Timestamp>,
    /// It is being started, and nothing was seen of it yet.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub starting: bool,
    /// Why nothing was seen of it, where it could not be reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// The last lines that it wrote to its standard error, where it could not be reached.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stderr: Vec<String>,
    /// Why nothing of it may be used, if nothing may.
    pub hold: Option<Hold>,
    /// The operator vouches for it.
    pub vouched: bool,
    /// What nobody approved is held.
    pub quarantine: bool,
    /// What became of its manifest.
    pub manifest: ManifestState,
    /// What there is to say about that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manifest_says: Option<String>,
    /// What it is, in the operator's one word, and by whom.
    #[serde(flatten)]
    pub what: Option<WhatItIs>,
    /// The digest of everything that is seen: what an approval of the whole server names.
    pub digest: PinDigest,
    /// Everything it has, the server itself first.
    pub items: Vec<ItemReview>,
    /// What happened, newest first.
    pub history: Vec<PinEvent>,
}

/// One thing of a server as persons review it.
#[derive(Clone, Debug, Serialize)]
pub struct ItemReview {
    /// What it is.
    pub kind: PinKind,
    /// The server's own name for it.
    pub name: Arc<str>,
    /// Whether a person has seen it.
    pub status: ToolStatus,
    /// Why it may not be used by itself, whatever is said of its server.
    pub hold: Option<Hold>,
    /// The digest of what is seen: what an approval names.
    pub digest: PinDigest,
    /// On whose word it is approved, if it is.
    pub basis: Option<Basis>,
    /// Whether what it claims of itself may loosen anything.
    pub believed: bool,
    /// What a person should see before a model does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub concerns: Vec<ConcernReview>,
    /// What is not as it was approved; everything, if nothing was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeReview>,
    /// Whether it is in use although it is not as it was approved: only what it claims, or what is for the eye, changed.
    pub drifted: bool,
    /// Where what it claims now is safer-looking than what was approved: not in effect until it is approved.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loosens: Vec<&'static str>,
    /// Where what it claims now is riskier than what was approved: in effect already.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tightens: Vec<&'static str>,
    /// What was noted about what it claims of itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<NoticeReview>,
    /// What believing its claims would loosen, compared with believing none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub would_loosen: Vec<&'static str>,
    /// How calls of it are judged, by whoever's word, if it is a tool: as clients are told in `dev.highwater/contract`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contract: Option<Box<RawValue>>,
    /// What is seen, whole.
    pub definition: Option<Box<RawValue>>,
    /// What was approved, whole, where it is something else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pinned: Option<Box<RawValue>>,
}

/// One changed part.
#[derive(Clone, Debug, Serialize)]
pub struct ChangeReview {
    /// Which, as a pointer.
    pub part: Arc<str>,
    /// What it is.
    pub class: PartClass,
    /// As it was approved, as JSON.
    pub pinned: Option<Box<RawValue>>,
    /// As it is, as JSON.
    pub seen: Option<Box<RawValue>>,
}

/// Something that was noted about a claim. It decides nothing.
#[derive(Clone, Debug, Serialize)]
pub struct NoticeReview {
    /// What kind.
    pub kind: NoticeKind,
    /// The axis it concerns, where it concerns one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub axis: Option<Axis>,
    /// The vocabulary in which the claim was made.
    pub from: &'static str,
    /// The word or key in question, in the server's words.
    pub detail: Arc<str>,
}

/// Something that a person should see before a model does.
#[derive(Clone, Debug, Serialize)]
pub struct ConcernReview {
    /// What kind.
    pub kind: &'static str,
    /// In which part.
    pub part: String,
    /// Which character or name.
    pub what: String,
}

/// What a server lists, for whoever signs it.
#[derive(Clone, Debug, Serialize)]
pub struct Offer {
    /// Where it is, or what it calls itself.
    pub server: Option<String>,
    /// Each definition, as its server wrote it.
    pub items: Vec<(PinKey, Box<RawValue>)>,
}

/// What a person decides.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// About which server.
    pub server: UpstreamId,
    /// What.
    pub verdict: PinVerdict,
    /// About which part of it, as it was seen.
    pub scope: PinScope,
    /// Who.
    pub person: String,
    /// Why.
    pub reason: String,
}

/// What came of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decided {
    /// It stands; so many definitions changed their state.
    Done(u64),
    /// Something is not as the person saw it.
    Moved,
    /// There is no such server.
    Unknown,
    /// The server cannot be reached, so nothing is seen of it.
    Unseen,
}

impl Gateway {
    /// A server's definitions beside what was approved; `None` if there is no such server. Starts it if need be.
    pub async fn review(&self, server: &UpstreamId) -> Result<Option<ServerReview>, StoreError> {
        let world = self.world.load_full();
        let Some(catalog_server) = world.catalog_servers.get(server) else { return Ok(None) };
        catalog_server.ensure_current().await;
        let history = self.store.pin_events(server.as_str(), HISTORY).await?;
        let wanted = catalog_server.enforcer.wanted();
        let nothing = Arc::new(Observed::nothing());
        let listing = catalog_server.seen();
        let observed = listing.as_ref().map_or(&nothing, |listing| &listing.observed);
        let noted =
            listing.as_ref().map(|listing| catalog_server.enforcer.noted(listing)).unwrap_or_default();
        let contracts = listing.as_ref().map(|listing| catalog_server.enforcer.contracts(listing));
        let contract = |key: &PinKey| {
            let contracts = contracts.as_ref().filter(|_| key.kind == PinKind::Tool)?;
            RawValue::from_string(contract_json(&contracts.tool(&key.name).contract)).ok()
        };
        let review = |seen: &Definition| ItemReview {
            notices: notices(&noted, seen.key()),
            contract: contract(seen.key()),
            ..item(observed, seen, wanted)
        };
        let items: Vec<_> = observed.definitions.values().map(review).collect();
        // What nobody has seen is not held by anybody.
        let hold = listing.as_ref().and_then(|listing| listing.observed.server_hold(wanted));
        let health = listing.is_none().then(|| catalog_server.upstream.health());
        // One that is up may not have listed anything yet.
        let starting = health.as_ref().is_some_and(|health| {
            health.state == HealthState::Starting
                || (health.state == HealthState::Up && catalog_server.is_loading())
        });
        let failed = health.as_ref().filter(|_| !starting).map(|health| {
            health
                .last_error
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_else(|| "did not list its tools".to_owned())
        });
        let state = state(listing.as_ref().map(|listing| &*listing.observed), wanted);
        Ok(Some(ServerReview {
            server: server.to_string(),
            state,
            label: catalog_server.enforcer.title(),
            reached: catalog_server.enforcer.reached_words().to_owned(),
            looked_at: catalog_server.looked_at(),
            starting,
            failed,
            stderr: health.map(|health| health.stderr).unwrap_or_default(),
            hold,
            vouched: wanted.vouched,
            quarantine: wanted.quarantine,
            manifest: observed.manifest(),
            manifest_says: observed.manifest_says().map(str::to_owned),
            what: self.what_it_is(server),
            digest: observed.digest(),
            items,
            history,
        }))
    }

    /// What a server lists, each as it wrote it: for whoever signs it. `None` if there is no such server, or it cannot be
    /// reached.
    pub async fn offer(&self, server: &UpstreamId) -> Option<Offer> {
        let world = self.world.load_full();
        let catalog_server = world.catalog_servers.get(server)?;
        catalog_server.ensure_current().await;
        let server_listing = catalog_server.seen()?;
        let info =
            server_listing.greeting.server_info.as_ref().and_then(|info| std::str::from_utf8(info).ok());
        let name = info.and_then(|info| string_member(info, "name")).map(|name| name.into_owned());
        let items = manifest::listed(&server_listing).into_iter();
        Some(Offer {
            server: catalog_server.enforcer.address().map(str::to_owned).or(name),
            items: items.filter_map(|(key, text)| Some((key, RawValue::from_string(text).ok()?))).collect(),
        })
    }

    /// Does what a person decided, if everything is as they saw it, and tells clients.
    pub async fn decide_pins(&self, judgement: Judgement) -> Result<Decided, StoreError> {
        let Judgement { server, verdict, scope, person, reason } = judgement;
        let world = self.world.load_full();
        let Some(catalog_server) = world.catalog_servers.get(&server) else { return Ok(Decided::Unknown) };
        catalog_server.ensure_current().await;
        let Some(server_listing) = catalog_server.seen() else { return Ok(Decided::Unseen) };
        // What this gateway sees is what its person was shown; the store compares with what was written down of it.
        if !sees(&server_listing.observed, &scope) {
            return Ok(Decided::Moved);
        }
        let decision = PinDecision {
            server: server.to_string(),
            verdict,
            scope: scope.clone(),
            person: person.clone(),
            reason: reason.clone(),
        };
        let decided = match self.store.decide_pins(decision).await? {
            PinsDecided::Done(count) => Decided::Done(count),
            PinsDecided::Moved => return Ok(Decided::Moved),
        };
        self.record_review(&server, verdict, &scope, &person, &reason);
        if let (PinVerdict::Approve { .. }, PinScope::Server(_)) = (verdict, &scope) {
            catalog_server.enforcer.pin_resources(&server_listing).await?;
        }
        self.take_up(catalog_server).await;
        Ok(decided)
    }

    /// What was decided elsewhere counts here as soon as it is heard of.
    pub(crate) fn follow_pins(self: &Arc<Self>) {
        let gateway = Arc::downgrade(self);
        let mut changed = self.store.pins_changed();
        tokio::spawn(async move {
            while changed.changed().await.is_ok() {
                let Some(gateway) = gateway.upgrade() else { return };
                let world = gateway.world.load_full();
                for catalog_server in world.catalog_servers.values() {
                    gateway.take_up(catalog_server).await;
                }
            }
        });
    }

    /// Looks again at what was approved of a server, and tells its clients.
    pub(crate) async fn take_up(&self, catalog_server: &Arc<CatalogServer>) {
        catalog_server.review().await;
        for virtual_server in self.world.load().holding(catalog_server.id()) {
            self.announce(&virtual_server.id, &Changed::ALL);
        }
    }

    fn record_review(
        &self,
        server: &UpstreamId,
        verdict: PinVerdict,
        scope: &PinScope,
        by: &str,
        reason: &str,
    ) {
        let what = verdict.word();
        let (digest, items): (PinDigest, Vec<String>) = match scope {
            PinScope::Server(digest) => (*digest, Vec::new()),
            PinScope::Some(named) => (
                digest_of_all(named.iter().map(|(key, digest)| (key, *digest))),
                named.iter().map(|(key, digest)| format!("{key} {digest}")).collect(),
            ),
        };
        tracing::warn!(%server, person = by, reason, %digest, "its definitions were {what}");
        let happened = Happened::Review(Review { upstream: server, what, by, reason, digest, items: &items });
        if let Err(error) = self.audit.append(&AuditEvent { time: now(), id: None, happened }) {
            tracing::error!(%error, "what was decided about a server could not be recorded in the audit log");
        }
    }
}

/// How a server stands as a whole, in a word.
pub(crate) fn state(observed: Option<&Observed>, wanted: Wanted) -> &'static str {
    let Some(observed) = observed else { return "unseen" };
    match observed.server_hold(wanted) {
        Some(Hold::ServerRejected) => "rejected",
        Some(_) => "quarantined",
        None if observed.held(wanted) > 0 => "held",
        None if !wanted.quarantine => "open",
        None if observed.drifted(wanted) > 0 => "drifted",
        None => "approved",
    }
}

/// Whether everything that a decision names is seen here, now.
fn sees(observed: &Observed, scope: &PinScope) -> bool {
    match scope {
        PinScope::Server(digest) => observed.digest() == *digest,
        PinScope::Some(named) => named
            .iter()
            .all(|(key, digest)| observed.definitions.get(key).is_some_and(|seen| seen.digest() == *digest)),
    }
}

fn item(observed: &Observed, seen: &Definition, wanted: Wanted) -> ItemReview {
    let key = seen.key();
    let standing = observed.stand(key, wanted);
    let pin = observed.pin(key);
    let honoured = pin.filter(|pin| wanted.terms(observed.manifest()).honours(pin.basis));
    let drift = pin.and_then(|pin| Drift::between(&pin.definition, seen));
    let direction = match pin {
        Some(pin) if key.kind == PinKind::Tool => {
            Direction::between(&claimed(&pin.definition), &claimed(seen))
        }
        _ => Direction::default(),
    };
    let raw = |text: &str| RawValue::from_string(text.to_owned()).ok();
    let changes = drift.iter().flat_map(|drift| drift.changes()).map(|change| ChangeReview {
        part: Arc::clone(&change.part),
        class: change.class,
        pinned: change.pinned.as_deref().and_then(raw),
        seen: change.seen.as_deref().and_then(raw),
    });
    let would_loosen = match key.kind {
        PinKind::Tool => {
            let unbelieved =
                Contract::weigh(&pinned::claims(seen, Authority::Declared).claims, &ServerTrust::default());
            let believed = claimed(seen);
            let repeats = believed.hints().idempotent && !unbelieved.0.hints().idempotent;
            named(believed.milder_than(&unbelieved.0), repeats)
        }
        PinKind::Identity
        | PinKind::Instructions
        | PinKind::Prompt
        | PinKind::Template
        | PinKind::Resources
        | PinKind::Manifest
        | PinKind::Profile => Vec::new(),
    };
    ItemReview {
        kind: key.kind,
        name: Arc::clone(&key.name),
        status: standing.as_ref().map_or(ToolStatus::Pending, |standing| standing.status),
        drifted: standing.as_ref().is_some_and(is_drifted),
        hold: standing.and_then(|standing| standing.hold),
        digest: seen.digest(),
        basis: honoured.map(|pin| pin.basis),
        believed: observed.believes(key, wanted),
        concerns: observed.concerns.get(key).into_iter().flatten().map(concern).collect(),
        pinned: pin.filter(|_| drift.is_some()).and_then(|pin| raw(pin.definition.text())),
        changes: changes.collect(),
        loosens: named(direction.loosens, direction.idempotent == Some(true)),
        tightens: named(direction.tightens, direction.idempotent == Some(false)),
        notices: Vec::new(),
        would_loosen,
        contract: None,
        definition: raw(seen.text()),
    }
}

/// Axes by name, and the hint that is none of them: whether a call may be repeated.
fn named(axes: Words<Axis>, repeats: bool) -> Vec<&'static str> {
    axes.iter().map(Axis::as_str).chain(repeats.then_some("idempotentHint")).collect()
}

/// What was noted about a tool.
fn notices(noted: &Noted, key: &PinKey) -> Vec<NoticeReview> {
    let of_tool = noted.notices.get(&key.name).filter(|_| key.kind == PinKind::Tool);
    let review = |notice: &Notice| NoticeReview {
        kind: notice.kind,
        axis: notice.axis,
        from: notice.from,
        detail: Arc::clone(&notice.detail),
    };
    of_tool.into_iter().flatten().map(review).collect()
}

/// What a tool's claims come to, if they are believed.
fn claimed(tool: &Definition) -> Contract {
    Contract::weigh(&pinned::claims(tool, Authority::DeclaredVerified).claims, &ServerTrust::default()).0
}

fn concern(concern: &Concern) -> ConcernReview {
    ConcernReview { kind: concern.kind.as_str(), part: concern.part.clone(), what: concern.what.clone() }
}

impl ItemReview {
    /// What names it in a decision.
    pub fn key(&self) -> PinKey {
        PinKey::new(self.kind, Arc::clone(&self.name))
    }
}
