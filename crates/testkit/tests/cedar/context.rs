//! The facts of an action as the context of a Cedar request.

use cedar_policy::{Context, EntityUid, Request, RestrictedExpression, Schema};
use highwater_core::policy::{FACTS, Facts, FlowViolations, Kind, Phase, Val};
use highwater_notation::{Arguments, Parameters, Pointer};
use serde_json::Value;

use super::schema::identifier;
use super::world::POINTERS;

type Expression = RestrictedExpression;

/// The request, with the facts that somebody will look at. With a schema all of them are there, and checked.
pub(super) fn request(
    facts: &Facts<'_>,
    flow: FlowViolations,
    phase: Phase,
    mentioned: impl Fn(&str) -> bool,
    schema: Option<&Schema>,
) -> Request {
    let wanted = |path: &str| schema.is_some() || mentioned(path);
    let mut pairs: Vec<(String, Expression)> = FACTS
        .iter()
        .filter(|fact| fact.phases.has(phase) && wanted(fact.path))
        .map(|fact| {
            (identifier(fact.path), attribute(&identifier(fact.path), fact.kind, facts.value(fact, flow)))
        })
        .collect();
    if phase != Phase::List {
        let arguments: Option<Value> = match facts.arguments {
            Arguments::Known(text) => Some(serde_json::from_str(text).unwrap()),
            Arguments::Unknown => None,
        };
        let pointers = POINTERS.iter().filter(|path| wanted(path));
        pairs.extend(
            pointers.map(|path| (identifier(path), argument(path, arguments.as_ref(), facts.parameters))),
        );
    }
    let context = Context::from_pairs(pairs).unwrap();
    let uid = |text: &str| text.parse::<EntityUid>().unwrap();
    let action = uid(&format!("Action::{:?}", phase.as_str()));
    match Request::new(uid(r#"Agent::"a""#), action, uid(r#"Target::"t""#), context, schema) {
        Ok(request) => request,
        Err(error) => panic!("{error:?}"),
    }
}

fn attribute(name: &str, kind: Kind, value: Val<'_>) -> Expression {
    let words = |bits: u64| {
        let all = kind.words().unwrap_or_default().iter().enumerate();
        set(all.filter(|(place, _)| bits >> place & 1 == 1).map(|(_, word)| entity(name, word)))
    };
    let (absent, unknown) = (flag(value == Val::Absent), flag(matches!(value, Val::Unknown(_))));
    let members = match kind {
        Kind::Bool | Kind::Enum { .. } | Kind::OneOf(_) => {
            let possible = if let Val::Among(bits) = value { bits } else { 0 };
            vec![("possible", words(possible)), ("absent", absent), ("unknown", unknown)]
        }
        Kind::Set(_) => {
            let (has, may) = if let Val::Set { has, may } = value { (has, may) } else { (0, 0) };
            vec![("members", words(has)), ("maybe", words(may)), ("unknown", unknown)]
        }
        Kind::Int(..) => {
            let (least, most) = if let Val::Int { least, most } = value { (least, most) } else { (0, 0) };
            vec![
                ("least", Expression::new_long(least)),
                ("most", Expression::new_long(most)),
                ("unknown", unknown),
            ]
        }
        Kind::Str => {
            let text = if let Val::Text(text) = value { text } else { "" };
            vec![("text", string(text)), ("absent", absent), ("unknown", unknown)]
        }
        Kind::Open { .. } => {
            let (texts, open) = match value {
                Val::Texts { members, others, open } => {
                    (members.iter().chain(others).map(|text| string(text)).collect(), open.is_some())
                }
                _ => (Vec::new(), false),
            };
            vec![("members", set(texts)), ("open", flag(open)), ("unknown", unknown)]
        }
    };
    record(members)
}

fn argument(path: &str, arguments: Option<&Value>, parameters: Option<&Parameters>) -> Expression {
    let pointer = format!("/{}", path.trim_start_matches("arguments."));
    let declared = Pointer::parse(path.trim_start_matches("arguments.")).unwrap();
    let is_foreign = parameters.is_some_and(|parameters| !parameters.hold(&declared));
    let (mut text, mut number, mut truth) = ("", 0, false);
    let form = match arguments.map(|arguments| arguments.pointer(&pointer)) {
        // The tool declares no such argument, and the call brings none.
        None | Some(None) if is_foreign => "foreign",
        None => "unknown",
        Some(None) => "missing",
        Some(Some(Value::String(found))) => {
            text = found;
            "text"
        }
        Some(Some(Value::Bool(found))) => {
            truth = *found;
            "flag"
        }
        Some(Some(found)) if found.is_i64() => {
            number = found.as_i64().unwrap();
            "number"
        }
        Some(Some(_)) => "other",
    };
    record(vec![
        ("form", string(form)),
        ("text", string(text)),
        ("number", Expression::new_long(number)),
        ("flag", flag(truth)),
    ])
}

fn entity(name: &str, word: &str) -> Expression {
    let uid = EntityUid::from_type_name_and_id(name.parse().unwrap(), cedar_policy::EntityId::new(word));
    Expression::new_entity_uid(uid)
}

fn string(text: &str) -> Expression {
    Expression::new_string(text.to_owned())
}

fn flag(value: bool) -> Expression {
    Expression::new_bool(value)
}

fn set(members: impl IntoIterator<Item = Expression>) -> Expression {
    Expression::new_set(members)
}

fn record(members: Vec<(&str, Expression)>) -> Expression {
    Expression::new_record(members.into_iter().map(|(name, value)| (name.to_owned(), value))).unwrap()
}
