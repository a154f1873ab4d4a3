//! Finding out which era a child speaks. Servers of the legacy era answer a modern request with any error or
//! with silence, and some do not survive it, so each of these leads to `initialize`.

use highwater_mcp::era::Era;
use tokio::time::{Duration, timeout};

use super::process::Process;
use crate::error::{Cause, UpstreamError};
use crate::greeting::{Probed, initialize_params, own_modern_params, read_discover, read_initialize};
use crate::link::{Greeting, LinkWorld};
use crate::spec::{EraSetting, RememberedEra, ServerSpec};

/// What to try, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    /// The modern greeting, then `initialize`.
    Probe,
    /// `initialize`, then the modern greeting: the server is remembered as a legacy one.
    InitializeFirst,
    /// The modern greeting alone.
    ModernOnly,
    /// `initialize` alone.
    LegacyOnly,
}

/// What came of a probe.
enum Outcome {
    /// The eras are told apart and the greeting is done.
    Met(Greeting),
    /// `initialize` is next, on the same process.
    TryInitialize,
    /// The process must be started anew for `initialize`, and if that fails too, this was why.
    StartAnew(Cause),
}

/// Starts the server and greets it within its start-up budget.
pub(super) async fn meet(
    spec: &ServerSpec,
    wire: &LinkWorld,
    remembered: Option<RememberedEra>,
) -> Result<(Process, Greeting), UpstreamError> {
    let budget = spec.timeouts.start;
    match timeout(budget, meet_in_time(spec, wire, remembered)).await {
        Ok(met) => met,
        Err(_) => Err(wire.fail(Cause::SilentStart(budget), false)),
    }
}

async fn meet_in_time(
    spec: &ServerSpec,
    wire: &LinkWorld,
    remembered: Option<RememberedEra>,
) -> Result<(Process, Greeting), UpstreamError> {
    let process = Process::start(spec, wire)?;
    let fail = |cause| wire.fail(cause, false);
    let greeter = Greeter { process: &process, wire };
    let outcome = match Plan::of(spec.era, remembered) {
        Plan::LegacyOnly => Outcome::Met(greeter.initialize().await.map_err(fail)?),
        Plan::ModernOnly => Outcome::Met(greeter.discover().await.map_err(fail)?),
        Plan::Probe => greeter.probe(spec.timeouts.probe).await.map_err(fail)?,
        Plan::InitializeFirst => match greeter.initialize().await {
            Ok(greeting) => Outcome::Met(greeting),
            // Remembered wrongly: it may have been replaced by a newer one.
            Err(Cause::Malformed(why)) => match greeter.probe(spec.timeouts.probe).await.map_err(fail)? {
                Outcome::TryInitialize => return Err(fail(Cause::Malformed(why))),
                outcome => outcome,
            },
            Err(cause) => return Err(fail(cause)),
        },
    };
    let first_failure = match outcome {
        Outcome::Met(greeting) => {
            return greeter.done(greeting).map(|greeting| (process, greeting)).map_err(fail);
        }
        Outcome::TryInitialize => match greeter.initialize().await {
            Ok(greeting) => {
                return greeter.done(greeting).map(|greeting| (process, greeting)).map_err(fail);
            }
            Err(cause) => cause,
        },
        Outcome::StartAnew(cause) => cause,
    };
    tracing::debug!(upstream = %wire.upstream, %first_failure, "the server did not take the probe well, it is started anew");
    drop(process);
    let process = Process::start(spec, wire)?;
    let greeter = Greeter { process: &process, wire };
    let greeting = greeter.initialize().await.and_then(|greeting| greeter.done(greeting)).map_err(fail)?;
    Ok((process, greeting))
}

struct Greeter<'a> {
    process: &'a Process,
    wire: &'a LinkWorld,
}

// === impl Plan ===

impl Plan {
    fn of(setting: EraSetting, remembered: Option<RememberedEra>) -> Self {
        match (setting, remembered) {
            (EraSetting::Modern, _) => Self::ModernOnly,
            // HTTP+SSE is of the legacy era; over a pipe there is no other way to speak it.
            (EraSetting::Legacy | EraSetting::Sse, _) => Self::LegacyOnly,
            (EraSetting::Auto, Some(RememberedEra::Legacy | RememberedEra::Sse)) => Self::InitializeFirst,
            (EraSetting::Auto, Some(RememberedEra::Modern) | None) => Self::Probe,
        }
    }
}

