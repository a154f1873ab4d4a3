//! Where in an action's parameters the parts are that the road looks at. The scan has seen them when the request came in;
//! who looks for them again walks over all that a client says.

use std::ops::Range;

use highwater_core::action::{Action, ActionKind};
use highwater_mcp::frame::Frame;
use highwater_mcp::text::member;

/// The parts of an action's parameters.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    /// The arguments; empty where there are none.
    pub(super) arguments: Range<usize>,
    /// The `_meta` that its client sent.
    pub(super) meta: Option<Meta>,
}

/// A `_meta` of a client.
#[derive(Clone, Debug)]
pub(super) struct Meta {
    pub(super) at: Range<usize>,
    /// Nothing is in it but what the eras put on every request.
    pub(super) formal: bool,
}

/// A change of one part of a text: what stood there, and how long what stands there now is.
pub(super) struct Splice<'a> {
    pub(super) replaced: &'a str,
    pub(super) length: usize,
}

// === impl Layout ===

impl Layout {
    /// Looks for the parts in the parameters themselves.
    pub(super) fn of(action: &Action) -> Self {
        let params = action.params();
        let arguments = match action.kind() {
            ActionKind::CallTool
            | ActionKind::GetPrompt
            | ActionKind::ResolveTool
            | ActionKind::CreateChallenge => member(params, "arguments"),
            ActionKind::Complete => member(params, "argument"),
            ActionKind::Answer | ActionKind::TaskStep | ActionKind::ExtraMethod => Some(params),
            ActionKind::ReadResource | ActionKind::Subscribe => None,
        };
        let arguments = arguments.and_then(|part| place(params, part)).unwrap_or(0..0);
        let meta = member(params, "_meta").and_then(|part| place(params, part));
        Self { arguments, meta: meta.map(|at| Meta { at, formal: false }) }
    }

    /// The parts of a call whose parameters are those of its request but for one part.
    pub(super) fn of_call(request: &Frame, splice: &Splice<'_>) -> Option<Self> {
        let params = request.params()?;
        let replaced = place(params, splice.replaced)?;
        let moved = |part: &str| {
            let at = place(params, part)?;
            let shift = |place: usize| (place + splice.length).checked_sub(replaced.len());
            if at.end <= replaced.start { Some(at) } else { Some(shift(at.start)?..shift(at.end)?) }
        };
        let arguments = match request.param("arguments") {
            Some(part) => moved(part)?,
            None => 0..0,
        };
        let meta = match request.param("_meta") {
            Some(part) => Some(Meta { at: moved(part)?, formal: request.is_meta_formal() }),
            None => None,
        };
        Some(Self { arguments, meta })
    }
}

/// Where a part lies in the text it is borrowed from.
fn place(text: &str, part: &str) -> Option<Range<usize>> {
    let start = (part.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    (start + part.len() <= text.len()).then(|| start..start + part.len())
}

#[cfg(test)]
mod tests {
    use highwater_core::id::UpstreamId;
    use highwater_mcp::edit::replace_part;
    use highwater_mcp::scan::ScanRules;

    use super::*;

    /// The arguments and the `_meta` of a call under the server's own name, and whether that `_meta` is formal.
    fn parts(params: &str) -> (String, Option<(String, bool)>) {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        let request = Frame::parse(text.into(), &ScanRules::FROM_CLIENT).unwrap();
        let (name, own) = (request.param("name").unwrap(), r#""a much longer name""#);
        let sent = replace_part(request.params().unwrap(), name, own).unwrap();
        let splice = Splice { replaced: name, length: own.len() };
        let layout = Layout::of_call(&request, &splice).unwrap();
        let action = Action::new(ActionKind::CallTool, UpstreamId::new("a"), "tools/call", "x", sent);
        let looked = Layout::of(&action);
        assert_eq!(layout.arguments, looked.arguments);
        assert_eq!(layout.meta.as_ref().map(|meta| &meta.at), looked.meta.as_ref().map(|meta| &meta.at));
        let text = |at: &Range<usize>| action.params().get(at.clone()).unwrap().to_owned();
        (text(&layout.arguments), layout.meta.map(|meta| (text(&meta.at), meta.formal)))
    }

    #[test]
    fn parts_are_found_on_both_sides_of_the_name() {
        let meta = r#"{"progressToken":1}"#;
        for params in [
            r#"{"name":"t","arguments":{"a":1},"_meta":{"progressToken":1}}"#,
            r#"{"_meta":{"progressToken":1},"arguments":{"a":1},"name":"t"}"#,
            r#"{"arguments": {"a":1} ,"name":"t" , "_meta": {"progressToken":1}}"#,
        ] {
            assert_eq!(parts(params), (r#"{"a":1}"#.into(), Some((meta.into(), true))), "{params}");
        }
        assert_eq!(parts(r#"{"name":"t"}"#), (String::new(), None));
    }

    #[test]
    fn whoever_says_something_of_its_own_is_listened_to() {
        let formal = |meta: &str| parts(&format!(r#"{{"name":"t","_meta":{meta}}}"#)).1.unwrap().1;
        assert!(formal("{}"));
        assert!(formal(r#"{"io.modelcontextprotocol/clientInfo":{},"progressToken":"x"}"#));
        assert!(!formal(r#"{"progressToken":"x","annotations":{}}"#));
        assert!(!formal(r#"{"progress\u0054oken":"x"}"#));
        assert!(!formal(r#"{"dev.highwater/label":1}"#));
        let many: Vec<String> = (0..64).map(|number| format!(r#""k{number}":1"#)).collect();
        assert!(!formal(&format!("{{{}}}", many.join(","))));
    }
}
