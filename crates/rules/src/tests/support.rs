//! Rules from JSON text, with places, and facts to judge.

use highwater_core::action::{Action, ActionKind};
use highwater_core::annotation::{Authority, Claim, Claims, Contract};
use highwater_core::id::{DecisionId, Principal, UpstreamId, VirtualServerId};
use highwater_core::label::Label;
use highwater_core::policy::*;
use highwater_core::trust::{ServerTrust, TrustLevel};
use highwater_notation::Arguments;
use serde_json::Value;

use crate::{
    Compiled, ConditionSource, RuleError, RuleSource, Spanned, ValueSource, WaiverSource, Written, check,
    compile, compile_early,
};

/// Reads `{"rules": […], "waivers": […]}`. A place is where the word first stands in the text.
pub(super) struct File {
    pub(super) text: String,
    pub(super) rules: Vec<RuleSource>,
    pub(super) waivers: Vec<WaiverSource>,
}

impl File {
    pub(super) fn new(text: &str) -> Self {
        let file: Value = serde_json::from_str(text).unwrap();
        let reader = Reader { text };
        let list = |key: &str| file[key].as_array().cloned().unwrap_or_default();
        Self {
            text: text.to_owned(),
            rules: list("rules").iter().map(|rule| reader.rule(rule)).collect(),
            waivers: list("waivers").iter().map(|waiver| reader.waiver(waiver)).collect(),
        }
    }

    pub(super) fn compile(&self) -> Result<RuleSet, Vec<RuleError>> {
        compile(&self.rules, &self.waivers)
    }

    pub(super) fn check(&self) -> Result<Compiled, Vec<RuleError>> {
        check(&self.rules, &self.waivers)
    }

    /// What the caret would stand under.
    pub(super) fn at(&self, span: Span) -> &str {
        self.text.get(span.start..span.end).unwrap()
    }
}

pub(super) fn rules(text: &str) -> RuleSet {
    File::new(text).compile().unwrap()
}

/// The same for rules that may ask for what nothing produces yet.
pub(super) fn early_rules(text: &str) -> RuleSet {
    let File { rules, waivers, .. } = File::new(text);
    compile_early(&rules, &waivers).unwrap()
}

/// One rule that blocks, with this condition.
pub(super) fn blocking(condition: &str) -> RuleSet {
    early_rules(&format!(r#"{{"rules":[{{"name":"r","effect":"block","conditions":{condition}}}]}}"#))
}

pub(super) fn condition(text: &str) -> ConditionSource {
    Reader { text }.condition(&serde_json::from_str(text).unwrap())
}

struct Reader<'t> {
    text: &'t str,
}

impl Reader<'_> {
    fn span(&self, word: &str) -> Span {
        let start = self.text.find(word).unwrap_or_default();
        Span::new(start, start + word.len())
    }

    fn text(&self, value: &Value) -> Spanned<String> {
        let word = value.as_str().unwrap_or_default();
        Spanned::new(word.to_owned(), self.span(word))
    }

    fn rule(&self, rule: &Value) -> RuleSource {
        RuleSource {
            name: self.text(&rule["name"]),
            effect: self.text(&rule["effect"]),
            condition: self.either(rule).unwrap(),
            message: rule["message"].as_str().map(str::to_owned),
            phase: rule.get("phase").map(|phase| self.text(phase)),
            non_monotone: rule["non_monotone"] == true,
            dry_run: rule["dry_run"] == true,
        }
    }

    fn waiver(&self, waiver: &Value) -> WaiverSource {
        WaiverSource {
            span: self.span("\"waivers\""),
            waive: waiver["waive"].as_array().into_iter().flatten().map(|name| self.text(name)).collect(),
            when: self.either(waiver),
            until: waiver.get("until").map(|until| self.text(until)),
            reason: waiver.get("reason").map(|reason| self.text(reason)),
        }
    }

    fn either(&self, entry: &Value) -> Option<ConditionSource> {
        if let Some(conditions) = entry.get("conditions") {
            return Some(self.condition(conditions));
        }
        let when = entry.get("when")?.as_object()?;
        let of = when.iter().map(|(path, value)| self.short(path, value)).collect();
        Some(ConditionSource::All { span: self.span("\"when\""), of })
    }

    fn short(&self, path: &str, value: &Value) -> ConditionSource {
        let fact = Spanned::new(path.to_owned(), self.span(path));
        let (operator, value) = match value.as_object().and_then(|operators| operators.iter().next()) {
            Some((operator, value)) => {
                (Spanned::new(operator.clone(), self.span(operator)), self.value(value))
            }
            None => {
                let value = self.value(value);
                (Spanned::new("equals".to_owned(), value.span), value)
            }
        };
        ConditionSource::Test { fact, operator, value }
    }

    fn condition(&self, condition: &Value) -> ConditionSource {
        let object = condition.as_object().unwrap();
        let many = |list: &Value| list.as_array().unwrap().iter().map(|part| self.condition(part)).collect();
        if let Some(list) = object.get("and") {
            return ConditionSource::All { span: self.span("\"and\""), of: many(list) };
        }
        if let Some(list) = object.get("or") {
            return ConditionSource::Any { span: self.span("\"or\""), of: many(list) };
        }
        if let Some(of) = object.get("not") {
            return ConditionSource::Not { span: self.span("\"not\""), of: Box::new(self.condition(of)) };
        }
        let (operator, value) = object.iter().find(|(key, _)| *key != "fact").unwrap();
        ConditionSource::Test {
            fact: self.text(&object["fact"]),
            operator: Spanned::new(operator.clone(), self.span(operator)),
            value: self.value(value),
        }
    }

    fn value(&self, value: &Value) -> ValueSource {
        let (word, value) = match value {
            Value::Bool(flag) => (flag.to_string(), Written::Bool(*flag)),
            Value::Number(number) => match number.as_i64() {
                Some(int) => (number.to_string(), Written::Int(int)),
                None => (number.to_string(), Written::Other("a fraction")),
            },
            Value::String(text) => (text.clone(), Written::Text(text.clone())),
            Value::Array(list) => {
                (String::new(), Written::List(list.iter().map(|value| self.value(value)).collect()))
            }
            Value::Null => ("null".to_owned(), Written::Other("nothing")),
            Value::Object(_) => (String::new(), Written::Other("a mapping")),
        };
        ValueSource { span: self.span(&word), value }
    }
}

