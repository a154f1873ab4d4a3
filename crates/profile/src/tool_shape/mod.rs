//! What can be told of a tool from its definition, without believing anything that it says of itself.
//!
//! Names are what a model reads, so an honest server's names mean what they say; of another server's the operator has
//! to say more. Everything here errs in one direction: a word, an argument or a schema that is not understood never
//! makes a tool milder.

mod argument;
mod database;
mod name;
mod naming;
mod role;
mod schema;
mod split;
mod verbs;

use std::collections::BTreeSet;

use argument::{Code, Content};
use database::{Database, database, is_sql_word};
use name::ToolName;

use highwater_core::profile::{RunsBy, SendsBy, ToolActs};
use highwater_notation::ArgumentTypes;
pub use naming::Naming;
pub use role::InferredRoles;
use schema::Arguments;

/// What a tool's name and input schema tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolShape {
    reads: bool,
    exit: Option<Exit>,
    engine: Option<Engine>,
    objects: Vec<String>,
    paths: Vec<String>,
    commands: Vec<String>,
    walk: Option<Walk>,
    namings: Vec<Naming>,
    contents: Vec<String>,
    types: ArgumentTypes,
    roles: InferredRoles,
    open: bool,
}

/// By what a tool sends its arguments to somebody. Arguments are named by pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By this word of its name.
    Name {
        /// The word, in lower case.
        word: String,
    },
    /// By an argument that is a URL, a host or the like.
    Url {
        /// Which.
        argument: String,
    },
    /// By an argument that is an address, a channel or an account.
    Address {
        /// Which.
        argument: String,
    },
    /// Its arguments could not be read, so that one of them may be anything.
    UnknownArguments,
}

/// What a tool looks through, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// The places in a folder.
    Lists,
    /// Everything below a folder.
    Searches,
}

/// By what a tool runs what it is given. Arguments are named by pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Engine {
    /// By an argument that is SQL. Nothing else decides what the call does: where there is a text at this pointer and
    /// [`reads_only`](super::sql::reads_only) holds of it, the call only reads. Where there is none, nobody knows.
    Sql {
        /// Which.
        argument: String,
    },
    /// By this word of its name.
    Name {
        /// The word, in lower case.
        word: String,
    },
    /// By an argument that is a command, code, or a query of something that cannot be looked at.
    Code {
        /// Which.
        argument: String,
    },
    /// Its arguments could not be read, so that one of them may be anything.
    UnknownArguments,
}

/// How a call makes files act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsesFiles {
    /// It runs, builds or tests them.
    Runs,
    /// It pushes, publishes or sends them.
    HandsOn,
}

// === impl ToolShape ===

impl ToolShape {
    /// Reads a definition: the server's name in the configuration, the tool's name, and its input schema as JSON text,
    /// in which no object has a key twice.
    pub fn read(server: &str, name: &str, input_schema: Option<&str>) -> Self {
        let tool = ToolName::new(name);
        let moves = tool
            .has_word(|word| matches!(word, "copy" | "cp" | "link" | "move" | "mv" | "rename" | "symlink"));
        let arguments = schema::arguments(input_schema, moves);
        // A set, because alternatives of a schema may say the same place twice.
        let pointers = |holds: fn(&argument::Argument) -> bool| -> Vec<String> {
            let held = arguments.all.iter().filter(|argument| holds(argument));
            held.map(|argument| argument.pointer.clone()).collect::<BTreeSet<_>>().into_iter().collect()
        };
        let exit = exit(&tool, &arguments);
        Self {
            reads: tool.reads(),
            contents: contents(&arguments, exit.is_some()),
            types: ArgumentTypes::read(input_schema),
            exit,
            engine: engine(&tool, &arguments, database(server, name).or_else(|| unnamed_database(&tool))),
            objects: pointers(|argument| argument.object),
            paths: pointers(|argument| argument.path),
            commands: pointers(|argument| argument.code == Some(Code::Other)),
            walk: walk(&tool),
            namings: naming::namings(&arguments.all),
            roles: InferredRoles::of(&tool, &arguments.all),
            open: arguments.open || !arguments.known,
        }
    }

