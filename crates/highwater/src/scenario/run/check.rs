//! Expected against seen, part by part.

use serde_json::Value;

use super::matching::{contains, subset};
use super::seen::{Seen, Sight};
use crate::scenario::file::expect::{
    AskedFile, AuditFile, EffectWord, ExpectFile, LabelFile, SawFile, SightFile,
};
use crate::scenario::file::{Listing, Texts};
use crate::scenario::model::{Telling, What};
use highwater_config::document::{Field, Shaped};

/// The finding that a person was to be asked and did not agree.
const UNAPPROVED: &str = "structural.unapproved";

/// One part of a step that was not as expected.
#[derive(Clone, Debug, serde::Serialize)]
pub(crate) struct Mismatch {
    /// Which part.
    pub(crate) part: &'static str,
    pub(crate) expected: String,
    pub(crate) seen: String,
}

/// Compares a step with what is expected of it in this telling.
pub(super) fn step(what: &What, expect: &ExpectFile, telling: Telling, seen: &Seen) -> Vec<Mismatch> {
    let expect = expect.in_telling(telling);
    let mut found = Vec::new();
    effect(&expect, seen, &mut found);
    findings(&expect, seen, &mut found);
    if let Some(label) = expect.label.value() {
        compare_label("label", label, seen.label.as_ref(), &mut found);
    }
    if let Some(session) = expect.session.value() {
        compare_label("session", session, seen.session.as_ref(), &mut found);
    }
    answer(&expect, seen, &mut found);
    asked(&expect, seen, &mut found);
    saw(what, &expect, seen, &mut found);
    listed(what, &expect, seen, &mut found);
    found
}

/// Compares the audit log as a whole.
pub(super) fn audit(expect: &AuditFile, events: &[Value]) -> Vec<Mismatch> {
    let mut found = Vec::new();
    // Who came and what became of the log itself is no part of a story.
    let of_calls =
        |event: &&Value| !matches!(event.get("event").and_then(Value::as_str), Some("access" | "log"));
    let is_decision = |event: &&Value| event.get("event").and_then(Value::as_str) == Some("decision");
    let counts = [
        ("audit events", expect.events.value(), events.iter().filter(of_calls).count()),
        ("audit decisions", expect.decisions.value(), events.iter().filter(is_decision).count()),
    ];
    for (part, expected, seen) in counts {
        if let Some(expected) = expected.filter(|expected| usize::try_from(**expected) != Ok(seen)) {
            let kinds: Vec<&str> = events.iter().filter_map(|event| event.get("event")?.as_str()).collect();
            found.push(Mismatch::new(part, expected.to_string(), format!("{seen}: {}", kinds.join(", "))));
        }
    }
    for wanted in expect.contains.value().into_iter().flatten() {
        if !events.iter().any(|event| subset(&wanted.0, event).is_ok()) {
            let all: Vec<String> = events.iter().map(Value::to_string).collect();
            found.push(Mismatch::new("audit", format!("an event with {}", wanted.0), all.join("\n")));
        }
    }
    for text in texts(&expect.lacks) {
        if let Some(event) = events.iter().find(|event| event.to_string().contains(text)) {
            found.push(Mismatch::new("audit", format!("nothing with {text:?}"), event.to_string()));
        }
    }
    found
}

fn effect(expect: &ExpectFile, seen: &Seen, found: &mut Vec<Mismatch>) {
    if let Some(expected) = expect.effect.value().filter(|expected| seen.effect != Some(**expected)) {
        let seen_effect = seen.effect.map_or("no decision", EffectWord::word);
        found.push(Mismatch::new(
            "effect",
            expected.word(),
            format!("{seen_effect}{}", shown_findings(seen)),
        ));
    }
}

