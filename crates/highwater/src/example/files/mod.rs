//! An example drive: public pages, internal notes, salaries, credentials, and a folder that people outside
//! write into. Every file is a resource, too.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::label::{DataClass, DataLabel, Source};
use super::saved::Saved;
use super::story::{Arguments, Definition, Event, Foresight, Level, Reading, Refusal, Reply, Story};

/// Files on the drive, so that an agent in a loop cannot fill the disk.
const MAX_FILES: usize = 500;

/// Versions of one file that are kept.
const MAX_VERSIONS: usize = 5;

/// The file server.
pub(crate) struct Files {
    definition: Definition,
    drive: Saved<Drive>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Drive {
    files: BTreeMap<String, Document>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Document {
    /// The number of the oldest version that is still there.
    first: u64,
    /// The texts, oldest first, never empty.
    versions: Vec<String>,
}

// === impl Files ===

impl Files {
    /// Opens the drive.
    pub(crate) fn open(directory: Option<&Path>) -> anyhow::Result<Self> {
        let definition: Definition = serde_json::from_str(include_str!("definition.json"))?;
        let drive = Saved::open(directory, &definition.name, include_str!("seed.json"))?;
        Ok(Self { definition, drive })
    }

    fn list(&self, arguments: &Arguments<'_>) -> Result<Reply, Refusal> {
        let folder = arguments.optional_text("folder").unwrap_or_default().trim_matches('/');
        let drive = self.drive.view()?;
        let below = |path: &str| {
            folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
        };
        let rows: Vec<Value> = drive
            .files
            .iter()
            .filter(|(path, _)| below(path))
            .map(|(path, document)| {
                json!({
                    "path": path, "size": document.newest().len(), "version": document.newest_number(),
                    "mimeType": mime_type(path)
                })
            })
            .collect();
        if rows.is_empty() && !folder.is_empty() {
            return Err(Refusal::argument("folder", format!("there is no folder `{folder}`")));
        }
        let label = DataLabel::new(Source::Internal, &[]).at(place(folder));
        Ok(Reply::new(json!({ "files": rows }), label))
    }

    fn read_file(&self, arguments: &Arguments<'_>) -> Result<Reply, Refusal> {
        let path = arguments.text("path")?;
        let drive = self.drive.view()?;
        let document = drive.files.get(path).ok_or_else(|| unknown(path))?;
        let version = arguments.optional_number("version").unwrap_or_else(|| document.newest_number());
        let text = document.version(version).ok_or_else(|| {
            let kept = format!("{} to {}", document.first, document.newest_number());
            Refusal::argument("version", format!("`{path}` has no version {version}; kept are {kept}"))
        })?;
        let structured =
            json!({ "path": path, "version": version, "mimeType": mime_type(path), "text": text });
        Ok(Reply::new(structured, label(path)))
    }

    fn write(&mut self, arguments: &Arguments<'_>) -> Result<Reply, Refusal> {
        let (path, text) = (arguments.text("path")?, arguments.text("text")?);
        check_path(path)?;
        let (version, is_new) = self.drive.change(|drive| {
            let count = drive.files.len();
            if let Some(document) = drive.files.get_mut(path) {
                document.add(text);
                return Ok((document.newest_number(), false));
            }
            if count >= MAX_FILES {
                return Err(Refusal::new("the drive is full; delete a file first"));
            }
            drive.files.insert(path.into(), Document { first: 1, versions: vec![text.into()] });
            Ok((1, true))
        })?;
        let reply = Reply::new(json!({ "path": path, "version": version }), system_label(path))
            .and(Event::Log(Level::Info, format!("{path} is now version {version}")))
            .and(Event::ResourceUpdated(uri(path)));
        Ok(if is_new { reply.and(Event::ResourcesChanged) } else { reply })
    }

    fn delete(&mut self, arguments: &Arguments<'_>) -> Result<Reply, Refusal> {
        let path = arguments.text("path")?;
        self.drive.change(|drive| drive.files.remove(path).map(drop).ok_or_else(|| unknown(path)))?;
        Ok(Reply::new(json!({ "path": path, "deleted": true }), system_label(path))
            .and(Event::Log(Level::Notice, format!("{path} deleted")))
            .and(Event::ResourceUpdated(uri(path)))
            .and(Event::ResourcesChanged))
    }
}

impl Story for Files {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn call(&mut self, tool: &str, arguments: &Arguments<'_>) -> Result<Reply, Refusal> {
        match tool {
            "list_files" => self.list(arguments),
            "read_file" => self.read_file(arguments),
            "write_file" => self.write(arguments),
            "delete_file" => self.delete(arguments),
            other => Err(Refusal::new(format!("`{other}` is not one of this server's tools"))),
        }
    }

    fn foresee(&self, tool: &str, arguments: &Arguments<'_>) -> Result<Foresight, Refusal> {
        Ok(match tool {
            "read_file" => {
                Foresight { returns: Some(label(arguments.text("path")?)), ..Foresight::default() }
            }
            "write_file" => {
                let path = arguments.text("path")?;
                check_path(path)?;
                let destination = if folder_of(path) == "public" { "public" } else { "internal" };
                Foresight { destination: Some(destination), ..Foresight::default() }
            }
            _ => Foresight::default(),
        })
    }

    fn resources(&self) -> Result<Vec<Value>, Refusal> {
        let drive = self.drive.view()?;
        let entry = |(path, document): (&String, &Document)| {
            json!({
                "uri": uri(path), "name": path, "title": path.rsplit('/').next().unwrap_or(path),
                "mimeType": mime_type(path), "size": document.newest().len()
            })
        };
        Ok(drive.files.iter().map(entry).collect())
    }

    fn read(&self, uri: &str) -> Result<Option<Reading>, Refusal> {
        let drive = self.drive.view()?;
        let found = uri.strip_prefix("file:///").and_then(|path| drive.files.get_key_value(path));
        Ok(found.map(|(path, document)| Reading {
            mime_type: mime_type(path),
            text: document.newest().to_owned(),
            label: label(path),
        }))
    }

    fn complete(&self, argument: &str, typed: &str) -> Result<Vec<String>, Refusal> {
        if argument != "path" {
            return Ok(Vec::new());
        }
        Ok(self.drive.view()?.files.keys().filter(|path| path.starts_with(typed)).cloned().collect())
    }
}

// === impl Document ===

impl Document {
    fn newest(&self) -> &str {
        self.versions.last().map_or("", String::as_str)
    }

    fn newest_number(&self) -> u64 {
        self.first.saturating_add((self.versions.len() as u64).saturating_sub(1))
    }

    fn version(&self, number: u64) -> Option<&str> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.versions.get(index).map(String::as_str)
    }

    fn add(&mut self, text: &str) {
        self.versions.push(text.into());
        if self.versions.len() > MAX_VERSIONS {
            self.versions.remove(0);
            self.first = self.first.saturating_add(1);
        }
    }
}

/// The label follows the folder. A new folder is internal, which is what a shared drive is.
fn label(path: &str) -> DataLabel {
    let (source, classes): (_, &[DataClass]) = match folder_of(path) {
        "public" => (Source::TrustedPublic, &[]),
        "uploads" => (Source::UntrustedPublic, &[]),
        "finance" => (Source::Internal, &[DataClass::Pii, DataClass::Financial]),
        "deploy" => (Source::Internal, &[DataClass::Credentials]),
        _ => (Source::Internal, &[]),
    };
    DataLabel::new(source, classes).at(place(path))
}

fn system_label(path: &str) -> DataLabel {
    DataLabel::system().at(place(path))
}

fn folder_of(path: &str) -> &str {
    path.split_once('/').map_or("", |(folder, _)| folder)
}

/// One spelling for each file: otherwise `x/../finance/a` would be a way around the label of its folder.
fn check_path(path: &str) -> Result<(), Refusal> {
    let plain = |part: &str| {
        let known = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
        !part.is_empty() && part != "." && part != ".." && part.chars().all(known)
    };
    if path.split('/').all(plain) {
        return Ok(());
    }
    Err(Refusal::argument(
        "path",
        format!("`{path}` is not a path of letters, digits, `.`, `_`, `-` and single `/`"),
    ))
}

fn mime_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("md") => "text/markdown",
        Some("csv") => "text/csv",
        _ => "text/plain",
    }
}

fn uri(path: &str) -> String {
    format!("file:///{path}")
}

/// Where data is from. Not a `file:` URI: those say nothing about whose file it is.
fn place(path: &str) -> String {
    format!("mcp://files.larkfield.example/{path}")
}

fn unknown(path: &str) -> Refusal {
    Refusal::argument("path", format!("there is no file `{path}`"))
}

#[cfg(test)]
mod tests;
