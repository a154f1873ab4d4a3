//! Tokens of a data directory on which no gateway runs: what a gateway would do, done here.

use std::path::Path;

use anyhow::Context;
use highwater_gateway::TokenAdmin;
use highwater_store::AuditLog;
use serde_json::value::RawValue;

use crate::exit::Failure;
use crate::life::runtime;
use crate::local::answer::on_page;
use crate::local::hello::Ask;
use crate::place::Places;
use crate::wire::{Held, Plan};

/// The answer; nothing if a gateway took the directory meanwhile.
pub(super) fn answer(places: &Places, data: &Path, ask: &Ask) -> Result<Option<Box<RawValue>>, Failure> {
    let plan = Plan { source: places.config(), data: data.to_owned(), listen: None, restored: false };
    let settings = plan.settings()?;
    let Some(held) = Held::take(data)? else { return Ok(None) };
    runtime()?.block_on(async {
        let store = plan.open_store(&settings.store, &held.data_dir).await?;
        let audit = AuditLog::open(&held.data_dir).map_err(Failure::failed)?;
        let approval_service = TokenAdmin { store: &store, settings: &settings, audit: &audit };
        let welcome = on_page(&approval_service, ask).await.context("the answer cannot be written")?;
        store.close().await.map_err(Failure::failed)?;
        audit.flush().map_err(Failure::failed)?;
        match (welcome.answer, welcome.refused) {
            (Some(answer), _) => Ok(Some(answer)),
            (None, why) => Err(Failure::failed(why.unwrap_or_default())),
        }
    })
}
