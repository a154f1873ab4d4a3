//! The conformance fixture as a program: `fixture --listen 127.0.0.1:0` or `fixture --stdio`.

use std::io::Write;
use std::net::SocketAddr;

use anyhow::Context;
use clap::{Parser, ValueEnum};
use highwater_testkit::fixture::http::{self, Transport};
use highwater_testkit::fixture::{Eras, Fixture, Options, stdio};
use tokio::net::TcpListener;

/// A dual-era MCP server for tests.
///
/// With FIXTURE_LOG set, every message that arrives is appended to that file as one JSON line.
#[derive(Parser)]
#[command(group = clap::ArgGroup::new("transport").required(true))]
struct Arguments {
    /// Serve HTTP on this address and print where.
    #[arg(long, value_name = "ADDR", group = "transport")]
    listen: Option<SocketAddr>,
    /// Serve standard input and output.
    #[arg(long, group = "transport")]
    stdio: bool,
    /// Serve HTTP+SSE of 2024-11-05 instead of Streamable HTTP.
    #[arg(long, requires = "listen")]
    sse: bool,
    /// The eras to serve.
    #[arg(long, value_enum, default_value = "both")]
    era: Era,
    /// Offer the tools for matrix and robustness tests as well.
    #[arg(long)]
    extras: bool,
    /// Split lists into pages of this many entries.
    #[arg(long, value_name = "N")]
    page_size: Option<usize>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Era {
    Legacy,
    Modern,
    Both,
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let eras = match arguments.era {
        Era::Legacy => Eras::Legacy,
        Era::Modern => Eras::Modern,
        Era::Both => Eras::Both,
    };
    #[expect(clippy::disallowed_methods, reason = "a program of its own, told by its parent where to log")]
    let journal = std::env::var_os("FIXTURE_LOG").map(Into::into);
    let options = Options { eras, extras: arguments.extras, page_size: arguments.page_size, journal };
    let fixture = Fixture::new(options)?;
    match arguments.listen {
        None => stdio::serve(fixture, tokio::io::stdin(), tokio::io::stdout()).await?,
        Some(address) => {
            let transport = if arguments.sse { Transport::Sse } else { Transport::Streamable };
            let listener = TcpListener::bind(address).await;
            let listener = listener.with_context(|| format!("cannot listen on `{address}`"))?;
            let local = listener.local_addr()?;
            writeln!(std::io::stdout(), "listening http://{local}{}", transport.path())?;
            http::serve(listener, fixture, transport).await?;
        }
    }
    // Standard input is read on a thread of its own that cannot be stopped.
    std::process::exit(0)
}
