//! Rules as Cedar policies, from the rule as it is written: nothing of our own compiler is used.

use std::collections::BTreeSet;

use cedar_policy::{Policy, PolicyId, PolicySet};
use highwater_core::policy::{Fact, Kind, Phase};
use highwater_rules::{ConditionSource, RuleSource, ValueSource, Written};

use super::schema::identifier;

/// What a condition may be and what it must be, as Cedar expressions.
struct Rails {
    may: String,
    must: String,
}

/// Whether Cedar has words for it.
pub(super) fn can_say(condition: &ConditionSource) -> bool {
    match condition {
        ConditionSource::All { of, .. } | ConditionSource::Any { of, .. } => of.iter().all(can_say),
        ConditionSource::Not { of, .. } => can_say(of),
        ConditionSource::Test { fact, operator, value } => match (&*operator.value, &value.value) {
            ("matches", Written::Text(glob)) => {
                !glob.contains('?') && !matches!(kind(&fact.value), Some(Kind::Open { .. }))
            }
            _ => true,
        },
    }
}

/// The paths that the conditions look at.
pub(super) fn mentioned<'c>(conditions: impl IntoIterator<Item = &'c ConditionSource>) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for condition in conditions {
        match condition {
            ConditionSource::All { of, .. } | ConditionSource::Any { of, .. } => paths.extend(mentioned(of)),
            ConditionSource::Not { of, .. } => paths.extend(mentioned([&**of])),
            ConditionSource::Test { fact, .. } => {
                paths.insert(fact.value.clone());
            }
        }
    }
    paths
}

/// Two prohibitions for each rule, and a permit for what nobody prohibits.
pub(super) fn policies(rules: &[RuleSource], phase: Phase) -> PolicySet {
    let mut set = PolicySet::new();
    let mut add = |id: String, text: String| match Policy::parse(Some(PolicyId::new(&id)), &text) {
        Ok(policy) => set.add(policy).unwrap(),
        Err(error) => panic!("{error:?}\n{text}"),
    };
    let scope = format!("(principal, action == Action::{:?}, resource)", phase.as_str());
    add("everything-else".to_owned(), format!("permit {scope};"));
    for rule in rules {
        let (name, effect, Rails { may, must }) =
            (&rule.name.value, &rule.effect.value, rails(&rule.condition, false));
        add(format!("{name}.may"), format!("@effect({effect:?}) forbid {scope} when {{ {may} }};"));
        add(format!("{name}.must"), format!("forbid {scope} when {{ {must} }};"));
    }
    set
}

/// What may hold and what must, of the condition or of its opposite.
fn rails(condition: &ConditionSource, negated: bool) -> Rails {
    let join = |of: &[ConditionSource], operator: &str| {
        let parts: Vec<Rails> = of.iter().map(|part| rails(part, negated)).collect();
        let side = |side: fn(&Rails) -> &str| {
            format!("({})", parts.iter().map(side).collect::<Vec<_>>().join(operator))
        };
        Rails { may: side(|rails| &rails.may), must: side(|rails| &rails.must) }
    };
    match condition {
        ConditionSource::All { of, .. } => join(of, if negated { " || " } else { " && " }),
        ConditionSource::Any { of, .. } => join(of, if negated { " && " } else { " || " }),
        ConditionSource::Not { of, .. } => rails(of, !negated),
        ConditionSource::Test { fact, operator, value } => {
            let turned = |Rails { may, must }: Rails| match negated {
                false => Rails { may, must },
                true => Rails { may: format!("(!{must})"), must: format!("(!{may})") },
            };
            match kind(&fact.value) {
                Some(kind) => turned(of_fact(&fact.value, kind, &operator.value, value)),
                // What does not concern the tool does not hold, turned round or not.
                None => {
                    let Rails { may, must } = turned(of_argument(&fact.value, &operator.value, value));
                    let concerns = format!("context.{}.form != \"foreign\"", identifier(&fact.value));
                    Rails { may: format!("({concerns} && {may})"), must: format!("({concerns} && {must})") }
                }
            }
        }
    }
}

fn kind(path: &str) -> Option<Kind> {
    Fact::of(path).map(|fact| fact.kind)
}

