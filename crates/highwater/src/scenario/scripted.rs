//! `highwater scripted-server`: plays the server of a scenario on standard input and output, in both eras, and writes
//! down what reached it. Whether a call ran is read there, not from what anybody answered.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, Read, Write};
use std::path::PathBuf;

use anyhow::Context;
use serde_json::{Map, Value, json};

use super::script::{Ask, Reply, Resolution, Says, Script, SpokenEra, fitting};
use crate::example::wire::{
    Cache, Era, LEGACY, LOG_LEVEL_KEY, RESOLUTION_KEY, Request, RpcError, notification, result_message,
    supported_versions,
};

/// No message of a scenario is longer.
const LONGEST_LINE: u64 = 64 << 20;

/// The ids of our own questions start here, far from anybody's requests.
const FIRST_QUESTION: u64 = 9000;

/// What `scripted-server` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct ScriptedServerArgs {
    /// The script.
    #[arg(value_name = "FILE")]
    script: PathBuf,

    /// Where to write down what arrives.
    #[arg(long, value_name = "FILE")]
    journal: PathBuf,
}

/// The server at work.
struct Player {
    script: Script,
    journal: File,
    store: BTreeMap<String, Value>,
    /// Calls of legacy clients that wait for an answer, by the number of the question.
    waiting: BTreeMap<u64, Waiting>,
    next_question: u64,
}

struct Waiting {
    id: Value,
    reply: Reply,
    arguments: Map<String, Value>,
}

/// Serves until the input ends.
pub(crate) fn run(args: &ScriptedServerArgs) -> anyhow::Result<()> {
    let script = std::fs::read(&args.script)
        .with_context(|| format!("cannot read the script `{}`", args.script.display()))?;
    let journal = File::options().create(true).append(true).open(&args.journal);
    let mut player = Player {
        script: serde_json::from_slice(&script).context("this is no script")?,
        journal: journal.with_context(|| format!("cannot write `{}`", args.journal.display()))?,
        store: BTreeMap::new(),
        waiting: BTreeMap::new(),
        next_question: FIRST_QUESTION,
    };
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let Ok(Value::Object(message)) = serde_json::from_slice(&line) else { continue };
        let mut bytes = Vec::new();
        for said in player.hear(message)? {
            serde_json::to_writer(&mut bytes, &said)?;
            bytes.push(b'\n');
        }
        if output.write_all(&bytes).and_then(|()| output.flush()).is_err() {
            // Nobody reads any more.
            return Ok(());
        }
    }
}

// === impl Player ===

impl Player {
    fn hear(&mut self, mut message: Map<String, Value>) -> anyhow::Result<Vec<Value>> {
        let id = message.remove("id").unwrap_or(Value::Null);
        let Some(method) = message.get("method").and_then(Value::as_str).map(str::to_owned) else {
            return self.answered(&id, &message);
        };
        if id.is_null() {
            return Ok(Vec::new());
        }
        let request = match Request::new(id.clone(), &method, message.remove("params")) {
            Ok(request) => request,
            Err(error) => return Ok(vec![error.into_message(Some(id))]),
        };
        Ok(self.request(&request)?.unwrap_or_else(|error| vec![error.into_message(Some(id))]))
    }

