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
            Err(error) => return taken(settings, listen, &error),
        };
        let port = listeners.first().and_then(|listener| listener.local_addr().ok());
        let port = port.map_or(listen.port(), |address| address.port());
        let origin = PageOrigin::new(port, settings.public_url.as_deref()).map_err(Failure::usage)?;
        Ok(Some(Self { origin, port, listeners }))
    }
}

/// What becomes of a gateway whose page has no port. Where the operator chose it, nothing does. Where nobody did, another
/// gateway of this machine has it, most likely, and this one goes on without anybody to ask: what would need a person is
/// refused.
fn taken(settings: &ApprovalSettings, listen: Listen, error: &io::Error) -> Result<Option<Page>, Failure> {
    if error.kind() == io::ErrorKind::AddrInUse && !settings.is_chosen {
        tracing::error!(
            %error,
            help = format_args!("{}", free_another(listen)),
            "this gateway has no approval page: whatever needs a person is refused"
        );
        return Ok(None);
    }
    let message = format_args!("the approval page (`approvals.listen: {listen}`) cannot be opened: {error}");
    Err(Failure::failed(message).help(free_another(listen)))
}

/// The ways out. A gateway whose passkeys were made for one port has them for no other.
fn free_another(listen: Listen) -> String {
    let next = free_beside(listen);
    format!(
        "stop the program that has the port and start again, or, if no passkey is enrolled here yet, give this \
         gateway a page of its own with `approvals: {{ listen: \"{next}\" }}` in its configuration; `listen: none` \
         there is for no page"
    )
}

/// The next address that nobody has now.
pub(crate) fn free_beside(listen: Listen) -> Listen {
    let at = |port: u16| match listen {
        Listen::Localhost { .. } => Listen::Localhost { port },
        Listen::Address(mut address) => {
            address.set_port(port);
            Listen::Address(address)
        }
    };
    let next = listen.port().checked_add(1).unwrap_or(7413);
    let mut near = (next..next.saturating_add(NEAR)).map(at);
    near.find(|listen| http::bind(*listen).is_ok()).unwrap_or_else(|| at(next))
}

/// How many ports are tried for a free one.
const NEAR: u16 = 50;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(listen: Listen) -> ApprovalSettings {
        ApprovalSettings { listen: Some(listen), is_chosen: true, ..ApprovalSettings::default() }
    }

    #[test]
    fn the_address_that_is_advised_is_free() {
        let listeners = http::bind(Listen::Localhost { port: 0 }).unwrap();
        let taken = listeners.first().unwrap().local_addr().unwrap().port();
        let advised = free_beside(Listen::Localhost { port: taken - 1 });
        assert_ne!(advised.port(), taken);
        assert!(http::bind(advised).is_ok());
    }

    #[test]
    fn a_chosen_port_that_is_taken_keeps_the_gateway_from_starting() {
        let first = Page::open(&at(Listen::Localhost { port: 0 })).ok().flatten().expect("a page");
        assert_eq!(first.origin.as_str(), format!("http://localhost:{}", first.port));
        let second = Page::open(&at(Listen::Localhost { port: first.port }));
        let words = second.err().map(|failure| failure.words().to_owned()).unwrap_or_default();
        assert!(words.contains("cannot be opened") && words.contains("approvals.listen"), "{words}");
        // One that nobody chose is somebody else's first.
        let usual = Listen::Localhost { port: first.port };
        let usual = ApprovalSettings { listen: Some(usual), ..ApprovalSettings::default() };
        assert!(Page::open(&usual).is_ok_and(|page| page.is_none()));
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