/// A call of one tool, of which nothing is known yet.
pub(super) struct Call {
    decision: DecisionId,
    principal: Principal,
    virtual_server: VirtualServerId,
    action: Action,
    pub(super) contract: Contract,
    pub(super) session: Label,
    pub(super) server: ServerFacts,
    pub(super) arguments: String,
    pub(super) response: Option<ResponseFacts>,
    pub(super) now: highwater_notation::Timestamp,
}

impl Call {
    pub(super) fn of(tool: &str) -> Self {
        Self::action(Action::new(ActionKind::CallTool, UpstreamId::new("mail"), "tools/call", tool, "{}"))
    }

    pub(super) fn action(action: Action) -> Self {
        Self {
            decision: DecisionId::new("hwd_1"),
            principal: Principal::new("kim"),
            virtual_server: VirtualServerId::new("default"),
            action,
            contract: Contract::unknown(),
            session: Label::bottom(),
            server: ServerFacts::default(),
            arguments: "{}".to_owned(),
            response: None,
            now: highwater_notation::Timestamp(0),
        }
    }

    /// With a contract that the operator wrote.
    pub(super) fn with(mut self, claims: impl IntoIterator<Item = Claim>) -> Self {
        let mut all = Claims::default();
        for claim in claims {
            all.push(claim, Authority::Operator, "test");
        }
        let trust = ServerTrust::of_verified(TrustLevel::Tool, TrustLevel::Tool);
        self.server = ServerFacts { trust, ..self.server };
        self.contract = Contract::weigh(&all, &trust).0;
        self
    }

    pub(super) fn in_session(mut self, session: Label) -> Self {
        self.session = session;
        self
    }

    pub(super) fn arguing(mut self, arguments: &str) -> Self {
        self.arguments = arguments.to_owned();
        self
    }

    pub(super) fn answered(mut self, response: ResponseFacts) -> Self {
        self.response = Some(response);
        self
    }

    pub(super) fn facts(&self) -> Facts<'_> {
        Facts {
            tool_id: Some("mail__send"),
            contract: &self.contract,
            grant: highwater_core::grant::Grant::everything(),
            server: &self.server,
            session: &self.session,
            arguments: Arguments::Known(&self.arguments),
            response: self.response.as_ref(),
            now: self.now,
            ..Facts::of(&self.decision, &self.principal, &self.virtual_server, &self.action)
        }
    }

    /// The names and effects of the rules that fire.
    pub(super) fn hits(&self, rules: &RuleSet, phase: Phase) -> Vec<(String, Effect)> {
        hits(rules, phase, &self.facts())
    }

    /// Whether the single rule fires, and with which truth.
    pub(super) fn truth(&self, rules: &RuleSet, phase: Phase) -> Truth {
        let facts = self.facts();
        let truth = rules.read(phase, &facts, FlowViolations::EMPTY).hits().first().map(|hit| hit.truth);
        truth.unwrap_or(Truth::False)
    }
}

pub(super) fn hits(rules: &RuleSet, phase: Phase, facts: &Facts<'_>) -> Vec<(String, Effect)> {
    let mut reading = rules.read(phase, facts, FlowViolations::EMPTY);
    reading.hits().iter().map(|hit| (hit.rule.name().to_string(), hit.effect)).collect()
}
