//! What `serve` says when it is ready: where it is, what opens it, and what to do next.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use highwater_config::{Auth, Partition, ServerSettings, Settings};
use highwater_core::grant::Forms;
use serde_json::{Value, json};

use crate::place::ConfigSource;
use crate::wire::{EXAMPLE_DATA, EXAMPLES};

/// Everything the words are made of.
pub(crate) struct Announcement<'a> {
    pub(crate) source: &'a ConfigSource,
    pub(crate) settings: &'a Settings,
    pub(crate) endpoint: &'a str,
    /// Where people see what waits for them, if there is such a page.
    pub(crate) inbox: Option<String>,
    pub(crate) data: &'a Path,
    pub(crate) agent_token: (&'a str, &'a Path),
    pub(crate) operator_token: (&'a str, &'a Path),
    /// Our own executable.
    pub(crate) program: &'a str,
    /// The options that lead another `highwater` to the same gateway.
    pub(crate) options: &'a [String],
}

// === impl Announcement ===

impl Announcement<'_> {
    /// The words.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("Highwater {}\n\n", env!("CARGO_PKG_VERSION"));
        self.write(&mut text).unwrap_or_default();
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        match self.source {
            ConfigSource::Example => {
                writeln!(text, "No configuration was found, so this is the built-in example.")?;
                writeln!(
                    text,
                    "Its servers are {}; they touch nothing but their own data in",
                    list(&EXAMPLES)
                )?;
                writeln!(text, "{}", self.data.join(EXAMPLE_DATA).display())?;
            }
            ConfigSource::File(file) => {
                writeln!(text, "configuration   {}, {}", file.display(), count(self.settings))?;
            }
        }
        writeln!(text)?;
        writeln!(text, "endpoint        {}", self.endpoint)?;
        for server in self.settings.virtual_servers.iter().filter(|server| server.name != "default") {
            writeln!(text, "                {}/v/{}", self.endpoint, server.name)?;
        }
        match (&self.inbox, self.settings.approvals.listen) {
            (Some(inbox), _) => {
                writeln!(text, "approvals       {inbox}")?;
                match &self.settings.approvals.auditor_key {
                    Some(key) => writeln!(text, "receipts        of sensitive calls are sealed for {key}")?,
                    None => writeln!(
                        text,
                        "receipts        hold arguments in clear; `approvals.auditor_key` seals what is sensitive"
                    )?,
                }
            }
            (None, Some(listen)) => {
                writeln!(text, "approvals       none: {listen} is taken, so nobody can be asked")?;
                writeln!(
                    text,
                    "                set `approvals.listen` to another address, or free it and start again"
                )?;
            }
            (None, None) => {}
        }
        self.conversations(text)?;
        self.forms(text)?;
        let (agent, operator) = (self.agent_token, self.operator_token);
        writeln!(text, "agent token     {}  ({})", agent.0, agent.1.display())?;
        writeln!(text, "operator token  {}  ({})", operator.0, operator.1.display())?;
        writeln!(text)?;
        writeln!(text, "Clients get the agent token. The operator token is yours; give it to no agent.")?;
        if self.settings.auth == Auth::None {
            writeln!(text, "The configuration says `auth: none`: clients need no token.")?;
        }
        writeln!(text, "\nFor a client that connects over HTTP:\n\n{}", self.over_http())?;
        writeln!(text, "\nFor a client that starts its servers:\n\n{}", self.over_stdio())?;
        writeln!(text, "\nNext")?;
        let options = self.options.iter().map(|option| format!(" {}", quoted(option))).collect::<String>();
        let data = match self.options.iter().position(|option| option == "--data-dir") {
            Some(_) => format!(" --data-dir {}", quoted(&self.data.display().to_string())),
            None => String::new(),
        };
        writeln!(text, "  see the servers   highwater servers{data}")?;
        // Which of them were approved before, only the running gateway knows.
        let held = |server: &&ServerSettings| {
            server.quarantine && !server.disabled && !server.trust.verified() && server.manifest.is_none()
        };
        if let Some(one) = self.settings.servers.iter().find(held) {
            let one = &one.name;
            writeln!(
                text,
                "  approve a server  highwater servers diff {one}{data}; agents see what you approved, nothing else"
            )?;
        }
        if self.inbox.is_some() {
            writeln!(
                text,
                "  answer questions  the page opens by itself; `highwater approvals open{data}` opens it, signed in"
            )?;
            writeln!(
                text,
                "  enroll a passkey  highwater approvals enroll{data}; nothing is typed on the page it opens"
            )?;
            if matches!(self.source, ConfigSource::Example) {
                writeln!(
                    text,
                    "  sign with it      have an agent call `mail__delete_message` with `id` m-4"
                )?;
            }
        }
        match self.source {
            ConfigSource::Example => {
                writeln!(
                    text,
                    "  use your own      write them to ./highwater.yaml, run `highwater check`, start again"
                )?;
            }
            ConfigSource::File(file) => {
                let file = file.display().to_string();
                writeln!(text, "  change something  edit {file}; it is read again when it changes")?;
            }
        }
        writeln!(text, "  join from here    highwater stdio{options}")?;
        writeln!(text, "  see if it works   highwater status{data}")?;
        writeln!(text, "  see what it does  highwater logs --follow{data}")?;
        writeln!(text, "  stop              Ctrl-C")
    }

    /// What tells conversations apart, for everybody and for each token that differs.
    fn conversations(&self, text: &mut String) -> std::fmt::Result {
        let settings = self.settings;
        writeln!(text, "conversations   {}", rest_on(settings.partition, settings.quiet))?;
        writeln!(text, "                of hosts whose hooks tell of them: the host's own, told by its id")?;
        for token in &settings.agent_tokens {
            let (partition, quiet) =
                (token.partition.unwrap_or(settings.partition), token.quiet.unwrap_or(settings.quiet));
            if (partition, quiet) != (settings.partition, settings.quiet) {
                writeln!(text, "                of token `{}`: {}", token.name, rest_on(partition, quiet))?;
            }
        }
        Ok(())
    }

    /// Whose forms count as a person's answer. A form is the client's word, so the operator should know.
    fn forms(&self, text: &mut String) -> std::fmt::Result {
        let of_tokens = self.settings.agent_tokens.iter().filter(|token| token.forms == Forms::Person);
        let named: Vec<String> = of_tokens.map(|token| format!("of token `{}`", token.name)).collect();
        let own = match self.settings.own_forms() {
            Forms::Person => "of clients that use the first token below count as your answer",
            Forms::Never => "of clients that join by `highwater stdio` on this machine count as your answer",
        };
        writeln!(text, "forms           {own}; you are asked on the page otherwise")?;
        for line in named {
            writeln!(text, "                {line}, too, as the configuration says")?;
        }
        Ok(())
    }

    fn over_http(&self) -> String {
        let mut entry = vec![("type", json!("http")), ("url", json!(self.endpoint))];
        if self.settings.auth == Auth::Token {
            entry.push(("headers", json!({ "Authorization": format!("Bearer {}", self.agent_token.0) })));
        }
        snippet(&entry)
    }

    fn over_stdio(&self) -> String {
        let args: Vec<&str> =
            std::iter::once("stdio").chain(self.options.iter().map(String::as_str)).collect();
        snippet(&[("command", json!(self.program)), ("args", json!(args))])
    }
}

