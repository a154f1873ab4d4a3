//! The servers of a scenario: from what is written to the script that a process plays.

use highwater_config::document::{Complaint, Entries, Field, Json, Shaped, Span, Written};
use serde_json::{Map, Value, json};

use super::Reading;
use crate::example::ExampleServer;
use crate::scenario::file::Era;
use crate::scenario::file::upstream::{AskFile, RepliesFile, ReplyFile, ResolutionsFile, UpstreamFile};
use crate::scenario::model::{Upstream, members};
use crate::scenario::script::{Ask, Reply, Resolution, Says, Script, SpokenEra};
use clap::ValueEnum;

/// Members of a tool's entry that stand on the tool itself; every other is an annotation.
const OF_THE_TOOL: [&str; 8] =
    ["title", "description", "inputSchema", "outputSchema", "icons", "execution", "_meta", "annotations"];

/// The key under which members of the tool are given word for word, whatever they are.
const VERBATIM: &str = "tool";

/// What a reply belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of<'a> {
    Tool,
    Resource(&'a str),
    Prompt,
}

/// Reads all servers.
pub(super) fn all(entries: Option<&Entries<UpstreamFile>>, reading: Reading<'_>) -> Vec<Upstream> {
    let entries = entries.map(|entries| entries.0.as_slice()).unwrap_or_default();
    entries.iter().filter_map(|(name, file)| one(name, file, reading)).collect()
}

fn one(name: &Written<String>, file: &UpstreamFile, reading: Reading<'_>) -> Option<Upstream> {
    let Some(example) = file.example.read() else {
        return Some(Upstream::Scripted(script(&name.value, file, reading)));
    };
    let known = ExampleServer::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    let known: Vec<String> = known.map(|value| value.get_name().to_owned()).collect();
    if !known.contains(&example.value) {
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        reading.complain(Complaint::unknown(example.span, "example server", &example.value, &known));
        return None;
    }
    Some(Upstream::Example {
        name: name.value.clone(),
        which: example.value.clone(),
        args: file.args.value().cloned().unwrap_or_default(),
    })
}

fn script(name: &str, file: &UpstreamFile, reading: Reading<'_>) -> Script {
    let mut script = Script {
        name: name.to_owned(),
        era: file.era.value().map(|era| match era {
            Era::Legacy => SpokenEra::Legacy,
            Era::Modern => SpokenEra::Modern,
        }),
        capabilities: members(file.capabilities.value()),
        ..Script::default()
    };
    let resolutions = file.resolve.value().map(|entries| entries.0.as_slice()).unwrap_or_default();
    for (tool, entry) in resolutions {
        script.resolutions.insert(tool.value.clone(), resolutions_of(entry));
    }
    let tools: &[(Written<String>, Json)] =
        file.tools.value().map(|tools| tools.0.as_slice()).unwrap_or_default();
    for (tool, entry) in tools {
        script.tools.push(definition(&tool.value, &entry.0, script.resolutions.contains_key(&tool.value)));
        // A tool without a reply says that it is done.
        let done = Reply { says: Says::Result(text_result("done")), ..empty() };
        script.calls.insert(tool.value.clone(), vec![done]);
    }
    for (tool, entry) in entries(&file.replies) {
        // A reply to a method outside MCP has no tool; its name has a slash, which no tool's has.
        let known: Vec<&str> = tools.iter().map(|(tool, _)| tool.value.as_str()).collect();
        if !tool.value.contains('/') && !known.contains(&tool.value.as_str()) {
            reading.complain(Complaint::unknown(tool.span, "tool", &tool.value, &known));
        }
        script.calls.insert(tool.value.clone(), replies(entry, Of::Tool, reading));
    }
    for (uri, entry) in entries(&file.resources) {
        let list = &entry.0.0;
        let mime = list.first().and_then(|reply| reply.value.mime_type.value());
        if !uri.value.contains('{') {
            let mime = mime.map_or("text/plain", String::as_str);
            script.resources.push(json!({ "uri": uri.value, "name": uri.value, "mimeType": mime }));
        }
        script.reads.insert(uri.value.clone(), replies(entry, Of::Resource(&uri.value), reading));
    }
    for template in file.templates.value().into_iter().flatten() {
        script.templates.push(json!({ "uriTemplate": template, "name": template }));
    }
    for (prompt, entry) in entries(&file.prompts) {
        let arguments = entry.0.0.iter().filter_map(|reply| reply.value.arguments.value()).flatten();
        let arguments: Vec<Value> =
            arguments.map(|name| json!({ "name": name, "required": false })).collect();
        script.prompts.push(json!({ "name": prompt.value, "arguments": arguments }));
        script.renderings.insert(prompt.value.clone(), replies(entry, Of::Prompt, reading));
    }
    for (argument, values) in file.completions.value().map(|all| all.0.as_slice()).unwrap_or_default() {
        script.completions.insert(argument.value.clone(), values.clone());
    }
    script
}

