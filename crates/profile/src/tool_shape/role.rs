//! What each argument decides, as far as names, types and formats tell.
//!
//! An argument of which nothing can be told has no role here, and counts as a target: the strictest there is.

use std::collections::BTreeMap;

use highwater_core::annotation::ArgumentRole;

use super::super::word_list::WordList;
use super::argument::{Argument, Code, Kind, Siblings};
use super::name::ToolName;

/// The roles of a tool's arguments, by pointer: RFC 6901 without the first slash, `*` for every item of a list and every
/// member of a map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InferredRoles(BTreeMap<String, Option<ArgumentRole>>);

/// Words beside `token` by which it shows a server that it has seen the caller before.
const SESSION: WordList = WordList("access auth authentication bearer csrf id jwt login refresh session");

/// Words by which it is a secret, wherever they stand.
const SECRET: WordList =
    WordList("credential credentials passphrase passwd password passwords pwd secret secrets");

/// What stands before `key` or `token` where that is a secret.
const OF_SECRET: WordList = WordList(
    "access api app auth client encryption master personal private secret service signing ssh webhook",
);

/// Words by which it is a one-time code, wherever they stand.
const PROOF: WordList = WordList("mfa onetime otp passcode totp 2fa");

/// What stands before `code` where that is one.
const OF_PROOF: WordList = WordList("auth authentication confirmation login security sms time verification");

/// Last words of what something new is called.
const NAME: WordList = WordList("filename heading headline name title");

/// Verbs that make something new.
const MAKING: WordList = WordList(
    "add build compose create draft generate initialize insert make new plan register reserve schedule",
);

/// Last words of free text, whatever is done with it.
const TEXT: WordList = WordList(
    "agenda bio body caption comment comments content contents description details feedback heading headline html
    instructions markdown memo message messages note notes reason remark remarks reply review subject summary text
    title",
);

/// Last words of values that say how something is done. What is a text may still name somebody.
const MANNER: WordList = WordList(
    "category color colour currency encoding format kind lang language locale mode priority severity state status
    theme type unit units",
);

/// Last words of what can be counted, also where it is written as a text.
const AMOUNT: WordList = WordList("amount budget cost count fee price quantity qty sum total");

/// Last words of things that go along with something.
const ENCLOSED: WordList = WordList("attachment attachments enclosure enclosures");

/// Words by which it is a time.
const TIME: WordList = WordList(
    "date dates datetime day days deadline due duration end expires expiry hour hours minute minutes month months
    since start time timestamp timezone tz until week weekday year",
);

/// Last words of a filter of what is read.
const FILTER: WordList = WordList(
    "cursor filter filters keyword keywords limit offset order pattern q query regex search sort term terms topic",
);

// === impl InferredRoles ===

impl InferredRoles {
    pub(super) fn of(tool: &ToolName, arguments: &[Argument]) -> Self {
        let mut roles: BTreeMap<String, Option<ArgumentRole>> = BTreeMap::new();
        for argument in arguments.iter().filter(|argument| argument.leaf) {
            let role = role(tool, argument);
            // Alternatives of a schema may speak of one place twice; what is unknown in one of them is unknown.
            roles
                .entry(argument.pointer.clone())
                .and_modify(|known| *known = known.zip(role).map(|(one, other)| one.max(other)))
                .or_insert(role);
        }
        Self(roles)
    }

    /// The role of the value at this pointer; nothing where it cannot be told. In a call that acts nothing is a mere query.
    pub fn of_pointer(&self, pointer: &str, acts: bool) -> Option<ArgumentRole> {
        let direct = self.0.get(pointer).copied();
        let among = || self.0.iter().find(|(place, _)| is_at(place, pointer)).map(|(_, role)| *role);
        let role = direct.or_else(among).unwrap_or_else(|| by_own_key(pointer))?;
        (role != ArgumentRole::Query || !acts).then_some(role)
    }

    /// Every place of which a role is known.
    pub fn iter(&self) -> impl Iterator<Item = (&str, ArgumentRole)> {
        self.0.iter().filter_map(|(pointer, role)| Some((pointer.as_str(), (*role)?)))
    }
}

/// Whether a pointer is one of those that a place with `*` stands for.
fn is_at(place: &str, pointer: &str) -> bool {
    let (mut steps, mut named) = (pointer.split('/'), place.split('/'));
    loop {
        match (named.next(), steps.next()) {
            (None, None) => return true,
            (Some("*"), Some(_)) => {}
            (Some(name), Some(step)) if name == step => {}
            _ => return false,
        }
    }
}

/// What a part decides that the definition leaves open, such as `attachments/0/file_id`, by its own key. Only ids of things
/// and words that say how something is done are told by that; anything else is a target.
fn by_own_key(pointer: &str) -> Option<ArgumentRole> {
    let mut steps = pointer.split('/').rev().filter(|step| step.parse::<usize>().is_err());
    let (key, _parent) = (steps.next()?, steps.next()?);
    let part = Argument::new(pointer, key, Siblings::Other, Kind::Other, true);
    let last = part.words.last().map_or("", String::as_str);
    if part.object && matches!(last, "id" | "ids" | "uuid") {
        return Some(ArgumentRole::Object);
    }
    (part.words.len() == 1 && MANNER.contains(last)).then_some(ArgumentRole::Content)
}

