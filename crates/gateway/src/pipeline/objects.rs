//! The stored things that an action writes or reads, and those that a reply hands out. Written under a label, they give
//! it back when they are read, in whatever session.

use std::borrow::Cow;

use highwater_core::action::{Action, ActionKind};
use highwater_core::annotation::{ArgumentRole, CallVariant, Contract, Destination};
use highwater_core::id::UpstreamId;
use highwater_marks::{Name, Named, PrintKey, Prints, ReadPrints, Reading, Thing};
use highwater_mcp::frame::Frame;
use highwater_mcp::text::{elements, is_array, is_number, is_object, member, members, unquote};
use highwater_profile::Naming;

/// How many things one argument may name before it is taken for one that names none.
const MAX_NAMED: usize = 64;

/// How deep values are searched for names and texts.
const MAX_DEPTH: usize = 16;

/// What is known of a call's arguments, for finding the things it is about.
#[derive(Clone, Copy)]
pub(super) struct Called<'a> {
    pub(super) contract: &'a Contract,
    /// By which arguments the tool names things, where nobody stated it.
    pub(super) namings: &'a [Naming],
    /// The paths that it names with their links followed: one file has one of these.
    pub(super) real_paths: &'a [String],
    pub(super) action: &'a Action,
}

/// Whether something may stay of what such a call is given. What is kept nowhere cannot be read again, and who only reads
/// keeps nothing. A benign call may well: a draft is one.
pub(crate) fn may_keep(contract: &Contract) -> bool {
    contract.variant() != CallVariant::Read && !contract.destination().is_only(Destination::Ephemeral)
}

// === impl Called ===

impl Called<'_> {
    /// Whether the action may write something.
    pub(super) fn writes(&self) -> bool {
        let keeps = match self.action.kind() {
            ActionKind::CallTool | ActionKind::Answer | ActionKind::TaskStep | ActionKind::ExtraMethod => {
                true
            }
            ActionKind::ResolveTool
            | ActionKind::CreateChallenge
            | ActionKind::ReadResource
            | ActionKind::Subscribe
            | ActionKind::GetPrompt
            | ActionKind::Complete => false,
        };
        keeps && may_keep(self.contract)
    }

    /// What the action writes: the thing that it names, or the content where it names none. `whole` says that a server is
    /// marked as a whole where it names none.
    pub(super) fn written(&self, key: &PrintKey, whole: bool) -> Vec<Thing> {
        let upstream = self.action.upstream().clone();
        let named = self.named();
        if named.is_empty() && whole {
            return vec![Thing::server(upstream)];
        }
        let prints = Prints::of_written(key, self.contents().iter().map(|text| &**text));
        match (named.is_empty(), prints.is_empty()) {
            (false, _) => vec![Thing::object(upstream, &named, prints)],
            (true, false) => vec![Thing::content(upstream, prints)],
            // Nothing by which it could be known again.
            (true, true) => Vec::new(),
        }
    }

    /// What the action reads, as far as it says so.
    pub(super) fn reading(&self) -> Reading {
        let reading = Reading { named: self.named(), ..Reading::default() };
        match self.action.kind() {
            ActionKind::ReadResource | ActionKind::Subscribe => {
                Reading { resource: Some(Name::new(self.action.target())), ..reading }
            }
            ActionKind::TaskStep => {
                // The target is JSON text where we made the step ourselves.
                let target = unquote(self.action.target());
                let target = target.as_deref().unwrap_or_else(|| self.action.target());
                Reading { task: Some(target.into()), ..reading }
            }
            ActionKind::CallTool
            | ActionKind::ResolveTool
            | ActionKind::CreateChallenge
            | ActionKind::GetPrompt
            | ActionKind::Complete
            | ActionKind::Answer
            | ActionKind::ExtraMethod => reading,
        }
    }

    /// The things that a call names: by the arguments of which somebody said so, or else by those that look like it. An
    /// argument that is missing leaves open which thing is meant.
    fn named(&self) -> Named {
        let mut named = Named::default();
        if self.action.kind() != ActionKind::CallTool {
            return named;
        }
        let Some(arguments) = member(self.action.params(), "arguments") else { return named };
        for (pointer, kind) in self.pointers() {
            let mut found = Vec::new();
            let known = places(arguments, &pointer).into_iter().all(|value| names(value, 0, &mut found));
            if known && found.len() <= MAX_NAMED {
                found.into_iter().for_each(|name| named.add(&kind, name));
            }
        }
        if named.has_kind(Named::PATH) {
            self.real_paths.iter().for_each(|path| named.add(Named::PATH, Name::new(path)));
        }
        named
    }

    fn pointers(&self) -> Vec<(Cow<'_, str>, Cow<'_, str>)> {
        let acts = self.contract.acts();
        let roles = self.contract.roles();
        let stated: Vec<_> = roles
            .iter(acts)
            .filter(|(argument, role)| *role == ArgumentRole::Object && roles.is_stated(argument))
            .map(|(argument, _)| (Cow::Borrowed(argument), self.kind_of(argument)))
            .collect();
        if !stated.is_empty() {
            return stated;
        }
        let inferred = self
            .namings
            .iter()
            .map(|naming| (Cow::Borrowed(naming.pointer.as_str()), Cow::Borrowed(naming.kind.as_str())));
        // What somebody stated to be something else is no name. What something new is called may name it later.
        let may_name =
            |pointer: &str| !roles.is_stated(pointer) || self.contract.role(pointer) == ArgumentRole::Name;
        inferred.filter(|(pointer, _)| may_name(pointer)).collect()
    }

    fn kind_of(&self, pointer: &str) -> Cow<'_, str> {
        match self.namings.iter().find(|naming| naming.pointer == pointer) {
            Some(naming) => Cow::Borrowed(naming.kind.as_str()),
            None => Cow::Owned(Naming::kind_of(pointer)),
        }
    }

    /// Every text that the action gives away without naming something by it.
    fn contents(&self) -> Vec<Cow<'_, str>> {
        let params = self.action.params();
        let mut found = Vec::new();
        if self.action.kind() != ActionKind::CallTool {
            for (_, value) in members(params).filter(|(key, _)| !is_protocol(key)) {
                texts(value, 1, &mut |text| found.extend(unquote(text)));
            }
            return found;
        }
        let arguments = member(params, "arguments").unwrap_or("{}");
        let pointers = self.pointers();
        let named: Vec<&str> = pointers.iter().flat_map(|(pointer, _)| places(arguments, pointer)).collect();
        let is_name =
            |text: &str| named.iter().any(|name| name.as_bytes().as_ptr_range().contains(&text.as_ptr()));
        for part in [Some(arguments), member(params, "inputResponses")].into_iter().flatten() {
            texts(part, 0, &mut |text| {
                if !is_name(text) {
                    found.extend(unquote(text));
                }
            });
        }
        found
    }
}

