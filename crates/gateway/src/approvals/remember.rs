//! Remembered answers: a yes given in advance, never for a passkey. It fixes everything that says where and what, it ends
//! when the tool changes, and it does not hold in a session that has read what strangers may have written. What the tool
//! itself answered since is nothing new, unless it brought data.
//!
//! One kind is for such sessions: pages of one host, until the conversation ends. It ends before that once the session holds
//! more data than it did.

use aws_lc_rs::digest::{SHA256, digest};
use highwater_core::annotation::{ArgumentRole, Contract};
use highwater_core::approval::{ActionHash, CanonicalArguments, ToolName, encode_base64url};
use highwater_core::audit::ApprovalNote;
use highwater_core::decide::{Effect, Told};
use highwater_core::id::{Principal, SessionKey, Timestamp, UpstreamId, UserId};
use highwater_core::label::{Label, LabelBits, TextSet};
use highwater_core::pin::PinDigest;
use highwater_mcp::text::members;
use highwater_store::{ApprovalRequest, RememberedAnswer, RequestFilter, RequestState};
use serde::{Deserialize, Serialize};

use super::fetched_pages::Pages;
use super::requests::told_of;
use super::view::{ContextView, RememberScope};
use super::{By, Desk, DeskFault, random_id};
use crate::gateway::now;

const HOUR_MS: u64 = 60 * 60 * 1000;

/// More answers than anybody gives within the time that they hold.
const MOST_GRANTS: u32 = 256;

/// What a session had taken in, as it is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptLabel {
    bits: i64,
    scopes: Vec<String>,
    #[serde(default)]
    names: Vec<String>,
    origins: Vec<String>,
    #[serde(default)]
    own: KeptReply,
}

/// What the tool's own replies add to that as it is defined: who they come from and how far that is trusted. Otherwise an
/// answer would end with its first use. Data is not among it: what a session holds is asked about, whoever brought it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct KeptReply {
    bits: i64,
    origins: Vec<String>,
}

/// What must be the same for an answer to be remembered, and is kept with the request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rememberable {
    /// The digest of the arguments that say where and what; nothing where only pages may be remembered.
    targets: Option<String>,
    label: KeptLabel,
    /// The pages that it may be remembered for, where it fetches one.
    #[serde(default)]
    pages: Option<Pages>,
}

/// What would be kept of a yes, whichever scope is chosen for it.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    pub(crate) user: UserId,
    pub(crate) principal: Principal,
    pub(crate) session: SessionKey,
    pub(crate) tool: ToolName,
    pub(crate) upstream: Option<UpstreamId>,
    pub(crate) definition: PinDigest,
    pub(crate) same: Rememberable,
    pub(crate) told: Box<str>,
}

/// A call that may rest on what was said before.
pub(crate) struct Recalled<'a> {
    pub(crate) principal: &'a Principal,
    pub(crate) session: &'a SessionKey,
    pub(crate) tool: &'a ToolName,
    pub(crate) upstream: Option<&'a UpstreamId>,
    pub(crate) definition: Option<PinDigest>,
    pub(crate) arguments: &'a CanonicalArguments,
    /// Whether they are the tool's own.
    pub(crate) is_direct: bool,
    pub(crate) contract: &'a Contract,
    /// The argument that is the address of a page, where all that is done is to fetch it.
    pub(crate) page: Option<&'a str>,
    pub(crate) label: &'a Label,
    pub(crate) told: &'a Told,
}

// === impl Rememberable ===

impl Rememberable {
    /// `None` where nothing may be remembered: the session has read what strangers may have written, and it is no page, or
    /// something of it was reported as malicious.
    pub(crate) fn of(
        arguments: &CanonicalArguments,
        is_direct: bool,
        contract: &Contract,
        page: Option<&str>,
        label: &Label,
    ) -> Option<Self> {
        if label.malicious() {
            return None;
        }
        let pages = page.and_then(|url| Pages::of(arguments, url));
        let targets = (!label.untrusted()).then(|| targets(arguments, is_direct, contract));
        if targets.is_none() && pages.is_none() {
            return None;
        }
        Some(Self { targets, label: KeptLabel::of(label, contract.reply_label()), pages })
    }