fn findings(expect: &ExpectFile, seen: &Seen, found: &mut Vec<Mismatch>) {
    if let Some(expected) = expect.findings.value() {
        let sorted = |ids: &[String]| {
            let mut ids = ids.to_vec();
            ids.sort();
            ids.dedup();
            ids
        };
        // That there was no yes is told by `asked` and `upstream_saw`; it is compared where somebody says it.
        let said = |id: &&String| *id != UNAPPROVED || expected.contains(id);
        let found_ids: Vec<String> = seen.findings.iter().filter(said).cloned().collect();
        if sorted(expected) != sorted(&found_ids) {
            found.push(Mismatch::new("findings", list(&sorted(expected)), list(&sorted(&found_ids))));
        }
    }
    if let Some(would) = expect.would.value() {
        let modes = [("balanced", &would.balanced), ("strict", &would.strict), ("samos", &would.samos)];
        for (mode, expected) in modes {
            let Some(expected) = expected.value() else { continue };
            // A mode in which nothing is found would allow it.
            let recorded = seen.would.get(mode).copied().unwrap_or(EffectWord::Allow).word();
            if recorded != expected.word() {
                let part = "would";
                found.push(Mismatch::new(
                    part,
                    format!("{mode}: {}", expected.word()),
                    format!("{mode}: {recorded}"),
                ));
            }
        }
    }
    for notice in expect.notices.value().into_iter().flatten() {
        if !seen.notices.contains(notice) {
            found.push(Mismatch::new("notices", notice, list(&seen.notices)));
        }
    }
}

fn compare_label(part: &'static str, expected: &LabelFile, seen: Option<&Value>, found: &mut Vec<Mismatch>) {
    let Some(seen) = seen else {
        found.push(Mismatch::new(part, "a label", "none was given"));
        return;
    };
    let strings = |key: &str| -> Vec<String> {
        let items = seen.get(key).and_then(Value::as_array).into_iter().flatten();
        let mut items: Vec<String> =
            items.map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned)).collect();
        items.sort();
        items
    };
    if let Some(secrecy) = expected.secrecy.value() {
        let (classes, mut wanted) = (strings("secrecy"), secrecy.0.0.clone());
        wanted.sort();
        let fits = match wanted.as_slice() {
            [word] if word == "low" => classes.is_empty(),
            [word] if word == "high" => !classes.is_empty(),
            exact => exact == classes,
        };
        if !fits {
            found.push(Mismatch::new(
                part,
                format!("secrecy {}", list(&wanted)),
                format!("secrecy {}", list(&classes)),
            ));
        }
    }
    if let Some(integrity) = expected.integrity.value() {
        let level = seen.get("integrity").and_then(Value::as_str).unwrap_or("none given");
        if level != integrity {
            found.push(Mismatch::new(part, format!("integrity {integrity}"), format!("integrity {level}")));
        }
    }
    if let Some(flags) = expected.flags.value() {
        let mut wanted = flags.clone();
        wanted.sort();
        if wanted != strings("flags") {
            found.push(Mismatch::new(
                part,
                format!("flags {}", list(&wanted)),
                format!("flags {}", list(&strings("flags"))),
            ));
        }
    }
    for origin in expected.origins.value().into_iter().flatten() {
        if !strings("origins").contains(origin) {
            found.push(Mismatch::new(
                part,
                format!("origin {origin}"),
                format!("origins {}", list(&strings("origins"))),
            ));
        }
    }
}

fn answer(expect: &ExpectFile, seen: &Seen, found: &mut Vec<Mismatch>) {
    let given = || match &seen.answer {
        Some(Ok(result)) => result.to_string(),
        Some(Err(error)) => format!("the error {error}"),
        None => "no answer".to_owned(),
    };
    for text in texts(&expect.text) {
        if !seen.text.contains(text) {
            found.push(Mismatch::new("text", format!("{text:?}"), format!("{:?}", seen.text)));
        }
    }
    for text in texts(&expect.lacks) {
        if given().contains(text) || seen.notified.iter().any(|said| said.contains(text)) {
            found.push(Mismatch::new("lacks", format!("nothing with {text:?}"), given()));
        }
    }
    for text in texts(&expect.notified) {
        if !seen.notified.iter().any(|said| said.contains(text)) {
            found.push(Mismatch::new("notified", format!("{text:?}"), list(&seen.notified)));
        }
    }
    if let Some(result) = expect.result.value() {
        match &seen.answer {
            Some(Ok(answer)) => {
                if let Err(difference) = subset(&result.0, answer) {
                    found.push(Mismatch::new("result", difference.expected, difference.seen));
                }
            }
            _ => found.push(Mismatch::new("result", result.0.to_string(), given())),
        }
    }
    if let Some(error) = expect.error.value() {
        let wanted = match &error.0 {
            Value::Number(code) => serde_json::json!({ "code": code }),
            other => other.clone(),
        };
        match &seen.answer {
            Some(Err(answer)) => {
                if let Err(difference) = subset(&wanted, answer) {
                    found.push(Mismatch::new("error", difference.expected, difference.seen));
                }
            }
            _ => found.push(Mismatch::new("error", wanted.to_string(), given())),
        }
    } else if let (Some(Err(error)), true) = (&seen.answer, expect.expects_an_answer()) {
        found.push(Mismatch::new("error", "no error", error.to_string()));
    }
}