/// Whether a member of parameters belongs to the protocol and holds nothing that anybody wrote.
fn is_protocol(key: &str) -> bool {
    matches!(key, "_meta" | "cursor" | "method" | "name" | "requestState" | "taskId")
}

/// The fingerprints of all texts of a reply.
pub(super) fn prints_of(key: &PrintKey, reply: &Frame) -> ReadPrints {
    let mut found = Vec::new();
    for part in reply.result().into_iter().chain(reply.error()) {
        texts(part, 0, &mut |value| found.extend(unquote(value)));
    }
    ReadPrints::of(key, found.iter().map(|text| &**text))
}

/// The fingerprints of all texts of a notification.
pub(super) fn prints_of_params(key: &PrintKey, frame: &Frame) -> ReadPrints {
    let mut found = Vec::new();
    texts(frame.params().unwrap_or("{}"), 0, &mut |value| found.extend(unquote(value)));
    ReadPrints::of(key, found.iter().map(|text| &**text))
}

/// The handles that a result gives out: resources it links to or embeds, and the task it speaks of.
pub(super) fn handles(upstream: &UpstreamId, resources: &[Box<str>], reply: &Frame) -> Vec<Thing> {
    let mut handles: Vec<_> = resources.iter().map(|uri| Thing::resource(upstream.clone(), uri)).collect();
    let nested = || reply.result_member("task").and_then(|task| member(task, "taskId"));
    let task = reply.result_member("taskId").or_else(nested);
    if let Some(task) = task.and_then(unquote) {
        handles.push(Thing::task(upstream.clone(), &task));
    }
    handles
}

/// Calls `each` with every text inside a value, as it stands in JSON; what is said beside the contents is left out.
fn texts<'a>(value: &'a str, depth: usize, each: &mut dyn FnMut(&'a str)) {
    if depth > MAX_DEPTH {
        return;
    }
    if is_object(value) {
        for (key, inner) in members(value) {
            if key != "_meta" {
                texts(inner, depth + 1, each);
            }
        }
    } else if is_array(value) {
        elements(value).for_each(|inner| texts(inner, depth + 1, each));
    } else if value.starts_with('"') {
        each(value);
    }
}

/// Takes every text and number inside a value for a name; not so if it lies too deep to be sure.
fn names(value: &str, depth: usize, found: &mut Vec<Name>) -> bool {
    if depth > MAX_DEPTH {
        return false;
    }
    if is_object(value) {
        return members(value).all(|(_, inner)| names(inner, depth + 1, found));
    }
    if is_array(value) {
        return elements(value).all(|inner| names(inner, depth + 1, found));
    }
    if let Some(text) = unquote(value) {
        found.push(Name::new(&text));
    } else if is_number(value) {
        found.push(Name::new(value));
    }
    true
}

/// The values at a pointer without its first slash; `*` stands for every item of a list and every member of an object.
fn places<'a>(arguments: &'a str, pointer: &str) -> Vec<&'a str> {
    pointer.split('/').fold(vec![arguments], |at, step| {
        let inner = |value: &'a str| -> Vec<&'a str> {
            match step {
                "*" if is_array(value) => elements(value).take(MAX_NAMED + 1).collect(),
                "*" if is_object(value) => {
                    members(value).take(MAX_NAMED + 1).map(|(_, value)| value).collect()
                }
                step => member(value, &step.replace("~1", "/").replace("~0", "~")).into_iter().collect(),
            }
        };
        at.into_iter().flat_map(inner).collect()
    })
}

#[cfg(test)]
mod tests;
