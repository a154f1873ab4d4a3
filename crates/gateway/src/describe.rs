//! Labelling by answering: what a server is, said by a person where the file does not say it.

use highwater_audit::{AuditEvent, Happened, Review};
use highwater_core::id::UpstreamId;
use highwater_core::profile::Profile;
use highwater_store::{Described, Description, StoreError};
use serde::Serialize;

use crate::gateway::{Gateway, now};

/// What a server is, by whom, and what people may say it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WhatItIs {
    /// What it is.
    pub profile: Profile,
    /// The file says so, and no person outranks it.
    pub by_file: bool,
    /// The person who said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub described: Option<Described>,
    /// Why people may not say that it is of this machine alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_local: Option<String>,
}

/// What came of what a person said a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Saying {
    /// It stands.
    Done,
    /// There is no such server.
    Unknown,
    /// The server cannot be reached, so nobody knows what it has.
    Unseen,
    /// The file says what it is.
    ByFile(Profile),
    /// It cannot be said to be of this machine alone, for this reason.
    NotLocal(String),
}

impl Gateway {
    /// What a server is; `None` if there is none of this name, or nobody knows yet what it has.
    pub fn what_it_is(&self, server: &UpstreamId) -> Option<WhatItIs> {
        let world = self.world.load();
        let catalog_server = world.catalog_servers.get(server)?;
        let contracts = catalog_server.enforcer.contracts(&*catalog_server.server_listing()?);
        Some(WhatItIs {
            profile: contracts.profile(),
            by_file: !contracts.may_be_described(),
            described: contracts.described().cloned(),
            not_local: contracts.not_local().map(|why| why.to_string()),
        })
    }

    /// Keeps what a person says a server is, or takes it back, and judges by it from now on.
    pub async fn describe(
        &self,
        server: &UpstreamId,
        profile: Option<Profile>,
        person: &str,
        reason: &str,
    ) -> Result<Saying, StoreError> {
        let world = self.world.load_full();
        let Some(catalog_server) = world.catalog_servers.get(server) else { return Ok(Saying::Unknown) };
        catalog_server.ensure_current().await;
        let (Some(server_listing), Some(known)) = (catalog_server.seen(), self.what_it_is(server)) else {
            return Ok(Saying::Unseen);
        };
        if known.by_file && profile.is_some() {
            return Ok(Saying::ByFile(known.profile));
        }
        if let (Some(Profile::Local), Some(why)) = (profile, known.not_local) {
            return Ok(Saying::NotLocal(why));
        }
        let description = Description {
            server: server.to_string(),
            profile,
            person: person.to_owned(),
            reason: reason.to_owned(),
        };
        let what = description.word();
        self.store.describe(description).await?;
        tracing::warn!(%server, person, reason, "a server was {what}");
        // The digest is that of the server as it was when somebody said what it is.
        let review = Review {
            upstream: server,
            what,
            by: person,
            reason,
            digest: server_listing.observed.digest(),
            items: &[],
        };
        let event = AuditEvent { time: now(), id: None, happened: Happened::Review(review) };
        if let Err(error) = self.audit.append(&event) {
            tracing::error!(%error, "what was said of a server could not be recorded in the audit log");
        }
        self.take_up(catalog_server).await;
        Ok(Saying::Done)
    }
}

// === impl Saying ===

impl Saying {
    /// Why nothing was kept, in a sentence; `None` if it was.
    pub fn refusal(&self) -> Option<String> {
        match self {
            Self::Done => None,
            Self::Unknown => Some("there is no such server".to_owned()),
            Self::Unseen => Some("the server cannot be reached, so nobody knows what it has".to_owned()),
            Self::ByFile(profile) => Some(format!(
                "the configuration says `profile: {profile}`, and the file counts; change it there"
            )),
            Self::NotLocal(why) => Some(format!(
                "it cannot be called local here: {why}; if it is all the same, write `profile: local` \
                              into the configuration"
            )),
        }
    }
}
