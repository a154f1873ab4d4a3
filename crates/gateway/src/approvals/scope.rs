//! What a yes may cover beyond one call: the values that stay the same, and until when. Each scope says it in one sentence,
//! and these sentences stand here alone.
//!
//! In a session that has read what strangers may have written a yes covers one audience, one host or one folder, until the
//! conversation ends. It never covers what is asked for at every call, credentials, regulated data or what was flagged.

use aws_lc_rs::digest::{SHA256, digest};
use highwater_core::annotation::{ArgumentRole, Contract};
use highwater_core::decide::{FindingId, Told};
use highwater_core::label::Label;
use highwater_display::plain;
use highwater_mcp::text::{elements, is_array, is_object, members, quote, unquote};
use highwater_notation::{CanonicalArguments, encode_base64url};
use highwater_profile::ToolShape;
use serde::{Deserialize, Serialize};

use super::fetched_pages::Pages;
use super::folder::Folder;
use super::kept_label::{KeptLabel, ReplyAdds};
use super::listed_things::{ListedCall, ListedThings};
use super::view::RememberScope;

/// How many values a sentence names.
const MOST_VALUES: usize = 4;

/// How much of each.
const LONGEST_VALUE: usize = 80;

/// Where a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Surface {
    /// On our page.
    Page,
    /// In a form of the client: its word, so that what it remembers ends with the conversation, and whole hosts are not left
    /// to it.
    Form,
}

/// A call of which the answer may be remembered.
#[derive(Clone, Copy)]
pub(crate) struct AskedCall<'a> {
    pub(crate) arguments: &'a CanonicalArguments,
    /// Whether they are the tool's own.
    pub(crate) is_direct: bool,
    pub(crate) contract: &'a Contract,
    pub(crate) shape: &'a ToolShape,
    /// The argument that is the address of a page, where all that is done is to fetch it.
    pub(crate) page: Option<&'a str>,
    /// The files that the call names, absolute and with their links followed; none where one of them cannot be told, or is
    /// something that is run or loaded unasked.
    pub(crate) files: &'a [String],
    /// The folder that a yes may cover: all of them lie below it.
    pub(crate) folder: Option<&'a str>,
    /// What it names of the things that its server listed, where that can be undone.
    pub(crate) listed: Option<&'a ListedCall>,
    pub(crate) label: &'a Label,
    /// The label that its reply is predicted to have.
    pub(crate) reply: &'a Label,
    pub(crate) told: &'a Told,
    /// What will be found once that reply is in the session, where it is no more than a question.
    pub(crate) told_with_reply: Option<&'a Told>,
}

// === impl AskedCall ===

impl AskedCall<'_> {
    /// What an argument decides, where somebody says so or its name tells.
    fn role(&self, pointer: &str) -> Option<ArgumentRole> {
        let inferred = self.shape.roles().of_pointer(pointer, self.contract.acts());
        self.contract.roles().role_or(pointer, inferred)
    }

    /// An argument for people. A token of a session is kept as a digest alone.
    fn shown(&self, name: &str, value: &str) -> (String, String) {
        match self.role(&escaped(name)) {
            Some(ArgumentRole::Session) if self.is_direct => (cut(name), "…".to_owned()),
            _ => shown(name, value),
        }
    }
}

/// What must be the same for an answer to be remembered, and is kept with the request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rememberable {
    /// The digest of the arguments that say where and what; nothing where they may not be remembered.
    targets: Option<String>,
    label: KeptLabel,
    /// The pages that it may be remembered for, where it fetches one.
    pages: Option<Pages>,
    /// The folder that it may be remembered for, where all that it names are files there.
    folder: Option<Folder>,
    /// The things that it may be remembered for, where it names one that its server listed.
    listed: Option<ListedThings>,
    /// The tool, and in words what stays the same and what need not.
    tool: String,
    fixed: Vec<(String, String)>,
    /// How many more stay the same than are named.
    more: usize,
    free: Vec<String>,
    /// What is found once the predicted reply is in the session.
    told_with_reply: Option<Told>,
}

// === impl Rememberable ===

