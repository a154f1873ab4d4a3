//! Sessions as the gateway describes them, and as people see them.

use std::fmt::Write;

use highwater_audit::label_of_words;
use highwater_core::annotation::class_name;
use highwater_core::id::{Principal, SessionKey};
use highwater_core::label::{Label, TextSet};
use highwater_core::session::{Leg, SessionRisk};
use highwater_notation::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::explain::when::{date, moment};
use crate::explain::{Chronicle, brought, listed, plain};
use crate::terminal::{Table, View};

/// One session in a list.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Row {
    pub(super) key: SessionKey,
    pub(super) principal: Principal,
    virtual_server: String,
    created: Timestamp,
    seen: Timestamp,
    ended: Option<Timestamp>,
    epoch: u64,
    #[serde(default)]
    rests_on: String,
    #[serde(default)]
    pending: Option<Earlier>,
    #[serde(default)]
    risk: Risk,
    pub(super) label: Published,
}

/// What was read before a silence.
#[derive(Debug, Deserialize)]
struct Earlier {
    label: Published,
    since: Timestamp,
    until: Timestamp,
}

/// What a session has to lose.
#[derive(Debug, Default, Deserialize)]
struct Risk {
    score: u8,
}

/// One session with its history.
#[derive(Debug, Deserialize)]
pub(super) struct Shown {
    #[serde(flatten)]
    pub(super) session: Row,
    declassifications: Vec<Lowered>,
}

/// A label that a person took down, or wanted to.
#[derive(Debug, Deserialize)]
struct Lowered {
    epoch: u64,
    at: Timestamp,
    person: String,
    reason: String,
    outcome: String,
}

/// How a session is after an attempt to reset it.
#[derive(Debug, Deserialize)]
pub(super) struct State {
    pub(super) done: bool,
    pub(super) epoch: u64,
    pub(super) label: Published,
}

/// A label in its published form.
#[derive(Debug, Deserialize)]
pub(crate) struct Published {
    secrecy: Vec<Value>,
    integrity: String,
    origins: Vec<String>,
    flags: Vec<String>,
    #[serde(default)]
    sources: Vec<String>,
}

// === impl Published ===

impl Published {
    /// The classes and, of regulated data, the scopes.
    fn classes(&self) -> (Vec<String>, Vec<String>) {
        let (mut classes, mut scopes) = (Vec::new(), Vec::new());
        for class in &self.secrecy {
            match class {
                Value::String(word) => classes.push(word.clone()),
                other => {
                    classes.push("regulated".to_owned());
                    let listed = other.pointer("/regulated/scopes").and_then(Value::as_array);
                    scopes.extend(listed.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned));
                }
            }
        }
        (classes, scopes)
    }

    /// The label itself.
    pub(super) fn label(&self) -> Label {
        let (classes, scopes) = self.classes();
        let (names, classes): (Vec<String>, Vec<String>) =
            classes.into_iter().partition(|class| class_name(class).is_some());
        let integrity = Some(format!("integrity:{}", self.integrity)).filter(|_| self.integrity != "owner");
        let sources = self.sources.iter().map(|source| format!("source:{source}"));
        let words: Vec<String> =
            self.flags.iter().cloned().chain(integrity).chain(classes).chain(sources).collect();
        let set = |texts: &[String]| TextSet::of(texts.iter().map(String::as_str));
        label_of_words(words.iter().map(String::as_str), set(&scopes), set(&names), set(&self.origins))
    }

    fn secrecy(&self) -> String {
        let (classes, scopes) = self.classes();
        match (classes.is_empty(), scopes.is_empty()) {
            (true, _) => "-".to_owned(),
            (false, true) => listed(&classes),
            (false, false) => format!("{} ({})", listed(&classes), listed(&scopes)),
        }
    }

    /// In one line.
    pub(crate) fn words(&self) -> String {
        let mut words = format!("integrity {}, secrecy {}", plain(&self.integrity), self.secrecy());
        if !self.flags.is_empty() {
            words.push_str(&format!(", {}", listed(&self.flags)));
        }
        words
    }
}

