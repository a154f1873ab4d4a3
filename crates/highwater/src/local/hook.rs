//! The gateway's side of `highwater hook`: one event, one answer, and the word that the host has it.

use std::io;
use std::time::Duration;

use highwater_gateway::{CommandHook, Gateway, HookAnswer};
use highwater_hosts::MAX_PAYLOAD;
use highwater_hosts::answer::Verdict;
use highwater_hosts::host::{HookName, Host};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf, UCred};
use tokio::time::timeout;

use super::ancestors::Above;
use super::hello::{HookHello, HookReply, Welcome, line};

/// How long a hook may take to hand over what it was told.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a hook may take from our answer to its own end. Its watchdog has ended it by then.
const TO_THE_HOST: Duration = Duration::from_secs(30);

/// What a hook writes when it has printed the answer.
pub(crate) const PRINTED: &[u8] = b"printed\n";

/// Takes an event in and answers it.
pub(super) async fn receive(
    gateway: &Gateway,
    hello: &HookHello,
    peer: UCred,
    read: &mut BufReader<OwnedReadHalf>,
    write: &mut OwnedWriteHalf,
) -> io::Result<()> {
    let (answered, call) = match answer(gateway, hello, peer, read).await? {
        Ok(HookAnswer { verdict, call }) => (Welcome::answer(&HookReply::of(&verdict))?, call),
        Err(why) => (Welcome::refused(why), None),
    };
    write.write_all(&line(&answered)?).await?;
    let (Some(call), Some(host)) = (call, Host::from_name(&hello.host)) else { return Ok(()) };
    let mut word = Vec::new();
    let bound = u64::try_from(PRINTED.len()).unwrap_or(u64::MAX);
    timeout(TO_THE_HOST, read.take(bound).read_until(b'\n', &mut word)).await??;
    if word == PRINTED {
        gateway.note_hook_answer(host, &call).await;
    }
    Ok(())
}

async fn answer(
    gateway: &Gateway,
    hello: &HookHello,
    peer: UCred,
    read: &mut BufReader<OwnedReadHalf>,
) -> io::Result<Result<HookAnswer, String>> {
    let (Some(host), Some(hook)) = (Host::from_name(&hello.host), HookName::from_name(&hello.event)) else {
        return Ok(Err("the gateway does not know this host or event".to_owned()));
    };
    if hello.bytes > MAX_PAYLOAD {
        return Ok(Err(format!("the event is longer than {MAX_PAYLOAD} bytes")));
    }
    // The socket is private already; this is for a directory that was opened to others by mistake.
    if peer.uid() != rustix::process::geteuid().as_raw() {
        return Ok(Err("the hook runs under another account than the gateway".to_owned()));
    }
    let mut input = vec![0; hello.bytes];
    timeout(PATIENCE, read.read_exact(&mut input)).await??;
    let id = peer.pid().and_then(|id| u32::try_from(id).ok());
    let above = tokio::task::spawn_blocking(move || Above::process(id)).await.map_err(io::Error::other)?;
    let told = CommandHook {
        host,
        hook,
        input: &input,
        server: &hello.server,
        process: above.host,
        outer: above.outer,
        ancestry: above.ancestry,
    };
    Ok(gateway.hear_command(&told).await.map_err(|fault| fault.to_string()))
}

// === impl HookReply ===

impl HookReply {
    fn of(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Pass => Self::Pass,
            Verdict::Allow => Self::Allow,
            Verdict::Ask(reason) => Self::Ask(reason.clone()),
            Verdict::Refuse(reason) => Self::Refuse(reason.clone()),
        }
    }

    pub(crate) fn verdict(self) -> Verdict {
        match self {
            Self::Pass => Verdict::Pass,
            Self::Allow => Verdict::Allow,
            Self::Ask(reason) => Verdict::Ask(reason),
            Self::Refuse(reason) => Verdict::Refuse(reason),
        }
    }
}
