//! Tells a scenario: starts the gateway and the servers, does what the steps say, and compares.

mod check;
mod client;
mod configuration;
mod follow;
mod matching;
mod operator;
mod scratch;
mod seen;
mod stage;

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

pub(crate) use self::check::Mismatch;
pub(crate) use self::configuration::check as check_configurations;

use self::client::{Answers, Heard};
use self::seen::Seen;
use self::stage::Stage;
use super::file::Listing;
use super::model::{ClientSpec, Scenario, Step, Telling, What};

/// How a telling went.
pub(crate) struct Told {
    pub(crate) telling: Telling,
    pub(crate) took: Duration,
    /// Where it went wrong, if it did.
    pub(crate) failure: Option<Failure>,
}

/// Where and how a telling went wrong. What comes after it was not told.
pub(crate) struct Failure {
    /// The line of the step; none where it is about the whole.
    pub(crate) line: Option<usize>,
    pub(crate) place: String,
    pub(crate) mismatches: Vec<Mismatch>,
    /// Why it could not be told at all.
    pub(crate) error: Option<String>,
}

/// Tells one telling from beginning to end.
pub(crate) async fn tell(scenario: &Scenario, telling: Telling) -> Told {
    let began = Instant::now();
    let failure = match play(scenario, telling).await {
        Ok(failure) => failure,
        Err(error) => Some(Failure::of(None, "the telling", &error)),
    };
    Told { telling, took: began.elapsed(), failure }
}

async fn play(scenario: &Scenario, telling: Telling) -> anyhow::Result<Option<Failure>> {
    let mut stage = Stage::open(scenario, telling).await?;
    let mut audit = Vec::new();
    let mut failure = None;
    for step in scenario.steps.iter().filter(|step| step.happens_in(telling)) {
        failure = match stage.step(scenario, step, &mut audit).await {
            Ok(seen) => {
                let mismatches = check::step(&step.what, &step.expect, telling, &seen);
                (!mismatches.is_empty()).then(|| Failure {
                    line: Some(step.line),
                    place: step.what.to_string(),
                    mismatches,
                    error: None,
                })
            }
            Err(error) => Some(Failure::of(Some(step.line), &step.what.to_string(), &error)),
        };
        if failure.is_some() {
            break;
        }
    }
    audit.extend(stage.audited()?);
    let closed = stage.close().await;
    if failure.is_none() {
        let mismatches = check::audit(&scenario.audit, &audit);
        let place = "the audit log".to_owned();
        failure = match mismatches.is_empty() {
            true => None,
            false => Some(Failure { line: None, place, mismatches, error: None }),
        };
    }
    closed?;
    Ok(failure)
}

// === impl Failure ===

impl Failure {
    fn of(line: Option<usize>, place: &str, error: &anyhow::Error) -> Self {
        let error = Some(format!("{error:#}"));
        Self { line, place: place.to_owned(), mismatches: Vec::new(), error }
    }
}

impl Stage<'_> {
    /// Does one step, and gives what it showed.
    async fn step(
        &mut self,
        scenario: &Scenario,
        step: &Step,
        audit: &mut Vec<Value>,
    ) -> anyhow::Result<Seen> {
        let heard = match &step.what {
            What::NewSession { client } => {
                self.dismiss(client).await?;
                Heard::default()
            }
            What::Silence(time) => {
                tokio::time::sleep(*time).await;
                Heard::default()
            }
            What::Reload => {
                self.reload(step.index)?;
                Heard::default()
            }
            What::Restart => {
                self.restart().await?;
                Heard::default()
            }
            What::Words(typed) => {
                self.tell_words(&step.client, step.index, typed).await?;
                Heard::default()
            }
            What::Reset { client, reason } => {
                self.reset(client, reason).await?;
                Heard::default()
            }
            action => {
                let plain = ClientSpec::default();
                let spec = scenario.clients.get(&step.client).unwrap_or(&plain);
                let mut answers = Answers::new(step.answers.as_deref().unwrap_or(&spec.answers));
                let (method, params) = action.request(&step.meta);
                self.client(&step.client).await?.ask(&method, params, &mut answers).await?
            }
        };
        let events = self.audited()?;
        let sights = self.sights()?;
        self.note_session(&step.client, &events);
        let mut seen = Seen::of(step.what.method().unwrap_or_default(), heard, &events, sights);
        if step.expect.asks_for_session(self.telling()) {
            seen.session = self.session_label(&step.client).await?;
        }
        audit.extend(events);
        Ok(seen)
    }
}

// === impl Step ===

impl Step {
    fn happens_in(&self, telling: Telling) -> bool {
        self.only.is_empty() || self.only.iter().any(|word| telling.is(word))
    }
}

// === impl What ===

impl What {
    /// The method of the protocol, for what is a request.
    pub(crate) fn method(&self) -> Option<&str> {
        Some(match self {
            Self::Call { .. } => "tools/call",
            Self::Read { .. } => "resources/read",
            Self::GetPrompt { .. } => "prompts/get",
            Self::Complete { .. } => "completion/complete",
            Self::List(Listing::Tools) => "tools/list",
            Self::List(Listing::Resources) => "resources/list",
            Self::List(Listing::ResourceTemplates) => "resources/templates/list",
            Self::List(Listing::Prompts) => "prompts/list",
            Self::Resolve { .. } => "tools/resolve",
            Self::Request { method, .. } => method,
            Self::Words(_)
            | Self::Reset { .. }
            | Self::NewSession { .. }
            | Self::Silence(_)
            | Self::Reload
            | Self::Restart => {
                return None;
            }
        })
    }

    fn request(&self, meta: &Map<String, Value>) -> (String, Map<String, Value>) {
        let params = match self {
            Self::Call { tool, arguments } | Self::Resolve { tool, arguments } => {
                json!({ "name": tool, "arguments": arguments })
            }
            Self::GetPrompt { name, arguments } => json!({ "name": name, "arguments": arguments }),
            Self::Read { uri } => json!({ "uri": uri }),
            Self::Complete { reference, argument, value } => {
                json!({ "ref": reference, "argument": { "name": argument, "value": value } })
            }
            Self::Request { params, .. } => params.clone(),
            Self::List(_)
            | Self::Words(_)
            | Self::Reset { .. }
            | Self::NewSession { .. }
            | Self::Silence(_)
            | Self::Reload
            | Self::Restart => {
                json!({})
            }
        };
        let mut params = params.as_object().cloned().unwrap_or_default();
        if !meta.is_empty() {
            params.insert("_meta".into(), Value::Object(meta.clone()));
        }
        (self.method().unwrap_or_default().to_owned(), params)
    }
}
