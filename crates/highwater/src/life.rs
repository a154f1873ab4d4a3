//! A gateway from its start to its end, the same for `serve` and for the one behind `stdio`.

use std::future::Future;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use highwater_config::{OWNER, Settings};
use highwater_core::id::UserId;
use highwater_gateway::front::{http, page};
use highwater_gateway::{ApprovalFault, ApprovalService, WindowOpened};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::sync::watch;

use crate::command::approvals::browser;
use crate::environment::variable;
use crate::exit::Failure;
use crate::local::attend::{Clients, House};
use crate::local::socket::Opened;
use crate::log_file;
use crate::new_question::Announce;
use crate::page::Page;
use crate::place::{ConfigSource, absolute};
use crate::reload::Follower;
use crate::running::Running;
use crate::signals::{Signals, Wish};
use crate::wire::{Held, Plan};

/// How much longer than `limits.drain` connections may take to close when the gateway stops.
const CLOSING: Duration = Duration::from_secs(3);

/// How long a gateway that lives for its clients waits for the first.
const FIRST_CLIENT: Duration = Duration::from_secs(10);

/// How many files may be open: every client and every call to a server takes one. The usual 1,024 are for programs
/// that wait with `select`. No more than this, since some children close every number up to the limit when they start.
const OPEN_FILES: u64 = 65_536;

/// How long a gateway lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// Until it is told to stop.
    Told,
    /// Until its last client has left, or it is told to stop.
    LastClient,
}

/// What a gateway is given to live with.
pub(crate) struct Life<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) held: &'a Held,
    pub(crate) settings: Settings,
    /// Where it answers over HTTP; nowhere if there are none.
    pub(crate) listeners: Vec<TcpListener>,
    /// What clients use to reach those.
    pub(crate) endpoint: Option<String>,
    /// Where people approve. Its port is taken before anything is started: without its page a gateway may not be wanted.
    pub(crate) page: Option<Page>,
    pub(crate) until: Until,
    /// How it says that a question waits.
    pub(crate) announce: Announce,
}

/// What is known of passkeys when a gateway is ready.
#[derive(Default)]
pub(crate) struct Passkeys {
    /// Everybody who has one and no other.
    pub(crate) alone: Vec<UserId>,
    /// The enrollment that was opened for the owner, in a browser.
    pub(crate) opened: Option<WindowOpened>,
}

// === impl Passkeys ===

impl Passkeys {
    async fn of(approval_service: &ApprovalService, may_enroll: bool) -> Result<Self, ApprovalFault> {
        let alone = approval_service.with_one_passkey().await?;
        if !may_enroll || !approval_service.credentials().await?.is_empty() {
            return Ok(Self { alone, opened: None });
        }
        let window = approval_service.open_window(&UserId::new(OWNER), "serve").await?;
        let url = approval_service.enrollment_url(&window)?;
        // A browser may take its time, and clients can come meanwhile.
        std::thread::spawn(move || browser::open(&url));
        Ok(Self { alone, opened: Some(window) })
    }
}

// === impl Life ===