impl Rememberable {
    /// `None` where nothing may be remembered. `tool` is the name that the client calls it by.
    pub(crate) fn of(tool: &str, call: &AskedCall<'_>) -> Option<Self> {
        if call.label.malicious() || opens_something(call) {
            return None;
        }
        let values = Values::of(call);
        let kept = KeptLabel::of(call.label, call.reply);
        // What is asked for at every call is not for strangers to have asked once.
        let is_flow = |id: &FindingId| matches!(id, FindingId::Flow(_) | FindingId::Rule(_));
        let may_be_steered = kept.untrusted();
        let is_open = !may_be_steered || call.told.findings().all(is_flow) && !kept.is_grave();
        // What is run is no audience, and where nothing is named there is none.
        let is_audience = !may_be_steered || call.shape.runs().is_none() && !values.fixed.is_empty();
        let pages = call.page.and_then(|url| Pages::of(call.arguments, url));
        let listed = call.listed.and_then(|listed| ListedThings::offered(listed, &values));
        let folder = call.folder.and_then(|path| Some(Folder::new(path, values.folder_digest()?)));
        let same = Self {
            targets: (is_open && is_audience).then(|| values.digest()),
            pages: pages.filter(|_| is_open),
            folder: folder.filter(|_| is_open),
            listed: listed.filter(|_| is_open),
            label: kept,
            tool: tool.to_owned(),
            fixed: values
                .fixed
                .iter()
                .take(MOST_VALUES)
                .map(|(name, value)| call.shown(name, value))
                .collect(),
            more: values.fixed.len().saturating_sub(MOST_VALUES),
            free: values.free,
            told_with_reply: call.told_with_reply.cloned(),
        };
        let is_something =
            same.targets.is_some() || same.pages.is_some() || same.folder.is_some() || same.listed.is_some();
        is_something.then_some(same)
    }

    /// Which scopes may be chosen there, the narrowest in time first.
    pub(crate) fn scopes(&self, surface: Surface) -> Vec<RememberScope> {
        let is_page = surface == Surface::Page;
        let lasting = is_page && self.targets.is_some() && !self.label.untrusted();
        let all = [
            (RememberScope::Host, is_page && self.pages.is_some()),
            (RememberScope::Folder, self.folder.is_some()),
            // The names of things are the server's, and stand on our page alone.
            (RememberScope::Listed, is_page && self.listed.is_some()),
            (RememberScope::Session, self.targets.is_some()),
            (RememberScope::ToolWithTargets, lasting),
            (RememberScope::UntilDefinitionChanges, lasting),
        ];
        all.into_iter().filter(|(_, is_offered)| *is_offered).map(|(scope, _)| scope).collect()
    }

    /// What an answer with this scope covers and until when, as it completes "a yes counts for …".
    pub fn words(&self, scope: RememberScope) -> String {
        let until_end = "until this conversation ends or holds more data";
        let covered = match scope {
            RememberScope::Host => {
                let host = self.pages.as_ref().map(Pages::host).unwrap_or_default();
                format!("every page of {host} without a query, {until_end}")
            }
            RememberScope::Folder => {
                let folder = self.folder.as_ref().map(Folder::path).unwrap_or_default();
                let others = Self::listed("whatever", &self.free, "say");
                format!("any `{}` of files below {}{others}, {until_end}", self.tool, cut(folder))
            }
            RememberScope::Listed => {
                let things = self.listed.as_ref().map(|listed| listed.words(&self.tool)).unwrap_or_default();
                let others = Self::listed("whatever", &self.free, "say");
                format!("{things}{others}, until you say something new or the conversation holds more data")
            }
            RememberScope::Session => format!("{}, {until_end}", self.same_targets()),
            RememberScope::ToolWithTargets => {
                format!("{}, in every conversation of this agent, for 30 days", self.same_targets())
            }
            RememberScope::UntilDefinitionChanges => {
                format!(
                    "{}, in every conversation of this agent, until the tool's definition changes",
                    self.same_targets()
                )
            }
        };
        covered + self.reply_words(scope)
    }

