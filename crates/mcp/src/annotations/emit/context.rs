//! What we tell an upstream of the context a request is made in.

use highwater_core::label::Label;
use highwater_core::session::Contributors;

use super::{attribution, push_texts};
use crate::annotations::flow::{FLOW_ORIGIN, write_contributors};
use crate::annotations::ours::{self, forged};
use crate::edit::{Edit, edit_object};
use crate::text::{is_object, is_true, member, members, quote_into};

/// How much an upstream is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Share {
    /// Nothing.
    Nothing,
    /// Whether the context is trusted.
    Hints,
    /// Also what was read.
    Full,
}

/// The context of a request.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The label of the session. Its classes are never sent: who learns that a session holds credentials has
    /// learnt something.
    pub session: &'a Label,
    /// How much of it the upstream is told.
    pub share: Share,
    /// Who contributed, for an upstream that has a flow policy.
    pub contributors: Option<&'a Contributors>,
}

/// What a client may write for us alone: the key of its own session, and the decision it heard of.
const FOR_US: [&str; 2] = ["clientSessionId", "io.modelcontextprotocol/authorization-context-id"];

/// The `_meta` of a request towards an upstream; `None` if it stays what the client sent.
///
/// What the client itself said of its context is in the session's label, and goes on only as far as the upstream
/// may know it.
pub fn context_meta(client: Option<&str>, context: &Context<'_>) -> Option<String> {
    let Some(client) = client else { return context.alone() };
    let meta = if is_object(client) { client } else { "{}" };
    let annotations = member(meta, "annotations").filter(|raw| is_object(raw)).unwrap_or("{}");
    let attribution = match context.share {
        Share::Full => attribution(member(annotations, "attribution"), context.session.origins()),
        Share::Nothing | Share::Hints => None,
    };
    let origin = context.origin();

    let mut said: Vec<(&str, Edit<'_>)> = Vec::new();
    match (context.share, member(annotations, "openWorldHint")) {
        (Share::Nothing, Some(_)) => said.push(("openWorldHint", Edit::Remove)),
        (Share::Hints | Share::Full, hint) if context.session.untrusted() && !hint.is_some_and(is_true) => {
            said.push(("openWorldHint", Edit::Set("true")));
        }
        _ => {}
    }
    match (context.share, &attribution) {
        (Share::Full, Some(list)) => said.push(("attribution", Edit::Set(list))),
        (Share::Nothing | Share::Hints, _) if member(annotations, "attribution").is_some() => {
            said.push(("attribution", Edit::Remove));
        }
        _ => {}
    }

    let mut edits: Vec<(&str, Edit<'_>)> = Vec::new();
    if !said.is_empty() {
        let adds = said.iter().any(|(_, edit)| matches!(edit, Edit::Set(_)));
        let keeps = members(annotations).any(|(key, _)| !said.iter().any(|(edited, _)| *edited == key));
        edits.push(("annotations", if adds || keeps { Edit::Merge(&said) } else { Edit::Remove }));
    }
    match &origin {
        Some(origin) => edits.push((FLOW_ORIGIN, Edit::Set(origin))),
        None if member(meta, FLOW_ORIGIN).is_some() => edits.push((FLOW_ORIGIN, Edit::Remove)),
        None => {}
    }
    edits.extend(FOR_US.into_iter().filter(|key| member(meta, key).is_some()).map(|key| (key, Edit::Remove)));
    let forged = forged(meta);
    ours::remove(&forged, &mut edits);
    (!edits.is_empty()).then(|| edit_object(meta, &edits))
}

// === impl Context ===

impl Context<'_> {
    /// The same for a client that sent nothing there, which most do: there is nothing to look through and to unite.
    fn alone(&self) -> Option<String> {
        let hint = self.share != Share::Nothing && self.session.untrusted();
        let named = self.share == Share::Full && !self.session.origins().members().is_empty();
        let origin = self.origin();
        if !hint && !named && origin.is_none() {
            return None;
        }
        let mut out = String::with_capacity(160);
        out.push('{');
        if hint || named {
            out.push_str(r#""annotations":{"#);
            out.push_str(if hint { r#""openWorldHint":true"# } else { "" });
            out.push_str(if hint && named { "," } else { "" });
            if named {
                out.push_str(r#""attribution":"#);
                push_texts(&mut out, self.session.origins());
            }
            out.push_str(if origin.is_some() { "}," } else { "}" });
        }
        if let Some(origin) = origin {
            quote_into(&mut out, FLOW_ORIGIN);
            out.push(':');
            out.push_str(&origin);
        }
        out.push('}');
        Some(out)
    }

    fn origin(&self) -> Option<String> {
        let contributors = self.contributors.filter(|_| self.share != Share::Nothing)?;
        Some(write_contributors(contributors, self.share == Share::Full))
    }
}
