//! What is neither label nor contract, as variables: the server, the agent, the action, the message.

use std::collections::BTreeMap;

use highwater_core::annotation::{DataClass, Source};
use highwater_core::grant::Permission;
use highwater_core::policy::{FactName, ManifestState, Phase, ServerTransport, ToolStatus};
use highwater_core::trust::TrustLevel;

use super::argument::Arguments;
use super::diagram::{Function, NEVER};
use super::space::{GaveUp, Space, TextId};
use super::texts::Pattern;
use super::world::Questions;

/// Everything but label and contract.
#[derive(Debug)]
pub(crate) struct Others {
    pub(crate) server: ServerModel,
    texts: BTreeMap<FactName, TextId>,
    pub(crate) kind: KindModel,
    /// In the order of [`Permission::ALL`].
    pub(crate) permissions: Vec<Function>,
    /// Exactly one holds, in the order of [`ToolStatus::ALL`].
    pub(crate) status: Vec<Function>,
    /// Files in doubt are run or handed on.
    pub(crate) doubted: Function,
    pub(crate) request_open_world: Function,
    pub(crate) request_attribution: TextId,
    pub(crate) response: ResponseModel,
}

/// What is known of the server.
#[derive(Debug)]
pub(crate) struct ServerModel {
    pub(crate) verified: Function,
    /// After the cap; exactly one holds.
    pub(crate) trust: Vec<Function>,
    pub(crate) resource_trust: Vec<Function>,
    pub(crate) manifest: Vec<Function>,
    pub(crate) transport: Vec<Function>,
}

/// What kind of action it is; exactly one of the first six holds.
#[derive(Debug)]
pub(crate) struct KindModel {
    pub(crate) tool: Function,
    pub(crate) resource: Function,
    pub(crate) prompt: Function,
    pub(crate) completion: Function,
    pub(crate) ask: Function,
    /// A method outside MCP, of which nothing is known.
    pub(crate) extra: Function,
    /// Of a completion: it is one of a resource, not of a prompt.
    pub(crate) of_resource: Function,
}

/// What is known of a message of the upstream.
#[derive(Debug)]
pub(crate) struct ResponseModel {
    pub(crate) open_world: Function,
    pub(crate) malicious: Function,
    pub(crate) attribution: TextId,
    /// The message says where it comes from.
    pub(crate) source_said: Function,
    pub(crate) source: Vec<Function>,
    /// The message says what it holds: `none`, then the classes.
    pub(crate) sensitivity_said: Function,
    pub(crate) sensitivity: Vec<Function>,
    /// What it asks, if it is a question.
    pub(crate) ask: Vec<Function>,
}

/// Facts that are a text, and what an example says where nothing else is asked for.
const TEXTS: [(FactName, &str); 6] = [
    (FactName::ToolId, "server__tool"),
    (FactName::ToolName, "tool"),
    (FactName::ServerId, "server"),
    (FactName::AgentId, "agent"),
    (FactName::ResourceUri, "file:///example"),
    (FactName::PromptName, "prompt"),
];

fn exactly(text: &str) -> Pattern {
    Pattern::Exact(text.to_owned())
}

// === impl Others ===

impl Others {
    pub(crate) fn new(
        space: &mut Space,
        phase: Phase,
        virtual_servers: &[&str],
        questions: &Questions,
    ) -> Result<Self, GaveUp> {
        // First what is done, then its name: an example should rather name a tool than do something else.
        let kind = KindModel::new(space, phase)?;
        let mut texts = BTreeMap::new();
        for (name, usual) in TEXTS {
            texts.insert(name, space.text(questions.of(&[name]), usual)?);
        }
        let method = match phase {
            Phase::Call | Phase::Result | Phase::List => "tools/call",
            Phase::Resource => "resources/read",
        };
        let mut asked = questions.of(&[FactName::ActionMethod]);
        asked.extend(
            kind.methods().into_iter().flat_map(|(_, methods)| methods).map(|method| exactly(method)),
        );
        let action_method = space.text(asked, method)?;
        kind.require_methods(space, action_method)?;
        texts.insert(FactName::ActionMethod, action_method);
        let mut names = questions.of(&[FactName::AgentVirtualServer]);
        let known: Vec<Pattern> =
            virtual_servers.iter().map(|name| Pattern::Exact((*name).to_owned())).collect();
        names.extend(known.iter().cloned());
        let name = space.text(names, virtual_servers.first().unwrap_or(&"default"))?;
        let mut one_of_them = Vec::new();
        for pattern in &known {
            one_of_them.push(space.like(name, pattern)?);
        }
        let one_of_them = space.diagram.any(one_of_them)?;
        space.require(one_of_them)?;
        texts.insert(FactName::AgentVirtualServer, name);
        Ok(Self {
            server: ServerModel::new(space)?,
            texts,
            kind,
            permissions: space.usual_switches(Permission::ALL.len())?,
            status: space.choice(ToolStatus::ALL.len())?,
            doubted: space.switch()?,
            request_open_world: space.switch()?,
            request_attribution: space
                .text_set(questions.of(&[FactName::RequestAttribution]), "mcp://client.example/context")?,
            response: ResponseModel::new(space, questions)?,
        })
    }