    /// That the tool's own replies are covered, too, where they bring what the session does not hold.
    fn reply_words(&self, scope: RememberScope) -> &'static str {
        if self.told_with_reply.is_none() || scope == RememberScope::Host {
            return "";
        }
        match self.label.reply_adds() {
            ReplyAdds { strangers: true, data: false } => {
                "; its own replies are part of it, which count as strangers' text"
            }
            ReplyAdds { strangers: true, data: true } => {
                "; its own replies are part of it, which count as strangers' text and may hold private data"
            }
            ReplyAdds { strangers: false, data: true } => {
                "; its own replies are part of it, which may hold private data"
            }
            ReplyAdds { strangers: false, data: false } => "",
        }
    }

    fn same_targets(&self) -> String {
        let mut fixed: Vec<String> =
            self.fixed.iter().map(|(name, value)| format!("`{name}` {value}")).collect();
        if self.more > 0 {
            fixed.push(format!("{} more arguments as they are now", self.more));
        }
        let with = if fixed.is_empty() { String::new() } else { format!(" with {}", fixed.join(", ")) };
        let free = Self::listed("whatever", &self.free, "say");
        let same = if self.free.is_empty() { "exactly this call of" } else { "any" };
        format!("{same} `{}`{with}{free}", self.tool)
    }

    fn listed(before: &str, names: &[String], after: &str) -> String {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let after = if names.len() == 1 { format!("{after}s") } else { after.to_owned() };
        match names.as_slice() {
            [] => String::new(),
            names => format!(", {before} {} {after}", names.join(" and ")),
        }
    }

    /// What has to be the same for this scope; nothing where it is not offered on this surface.
    pub(super) fn kept(&self, scope: RememberScope, surface: Surface) -> Option<String> {
        if !self.scopes(surface).contains(&scope) {
            return None;
        }
        match scope {
            RememberScope::Host => self.pages.as_ref().map(Pages::kept),
            RememberScope::Folder => self.folder.as_ref().map(Folder::kept),
            RememberScope::Listed => self.listed.as_ref().map(ListedThings::kept),
            RememberScope::Session
            | RememberScope::ToolWithTargets
            | RememberScope::UntilDefinitionChanges => self.targets.clone(),
        }
    }

    pub(super) fn label(&self) -> &KeptLabel {
        &self.label
    }

    pub(super) fn told_with_reply(&self) -> Option<&Told> {
        self.told_with_reply.as_ref()
    }
}

/// The arguments of a call: those that must be the same, and those that are text put into something.
pub(super) struct Values<'a> {
    call: AskedCall<'a>,
    /// As JSON text.
    fixed: Vec<(String, &'a str)>,
    free: Vec<String>,
}

// === impl Values ===

impl<'a> Values<'a> {
    pub(super) fn of(call: &AskedCall<'a>) -> Self {
        let (free, fixed): (Vec<_>, Vec<_>) = members(call.arguments.as_str())
            .map(|(name, value)| (name.into_owned(), value))
            .partition(|(name, value)| call.is_direct && is_content(call.contract, call.shape, name, value));
        let free = free.into_iter().map(|(name, _)| name).collect();
        Self { call: *call, fixed, free }
    }

    /// The digest of the arguments that say where and what. What nobody knows better of a tool that acts is one of them, and
    /// so is whatever is wrapped around the arguments of a tool.
    pub(super) fn digest(&self) -> String {
        hashed(&written(self.fixed.iter()))
    }

    /// The same without one argument, and with its name.
    pub(super) fn digest_without(&self, argument: &str) -> String {
        let others = self.fixed.iter().filter(|(name, _)| name != argument);
        hashed(&format!("{} {}", quote(argument), written(others)))
    }

    /// The same without the paths, where the call names no other things.
    pub(super) fn folder_digest(&self) -> Option<String> {
        let shape = self.call.shape;
        let is_file = |(name, value): &&(String, &str)| {
            let found = |place: &str| shape.paths().iter().any(|path| path == place);
            let pointer = escaped(name);
            let holds = |place: &str| found(place) || shape.contents().iter().any(|content| content == place);
            consists_of(&pointer, value, &holds)
        };
        let (files, others): (Vec<_>, Vec<_>) = self.fixed.iter().partition(is_file);
        let may =
            self.call.is_direct && !files.is_empty() && shape.runs().is_none() && shape.sends().is_none();
        may.then(|| hashed(&written(others.into_iter())))
    }
}

