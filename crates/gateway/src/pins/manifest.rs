//! A server's manifest: where it is found, whether it counts, and what it signs of what the server lists.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use highwater_config::{ManifestSettings, ManifestSource};
use highwater_core::id::UpstreamId;
use highwater_core::policy::ManifestState;
use highwater_mcp::text::{is_true, pointer, string_member};
use highwater_notation::{Json, Timestamp};
use highwater_pins::{ContentHash, Definition, Envelope, ManifestFault, PartClass, PinKey, SignedManifest};
use highwater_store::{Observation, StoredPin};
use highwater_upstream::control::{ControlMessage, ControlReply};
use highwater_upstream::{Perform, fetch};

use crate::catalog::ServerListing;

/// How long a manifest may take to come, and how long it may be.
const PATIENCE: Duration = Duration::from_secs(10);
const LARGEST: usize = 4 << 20;

/// What is known of a server's manifest.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    pub(crate) state: ManifestState,
    /// For people: why it does not count, or who signs.
    pub(crate) says: Option<String>,
    /// What the server lists and the manifest does not sign as it is.
    pub(super) unsigned: BTreeSet<PinKey>,
    /// What the manifest signs as it is.
    pub(super) signed: BTreeSet<PinKey>,
    /// Until when it counts.
    pub(crate) expires: Option<Timestamp>,
    /// The text to be kept, if this one counts and another one counted last.
    kept: Option<String>,
    /// It could not be had, and may be later.
    pub(super) again: bool,
}

// === impl Checked ===

impl Checked {
    pub(super) fn absent() -> Self {
        Self::of(ManifestState::Absent, None)
    }

    fn of(state: ManifestState, says: Option<String>) -> Self {
        Self {
            state,
            says,
            unsigned: BTreeSet::new(),
            signed: BTreeSet::new(),
            expires: None,
            kept: None,
            again: false,
        }
    }

    fn invalid(fault: &ManifestFault) -> Self {
        Self::of(ManifestState::Invalid, Some(fault.to_string()))
    }

    /// What is written down so that an older one is known for what it is.
    pub(super) fn observation(&self) -> Option<Observation> {
        let text = self.kept.clone()?;
        let whole = Json::parse(&text)?;
        let definition =
            Definition::new(PinKey::manifest(), text.as_str(), [("".into(), PartClass::Identity, whole)]);
        Some(Observation { key: PinKey::manifest(), seen: Some((definition.digest(), text)), approve: None })
    }
}

/// What a server's manifest comes to.
pub(super) async fn check(
    upstream: &dyn Perform,
    wanted: Option<&ManifestSettings>,
    address: Option<&str>,
    server_listing: &ServerListing,
    known: &[StoredPin],
    now: Timestamp,
) -> Checked {
    let capabilities = std::str::from_utf8(&server_listing.greeting.capabilities).unwrap_or("{}");
    let declares = pointer(capabilities, &["declarations", "signed"]).is_some_and(is_true);
    let Some(wanted) = wanted else {
        // Nobody said whose signature counts.
        let state = if declares { ManifestState::Unchecked } else { ManifestState::Absent };
        return Checked::of(state, None);
    };
    let text = match found(upstream, &wanted.from).await {
        Ok(Some(text)) => text,
        Ok(None) => return Checked::of(ManifestState::Absent, Some("there is none".to_owned())),
        Err(why) => return Checked { again: true, ..Checked::of(ManifestState::Absent, Some(why)) },
    };
    let info = server_listing.greeting.server_info.as_ref().and_then(|info| std::str::from_utf8(info).ok());
    let name = info.and_then(|info| string_member(info, "name"));
    let meant: Vec<&str> = match (&wanted.server, address) {
        (Some(said), _) => vec![said.as_str()],
        (None, Some(address)) => vec![address],
        (None, None) => name.as_deref().into_iter().collect(),
    };
    let last = known.iter().find(|stored| stored.key == PinKey::manifest());
    let last = last.and_then(|stored| SignedManifest::read_back(&stored.seen.as_ref()?.text));
    let signed = Envelope::parse(&text).and_then(|envelope| envelope.signed_by(&wanted.keys));
    match signed.and_then(|signed| signed.counts(&meant, now, last.as_ref()).map(|()| signed)) {
        Ok(signed) => {
            let kept = last.is_none_or(|last| last.text != signed.text).then(|| signed.text.clone());
            Checked { kept, ..kept_to(&signed, server_listing) }
        }
        Err(fault) => Checked::invalid(&fault),
    }
}

