//! The labels of one server: tools, resources and prompts, with their cases.

use std::collections::BTreeMap;
use std::sync::Arc;

use highwater_core::annotation::{ArgumentCase, Claim, Claims, Hints, OperatorLabel, ResultCase, Scalar};
use highwater_core::policy::PathGlob;
use highwater_display::Sentence;
use highwater_notation::Pointer;
use highwater_rules::{ConditionSource, Written as Word, compile_case, compile_cases};

use super::Lowering;
use super::condition::{ConditionReader, shown};
use super::label::claim;
use super::rules::problem;
use crate::check::cases::{Quarrel, outside, quarrels};
use crate::check::texts::{Found, Pattern, find};
use crate::diagnose::Problem;
use crate::file::ServerFile;
use crate::file::label::{CaseFile, InputMetadataFile, LabelFile, ResultCaseFile, ReturnMetadataFile};
use crate::node::Span;
use crate::read::{Entries, Field, Written};
use crate::settings::{LabelSettings, Labels};

/// The key in `labels` that stands for every tool of the server.
const EVERY_TOOL: &str = "*";

/// What a label is about; decides which of its keys mean something.
#[derive(Clone, Copy, PartialEq, Eq)]
enum About {
    Tool,
    Resource,
    Prompt,
}

impl Lowering<'_> {
    /// Every label of a server.
    pub(super) fn labels(&self, server: &str, file: &ServerFile) -> Labels {
        let mut tools = self.named_labels(server, About::Tool, &file.labels);
        let every_tool = tools.remove(EVERY_TOOL);
        if let Some(general) = &every_tool {
            tools.values_mut().for_each(|label| *label = label.over(general));
        }
        let every_tool = every_tool.as_ref().map(LabelSettings::of_every_tool);
        let prompts = self.named_labels(server, About::Prompt, &file.prompt_labels);
        Labels { tools, every_tool, resources: self.resource_labels(server, file), prompts }
    }

    fn named_labels(
        &self,
        server: &str,
        about: About,
        field: &Field<Entries<Field<LabelFile>>>,
    ) -> BTreeMap<String, LabelSettings> {
        let entries = field.value().into_iter().flat_map(|Entries(all)| all);
        entries
            .filter_map(|(name, entry)| {
                let key = if about == About::Prompt { "prompt_labels" } else { "labels" };
                if about != About::Tool || name.value != EVERY_TOOL {
                    self.warn_of_pattern(name, key, server);
                }
                let subject = match about {
                    About::Prompt => format!("prompt `{}` of server `{server}`", name.value),
                    About::Tool | About::Resource => format!("`{}` of server `{server}`", name.value),
                };
                Some((name.value.clone(), self.operator_label(&subject, about, entry.value()?)))
            })
            .collect()
    }

    /// Names are taken as they stand, so one that looks like a pattern most likely means nothing.
    pub(super) fn warn_of_pattern(&self, name: &Written<String>, key: &str, server: &str) {
        if name.value.contains(['*', '?']) {
            self.problems.warn(Problem {
                code: Some("no-pattern"),
                message: format!(
                    "`{}` in `{key}` of server `{server}` is taken as the whole name, not as a pattern",
                    name.value
                ),
                help: Some(match key {
                    "labels" => "write each name out, or `*` alone for every tool of the server".to_owned(),
                    _ => "write each name out".to_owned(),
                }),
                span: Some(name.span),
                also: None,
            });
        }
    }

    fn resource_labels(&self, server: &str, file: &ServerFile) -> Vec<(PathGlob, LabelSettings)> {
        let entries = file.resource_labels.value().into_iter().flat_map(|Entries(all)| all);
        let mut labels: Vec<(&Written<String>, PathGlob, LabelSettings)> = Vec::new();
        for (uri, entry) in entries {
            let Some(pattern) = PathGlob::new(&uri.value) else {
                self.report(
                    uri.span,
                    format!("the pattern in `resource_labels` of server `{server}` is too long"),
                    "write a shorter one; `*` stands for any run of characters",
                );
                continue;
            };
            let subject = format!("resource `{}` of server `{server}`", uri.value);
            if let Some(label) = entry.value() {
                labels.push((uri, pattern, self.operator_label(&subject, About::Resource, label)));
            }
        }
        labels.sort_by_key(|(uri, ..)| std::cmp::Reverse(uri.value.chars().count()));
        self.refuse_ties(server, &labels);
        labels.into_iter().map(|(_, pattern, label)| (pattern, label)).collect()
    }

    /// The longest pattern counts, so two of one length must not match the same URI.
    fn refuse_ties(&self, server: &str, labels: &[(&Written<String>, PathGlob, LabelSettings)]) {
        let pattern = |uri: &Written<String>| Pattern::Glob(uri.value.clone());
        for (index, (uri, ..)) in labels.iter().enumerate() {
            let alike = labels.iter().skip(index + 1).map(|(other, ..)| *other);
            let alike = alike.take_while(|other| other.value.chars().count() == uri.value.chars().count());
            for other in alike {
                if let Found::Text(both) = find(&[&pattern(uri), &pattern(other)], &[]) {
                    self.problems.push(Problem {
                        code: Some("contradiction"),
                        message: format!(
                            "two patterns of one length in `resource_labels` of server `{server}` match `{both}`"
                        ),
                        help: Some("make one of them longer; the longest counts".to_owned()),
                        span: Some(other.span),
                        also: Some(Box::new((format!("the other is `{}`", uri.value), uri.span))),
                    });
                }
            }
        }
    }

    fn operator_label(&self, subject: &str, about: About, file: &LabelFile) -> LabelSettings {
        let mut claims = Claims::new();
        self.input_metadata(subject, &file.input_metadata, &mut claims);
        self.return_metadata(subject, &file.return_metadata, &mut claims);
        if let Some(&word) = file.approval.value() {
            claim(&mut claims, Claim::SetApproval(word.into()));
        }
        self.hints(subject, about, file, &mut claims);
        self.read_level(subject, &file.read_confidentiality, &mut claims);
        self.write_level(subject, &file.write_confidentiality, &mut claims);
        self.capabilities(&file.capabilities, &mut claims);
        if about != About::Tool {
            self.refuse_about_tools(subject, "write_confidentiality", &file.write_confidentiality);
            self.refuse_about_tools(subject, "capabilities", &file.capabilities);
            self.refuse_about_tools(subject, "display", &file.display);
            self.refuse_about_tools(subject, "caps", &file.caps);
            self.refuse_about_tools(subject, "records", &file.records);
        }
        if about == About::Resource {
            self.refuse_in_resource(subject, "roles", &file.roles);
            self.refuse_in_resource(subject, "cases", &file.cases);
        }
        self.roles(subject, file, &mut claims);
        let mut written = told(&claims);
        let cases =
            self.call_cases(subject, &claims, file.cases.value().map_or(&[], Vec::as_slice), &mut written);
        let results =
            self.reply_cases(subject, &claims, file.result.value().map_or(&[], Vec::as_slice), &mut written);
        let display = self.display(subject, &file.display, &mut written);
        let records = self.records(subject, &file.records, &mut written);
        let caps = self.caps(subject, &file.caps, &mut written);
        let label = OperatorLabel::new(&claims, cases, results).with_caps(caps);
        LabelSettings::new(Arc::new(label), display, records, written)
    }

    /// The sentence for people.
    fn display(&self, subject: &str, field: &Field<String>, written: &mut String) -> Option<Arc<Sentence>> {
        let said = field.read()?;
        match Sentence::parse(&said.value) {
            Ok(sentence) => {
                written.push_str(&format!("; display {:?}", sentence.as_str()));
                Some(Arc::new(sentence))
            }
            Err(fault) => {
                self.report(
                    said.span,
                    format!("`display` of {subject} {fault}"),
                    "write one sentence with arguments in braces, such as `Transfer {amount} EUR to {to}`; `{{` is a brace",
                );
                None
            }
        }
    }

    fn refuse_in_resource<T>(&self, subject: &str, key: &str, field: &Field<T>) {
        if let Some(written) = field.read() {
            let message = format!("`{key}` of {subject} mean nothing: reading a resource has no arguments");
            self.report(written.span, message, format!("remove `{key}`"));
        }
    }

    fn refuse_about_tools<T>(&self, subject: &str, key: &str, field: &Field<T>) {
        if let Some(written) = field.read() {
            let message = format!("`{key}` of {subject} means nothing: it is about tools");
            self.report(written.span, message, format!("remove `{key}`"));
        }
    }

    /// The four hints, which are about tools alone: asking for a resource or a prompt changes nothing.
    fn hints(&self, subject: &str, about: About, file: &LabelFile, claims: &mut Claims) {
        let hints = [
            ("readOnlyHint", &file.read_only_hint),
            ("destructiveHint", &file.destructive_hint),
            ("idempotentHint", &file.idempotent_hint),
            ("openWorldHint", &file.open_world_hint),
        ];
        if about != About::Tool {
            hints.iter().for_each(|(key, field)| self.refuse_about_tools(subject, key, field));
        }
        let [read_only, destructive, idempotent, open_world] = hints.map(|(_, field)| field.value().copied());
        let said = Hints { read_only, destructive, idempotent, open_world };
        if said != Hints::default() {
            claim(claims, Claim::Hints(said));
        }
    }

    fn roles(&self, subject: &str, file: &LabelFile, claims: &mut Claims) {
        for (argument, role) in file.roles.value().into_iter().flat_map(|Entries(all)| all) {
            let path = argument.value.strip_prefix('/').unwrap_or(&argument.value);
            match Pointer::parse(path) {
                Some(pointer) => {
                    let argument = pointer.as_str().into();
                    claim(claims, Claim::Role { argument, role: role.value.into() });
                }
                None => self.report(
                    argument.span,
                    format!("`{}` in `roles` of {subject} names no argument", argument.value),
                    "write the name of an argument, or a pointer such as `/message/to`",
                ),
            }
        }
    }

    fn call_cases(
        &self,
        subject: &str,
        fixed: &Claims,
        cases: &[Written<CaseFile>],
        written: &mut String,
    ) -> Vec<ArgumentCase> {
        let mut made = Vec::new();
        let mut conditions = Vec::new();
        for (number, Written { span: at, value: file }) in cases.iter().enumerate() {
            let subject = format!("case {} of {subject}", number + 1);
            let mut claims = Claims::new();
            self.input_metadata(&subject, &file.input_metadata, &mut claims);
            self.return_metadata(&subject, &file.return_metadata, &mut claims);
            self.read_level(&subject, &file.read_confidentiality, &mut claims);
            self.write_level(&subject, &file.write_confidentiality, &mut claims);
            self.capabilities(&file.capabilities, &mut claims);
            if let Some(&word) = file.approval.value() {
                claim(&mut claims, Claim::SetApproval(word.into()));
            }
            let spot = |key: &str| match key {
                "read_confidentiality" => file.read_confidentiality.read().map(|written| written.span),
                "write_confidentiality" => file.write_confidentiality.read().map(|written| written.span),
                key => of_input(key, &file.input_metadata).or_else(|| of_return(key, &file.return_metadata)),
            };
            self.check_case(*at, &subject, fixed, &claims, spot);
            let Some(condition) = self.condition(*at, &subject, &file.conditions, &file.when) else {
                continue;
            };
            written.push_str(&format!("; when {}: {}", shown(&condition), told(&claims)));
            match compile_case(&condition) {
                Ok(when) => {
                    conditions.push((*at, condition, claims.clone()));
                    made.push(ArgumentCase::new(when, &claims));
                }
                Err(errors) => errors.into_iter().for_each(|error| self.problems.push(problem(error))),
            }
        }
        self.refuse_quarrels(subject, &conditions);
        made
    }

    fn reply_cases(
        &self,
        subject: &str,
        fixed: &Claims,
        cases: &[Written<ResultCaseFile>],
        written: &mut String,
    ) -> Vec<ResultCase> {
        let mut made = Vec::new();
        for (number, Written { span: at, value: file }) in cases.iter().enumerate() {
            let subject = format!("result case {} of {subject}", number + 1);
            let mut claims = Claims::new();
            self.return_metadata(&subject, &file.return_metadata, &mut claims);
            self.read_level(&subject, &file.read_confidentiality, &mut claims);
            self.check_case(*at, &subject, fixed, &claims, |key| match key {
                "read_confidentiality" => file.read_confidentiality.read().map(|written| written.span),
                key => of_return(key, &file.return_metadata),
            });
            let pointer = self.pointer(*at, &subject, &file.pointer);
            let equals = self.equals(*at, &subject, file);
            if let (Some(pointer), Some(equals)) = (pointer, equals) {
                written.push_str(&format!("; result /{} {equals:?}: {}", pointer.as_str(), told(&claims)));
                made.push(ResultCase::new(pointer, equals, &claims));
            }
        }
        made
    }

    /// Where in the result object to look.
    fn pointer(&self, at: Span, subject: &str, field: &Field<String>) -> Option<Pointer> {
        let written = match field {
            Field::Read(written) => written,
            Field::Broken => return None,
            Field::Absent => {
                let help = "write where to look, such as `/structuredContent/private`";
                self.report(at, format!("{subject} has no `pointer`"), help);
                return None;
            }
        };
        let pointer = written.value.strip_prefix('/').and_then(Pointer::parse);
        if pointer.is_none() {
            self.report(
                written.span,
                format!("`{}` in {subject} is not a JSON pointer", written.value),
                "write the path from the result object, such as `/structuredContent/private`",
            );
        }
        pointer
    }

    /// What must stand there.
    fn equals(&self, at: Span, subject: &str, file: &ResultCaseFile) -> Option<Scalar> {
        let (span, node) = match &file.equals {
            Field::Read(tree) => (tree.span, self.trees.node(tree.value)?),
            Field::Broken => return None,
            Field::Absent => {
                self.report(
                    at,
                    format!("{subject} has no `equals`"),
                    "write the value that must stand there",
                );
                return None;
            }
        };
        let reader = ConditionReader { text: self.text, problems: self.problems };
        match reader.value(node).value {
            Word::Bool(value) => Some(Scalar::Bool(value)),
            Word::Int(value) => Some(Scalar::Int(value)),
            Word::Text(text) => Some(Scalar::Text(text.into())),
            Word::List(_) | Word::Other(_) => {
                self.problems.report_code(
                    "wrong-type",
                    span,
                    format!("`equals` of {subject} must be a text, a whole number, `true` or `false`"),
                    "write one value; for several, make several cases",
                );
                None
            }
        }
    }

    /// A case says something, and within what is said of every call. `spot` is where it says it.
    fn check_case(
        &self,
        at: Span,
        subject: &str,
        fixed: &Claims,
        claims: &Claims,
        spot: impl Fn(&str) -> Option<Span>,
    ) {
        if claims.is_empty() {
            let help = "write what holds for it, such as `returnMetadata`";
            self.report(at, format!("{subject} says nothing"), help);
        }
        if let Some(key) = outside(fixed, claims) {
            self.problems.report_code(
                "contradiction",
                spot(key).unwrap_or(at),
                format!("`{key}` of {subject} is outside what is said of every call"),
                "a case narrows: add its values to the list above it",
            );
        }
    }

    /// Cases that can apply to one call must leave something that both allow.
    fn refuse_quarrels(&self, subject: &str, cases: &[(Span, ConditionSource, Claims)]) {
        let sources: Vec<ConditionSource> = cases.iter().map(|(_, source, _)| source.clone()).collect();
        let Ok(set) = compile_cases(&sources) else { return };
        let claims: Vec<&Claims> = cases.iter().map(|(_, _, claims)| claims).collect();
        for Quarrel { first, second, about, example } in quarrels(&set, &claims) {
            let (Some((earlier, ..)), Some((later, ..))) = (cases.get(first), cases.get(second)) else {
                continue;
            };
            self.problems.push(Problem {
                code: Some("contradiction"),
                message: format!(
                    "cases {} and {} of {subject} contradict each other on `{about}`",
                    first + 1,
                    second + 1
                ),
                help: Some(format!(
                    "both apply to the arguments `{example}`; make their conditions exclude each other"
                )),
                span: Some(*later),
                also: Some(Box::new((format!("case {} is here", first + 1), *earlier))),
            });
        }
    }
}

/// Where a key of `inputMetadata` is written.
fn of_input(key: &str, field: &Field<InputMetadataFile>) -> Option<Span> {
    let file = field.value()?;
    match key {
        "inputMetadata.destination" => file.destination.read().map(|written| written.span),
        "inputMetadata.sensitivity" => file.sensitivity.read().map(|written| written.span),
        "inputMetadata.outcomes" => file.outcomes.read().map(|written| written.span),
        _ => None,
    }
}

/// Where a key of `returnMetadata` is written.
fn of_return(key: &str, field: &Field<ReturnMetadataFile>) -> Option<Span> {
    let file = field.value()?;
    match key {
        "returnMetadata.source" => file.source.read().map(|written| written.span),
        "returnMetadata.sensitivity" => file.sensitivity.read().map(|written| written.span),
        _ => None,
    }
}

/// The claims in the order they were written, to compare labels and to show them.
fn told(claims: &Claims) -> String {
    let told: Vec<String> = claims.iter().map(|said| format!("{:?}", said.claim)).collect();
    told.join(", ")
}