fn entries(field: &Field<Entries<Shaped<RepliesFile>>>) -> &[(Written<String>, Shaped<RepliesFile>)] {
    field.value().map(|entries| entries.0.as_slice()).unwrap_or_default()
}

/// A tool as `tools/list` gives it.
fn definition(name: &str, entry: &Value, resolvable: bool) -> Value {
    let mut tool = Map::from_iter([
        ("name".to_owned(), json!(name)),
        ("inputSchema".to_owned(), json!({ "type": "object" })),
    ]);
    let mut annotations = Map::new();
    for (key, value) in entry.as_object().into_iter().flatten() {
        match (key.as_str(), value) {
            ("annotations", Value::Object(members)) => annotations.extend(members.clone()),
            (VERBATIM, Value::Object(members)) => tool.extend(members.clone()),
            (key, value) if OF_THE_TOOL.contains(&key) => {
                tool.insert(key.to_owned(), value.clone());
            }
            (key, value) => {
                annotations.insert(key.to_owned(), value.clone());
            }
        }
    }
    if !annotations.is_empty() {
        tool.insert("annotations".into(), Value::Object(annotations));
    }
    if resolvable {
        tool.insert("resolve".into(), json!(true));
        let meta = tool.entry("_meta").or_insert_with(|| json!({}));
        if let Value::Object(meta) = meta {
            meta.insert(crate::example::wire::RESOLUTION_KEY.into(), json!({ "resolvable": true }));
        }
    }
    Value::Object(tool)
}

fn resolutions_of(entry: &Shaped<ResolutionsFile>) -> Vec<Resolution> {
    let one = |file: &crate::scenario::file::upstream::ResolutionFile| Resolution {
        when: members(file.when.value()),
        annotations: file.annotations.value().map_or_else(|| json!({}), |json| json.0.clone()),
        meta: file.meta.value().map(|json| json.0.clone()),
        tool: members(file.tool.value()),
        error: file.error.value().map(|json| json.0.clone()),
    };
    entry.0.0.iter().map(one).collect()
}

fn replies(entry: &Shaped<RepliesFile>, of: Of<'_>, reading: Reading<'_>) -> Vec<Reply> {
    entry.0.0.iter().map(|written| reply(written, of, reading)).collect()
}

fn reply(written: &Written<ReplyFile>, of: Of<'_>, reading: Reading<'_>) -> Reply {
    let file = &written.value;
    let texts = |field: &Field<Shaped<crate::scenario::file::Texts>>| {
        field.value().map(|texts| texts.0.0.clone()).unwrap_or_default()
    };
    Reply {
        when: members(file.when.value()),
        progress: texts(&file.progress),
        log: texts(&file.log),
        ask: file.ask.read().and_then(|written| ask(written, reading)),
        says: says(file, written.span, of, reading),
    }
}