/// One server entry as clients write it, its members in the order in which people read them.
fn snippet(entry: &[(&str, Value)]) -> String {
    let members: Vec<String> = entry.iter().map(|(key, value)| format!("      \"{key}\": {value}")).collect();
    let members = members.join(",\n");
    format!("{{\n  \"mcpServers\": {{\n    \"highwater\": {{\n{members}\n    }}\n  }}\n}}")
}

/// `3 servers`, and whatever else is worth knowing at a glance.
pub(crate) fn count(settings: &Settings) -> String {
    let many = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    };
    let mut text = many(settings.servers.len(), "server");
    match settings.servers.iter().filter(|server| server.disabled).count() {
        0 => {}
        disabled => text.push_str(&format!(" ({disabled} disabled)")),
    }
    match settings.virtual_servers.iter().filter(|server| server.name != "default").count() {
        0 => {}
        named => text.push_str(&format!(", {}", many(named, "virtual server"))),
    }
    match settings.rules.set().rules().len() {
        0 => {}
        rules => text.push_str(&format!(", {}", many(rules, "rule"))),
    }
    text
}

/// What tells the conversations of a token apart.
fn rest_on(partition: Partition, quiet: Duration) -> String {
    match partition {
        Partition::Auto => format!(
            "presumed: what one token does is one conversation until it is silent for {}",
            in_words(quiet)
        ),
        Partition::Session => "one for each session of a client, as `partition: session` says".to_owned(),
        Partition::Client => "one for each id that a client sends, as `partition: client` says".to_owned(),
        Partition::Principal => "one for everything a token does, as `partition: principal` says".to_owned(),
    }
}

fn in_words(time: Duration) -> String {
    match time.as_secs() {
        0 => format!("{} ms", time.as_millis()),
        seconds if seconds % 3600 == 0 => format!("{} h", seconds / 3600),
        seconds if seconds % 60 == 0 => format!("{} min", seconds / 60),
        seconds => format!("{seconds} s"),
    }
}

fn list(words: &[&str]) -> String {
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        Some((last, _)) => (*last).to_owned(),
        None => String::new(),
    }
}

/// The text as one word of a shell.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_says_what_conversations_rest_on() {
        let said = rest_on(Partition::Auto, Duration::from_secs(30 * 60));
        assert_eq!(said, "presumed: what one token does is one conversation until it is silent for 30 min");
        assert!(rest_on(Partition::Auto, Duration::from_millis(400)).ends_with("for 400 ms"));
        assert!(rest_on(Partition::Session, Duration::ZERO).contains("`partition: session`"));
    }
}