/// Whether a server keeps to a manifest that counts.
fn kept_to(manifest: &SignedManifest, server_listing: &ServerListing) -> Checked {
    let manifest = &manifest.manifest;
    let (mut signed, mut unsigned) = (BTreeSet::new(), BTreeSet::new());
    for (key, item) in listed(server_listing) {
        let hash = ContentHash::of(&item);
        match (manifest.hashes.get(&key), hash) {
            (Some(said), Some(found)) if *said == found => signed.insert(key),
            // Instructions are no part of the proposal; a manifest may be silent about them.
            (None, _) if key == PinKey::instructions() => continue,
            (Some(_) | None, _) => unsigned.insert(key),
        };
    }
    // What is unsigned and signed under one name is listed twice by the server, and the first counts.
    let state = if unsigned.is_empty() { ManifestState::Verified } else { ManifestState::Mismatch };
    let says = match (&manifest.publisher, unsigned.len()) {
        (Some(publisher), 0) => Some(format!("signed by {publisher}")),
        (None, 0) => None,
        (_, count) => Some(format!("{count} of what the server lists is not what is signed")),
    };
    Checked { signed, unsigned, expires: Some(manifest.expires), ..Checked::of(state, says) }
}

/// What a manifest speaks of, each as its server wrote it. Of two of one name the first counts.
pub(super) fn listed(server_listing: &ServerListing) -> Vec<(PinKey, String)> {
    use highwater_pins::PinKind::{Prompt, Template, Tool};
    let text = |bytes: &Bytes| std::str::from_utf8(bytes).map(str::to_owned).ok();
    let mut found: Vec<(PinKey, String)> = Vec::new();
    let mut known = BTreeSet::new();
    for (kind, key, listing) in [
        (Tool, "name", &server_listing.tools),
        (Prompt, "name", &server_listing.prompts),
        (Template, "uriTemplate", &server_listing.templates),
    ] {
        for item in listing.items.iter().filter_map(text) {
            let Some(name) = string_member(&item, key).map(|name| PinKey::new(kind, &*name)) else {
                continue;
            };
            if known.insert(name.clone()) {
                found.push((name, item));
            }
        }
    }
    let instructions = server_listing.greeting.instructions.as_ref().and_then(text);
    found.extend(instructions.map(|text| (PinKey::instructions(), text)));
    found
}

/// The manifest's text; `None` if there is none, a reason if it cannot be had.
async fn found(upstream: &dyn Perform, from: &ManifestSource) -> Result<Option<String>, String> {
    let bytes = match from {
        ManifestSource::Server => match upstream.control(ControlMessage::Manifest).await {
            Ok(ControlReply::Manifest(bytes)) => bytes,
            Ok(ControlReply::Listing(_) | ControlReply::Done) => return Ok(None),
            Err(error) => return Err(error.to_string()),
        },
        ManifestSource::File(path) => match read_file(path).await {
            Ok(bytes) => bytes,
            Err(error) => return Err(format!("`{path}` cannot be read: {error}")),
        },
        ManifestSource::Url(url) => {
            let server: &UpstreamId = upstream.id();
            fetch(server, url, LARGEST, PATIENCE).await.map_err(|error| error.to_string())?
        }
    };
    String::from_utf8(bytes.to_vec()).map(Some).map_err(|_| "it is no text".to_owned())
}

async fn read_file(path: &str) -> std::io::Result<Bytes> {
    use tokio::io::AsyncReadExt;
    let mut bytes = Vec::new();
    let file = tokio::fs::File::open(path).await?;
    file.take(u64::try_from(LARGEST).unwrap_or(u64::MAX)).read_to_end(&mut bytes).await?;
    Ok(bytes.into())
}
