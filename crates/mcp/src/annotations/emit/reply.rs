//! What we say to clients of a reply, in its `_meta`: united with what the upstream says, never milder.

use highwater_core::annotation::DataClass;
use highwater_core::label::{Label, TextSet};

use super::{attribution, push_key, push_label_classes, push_texts};
use crate::annotations::ours::{self, DECISION, LABEL, forged};
use crate::annotations::trust_annotations::TRUST_ANNOTATIONS;
use crate::edit::{Edit, edit_object};
use crate::era::meta_key::OURS;
use crate::text::{
    elements, is_array, is_object, is_true, member, members, quote_into, string_member, unquote,
};

/// What there is to say of a reply.
#[derive(Clone, Copy, Debug)]
pub struct ReplyNote<'a> {
    /// The label of the reply.
    pub reply: &'a Label,
    /// Where the reply itself comes from: what is told as its attribution.
    pub sources: &'a TextSet,
    /// The label of the session with the reply in it.
    pub session: &'a Label,
    /// The decision by which it is released.
    pub decision: &'a str,
}

/// The whole `_meta` of a reply; `upstream` is what it came with.
pub fn reply_meta(upstream: Option<&str>, note: &ReplyNote<'_>) -> String {
    let meta = upstream.filter(|meta| is_object(meta)).unwrap_or("{}");
    // Most upstreams say who they are and nothing that we have a word in.
    if members(meta).any(|(key, _)| is_shared(&key)) { note.united(meta) } else { note.beside(meta) }
}

/// Whether a member of `_meta` is one that we write, or tighten, too.
fn is_shared(key: &str) -> bool {
    matches!(key, "annotations" | "ifc" | TRUST_ANNOTATIONS) || key.starts_with(OURS)
}