    /// The agent holds what the action needs: what it does not is refused before any rule is asked.
    pub(crate) fn granted(&self, space: &mut Space, classes: &[Function]) -> Result<Function, GaveUp> {
        let reading = self.kind.is_reading(space)?;
        let mut needed = Vec::new();
        // The permissions for calls are in the order of the classes.
        for (permission, class) in self.permissions.iter().zip(classes) {
            needed.push(space.diagram.and(*permission, *class)?);
        }
        let to_call = space.diagram.any(needed)?;
        let to_read = self.permissions.first().copied().unwrap_or(NEVER);
        Ok(space.diagram.choose(reading, to_read, to_call)?)
    }

    /// The text of a fact.
    pub(crate) fn text(&self, name: FactName) -> Option<TextId> {
        self.texts.get(&name).copied()
    }
}

// === impl ServerModel ===

impl ServerModel {
    fn new(space: &mut Space) -> Result<Self, GaveUp> {
        let model = Self {
            verified: space.switch()?,
            trust: space.choice(TrustLevel::ALL.len())?,
            resource_trust: space.choice(TrustLevel::ALL.len())?,
            manifest: space.choice(ManifestState::ALL.len())?,
            transport: space.choice(ServerTransport::ALL.len())?,
        };
        Ok(model)
    }
}

// === impl KindModel ===

impl KindModel {
    fn new(space: &mut Space, phase: Phase) -> Result<Self, GaveUp> {
        let (before_call, before_read) = match phase {
            Phase::Call => (true, false),
            Phase::Resource => (false, true),
            Phase::Result => (true, true),
            Phase::List => (false, false),
        };
        let of_tools = if before_call { 3 } else { usize::from(!before_read) };
        let count = of_tools + if before_read { 3 } else { 0 };
        let mut kinds = space.choice(count)?.into_iter();
        let mut next = |is_there: bool| if is_there { kinds.next().unwrap_or(NEVER) } else { NEVER };
        Ok(Self {
            tool: next(of_tools > 0),
            ask: next(before_call),
            extra: next(before_call),
            resource: next(before_read),
            prompt: next(before_read),
            completion: next(before_read),
            of_resource: space.switch()?,
        })
    }

    /// What the fact `action.kind` says, word by word. Of a method outside MCP nothing is known.
    pub(crate) fn possible(&self, space: &mut Space) -> Result<Vec<Function>, GaveUp> {
        let kinds = [self.tool, self.resource, self.prompt, self.completion, self.ask];
        kinds.into_iter().map(|kind| Ok(space.diagram.or(kind, self.extra)?)).collect()
    }

    /// The methods by which something is read. By which a tool's call goes on, and by which something is answered, is
    /// left open.
    fn methods(&self) -> [(Function, &'static [&'static str]); 3] {
        [
            (self.resource, &["resources/read", "resources/subscribe"]),
            (self.prompt, &["prompts/get"]),
            (self.completion, &["completion/complete"]),
        ]
    }

    /// What is read is read by the method for it.
    fn require_methods(&self, space: &mut Space, method: TextId) -> Result<(), GaveUp> {
        for (kind, methods) in self.methods() {
            let mut one_of_them = Vec::new();
            for name in methods {
                one_of_them.push(space.like(method, &exactly(name))?);
            }
            let one_of_them = space.diagram.any(one_of_them)?;
            space.require_if(kind, one_of_them)?;
        }
        Ok(())
    }

    /// Reading a resource takes no arguments; a tool and a prompt declare what they take, and of anything else nobody
    /// knows.
    pub(crate) fn declare(&self, space: &mut Space, arguments: &Arguments) -> Result<(), GaveUp> {
        let unknown = space.diagram.any([self.ask, self.extra, self.completion])?;
        for declared in arguments.declared() {
            space.require_if(unknown, declared)?;
            let none = space.diagram.not(declared)?;
            space.require_if(self.resource, none)?;
        }
        Ok(())
    }

    /// The action is about something else than a tool.
    pub(crate) fn is_reading(&self, space: &mut Space) -> Result<Function, GaveUp> {
        Ok(space.diagram.any([self.resource, self.prompt, self.completion])?)
    }

    /// Nobody knows which tool the action is about.
    pub(crate) fn is_of_unknown_tool(&self, space: &mut Space) -> Result<Function, GaveUp> {
        Ok(space.diagram.or(self.ask, self.extra)?)
    }

    /// The action names no resource.
    pub(crate) fn names_no_resource(&self, space: &mut Space) -> Result<Function, GaveUp> {
        let completed = space.diagram.and(self.completion, self.of_resource)?;
        let named = space.diagram.or(self.resource, completed)?;
        Ok(space.diagram.not(named)?)
    }

    /// The action names no prompt.
    pub(crate) fn names_no_prompt(&self, space: &mut Space) -> Result<Function, GaveUp> {
        let completed = space.diagram.minus(self.completion, self.of_resource)?;
        let named = space.diagram.or(self.prompt, completed)?;
        Ok(space.diagram.not(named)?)
    }
}

// === impl ResponseModel ===

impl ResponseModel {
    fn new(space: &mut Space, questions: &Questions) -> Result<Self, GaveUp> {
        let attribution = questions.of(&[FactName::ResponseAttribution]);
        let asks = space.switch()?;
        let mut ask = space.choice(4)?;
        for kind in &mut ask {
            *kind = space.diagram.and(*kind, asks)?;
        }
        Ok(Self {
            open_world: space.switch()?,
            malicious: space.switch()?,
            attribution: space.text_set(attribution, "https://elsewhere.example/")?,
            source_said: space.switch()?,
            source: space.part(Source::ALL.len())?,
            sensitivity_said: space.switch()?,
            sensitivity: space.part(1 + DataClass::ALL.len())?,
            ask,
        })
    }
}