/// Whether an argument is text that is put into something, and says neither where nor what: somebody stated so, or nobody
/// said anything and its name tells.
pub(crate) fn is_content(contract: &Contract, shape: &ToolShape, name: &str, value: &str) -> bool {
    let pointer = escaped(name);
    let is_part = |part: &str| {
        part == pointer || part.strip_prefix(pointer.as_str()).is_some_and(|rest| rest.starts_with('/'))
    };
    let mut stated = contract.roles().iter(contract.acts()).filter(|(part, _)| is_part(part)).peekable();
    if stated.peek().is_some() {
        return contract.role(&pointer) == ArgumentRole::Content
            && stated.all(|(_, role)| role == ArgumentRole::Content);
    }
    let is_put = |place: &str| shape.contents().iter().any(|content| content == place);
    contract.acts() && shape.runs().is_none() && consists_of(&pointer, value, &is_put)
}

/// Whether a call holds a password, a key or a one-time code. None of that is kept, so that no answer can be for it.
fn opens_something(call: &AskedCall<'_>) -> bool {
    let is_secret = |role| matches!(role, Some(ArgumentRole::Secret | ArgumentRole::Proof));
    let stated = call.contract.roles().iter(call.contract.acts()).map(|(pointer, _)| pointer);
    let inferred = call.shape.roles().iter().map(|(pointer, _)| pointer);
    let mut secrets = stated.chain(inferred).filter(|pointer| is_secret(call.role(pointer)));
    call.is_direct && secrets.any(|pointer| holds_place(call.arguments.as_str(), pointer))
}

/// Whether there is a value at a pointer, in which `*` stands for whatever there is.
fn holds_place(value: &str, pointer: &str) -> bool {
    let (step, rest) = pointer.split_once('/').unwrap_or((pointer, ""));
    let below = |value: &str| rest.is_empty() || holds_place(value, rest);
    if is_array(value) {
        return elements(value).any(below);
    }
    members(value).any(|(name, value)| (step == "*" || escaped(&name) == step) && below(value))
}

/// Whether every value in this one is a text at a place of which this holds.
fn consists_of(pointer: &str, value: &str, holds: &dyn Fn(&str) -> bool) -> bool {
    if is_array(value) {
        let pointer = format!("{pointer}/*");
        elements(value).all(|item| consists_of(&pointer, item, holds))
    } else if is_object(value) {
        members(value)
            .all(|(name, value)| consists_of(&format!("{pointer}/{}", escaped(&name)), value, holds))
    } else {
        value.starts_with('"') && holds(pointer)
    }
}

fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn written<'a>(arguments: impl Iterator<Item = &'a (String, &'a str)>) -> String {
    arguments.map(|(name, value)| format!("{}:{value},", quote(name))).collect()
}

pub(super) fn hashed(text: &str) -> String {
    encode_base64url(digest(&SHA256, text.as_bytes()).as_ref())
}

/// An argument for people: what cannot be seen is made visible, and what is long is cut and says so.
fn shown(name: &str, value: &str) -> (String, String) {
    let value = match unquote(value) {
        Some(text) => format!("“{}”", cut(&text)),
        None => cut(value),
    };
    (cut(name), value)
}

pub(super) fn cut(text: &str) -> String {
    let mut short: String = text.chars().take(LONGEST_VALUE).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    plain(&short).text
}

#[cfg(test)]
mod tests {
    use highwater_core::annotation::Contract;
    use serde_json::json;

    use super::*;

