//! Keys that stand one level too far left. They are reported once, where they begin, and then read where they belong, so
//! that nothing else is said of them that is not so.

use crate::diagnose::Problems;
use crate::node::{Node, Value};

/// The blocks that hold servers.
const BLOCKS: [&str; 2] = ["servers", "mcpServers"];

/// Keys by which one knows that an entry is no server but a part of one.
const PARTS: [&str; 6] = ["command", "args", "url", "type", "cwd", "disabled"];

/// Keys that may go with those.
const COMPANIONS: [&str; 10] =
    ["env", "headers", "trust", "labels", "era", "timeouts", "retry", "profile", "sandbox", "allowed_tools"];

/// Reports keys of servers that stand beside the servers, and servers that stand beside their block, and puts them where
/// they were meant to be.
pub(crate) fn mend(root: &mut Node, problems: &Problems) {
    let Value::Map(entries) = &mut root.value else { return };
    servers_beside_the_block(entries, problems);
    for (key, block) in entries {
        if BLOCKS.contains(&key.name())
            && let Value::Map(servers) = &mut block.value
        {
            keys_beside_their_server(servers, problems);
        }
    }
}

/// `servers:` with nothing below it, and the servers at its side.
fn servers_beside_the_block(entries: &mut Vec<(Node, Node)>, problems: &Problems) {
    let is_block = |key: &Node| BLOCKS.contains(&key.name());
    let Some(block) = entries.iter().find(|(key, _)| is_block(key)).map(|(key, _)| key.name().to_owned())
    else {
        return;
    };
    let is_server = |key: &Node, value: &Node| {
        !is_block(key)
            && ["command", "url"]
                .into_iter()
                .any(|part| value.member(part).is_some_and(|part| matches!(part.value, Value::Text(_))))
    };
    let (moved, kept): (Vec<_>, Vec<_>) =
        std::mem::take(entries).into_iter().partition(|(key, value)| is_server(key, value));
    *entries = kept;
    for (key, _) in &moved {
        let name = key.name();
        problems.report(
            key.span,
            format!("server `{name}` stands beside `{block}`, not below it"),
            format!("is `{name}` meant to be inside `{block}`? Indent it by two spaces more"),
        );
    }
    let Some((_, value)) = entries.iter_mut().find(|(key, _)| is_block(key)) else { return };
    match &mut value.value {
        Value::Map(servers) => servers.extend(moved),
        Value::Null { .. } if !moved.is_empty() => value.value = Value::Map(moved),
        Value::Null { .. } | Value::Bool { .. } | Value::Number { .. } | Value::Text(_) | Value::List(_) => {}
    }
}

/// A server with nothing below its name, and its keys at its side.
fn keys_beside_their_server(servers: &mut Vec<(Node, Node)>, problems: &Problems) {
    let is_part = |key: &Node, value: &Node| {
        PARTS.contains(&key.name()) && !matches!(value.value, Value::Map(_) | Value::Null { .. })
    };
    if !servers.iter().any(|(key, value)| is_part(key, value)) {
        return;
    }
    let mut kept: Vec<(Node, Node)> = Vec::with_capacity(servers.len());
    let mut is_reported = false;
    for (key, value) in std::mem::take(servers) {
        let is_companion = is_reported && COMPANIONS.contains(&key.name());
        if !is_part(&key, &value) && !is_companion {
            is_reported = false;
            kept.push((key, value));
            continue;
        }
        let owner = kept.last().map(|(owner, _)| owner.name().to_owned());
        if !is_reported {
            let name = key.name();
            let help = match &owner {
                Some(owner) => {
                    format!("is `{name}` meant to be inside `{owner}`? Indent it by two spaces more")
                }
                None => format!("give the server a name: `memory: {{ {name}: … }}`"),
            };
            problems.report(key.span, format!("`{name}` stands where the name of a server belongs"), help);
            is_reported = true;
        }
        if owner.is_none() {
            let name = Node { span: key.span, value: Value::Text("unnamed".to_owned()) };
            kept.push((name, Node { span: value.span, value: Value::Map(Vec::new()) }));
        }
        let Some((_, server)) = kept.last_mut() else { continue };
        if matches!(server.value, Value::Null { .. }) {
            server.value = Value::Map(Vec::new());
        }
        if let Value::Map(members) = &mut server.value {
            members.push((key, value));
        }
    }
    *servers = kept;
}