impl Life<'_> {
    /// Runs the gateway. `ready` is called once clients can come, with what is known of passkeys then. Where nobody has one
    /// and `may_enroll`, the page is shown on which the owner makes the first.
    pub(crate) async fn live(self, may_enroll: bool, ready: impl FnOnce(&Passkeys)) -> Result<(), Failure> {
        let Self { plan, held, settings, listeners, endpoint, page, until, announce } = self;
        log_file::open(&plan.data);
        raise_open_files();
        trust_company();
        let mut signals = Signals::listen().context("signals cannot be received")?;
        let drain = settings.limits.drain;
        let port = page.as_ref().map(|page| page.port);
        let gateway = plan.start(settings.clone(), &held.data_dir, port).await?;
        if let Some(approval_service) = gateway.approval_service() {
            approval_service.announce_with(move |question| announce.tell(question));
        }
        let mut follower = Follower::new(plan.clone(), Arc::clone(&gateway), settings);

        let opened = Opened::of(&held.data_dir).context("cannot open the socket for `highwater stdio`")?;
        let local = opened.listener.try_clone().and_then(tokio::net::UnixListener::from_std);
        let local = local.context("cannot listen on the socket for `highwater stdio`")?;
        let config = match &plan.source {
            ConfigSource::File(file) => Some(absolute(file)?),
            ConfigSource::Example => None,
        };
        let running = Running { pid: std::process::id(), endpoint, socket: opened.path.clone(), config };
        let posted = running.post(&plan.data).context("cannot write `gateway.json`")?;

        let clients = Arc::new(Clients::default());
        let house = House {
            gateway: Arc::clone(&gateway),
            settings: follower.settings(),
            clients: Arc::clone(&clients),
        };
        let attending = tokio::spawn(house.attend(local));
        let (stop, stopping) = watch::channel(false);
        let showing = page.map(|page| {
            tracing::info!(inbox = format_args!("{}/inbox", page.origin.as_str()), "people approve here");
            let (gateway, stopping) = (Arc::clone(&gateway), stopping.clone());
            tokio::spawn(page::serve(gateway, page.origin, page.listeners, stopping))
        });
        let serving = tokio::spawn(http::serve(Arc::clone(&gateway), listeners, stopping));
        let passkeys = match gateway.approval_service() {
            // Only a hint; a store that cannot say it now is told of by whatever needs it.
            Some(approval_service) => Passkeys::of(approval_service, may_enroll).await.unwrap_or_default(),
            None => Passkeys::default(),
        };
        ready(&passkeys);

        let all_left = async {
            match until {
                Until::Told => std::future::pending().await,
                Until::LastClient => clients.all_left(FIRST_CLIENT).await,
            }
        };
        tokio::pin!(all_left);
        loop {
            tokio::select! {
                wish = signals.next() => match wish {
                    Wish::Stop => break,
                    Wish::Reload => follower.reload(),
                },
                () = follower.changed() => follower.reload(),
                () = &mut all_left => break,
            }
        }

        tracing::info!("stopping");
        // Whoever looks for a gateway from here on does not find this one.
        attending.abort();
        drop((posted, opened));
        stop.send_replace(true);
        let closed = async {
            let (served, ()) = tokio::join!(tokio::time::timeout(drain + CLOSING, serving), gateway.stop());
            if let Some(showing) = showing {
                showing.abort();
            }
            if served.is_err() {
                tracing::warn!("connections were cut, because their clients did not close them");
            }
        };
        unless_told_again(closed, &mut signals).await
    }
}

/// Lets the end take its time, unless it is asked for a second time.
async fn unless_told_again(closed: impl Future<Output = ()>, signals: &mut Signals) -> Result<(), Failure> {
    tokio::pin!(closed);
    loop {
        tokio::select! {
            () = &mut closed => return Ok(()),
            wish = signals.next() => match wish {
                Wish::Stop => return Err(Failure::failed("told to stop a second time; running calls were cut off")),
                Wish::Reload => {}
            },
        }
    }
}

/// Trusts what the operator's other programs trust. Servers behind a company's proxy show certificates of its own making.
fn trust_company() {
    let Some(file) = variable("SSL_CERT_FILE").filter(|file| !file.is_empty()) else { return };
    match highwater_upstream::trust_also(Path::new(&file)) {
        Ok(authorities) => tracing::debug!(file, authorities, "they are trusted beside the public ones"),
        Err(error) => {
            tracing::warn!(file, error, "SSL_CERT_FILE cannot be read; public authorities are trusted alone")
        }
    }
}

/// Raises the number of files that may be open as far as the machine lets us and we can use.
fn raise_open_files() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.map_or(OPEN_FILES, |most| most.min(OPEN_FILES));
    if current.is_none_or(|current| current >= wanted) {
        return;
    }
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }) {
        tracing::warn!(%error, limit = current, "the number of open files cannot be raised");
    }
}

/// The runtime of a gateway. One thread: the connections of clients have threads of their own, and what is left here,
/// children, the local socket and listeners, waits far more than it works.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    Ok(runtime.context("cannot start the runtime")?)
}
