//! `highwater stdio`: one client on standard input and output, joined to the gateway of its data directory.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;

use crate::command::stdio_gateway::{self, Started};
use crate::environment::variable;
use crate::exit::Failure;
use crate::local::hello::Hello;
use crate::local::visit::{Visit, visit};
use crate::log::LogOptions;
use crate::place::{ConfigSource, Places, absolute};
use crate::running::Running;
use crate::wire::{Held, Plan};

/// How long to look for a gateway that starts or stops at the same moment.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long to wait between two looks.
const BREATH: Duration = Duration::from_millis(25);

/// The variable with the secret of the token that the client is held to.
const TOKEN: &str = "HIGHWATER_TOKEN";

/// How much is carried at once.
const BUFFER: usize = 64 * 1024;

/// What `stdio` takes.
#[derive(Debug, Args)]
pub(crate) struct StdioArgs {
    #[command(flatten)]
    places: Places,

    /// The virtual server to use. Without it: `default`.
    #[arg(long, value_name = "NAME")]
    virtual_server: Option<String>,
}

pub(crate) fn run(args: &StdioArgs, log: &LogOptions) -> Result<(), Failure> {
    let data = args.places.data_dir()?;
    // In the environment, because everybody on the machine can read a command line.
    let token = variable(TOKEN).filter(|token| !token.is_empty());
    let hello = Hello::join(args.virtual_server.clone(), token);
    let gateway = join(args, log, &data, &hello)?;
    converse(gateway)
}

/// Finds the gateway of the data directory, starting one if there is none.
fn join(
    args: &StdioArgs,
    log: &LogOptions,
    data: &Path,
    hello: &Hello,
) -> Result<BufReader<UnixStream>, Failure> {
    let deadline = Instant::now() + PATIENCE;
    let mut started = false;
    loop {
        match visit(data, hello)
            .with_context(|| format!("cannot reach the gateway of `{}`", data.display()))?
        {
            Visit::Welcome { reader, .. } => {
                if !started {
                    warn_of_another_configuration(&args.places, data)?;
                }
                return Ok(reader);
            }
            Visit::Refused(why) => return Err(Failure::failed(why)),
            Visit::Absent if Instant::now() > deadline => {
                return Err(Held::taken(data).help("it does not answer on its socket"));
            }
            Visit::Absent => {}
        }
        // Read here first, so that what is wrong with it is said where the client's user looks.
        Plan { source: args.places.config(), data: data.to_owned(), listen: None, restored: false }
            .settings()?;
        match stdio_gateway::start(&args.places, log, data)? {
            Started::Ready => started = true,
            Started::Taken => thread::sleep(BREATH),
            Started::Failed(why) => return Err(Failure::configuration(why.trim_end())),
        }
    }
}

/// The gateway that runs keeps its own configuration; a client that names another should know.
fn warn_of_another_configuration(places: &Places, data: &Path) -> Result<(), Failure> {
    let Some(running) = Running::read(data) else { return Ok(()) };
    let ours = match places.config() {
        ConfigSource::File(file) => Some(absolute(&file)?),
        ConfigSource::Example => None,
    };
    if places.names_config() && ours != running.config {
        let theirs =
            running.config.map_or("the built-in example".to_owned(), |file| format!("`{}`", file.display()));
        eprintln!("warning: joined a gateway that already runs on {theirs}; `--config` has no effect");
    }
    Ok(())
}

/// Carries bytes both ways, as they are, until one side has nothing more to say.
fn converse(mut gateway: BufReader<UnixStream>) -> Result<(), Failure> {
    let mut to_gateway = gateway.get_ref().try_clone().context("cannot talk to the gateway")?;
    let mut input = unbuffered(rustix::stdio::stdin()).context("standard input is closed")?;
    let mut output = unbuffered(rustix::stdio::stdout()).context("standard output is closed")?;
    let client_left = Arc::new(AtomicBool::new(false));
    let leaving = Arc::clone(&client_left);
    thread::spawn(move || {
        let ended = carry(&mut input, &mut to_gateway);
        leaving.store(true, Ordering::Release);
        // Only our side is closed: replies to what was asked still come.
        if let Err(error) = ended.and_then(|()| to_gateway.shutdown(Shutdown::Write)) {
            tracing::debug!(%error, "the gateway no longer listens");
        }
    });
    let early = gateway.buffer().to_vec();
    let carried = output.write_all(&early).and_then(|()| carry(gateway.get_mut(), &mut output));
    match carried {
        Ok(()) if client_left.load(Ordering::Acquire) => Ok(()),
        Ok(()) => Err(Failure::failed("the gateway has ended")),
        // The client reads no more: it has left.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::failed(format_args!("the connection to the gateway broke: {error}"))),
    }
}

/// Carries what comes, as soon as it comes, until nothing more does.
///
/// `io::copy` would splice, and a splice into a pipe keeps that pipe locked while it waits for more: whoever reads the
/// other end would hang before data that is already there, and could not even be interrupted.
fn carry(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => to.write_all(buffer.get(..count).unwrap_or_default())?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Our end of a standard stream, without the buffering that is meant for text.
fn unbuffered(stream: BorrowedFd<'_>) -> io::Result<File> {
    Ok(File::from(stream.as_fd().try_clone_to_owned()?))
}
