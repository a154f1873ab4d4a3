//! An example code host: public and private repositories behind one set of tools, and a public issue that
//! asks whoever works on it to publish what is private. This is the attack of the SAMOS case study.

mod host;

use std::path::Path;

use serde_json::{Value, json};

use self::host::{Host, OWNER, Repository};
use super::label::{DataClass, DataLabel, Source};
use super::saved::Saved;
use super::story::{Arguments, Definition, Event, Foresight, Level, Refusal, Reply, Story};

/// The tool that reads from any repository, and the two that replace it when tools are split.
const MIXED_TOOL: &str = "get_file_contents";
const SPLIT_TOOLS: [&str; 2] = ["get_public_file", "get_private_file"];

/// The code host.
pub(crate) struct Repo {
    definition: Definition,
    host: Saved<Host>,
}

// === impl Repo ===

impl Repo {
    /// Opens the host. With split tools a file is read by `get_public_file` or `get_private_file`, so that
    /// each tool has one level; without, one tool reads both and the reply says which it was.
    pub(crate) fn open(directory: Option<&Path>, split_tools: bool) -> anyhow::Result<Self> {
        let mut definition: Definition = serde_json::from_str(include_str!("definition.json"))?;
        definition.tools.retain(|tool| match tool.get("name").and_then(Value::as_str) {
            Some(MIXED_TOOL) => !split_tools,
            Some(name) if SPLIT_TOOLS.contains(&name) => split_tools,
            _ => true,
        });
        let host = Saved::open(directory, &definition.name, include_str!("seed.json"))?;
        Ok(Self { definition, host })
    }

    fn list_repositories(&self, arguments: &Arguments<'_>) -> Result<Reply, Refusal> {
        let visibility = arguments.optional_text("visibility").unwrap_or("all");
        let wanted = |repository: &Repository| match visibility {
            "public" => !repository.private,
            "private" => repository.private,
            _ => true,
        };
        let row = |(name, repository): (&String, &Repository)| {
            json!({
                "name": name, "description": repository.description, "private": repository.private,
                "openIssues": repository.open_issues()
            })
        };
        let host = self.host.view()?;
        let rows: Vec<Value> =
            host.repositories.iter().filter(|(_, repository)| wanted(repository)).map(row).collect();
        Ok(Reply::new(json!({ "repositories": rows }), list_label(visibility)))
    }

    fn list_issues(&self, arguments: &Arguments<'_>) -> Result<Reply, Refusal> {
        let name = repository_name(arguments)?;
        let state = arguments.optional_text("state").unwrap_or("open");
        let host = self.host.view()?;
        let repository = host.repository(name)?;
        let wanted = repository.issues.iter().rev().filter(|issue| state == "all" || issue.state == state);
        let rows: Vec<Value> = wanted.map(host::Issue::row).collect();
        let structured = json!({ "repo": name, "private": repository.private, "issues": rows });
        Ok(Reply::new(structured, repository.label(&place(name, "issues"))))
    }

    fn get_issue(&self, arguments: &Arguments<'_>) -> Result<Reply, Refusal> {
        let (name, number) = (repository_name(arguments)?, arguments.number("number")?);
        let host = self.host.view()?;
        let repository = host.repository(name)?;
        let issue = repository.issue(number)?;
        let mut structured = issue.row();
        if let Value::Object(members) = &mut structured {
            members.insert("repo".into(), json!(name));
            members.insert("private".into(), json!(repository.private));
            members.insert("comments".into(), issue.comments());
        }
        Ok(Reply::new(structured, repository.label(&place(name, &format!("issues/{number}")))))
    }

    fn get_file(&self, tool: &str, arguments: &Arguments<'_>) -> Result<Reply, Refusal> {
        let (name, path) = (repository_name(arguments)?, arguments.text("path")?);
        let branch = arguments.optional_text("branch").unwrap_or("main");
        let host = self.host.view()?;
        let repository = host.repository(name)?;
        match (tool, repository.private) {
            ("get_public_file", true) => {
                return Err(Refusal::argument(
                    "repo",
                    format!("`{name}` is private; use `get_private_file`"),
                ));
            }
            ("get_private_file", false) => {
                return Err(Refusal::argument("repo", format!("`{name}` is public; use `get_public_file`")));
            }
            _ => {}
        }
        let structured = json!({
            "repo": name, "private": repository.private, "branch": branch, "path": path,
            "content": repository.file(branch, path)?
        });
        Ok(Reply::new(structured, repository.label(&place(name, path))))
    }

