//! The stored things that an action writes or reads, and those that a reply hands out. Written under a label, they give
//! it back when they are read, in whatever session.

use highwater_core::action::{Action, ActionKind};
use highwater_core::annotation::{ArgumentRole, CallVariant, Contract, Destination};
use highwater_core::id::UpstreamId;
use highwater_core::session::{ObjectId, ObjectKind};
use highwater_mcp::frame::Frame;
use highwater_mcp::text::{elements, is_array, is_number, is_object, member, members, pointer, unquote};

/// How many things one call may name before it is taken for one that names none.
const MAX_NAMED: usize = 64;

/// How deep arguments are searched for names.
const MAX_DEPTH: usize = 16;

/// The marks that an action sets before it is sent. Where the object cannot be told it is all that the server keeps.
pub(super) fn written(contract: &Contract, action: &Action) -> Vec<ObjectId> {
    let keeps = match action.kind() {
        ActionKind::CallTool | ActionKind::Answer | ActionKind::TaskStep | ActionKind::ExtraMethod => true,
        ActionKind::ResolveTool
        | ActionKind::CreateChallenge
        | ActionKind::ReadResource
        | ActionKind::Subscribe
        | ActionKind::GetPrompt
        | ActionKind::Complete => false,
    };
    if !keeps || !may_keep(contract) {
        return Vec::new();
    }
    marks(action, contract, ObjectId::marks_of_write)
}

/// Whether something may stay of what such a call is given. What is kept nowhere cannot be read again, and who only reads
/// keeps nothing. A benign call may well: a draft is one.
pub(crate) fn may_keep(contract: &Contract) -> bool {
    contract.variant() != CallVariant::Read && !contract.destination().is_only(Destination::Ephemeral)
}

/// The marks that the reply to an action takes over, to be asked for once it has come: whatever it can contain was marked
/// before.
pub(super) fn read(contract: &Contract, action: &Action) -> Vec<ObjectId> {
    let mut marks = marks(action, contract, ObjectId::marks_of_read);
    let upstream = action.upstream().clone();
    // A handle remembers the label under which it was given out.
    match action.kind() {
        ActionKind::ReadResource | ActionKind::Subscribe => {
            marks.push(ObjectId::new(upstream, ObjectKind::Resource, action.target()));
        }
        ActionKind::TaskStep => {
            // The target is JSON text where we made the step ourselves.
            let target = unquote(action.target());
            let target = target.as_deref().unwrap_or_else(|| action.target());
            marks.push(ObjectId::new(upstream, ObjectKind::Task, target));
        }
        ActionKind::CallTool
        | ActionKind::ResolveTool
        | ActionKind::CreateChallenge
        | ActionKind::GetPrompt
        | ActionKind::Complete
        | ActionKind::Answer
        | ActionKind::ExtraMethod => {}
    }
    marks
}

/// The handles that a result gives out: resources it links to or embeds, and the task it speaks of.
pub(super) fn handles(upstream: &UpstreamId, resources: &[Box<str>], reply: &Frame) -> Vec<ObjectId> {
    let mut handles: Vec<_> =
        resources.iter().map(|uri| ObjectId::new(upstream.clone(), ObjectKind::Resource, uri)).collect();
    let nested = || reply.result_member("task").and_then(|task| member(task, "taskId"));
    let task = reply.result_member("taskId").or_else(nested);
    if let Some(task) = task.and_then(unquote) {
        handles.push(ObjectId::new(upstream.clone(), ObjectKind::Task, &task));
    }
    handles
}

fn marks(action: &Action, contract: &Contract, of: impl Fn(&ObjectId) -> Vec<ObjectId>) -> Vec<ObjectId> {
    match named(contract, action) {
        Some(objects) => objects.iter().flat_map(of).collect(),
        None => of(&ObjectId::everything(action.upstream().clone())),
    }
}

/// The objects that a call names in the arguments of which somebody said that they name objects; `None` where it may
/// concern others as well.
fn named(contract: &Contract, action: &Action) -> Option<Vec<ObjectId>> {
    if action.kind() != ActionKind::CallTool {
        return None;
    }
    let acts = contract.acts();
    let mut stated = contract
        .roles()
        .iter(acts)
        .filter(|(argument, role)| *role == ArgumentRole::Object && contract.roles().is_stated(argument))
        .peekable();
    stated.peek()?;
    let arguments = member(action.params(), "arguments")?;
    let mut found = Vec::new();
    for (argument, _) in stated {
        let known = found.len();
        leaves(at(arguments, argument)?, 0, &mut |name| {
            found.push(ObjectId::new(action.upstream().clone(), ObjectKind::Object, name));
        })?;
        // An object that should be named and is not could be any.
        if found.len() == known || found.len() > MAX_NAMED {
            return None;
        }
    }
    Some(found)
}

/// Every text and number inside a value; `None` if it lies too deep to be sure.
fn leaves(value: &str, depth: usize, each: &mut dyn FnMut(&str)) -> Option<()> {
    if depth > MAX_DEPTH {
        return None;
    }
    if is_object(value) {
        members(value).try_for_each(|(_, inner)| leaves(inner, depth + 1, each))?;
    } else if is_array(value) {
        elements(value).try_for_each(|inner| leaves(inner, depth + 1, each))?;
    } else if let Some(text) = unquote(value) {
        each(&text);
    } else if is_number(value) {
        each(value);
    }
    Some(())
}

