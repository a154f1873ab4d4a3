//! One document at a URL, fetched or handed in.

use std::sync::Arc;
use std::time::Duration;

use ::http::StatusCode;
use ::http::header::{ACCEPT, HeaderValue};
use bytes::Bytes;
use highwater_core::id::UpstreamId;

use super::body::collect;
use super::pool::Answered;
use super::wire::Wire;
use crate::error::{Cause, UpstreamError};

/// The way to one document.
pub(crate) struct Document;

// === impl Document ===

impl Document {
    pub(crate) async fn fetch(
        server: &UpstreamId,
        url: &str,
        limit: usize,
        patience: Duration,
    ) -> Result<Bytes, UpstreamError> {
        let wire = Wire::new(server, url, &[], patience, 1, &Arc::default())?;
        let mut headers = wire.stream_headers();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let Answered { head, body } = wire.get(&headers).await?;
        if head.status != StatusCode::OK {
            let why = format!("it answers {}", head.status.as_u16());
            return Err(wire.fail(Cause::Unreachable(why), true));
        }
        collect(body, limit).await.map_err(|cause| wire.fail(cause, true))
    }

    pub(crate) async fn deliver(
        name: &UpstreamId,
        url: &str,
        headers: &[(&'static str, String)],
        document: Vec<u8>,
        patience: Duration,
    ) -> Result<(), UpstreamError> {
        let wire = Wire::new(name, url, &[], patience, 0, &Arc::default())?;
        let mut all = wire.post_headers();
        all.insert(ACCEPT, HeaderValue::from_static("*/*"));
        for (header, value) in headers {
            let value = HeaderValue::from_str(value)
                .map_err(|_| wire.fail(Cause::Unreachable("a header cannot be sent".to_owned()), false))?;
            all.insert(*header, value);
        }
        let head = wire.post(&Wire::post_head(wire.uri(), &all), document).await?.head;
        if !head.status.is_success() {
            let why = format!("it answers {}", head.status.as_u16());
            return Err(wire.fail(Cause::Unreachable(why), true));
        }
        Ok(())
    }
}