    const MAIL: &str = r#"{"type":"object","properties":{"to":{"type":"string"},"cc":{"type":"string"},
        "subject":{"type":"string"},"body":{"type":"string"}}}"#;

    fn asked(tool: &str, schema: &str, arguments: serde_json::Value) -> Option<Rememberable> {
        let (contract, told) = (Contract::unknown(), Told::default());
        let (label, reply) = (Label::bottom().with_open_world(), Label::bottom());
        let shape = ToolShape::read("up", tool, Some(schema));
        let arguments = CanonicalArguments::read(Some(&arguments.to_string())).unwrap();
        let call = AskedCall {
            arguments: &arguments,
            is_direct: true,
            contract: &contract,
            shape: &shape,
            page: None,
            files: &[],
            folder: None,
            listed: None,
            label: &label,
            reply: &reply,
            told: &told,
            told_with_reply: None,
        };
        Rememberable::of(&format!("up__{tool}"), &call)
    }

    #[test]
    fn any_text_to_one_recipient_is_one_audience_and_everything_else_is_not() {
        let mail = |to: &str, body: &str| {
            asked("send_mail", MAIL, json!({ "to": to, "subject": body, "body": body })).unwrap()
        };
        let one = mail("ada@example.com", "a");
        assert_eq!(one.targets, mail("ada@example.com", "b").targets);
        assert_ne!(one.targets, mail("eve@example.com", "a").targets);
        let copied = json!({ "to": "ada@example.com", "subject": "a", "body": "a", "cc": "eve@example.com" });
        assert_ne!(one.targets, asked("send_mail", MAIL, copied).unwrap().targets);
        // A list in the place of a text may be anything.
        let listed = json!({ "to": "ada@example.com", "subject": "a", "body": ["a"] });
        assert_ne!(one.targets, asked("send_mail", MAIL, listed).unwrap().targets);
        assert_eq!(
            one.words(RememberScope::Session),
            "any `up__send_mail` with `to` “ada@example.com”, whatever `body` and `subject` say, until this \
             conversation ends or holds more data"
        );
    }

    #[test]
    fn secrets_and_codes_are_not_remembered_and_tokens_of_sessions_are_not_shown() {
        let schema = r#"{"type":"object","properties":{"account_id":{"type":"string"},"password":{"type":"string"},
            "otp":{"type":"string"},"access_token":{"type":"string"}}}"#;
        let update = |arguments| asked("update_account", schema, arguments);
        assert!(update(json!({ "account_id": "7" })).is_some());
        assert_eq!(update(json!({ "account_id": "7", "password": "hunter2" })), None);
        assert_eq!(update(json!({ "account_id": "7", "otp": "123456" })), None);
        let with = |token: &str| update(json!({ "account_id": "7", "access_token": token })).unwrap();
        assert_ne!(with("t1").targets, with("t2").targets, "another session may be another account");
        assert!(!format!("{:?}", with("hidden-token")).contains("hidden-token"));
    }

    #[test]
    fn what_is_run_or_names_nothing_is_no_audience() {
        let schema =
            r#"{"type":"object","properties":{"text":{"type":"string"},"command":{"type":"string"}}}"#;
        assert_eq!(asked("run", schema, json!({ "command": "ls", "text": "a" })), None);
        let message =
            r#"{"type":"object","properties":{"message":{"type":"string"},"folder":{"type":"string"}}}"#;
        // Of a tool that sends nothing a message may be the thing that is deleted.
        let delete = |id: &str| asked("delete", message, json!({ "message": id, "folder": "/in" })).unwrap();
        assert_ne!(delete("m1").targets, delete("m2").targets);
        assert_eq!(asked("send", r#"{"type":"object"}"#, json!({})), None);
    }

    #[test]
    fn in_a_steered_session_nothing_outlasts_the_conversation() {
        let mail = asked("send_mail", MAIL, json!({ "to": "ada@example.com", "body": "a" })).unwrap();
        for surface in [Surface::Page, Surface::Form] {
            assert_eq!(mail.scopes(surface), [RememberScope::Session]);
        }
        assert_eq!(mail.kept(RememberScope::ToolWithTargets, Surface::Page), None);
    }

    #[test]
    fn what_cannot_be_seen_is_seen_and_what_is_long_is_cut() {
        let long = "a".repeat(100);
        assert_eq!(shown("to", &format!("\"x\u{202e}{long}\"")).1, format!("“x⟦U+202E⟧{}…”", "a".repeat(78)));
    }
}
