//! The steps of a scenario.

use std::collections::BTreeMap;

use highwater_config::document::{Complaint, Field, Json, Span, Written};
use serde_json::{Value, json};

use super::{Reading, answers};
use crate::scenario::file::expect::ExpectFile;
use crate::scenario::file::{CompleteFile, Era, Flow, ScenarioFile, StepFile};
use crate::scenario::model::{ClientSpec, MAIN, Step, What, members};

/// What a step can be.
const KINDS: &str = "`call`, `read`, `get_prompt`, `complete`, `list`, `resolve`, `request`, `words`, `reset`, `new_session`, `silence`, `reload`, `restart`";

/// The layers findings come from; their ids begin with one.
const LAYERS: [&str; 3] = ["structural.", "flow.", "rule."];

/// Reads all steps.
pub(super) fn all(
    file: &ScenarioFile,
    clients: &BTreeMap<String, ClientSpec>,
    reading: Reading<'_>,
) -> Vec<Step> {
    let Some(steps) = file.steps.read() else {
        reading.complain(
            Complaint::new(Span::default(), "a scenario has no `steps`")
                .help("say what happens: `steps: [{ call: … }]`"),
        );
        return Vec::new();
    };
    if steps.value.is_empty() {
        reading.complain(
            Complaint::new(steps.span, "`steps` is empty").help("say what happens: `steps: [{ call: … }]`"),
        );
    }
    let names: Vec<&str> = clients.keys().map(String::as_str).collect();
    let read = |(index, step): (usize, &Written<StepFile>)| one(index, step, &names, reading);
    steps.value.iter().enumerate().filter_map(read).collect()
}

fn one(index: usize, written: &Written<StepFile>, clients: &[&str], reading: Reading<'_>) -> Option<Step> {
    let file = &written.value;
    let what = what(file, written.span, reading);
    let named = [&file.client, &file.reset, &file.new_session].into_iter().filter_map(Field::read);
    for name in named.filter(|name| !clients.contains(&name.value.as_str())) {
        reading.complain(Complaint::unknown(name.span, "client", &name.value, clients));
    }
    let words: Vec<&str> = Flow::ALL.map(Flow::word).into_iter().chain(Era::ALL.map(Era::word)).collect();
    let only = file.only.value().map(Vec::as_slice).unwrap_or_default();
    for word in only {
        if !words.contains(&word.value.as_str()) {
            reading.complain(Complaint::unknown(word.span, "word of the matrix", &word.value, &words));
        } else if !reading.tellings.iter().any(|telling| telling.is(&word.value)) {
            let message = format!("no telling is `{}`, so the step would never happen", word.value);
            reading.complain(Complaint::new(word.span, message).help("add it to `matrix`"));
        }
    }
    if let Some(expect) = file.expect.value() {
        check_expectation(expect, reading);
    }
    Some(Step {
        index,
        line: reading.document.line(written.span),
        what: what?,
        client: file.client.value().cloned().unwrap_or_else(|| MAIN.to_owned()),
        meta: members(file.meta.value()),
        answers: file.answer.read().map(|written| answers(written, reading)),
        only: only.iter().map(|word| word.value.clone()).collect(),
        expect: file.expect.value().cloned().unwrap_or_default(),
    })
}

/// The one thing a step does.
fn what(file: &StepFile, span: Span, reading: Reading<'_>) -> Option<What> {
    let arguments = || object(&file.arguments);
    let text = |field: &Field<String>| field.value().cloned();
    let found = [
        text(&file.call).map(|tool| What::Call { tool, arguments: arguments() }),
        text(&file.read).map(|uri| What::Read { uri }),
        text(&file.get_prompt).map(|name| What::GetPrompt { name, arguments: arguments() }),
        file.complete.read().and_then(|written| completion(written, reading)),
        file.list.value().copied().map(What::List),
        text(&file.resolve).map(|tool| What::Resolve { tool, arguments: arguments() }),
        text(&file.request).map(|method| What::Request { method, params: object(&file.params) }),
        text(&file.words).map(What::Words),
        text(&file.reset).map(|client| {
            let reason = text(&file.reason).unwrap_or_else(|| "as the scenario says".to_owned());
            What::Reset { client, reason }
        }),
        text(&file.new_session).map(|client| What::NewSession { client }),
        file.silence.read().and_then(|written| silence(written, reading)),
        file.reload.value().map(|_| What::Reload),
        file.restart.value().map(|_| What::Restart),
    ];
    let mut found = found.into_iter().flatten();
    match (found.next(), found.next()) {
        (Some(what), None) => Some(what),
        (None, _) => {
            let message = "a step that does nothing";
            reading.complain(Complaint::new(span, message).help(format_args!("a step is one of {KINDS}")));
            None
        }
        (Some(first), Some(second)) => {
            let message = format!("a step that does two things: `{first}` and `{second}`");
            reading.complain(Complaint::new(span, message).help("write two steps"));
            None
        }
    }
}

fn silence(written: &Written<String>, reading: Reading<'_>) -> Option<What> {
    let time = highwater_config::parse_period(&written.value);
    if time.is_none() {
        let message = format!("`{}` is no time", written.value);
        reading.complain(Complaint::new(written.span, message).help("write a duration such as `300ms`"));
    }
    time.map(What::Silence)
}

fn completion(written: &Written<CompleteFile>, reading: Reading<'_>) -> Option<What> {
    let file = &written.value;
    let reference = match (file.prompt.value(), file.template.value()) {
        (Some(prompt), None) => json!({ "type": "ref/prompt", "name": prompt }),
        (None, Some(template)) => json!({ "type": "ref/resource", "uri": template }),
        _ => {
            let message = "a completion is of a `prompt` or of a `template`";
            reading.complain(Complaint::new(written.span, message));
            return None;
        }
    };
    let argument = file.argument.value().cloned().unwrap_or_default();
    Some(What::Complete { reference, argument, value: file.value.value().cloned().unwrap_or_default() })
}

fn object(field: &Field<Json>) -> Value {
    field.value().map_or_else(|| json!({}), |json| json.0.clone())
}

fn check_expectation(expect: &ExpectFile, reading: Reading<'_>) {
    if let Some(findings) = expect.findings.read() {
        for id in &findings.value {
            if !LAYERS.iter().any(|layer| id.starts_with(layer) && id.len() > layer.len()) {
                let help = "the id of a finding begins with `structural.`, `flow.` or `rule.`";
                reading.complain(Complaint::new(findings.span, format!("`{id}` is no finding")).help(help));
            }
        }
    }
    let parts = [
        ("observe", &expect.observe),
        ("balanced", &expect.balanced),
        ("strict", &expect.strict),
        ("samos", &expect.samos),
        ("legacy", &expect.legacy),
        ("modern", &expect.modern),
    ];
    for (word, part) in parts {
        let Some(written) = part.read() else { continue };
        if !reading.tellings.iter().any(|telling| telling.is(word)) {
            let message = format!("no telling is `{word}`, so nothing would be checked");
            reading.complain(Complaint::new(written.span, message).help("add it to `matrix`"));
        }
        check_expectation(&written.value, reading);
    }
}
