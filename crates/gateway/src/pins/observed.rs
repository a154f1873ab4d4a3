//! One server's definitions beside what was approved of them.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use highwater_core::pin::{Hold, PinDigest};
use highwater_core::policy::{ManifestState, ToolStatus};
use highwater_mcp::annotations::pinned;
use highwater_notation::{Json, Timestamp};
use highwater_pins::{
    Basis, Concern, Definition, Pin, PinEntry, PinKey, PinKind, Standing, Terms, digest_of_all, stand,
};
use highwater_store::{Described, StoredPin};
use highwater_upstream::control::{ListKind, Listing};

use super::manifest::Checked;
use super::seen::Definitions;

/// What the operator wants of a server. What became of its manifest is found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) vouched: bool,
    /// The operator says in so many words that it is not to be believed, whoever approved or signed it.
    pub(crate) disbelieved: bool,
    pub(crate) quarantine: bool,
    /// The operator says by whom its manifest must be signed.
    pub(crate) manifest: bool,
}

/// What a server says, and what was approved of it.
#[derive(Debug)]
pub(crate) struct Observed {
    pub(super) definitions: Definitions,
    /// What was decided; `None` if that could not be read.
    pub(super) stored: Option<Vec<StoredPin>>,
    described: Option<Described>,
    entries: BTreeMap<PinKey, PinEntry>,
    /// What its resources said when it was approved, by their URIs.
    resources: HashMap<Arc<str>, Arc<str>>,
    pub(super) concerns: BTreeMap<PinKey, Vec<Concern>>,
    pub(super) manifest: Checked,
}

/// Something of a server as calls are judged by it.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) hold: Option<Hold>,
    pub(crate) status: ToolStatus,
    /// What was approved, where that still counts and what is seen is not word for word the same.
    pub(crate) pinned: Option<Definition>,
    /// Whether what it claims of itself may loosen anything.
    pub(crate) believed: bool,
    /// Whether the server's manifest signs it as it is.
    pub(crate) signed: bool,
}

// === impl Item ===

impl Item {
    /// Something of a server of which nothing was seen yet.
    pub(crate) fn unseen(hold: Option<Hold>) -> Self {
        Self { hold, status: ToolStatus::Pending, pinned: None, believed: false, signed: false }
    }
}

// === impl Wanted ===

impl Wanted {
    pub(crate) fn terms(self, manifest: ManifestState) -> Terms {
        Terms { vouched: self.vouched, quarantine: self.quarantine, manifest, manifest_wanted: self.manifest }
    }
}

// === impl Observed ===

impl Observed {
    pub(super) fn new(definitions: Definitions, stored: Option<Vec<StoredPin>>) -> Self {
        let entries = stored.iter().flatten().map(|stored| (stored.key.clone(), entry(stored))).collect();
        let described = stored.iter().flatten().find_map(StoredPin::described);
        let kept = stored.iter().flatten().find(|stored| stored.key == PinKey::resources());
        let kept = kept.and_then(|stored| stored.seen.as_ref());
        let resources = kept.map(|seen| pinned::resource_words(&seen.text)).unwrap_or_default();
        Self {
            definitions,
            stored,
            described,
            entries,
            resources: resources.into_iter().collect(),
            concerns: BTreeMap::new(),
            manifest: Checked::absent(),
        }
    }

    /// What is stored of a server, taken for what is seen of it.
    pub(crate) fn kept(stored: Vec<StoredPin>) -> Self {
        let seen = stored.iter().filter_map(|stored| {
            let definition = pinned::read_back(stored.key.kind, &stored.seen.as_ref()?.text)?;
            Some((stored.key.clone(), definition))
        });
        Self::new(seen.collect(), Some(stored))
    }

    /// The definitions of one kind, each by its name and as its server wrote it.
    pub(crate) fn texts(&self, kind: PinKind) -> impl Iterator<Item = (Arc<str>, Arc<str>)> {
        let of_kind = self.definitions.iter().filter(move |(key, _)| key.kind == kind);
        of_kind.map(|(key, definition)| (Arc::clone(&key.name), Arc::clone(definition.text())))
    }

    /// Nothing seen and nothing known: everything is held.
    pub(crate) fn nothing() -> Self {
        Self::new(Definitions::new(), None)
    }

