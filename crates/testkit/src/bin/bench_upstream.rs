//! The MCP server at the far end of a benchmark. Prints `listening URL`; ends when standard input closes.

use std::net::SocketAddr;

use clap::Parser;
use highwater_testkit::bench::{Era, serve, upstream};

#[derive(Parser)]
struct Arguments {
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// How many tools are listed; `echo`, `upload` and `keep` are the first three.
    #[arg(long, default_value_t = 10)]
    tools: usize,
    /// Sizes of text that `echo` can answer with.
    #[arg(long, value_delimiter = ',', default_value = "100,10240,1048576")]
    sizes: Vec<usize>,
    /// Speak this era only.
    #[arg(long)]
    era: Option<Era>,
    /// Worker threads; half the cores unless given.
    #[arg(long)]
    threads: Option<usize>,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let threads = arguments.threads.unwrap_or_else(serve::half_of_the_cores);
    let offer = upstream::Offer { tools: arguments.tools, sizes: arguments.sizes, only: arguments.era };
    serve::runtime(Some(threads))?.block_on(async {
        let listener = serve::listen(arguments.listen).await?;
        serve::say_where(&listener)?;
        serve::until_input_closes(upstream::run(listener, offer)).await
    })
}
