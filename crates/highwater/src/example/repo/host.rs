//! The repositories behind the example: branches of files, issues, pull requests.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::example::label::{DataClass, DataLabel, Source};
use crate::example::story::Refusal;

/// Comments, commits, branches, files or pull requests of one repository, so that an agent in a loop cannot
/// fill the disk.
const MAX_ENTRIES: usize = 500;

/// The account that everything belongs to.
pub(super) const OWNER: &str = "mara";

/// Everything the account can reach.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Host {
    pub(super) repositories: BTreeMap<String, Repository>,
}

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Repository {
    pub(super) private: bool,
    pub(super) description: String,
    /// What a reader of a private repository learns; empty for public ones.
    classes: Vec<DataClass>,
    branches: BTreeMap<String, BTreeMap<String, String>>,
    pub(super) issues: Vec<Issue>,
    pulls: Vec<Pull>,
    commits: Vec<Commit>,
}

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Issue {
    pub(super) number: u64,
    title: String,
    author: String,
    pub(super) state: String,
    body: String,
    comments: Vec<Comment>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Comment {
    author: String,
    body: String,
}

#[derive(Clone, Serialize, Deserialize)]
struct Pull {
    number: u64,
    title: String,
    body: String,
    head: String,
    base: String,
}

#[derive(Clone, Serialize, Deserialize)]
struct Commit {
    id: String,
    branch: String,
    path: String,
    message: String,
}

// === impl Host ===

impl Host {
    pub(super) fn repository(&self, name: &str) -> Result<&Repository, Refusal> {
        self.repositories.get(name).ok_or_else(|| unknown(name))
    }

    pub(super) fn repository_mut(&mut self, name: &str) -> Result<&mut Repository, Refusal> {
        self.repositories.get_mut(name).ok_or_else(|| unknown(name))
    }
}

// === impl Repository ===

impl Repository {
    /// Anybody may write issues and proposals in a public repository; a private one is the account's.
    pub(super) fn label(&self, place: &str) -> DataLabel {
        let source = if self.private { Source::Internal } else { Source::UntrustedPublic };
        DataLabel::new(source, &self.classes).at(place)
    }

    pub(super) fn issue(&self, number: u64) -> Result<&Issue, Refusal> {
        self.issues.iter().find(|issue| issue.number == number).ok_or_else(|| no_issue(number))
    }

    pub(super) fn file(&self, branch: &str, path: &str) -> Result<&str, Refusal> {
        let files = self.branches.get(branch).ok_or_else(|| no_branch("branch", branch))?;
        let text = files.get(path).map(String::as_str);
        text.ok_or_else(|| Refusal::argument("path", format!("there is no file `{path}` on `{branch}`")))
    }

    /// Commits one file and gives the commit's name. A branch that does not exist starts from main.
    pub(super) fn commit(
        &mut self,
        branch: &str,
        path: &str,
        text: &str,
        message: &str,
    ) -> Result<String, Refusal> {
        let main = self.branches.get("main").cloned().unwrap_or_default();
        let is_new_branch = !self.branches.contains_key(branch);
        bounded("commits", self.commits.len())?;
        bounded("branches", if is_new_branch { self.branches.len() } else { 0 })?;
        let files = self.branches.entry(branch.to_owned()).or_insert(main);
        bounded("files", files.len())?;
        files.insert(path.to_owned(), text.to_owned());
        let id = format!("c{:06x}", 0x00a1_7000 + self.commits.len());
        let commit =
            Commit { id: id.clone(), branch: branch.into(), path: path.into(), message: message.into() };
        self.commits.push(commit);
        Ok(id)
    }

    /// Adds a comment and gives the number of comments there are now.
    pub(super) fn comment(&mut self, number: u64, body: &str) -> Result<usize, Refusal> {
        let issue = self.issues.iter_mut().find(|issue| issue.number == number);
        let issue = issue.ok_or_else(|| no_issue(number))?;
        bounded("comments", issue.comments.len())?;
        issue.comments.push(Comment { author: OWNER.into(), body: body.into() });
        Ok(issue.comments.len())
    }

    /// Opens a pull request; gives its number and how many files it changes. Issues and pull requests share
    /// their numbers.
    pub(super) fn propose(
        &mut self,
        title: &str,
        body: &str,
        head: &str,
        base: &str,
    ) -> Result<(u64, usize), Refusal> {
        bounded("pull requests", self.pulls.len())?;
        let new = self.branches.get(head).ok_or_else(|| no_branch("head", head))?;
        let old = self.branches.get(base).ok_or_else(|| no_branch("base", base))?;
        let paths: BTreeSet<&String> = new.keys().chain(old.keys()).collect();
        let changed = paths.into_iter().filter(|path| new.get(*path) != old.get(*path)).count();
        if changed == 0 {
            return Err(Refusal::argument("head", format!("`{head}` has nothing that `{base}` has not")));
        }
        let taken =
            self.issues.iter().map(|issue| issue.number).chain(self.pulls.iter().map(|pull| pull.number));
        let number = taken.max().unwrap_or(0).saturating_add(1);
        let pull =
            Pull { number, title: title.into(), body: body.into(), head: head.into(), base: base.into() };
        self.pulls.push(pull);
        Ok((number, changed))
    }

    pub(super) fn open_issues(&self) -> usize {
        self.issues.iter().filter(|issue| issue.state == "open").count()
    }
}

// === impl Issue ===

impl Issue {
    /// The issue as a row of a list.
    pub(super) fn row(&self) -> Value {
        json!({
            "number": self.number, "title": self.title, "author": self.author, "state": self.state,
            "body": self.body, "comments": self.comments.len()
        })
    }

    /// The comments in full.
    pub(super) fn comments(&self) -> Value {
        json!(self.comments)
    }
}

fn bounded(what: &str, count: usize) -> Result<(), Refusal> {
    if count < MAX_ENTRIES {
        return Ok(());
    }
    Err(Refusal::new(format!("this example holds at most {MAX_ENTRIES} {what}")))
}

fn unknown(name: &str) -> Refusal {
    Refusal::argument("repo", format!("there is no repository `{name}`"))
}

fn no_issue(number: u64) -> Refusal {
    Refusal::argument("number", format!("there is no issue {number}"))
}

fn no_branch(argument: &str, branch: &str) -> Refusal {
    Refusal::argument(argument, format!("there is no branch `{branch}`"))
}
