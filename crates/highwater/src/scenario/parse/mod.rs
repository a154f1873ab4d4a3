//! From the text of a scenario file to a [`Scenario`], with every complaint at its place.

mod step;
mod upstream;

use std::collections::BTreeMap;

use highwater_config::Diagnostics;
use highwater_config::document::{Complaint, Complaints, Document, Entries, Shaped, Span, Written};

use serde_json::json;

use super::file::{AnswerFile, AnswerWord, AnswersFile, ClientFile, Era, Flow, MatrixFile, ScenarioFile};
use super::model::{Answer, ClientSpec, MAIN, Scenario, Telling};

/// Reads a scenario.
pub(crate) fn scenario(name: &str, text: &str) -> Result<Scenario, Diagnostics> {
    let document = Document::parse(name, text)?;
    let complaints = Complaints::default();
    let read =
        document.read::<ScenarioFile>(&complaints).map(|file| Parts::of(&file, &document, &complaints));
    let parts = complaints.or(&document, read)?;
    let Parts { about, tellings, upstreams, clients, steps, audit } = parts;
    Ok(Scenario { document, about, tellings, upstreams, clients, steps, audit })
}

/// A scenario without its document, from which it is still being read.
struct Parts {
    about: Option<String>,
    tellings: Vec<Telling>,
    upstreams: Vec<super::model::Upstream>,
    clients: BTreeMap<String, ClientSpec>,
    steps: Vec<super::model::Step>,
    audit: super::file::expect::AuditFile,
}

/// What a part of the file is read with.
#[derive(Clone, Copy)]
struct Reading<'a> {
    document: &'a Document,
    complaints: &'a Complaints,
    tellings: &'a [Telling],
}

// === impl Parts ===

impl Parts {
    fn of(file: &ScenarioFile, document: &Document, complaints: &Complaints) -> Self {
        let tellings = tellings(file.matrix.value());
        let reading = Reading { document, complaints, tellings: &tellings };
        let upstreams = upstream::all(file.upstreams.value(), reading);
        let clients = clients(file.clients.value(), reading);
        let steps = step::all(file, &clients, reading);
        let audit = file.audit.value().cloned().unwrap_or_default();
        Self { about: file.about.value().cloned(), upstreams, clients, steps, audit, tellings }
    }
}

// === impl Reading ===

impl Reading<'_> {
    fn complain(&self, complaint: Complaint) {
        self.complaints.complain(complaint);
    }
}

/// Every combination of the matrix; one plain telling if there is none.
fn tellings(matrix: Option<&MatrixFile>) -> Vec<Telling> {
    fn axis<T: Copy>(field: Option<&Vec<T>>) -> Vec<Option<T>> {
        match field {
            Some(values) if !values.is_empty() => values.iter().copied().map(Some).collect(),
            _ => vec![None],
        }
    }
    let flows: Vec<Option<Flow>> = axis(matrix.and_then(|matrix| matrix.flow.value()));
    let eras: Vec<Option<Era>> = axis(matrix.and_then(|matrix| matrix.era.value()));
    flows.iter().flat_map(|flow| eras.iter().map(|era| Telling { flow: *flow, era: *era })).collect()
}

fn clients(entries: Option<&Entries<ClientFile>>, reading: Reading<'_>) -> BTreeMap<String, ClientSpec> {
    let mut clients = BTreeMap::from([(MAIN.to_owned(), ClientSpec::default())]);
    for (name, file) in entries.map(|entries| entries.0.as_slice()).unwrap_or_default() {
        clients.insert(name.value.clone(), client(file, reading));
    }
    clients
}

fn client(file: &ClientFile, reading: Reading<'_>) -> ClientSpec {
    let cannot = |answer: &AnswerFile| matches!(answer, AnswerFile::Word(AnswerWord::Cannot));
    let written = file.answer.read();
    let cannot_be_asked = written.is_some_and(|written| written.value.0.0.iter().any(cannot));
    let answers = match written {
        Some(written) if !cannot_be_asked => answers(written, reading),
        _ => Vec::new(),
    };
    let plain = ClientSpec::default();
    let capabilities = match file.capabilities.value() {
        Some(capabilities) => capabilities.0.clone(),
        None if cannot_be_asked => json!({}),
        None => plain.capabilities,
    };
    ClientSpec {
        era: file.era.value().copied(),
        virtual_server: file.virtual_server.value().cloned(),
        context: file.context.value().cloned(),
        token: file.token.value().cloned(),
        capabilities,
        answers,
    }
}

/// Answers somewhere where the client can be asked.
fn answers(written: &Written<Shaped<AnswersFile>>, reading: Reading<'_>) -> Vec<Answer> {
    let answers = &written.value.0.0;
    answers.iter().filter_map(|answer| one_answer(answer, written.span, reading)).collect()
}

fn one_answer(answer: &AnswerFile, span: Span, reading: Reading<'_>) -> Option<Answer> {
    match answer {
        AnswerFile::Word(AnswerWord::Accept) => Some(Answer::Accept(None)),
        AnswerFile::Word(AnswerWord::Decline) => Some(Answer::Decline),
        AnswerFile::Word(AnswerWord::Cancel) => Some(Answer::Cancel),
        AnswerFile::Word(AnswerWord::Cannot) => {
            let help = "write `clients: { NAME: { answer: cannot } }`: a client says once and for all whether it can be asked";
            reading.complain(Complaint::new(span, "`cannot` is said of a client, not of a step").help(help));
            None
        }
        AnswerFile::Long(long) => {
            let given = [
                long.accept.value().map(|content| Answer::Accept(Some(content.0.clone()))),
                long.sample.value().cloned().map(Answer::Sample),
                long.roots.value().cloned().map(Answer::Roots),
            ];
            let mut given = given.into_iter().flatten();
            match (given.next(), given.next()) {
                (Some(answer), None) => Some(answer),
                _ => {
                    let help = "write one of `accept`, `sample`, `roots`";
                    reading.complain(Complaint::new(span, "an answer is one thing").help(help));
                    None
                }
            }
        }
    }
}
