//! The methods of both eras, each of them answered from the story.

use serde_json::{Map, Value, json};

use super::label::DataLabel;
use super::schema;
use super::server::{Answer, LegacyClient, Server};
use super::story::{Arguments, Event, Foresight, Level, Reply};
use super::wire::{
    self, CAPABILITIES_KEY, Cache, Era, LEGACY, RESOLUTION_KEY, Request, RpcError, notification,
};

/// The protocol allows no more values in one completion.
const MAX_COMPLETIONS: usize = 100;

impl Server {
    /// A request of the modern era.
    pub(super) fn answer_modern(&mut self, request: &Request) -> Result<Answer, RpcError> {
        match request.method.as_str() {
            "server/discover" => Ok(Answer::new(self.discover(), Cache::Definition)),
            "subscriptions/listen" => {
                let acknowledged = self.subscriptions.listen(request, self.has_resources())?;
                Ok(Answer { before: vec![acknowledged], result: None })
            }
            _ => {
                let level = request.log_level()?;
                self.answer_either(request, level)
            }
        }
    }

    /// A request of the legacy era, in which nothing but `initialize` and `ping` comes before the handshake.
    pub(super) fn answer_legacy(&mut self, request: &Request) -> Result<Answer, RpcError> {
        let has_resources = self.has_resources();
        match (request.method.as_str(), &mut self.legacy) {
            ("initialize", _) => self.initialize(request),
            ("ping", _) => Ok(Answer::new(json!({}), Cache::Silent)),
            (_, None) => {
                let key = wire::VERSION_KEY;
                Err(RpcError::params(format!("send `initialize` first, or carry `_meta[\"{key}\"]`")))
            }
            ("logging/setLevel", Some(client)) => {
                let level = request.params.get("level").unwrap_or(&Value::Null);
                client.log_level = Some(wire::level(level)?);
                Ok(Answer::new(json!({}), Cache::Silent))
            }
            ("resources/subscribe" | "resources/unsubscribe", Some(_)) if has_resources => {
                self.subscribe(request)
            }
            (_, Some(client)) => {
                let level = client.log_level;
                self.answer_either(request, level)
            }
        }
    }

    /// The methods that both eras have.
    fn answer_either(&mut self, request: &Request, log_level: Option<Level>) -> Result<Answer, RpcError> {
        let about = self.story.definition();
        match request.method.as_str() {
            "tools/list" => list(request, "tools", self.listed_tools(), Cache::Definition),
            "tools/call" => self.call(request, log_level),
            "tools/resolve" if self.options.resolve => self.resolve(request),
            "prompts/list" if self.has_prompts() => {
                list(request, "prompts", about.prompts.clone(), Cache::Definition)
            }
            "prompts/get" if self.has_prompts() => self.prompt(request),
            "resources/list" if self.has_resources() => {
                let resources =
                    self.story.resources().map_err(|refusal| RpcError::internal(refusal.text()))?;
                list(request, "resources", resources, Cache::Contents)
            }
            "resources/templates/list" if self.has_resources() => {
                list(request, "resourceTemplates", about.templates.clone(), Cache::Definition)
            }
            "resources/read" if self.has_resources() => self.read(request),
            "completion/complete" if self.has_completions() => self.complete(request),
            method => Err(RpcError::method(method)),
        }
    }

    fn initialize(&mut self, request: &Request) -> Result<Answer, RpcError> {
        let wished = request.text("protocolVersion")?;
        // A version that has no handshake, or that nobody knows, is answered with the newest that has one.
        let newest = LEGACY.first().copied().unwrap_or_default();
        let version = LEGACY.into_iter().find(|known| *known == wished).unwrap_or(newest);
        self.legacy = Some(LegacyClient { version, log_level: None });
        self.subscriptions.forget_legacy();
        let result = json!({
            "protocolVersion": version,
            "capabilities": self.capabilities(Era::Legacy),
            "serverInfo": self.server_info(),
            "instructions": self.story.definition().instructions
        });
        Ok(Answer::new(result, Cache::Silent))
    }

    fn discover(&self) -> Value {
        json!({
            "supportedVersions": wire::supported_versions(),
            "capabilities": self.capabilities(Era::Modern),
            "instructions": self.story.definition().instructions
        })
    }

    fn capabilities(&self, era: Era) -> Value {
        let mut known = Map::from_iter([("logging".to_owned(), json!({})), ("tools".to_owned(), json!({}))]);
        if self.has_resources() {
            known.insert("resources".into(), json!({ "subscribe": true, "listChanged": true }));
        }
        if self.has_prompts() {
            known.insert("prompts".into(), json!({}));
        }
        if self.has_completions() {
            known.insert("completions".into(), json!({}));
        }
        if self.options.resolve {
            match era {
                Era::Legacy => known.insert("tools".into(), json!({ "resolve": true })),
                Era::Modern => known.insert("extensions".into(), json!({ RESOLUTION_KEY: {} })),
            };
        }
        Value::Object(known)
    }

    fn has_resources(&self) -> bool {
        !self.story.definition().templates.is_empty()
    }

