//! Which PostgreSQL server, and how the way to it is protected.
//!
//! To another machine the connection is encrypted and its certificate checked, unless the URL says
//! `sslmode=disable`. `sslrootcert=FILE` names the authority of a certificate that no public one signed.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use super::tls::Tls;
use crate::StoreError;

/// Where changes are announced.
pub(super) const CHANNEL: &str = "highwater";

/// Our tables are in a schema of their own, so that a database can be shared with others.
pub(super) const MAKE_SCHEMA: &str = "CREATE SCHEMA IF NOT EXISTS highwater";

/// What every connection begins with, whatever the server's defaults are.
pub(super) const SETTINGS: &str = "SET search_path TO highwater; SET synchronous_commit TO on; \
    SET default_transaction_isolation TO 'read committed'; SET statement_timeout TO '60s'; \
    SET idle_in_transaction_session_timeout TO '10s'";

/// When a silent connection is asked whether it is still there.
const KEEPALIVE: Duration = Duration::from_secs(5);

/// A server and the way to it.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) config: Config,
    pub(super) tls: Tls,
}

// === impl Server ===

impl Server {
    /// Reads a connection URL.
    pub(super) fn parse(url: &str, connect_limit: Duration) -> Result<Self, StoreError> {
        let (url, authority) = without_authority(url);
        let mut config: Config =
            url.parse().map_err(|error: tokio_postgres::Error| bad(&error.to_string()))?;
        if config.get_hosts().is_empty() {
            return Err(bad("it names no host"));
        }
        let says = |word: &str| url.contains(&format!("sslmode={word}"));
        let mode = match (config.get_hosts().iter().all(is_here), config.get_ssl_mode()) {
            (_, SslMode::Disable) | (true, SslMode::Prefer) if !says("prefer") => SslMode::Disable,
            (true, SslMode::Prefer) => SslMode::Prefer,
            // Falling back to plain text would be a door for whoever stands between.
            (_, _) => SslMode::Require,
        };
        config.ssl_mode(mode);
        config.connect_timeout(connect_limit).keepalives_idle(KEEPALIVE).tcp_user_timeout(KEEPALIVE);
        config.application_name("highwater");
        let tls = match mode {
            SslMode::Disable => Tls::none(),
            _ => Tls::new(authority.as_deref()).map_err(|why| bad(&why))?,
        };
        Ok(Self { config, tls })
    }
}

/// Whether a host is this machine.
fn is_here(host: &Host) -> bool {
    match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost"
                || name.trim_matches(['[', ']']).parse().is_ok_and(|address: IpAddr| address.is_loopback())
        }
    }
}

/// The URL without `sslrootcert`, which the driver does not know, and the file it named.
fn without_authority(url: &str) -> (String, Option<String>) {
    let Some((before, query)) = url.split_once('?') else { return (url.to_owned(), None) };
    let (named, rest): (Vec<_>, Vec<_>) =
        query.split('&').partition(|parameter| parameter.starts_with("sslrootcert="));
    let authority = named.last().and_then(|parameter| parameter.strip_prefix("sslrootcert="));
    let url = if rest.is_empty() { before.to_owned() } else { format!("{before}?{}", rest.join("&")) };
    (url, authority.map(|file| file.replace("%2F", "/").replace("%2f", "/")))
}

fn bad(why: &str) -> StoreError {
    StoreError::Url { why: Arc::from(why) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(1);

    fn mode(url: &str) -> SslMode {
        Server::parse(url, LIMIT).unwrap().config.get_ssl_mode()
    }

    #[test]
    fn the_way_to_another_machine_is_protected_unless_the_operator_says_otherwise() {
        assert_eq!(mode("postgres://hw@db.example.com/hw"), SslMode::Require);
        assert_eq!(mode("postgres://hw@db.example.com/hw?sslmode=prefer"), SslMode::Require);
        assert_eq!(mode("postgres://hw@localhost,db.example.com/hw"), SslMode::Require);
        assert_eq!(mode("postgres://hw@db.example.com/hw?sslmode=disable"), SslMode::Disable);
        assert_eq!(mode("postgres://hw@localhost/hw"), SslMode::Disable);
        assert_eq!(mode("postgres://hw@127.0.0.1:5432/hw"), SslMode::Disable);
        assert_eq!(mode("postgres://hw@localhost/hw?sslmode=require"), SslMode::Require);
        assert_eq!(mode("postgresql:///hw?host=/run/postgresql"), SslMode::Disable);
    }

    #[test]
    fn a_bad_url_is_refused_without_repeating_its_password() {
        for url in
            ["postgres://hw:geheim@host:port/hw", "postgres://hw:geheim@h/hw?nonsense=geheim", "geheim"]
        {
            let error = Server::parse(url, LIMIT).unwrap_err().to_string();
            assert!(error.starts_with("`store.postgres`") && !error.contains("geheim"), "{error}");
        }
    }

    #[test]
    fn an_authority_that_cannot_be_read_is_refused() {
        let url = "postgres://hw@db.example.com/hw?sslrootcert=/nowhere.pem&connect_timeout=3";
        assert!(Server::parse(url, LIMIT).unwrap_err().to_string().contains("/nowhere.pem"));
    }
}