    /// What a person said the server is.
    pub(crate) fn described(&self) -> Option<&Described> {
        self.described.as_ref()
    }

    /// Whether what was decided could not be read, so that it should be tried again.
    pub(crate) fn is_unreadable(&self) -> bool {
        self.stored.is_none() || self.manifest.again
    }

    /// What became of the server's manifest.
    pub(crate) fn manifest(&self) -> ManifestState {
        self.manifest.state
    }

    /// What there is to say about it.
    pub(crate) fn manifest_says(&self) -> Option<&str> {
        self.manifest.says.as_deref()
    }

    /// When its manifest ceases to count.
    pub(crate) fn expires(&self) -> Option<Timestamp> {
        self.manifest.expires
    }

    /// Why nothing of the server may be used; `None` if that hangs on each thing.
    pub(crate) fn server_hold(&self, wanted: Wanted) -> Option<Hold> {
        if self.stored.is_none() {
            return wanted.quarantine.then_some(Hold::Unreadable);
        }
        self.stand(&PinKey::identity(), wanted).and_then(|standing| standing.hold)
    }

    /// How one thing stands by itself; `None` if the server does not have it.
    pub(crate) fn stand(&self, key: &PinKey, wanted: Wanted) -> Option<Standing> {
        let seen = self.definitions.get(key)?;
        let mut standing = stand(seen, self.entries.get(key), &wanted.terms(self.manifest.state));
        if wanted.quarantine && standing.hold.is_none() && self.manifest.unsigned.contains(key) {
            standing.hold = Some(Hold::ManifestMismatch);
            standing.status = ToolStatus::Changed;
        }
        // What a person should see first is not approved by anybody's word, whenever it comes to light.
        if wanted.quarantine && standing.hold.is_none() && self.is_doubtful(key) {
            standing.hold = Some(if key.kind == PinKind::Identity { Hold::ServerNew } else { Hold::New });
            standing.status = ToolStatus::Pending;
        }
        Some(standing)
    }

    /// Whether something holds what a person should see, and no person has approved it.
    fn is_doubtful(&self, key: &PinKey) -> bool {
        self.concerns.contains_key(key) && self.pin(key).is_none_or(|pin| pin.basis != Basis::Person)
    }

    /// How one thing stands as part of its server.
    pub(crate) fn item(&self, kind: PinKind, name: &str, wanted: Wanted) -> Item {
        let key = PinKey::new(kind, name);
        let server = self.server_hold(wanted);
        let Some(standing) = self.stand(&key, wanted) else {
            // What cannot be read as a definition is nothing that anybody could approve.
            let hold = server.or(wanted.quarantine.then_some(Hold::New));
            let (status, believed) = match wanted.vouched && !wanted.quarantine {
                true => (ToolStatus::Approved, true),
                false => (ToolStatus::Pending, false),
            };
            return Item { hold, status, pinned: None, believed, signed: false };
        };
        let terms = wanted.terms(self.manifest.state);
        let pin = self.entries.get(&key).and_then(|entry| entry.pin.as_ref());
        let pin = pin.filter(|pin| wanted.quarantine && terms.honours(pin.basis));
        let differs =
            |pin: &&Pin| self.definitions.get(&key).is_none_or(|seen| seen.text() != pin.definition.text());
        Item {
            hold: server.or(standing.hold),
            status: standing.status,
            pinned: pin.filter(differs).map(|pin| pin.definition.clone()),
            signed: self.manifest.signed.contains(&key),
            believed: self.believes(&key, wanted),
        }
    }

    /// Whether what a definition claims of itself may loosen anything.
    pub(crate) fn believes(&self, key: &PinKey, wanted: Wanted) -> bool {
        if wanted.disbelieved {
            return false;
        }
        let terms = wanted.terms(self.manifest.state);
        let signed = self.manifest.signed.contains(key);
        let pin = self.pin(key).filter(|pin| terms.believes(pin, signed));
        if wanted.quarantine {
            return pin.is_some();
        }
        // Without quarantine a change is not held, so that only exactly what was approved is believed.
        let same =
            |pin: &Pin| self.definitions.get(key).is_some_and(|seen| seen.text() == pin.definition.text());
        wanted.vouched || pin.is_some_and(same)
    }