fn asked(expect: &ExpectFile, seen: &Seen, found: &mut Vec<Mismatch>) {
    let questions = || match seen.asked.len() {
        0 => "no question".to_owned(),
        _ => list(&seen.asked),
    };
    match expect.asked.value().map(|asked| &asked.0) {
        Some(AskedFile::Times(times)) if seen.asked.len() != *times => {
            found.push(Mismatch::new("asked", format!("{times} questions"), questions()));
        }
        Some(AskedFile::Times(_)) => {}
        Some(AskedFile::Saying(texts)) => {
            let all = texts.len() == seen.asked.len();
            if !all || texts.iter().zip(&seen.asked).any(|(text, asked)| !asked.contains(text)) {
                found.push(Mismatch::new("asked", list(texts), questions()));
            }
        }
        // A question that nobody foresaw must not pass unseen.
        None if seen.unanswered > 0 => found.push(Mismatch::new("asked", "no question", questions())),
        None => {}
    }
}

/// What the servers saw; without a word about it, what follows from the effect.
fn saw(what: &What, expect: &ExpectFile, seen: &Seen, found: &mut Vec<Mismatch>) {
    let of_the_step = |sight: &&Sight| Some(sight.method.as_str()) == what.method() && is_about(what, sight);
    let times = seen.sights.iter().filter(of_the_step).count();
    let shown = || list(&seen.sights.iter().map(Sight::shown).collect::<Vec<_>>());
    let mut compare = |expected: usize| {
        if times != expected {
            let words = match expected {
                0 => "nothing of it".to_owned(),
                1 => "it, once, with the same arguments".to_owned(),
                several => format!("it, {several} times, with the same arguments"),
            };
            found.push(Mismatch::new("upstream_saw", words, shown()));
        }
    };
    match expect.upstream_saw.value().map(|saw| &saw.0) {
        Some(SawFile::Nothing) => {
            if !seen.sights.is_empty() {
                found.push(Mismatch::new("upstream_saw", "nothing", shown()));
            }
        }
        Some(SawFile::Times(expected)) => compare(*expected),
        Some(SawFile::Exactly(expected)) => {
            let fits = expected.len() == seen.sights.len()
                && expected.iter().zip(&seen.sights).all(|(wanted, sight)| wanted.fits(sight));
            if !fits {
                let wanted: Vec<String> = expected.iter().map(SightFile::shown).collect();
                let all: Vec<String> = seen
                    .sights
                    .iter()
                    .map(|sight| format!("{} {} at {}", sight.method, sight.params, sight.server))
                    .collect();
                found.push(Mismatch::new("upstream_saw", list(&wanted), list(&all)));
            }
        }
        None => match expect.effect.value() {
            Some(EffectWord::Allow | EffectWord::Redact | EffectWord::Withhold) => compare(1),
            Some(EffectWord::Block | EffectWord::Passkey) => compare(0),
            // It depends on the answer; whoever writes the step says which.
            Some(EffectWord::Confirm) | None => {}
        },
    }
}

