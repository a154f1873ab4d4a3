//! Tools of real servers and names that try to be read for more than they are.

mod definitions;
mod names;
mod servers;

use super::*;

/// A schema of texts with these names. `[]` behind a name makes a list of texts, `=` a schema of its own.
fn schema(names: &str) -> String {
    let property = |name: &str| match name.split_once('=') {
        Some((name, schema)) => format!(r#""{name}":{schema}"#),
        None => match name.strip_suffix("[]") {
            Some(name) => format!(r#""{name}":{{"type":"array","items":{{"type":"string"}}}}"#),
            None => format!(r#""{name}":{{"type":"string"}}"#),
        },
    };
    let properties: Vec<String> = names.split_whitespace().map(property).collect();
    format!(r#"{{"type":"object","properties":{{{}}}}}"#, properties.join(","))
}

fn shape(server: &str, name: &str, arguments: &str) -> ToolShape {
    ToolShape::read(server, name, Some(&schema(arguments)))
}

/// What is found, in short: `reads`, `name:send`, `url:link`, `address:to`, `sql:query`, `runs:exec`, `code:command`.
fn found(shape: &ToolShape) -> String {
    let mut found = Vec::new();
    if shape.reads_by_name() {
        found.push("reads".to_owned());
    }
    match shape.sends() {
        None => {}
        Some(Exit::Name { word }) => found.push(format!("name:{word}")),
        Some(Exit::Url { argument }) => found.push(format!("url:{argument}")),
        Some(Exit::Address { argument }) => found.push(format!("address:{argument}")),
        Some(Exit::UnknownArguments) => found.push("exit?".to_owned()),
    }
    match shape.runs() {
        None => {}
        Some(Engine::Sql { argument }) => found.push(format!("sql:{argument}")),
        Some(Engine::Name { word }) => found.push(format!("runs:{word}")),
        Some(Engine::Code { argument }) => found.push(format!("code:{argument}")),
        Some(Engine::UnknownArguments) => found.push("engine?".to_owned()),
    }
    found.join(" ")
}