// === impl Greeter ===

impl Greeter<'_> {
    async fn initialize(&self) -> Result<Greeting, Cause> {
        let params = initialize_params(&self.wire.client_info, &self.wire.union);
        let asked = self.process.conversation.negotiate("initialize", &params)?;
        read_initialize(&asked.answer().await?).map_err(Cause::Malformed)
    }

    async fn discover(&self) -> Result<Greeting, Cause> {
        let params = own_modern_params(None, &self.wire.client_info);
        let asked = self.process.conversation.negotiate("server/discover", &params)?;
        match read_discover(&asked.answer().await?) {
            Probed::Modern(greeting) => Ok(greeting),
            Probed::LegacyOffered | Probed::NoCommonVersion | Probed::Refused(_) | Probed::NotModern => Err(
                Cause::Malformed("it does not speak the modern version that its `era` asks for".to_owned()),
            ),
        }
    }

    async fn probe(&self, patience: Duration) -> Result<Outcome, Cause> {
        let params = own_modern_params(None, &self.wire.client_info);
        let probe = self.process.conversation.negotiate("server/discover", &params)?;
        match timeout(patience, probe.answer()).await {
            Ok(Ok(answer)) => read_probe(read_discover(&answer)),
            Ok(Err(cause)) => Ok(Outcome::StartAnew(cause)),
            Err(_) => {
                // Silence: an old server, or one that is still starting. Whichever answer decides, counts.
                let params = initialize_params(&self.wire.client_info, &self.wire.union);
                let hello = self.process.conversation.negotiate("initialize", &params)?;
                let greeted = tokio::select! {
                    answer = probe.answer() => match answer.map(|answer| read_discover(&answer)) {
                        Ok(Probed::Modern(greeting)) => return Ok(Outcome::Met(greeting)),
                        Ok(_) => read_initialize(&hello.answer().await?),
                        Err(cause) => return Ok(Outcome::StartAnew(cause)),
                    },
                    answer = hello.answer() => match answer {
                        Ok(answer) => read_initialize(&answer),
                        Err(cause) => return Ok(Outcome::StartAnew(cause)),
                    },
                };
                match greeted {
                    Ok(greeting) => Ok(Outcome::Met(greeting)),
                    // Refused, while the probe may still be on its way: a modern server that starts slowly.
                    Err(why) => match probe.answer().await.map(|answer| read_discover(&answer)) {
                        Ok(Probed::Modern(greeting)) => Ok(Outcome::Met(greeting)),
                        _ => Ok(Outcome::StartAnew(Cause::Malformed(why))),
                    },
                }
            }
        }
    }

    /// Both sides know now how they talk.
    fn done(&self, greeting: Greeting) -> Result<Greeting, Cause> {
        let conversation = &self.process.conversation;
        let era = *conversation.era.get_or_init(|| greeting.era);
        if era == Era::Legacy {
            conversation.notify("notifications/initialized", None);
        }
        match conversation.calls.over() {
            Some(cause) => Err(cause),
            None => Ok(greeting),
        }
    }
}

fn read_probe(probed: Probed) -> Result<Outcome, Cause> {
    match probed {
        Probed::Modern(greeting) => Ok(Outcome::Met(greeting)),
        Probed::NotModern | Probed::LegacyOffered => Ok(Outcome::TryInitialize),
        Probed::NoCommonVersion => {
            Err(Cause::Malformed("it speaks no version of the protocol that is spoken here".to_owned()))
        }
        Probed::Refused(code) => {
            Err(Cause::Malformed(format!("it refused `server/discover` with error {code}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operator_s_word_counts_more_than_memory() {
        assert_eq!(Plan::of(EraSetting::Auto, None), Plan::Probe);
        assert_eq!(Plan::of(EraSetting::Auto, Some(RememberedEra::Legacy)), Plan::InitializeFirst);
        assert_eq!(Plan::of(EraSetting::Legacy, Some(RememberedEra::Modern)), Plan::LegacyOnly);
        assert_eq!(Plan::of(EraSetting::Modern, Some(RememberedEra::Legacy)), Plan::ModernOnly);
    }
}
