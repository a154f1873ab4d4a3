//! What the system knows of TCP connections, for tests that depend on what the other side has been told.

use std::collections::HashSet;

use anyhow::Context;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::wait::until_true;

/// States as `proc_net_tcp(5)` writes them.
const FIN_WAIT_1: &str = "04";
const LISTEN: &str = "0A";

/// A row of the system's table.
struct Row {
    local: u16,
    remote: u16,
    state: String,
    inode: String,
}

/// Closes a connection, and returns once the other side's system knows. On a busy machine that takes a while, and whatever
/// is sent to the other side over another connection may be there before.
pub async fn hang_up(mut stream: TcpStream) -> anyhow::Result<()> {
    let (local, remote) = (stream.local_addr()?.port(), stream.peer_addr()?.port());
    // One that the other side has closed already is what we want.
    if stream.shutdown().await.is_err() {
        return Ok(());
    }
    let told = || {
        let rows = table("self");
        let ours = rows.iter().find(|row| (row.local, row.remote) == (local, remote));
        ours.is_none_or(|row| row.state != FIN_WAIT_1)
    };
    until_true("the other side is told", told).await.context("a connection cannot be closed")
}

/// How many connections to a port a process has open as the server, also those whose client has closed them.
pub(crate) fn served(pid: u32, port: u16) -> usize {
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let sockets: HashSet<String> = descriptors
        .filter_map(|descriptor| std::fs::read_link(descriptor.path()).ok())
        .filter_map(|link| Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    let rows = table(&pid.to_string());
    let open =
        rows.iter().filter(|row| row.local == port && row.state != LISTEN && sockets.contains(&row.inode));
    // A table that changes while it is read shows some rows twice.
    open.map(|row| &row.inode).collect::<HashSet<_>>().len()
}

/// The connections in the network that a process sees.
fn table(process: &str) -> Vec<Row> {
    let tables = ["tcp", "tcp6"].map(|table| std::fs::read_to_string(format!("/proc/{process}/net/{table}")));
    let rows = tables.iter().flatten().flat_map(|table| table.lines().skip(1));
    rows.filter_map(row).collect()
}

fn row(line: &str) -> Option<Row> {
    let mut columns = line.split_whitespace().skip(1);
    let port = |address: &str| u16::from_str_radix(address.rsplit(':').next()?, 16).ok();
    let (local, remote) = (port(columns.next()?)?, port(columns.next()?)?);
    let (state, inode) = (columns.next()?.to_owned(), columns.nth(5)?.to_owned());
    Some(Row { local, remote, state, inode })
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn whoever_hangs_up_returns_when_the_other_side_can_see_it() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut client = TcpStream::connect(address).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        assert_eq!(served(std::process::id(), address.port()), 1);
        hang_up(server).await.unwrap();
        assert_eq!(served(std::process::id(), address.port()), 0);
        assert_eq!(client.read(&mut [0]).await.unwrap(), 0);
    }
}
