//! Origin labels and flow policies (SEP-3193): from whom a tool takes data, and who contributed to a context.
//!
//! What a client sends counts; what a server says of origins is ignored.

use std::sync::Arc;

use highwater_core::annotation::{Claim, NoticeKind};
use highwater_core::session::{Assurance, Contributor, Contributors};

use super::heard::{Heard, origins};
use super::shape::{Names, names};
use super::table::{Key, Of, Vocabulary};
use crate::edit::{Edit, edit_object};
use crate::text::{
    elements, is_array, is_false, is_object, is_true, member, pointer, quote_into, string_member,
};

/// The key of an origin label in a request's `_meta`.
pub const FLOW_ORIGIN: &str = "io.modelcontextprotocol/flowOrigin";

/// The key under which an upstream tells why its policy refused, in an error's data.
const FLOW_POLICY_VIOLATION: &str = "io.modelcontextprotocol/flowPolicyViolation";

pub(super) const VOCABULARY: Vocabulary = Vocabulary {
    name: "flow",
    keys: &[Key::new("flowPolicy", Of::Tools, flow_policy), Key::new(FLOW_ORIGIN, Of::Requests, flow_origin)],
};

/// What a server accepts that states a policy and no default.
const DEFAULT: [&str; 4] = ["self", "user", "host", "verified"];

fn flow_policy(heard: &mut Heard, raw: &str) {
    let tokens = match member(raw, "acceptFrom").map(names) {
        Some(Names::Listed(tokens)) => tokens,
        // A policy that cannot be read admits nobody.
        Some(Names::Unreadable) | None => {
            heard.notice(NoticeKind::Malformed, None, heard.key);
            Vec::new()
        }
    };
    heard.say(Claim::AcceptFrom(tokens.into()));
}

/// The policy of a server's tools that state none of their own; `None` if the server has no policy.
pub(super) fn server_policy(capabilities: &str) -> Option<Arc<[Arc<str>]>> {
    let flow = member(capabilities, "flow")?;
    if is_object(flow) && member(flow, "policy").is_none_or(is_false) || is_false(flow) {
        return None;
    }
    let default = || DEFAULT.into_iter().map(Arc::from).collect();
    Some(match member(flow, "default").map(|default| member(default, "acceptFrom").map(names)) {
        None => default(),
        Some(Some(Names::Listed(tokens))) => tokens.into(),
        Some(Some(Names::Unreadable) | None) => Arc::from([]),
    })
}

fn flow_origin(heard: &mut Heard, raw: &str) {
    let contributors = contributors(raw);
    if !contributors.is_complete() && !is_object(raw) {
        heard.notice(NoticeKind::Malformed, None, heard.key);
    }
    let trusted = |contributor: &Contributor| match contributor.assurance {
        Assurance::User | Assurance::Host | Assurance::Verified => true,
        Assurance::Tofu | Assurance::Unverified => false,
    };
    if !contributors.is_complete() || !contributors.known().all(trusted) {
        heard.say(Claim::Untrusted);
    }
    let named = contributors.known().filter_map(|contributor| contributor.principal.as_deref());
    let origins = origins(named.map(Into::into));
    if !origins.is_empty() {
        heard.say(Claim::AddOrigins(origins));
    }
}

/// An origin label. What cannot be read is somebody unverified, and the list is not complete without them.
pub fn contributors(raw: &str) -> Contributors {
    let listed = member(raw, "contributors").filter(|list| is_array(list));
    let complete = listed.is_some() && member(raw, "complete").is_some_and(is_true);
    let read = |raw: &str| Contributor {
        principal: string_member(raw, "principal").map(|uri| Arc::from(&*uri)),
        ..Contributor::unnamed(
            string_member(raw, "assurance")
                .and_then(|word| Assurance::parse(&word))
                .unwrap_or(Assurance::Unverified),
        )
    };
    Contributors::new(elements(listed.unwrap_or_default()).map(read), complete)
}

/// An error of an upstream without the contributor it objected to, and what was taken out of it: that is for the
/// audit, since to the model it would be an oracle. `None` if there is nothing to take.
pub fn without_violation(error: &str) -> Option<(String, &str)> {
    let violation = pointer(error, &["data", FLOW_POLICY_VIOLATION])?;
    let edits = [(FLOW_POLICY_VIOLATION, Edit::Remove)];
    Some((edit_object(error, &[("data", Edit::Merge(&edits))]), violation))
}

/// An origin label as JSON text. Names are written only where the upstream may know them.
pub fn write_contributors(contributors: &Contributors, names: bool) -> String {
    let mut out = String::from(r#"{"contributors":["#);
    let mut last = None;
    for contributor in contributors.known() {
        let principal = contributor.principal.as_deref().filter(|_| names);
        // Without their names many look alike.
        let shown = Some((contributor.assurance, principal));
        if last == shown {
            continue;
        }
        if last.is_some() {
            out.push(',');
        }
        last = shown;
        out.push('{');
        if let Some(principal) = principal {
            out.push_str(r#""principal":"#);
            quote_into(&mut out, principal);
            out.push(',');
        }
        out.push_str(r#""assurance":""#);
        out.push_str(contributor.assurance.as_str());
        out.push_str("\"}");
    }
    out.push_str(if contributors.is_complete() { r#"],"complete":true}"# } else { r#"],"complete":false}"# });
    out
}