/// What an argument decides, by its name and type and by what its tool is called.
fn role(tool: &ToolName, argument: &Argument) -> Option<ArgumentRole> {
    let words = &argument.words;
    let has = |list: WordList| words.iter().any(|word| list.contains(word));
    let last = words.last().map_or("", String::as_str);
    let before = words.iter().rev().nth(1).map_or("", String::as_str);
    match argument.kind {
        Kind::Boolean => return Some(ArgumentRole::Scalar),
        Kind::Number | Kind::Other => {}
    }
    if let Some(role) = closed(words, last, before) {
        return Some(role);
    }
    if argument.url {
        return Some(ArgumentRole::Target);
    }
    if is_new_name(tool, argument, last, before) {
        return Some(ArgumentRole::Name);
    }
    if argument.time {
        return Some(ArgumentRole::Scalar);
    }
    if tool.reads() {
        let is_plain = argument.listed || argument.kind == Kind::Number;
        let names_something = argument.object || argument.address;
        let is_scalar = is_plain && !names_something;
        return Some(if is_scalar { ArgumentRole::Scalar } else { ArgumentRole::Query });
    }
    match argument.code {
        // Whoever chooses what is run chooses everything.
        Some(Code::Sql | Code::Other) => return Some(ArgumentRole::Target),
        Some(Code::Query) => return Some(ArgumentRole::Query),
        None => {}
    }
    if argument.address {
        return Some(ArgumentRole::Target);
    }
    if argument.object || ENCLOSED.contains(last) {
        return Some(ArgumentRole::Object);
    }
    if argument.listed || AMOUNT.contains(last) {
        return Some(ArgumentRole::Scalar);
    }
    match argument.kind {
        Kind::Number => Some(ArgumentRole::Scalar),
        Kind::Boolean | Kind::Other if has(TIME) && !TEXT.contains(last) => Some(ArgumentRole::Scalar),
        Kind::Boolean | Kind::Other if TEXT.contains(last) || MANNER.contains(last) => {
            Some(ArgumentRole::Content)
        }
        Kind::Boolean | Kind::Other if FILTER.contains(last) => Some(ArgumentRole::Query),
        Kind::Boolean | Kind::Other => None,
    }
}

/// What opens something: a secret, a code or a session.
fn closed(words: &[String], last: &str, before: &str) -> Option<ArgumentRole> {
    let has = |list: WordList| words.iter().any(|word| list.contains(word));
    let is_session = last == "token" && words.iter().rev().skip(1).all(|word| SESSION.contains(word));
    if is_session {
        return Some(ArgumentRole::Session);
    }
    if has(PROOF) || last == "code" && OF_PROOF.contains(before) || last == "pin" && before.is_empty() {
        return Some(ArgumentRole::Proof);
    }
    // An id of a secret is not the secret.
    let is_id = matches!(last, "id" | "ids" | "name" | "names");
    let is_key = matches!(last, "key" | "token" | "keys" | "tokens") && OF_SECRET.contains(before);
    (!is_id && (has(SECRET) || is_key || last == "pin")).then_some(ArgumentRole::Secret)
}

/// Whether it is what something is to be called that the tool makes: `title` of `create_event`, `channel_name` of
/// `create_channel`, and not `repo_name` of `create_issue`.
fn is_new_name(tool: &ToolName, argument: &Argument, last: &str, before: &str) -> bool {
    let makes = tool.has_word(|word| MAKING.contains(word)) && tool.sends().is_none();
    let is_of_tool = before.is_empty() || tool.has_word(|word| word == before) || last == "filename";
    makes && argument.kind == Kind::Other && NAME.contains(last) && is_of_tool && argument.words.len() <= 2
}

#[cfg(test)]
mod tests {
    use crate::ToolShape;
    use highwater_core::annotation::ArgumentRole;

