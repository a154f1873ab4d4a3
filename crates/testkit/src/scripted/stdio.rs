//! The script on standard input and output.

use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::{Incoming, QUEUE, Scripted};

/// Serves the pair of streams until the input ends.
pub async fn serve(
    server: Arc<Scripted>,
    input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin + Send + 'static,
) -> std::io::Result<()> {
    let (sender, mut messages) = mpsc::channel::<String>(QUEUE);
    tokio::spawn(async move {
        while let Some(message) = messages.recv().await {
            // A client that reads no more will close its end.
            output.write_all(format!("{message}\n").as_bytes()).await.ok();
            output.flush().await.ok();
        }
    });
    let mut lines = BufReader::new(input).lines();
    let mut saying = JoinSet::new();
    while let Some(line) = lines.next_line().await? {
        if let Incoming::Request(lines) = server.hear(&line, serde_json::Value::Null) {
            let (server, sender) = (Arc::clone(&server), sender.clone());
            saying.spawn(async move { server.say(lines, sender).await });
        }
    }
    Ok(())
}