/// Whether a message carries what the step wanted, arguments included.
fn is_about(what: &What, sight: &Sight) -> bool {
    match what {
        What::Call { tool, arguments } | What::Resolve { tool, arguments } => {
            tool.ends_with(sight.name()) && sight.params.get("arguments").unwrap_or(&Value::Null) == arguments
        }
        What::GetPrompt { name, .. } => name.ends_with(sight.name()),
        _ => true,
    }
}

fn listed(what: &What, expect: &ExpectFile, seen: &Seen, found: &mut Vec<Mismatch>) {
    let What::List(listing) = what else { return };
    let (key, name) = match listing {
        Listing::Tools => ("tools", "name"),
        Listing::Prompts => ("prompts", "name"),
        Listing::Resources => ("resources", "uri"),
        Listing::ResourceTemplates => ("resourceTemplates", "uriTemplate"),
    };
    let entries = seen.answer.as_ref().and_then(|answer| answer.as_ref().ok()?.get(key)?.as_array());
    let names: Vec<String> = entries
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.get(name)?.as_str().map(str::to_owned))
        .collect();
    for wanted in expect.listed.value().into_iter().flatten().filter(|wanted| !names.contains(wanted)) {
        found.push(Mismatch::new("listed", wanted, list(&names)));
    }
    for unwanted in expect.hidden.value().into_iter().flatten().filter(|unwanted| names.contains(unwanted)) {
        found.push(Mismatch::new("hidden", format!("no {unwanted}"), list(&names)));
    }
}

// === impl SightFile ===

impl SightFile {
    fn fits(&self, sight: &Sight) -> bool {
        let kinds = [
            (self.call.value(), "tools/call"),
            (self.read.value(), "resources/read"),
            (self.get_prompt.value(), "prompts/get"),
            (self.complete.value(), "completion/complete"),
            (self.resolve.value(), "tools/resolve"),
        ];
        let kind = kinds.iter().all(|(name, method)| {
            name.is_none_or(|name| sight.method == *method && sight.name() == name.as_str())
        });
        let answer = self
            .answer
            .value()
            .is_none_or(|answer| sight.method == "answer" && subset(&answer.0, &sight.params).is_ok());
        let null = Value::Null;
        let same = |expected: &Field<highwater_config::document::Json>, key: &str| {
            expected.value().is_none_or(|wanted| sight.params.get(key).unwrap_or(&null) == &wanted.0)
        };
        let meta = self
            .meta
            .value()
            .is_none_or(|meta| subset(&meta.0, sight.params.get("_meta").unwrap_or(&null)).is_ok());
        let server = self.server.value().is_none_or(|server| *server == sight.server);
        let lacks = texts(&self.lacks).all(|text| !contains(&sight.params, text));
        kind && answer && same(&self.arguments, "arguments") && meta && server && lacks
    }

    fn shown(&self) -> String {
        let named = [
            ("call", self.call.value()),
            ("read", self.read.value()),
            ("get_prompt", self.get_prompt.value()),
            ("complete", self.complete.value()),
            ("resolve", self.resolve.value()),
        ];
        let mut words: Vec<String> =
            named.into_iter().filter_map(|(kind, name)| name.map(|name| format!("{kind} {name}"))).collect();
        let parts = [("answer", &self.answer), ("arguments", &self.arguments), ("meta", &self.meta)];
        words.extend(
            parts.into_iter().filter_map(|(key, json)| json.value().map(|json| format!("{key} {}", json.0))),
        );
        words.extend(texts(&self.lacks).map(|text| format!("without {text:?}")));
        words.join(" ")
    }
}

// === impl Mismatch ===

impl Mismatch {
    pub(super) fn new(part: &'static str, expected: impl Into<String>, seen: impl Into<String>) -> Self {
        Self { part, expected: expected.into(), seen: seen.into() }
    }
}

fn texts(field: &Field<Shaped<Texts>>) -> impl Iterator<Item = &str> {
    field.value().into_iter().flat_map(|texts| texts.0.0.iter().map(String::as_str))
}

fn list(items: &[String]) -> String {
    if items.is_empty() { "none".to_owned() } else { items.join(", ") }
}

fn shown_findings(seen: &Seen) -> String {
    if seen.findings.is_empty() { String::new() } else { format!(" ({})", seen.findings.join(", ")) }
}
