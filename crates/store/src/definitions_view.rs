//! What is known of servers' definitions, read from a store that is not opened for use: nothing in it is made or renewed.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::operation::ReadPins;
use crate::pins::StoredPin;
use crate::postgres::Postgres;
use crate::sqlite;
use crate::{Store, StoreError};

impl Store {
    /// What is known of the definitions of these servers, read from the database of a data directory without opening it for
    /// use.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or has another layout.
    pub fn look_at_pins(
        data: &Path,
        servers: &[&str],
    ) -> Result<BTreeMap<String, Vec<StoredPin>>, StoreError> {
        sqlite::pins(&data.join(sqlite::FILE), servers)
    }

    /// The same from a database that gateways share. Nothing in it is made or renewed. It must be called inside the runtime.
    ///
    /// # Errors
    ///
    /// The database cannot be reached, or has another layout.
    pub async fn look_at_shared_pins(
        url: &str,
        timeout: Option<Duration>,
        servers: &[&str],
    ) -> Result<BTreeMap<String, Vec<StoredPin>>, StoreError> {
        let database = Postgres::connect(url, timeout)?;
        let mut pins = BTreeMap::new();
        for server in servers {
            pins.insert((*server).to_owned(), database.perform(ReadPins((*server).to_owned())).await?);
        }
        Ok(pins)
    }
}
