//! The example servers inside the binary: small, real MCP servers with believable data, for the demo, for
//! trying out a policy, and for scenarios of attacks.
//!
//! | server | in it |
//! |---|---|
//! | `mail` | a mailbox with salaries and a message that gives orders |
//! | `files` | a drive with public, internal, financial and credential files, as tools and as resources |
//! | `repo` | public and private repositories, and the public issue of the SAMOS attack |
//! | `web` | pages, one of them an attack; forms; prompts; nothing of it on the network |
//!
//! `story` is what one of them consists of, `server` and `methods` are the protocol around it.

mod files;
mod journal;
mod label;
mod mail;
mod methods;
mod repo;
mod saved;
mod schema;
mod server;
mod story;
mod subscription;
mod web;
pub(crate) mod wire;

use std::io::{stdin, stdout};
use std::path::PathBuf;

use clap::error::ErrorKind;

use self::journal::Journal;
use self::server::{Options, Server};
use self::story::Story;

/// Which example server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ExampleServer {
    /// A mailbox.
    Mail,
    /// A shared drive.
    Files,
    /// A code host with public and private repositories.
    Repo,
    /// A small web of built-in pages.
    Web,
}

/// How an example server runs.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ExampleArgs {
    /// Keep the data in this directory, so that it survives a restart. Also lists there the calls that
    /// arrived. Without it everything is in memory.
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,

    /// Whether replies say what their data is, in `_meta.annotations`.
    #[arg(long, value_name = "on|off", default_value = "on")]
    pub(crate) result_labels: Switch,

    /// Answer `tools/resolve`: what a call would do and return, for concrete arguments.
    #[arg(long)]
    pub(crate) resolve: bool,

    /// Only for `repo`: offer `get_public_file` and `get_private_file` in place of `get_file_contents`.
    #[arg(long)]
    pub(crate) split_tools: bool,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Switch {
    /// Yes.
    On,
    /// No.
    Off,
}

/// Serves one example server on standard input and output until the input ends.
///
/// A flag that does not fit the server is a [`clap::Error`], for the caller to report as wrong usage.
pub(crate) fn run(which: ExampleServer, args: &ExampleArgs) -> anyhow::Result<()> {
    open(which, args)?.serve(stdin().lock(), stdout().lock())
}

/// Opens one example server without connecting it to anything: [`Server::receive`] takes a line and gives
/// the messages it causes.
pub(crate) fn open(which: ExampleServer, args: &ExampleArgs) -> anyhow::Result<Server> {
    if args.split_tools && which != ExampleServer::Repo {
        let why = "the flag `--split-tools` is only for `repo`\n";
        return Err(clap::Error::raw(ErrorKind::ArgumentConflict, why).into());
    }
    let data = args.data.as_deref();
    let story: Box<dyn Story> = match which {
        ExampleServer::Mail => Box::new(mail::Mail::open(data)?),
        ExampleServer::Files => Box::new(files::Files::open(data)?),
        ExampleServer::Repo => Box::new(repo::Repo::open(data, args.split_tools)?),
        ExampleServer::Web => Box::new(web::Web::open(data)?),
    };
    let journal = data.map(|directory| Journal::new(directory, &story.definition().name));
    let options = Options { result_labels: args.result_labels == Switch::On, resolve: args.resolve };
    Ok(Server::new(story, options, journal))
}

#[cfg(test)]
mod tests;