    /// A resource as clients are shown it that is listed like this: in the words it had when its server was approved.
    /// Nothing if it was not there then and says what people cannot see.
    pub(crate) fn shown_resource<'t>(&self, uri: &str, listed: &'t str) -> Option<Cow<'t, str>> {
        match self.resources.get(uri) {
            Some(words) => Some(pinned::resource_shown(words, listed)),
            None => Some(pinned::shown(listed)),
        }
        .filter(|text| !pinned::hides_text(text))
    }

    /// What a list says besides its entries as clients are shown it, where that is not what it says now.
    pub(crate) fn shown_beside(&self, kind: ListKind, listing: &Listing) -> Option<Vec<(String, Bytes)>> {
        let kept = self.resources.get("")?;
        let shown = pinned::beside_shown(kept, kind.member(), beside(listing).as_ref())?;
        Some(shown.into_iter().map(|(name, value)| (name, Bytes::from(value))).collect())
    }

    /// Of how many of its tools the claims are believed.
    pub(crate) fn believed(&self, wanted: Wanted) -> usize {
        self.tools()
            .filter(|name| self.believes(&PinKey::new(PinKind::Tool, Arc::clone(name)), wanted))
            .count()
    }

    /// Whether something of the server that was judged by this stands as it did, now that `seen` is seen. A tool stands by
    /// itself; what has no definition of its own stands with all of them.
    pub(crate) fn stands_alike(&self, seen: &Self, tool: Option<&str>, wanted: Wanted) -> bool {
        let alike = |key: &PinKey| {
            let digest = |of: &Self| of.definitions.get(key).map(Definition::digest);
            digest(self) == digest(seen)
                && self.stand(key, wanted) == seen.stand(key, wanted)
                && self.entries.get(key) == seen.entries.get(key)
        };
        if self.manifest.state != seen.manifest.state
            || self.described != seen.described
            || self.server_hold(wanted) != seen.server_hold(wanted)
            || !alike(&PinKey::identity())
        {
            return false;
        }
        match tool {
            Some(tool) => alike(&PinKey::new(PinKind::Tool, tool)),
            None => self.digest() == seen.digest() && self.definitions.keys().all(alike),
        }
    }

    /// How many things of it are held by themselves.
    pub(crate) fn held(&self, wanted: Wanted) -> usize {
        self.definitions.keys().filter_map(|key| self.stand(key, wanted)?.hold).count()
    }

    /// How many things of it are in use, and not as they were approved.
    pub(crate) fn drifted(&self, wanted: Wanted) -> usize {
        let standings = self.definitions.keys().filter_map(|key| self.stand(key, wanted));
        standings.filter(is_drifted).count()
    }

    pub(super) fn pin(&self, key: &PinKey) -> Option<&Pin> {
        self.entries.get(key)?.pin.as_ref()
    }

    /// The digest of one definition as it is seen.
    pub(crate) fn definition(&self, kind: PinKind, name: &str) -> Option<PinDigest> {
        self.definitions.get(&PinKey::new(kind, name)).map(Definition::digest)
    }

    /// The digest of everything that is seen.
    pub(crate) fn digest(&self) -> PinDigest {
        digest_of_all(self.definitions.values().map(|seen| (seen.key(), seen.digest())))
    }

    /// The names of its tools.
    pub(super) fn tools(&self) -> impl Iterator<Item = &Arc<str>> {
        self.definitions.keys().filter(|key| key.kind == PinKind::Tool).map(|key| &key.name)
    }
}

/// What a list says besides its entries.
pub(super) fn beside(listing: &Listing) -> Option<Json> {
    let said = listing.rest.iter();
    pinned::beside(said.filter_map(|(name, value)| Some((name.as_str(), std::str::from_utf8(value).ok()?))))
}

/// Whether something is in use although it is not as it was approved.
pub(super) fn is_drifted(standing: &Standing) -> bool {
    standing.hold.is_none() && standing.drift.is_some()
}

/// What was decided, with the approved text read again as a definition. A text that is none approves nothing.
fn entry(stored: &StoredPin) -> PinEntry {
    let pin = stored.pin.as_ref().and_then(|pin| {
        let definition = pinned::read_back(stored.key.kind, &pin.definition.text)?;
        // A name is part of what was approved.
        (*definition.key() == stored.key).then_some(Pin {
            definition,
            basis: pin.basis,
            believed: pin.believed,
        })
    });
    PinEntry { pin, rejected: stored.rejected }
}