    /// Whether the name is a reading one. That alone makes nothing benign: see [`only_reads`](Self::only_reads).
    pub fn reads_by_name(&self) -> bool {
        self.reads
    }

    /// Whether the name is a reading one, nothing is sent and nothing is run.
    pub fn only_reads(&self) -> bool {
        self.reads && self.exit.is_none() && self.engine.is_none()
    }

    /// What the core takes of it.
    pub fn acts(&self) -> ToolActs {
        ToolActs {
            reads_by_name: self.reads,
            sends: self.exit.as_ref().map(|exit| match exit {
                Exit::Name { .. } => SendsBy::Name,
                Exit::Url { .. } => SendsBy::Url,
                Exit::Address { .. } => SendsBy::Address,
                Exit::UnknownArguments => SendsBy::UnknownArguments,
            }),
            runs: self.engine.as_ref().map(|engine| match engine {
                Engine::Sql { .. } => RunsBy::Sql,
                Engine::Name { .. } => RunsBy::Name,
                Engine::Code { .. } => RunsBy::Code,
                Engine::UnknownArguments => RunsBy::UnknownArguments,
            }),
        }
    }

    /// By what the tool sends something, if it may.
    pub fn sends(&self) -> Option<&Exit> {
        self.exit.as_ref()
    }

    /// By what the tool runs something, if it may.
    pub fn runs(&self) -> Option<&Engine> {
        self.engine.as_ref()
    }

    /// How a call may make files act, if it may: by running, building or testing them, or by handing them on.
    pub fn uses_files(&self) -> Option<UsesFiles> {
        match (&self.engine, &self.exit) {
            (Some(Engine::Name { .. } | Engine::Code { .. } | Engine::UnknownArguments), _) => {
                Some(UsesFiles::Runs)
            }
            // What a database runs is the text that it is given.
            (Some(Engine::Sql { .. }) | None, Some(Exit::Name { word })) if verbs::publishes(word) => {
                Some(UsesFiles::HandsOn)
            }
            (Some(Engine::Sql { .. }) | None, Some(_)) if !self.paths.is_empty() => Some(UsesFiles::HandsOn),
            (Some(Engine::Sql { .. }) | None, _) => None,
        }
    }

    /// Pointers of the arguments that hold what is run.
    pub fn commands(&self) -> &[String] {
        &self.commands
    }

    /// Pointers of the arguments that name the thing acted on: RFC 6901 without the first slash, `*` for every item of
    /// a list and every member of a map. They are inferred from names, and there may be others.
    pub fn objects(&self) -> &[String] {
        &self.objects
    }

    /// Those of them that are file paths. A value elsewhere may be one, too.
    pub fn paths(&self) -> &[String] {
        &self.paths
    }

    /// What the tool looks through, if its name says so. Its replies name places that its arguments do not.
    pub fn walks(&self) -> Option<Walk> {
        self.walk
    }

    /// The arguments by which a call may name the stored thing that it is about.
    pub fn namings(&self) -> &[Naming] {
        &self.namings
    }

    /// Pointers of the arguments that are text to be put into something, and say neither where nor what, as far as their
    /// names tell. None where nothing beside them says it: then a text may be what names the thing.
    pub fn contents(&self) -> &[String] {
        &self.contents
    }

    /// Which types its arguments have.
    pub fn types(&self) -> &ArgumentTypes {
        &self.types
    }

    /// What each of them decides, as far as that can be told. Where somebody stated a role, that counts.
    pub fn roles(&self) -> &InferredRoles {
        &self.roles
    }

    /// Whether calls may hold values in places that the definition does not tell: members of objects that it leaves
    /// open, or a schema that could not be read. Then other objects and paths may be among them.
    pub fn is_open(&self) -> bool {
        self.open
    }
}

