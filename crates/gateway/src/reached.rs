//! How a server is reached: what its connection is made from, and what was learned of it the last time.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use highwater_config::{Era, ServerSettings, Transport, Writes};
use highwater_core::id::UpstreamId;
use highwater_store::RememberedServers;
use highwater_upstream::{
    EraSetting, Remember, RememberedEra, Retries, ServerSpec, Timeouts, Transport as UpstreamTransport,
};

/// Remembers what a server turned out to speak, under the fingerprint it was opened with.
pub(crate) fn remember(
    remembered: Arc<RememberedServers>,
    prints: Arc<Mutex<BTreeMap<String, String>>>,
) -> Remember {
    Arc::new(move |upstream, era| {
        let print = prints.lock().unwrap_or_else(PoisonError::into_inner).get(upstream.as_str()).cloned();
        if let Some(print) = print {
            remembered.remember(upstream.as_str(), &print, era_word(era));
        }
    })
}

/// What the connection to a server is made from.
pub(crate) fn spec(server: &ServerSettings) -> ServerSpec {
    let transport = match &server.transport {
        Transport::Stdio { command, args, env, cwd } => UpstreamTransport::Stdio {
            command: command.clone(),
            args: args.clone(),
            env: env.clone(),
            cwd: cwd.as_ref().map(PathBuf::from),
        },
        Transport::Http { url, headers, .. } => {
            UpstreamTransport::Http { url: url.clone(), headers: headers.clone() }
        }
    };
    let era = match server.era {
        Era::Auto => EraSetting::Auto,
        Era::Modern => EraSetting::Modern,
        Era::Legacy => EraSetting::Legacy,
        Era::Sse => EraSetting::Sse,
    };
    let timeouts = Timeouts {
        start: server.timeouts.start,
        probe: server.timeouts.probe,
        call: server.timeouts.call,
        silence: server.timeouts.silence,
    };
    ServerSpec {
        id: UpstreamId::new(server.name.as_str()),
        transport,
        era,
        timeouts,
        concurrency: server.concurrency,
        max_reply: server.max_reply,
        retries: Retries { times: server.retry.times, wait: server.retry.wait },
        ordered_writes: server.writes == Writes::Ordered,
    }
}

/// Whether a running connection can stay: what has changed is for the policy alone.
pub(crate) fn is_reached_alike(old: &ServerSettings, new: &ServerSettings) -> bool {
    old.transport == new.transport
        && old.era == new.era
        && old.timeouts == new.timeouts
        && old.concurrency == new.concurrency
        && old.max_reply == new.max_reply
        && !old.disabled
}

/// A digest of how the server is reached: what was learned about it counts while this is the same.
pub(crate) fn fingerprint(server: &ServerSettings) -> String {
    let reached = match &server.transport {
        Transport::Stdio { command, args, .. } => format!("stdio\0{command}\0{}", args.join("\0")),
        Transport::Http { url, .. } => format!("http\0{url}"),
    };
    URL_SAFE_NO_PAD.encode(digest(&SHA256, reached.as_bytes()))
}

pub(crate) fn remembered_era(word: &str) -> Option<RememberedEra> {
    match word {
        "modern" => Some(RememberedEra::Modern),
        "legacy" => Some(RememberedEra::Legacy),
        "sse" => Some(RememberedEra::Sse),
        _ => None,
    }
}

fn era_word(era: RememberedEra) -> &'static str {
    match era {
        RememberedEra::Modern => "modern",
        RememberedEra::Legacy => "legacy",
        RememberedEra::Sse => "sse",
    }
}
