//! An example mailbox: ordinary mail, one confidential message, and one from outside that tries to give the
//! assistant orders.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::label::{DataClass, DataLabel, Source};
use super::saved::Saved;
use super::story::{Arguments, Definition, Event, Foresight, Level, Refusal, Reply, Story};

/// Messages in the mailbox, so that an agent in a loop cannot fill the disk.
const MAX_MESSAGES: usize = 1000;

const OWNER: &str = "Mara Lindqvist <mara@larkfield.example>";
const OWN_DOMAIN: &str = "@larkfield.example";

/// The mail server.
pub(crate) struct Mail {
    definition: Definition,
    mailbox: Saved<Mailbox>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Mailbox {
    /// The number of the next message; numbers are never given twice.
    next: u64,
    messages: Vec<Message>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Message {
    id: String,
    folder: String,
    from: String,
    to: String,
    subject: String,
    date: String,
    body: String,
    /// What the mail system's own classification found in the text.
    classes: Vec<DataClass>,
}

// === impl Mail ===

impl Mail {
    /// Opens the mailbox.
    pub(crate) fn open(directory: Option<&Path>) -> anyhow::Result<Self> {
        let definition: Definition = serde_json::from_str(include_str!("definition.json"))?;
        let mailbox = Saved::open(directory, &definition.name, include_str!("seed.json"))?;
        Ok(Self { definition, mailbox })
    }

    fn list(&self, arguments: &Arguments<'_>) -> Result<Reply, Refusal> {
        let folder = arguments.optional_text("folder").unwrap_or("inbox");
        let mailbox = self.mailbox.view()?;
        let found = mailbox.newest(limit(arguments), |message| message.folder == folder);
        let label =
            found.iter().fold(envelope_label(folder), |label, message| label.with(message.heading_label()));
        let rows: Vec<Value> = found.iter().map(|message| message.heading()).collect();
        Ok(Reply::new(json!({ "folder": folder, "messages": rows }), label))
    }

    fn read(&self, arguments: &Arguments<'_>) -> Result<Reply, Refusal> {
        let mailbox = self.mailbox.view()?;
        let message = mailbox.message(arguments.text("id")?)?;
        let mut structured = message.heading();
        if let Value::Object(members) = &mut structured {
            members.insert("folder".into(), json!(message.folder));
            members.insert("body".into(), json!(message.body));
        }
        Ok(Reply::new(structured, message.label()))
    }

    fn search(&self, arguments: &Arguments<'_>) -> Result<Reply, Refusal> {
        let query = arguments.text("query")?;
        let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
        let mailbox = self.mailbox.view()?;
        let found = mailbox.newest(limit(arguments), |message| {
            let text = format!("{}\n{}\n{}", message.from, message.subject, message.body).to_lowercase();
            words.iter().all(|word| text.contains(word))
        });
        let row = |message: &&Message| {
            let excerpt: String = message.body.chars().take(120).collect();
            json!({
                "id": message.id, "folder": message.folder, "from": message.from, "subject": message.subject,
                "date": message.date, "external": message.external(), "excerpt": excerpt
            })
        };
        let rows: Vec<Value> = found.iter().map(row).collect();
        let none = DataLabel::new(Source::User, &[DataClass::User]).at(place("search"));
        let label = found.iter().fold(none, |label, message| label.with(message.label()));
        Ok(Reply::new(json!({ "query": query, "messages": rows }), label))
    }

    fn send(&mut self, arguments: &Arguments<'_>) -> Result<Reply, Refusal> {
        let to = arguments.text("to")?;
        if !is_address(to) {
            return Err(Refusal::argument("to", format!("`{to}` is not an address")));
        }
        let (subject, body) = (arguments.text("subject")?, arguments.text("body")?);
        let id = self.mailbox.change(|mailbox| {
            if mailbox.messages.len() >= MAX_MESSAGES {
                return Err(Refusal::new("the mailbox is full; delete a message first"));
            }
            let id = format!("m-{}", mailbox.next);
            // Example time: an hour a message, so that the story is the same on every machine.
            let date = format!("2026-09-{:02}T{:02}:00:00Z", 3 + mailbox.next / 24 % 27, mailbox.next % 24);
            mailbox.next = mailbox.next.saturating_add(1);
            mailbox.messages.push(Message {
                id: id.clone(),
                folder: "sent".into(),
                from: OWNER.into(),
                to: to.into(),
                subject: subject.into(),
                date,
                body: body.into(),
                classes: Vec::new(),
            });
            Ok(id)
        })?;
        let log = Event::Log(Level::Info, format!("{id} sent to {to}"));
        Ok(Reply::new(json!({ "id": id, "to": to, "sent": true }), system_label(&id)).and(log))
    }

    fn move_to(&mut self, arguments: &Arguments<'_>) -> Result<Reply, Refusal> {
        let (id, folder) = (arguments.text("id")?, arguments.text("folder")?);
        self.mailbox.change(|mailbox| {
            let message = mailbox.messages.iter_mut().find(|message| message.id == id);
            let message = message.ok_or_else(|| unknown(id))?;
            if message.folder == "sent" {
                return Err(Refusal::argument(
                    "id",
                    format!("`{id}` is a sent message and stays where it is"),
                ));
            }
            message.folder = folder.into();
            Ok(())
        })?;
        Ok(Reply::new(json!({ "id": id, "folder": folder }), system_label(id)))
    }

    fn delete(&mut self, arguments: &Arguments<'_>) -> Result<Reply, Refusal> {
        let id = arguments.text("id")?;
        self.mailbox.change(|mailbox| {
            mailbox.message(id)?;
            mailbox.messages.retain(|message| message.id != id);
            Ok(())
        })?;
        let log = Event::Log(Level::Notice, format!("{id} deleted"));
        Ok(Reply::new(json!({ "id": id, "deleted": true }), system_label(id)).and(log))
    }
}

impl Story for Mail {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn call(&mut self, tool: &str, arguments: &Arguments<'_>) -> Result<Reply, Refusal> {
        match tool {
            "list_messages" => self.list(arguments),
            "read_message" => self.read(arguments),
            "search_messages" => self.search(arguments),
            "send_message" => self.send(arguments),
            "move_message" => self.move_to(arguments),
            "delete_message" => self.delete(arguments),
            other => Err(Refusal::new(format!("`{other}` is not one of this server's tools"))),
        }
    }

    fn foresee(&self, tool: &str, arguments: &Arguments<'_>) -> Result<Foresight, Refusal> {
        let returns = match tool {
            "read_message" => Some(self.mailbox.view()?.message(arguments.text("id")?)?.label()),
            "list_messages" => match arguments.optional_text("folder").unwrap_or("inbox") {
                "sent" => Some(envelope_label("sent")),
                // Who else has written in the meantime is not known before the call.
                folder => Some(envelope_label(folder).with(DataLabel::new(Source::UntrustedPublic, &[]))),
            },
            _ => None,
        };
        Ok(Foresight { returns, ..Foresight::default() })
    }
}

// === impl Mailbox ===

impl Mailbox {
    fn message(&self, id: &str) -> Result<&Message, Refusal> {
        self.messages.iter().find(|message| message.id == id).ok_or_else(|| unknown(id))
    }

    fn newest(&self, limit: usize, wanted: impl Fn(&Message) -> bool) -> Vec<&Message> {
        self.messages.iter().rev().filter(|message| wanted(message)).take(limit).collect()
    }
}

// === impl Message ===

impl Message {
    fn external(&self) -> bool {
        !self.from.trim_end_matches('>').ends_with(OWN_DOMAIN)
    }

    fn source(&self) -> Source {
        match (self.external(), self.folder.as_str()) {
            (true, _) => Source::UntrustedPublic,
            (false, "sent") => Source::User,
            (false, _) => Source::Internal,
        }
    }

    fn heading(&self) -> Value {
        json!({
            "id": self.id, "from": self.from, "to": self.to, "subject": self.subject,
            "date": self.date, "external": self.external()
        })
    }

    /// The subject line is the sender's text, so a list is as open to the world as its worst sender.
    fn heading_label(&self) -> DataLabel {
        let source = if self.external() { Source::UntrustedPublic } else { Source::User };
        DataLabel::new(source, &[DataClass::User, DataClass::Pii])
    }

    fn label(&self) -> DataLabel {
        DataLabel::new(self.source(), &self.classes)
            .with(DataLabel::new(self.source(), &[DataClass::User]))
            .at(place(&self.id))
    }
}

fn envelope_label(folder: &str) -> DataLabel {
    DataLabel::new(Source::User, &[DataClass::User, DataClass::Pii]).at(place(folder))
}

fn system_label(id: &str) -> DataLabel {
    DataLabel::system().at(place(id))
}

fn place(name: &str) -> String {
    format!("mcp://mail.larkfield.example/{name}")
}

fn unknown(id: &str) -> Refusal {
    Refusal::argument("id", format!("there is no message `{id}`"))
}

fn limit(arguments: &Arguments<'_>) -> usize {
    arguments.optional_number("limit").and_then(|limit| usize::try_from(limit).ok()).unwrap_or(20)
}

fn is_address(text: &str) -> bool {
    match text.split_once('@') {
        Some((name, domain)) => {
            let plain = |part: &str| !part.is_empty() && !part.contains(['@', '<', '>', ',', ';']);
            plain(name) && plain(domain) && !text.contains(char::is_whitespace) && domain.contains('.')
        }
        None => false,
    }
}

#[cfg(test)]
mod tests;