/// Sessions, one a line.
pub(super) fn table(rows: &[Row]) -> String {
    let heads = ["session", "integrity", "secrecy", "flags", "risk", "epoch", "last used (UTC)", "rests on"];
    let mut table = Table::new(heads);
    for row in rows {
        let flags = if row.label.flags.is_empty() { "-".to_owned() } else { listed(&row.label.flags) };
        table.row([
            plain(row.key.as_str()),
            plain(&row.label.integrity),
            row.label.secrecy(),
            flags,
            row.risk.score.to_string(),
            row.epoch.to_string(),
            minute(row.seen),
            rests_on(row),
        ]);
    }
    table.text(View::stdout())
}

/// What the key of a session rests on, and whether something is pending.
fn rests_on(row: &Row) -> String {
    let pending = if row.pending.is_some() { "; what was read before a silence is pending" } else { "" };
    plain(&row.rests_on) + pending
}

/// One session.
pub(super) fn text(shown: &Shown, chronicle: &Chronicle) -> String {
    let mut text = String::new();
    // Writing to a text cannot fail.
    write(&mut text, shown, chronicle).unwrap_or_default();
    text
}

fn write(text: &mut String, shown: &Shown, chronicle: &Chronicle) -> std::fmt::Result {
    let Shown { session, declassifications } = shown;
    let Row { label, .. } = session;
    writeln!(text, "session `{}`, epoch {}", plain(session.key.as_str()), session.epoch)?;
    writeln!(
        text,
        "   = of `{}`, first used through virtual server `{}`",
        plain(session.principal.as_str()),
        plain(&session.virtual_server)
    )?;
    if !session.rests_on.is_empty() {
        writeln!(text, "   = rests on {}", plain(&session.rests_on))?;
    }
    writeln!(text, "   = since {}, last used {} UTC", moment(session.created), minute(session.seen))?;
    if let Some(ended) = session.ended {
        writeln!(text, "   = ended {}", moment(ended))?;
    }
    writeln!(text, "\nwhat it has taken in")?;
    let rows = [
        ["secrecy", &label.secrecy()],
        ["integrity", &plain(&label.integrity)],
        ["flags", &listed(&label.flags)],
        ["sources", &listed(&label.sources)],
        ["origins", &listed(&label.origins)],
    ];
    let rows: Vec<[String; 2]> =
        rows.into_iter().filter(|[_, value]| !value.is_empty()).map(|row| row.map(str::to_owned)).collect();
    crate::explain::table(text, "  ", &rows)?;
    if let Some(earlier) = &session.pending {
        writeln!(
            text,
            "\npending: what was read from {} to {}",
            moment(earlier.since),
            moment(earlier.until)
        )?;
        writeln!(text, "  {}", earlier.label.words())?;
        let principal = plain(session.principal.as_str());
        writeln!(text, "  if this is a new conversation: highwater session new --principal {principal}")?;
    }
    brought(text, chronicle)?;
    legs(text, &label.label(), chronicle)?;
    if !declassifications.is_empty() {
        writeln!(text, "\ntaken down by people")?;
    }
    for lowered in declassifications {
        let outcome = match lowered.outcome.as_str() {
            "done" => String::new(),
            other => format!(" ({})", plain(other)),
        };
        writeln!(
            text,
            "  {}  epoch {} by `{}`{outcome}: {}",
            moment(lowered.at),
            lowered.epoch,
            plain(&lowered.person),
            plain(&lowered.reason)
        )?;
    }
    Ok(())
}

/// Sessions are seen to the minute.
fn minute(time: Timestamp) -> String {
    let clock = crate::explain::when::clock(time);
    format!("{} {}", date(time), clock.get(..5).unwrap_or(&clock))
}

/// What the session has done of the three things that together make an exfiltration, and with which call.
fn legs(text: &mut String, label: &Label, chronicle: &Chronicle) -> std::fmt::Result {
    let risk = SessionRisk::of(label);
    writeln!(
        text,
        "\nrisk {} of 100{}",
        risk.score(),
        if risk.trifecta() { ", all three legs are met" } else { "" }
    )?;
    let rows: Vec<[String; 3]> = Leg::ALL
        .into_iter()
        .map(|leg| {
            let met = leg.is_met(label);
            let by = match chronicle.set_by(leg).filter(|_| met) {
                Some(call) => format!("{} with {} ({})", moment(call.time), plain(&call.what), call.id),
                None if met => "by a call that is not in this log".to_owned(),
                None => String::new(),
            };
            [leg.told().to_owned(), if met { "yes" } else { "no" }.to_owned(), by]
        })
        .collect();
    crate::explain::table(text, "  ", &rows)
}
