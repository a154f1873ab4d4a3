//! An address that stays ours while the server behind it comes and goes.

use std::net::SocketAddr;
use std::sync::Mutex;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

/// How many connections may wait to be accepted.
const BACKLOG: u32 = 1024;

/// Forwards connections to whoever is plugged in. With nobody there they are refused.
pub(crate) struct Switchboard {
    address: SocketAddr,
    /// Bound and never listening: nobody else gets the port while nobody is plugged in.
    _reserved: TcpSocket,
    forwarding: Mutex<Option<Forwarding>>,
}

/// What ends it, and its end.
struct Forwarding(oneshot::Sender<()>, JoinHandle<()>);

// === impl Switchboard ===

impl Switchboard {
    pub(crate) fn new() -> Self {
        let reserved = bound("127.0.0.1:0".parse().unwrap());
        let address = reserved.local_addr().unwrap();
        Self { address, _reserved: reserved, forwarding: Mutex::new(None) }
    }

    /// The URL of a path here.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Plugs in the server at this URL; connections to another one are cut.
    pub(crate) async fn plug(&self, url: &str) {
        self.unplug().await;
        let authority = url.strip_prefix("http://").and_then(|rest| rest.split('/').next()).unwrap();
        let listener = bound(self.address).listen(BACKLOG).unwrap();
        let (end, ending) = oneshot::channel();
        let forwarding = tokio::spawn(forward_all(listener, authority.parse().unwrap(), ending));
        *self.forwarding.lock().unwrap() = Some(Forwarding(end, forwarding));
    }

    /// Cuts everything and refuses what comes. Afterwards every connection is closed.
    pub(crate) async fn unplug(&self) {
        let forwarding = self.forwarding.lock().unwrap().take();
        if let Some(Forwarding(end, ended)) = forwarding {
            end.send(()).unwrap();
            ended.await.unwrap();
        }
    }
}

fn bound(address: SocketAddr) -> TcpSocket {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_reuseport(true).unwrap();
    socket.bind(address).unwrap();
    socket
}

async fn forward_all(listener: TcpListener, target: SocketAddr, mut ending: oneshot::Receiver<()>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            // Also when the board is dropped.
            _ = &mut ending => break,
            Ok((near, _)) = listener.accept() => {
                connections.spawn(forward(near, target));
                while connections.try_join_next().is_some() {}
            }
        }
    }
    drop(listener);
    connections.shutdown().await;
}

async fn forward(mut near: TcpStream, target: SocketAddr) {
    let Ok(mut far) = TcpStream::connect(target).await else { return };
    // One side that breaks off is what this is for.
    tokio::io::copy_bidirectional(&mut near, &mut far).await.ok();
}