    fn scopes(&self) -> Vec<RememberScope> {
        let host = self.pages.as_ref().map(|_| RememberScope::Host);
        let others = if self.targets.is_some() { &RememberScope::ALL[..] } else { &[] };
        host.into_iter().chain(others.iter().copied()).collect()
    }

    /// What has to be the same for this scope.
    fn kept(&self, scope: RememberScope) -> Option<String> {
        match scope {
            RememberScope::Host => self.pages.as_ref().map(Pages::kept),
            RememberScope::Session
            | RememberScope::ToolWithTargets
            | RememberScope::UntilDefinitionChanges => self.targets.clone(),
        }
    }
}

// === impl Offer ===

impl Offer {
    /// What may be remembered of an answer to this request, if anything.
    fn of(request: &ApprovalRequest, context: &ContextView) -> Option<Self> {
        if request.kind != Effect::Confirm {
            return None;
        }
        Some(Self {
            user: request.user.clone(),
            principal: request.principal.clone(),
            session: request.session.clone(),
            tool: request.tool.clone(),
            upstream: request.upstream.clone(),
            definition: request.definition?,
            same: context.rememberable.clone()?,
            told: request.told.clone(),
        })
    }

    /// The answer as it is kept for this scope.
    fn taken(self, scope: RememberScope) -> Result<RememberedAnswer, DeskFault> {
        let created = now();
        let targets = self.same.kept(scope).ok_or(DeskFault::NotRememberable)?;
        let lasts = match scope {
            RememberScope::Session | RememberScope::Host => 24 * HOUR_MS,
            RememberScope::ToolWithTargets => 30 * 24 * HOUR_MS,
            RememberScope::UntilDefinitionChanges => 10 * 365 * 24 * HOUR_MS,
        };
        Ok(RememberedAnswer {
            id: random_id()?,
            user: self.user,
            principal: self.principal,
            session: matches!(scope, RememberScope::Session | RememberScope::Host).then_some(self.session),
            tool: self.tool,
            upstream: self.upstream,
            definition: Some(self.definition),
            targets: Some(targets),
            label: serde_json::to_string(&self.same.label).unwrap_or_default().into(),
            told: self.told,
            created,
            until: Timestamp(created.0.saturating_add(lasts)),
        })
    }
}

// === impl KeptLabel ===

impl KeptLabel {
    fn of(label: &Label, reply: &Label) -> Self {
        Self {
            bits: label.bits().to_i64(),
            scopes: texts(label.scopes()),
            names: texts(label.names()),
            origins: texts(label.origins()),
            own: KeptReply::of(reply),
        }
    }

    /// Whether a session holds no more than this one did, and what the tool itself has answered since.
    fn covers(&self, now: &Label) -> bool {
        let (own, was) = (self.own.label(), self.label());
        was.covers(now)
            || (!own.origins().is_empty()
                && now.origins().covers(own.origins())
                && was.joined(&own).covers(now))
    }

    /// Whether a session holds no other data than this one did, wherever it came from.
    fn covers_data(&self, now: &Label) -> bool {
        let data = |label: &Label| {
            let named = Label::bottom().with_names(label.names()).with_scopes(label.scopes());
            named.with_classes_of(label)
        };
        data(&self.label()).covers(&data(now))
    }

    fn label(&self) -> Label {
        Label::from_sets(
            LabelBits::from_i64(self.bits),
            TextSet::of(self.scopes.iter().cloned()),
            TextSet::of(self.names.iter().cloned()),
            TextSet::of(self.origins.iter().cloned()),
        )
    }
}

// === impl KeptReply ===

