//! The conformance fixture on rmcp as a program: `rmcp_fixture --http` or `rmcp_fixture --stdio`.

use std::io::Write;

use anyhow::bail;
use highwater_testkit::rmcp_fixture::RmcpFixture;
use tokio::net::TcpListener;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> anyhow::Result<()> {
    let fixture = RmcpFixture::new()?;
    let way = std::env::args().nth(1);
    match way.as_deref() {
        Some("--stdio") => fixture.serve_stdio().await?,
        Some("--http") => {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
            writeln!(std::io::stdout(), "listening http://{}/mcp", listener.local_addr()?)?;
            fixture.serve_http(listener).await?;
        }
        _ => bail!("`rmcp_fixture --http` or `rmcp_fixture --stdio`"),
    }
    // Standard input is read on a thread of its own that cannot be stopped.
    std::process::exit(0)
}
