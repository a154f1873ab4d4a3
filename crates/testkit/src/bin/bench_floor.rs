//! The floor of a benchmark: a reverse proxy that only forwards. Prints `listening URL`; ends when standard
//! input closes.

use std::net::SocketAddr;

use clap::Parser;
use highwater_testkit::bench::{floor, serve};
use http::Uri;

#[derive(Parser)]
struct Arguments {
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Where everything is forwarded to.
    #[arg(long)]
    to: Uri,
    /// Worker threads; one a core unless given, as a gateway has.
    #[arg(long)]
    threads: Option<usize>,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    serve::runtime(arguments.threads)?.block_on(async {
        let listener = serve::listen(arguments.listen).await?;
        serve::say_where(&listener)?;
        serve::until_input_closes(floor::run(listener, &arguments.to)).await
    })
}
