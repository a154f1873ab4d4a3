//! The scripted server as a program: `scripted --script FILE --journal FILE`, on standard streams or with `--listen`.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context;
use clap::Parser;
use highwater_testkit::scripted::{Scripted, serve_http, serve_stdio};
use tokio::net::TcpListener;

/// A server that says exactly what its script says.
#[derive(Parser)]
struct Arguments {
    /// What it says.
    #[arg(long, value_name = "FILE")]
    script: PathBuf,
    /// Where it notes every message that arrives, one JSON line each.
    #[arg(long, value_name = "FILE")]
    journal: PathBuf,
    /// A gate before one of its tools, which opens for a passkey's signature (SEP-2672).
    #[arg(long, value_name = "FILE")]
    gate: Option<PathBuf>,
    /// Serve HTTP on this address, and print where, instead of standard input and output.
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// Serve HTTP+SSE of 2024-11-05 instead of Streamable HTTP.
    #[arg(long, requires = "listen")]
    sse: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let server = Scripted::new(&arguments.script, &arguments.journal, arguments.gate.as_deref())?;
    match arguments.listen {
        None => serve_stdio(server, tokio::io::stdin(), tokio::io::stdout()).await?,
        Some(address) => {
            let listener = TcpListener::bind(address).await;
            let listener = listener.with_context(|| format!("cannot listen on `{address}`"))?;
            writeln!(std::io::stdout(), "listening http://{}/mcp", listener.local_addr()?)?;
            serve_http(server, listener, arguments.sse).await?;
        }
    }
    // Standard input is read on a thread of its own that cannot be stopped.
    std::process::exit(0)
}
