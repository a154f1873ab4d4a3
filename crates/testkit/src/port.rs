//! Ports that a test knows before anything listens there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

use anyhow::{Context, bail};
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_reuseaddr;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, socket_with};

/// How many ports are tried. One that is free on one loopback is rarely taken on the other.
const ATTEMPTS: usize = 64;

/// A port of both loopbacks that the system assigns to nothing else while this exists. Its sockets are bound and never
/// listen, so a program that sets `SO_REUSEADDR`, as every server does, can listen there, end, and listen there again.
#[derive(Debug)]
pub struct ReservedPort {
    port: u16,
    _sockets: Vec<OwnedFd>,
}

// === impl ReservedPort ===

impl ReservedPort {
    pub fn new() -> anyhow::Result<Self> {
        for _ in 0..ATTEMPTS {
            let first = bound(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0))?;
            let port = SocketAddr::try_from(getsockname(&first)?).context("a port of no loopback")?.port();
            match bound(SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), port)) {
                Ok(second) => return Ok(Self { port, _sockets: vec![first, second] }),
                Err(Errno::ADDRINUSE) => {}
                // A machine without IPv6 has one loopback.
                Err(Errno::AFNOSUPPORT | Errno::ADDRNOTAVAIL) => {
                    return Ok(Self { port, _sockets: vec![first] });
                }
                Err(error) => return Err(error).context("cannot reserve a port"),
            }
        }
        bail!("none of {ATTEMPTS} ports is free on both loopbacks")
    }

    pub fn get(&self) -> u16 {
        self.port
    }
}

fn bound(address: SocketAddr) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &address)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_server_listens_on_a_reserved_port_again_and_again_and_one_at_a_time() {
        let reserved = ReservedPort::new().unwrap();
        for _ in 0..3 {
            let server = TcpListener::bind(("127.0.0.1", reserved.get())).unwrap();
            assert!(TcpListener::bind(("127.0.0.1", reserved.get())).is_err());
            drop(server);
        }
    }
}
