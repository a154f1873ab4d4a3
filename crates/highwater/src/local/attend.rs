//! The gateway's side of the socket: lets clients join and answers who only asks.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use highwater_config::Settings;
use highwater_gateway::front::stdio::NotAdmitted;
use highwater_gateway::{Gateway, front};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Notify, watch};

use super::answer::answer;
use super::hello::{Hello, LONGEST_HELLO, VERSION, Welcome, line};
use super::hook;

/// How long a visitor may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long to wait before accepting again when the system has no room for another connection.
const BREATH: Duration = Duration::from_millis(100);

/// How many clients may be joined at once. Each is a process of the same user.
const MOST_CLIENTS: usize = 1000;

/// The clients that have joined.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    state: Mutex<AttendState>,
    left: Notify,
}

#[derive(Debug, Default)]
struct AttendState {
    count: usize,
    ever: bool,
    closed: bool,
}

/// One client, counted for as long as this lives.
#[derive(Debug)]
struct Joined(Arc<Clients>);

/// What a visitor finds.
#[derive(Clone)]
pub(crate) struct House {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) settings: watch::Receiver<Arc<Settings>>,
    pub(crate) clients: Arc<Clients>,
}

// === impl Clients ===

impl Clients {
    /// Waits until everyone who joined has left, and lets nobody in from then on. `patience` is for the first.
    pub(crate) async fn all_left(&self, patience: Duration) {
        let first = tokio::time::sleep(patience);
        tokio::pin!(first);
        let mut waited = false;
        loop {
            let left = self.left.notified();
            if self.close_if_empty(waited) {
                return;
            }
            tokio::select! {
                () = left => {}
                () = &mut first, if !waited => waited = true,
            }
        }
    }

    fn close_if_empty(&self, even_if_nobody_came: bool) -> bool {
        let mut state = self.state();
        if state.count == 0 && (state.ever || even_if_nobody_came) {
            state.closed = true;
        }
        state.closed
    }

    fn join(self: &Arc<Self>) -> Result<Joined, Option<Welcome>> {
        let mut state = self.state();
        if state.closed {
            return Err(None);
        }
        if state.count >= MOST_CLIENTS {
            return Err(Some(Welcome::refused(format!("{MOST_CLIENTS} clients have joined already"))));
        }
        state.count += 1;
        state.ever = true;
        Ok(Joined(Arc::clone(self)))
    }

    fn state(&self) -> MutexGuard<'_, AttendState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        self.0.state().count -= 1;
        self.0.left.notify_one();
    }
}

// === impl House ===

impl House {
    /// Lets visitors in until it is dropped. Those inside stay.
    pub(crate) async fn attend(self, listener: UnixListener) {
        loop {
            match listener.accept().await {
                Ok((visitor, _)) => {
                    let house = self.clone();
                    tokio::spawn(async move {
                        if let Err(error) = house.receive(visitor).await {
                            tracing::debug!(%error, "a visitor of the socket was lost");
                        }
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept on the socket");
                    tokio::time::sleep(BREATH).await;
                }
            }
        }
    }

    async fn receive(self, visitor: UnixStream) -> io::Result<()> {
        let peer = visitor.peer_cred()?;
        let (read, mut write) = visitor.into_split();
        let mut read = BufReader::new(read);
        let mut first = Vec::new();
        let bound = u64::try_from(LONGEST_HELLO).unwrap_or(u64::MAX);
        tokio::time::timeout(PATIENCE, (&mut read).take(bound).read_until(b'\n', &mut first)).await??;
        let hello: Hello = match serde_json::from_slice(&first) {
            Ok(hello) => hello,
            Err(_) => return reply(&mut write, &Welcome::refused("the first line is not a hello")).await,
        };
        if hello.highwater != VERSION {
            let why = "the gateway is of another version of Highwater; restart it";
            return reply(&mut write, &Welcome::refused(why)).await;
        }
        if let Some(event) = &hello.hook {
            return hook::receive(&self.gateway, event, peer, &mut read, &mut write).await;
        }
        if let Some(ask) = &hello.ask {
            return reply(&mut write, &answer(&self.gateway, ask).await?).await;
        }
        if let Some(name) = &hello.virtual_server
            && self.settings.borrow().virtual_server(name).is_none()
        {
            let why = format!("there is no virtual server `{name}`");
            return reply(&mut write, &Welcome::refused(why)).await;
        }
        let virtual_server = hello.virtual_server.as_deref();
        let token = match front::stdio::admit(&self.gateway, hello.token.as_deref(), virtual_server) {
            Ok(token) => token,
            Err(why) => return reply(&mut write, &Welcome::refused(not_admitted(why, virtual_server))).await,
        };
        let _joined = match self.clients.join() {
            Ok(joined) => joined,
            Err(Some(refused)) => return reply(&mut write, &refused).await,
            // Closed without a word: the visitor tries again and finds the next gateway.
            Err(None) => return Ok(()),
        };
        reply(&mut write, &Welcome::in_peace()).await?;
        front::stdio::serve(self.gateway, read, write, hello.virtual_server, token).await;
        Ok(())
    }
}

fn not_admitted(why: NotAdmitted, virtual_server: Option<&str>) -> String {
    match why {
        NotAdmitted::Token => {
            "the token in HIGHWATER_TOKEN opens nothing; it may be revoked or over\nhelp: `highwater token list` \
             shows which there are"
                .to_owned()
        }
        NotAdmitted::VirtualServer => match virtual_server {
            Some(name) => format!("there is no virtual server `{name}`"),
            None => "the token in HIGHWATER_TOKEN does not open the default virtual server\nhelp: name the one it \
                     opens with `--virtual-server`"
                .to_owned(),
        },
        NotAdmitted::Stale => "the tokens could not be read for a while; try again later".to_owned(),
    }
}

async fn reply(write: &mut (impl AsyncWriteExt + Unpin), welcome: &Welcome) -> io::Result<()> {
    write.write_all(&line(welcome)?).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_joins_is_waited_for_and_nobody_joins_after_the_last() {
        let clients = Arc::new(Clients::default());
        let first = clients.join().unwrap();
        let second = clients.join().unwrap();
        let waiting = tokio::spawn({
            let clients = Arc::clone(&clients);
            async move { clients.all_left(Duration::ZERO).await }
        });
        drop(first);
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(second);
        waiting.await.unwrap();
        assert!(matches!(clients.join(), Err(None)));
    }

    #[tokio::test]
    async fn a_gateway_that_nobody_joins_ends_too() {
        Arc::new(Clients::default()).all_left(Duration::from_millis(1)).await;
    }
}