/// What an RFC 6901 pointer without its first slash leads to.
fn at<'a>(arguments: &'a str, argument: &str) -> Option<&'a str> {
    argument.split('/').try_fold(arguments, |value, step| {
        let step = step.replace("~1", "/").replace("~0", "~");
        pointer(value, &[&step])
    })
}

#[cfg(test)]
mod tests {
    use highwater_core::annotation::{Authority, Claim, Claims, Hints, Outcome, Possible};
    use highwater_core::trust::ServerTrust;
    use highwater_mcp::scan::ScanRules;

    use super::*;

    fn contract(outcome: Outcome, objects: &[&str]) -> Contract {
        let mut claims = Claims::new();
        claims.push(Claim::SetOutcomes(Possible::only(outcome)), Authority::Operator, "test");
        for argument in objects {
            let role = Claim::Role { argument: (*argument).into(), role: ArgumentRole::Object };
            claims.push(role, Authority::Operator, "test");
        }
        Contract::weigh(&claims, &ServerTrust::default()).0
    }

    fn call(arguments: &str) -> Action {
        let params = format!(r#"{{"name":"t","arguments":{arguments}}}"#);
        Action::new(ActionKind::CallTool, UpstreamId::new("notes"), "tools/call", "t", params)
    }

    /// Whether reading with one call meets what was written with another.
    fn reaches(write: (&[&str], &str), read_back: (&[&str], &str)) -> bool {
        let set = written(&contract(Outcome::Consequential, write.0), &call(write.1));
        let asked = read(&contract(Outcome::Benign, read_back.0), &call(read_back.1));
        asked.iter().any(|mark| set.contains(mark))
    }

    #[test]
    fn a_read_writes_nothing_and_a_benign_call_that_keeps_something_does() {
        let call = call(r#"{"path":"a"}"#);
        assert!(!written(&contract(Outcome::Benign, &["path"]), &call).is_empty());
        let said = |claim| {
            let mut claims = Claims::new();
            claims.push(claim, Authority::Operator, "test");
            written(&Contract::weigh(&claims, &ServerTrust::default()).0, &call)
        };
        assert!(said(Claim::Hints(Hints { read_only: Some(true), ..Hints::default() })).is_empty());
        assert!(said(Claim::SetDestination(Possible::only(Destination::Ephemeral))).is_empty());
    }

    #[test]
    fn what_was_written_is_met_by_whoever_reads_it() {
        let note = (&["path"][..], r#"{"path":"notes/a","text":"b"}"#);
        assert!(reaches(note, (&["path"], r#"{"path":"notes/a"}"#)));
        assert!(reaches(note, (&["path"], r#"{"path":"notes"}"#)));
        assert!(!reaches(note, (&["path"], r#"{"path":"letters"}"#)));
        assert!(reaches(note, (&[], r#"{"words":"anything"}"#)), "a search may find it");
    }

    #[test]
    fn an_object_that_cannot_be_told_could_be_any() {
        let letters = (&["path"][..], r#"{"path":"letters"}"#);
        assert!(!reaches((&["ids"], r#"{"ids":["a",7]}"#), letters));
        assert!(!reaches((&["at/path"], r#"{"at":{"path":"x"}}"#), letters));
        assert!(!reaches((&["a~1b"], r#"{"a/b":"z"}"#), letters));
        assert!(reaches((&["path"], r#"{"text":"b"}"#), letters));
        assert!(reaches((&["path", "id"], r#"{"path":"a"}"#), letters));
        assert!(reaches((&["path"], r#"{"path":null}"#), letters));
        assert!(reaches((&[], r#"{"path":"a"}"#), letters));
        let many: Vec<String> = (0..2 * MAX_NAMED).map(|number| number.to_string()).collect();
        assert!(reaches((&["ids"], &format!(r#"{{"ids":[{}]}}"#, many.join(","))), letters));
        let deep = format!("{}1{}", "[".repeat(40), "]".repeat(40));
        assert!(reaches((&["ids"], &format!(r#"{{"ids":{deep}}}"#)), letters));
    }

    #[test]
    fn a_resource_may_hold_whatever_a_tool_wrote() {
        let set = written(&contract(Outcome::Consequential, &["path"]), &call(r#"{"path":"a"}"#));
        let resource = Action::new(
            ActionKind::ReadResource,
            UpstreamId::new("notes"),
            "resources/read",
            "file:///a",
            "{}",
        );
        let asked = read(&contract(Outcome::Benign, &[]), &resource);
        assert!(asked.iter().any(|mark| set.contains(mark)));
    }

    #[test]
    fn links_and_tasks_are_handles() {
        let upstream = UpstreamId::new("notes");
        let reply = |result: &str| {
            let message = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
            Frame::parse(message.into(), &ScanRules::FROM_SERVER).unwrap()
        };
        let found = handles(&upstream, &["x:1".into()], &reply(r#"{"task":{"taskId":"t1"}}"#));
        let kinds: Vec<_> = found.iter().map(|id| (id.kind, &*id.identity)).collect();
        assert_eq!(kinds, [(ObjectKind::Resource, "x:1"), (ObjectKind::Task, "t1")]);
        assert!(handles(&upstream, &[], &reply(r#"{"content":[]}"#)).is_empty());
    }
}
