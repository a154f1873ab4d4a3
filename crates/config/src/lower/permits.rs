//! What agents may do that nobody watches.

use highwater_core::approval::StandingPermit;
use highwater_core::grant::{NAME_RULE, name_fault};
use highwater_core::id::{Principal, UpstreamId};
use highwater_notation::end_of;
use highwater_notation::suggest::choose;
use serde_json::{Map, Value as Json};

use super::Lowering;
use crate::diagnose::Problem;
use crate::file::{ConfigFile, PermitFile};
use crate::node::{Node, Span, Value};
use crate::read::{Entries, Field, Written};
use crate::settings::AgentToken;

/// The agents that are in no file: the printed token, whoever needs none, and whoever joins on this machine.
const OWN_TOKENS: [&str; 3] = ["agent", "anonymous", "local"];

impl Lowering<'_> {
    /// `names` are all servers that were written.
    pub(super) fn permits(
        &self,
        file: &ConfigFile,
        names: &[&str],
        tokens: &[AgentToken],
    ) -> Vec<StandingPermit> {
        let mut permits = Vec::new();
        for (name, entry) in file.permits.value().into_iter().flat_map(|Entries(all)| all) {
            if let Some(fault) = name_fault(&name.value) {
                self.report(name.span, format!("permit: `{}` {fault}", name.value), NAME_RULE);
            }
            let absent = PermitFile::default();
            let entry = match entry {
                Field::Absent => &absent,
                Field::Broken => continue,
                Field::Read(read) => &read.value,
            };
            permits.extend(self.permit(name, entry, names, tokens));
        }
        permits
    }

    fn permit(
        &self,
        name: &Written<String>,
        file: &PermitFile,
        names: &[&str],
        tokens: &[AgentToken],
    ) -> Option<StandingPermit> {
        let owner = &name.value;
        let token = self.required(name, "token", &file.token, "the name of a token");
        let tool = self.required(name, "tool", &file.tool, "such as `mail:send`");
        let until = self.required(name, "until", &file.until, "the last day, such as `2027-01-31`");
        let (token, tool, until) = (token?, tool?, until?);
        let known = || tokens.iter().map(|token| token.name.as_str()).chain(OWN_TOKENS);
        if !known().any(|known| known == token.value) {
            let known: Vec<&str> = known().collect();
            self.doubtful(
                token.span,
                "permit-token",
                format!("permit `{owner}` is for token `{}`, which is not in this file", token.value),
                format!(
                    "{}; a token that was made by `highwater token create` is right, too",
                    choose(&token.value, &known)
                ),
            );
        }
        let Some((server, own)) =
            tool.value.split_once(':').filter(|(server, own)| !server.is_empty() && !own.is_empty())
        else {
            let message = format!("`tool` of permit `{owner}`: `{}` names no server", tool.value);
            self.report(
                tool.span,
                message,
                "write it as `SERVER:TOOL`, by the server's own name for the tool",
            );
            return None;
        };
        if !names.contains(&server) {
            self.doubtful(
                tool.span,
                "permit-server",
                format!("permit `{owner}` is for server `{server}`, which is not configured"),
                choose(server, names),
            );
        }
        let Some(end) = end_of(&until.value) else {
            let message = format!("`until` of permit `{owner}`: `{}` is no day", until.value);
            self.report(
                until.span,
                message,
                "write it as `2027-01-31`; it permits until the end of that day",
            );
            return None;
        };
        let arguments = match &file.arguments {
            Field::Absent => Json::Object(Map::new()),
            Field::Broken => return None,
            Field::Read(tree) => self.json(self.trees.node(tree.value)?)?,
        };
        let tool = (UpstreamId::new(server), own);
        let permit = StandingPermit::new(owner, Principal::new(token.value.as_str()), tool, arguments, end);
        let place = file.arguments.read().map_or(name.span, |written| written.span);
        permit
            .map_err(|fault| self.report(place, format!("permit `{owner}`: `{}`", fault.place), fault.why))
            .ok()
    }

    /// A text that must be there: what is permitted is said, never supposed.
    fn required<'f>(
        &self,
        name: &Written<String>,
        key: &str,
        field: &'f Field<String>,
        help: &str,
    ) -> Option<&'f Written<String>> {
        match field {
            Field::Broken => None,
            Field::Read(written) => Some(written),
            Field::Absent => {
                let message = format!("permit `{}` has no `{key}`", name.value);
                self.report(name.span, message, format!("say `{key}`: {help}"));
                None
            }
        }
    }

    fn doubtful(&self, span: Span, code: &'static str, message: String, help: String) {
        let help = Some(help);
        self.problems.warn(Problem { code: Some(code), message, help, span: Some(span), also: None });
    }

    /// A part of the file as JSON.
    fn json(&self, node: &Node) -> Option<Json> {
        Some(match &node.value {
            Value::Null { .. } => Json::Null,
            Value::Bool { value, .. } => Json::Bool(*value),
            Value::Text(text) => Json::String(text.clone()),
            Value::Number { defined } => {
                let written = defined.of(self.text);
                match serde_json::from_str::<serde_json::Number>(written) {
                    Ok(number) => Json::Number(number),
                    Err(_) => {
                        let message = format!("`{written}` is not written as a number of JSON is");
                        self.report(node.span, message, "write it as `50` or `0.5`");
                        return None;
                    }
                }
            }
            Value::List(items) => {
                Json::Array(items.iter().map(|item| self.json(item)).collect::<Option<_>>()?)
            }
            Value::Map(entries) => {
                let members =
                    entries.iter().map(|(key, value)| Some((key.name().to_owned(), self.json(value)?)));
                Json::Object(members.collect::<Option<_>>()?)
            }
        })
    }
}