    fn has_prompts(&self) -> bool {
        !self.story.definition().prompts.is_empty()
    }

    fn has_completions(&self) -> bool {
        self.has_prompts() || self.has_resources()
    }

    /// The tools, marked for resolution in both of its forms where it is offered.
    fn listed_tools(&self) -> Vec<Value> {
        let mut tools = self.story.definition().tools.clone();
        for tool in tools.iter_mut().filter_map(Value::as_object_mut).filter(|_| self.options.resolve) {
            tool.insert("resolve".into(), json!(true));
            tool.insert("_meta".into(), json!({ RESOLUTION_KEY: { "resolvable": true } }));
        }
        tools
    }

    fn tool(&self, name: &str) -> Result<&Value, RpcError> {
        let tools = &self.story.definition().tools;
        let found = tools.iter().find(|tool| tool.get("name").and_then(Value::as_str) == Some(name));
        found.ok_or_else(|| RpcError::params(format!("unknown tool `{name}`")))
    }

    fn call(&mut self, request: &Request, log_level: Option<Level>) -> Result<Answer, RpcError> {
        let name = request.text("name")?;
        let tool = self.tool(name)?;
        let arguments = request.arguments()?;
        if let Some(journal) = &self.journal {
            let context = request.meta("annotations");
            journal.record(&json!({ "tool": name, "arguments": arguments, "annotations": context }));
        }
        if let Err(fault) = check_arguments(tool, &arguments) {
            return Ok(Answer::new(tool_error(&fault), Cache::Silent));
        }
        match self.story.call(name, &Arguments(&arguments)) {
            Ok(reply) => {
                let before = self.notifications(request, log_level, &reply.events);
                Ok(Answer { before, result: Some((self.tool_result(reply), Cache::Silent)) })
            }
            Err(refusal) => Ok(Answer::new(tool_error(refusal.text()), Cache::Silent)),
        }
    }

    fn tool_result(&self, reply: Reply) -> Value {
        let text = reply.structured.to_string();
        let mut result = json!({
            "content": [{ "type": "text", "text": text }],
            "structuredContent": reply.structured,
            "isError": false
        });
        self.add_label(&mut result, &reply.label);
        result
    }

    fn add_label(&self, result: &mut Value, label: &DataLabel) {
        if let (true, Value::Object(members)) = (self.options.result_labels, result) {
            members.insert("_meta".into(), json!({ "annotations": label.annotations() }));
        }
    }

    fn notifications(&self, request: &Request, log_level: Option<Level>, events: &[Event]) -> Vec<Value> {
        let of_event = |event: &Event| match event {
            Event::Log(level, text) => {
                let wanted = log_level.is_some_and(|least| *level >= least);
                wanted.then(|| self.log_message(*level, text)).into_iter().collect()
            }
            Event::Progress(done, total) => {
                let message = |token: &Value| {
                    let params = json!({ "progressToken": token, "progress": done, "total": total });
                    notification("notifications/progress", params)
                };
                request.progress_token().map(message).into_iter().collect()
            }
            Event::ResourceUpdated(uri) => self.subscriptions.updated(uri),
            Event::ResourcesChanged => self.subscriptions.list_changed(self.legacy.is_some()),
        };
        events.iter().flat_map(of_event).collect::<Vec<Value>>()
    }

    /// The static declaration narrowed to what these arguments leave possible.
    fn resolve(&self, request: &Request) -> Result<Answer, RpcError> {
        let declared = request.meta(CAPABILITIES_KEY).and_then(|known| known.get("extensions"));
        if request.era == Era::Modern && declared.and_then(|known| known.get(RESOLUTION_KEY)).is_none() {
            return Err(RpcError::missing_extension(RESOLUTION_KEY));
        }
        let name = request.text("name")?;
        let tool = self.tool(name)?;
        let arguments = request.arguments()?;
        check_arguments(tool, &arguments).map_err(RpcError::params)?;
        let foresight = self.story.foresee(name, &Arguments(&arguments));
        let foresight = foresight.map_err(|refusal| RpcError::params(refusal.text()))?;
        let annotations = narrow(tool, &foresight);
        let result = match request.era {
            Era::Legacy => {
                let mut tool = tool.clone();
                if let Value::Object(members) = &mut tool {
                    members.insert("annotations".into(), annotations);
                }
                json!({ "tool": tool })
            }
            Era::Modern => json!({ "name": name, "annotations": annotations }),
        };
        Ok(Answer::new(result, Cache::Silent))
    }

    fn prompt(&self, request: &Request) -> Result<Answer, RpcError> {
        let name = request.text("name")?;
        let prompts = &self.story.definition().prompts;
        let prompt = prompts.iter().find(|prompt| prompt.get("name").and_then(Value::as_str) == Some(name));
        let prompt = prompt.ok_or_else(|| RpcError::params(format!("unknown prompt `{name}`")))?;
        let arguments = request.arguments()?;
        check_prompt_arguments(prompt, &arguments)?;
        let reply = self.story.prompt(name, &Arguments(&arguments));
        let reply = reply.map_err(|refusal| RpcError::params(refusal.text()))?;
        let mut result = json!({ "description": reply.description, "messages": reply.messages });
        self.add_label(&mut result, &reply.label);
        Ok(Answer::new(result, Cache::Silent))
    }