/// The arguments that are text to be put into something.
fn contents(arguments: &Arguments, sends: bool) -> Vec<String> {
    let names_something = |argument: &argument::Argument| {
        argument.url || argument.address || argument.object || argument.code.is_some()
    };
    if !arguments.known || !arguments.all.iter().any(names_something) {
        return Vec::new();
    }
    let is_content = |argument: &argument::Argument| match argument.content {
        Some(Content::Plainly) => true,
        Some(Content::IfSent) => sends,
        None => false,
    };
    let places: BTreeSet<&str> = arguments.all.iter().map(|argument| argument.pointer.as_str()).collect();
    // An alternative of the schema may say more of the same place.
    let held = |place: &&str| {
        let mut said = arguments.all.iter().filter(|argument| argument.pointer == **place);
        said.all(|argument| is_content(argument) && !names_something(argument))
    };
    places.into_iter().filter(held).map(str::to_owned).collect()
}

fn walk(tool: &ToolName) -> Option<Walk> {
    let searches = |word: &str| {
        matches!(word, "find" | "glob" | "grep" | "locate" | "recursive" | "search" | "tree" | "walk")
    };
    let lists = |word: &str| matches!(word, "dir" | "list" | "ls");
    if tool.has_word(searches) { Some(Walk::Searches) } else { tool.has_word(lists).then_some(Walk::Lists) }
}

fn exit(tool: &ToolName, arguments: &Arguments) -> Option<Exit> {
    if let Some(word) = tool.sends() {
        return Some(Exit::Name { word: word.to_owned() });
    }
    if let Some(url) = arguments.all.iter().find(|argument| argument.url) {
        return Some(Exit::Url { argument: url.pointer.clone() });
    }
    // Whoever reads a channel or an account names it as well.
    let address = arguments.all.iter().find(|argument| argument.address && !tool.reads());
    if let Some(address) = address {
        return Some(Exit::Address { argument: address.pointer.clone() });
    }
    (!arguments.known).then_some(Exit::UnknownArguments)
}

fn engine(tool: &ToolName, arguments: &Arguments, database: Option<Database>) -> Option<Engine> {
    let is_run = |code: Code| code != Code::Query || database.is_some();
    let run: Vec<_> = arguments.all.iter().filter(|argument| argument.code.is_some_and(is_run)).collect();
    if let [only] = run.as_slice() {
        let is_sql = match only.code {
            Some(Code::Sql) => true,
            Some(Code::Query) => database == Some(Database::Sql),
            Some(Code::Other) | None => false,
        };
        let is_written = arguments.all.iter().any(|argument| argument.output);
        if is_sql && only.single && arguments.known && !is_written && only_queries(tool) {
            return Some(Engine::Sql { argument: only.pointer.clone() });
        }
    }
    if let Some(word) = tool.runs() {
        return Some(Engine::Name { word: word.to_owned() });
    }
    if let Some(first) = run.first() {
        return Some(Engine::Code { argument: first.pointer.clone() });
    }
    (!arguments.known).then_some(Engine::UnknownArguments)
}

/// A tool that is called `query` and nothing else runs one, and most likely in SQL, whatever its server is called.
fn unnamed_database(tool: &ToolName) -> Option<Database> {
    let is_query = |word: &str| matches!(word, "queries" | "query" | "statement");
    (tool.has_word(is_query) && tool.consists_of(|word| is_query(word) || verbs::queries(word)))
        .then_some(Database::Sql)
}

/// Whether the name says that a query is run and nothing else: what `create_view` does with a SELECT is more than to
/// read.
fn only_queries(tool: &ToolName) -> bool {
    let is_filling = |word: &str| {
        matches!(
            word,
            "a" | "data" | "mcp" | "only" | "queries" | "raw" | "readonly" | "select" | "statement" | "the"
        )
    };
    tool.reads() || tool.consists_of(|word| verbs::queries(word) || is_sql_word(word) || is_filling(word))
}

#[cfg(test)]
mod tests;
