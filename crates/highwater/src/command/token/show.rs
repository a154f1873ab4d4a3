//! Tokens as people see them.

use highwater_notation::Timestamp;
use serde::Deserialize;

use crate::explain::plain;
use crate::explain::when::{date, moment};
use crate::terminal::{Table, View};

/// One token.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Row {
    name: String,
    status: String,
    source: String,
    #[serde(default)]
    permissions: Vec<String>,
    #[serde(default)]
    servers: Vec<String>,
    #[serde(default)]
    tools: Option<Vec<String>>,
    #[serde(default, rename = "virtual_server")]
    virtual_server: Option<String>,
    #[serde(default)]
    flow: Option<String>,
    #[serde(default)]
    expires: Option<Timestamp>,
    #[serde(default)]
    limits: Limits,
    #[serde(default)]
    user: Option<String>,
    #[serde(default)]
    forms: Option<String>,
    #[serde(default)]
    words: Option<String>,
    #[serde(default)]
    prefix: Option<String>,
    #[serde(default)]
    last_used: Option<Timestamp>,
}

#[derive(Debug, Default, Deserialize)]
struct Limits {
    #[serde(default)]
    per_minute: Option<u32>,
    #[serde(default)]
    concurrency: Option<u32>,
}

// === impl Row ===

impl Row {
    /// Permissions without what they all begin with.
    fn permissions(&self) -> String {
        let short = |word: &String| word.trim_start_matches("call_tool_").to_owned();
        joined(&self.permissions.iter().map(short).collect::<Vec<_>>())
    }

    /// Whose agent it is.
    fn user(&self) -> String {
        self.user.as_deref().map_or_else(|| "-".to_owned(), plain)
    }

    /// Who answers the forms that its clients are sent.
    fn forms(&self) -> String {
        self.forms.as_deref().map_or_else(|| "-".to_owned(), plain)
    }

    /// Whose words the prompts are that its clients tell of.
    fn words(&self) -> String {
        self.words.as_deref().map_or_else(|| "-".to_owned(), plain)
    }

    /// Everything else that narrows it.
    fn narrowed(&self) -> String {
        let limits = &self.limits;
        let parts = [
            self.tools.as_ref().map(|tools| format!("tools {}", joined(tools))),
            self.virtual_server.as_ref().map(|name| format!("at {}", plain(name))),
            self.flow.as_ref().map(|flow| format!("flow {}", plain(flow))),
            limits.per_minute.map(|rate| format!("{rate}/min")),
            limits.concurrency.map(|most| format!("{most} at once")),
            self.expires.map(|end| format!("until {}", moment(end))),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() { "-".to_owned() } else { parts.join(", ") }
    }
}

/// Tokens, one a line.
pub(super) fn table(rows: &[Row]) -> String {
    if rows.is_empty() {
        return "no tokens besides the printed agent token, which grants everything\n".to_owned();
    }
    let headings = [
        "token",
        "status",
        "secret",
        "user",
        "forms",
        "words",
        "permissions",
        "servers",
        "narrowed to",
        "from",
        "last used",
    ];
    let mut table = Table::new(headings);
    for row in rows {
        table.row([
            plain(&row.name),
            row.status.replace('-', " "),
            row.prefix.as_ref().map_or_else(|| "-".to_owned(), |prefix| format!("{}…", plain(prefix))),
            row.user(),
            row.forms(),
            row.words(),
            row.permissions(),
            joined(&row.servers),
            row.narrowed(),
            plain(&row.source),
            row.last_used.map_or_else(|| "never".to_owned(), date),
        ]);
    }
    table.text(View::stdout())
}

/// A new secret, and what to do with it.
pub(super) fn secret(row: &Row, secret: &str, endpoint: Option<&str>) -> String {
    let mut text = format!(
        "token        {}\nsecret       {secret}\nuser         {}\nforms        {}\nwords        {}\npermissions  {}\nservers      {}\nnarrowed to  {}\n\n\
         This is the only time that the secret is shown. A client presents it as\n  \
         Authorization: Bearer {secret}\n",
        plain(&row.name),
        row.user(),
        row.forms(),
        row.words(),
        row.permissions(),
        joined(&row.servers),
        row.narrowed(),
    );
    let place = row.virtual_server.as_ref().map(|name| format!("/v/{}", plain(name))).unwrap_or_default();
    match endpoint {
        Some(endpoint) => text.push_str(&format!("at {endpoint}{place}\n")),
        None => text.push_str("or, with `highwater stdio`, in the variable HIGHWATER_TOKEN\n"),
    }
    text
}

/// A token that is no more.
pub(super) fn revoked(row: &Row) -> String {
    format!("token `{}` is revoked; it opens nothing any more\n", plain(&row.name))
}

fn joined(words: &[String]) -> String {
    match words {
        [] => "none".to_owned(),
        words => words.iter().map(|word| plain(word)).collect::<Vec<_>>().join(", "),
    }
}