impl KeptReply {
    fn of(reply: &Label) -> Self {
        if reply.untrusted() || reply.malicious() || reply.origins().is_open() {
            return Self::default();
        }
        let trust = Label::bottom().with_integrity(reply.integrity()).with_sources(reply.sources());
        Self { bits: trust.bits().to_i64(), origins: texts(reply.origins()) }
    }

    fn label(&self) -> Label {
        Label::from_parts(
            LabelBits::from_i64(self.bits),
            TextSet::EMPTY,
            TextSet::of(self.origins.iter().cloned()),
        )
    }
}

fn texts(set: &TextSet) -> Vec<String> {
    set.members().iter().map(ToString::to_string).collect()
}

// === impl Desk ===

impl Desk {
    /// For how long an answer to this request may be remembered.
    pub(super) fn scopes(&self, request: &ApprovalRequest, context: &ContextView) -> Vec<RememberScope> {
        match Offer::of(request, context) {
            Some(offer) => offer.same.scopes(),
            None => Vec::new(),
        }
    }

    /// The answer as it would be kept.
    pub(super) fn to_remember(
        &self,
        request: &ApprovalRequest,
        scope: RememberScope,
    ) -> Result<RememberedAnswer, DeskFault> {
        let context: ContextView = serde_json::from_str(&request.shown).unwrap_or_default();
        Offer::of(request, &context).ok_or(DeskFault::NotRememberable)?.taken(scope)
    }

    /// Keeps an answer that was given in a form, exactly as one that was given on the page.
    pub(crate) async fn take_offer(
        &self,
        offer: Offer,
        scope: RememberScope,
        by: By<'_>,
    ) -> Result<(), DeskFault> {
        self.keep(&offer.taken(scope)?, &by.words()).await
    }

    /// Keeps an answer.
    pub(super) async fn keep(&self, answer: &RememberedAnswer, by: &str) -> Result<(), DeskFault> {
        let note = ApprovalNote {
            act: "remembered",
            by,
            user: Some(answer.user.as_str()),
            tool: Some(answer.tool.as_str()),
            detail: Some(&answer.id),
            ..ApprovalNote::default()
        };
        self.record(None, note)?;
        Ok(self.store.remember(answer).await?)
    }

    /// A yes that was given before and covers this call. Whatever is more than it was then asks again.
    pub(crate) async fn recall(&self, call: &Recalled<'_>) -> Result<Option<RememberedAnswer>, DeskFault> {
        let same = Rememberable::of(call.arguments, call.is_direct, call.contract, call.page, call.label);
        let Some(same) = same.filter(|_| call.definition.is_some()) else { return Ok(None) };
        let pages = same.pages.as_ref().map(Pages::kept);
        let at = now();
        let known = self.store.remembered(Some((call.principal, call.tool)), at).await?;
        Ok(known.into_iter().find(|answer| {
            let label: KeptLabel = serde_json::from_str(&answer.label).unwrap_or_default();
            answer.until > at
                && answer.principal == *call.principal
                && answer.session.as_ref().is_none_or(|session| session == call.session)
                && answer.tool == *call.tool
                && answer.upstream.as_ref() == call.upstream
                && answer.definition == call.definition
                && match &answer.targets {
                    Some(kept) if pages.as_ref() == Some(kept) => label.covers_data(call.label),
                    kept => kept.is_some() && *kept == same.targets && label.covers(call.label),
                }
                && told_of(&answer.told).covers(call.told)
        }))
    }

    /// Uses up the answer that was remembered when it was given, if no call has rested on it: whoever said yes once and
    /// for later has not said it once more.
    pub(crate) async fn use_beside(&self, call: &Recalled<'_>, action: ActionHash) -> Result<(), DeskFault> {
        let filter = RequestFilter {
            principal: Some(call.principal.clone()),
            state: Some(RequestState::Approved),
            ..RequestFilter::default()
        };
        for request in self.store.requests(&filter, MOST_GRANTS).await? {
            if request.action == action && request.kind == Effect::Confirm {
                self.use_grant(&request, (call.principal, call.session), action, call.definition).await?;
            }
        }
        Ok(())
    }