fn says(file: &ReplyFile, span: Span, of: Of<'_>, reading: Reading<'_>) -> Says {
    if let Some(error) = file.error.value() {
        return Says::Error(error.0.clone());
    }
    if let Some(result) = file.result.value() {
        return Says::Result(result.0.clone());
    }
    let text = file.text.value().map(String::as_str);
    let mut result = match of {
        Of::Tool => tool_result(file, text),
        Of::Resource(uri) => {
            let mime = file.mime_type.value().map_or("text/plain", String::as_str);
            json!({ "contents": [{ "uri": uri, "mimeType": mime, "text": text.unwrap_or_default() }] })
        }
        Of::Prompt => {
            let content = json!({ "type": "text", "text": text.unwrap_or_default() });
            json!({ "messages": [{ "role": "user", "content": content }] })
        }
    };
    if let (Some(meta), Value::Object(members)) = (file.meta.value(), &mut result) {
        members.insert("_meta".into(), meta.0.clone());
    }
    let only_tools = file.store.read().map(|_| "store").or_else(|| file.recall.read().map(|_| "recall"));
    if let (Some(key), true) = (only_tools, of != Of::Tool) {
        reading.complain(Complaint::new(span, format!("`{key}` is for the replies of tools")));
    }
    match (file.store.value(), file.recall.value()) {
        (Some(store), _) => Says::Store {
            key: store.key.value().cloned().unwrap_or_default(),
            value: store.value.value().cloned().unwrap_or_default(),
            result,
        },
        (None, Some(key)) => Says::Recall { key: key.clone(), result },
        (None, None) => Says::Result(result),
    }
}

fn tool_result(file: &ReplyFile, text: Option<&str>) -> Value {
    let structured = file.structured_content.value().map(|json| &json.0);
    let spoken = text.map(str::to_owned).or_else(|| structured.map(Value::to_string));
    let mut result = text_result(spoken.as_deref().unwrap_or("done"));
    if let Value::Object(members) = &mut result {
        if let Some(content) = file.content.value() {
            members.insert("content".into(), content.0.clone());
        }
        if let Some(structured) = structured {
            members.insert("structuredContent".into(), structured.clone());
        }
        if let Some(is_error) = file.is_error.value() {
            members.insert("isError".into(), json!(is_error));
        }
    }
    result
}

fn ask(written: &Written<AskFile>, reading: Reading<'_>) -> Option<Ask> {
    let file = &written.value;
    let form = || json!({ "type": "object", "properties": { "answer": { "type": "string" } } });
    let found = [
        file.elicit.value().map(|message| {
            let params = match file.url.value() {
                Some(url) => {
                    json!({ "mode": "url", "message": message, "url": url, "elicitationId": "scripted" })
                }
                None => {
                    let schema = file.schema.value().map_or_else(form, |json| json.0.clone());
                    json!({ "mode": "form", "message": message, "requestedSchema": schema })
                }
            };
            Ask { method: "elicitation/create".into(), params }
        }),
        file.sample.value().map(|text| {
            let message = json!({ "role": "user", "content": { "type": "text", "text": text } });
            Ask {
                method: "sampling/createMessage".into(),
                params: json!({ "messages": [message], "maxTokens": 100 }),
            }
        }),
        file.roots
            .value()
            .filter(|roots| **roots)
            .map(|_| Ask { method: "roots/list".into(), params: json!({}) }),
    ];
    let mut found = found.into_iter().flatten();
    match (found.next(), found.next()) {
        (Some(ask), None) => Some(ask),
        _ => {
            let help = "write one of `elicit`, `sample`, `roots`";
            reading.complain(Complaint::new(written.span, "a question is one thing").help(help));
            None
        }
    }
}

fn text_result(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

fn empty() -> Reply {
    Reply {
        when: Map::new(),
        progress: Vec::new(),
        log: Vec::new(),
        ask: None,
        says: Says::Result(Value::Null),
    }
}