/// Appends a result with a new `_meta`. `old` is its own, borrowed from it, if it has one.
pub fn with_meta(out: &mut Vec<u8>, result: &str, old: Option<&str>, meta: &str) {
    let place = old.and_then(|old| crate::scan::span_in(result, old));
    let (before, between, after) = match &place {
        Some(span) => (result.get(..span.start), "", result.get(span.end..)),
        None => {
            let end = result.trim_end().len().saturating_sub(1);
            let before = result.get(..end);
            let empty = before.is_none_or(|before| before.trim_end().ends_with('{'));
            (before, if empty { r#""_meta":"# } else { r#","_meta":"# }, result.get(end..))
        }
    };
    for part in [before.unwrap_or_default(), between, meta, after.unwrap_or_default()] {
        out.extend_from_slice(part.as_bytes());
    }
}

// === impl ReplyNote ===

impl ReplyNote<'_> {
    /// After what the upstream said of other things.
    fn beside(&self, meta: &str) -> String {
        let kept = meta.trim_end().strip_suffix('}').unwrap_or("{");
        let mut out = String::with_capacity(kept.len() + 320);
        out.push_str(kept);
        if members(meta).next().is_some() {
            out.push(',');
        }
        if self.annotates() {
            out.push_str(r#""annotations":"#);
            self.push_annotations(&mut out);
            out.push(',');
        }
        if self.sensitive() || self.reply.untrusted() {
            push_key(&mut out, TRUST_ANNOTATIONS);
            out.push_str(match (self.sensitive(), self.reply.untrusted()) {
                (true, true) => r#"{"sensitive":true,"untrusted":true},"#,
                (true, false) => r#"{"sensitive":true},"#,
                (false, _) => r#"{"untrusted":true},"#,
            });
        }
        push_key(&mut out, LABEL);
        self.push_label(&mut out);
        out.push(',');
        push_key(&mut out, DECISION);
        self.push_decision(&mut out);
        out.push('}');
        out
    }

    /// Laid over what the upstream said.
    fn united(&self, meta: &str) -> String {
        let (mut label, mut decision) = (String::new(), String::new());
        self.push_label(&mut label);
        self.push_decision(&mut decision);

        let annotations = member(meta, "annotations").unwrap_or("{}");
        let attribution = attribution(member(annotations, "attribution"), self.sources);
        let flag = |key, needed: bool| {
            let said = member(annotations, key).is_some_and(is_true);
            (needed && !said).then_some((key, Edit::Set("true")))
        };
        let mut flags: Vec<(&str, Edit<'_>)> = [
            flag("openWorldHint", self.reply.untrusted()),
            flag("maliciousActivityHint", self.reply.malicious()),
        ]
        .into_iter()
        .flatten()
        .collect();
        flags.extend(attribution.as_deref().map(|list| ("attribution", Edit::Set(list))));

        let mut trust: Vec<(&str, Edit<'_>)> = Vec::new();
        if self.sensitive() {
            trust.push(("sensitive", Edit::Set("true")));
        }
        if self.reply.untrusted() {
            trust.push(("untrusted", Edit::Set("true")));
        }

        let ifc = self.ifc(member(meta, "ifc"));
        let forged = forged(meta);
        let mut edits: Vec<(&str, Edit<'_>)> =
            vec![(LABEL, Edit::Set(&label)), (DECISION, Edit::Set(&decision))];
        if !flags.is_empty() {
            edits.push(("annotations", Edit::Merge(&flags)));
        }
        if !trust.is_empty() {
            edits.push((TRUST_ANNOTATIONS, Edit::Merge(&trust)));
        }
        if !ifc.is_empty() {
            edits.push(("ifc", Edit::Merge(&ifc)));
        }
        ours::remove(&forged, &mut edits);
        edit_object(meta, &edits)
    }

    /// Whether anything is to be said in `annotations`.
    fn annotates(&self) -> bool {
        self.reply.untrusted() || self.reply.malicious() || !self.sources.members().is_empty()
    }

    /// Whether the reply holds any class but the one that is no claim.
    fn sensitive(&self) -> bool {
        !self.reply.classes().without(DataClass::Unclassified).is_empty()
    }

    fn push_annotations(&self, out: &mut String) {
        let before = out.len();
        out.push('{');
        if self.reply.untrusted() {
            out.push_str(r#""openWorldHint":true"#);
        }
        if self.reply.malicious() {
            out.push_str(if out.len() > before + 1 { "," } else { "" });
            out.push_str(r#""maliciousActivityHint":true"#);
        }
        if !self.sources.members().is_empty() {
            out.push_str(if out.len() > before + 1 { "," } else { "" });
            out.push_str(r#""attribution":"#);
            push_texts(out, self.sources);
        }
        out.push('}');
    }

    /// An upstream's `ifc`, tightened in the form it has.
    fn ifc(&self, theirs: Option<&str>) -> Vec<(&'static str, Edit<'static>)> {
        let Some(ifc) = theirs else { return Vec::new() };
        let mut edits = Vec::new();
        if self.reply.untrusted() {
            match string_member(ifc, "integrity").as_deref() {
                Some("untrusted" | "low") => {}
                Some("high") => edits.push(("integrity", Edit::Set(r#""low""#))),
                _ => edits.push(("integrity", Edit::Set(r#""untrusted""#))),
            }
        }
        if self.sensitive() {
            match member(ifc, "confidentiality") {
                Some(r#""private""#) => {}
                Some(list) if is_array(list) => {
                    let public = |reader: &str| {
                        unquote(reader).is_some_and(|text| text.eq_ignore_ascii_case("public"))
                    };
                    if elements(list).any(public) {
                        edits.push(("confidentiality", Edit::Set("[]")));
                    }
                }
                _ => edits.push(("confidentiality", Edit::Set(r#""private""#))),
            }
        }
        edits
    }

    fn push_label(&self, out: &mut String) {
        out.push_str(r#"{"v":1,"#);
        push_parts(out, self.reply);
        out.push_str(r#","session":{"#);
        push_parts(out, self.session);
        out.push_str("}}");
    }

    fn push_decision(&self, out: &mut String) {
        out.push_str(r#"{"id":"#);
        quote_into(out, self.decision);
        out.push('}');
    }
}

fn push_parts(out: &mut String, label: &Label) {
    out.push_str(r#""secrecy":"#);
    push_label_classes(out, label);
    out.push_str(r#","integrity":""#);
    out.push_str(label.integrity().as_str());
    out.push('"');
}
