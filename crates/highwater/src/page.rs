//! The place of the approval page: its port is taken before anything else is started, and it is always the same one.

use std::io;
use std::net::TcpListener;

use highwater_config::{ApprovalSettings, Listen};
use highwater_gateway::front::http;
use highwater_gateway::front::page::PageOrigin;

use crate::exit::Failure;

/// Where the page is.
pub(crate) struct Page {
    pub(crate) origin: PageOrigin,
    pub(crate) port: u16,
    pub(crate) listeners: Vec<TcpListener>,
}

// === impl Page ===

impl Page {
    /// Takes the page's port; `None` where the operator wants no page. Another port would be another origin, for which
    /// no passkey works, so there is no other.
    pub(crate) fn open(settings: &ApprovalSettings) -> Result<Option<Self>, Failure> {
        let Some(listen) = settings.listen else { return Ok(None) };
        let listeners = match http::bind(listen) {
            Ok(listeners) => listeners,
            Err(error) => return taken(listen, &error),
        };
        let port = listeners.first().and_then(|listener| listener.local_addr().ok());
        let port = port.map_or(listen.port(), |address| address.port());
        let origin = PageOrigin::new(port, settings.public_url.as_deref()).map_err(Failure::usage)?;
        Ok(Some(Self { origin, port, listeners }))
    }
}

/// What becomes of a gateway whose page has no port. Where the operator chose it, nothing does; where nobody did,
/// another gateway of this machine may have it, and this one goes on without anybody to ask: what would need a person
/// is refused.
fn taken(listen: Listen, error: &io::Error) -> Result<Option<Page>, Failure> {
    let help = "free the port, choose another with `approvals.listen`, or write `none` there for no page";
    if error.kind() == io::ErrorKind::AddrInUse && Some(listen) == ApprovalSettings::default().listen {
        tracing::error!(%error, help, "there is no approval page: whatever needs a person is refused");
        return Ok(None);
    }
    Err(Failure::failed(format_args!("the approval page cannot be opened: {error}")).help(help))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(listen: Listen) -> ApprovalSettings {
        ApprovalSettings { listen: Some(listen), ..ApprovalSettings::default() }
    }

    #[test]
    fn a_chosen_port_that_is_taken_keeps_the_gateway_from_starting() {
        let first = Page::open(&at(Listen::Localhost { port: 0 })).ok().flatten().expect("a page");
        assert_eq!(first.origin.as_str(), format!("http://localhost:{}", first.port));
        let second = Page::open(&at(Listen::Localhost { port: first.port }));
        let words = second.err().map(|failure| failure.words().to_owned()).unwrap_or_default();
        assert!(words.contains("cannot be opened") && words.contains("approvals.listen"), "{words}");
    }

    #[test]
    fn both_loopbacks_are_ours() {
        let page = Page::open(&at(Listen::Localhost { port: 0 })).ok().flatten().expect("a page");
        let ports: Vec<u16> =
            page.listeners.iter().map(|it| it.local_addr().expect("an address").port()).collect();
        assert!(ports.iter().all(|port| *port == page.port));
        assert!(TcpListener::bind(("127.0.0.1", page.port)).is_err());
        assert!(page.listeners.len() == 1 || TcpListener::bind(("::1", page.port)).is_err());
    }
}