    fn commit(&mut self, arguments: &Arguments<'_>) -> Result<Reply, Refusal> {
        let (name, path) = (repository_name(arguments)?, arguments.text("path")?);
        let branch = arguments.optional_text("branch").unwrap_or("main");
        let (text, message) = (arguments.text("content")?, arguments.text("message")?);
        let (commit, private) = self.host.change(|host| {
            let repository = host.repository_mut(name)?;
            Ok((repository.commit(branch, path, text, message)?, repository.private))
        })?;
        let structured =
            json!({ "repo": name, "private": private, "branch": branch, "path": path, "commit": commit });
        Ok(written(structured, name, format!("{name}: {commit} changes {path} on {branch}")))
    }

    fn comment(&mut self, arguments: &Arguments<'_>) -> Result<Reply, Refusal> {
        let (name, number) = (repository_name(arguments)?, arguments.number("number")?);
        let body = arguments.text("body")?;
        let (comments, private) = self.host.change(|host| {
            let repository = host.repository_mut(name)?;
            Ok((repository.comment(number, body)?, repository.private))
        })?;
        let structured = json!({ "repo": name, "private": private, "number": number, "comments": comments });
        Ok(written(structured, name, format!("{name}: comment on issue {number}")))
    }

    fn propose(&mut self, arguments: &Arguments<'_>) -> Result<Reply, Refusal> {
        let name = repository_name(arguments)?;
        let (title, body) = (arguments.text("title")?, arguments.optional_text("body").unwrap_or_default());
        let (head, base) = (arguments.text("head")?, arguments.optional_text("base").unwrap_or("main"));
        let ((number, changed), private) = self.host.change(|host| {
            let repository = host.repository_mut(name)?;
            Ok((repository.propose(title, body, head, base)?, repository.private))
        })?;
        let structured = json!({
            "repo": name, "private": private, "number": number, "head": head, "base": base,
            "changedFiles": changed
        });
        Ok(written(structured, name, format!("{name}: pull request {number}")))
    }
}

impl Story for Repo {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn call(&mut self, tool: &str, arguments: &Arguments<'_>) -> Result<Reply, Refusal> {
        match tool {
            "list_repositories" => self.list_repositories(arguments),
            "list_issues" => self.list_issues(arguments),
            "get_issue" => self.get_issue(arguments),
            "get_file_contents" | "get_public_file" | "get_private_file" => self.get_file(tool, arguments),
            "create_or_update_file" => self.commit(arguments),
            "create_issue_comment" => self.comment(arguments),
            "create_pull_request" => self.propose(arguments),
            other => Err(Refusal::new(format!("`{other}` is not one of this server's tools"))),
        }
    }

    fn foresee(&self, tool: &str, arguments: &Arguments<'_>) -> Result<Foresight, Refusal> {
        if tool == "list_repositories" {
            let label = list_label(arguments.optional_text("visibility").unwrap_or("all"));
            return Ok(Foresight { returns: Some(label), ..Foresight::default() });
        }
        let name = repository_name(arguments)?;
        let host = self.host.view()?;
        let repository = host.repository(name)?;
        Ok(match tool {
            "create_or_update_file" | "create_issue_comment" | "create_pull_request" => {
                let destination = if repository.private { "internal" } else { "public" };
                // A commit can be reverted and a proposal be left alone; a comment goes out to everybody who watches.
                let outcomes = match (tool, repository.private) {
                    ("create_issue_comment", false) => "irreversible",
                    _ => "consequential",
                };
                Foresight { destination: Some(destination), outcomes: Some(outcomes), returns: None }
            }
            _ => Foresight { returns: Some(repository.label(&place(name, ""))), ..Foresight::default() },
        })
    }
}

fn repository_name<'a>(arguments: &Arguments<'a>) -> Result<&'a str, Refusal> {
    match arguments.optional_text("owner") {
        Some(owner) if owner != OWNER => {
            Err(Refusal::argument("owner", format!("this account cannot reach `{owner}`")))
        }
        _ => arguments.text("repo"),
    }
}

/// That a private repository exists is itself not public.
fn list_label(visibility: &str) -> DataLabel {
    let (source, classes): (_, &[DataClass]) = match visibility {
        "public" => (Source::TrustedPublic, &[]),
        _ => (Source::Internal, &[DataClass::User]),
    };
    DataLabel::new(source, classes).at(format!("mcp://repo.larkfield.example/{OWNER}"))
}

fn written(structured: Value, name: &str, log: String) -> Reply {
    let label = DataLabel::system().at(place(name, ""));
    Reply::new(structured, label).and(Event::Log(Level::Info, log))
}

fn place(name: &str, part: &str) -> String {
    format!("mcp://repo.larkfield.example/{OWNER}/{name}/{part}").trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests;
