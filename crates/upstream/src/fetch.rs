//! Fetches one document that the operator named, or hands one in there, over the same connections that servers are
//! reached by.

use std::time::Duration;

use bytes::Bytes;
use highwater_core::id::UpstreamId;
use tokio::time::timeout;

use crate::error::{Cause, UpstreamError};
use crate::http::Document;

/// Fetches a document of at most `limit` bytes on behalf of a server. Redirections are not followed.
pub async fn fetch(
    server: &UpstreamId,
    url: &str,
    limit: usize,
    patience: Duration,
) -> Result<Bytes, UpstreamError> {
    let fetched = timeout(patience, Document::fetch(server, url, limit, patience)).await;
    fetched.unwrap_or_else(|_| {
        Err(UpstreamError { upstream: server.clone(), cause: Cause::TimedOut(patience), sent: true })
    })
}

/// Hands a JSON document in at a URL, and says whether it was taken: any status of success is a yes. Redirections are not
/// followed, and what the other side answers is not read.
pub async fn deliver(
    name: &UpstreamId,
    url: &str,
    headers: &[(&'static str, String)],
    document: Vec<u8>,
    patience: Duration,
) -> Result<(), UpstreamError> {
    let delivered = timeout(patience, Document::deliver(name, url, headers, document, patience)).await;
    delivered.unwrap_or_else(|_| {
        Err(UpstreamError { upstream: name.clone(), cause: Cause::TimedOut(patience), sent: true })
    })
}