    fn read(&self, request: &Request) -> Result<Answer, RpcError> {
        let uri = request.text("uri")?;
        let reading = self.story.read(uri).map_err(|refusal| RpcError::internal(refusal.text()))?;
        let reading = reading.ok_or_else(|| RpcError::no_resource(request.era, uri))?;
        let contents = json!({ "uri": uri, "mimeType": reading.mime_type, "text": reading.text });
        let mut result = json!({ "contents": [contents] });
        self.add_label(&mut result, &reading.label);
        Ok(Answer::new(result, Cache::Contents))
    }

    fn subscribe(&mut self, request: &Request) -> Result<Answer, RpcError> {
        let uri = request.text("uri")?;
        if request.method == "resources/unsubscribe" {
            self.subscriptions.unwatch(uri);
        } else {
            let known = self.story.read(uri).map_err(|refusal| RpcError::internal(refusal.text()))?;
            known.ok_or_else(|| RpcError::no_resource(request.era, uri))?;
            self.subscriptions.watch(uri)?;
        }
        Ok(Answer::new(json!({}), Cache::Silent))
    }

    fn complete(&self, request: &Request) -> Result<Answer, RpcError> {
        let part = |outer: &str, inner: &str| {
            let text = request.params.get(outer).and_then(|part| part.get(inner)).and_then(Value::as_str);
            text.ok_or_else(|| RpcError::params(format!("`params.{outer}.{inner}` must be a string")))
        };
        let about = self.story.definition();
        let (entries, key, named) = match part("ref", "type")? {
            "ref/prompt" => (&about.prompts, "name", part("ref", "name")?),
            "ref/resource" => (&about.templates, "uriTemplate", part("ref", "uri")?),
            other => return Err(RpcError::params(format!("unknown reference type `{other}`"))),
        };
        if !entries.iter().any(|entry| entry.get(key).and_then(Value::as_str) == Some(named)) {
            return Err(RpcError::params(format!("unknown reference `{named}`")));
        }
        let values = self.story.complete(part("argument", "name")?, part("argument", "value")?);
        let values = values.map_err(|refusal| RpcError::internal(refusal.text()))?;
        let shown: Vec<&String> = values.iter().take(MAX_COMPLETIONS).collect();
        let completion =
            json!({ "values": shown, "total": values.len(), "hasMore": values.len() > MAX_COMPLETIONS });
        Ok(Answer::new(json!({ "completion": completion }), Cache::Silent))
    }
}

/// A list in one page; a cursor can only be somebody else's.
fn list(request: &Request, key: &str, entries: Vec<Value>, cache: Cache) -> Result<Answer, RpcError> {
    if request.params.contains_key("cursor") {
        return Err(RpcError::params("`params.cursor` is not one of this server's"));
    }
    Ok(Answer::new(json!({ key: entries }), cache))
}

fn check_arguments(tool: &Value, arguments: &Map<String, Value>) -> Result<(), String> {
    let schema = tool.get("inputSchema").unwrap_or(&Value::Null);
    schema::check(schema, &Value::Object(arguments.clone()))
        .map_err(|fault| format!("argument `{}` {}", fault.path, fault.why))
}

fn check_prompt_arguments(prompt: &Value, arguments: &Map<String, Value>) -> Result<(), RpcError> {
    for argument in prompt.get("arguments").and_then(Value::as_array).into_iter().flatten() {
        let name = argument.get("name").and_then(Value::as_str).unwrap_or_default();
        let required = argument.get("required").and_then(Value::as_bool).unwrap_or(false);
        match arguments.get(name) {
            Some(Value::String(_)) => {}
            None if !required => {}
            _ => return Err(RpcError::params(format!("argument `{name}` must be a string"))),
        }
    }
    Ok(())
}

fn tool_error(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }], "isError": true })
}

fn narrow(tool: &Value, foresight: &Foresight) -> Value {
    let mut annotations = tool.get("annotations").and_then(Value::as_object).cloned().unwrap_or_default();
    if let Some(Value::Object(input)) = annotations.get_mut("inputMetadata") {
        for (axis, value) in [("destination", foresight.destination), ("outcomes", foresight.outcomes)] {
            if let Some(value) = value {
                input.insert(axis.into(), json!(value));
            }
        }
    }
    if foresight.destination.is_some() || foresight.returns.is_some() {
        let from_outside = foresight.returns.as_ref().is_some_and(DataLabel::open_world);
        let to_outside = foresight.destination == Some("public");
        // A hint that the declaration leaves out stays out: what is known is said in words that say more.
        if let Some(hint) = annotations.get_mut("openWorldHint") {
            *hint = json!(from_outside || to_outside);
        }
    }
    if let Some(returns) = &foresight.returns {
        annotations.insert("attribution".into(), returns.attribution());
        annotations.insert("returnMetadata".into(), returns.return_metadata());
    }
    Value::Object(annotations)
}
