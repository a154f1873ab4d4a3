//! Whose process is at the other end of a connection within this machine.

use std::net::SocketAddr;

/// The two ends of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    pub(super) peer: SocketAddr,
    pub(super) local: SocketAddr,
}

// === impl Ends ===

impl Ends {
    /// Whether the other end belongs to the user that this gateway runs as. What cannot be told is somebody else's.
    #[cfg(target_os = "linux")]
    pub(super) fn are_of_our_user(&self) -> bool {
        use std::os::unix::fs::MetadataExt as _;

        let table = if self.peer.is_ipv4() { "/proc/self/net/tcp" } else { "/proc/self/net/tcp6" };
        let (Ok(text), Ok(own)) = (std::fs::read_to_string(table), std::fs::metadata("/proc/self")) else {
            return false;
        };
        self.owner(&text) == Some(own.uid())
    }

    /// Elsewhere no other user sees what a browser is opened with, so there is nothing to be told apart; but only what
    /// comes from this machine is meant.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn are_of_our_user(&self) -> bool {
        self.peer.ip().is_loopback()
    }

    /// The user whose socket the other end is, by the table of all sockets.
    #[cfg(any(target_os = "linux", test))]
    fn owner(&self, table: &str) -> Option<u32> {
        let (theirs, ours) = (as_listed(self.peer), as_listed(self.local));
        let mut rows = table.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
        let row = rows.find(|row| row.get(1) == Some(&&*theirs) && row.get(2) == Some(&&*ours))?;
        row.get(7)?.parse().ok()
    }
}

/// An address as the table has it: words of the machine in hexadecimal, and the port.
#[cfg(any(target_os = "linux", test))]
fn as_listed(address: SocketAddr) -> String {
    let word = |bytes: &[u8]| {
        let bytes = bytes.try_into().unwrap_or_default();
        format!("{:08X}", u32::from_ne_bytes(bytes))
    };
    let host: String = match address {
        SocketAddr::V4(address) => word(&address.ip().octets()),
        SocketAddr::V6(address) => address.ip().octets().chunks_exact(4).map(word).collect(),
    };
    format!("{host}:{:04X}", address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_endian = "little")]
    #[test]
    fn the_owner_of_the_other_end_is_told_by_both_addresses() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
             \u{20}  0: 0100007F:1CF4 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1\n\
             \u{20}  1: 0100007F:1CF4 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 2\n\
             \u{20}  2: 0100007F:C350 0100007F:1CF4 01 00000000:00000000 00:00000000 00000000  1001        0 3\n\
             \u{20}  3: 0100007F:C351 0100007F:0050 01 00000000:00000000 00:00000000 00000000  1000        0 4\n";
        let ends =
            |peer: &str| Ends { peer: peer.parse().unwrap(), local: "127.0.0.1:7412".parse().unwrap() };
        assert_eq!(ends("127.0.0.1:50000").owner(table), Some(1001), "another user of this machine");
        assert_eq!(ends("127.0.0.1:50001").owner(table), None, "a connection to another port");
        assert_eq!(ends("192.0.2.1:50000").owner(table), None, "not of this machine");
        assert_eq!(as_listed("[::1]:7412".parse().unwrap()), "00000000000000000000000001000000:1CF4");
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_connection_of_this_process_is_of_its_user() {
        for host in ["127.0.0.1", "::1"] {
            let Ok(listener) = tokio::net::TcpListener::bind((host, 0)).await else { continue };
            let local = listener.local_addr().unwrap();
            let client = tokio::net::TcpStream::connect(local).await.unwrap();
            let (_server, peer) = listener.accept().await.unwrap();
            assert!(Ends { peer, local }.are_of_our_user());
            drop(client);
            let stranger = SocketAddr::new(peer.ip(), 1);
            assert!(!Ends { peer: stranger, local }.are_of_our_user());
        }
    }
}