    fn shape(tool: &str, properties: &str) -> ToolShape {
        ToolShape::read(
            "server",
            tool,
            Some(&format!(r#"{{"type":"object","properties":{{{properties}}}}}"#)),
        )
    }

    /// The roles of arguments that are texts, as `name=role`, for a call that acts.
    fn of_texts(tool: &str, names: &str) -> String {
        let properties: Vec<String> =
            names.split(' ').map(|name| format!(r#""{name}":{{"type":"string"}}"#)).collect();
        let shape = shape(tool, &properties.join(","));
        let role = |name: &str| match shape.roles().of_pointer(name, true) {
            Some(role) => format!("{name}={role}"),
            None => format!("{name}=?"),
        };
        names.split(' ').map(role).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn arguments_of_acts_have_the_roles_that_their_names_tell() {
        for (tool, expected) in [
            ("send_email", "recipients=target cc=target subject=content body=content attachments=object"),
            ("send_money", "recipient=target amount=scalar subject=content date=scalar"),
            (
                "create_calendar_event",
                "title=name start_time=scalar description=content location=? participants=target",
            ),
            ("create_issue", "owner=target repo=object title=name body=content"),
            ("create_channel", "channel_name=name"),
            ("create_file", "filename=name content=content"),
            ("write_file", "filename=object path=object content=content"),
            ("update_issue", "issue_id=object title=content status=content"),
            ("delete_file", "file_id=object reason=content"),
            ("share_file", "file_id=object email=target permission=?"),
            ("invite_user", "user=? user_email=target role=?"),
            ("run_shell", "command=target cwd=object"),
            ("buy_stock", "symbol=? quantity=scalar"),
        ] {
            let names: Vec<&str> = expected.split(' ').map(|pair| pair.split_once('=').unwrap().0).collect();
            assert_eq!(of_texts(tool, &names.join(" ")), expected, "{tool}");
        }
    }

    #[test]
    fn what_opens_something_is_told_apart() {
        for (name, role) in [
            ("password", "secret"),
            ("new_password", "secret"),
            ("api_key", "secret"),
            ("clientSecret", "secret"),
            ("personal_token", "secret"),
            ("new_pin", "secret"),
            ("pin", "proof"),
            ("otp", "proof"),
            ("otp_code", "proof"),
            ("verification_code", "proof"),
            ("token", "session"),
            ("access_token", "session"),
            ("sessionToken", "session"),
            // Which one it is, and where in a listing.
            ("secret_name", "?"),
            ("page_token", "?"),
            ("postal_code", "?"),
        ] {
            assert_eq!(of_texts("update_account", name), format!("{name}={role}"));
        }
    }

    #[test]
    fn what_is_read_by_is_a_query_unless_the_call_acts() {
        let shape = shape(
            "search_mail",
            r#""sender":{"type":"string"},"limit":{"type":"integer"},"url":{"type":"string"},"password":{"type":"string"}"#,
        );
        let role = |name, acts| shape.roles().of_pointer(name, acts);
        assert_eq!(role("sender", false), Some(ArgumentRole::Query));
        assert_eq!(role("sender", true), None, "it is a target: nobody knows better");
        assert_eq!(role("limit", true), Some(ArgumentRole::Scalar));
        assert_eq!(role("url", false), Some(ArgumentRole::Target));
        assert_eq!(role("password", false), Some(ArgumentRole::Secret));
    }

    #[test]
    fn types_and_formats_say_what_names_do_not() {
        let shape = shape(
            "update_x",
            r#""a":{"type":"string","format":"email"},"b":{"type":"string","format":"uri"},"c":{"type":"boolean"},
            "d":{"enum":["x","y"]},"e":{"type":"number"},"f":{"type":"string","format":"date-time"},"g":{"type":"string"},
            "channel":{"enum":["one","other"]},"account_id":{"type":"integer"}"#,
        );
        let role = |name| shape.roles().of_pointer(name, true).map(ArgumentRole::as_str);
        let roles = ["a", "b", "c", "d", "e", "f", "g", "channel", "account_id"].map(role);
        let (target, scalar) = (Some("target"), Some("scalar"));
        assert_eq!(roles, [target, target, scalar, scalar, scalar, scalar, None, target, target]);
    }

    #[test]
    fn parts_have_roles_of_their_own() {
        let shape = shape(
            "send_mail",
            r#""to":{"type":"array","items":{"type":"string"}},"parts":{"type":"array","items":{"type":"object","properties":{
            "body":{"type":"string"},"file_id":{"type":"string"}}}}"#,
        );
        let role = |pointer| shape.roles().of_pointer(pointer, true);
        assert_eq!(role("to/0"), Some(ArgumentRole::Target));
        assert_eq!(role("to/17"), Some(ArgumentRole::Target));
        assert_eq!(role("parts/3/body"), Some(ArgumentRole::Content));
        assert_eq!(role("parts/3/file_id"), Some(ArgumentRole::Object));
        assert_eq!(role("parts/3/other"), None);
        assert_eq!(role("parts"), None);
        assert_eq!(role("open/0/file_id"), Some(ArgumentRole::Object));
        assert_eq!(role("open/type"), Some(ArgumentRole::Content));
        for unknown in ["file_id", "type", "open/channel_id", "open/0/account_id", "open/text", "open/url"] {
            assert_eq!(role(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn what_one_alternative_does_not_know_nobody_knows() {
        let alternatives =
            r#"{"anyOf":[{"properties":{"x":{"type":"number"}}},{"properties":{"x":{"type":"string"}}}]}"#;
        let shape = ToolShape::read("server", "set_x", Some(alternatives));
        assert_eq!(shape.roles().of_pointer("x", true), None);
        assert_eq!(ToolShape::read("server", "send_x", None).roles().iter().count(), 0);
    }
}
