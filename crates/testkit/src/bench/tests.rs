//! The parts together: upstream, floor and load generator in one process, each over its own socket.

use std::net::SocketAddr;
use std::time::Duration;

use http::Uri;

use super::client::Endpoint;
use super::load::{Ask, Load, Summary, Until};
use super::{Era, floor, serve, upstream};

/// Starts an upstream with five tools and a floor in front of it; returns where each is.
async fn stand(only: Option<Era>) -> (Uri, Uri) {
    let offer = upstream::Offer { tools: 5, sizes: vec![100, 1_048_576], only };
    let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
    let (behind, front) = (serve::listen(any_port).await.unwrap(), serve::listen(any_port).await.unwrap());
    let url = |address: SocketAddr| format!("http://{address}/mcp").parse::<Uri>().unwrap();
    let (direct, through) = (url(behind.local_addr().unwrap()), url(front.local_addr().unwrap()));
    tokio::spawn(upstream::run(behind, offer));
    let to = direct.clone();
    tokio::spawn(async move { floor::run(front, &to).await });
    (direct, through)
}

async fn three_calls_of_two_sessions(url: &Uri, era: Era, ask: &Ask) -> anyhow::Result<Summary> {
    let endpoint = Endpoint { url: url.clone(), token: None, era };
    let mut load = Load::open(endpoint, ask, 2, 0, None).await?;
    let summary = load.run(Until { calls: 3, time: Duration::from_secs(60) }).await?;
    load.close().await;
    Ok(summary)
}

#[tokio::test]
async fn every_kind_of_load_is_answered_directly_and_through_the_floor() {
    let (direct, through) = stand(None).await;
    let asks = [
        Ask::Echo { tool: "echo".to_owned(), size: 100 },
        Ask::Echo { tool: "echo".to_owned(), size: 1_048_576 },
        Ask::Upload { tool: "upload".to_owned(), size: 1_048_576 },
        Ask::List { tools: 5 },
    ];
    for url in [&direct, &through] {
        for era in [Era::Legacy, Era::Modern] {
            for ask in &asks {
                let summary = three_calls_of_two_sessions(url, era, ask).await.unwrap();
                assert_eq!(
                    (summary.calls, summary.errors),
                    (6, 0),
                    "{era} {ask:?}: {:?}",
                    summary.first_error
                );
            }
        }
    }
}

#[tokio::test]
async fn a_wrong_answer_is_counted_as_an_error_and_not_as_a_call() {
    let (_, through) = stand(None).await;
    let wrong = [
        (Ask::List { tools: 6 }, "5 tools are listed instead of 6"),
        (Ask::Echo { tool: "echo".to_owned(), size: 99 }, "no such tool or size"),
        (Ask::Echo { tool: "table_00003".to_owned(), size: 100 }, "no such tool or size"),
    ];
    for (ask, reason) in wrong {
        let summary = three_calls_of_two_sessions(&through, Era::Legacy, &ask).await.unwrap();
        assert_eq!((summary.calls, summary.errors), (0, 6), "{ask:?}");
        assert!(summary.first_error.unwrap().contains(reason), "{ask:?}");
    }
}

#[tokio::test]
async fn an_upstream_of_one_era_does_not_answer_the_other() {
    for (spoken, other) in [(Era::Legacy, Era::Modern), (Era::Modern, Era::Legacy)] {
        let (direct, _) = stand(Some(spoken)).await;
        let ask = Ask::List { tools: 5 };
        assert_eq!(three_calls_of_two_sessions(&direct, spoken, &ask).await.unwrap().calls, 6);
        assert!(three_calls_of_two_sessions(&direct, other, &ask).await.is_err());
    }
}
