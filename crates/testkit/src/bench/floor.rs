//! The floor: a reverse proxy on bare hyper that forwards both bodies as they stream and does nothing else.
//! Everything a gateway costs is measured as a multiple of this.

use std::convert::Infallible;

use anyhow::Context as _;
use bytes::Bytes;
use http::header::HOST;
use http::uri::{Authority, Parts, Scheme, Uri};
use http_body_util::{Either, Empty};
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::net::TcpListener;

use super::serve;

type Pooled = Client<HttpConnector, Incoming>;

/// Forwards everything that arrives on `listener` to the host of `to`.
pub async fn run(listener: TcpListener, to: &Uri) -> anyhow::Result<Infallible> {
    let authority = to.authority().cloned().with_context(|| format!("`{to}` has no host"))?;
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client: Pooled = Client::builder(TokioExecutor::new()).build(connector);
    serve::serve(listener, move |request| {
        let (client, authority) = (client.clone(), authority.clone());
        async move { forward(&client, authority, request).await }
    })
    .await
}

async fn forward(
    client: &Pooled,
    authority: Authority,
    request: Request<Incoming>,
) -> Response<Either<Incoming, Empty<Bytes>>> {
    let (mut head, body) = request.into_parts();
    let mut uri = Parts::default();
    uri.scheme = Some(Scheme::HTTP);
    uri.authority = Some(authority);
    uri.path_and_query = head.uri.into_parts().path_and_query;
    head.uri = match Uri::from_parts(uri) {
        Ok(uri) => uri,
        Err(_) => return refused(StatusCode::BAD_REQUEST),
    };
    // The client writes the upstream's own name here.
    head.headers.remove(HOST);
    match client.request(Request::from_parts(head, body)).await {
        Ok(reply) => reply.map(Either::Left),
        Err(_) => refused(StatusCode::BAD_GATEWAY),
    }
}

fn refused(status: StatusCode) -> Response<Either<Incoming, Empty<Bytes>>> {
    let mut reply = Response::new(Either::Right(Empty::new()));
    *reply.status_mut() = status;
    reply
}