fn of_fact(path: &str, kind: Kind, operator: &str, value: &ValueSource) -> Rails {
    let name = identifier(path);
    let this = format!("context.{name}");
    let known = |may: String, must: String| Rails {
        may: format!("({this}.unknown || {may})"),
        must: format!("(!{this}.unknown && {must})"),
    };
    match kind {
        Kind::Bool | Kind::Enum { .. } | Kind::OneOf(_) => {
            let words = kind.words().unwrap();
            let wanted = entities(&name, &named(words, operator, value));
            // An empty list has no type, and nothing is in it.
            if wanted.is_empty() {
                return known("false".to_owned(), "false".to_owned());
            }
            known(
                format!("(!{this}.absent && {this}.possible.containsAny([{wanted}]))"),
                format!("(!{this}.absent && [{wanted}].containsAll({this}.possible))"),
            )
        }
        Kind::Set(words) => {
            let wanted = entities(&name, &named(words, operator, value));
            known(
                format!("({this}.members.containsAny([{wanted}]) || {this}.maybe.containsAny([{wanted}]))"),
                format!("{this}.members.containsAny([{wanted}])"),
            )
        }
        Kind::Int(..) => number(operator, value, &format!("{this}.least"), &format!("{this}.most"), known),
        Kind::Str => {
            let holds = text(operator, value, &format!("{this}.text"));
            known(format!("(!{this}.absent && {holds})"), format!("(!{this}.absent && {holds})"))
        }
        Kind::Open { .. } => {
            let (may, must) = match (operator, &value.value) {
                ("exists", Written::Bool(wanted)) => {
                    let some = format!("!{this}.members.isEmpty()");
                    let (may, must) = (format!("({some} || {this}.open)"), some);
                    if *wanted { (may, must) } else { (format!("(!{must})"), format!("(!{may})")) }
                }
                _ => {
                    let some = format!("{this}.members.containsAny([{}])", literals(value).join(", "));
                    (format!("({some} || {this}.open)"), some)
                }
            };
            known(may, must)
        }
    }
}

/// An argument is of the form the value has, or nobody knows.
fn of_argument(path: &str, operator: &str, value: &ValueSource) -> Rails {
    let this = format!("context.{}", identifier(path));
    let form = |word: &str| format!("{this}.form == {word:?}");
    if let ("exists", Written::Bool(wanted)) = (operator, &value.value) {
        let (missing, unknown) = (form("missing"), form("unknown"));
        let (may, must) = (format!("(!({missing}))"), format!("(!({missing} || {unknown}))"));
        return if *wanted {
            Rails { may, must }
        } else {
            Rails { may: format!("(!{must})"), must: format!("(!{may})") }
        };
    }
    let first = match &value.value {
        Written::List(list) => &list[0].value,
        other => other,
    };
    let (wanted, holds) = match first {
        Written::Text(_) => ("text", text(operator, value, &format!("{this}.text"))),
        Written::Bool(_) => ("flag", format!("[{}].contains({this}.flag)", literals(value).join(", "))),
        Written::Int(_) => {
            let at = format!("{this}.number");
            ("number", number(operator, value, &at, &at, |may, must| Rails { may, must }).must)
        }
        Written::List(_) | Written::Other(_) => panic!("no such value is made"),
    };
    let is = form(wanted);
    Rails { may: format!("(!({is}) || {holds})"), must: format!("({is} && {holds})") }
}

fn text(operator: &str, value: &ValueSource, at: &str) -> String {
    match (operator, &value.value) {
        ("matches", Written::Text(glob)) => format!("{at} like {glob:?}"),
        _ => format!("[{}].contains({at})", literals(value).join(", ")),
    }
}

fn number(
    operator: &str,
    value: &ValueSource,
    least: &str,
    most: &str,
    known: impl Fn(String, String) -> Rails,
) -> Rails {
    let wanted = literals(value);
    let bound = &wanted[0];
    match operator {
        "greaterThan" => known(format!("{most} > {bound}"), format!("{least} > {bound}")),
        "lessThan" => known(format!("{least} < {bound}"), format!("{most} < {bound}")),
        _ => {
            let each = |make: &dyn Fn(&String) -> String| {
                format!("({})", wanted.iter().map(make).collect::<Vec<_>>().join(" || "))
            };
            known(
                each(&|number| format!("({least} <= {number} && {number} <= {most})")),
                each(&|number| format!("({least} == {number} && {number} == {most})")),
            )
        }
    }
}

/// The words that pass: those listed, or those above or below the one given.
fn named(words: &[&str], operator: &str, value: &ValueSource) -> Vec<String> {
    let listed: Vec<String> = match &value.value {
        Written::List(list) => list.iter().map(plain).collect(),
        _ => vec![plain(value)],
    };
    let place = words.iter().position(|word| *word == listed[0]).unwrap();
    let some = match operator {
        "greaterThan" => &words[place + 1..],
        "lessThan" => &words[..place],
        _ => return listed,
    };
    some.iter().map(|word| (*word).to_owned()).collect()
}

fn plain(value: &ValueSource) -> String {
    match &value.value {
        Written::Text(word) => word.clone(),
        Written::Bool(flag) => flag.to_string(),
        other => panic!("{other:?} is no word"),
    }
}

fn entities(entity: &str, words: &[String]) -> String {
    words.iter().map(|word| format!("{entity}::{word:?}")).collect::<Vec<_>>().join(", ")
}

fn literals(value: &ValueSource) -> Vec<String> {
    match &value.value {
        Written::List(list) => list.iter().flat_map(literals).collect(),
        Written::Text(text) => vec![format!("{text:?}")],
        Written::Int(number) => vec![number.to_string()],
        Written::Bool(flag) => vec![flag.to_string()],
        Written::Other(what) => panic!("{what} is never made"),
    }
}
