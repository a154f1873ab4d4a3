//! What agents' tokens grant.

use std::num::NonZeroU32;

use highwater_core::grant::{Grant, Limits, NAME_RULE, ServerScope, ToolPattern, ToolScope, name_fault};
use highwater_core::id::VirtualServerId;
use highwater_notation::end_of;
use highwater_notation::suggest::choose;

use super::{Lowering, Refused};
use crate::file::{AgentTokenFile, ConfigFile};
use crate::read::{Deliberate, Entries, Field, Written};
use crate::settings::{AgentToken, VirtualServer};

/// The word for all servers.
const ALL: &str = "*";

impl Lowering<'_> {
    /// `names` are all servers that were written, so that a faulty one is not reported as unknown, too.
    pub(super) fn agent_tokens(
        &self,
        file: &ConfigFile,
        names: &[&str],
        virtual_servers: &[VirtualServer],
    ) -> Vec<AgentToken> {
        let mut tokens = Vec::new();
        for (name, entry) in file.agent_tokens.value().into_iter().flat_map(|Entries(all)| all) {
            if let Some(fault) = name_fault(&name.value) {
                self.report(name.span, format!("token: `{}` {fault}", name.value), NAME_RULE);
            }
            let absent = AgentTokenFile::default();
            let entry = match entry {
                Field::Absent => &absent,
                Field::Broken => continue,
                Field::Read(read) => &read.value,
            };
            tokens.extend(self.agent_token(name, entry, names, virtual_servers));
        }
        tokens
    }

    fn agent_token(
        &self,
        name: &Written<String>,
        file: &AgentTokenFile,
        names: &[&str],
        virtual_servers: &[VirtualServer],
    ) -> Option<AgentToken> {
        let owner = &name.value;
        let permissions =
            self.said(name, "permissions", &file.permissions, "such as `[call_tool_read, retrieve_tools]`")?;
        let servers = self.said(name, "servers", &file.servers, "by alias, or `[\"*\"]` for all")?;
        for server in servers.iter().filter(|server| server.value != ALL) {
            if !names.contains(&server.value.as_str()) {
                let message = format!("unknown server `{}` in token `{owner}`", server.value);
                self.report(server.span, message, choose(&server.value, names));
            }
        }
        let Deliberate(listed) = &file.tools;
        let tools = match listed {
            Field::Absent | Field::Broken => ToolScope::All,
            Field::Read(_) => {
                let globs = self.each(listed, |glob| match ToolPattern::new(&glob.value) {
                    Some(_) => Ok(glob.value.clone()),
                    None => Err(Refused::new(format!("a glob of token `{owner}` is too long"), "shorten it")),
                });
                ToolScope::only(globs.iter().filter_map(|glob| ToolPattern::new(glob)))
            }
        };
        let virtual_server = file.virtual_server.read().map(|written| {
            let known: Vec<&str> = virtual_servers.iter().map(|server| server.name.as_str()).collect();
            if !known.contains(&written.value.as_str()) {
                let message = format!("unknown virtual server `{}` in token `{owner}`", written.value);
                self.report(written.span, message, choose(&written.value, &known));
            }
            VirtualServerId::new(written.value.as_str())
        });
        let expires = file.expires.read().and_then(|written| {
            let end = end_of(&written.value);
            if end.is_none() {
                let message = format!("`expires` of token `{owner}`: `{}` is no day", written.value);
                self.report(
                    written.span,
                    message,
                    "write it as `2027-01-31`; it is valid until the end of that day",
                );
            }
            end
        });
        let most = u32::MAX as usize;
        let limit = |key: &str, field| {
            let count = self.count(&format!("`{key}` of token `{owner}`"), field, 1, most)?;
            u32::try_from(count).ok().and_then(NonZeroU32::new)
        };
        let limits = Limits {
            per_minute: limit("rate_per_minute", &file.rate_per_minute),
            concurrency: limit("concurrency", &file.concurrency),
        };
        let grant = Grant {
            permissions: permissions.iter().map(|word| word.value.into()).collect(),
            servers: ServerScope::of_names(servers.iter().map(|server| server.value.as_str())),
            tools,
            virtual_server,
            flow: file.flow.value().copied().map(Into::into),
            expires,
        };
        let partition = file.partition.value().copied();
        let quiet = self.wait(&format!("`quiet` of token `{owner}`"), &file.quiet);
        let user = self.user(&format!("`user` of token `{owner}`"), &file.user);
        let approval_flow = file.approval_flow.value().copied();
        let forms = file.forms.value().copied().map(Into::into).unwrap_or_default();
        let words = file.words.value().copied().map(Into::into).unwrap_or_default();
        let name = owner.clone();
        Some(AgentToken { name, grant, limits, partition, quiet, user, approval_flow, forms, words })
    }

    /// A list that must be there and hold something: what a token grants is said, never supposed.
    fn said<'f, T>(
        &self,
        name: &Written<String>,
        key: &str,
        field: &'f Field<Vec<Written<T>>>,
        help: &str,
    ) -> Option<&'f [Written<T>]> {
        let (span, message) = match field {
            Field::Broken => return None,
            Field::Absent => (name.span, format!("token `{}` has no `{key}`", name.value)),
            Field::Read(written) if written.value.is_empty() => {
                (written.span, format!("`{key}` of token `{}` is empty", name.value))
            }
            Field::Read(written) => return Some(&written.value),
        };
        self.report(span, message, format!("say `{key}`, {help}"));
        None
    }
}