    /// Forgets a remembered answer.
    pub async fn forget(&self, id: &str, by: By<'_>) -> Result<bool, DeskFault> {
        let by = by.words();
        let note = ApprovalNote { act: "forgotten", by: &by, detail: Some(id), ..ApprovalNote::default() };
        self.record(None, note)?;
        Ok(self.store.forget(id).await?)
    }
}

/// The digest of the arguments that say where and what. What nobody knows better of a tool that acts is one of them, and
/// so is whatever is wrapped around the arguments of a tool: no role is about that.
fn targets(arguments: &CanonicalArguments, is_direct: bool, contract: &Contract) -> String {
    let fixed = |name: &str| {
        if !is_direct {
            return true;
        }
        let within = |pointer: &str| pointer.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'));
        let decides = |role: ArgumentRole| match role {
            ArgumentRole::Scalar | ArgumentRole::Content => false,
            ArgumentRole::Query | ArgumentRole::Object | ArgumentRole::Target => true,
        };
        let pointer = name.replace('~', "~0").replace('/', "~1");
        decides(contract.role(&pointer))
            || contract.roles().iter(contract.acts()).any(|(part, role)| within(part) && decides(role))
    };
    let mut text = String::new();
    for (name, value) in members(arguments.as_str()).filter(|(name, _)| fixed(name)) {
        text.push_str(&highwater_mcp::text::quote(&name));
        text.push(':');
        text.push_str(value);
        text.push(',');
    }
    hashed(&text)
}

pub(super) fn hashed(text: &str) -> String {
    encode_base64url(digest(&SHA256, text.as_bytes()).as_ref())
}

#[cfg(test)]
mod tests {
    use highwater_core::annotation::{DataClass, Source};
    use highwater_core::trust::TrustLevel;

    use super::*;

    /// Otherwise an answer would end with its first use.
    #[test]
    fn what_the_tool_itself_answered_is_nothing_new_and_everything_else_is() {
        let was = Label::bottom().with_integrity(TrustLevel::Agent).with_origin("mcp:a:read");
        let own = Label::bottom().with_integrity(TrustLevel::Tool).with_source(Source::System);
        let own = own.with_origin("mcp:a:write");
        let kept = |reply: &Label| {
            let kept = serde_json::to_string(&KeptLabel::of(&was, reply)).unwrap();
            serde_json::from_str::<KeptLabel>(&kept).unwrap()
        };
        let used = was.clone().joined(&own);
        assert!(kept(&own).covers(&was) && kept(&own).covers(&used));
        for more in [
            // The same from somebody else.
            was.clone().with_integrity(TrustLevel::Tool).with_source(Source::System),
            used.clone().with_origin("mcp:a:other"),
            used.clone().with_source(Source::User),
            used.clone().with_class(DataClass::User),
            used.clone().with_wrote_externally(),
            used.clone().with_open_world(),
            used.clone().with_origins(&TextSet::EVERY),
        ] {
            assert!(!kept(&own).covers(&more), "{more:?}");
        }
        // Data that the tool itself brought is data that was not there.
        let data = own.clone().with_class(DataClass::Pii);
        assert!(!kept(&data).covers(&was.clone().joined(&data)));
        // A stranger's word is never expected.
        let strange = own.with_integrity(TrustLevel::None);
        assert!(!kept(&strange).covers(&was.clone().joined(&strange)));
        // An answer that was kept before any of this covers what it covered.
        let old: KeptLabel =
            serde_json::from_str(r#"{"bits":0,"scopes":[],"origins":["mcp:a:read"]}"#).unwrap();
        assert!(!old.clone().covers(&used) && old.covers(&Label::bottom().with_origin("mcp:a:read")));
    }
}