    fn request(&mut self, request: &Request) -> anyhow::Result<Result<Vec<Value>, RpcError>> {
        let method = request.method.as_str();
        match (self.script.era, request.era) {
            (Some(SpokenEra::Legacy), Era::Modern) | (Some(SpokenEra::Modern), Era::Legacy) => {
                return Ok(Err(RpcError::method(method)));
            }
            (_, Era::Modern) => {
                if let Err(error) = request.check_modern() {
                    return Ok(Err(error));
                }
            }
            (_, Era::Legacy) => {}
        }
        let list = |key: &str, entries: &[Value]| Ok(Ok(self.result(request, json!({ key: entries }))));
        match method {
            "initialize" => Ok(Ok(self.result(request, self.greeting(request)))),
            "server/discover" => {
                let about = json!({
                    "supportedVersions": supported_versions(), "capabilities": self.capabilities(Era::Modern)
                });
                Ok(Ok(self.result(request, about)))
            }
            "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => {
                Ok(Ok(self.result(request, json!({}))))
            }
            "tools/list" => list("tools", &self.script.tools),
            "resources/list" => list("resources", &self.script.resources),
            "resources/templates/list" => list("resourceTemplates", &self.script.templates),
            "prompts/list" => list("prompts", &self.script.prompts),
            _ => {
                self.note(method, &Value::Object(request.params.clone()))?;
                Ok(self.act(request))
            }
        }
    }

    /// Everything that is more than a look at the lists.
    fn act(&mut self, request: &Request) -> Result<Vec<Value>, RpcError> {
        match request.method.as_str() {
            "tools/call" => self.play(request, request.text("name")?, Script::calls_of),
            "prompts/get" => self.play(request, request.text("name")?, Script::renderings_of),
            "resources/read" => self.play(request, request.text("uri")?, Script::reads_of),
            "tools/resolve" => self.resolve(request),
            "completion/complete" => Ok(self.complete(request)),
            method => match self.script.calls.contains_key(method) {
                true => self.play(request, method, Script::calls_of),
                false => Err(RpcError::method(method)),
            },
        }
    }

    /// Gives the reply that fits, or asks first.
    fn play(
        &mut self,
        request: &Request,
        name: &str,
        of: for<'s> fn(&'s Script, &str) -> Option<&'s [Reply]>,
    ) -> Result<Vec<Value>, RpcError> {
        let arguments = request.arguments()?;
        let unknown = || RpcError::params(format!("`{name}` is not in the script"));
        let replies = of(&self.script, name).ok_or_else(unknown)?;
        let reply = fitting(replies, |reply| &reply.when, &arguments).ok_or_else(unknown)?.clone();
        let mut said = self.before(request, &reply);
        let answered = request.params.contains_key("inputResponses");
        match (&reply.ask, request.era) {
            (Some(_), Era::Modern) if answered => said.clear(),
            (Some(ask), Era::Modern) => {
                let result = json!({
                    "resultType": "input_required", "inputRequests": { "asked": { "method": ask.method, "params": ask.params } },
                    "requestState": "as scripted"
                });
                said.push(json!({ "jsonrpc": "2.0", "id": request.id, "result": result }));
                return Ok(said);
            }
            (Some(ask), Era::Legacy) => {
                said.push(self.question(ask));
                let waiting = Waiting { id: request.id.clone(), reply: reply.clone(), arguments };
                self.waiting.insert(self.next_question, waiting);
                self.next_question += 1;
                return Ok(said);
            }
            (None, _) => {}
        }
        said.push(self.end(&request.id, request.era, &reply, &arguments));
        Ok(said)
    }

    fn question(&self, ask: &Ask) -> Value {
        json!({ "jsonrpc": "2.0", "id": self.next_question, "method": ask.method, "params": ask.params })
    }

    /// An answer to a question of ours ends the call that asked it.
    fn answered(&mut self, id: &Value, message: &Map<String, Value>) -> anyhow::Result<Vec<Value>> {
        let Some(waiting) = id.as_u64().and_then(|number| self.waiting.remove(&number)) else {
            return Ok(Vec::new());
        };
        let answer = message.get("result").or_else(|| message.get("error")).cloned().unwrap_or_default();
        self.note("answer", &answer)?;
        Ok(vec![self.end(&waiting.id, Era::Legacy, &waiting.reply, &waiting.arguments)])
    }

    fn before(&self, request: &Request, reply: &Reply) -> Vec<Value> {
        let total = reply.progress.len();
        let progress = request.progress_token().into_iter().flat_map(|token| {
            reply.progress.iter().enumerate().map(move |(index, text)| {
                let params = json!({
                    "progressToken": token, "progress": index + 1, "total": total, "message": text
                });
                notification("notifications/progress", params)
            })
        });
        let wants_log = request.era == Era::Legacy || request.meta(LOG_LEVEL_KEY).is_some();
        let log = reply.log.iter().filter(|_| wants_log).map(|text| {
            let params = json!({ "level": "warning", "logger": self.script.name, "data": text });
            notification("notifications/message", params)
        });
        progress.chain(log).collect()
    }

    fn end(&mut self, id: &Value, era: Era, reply: &Reply, arguments: &Map<String, Value>) -> Value {
        let result = match &reply.says {
            Says::Error(error) => return json!({ "jsonrpc": "2.0", "id": id, "error": error }),
            Says::Result(result) => result.clone(),
            Says::Store { key, value, result } => {
                let stored = arguments.get(value).cloned().unwrap_or_default();
                self.store.insert(named(arguments, key), stored);
                result.clone()
            }
            Says::Recall { key, result } => {
                let found = self.store.get(&named(arguments, key)).and_then(Value::as_str);
                let text = found.unwrap_or("there is nothing of that name");
                let mut result = result.clone();
                if let Value::Object(members) = &mut result {
                    members.insert("content".into(), json!([{ "type": "text", "text": text }]));
                }
                result
            }
        };
        self.message(id, era, result)
    }

    fn resolve(&self, request: &Request) -> Result<Vec<Value>, RpcError> {
        let name = request.text("name")?;
        let arguments = request.arguments()?;
        let choices = self.script.resolutions.get(name).map(Vec::as_slice).unwrap_or_default();
        let resolution = fitting(choices, |choice: &Resolution| &choice.when, &arguments)
            .ok_or_else(|| RpcError::method(&request.method))?;
        if let Some(error) = &resolution.error {
            return Ok(vec![json!({ "jsonrpc": "2.0", "id": request.id, "error": error })]);
        }
        let mut members = Map::new();
        members.insert("name".into(), json!(name));
        members.insert("annotations".into(), resolution.annotations.clone());
        if let Some(meta) = &resolution.meta {
            members.insert("_meta".into(), meta.clone());
        }
        let result = match request.era {
            Era::Legacy => {
                members.insert("inputSchema".into(), json!({ "type": "object" }));
                members.extend(resolution.tool.clone());
                json!({ "tool": members })
            }
            Era::Modern => Value::Object(members),
        };
        Ok(self.result(request, result))
    }

    fn complete(&self, request: &Request) -> Vec<Value> {
        let argument = request.params.get("argument");
        let part = |name: &str| argument.and_then(|argument| argument.get(name)).and_then(Value::as_str);
        let (name, typed) = (part("name").unwrap_or_default(), part("value").unwrap_or_default());
        let known = self.script.completions.get(name).into_iter().flatten();
        let values: Vec<&String> = known.filter(|value| value.starts_with(typed)).collect();
        self.result(request, json!({ "completion": { "values": values, "hasMore": false } }))
    }

    fn greeting(&self, request: &Request) -> Value {
        let wished = request.params.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
        let newest = LEGACY.first().copied().unwrap_or_default();
        let version = LEGACY.into_iter().find(|known| *known == wished).unwrap_or(newest);
        json!({
            "protocolVersion": version, "capabilities": self.capabilities(Era::Legacy), "serverInfo": self.info()
        })
    }

    fn capabilities(&self, era: Era) -> Value {
        let mut known = Map::from_iter([("tools".to_owned(), json!({})), ("logging".to_owned(), json!({}))]);
        if !self.script.reads.is_empty() || !self.script.templates.is_empty() {
            known.insert("resources".into(), json!({ "subscribe": true }));
        }
        if !self.script.prompts.is_empty() {
            known.insert("prompts".into(), json!({}));
        }
        if !self.script.completions.is_empty() {
            known.insert("completions".into(), json!({}));
        }
        if !self.script.resolutions.is_empty() {
            match era {
                Era::Legacy => known.insert("tools".into(), json!({ "resolve": true })),
                Era::Modern => known.insert("extensions".into(), json!({ RESOLUTION_KEY: {} })),
            };
        }
        known.extend(self.script.capabilities.clone());
        Value::Object(known)
    }

    fn info(&self) -> Value {
        json!({ "name": self.script.name, "version": "1" })
    }

    fn result(&self, request: &Request, result: Value) -> Vec<Value> {
        vec![self.message(&request.id, request.era, result)]
    }

    fn message(&self, id: &Value, era: Era, result: Value) -> Value {
        let stated = result.get("resultType").cloned();
        let mut message = result_message(id, era, result, Cache::Contents, &self.info());
        if let (Some(stated), Some(kind)) = (stated, message.pointer_mut("/result/resultType")) {
            *kind = stated;
        }
        message
    }

    /// One write a line, before anything is answered: whoever has an answer can read what led to it.
    fn note(&mut self, method: &str, params: &Value) -> anyhow::Result<()> {
        let line = format!("{}\n", json!({ "method": method, "params": params }));
        self.journal.write_all(line.as_bytes()).context("cannot write the journal")
    }
}

fn named(arguments: &Map<String, Value>, key: &str) -> String {
    arguments
        .get(key)
        .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        .unwrap_or_default()
}

// === impl Script ===

impl Script {
    fn calls_of(&self, name: &str) -> Option<&[Reply]> {
        self.calls.get(name).map(Vec::as_slice)
    }

    fn renderings_of(&self, name: &str) -> Option<&[Reply]> {
        self.renderings.get(name).map(Vec::as_slice)
    }

    /// A resource by its URI, or by the longest template whose literal beginning it has.
    fn reads_of(&self, uri: &str) -> Option<&[Reply]> {
        let literal = |name: &str| name.split_once('{').map(|(start, _)| start.to_owned());
        let fits = |name: &&String| literal(name).is_some_and(|start| uri.starts_with(&start));
        let found = self.reads.get(uri).or_else(|| {
            let name = self.reads.keys().filter(fits).max_by_key(|name| name.len())?;
            self.reads.get(name)
        });
        found.map(Vec::as_slice)
    }
}
