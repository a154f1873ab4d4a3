//! Shapes results for the era of the client. What neither era speaks of stays as it came.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::{Era, meta_key};
use crate::edit::{Edit, edit_object};
use crate::error_code;
use crate::frame::Frame;
use crate::method::Method;
use crate::text::{member, members, unquote};

/// Prepared once: building a finder costs more than searching a short reply.
static OURS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("dev.highwater"));
static META: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"_meta\""));
static ESCAPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\\u"));

/// What the modern era's `resultType` says of a result. Absent means complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultType {
    /// The request is done.
    Complete,
    /// The server asks back.
    InputRequired,
    /// The request goes on as a task.
    Task,
    /// None of those.
    Unknown,
}

/// Reads a result's type. Only modern servers have one; in a legacy result the member means nothing.
pub fn result_type(result: &str, from: Era) -> ResultType {
    type_among(from, |key| member(result, key))
}

/// Like [`result_type`], for the result of a message, whose members are known already. An error has none.
pub fn type_of(frame: &Frame, from: Era) -> ResultType {
    type_among(from, |key| frame.result_member(key))
}

fn type_among<'a>(from: Era, member: impl Fn(&str) -> Option<&'a str>) -> ResultType {
    if from == Era::Legacy {
        return ResultType::Complete;
    }
    match member("resultType").map(unquote) {
        None => ResultType::Complete,
        Some(Some(text)) => match &*text {
            "complete" => ResultType::Complete,
            // A question that asks nothing and gives nothing to come back with is none.
            "input_required" if member("inputRequests").or_else(|| member("requestState")).is_none() => {
                ResultType::Unknown
            }
            "input_required" => ResultType::InputRequired,
            "task" => ResultType::Task,
            _ => ResultType::Unknown,
        },
        Some(None) => ResultType::Unknown,
    }
}

/// The result that a message holds, of `method`, as a client of era `to` should see it. An error holds none.
pub fn result_of(frame: &Frame, method: Option<Method>, from: Era, to: Era) -> Cow<'_, str> {
    let result = frame.result().unwrap_or("{}");
    let has = |key: &str| frame.result_member(key).is_some();
    let mut edits: Vec<(&str, Edit<'_>)> = Vec::new();
    let remove = |edits: &mut Vec<_>, key| {
        if has(key) {
            edits.push((key, Edit::Remove));
        }
    };
    match (from, to) {
        (Era::Legacy, Era::Modern) => edits.push(("resultType", Edit::Set(r#""complete""#))),
        (Era::Modern, Era::Legacy) => remove(&mut edits, "resultType"),
        (Era::Legacy, Era::Legacy) | (Era::Modern, Era::Modern) => {}
    }
    if method.is_some_and(Method::is_cacheable) && (from, to) != (Era::Legacy, Era::Legacy) {
        // What we pass on depends on who asks and on policy, so nobody else may be served from a cache.
        match to {
            Era::Modern => {
                edits.push(("ttlMs", Edit::Set("0")));
                edits.push(("cacheScope", Edit::Set(r#""private""#)));
            }
            Era::Legacy => {
                remove(&mut edits, "ttlMs");
                remove(&mut edits, "cacheScope");
            }
        }
    }
    let forged = if frame.may_speak_for_us() { forged_meta(result) } else { Vec::new() };
    let forged: Vec<(&str, Edit<'_>)> = forged.iter().map(|key| (key.as_str(), Edit::Remove)).collect();
    if !forged.is_empty() {
        edits.push(("_meta", Edit::Merge(&forged)));
    }
    match edits.as_slice() {
        [] => Cow::Borrowed(result),
        // Between the eras mostly one member goes, and where that is the scan has seen.
        [(key, Edit::Remove)] => {
            Cow::Owned(frame.result_without(key).unwrap_or_else(|| edit_object(result, &edits)))
        }
        _ => Cow::Owned(edit_object(result, &edits)),
    }
}

/// The error object of an answer to `method`, as a client of era `to` should see it.
pub fn error<'a>(error: &'a str, method: Option<Method>, from: Era, to: Era) -> Cow<'a, str> {
    let code = member(error, "code").and_then(|code| code.parse::<i64>().ok());
    let translated = match (method, from, to, code) {
        (Some(Method::ReadResource), Era::Legacy, Era::Modern, Some(error_code::RESOURCE_NOT_FOUND)) => {
            Some(error_code::INVALID_PARAMS)
        }
        (Some(Method::ReadResource), Era::Modern, Era::Legacy, Some(error_code::INVALID_PARAMS))
            if member(error, "data").is_some_and(|data| member(data, "uri").is_some()) =>
        {
            Some(error_code::RESOURCE_NOT_FOUND)
        }
        _ => None,
    };
    match translated {
        Some(code) => Cow::Owned(edit_object(error, &[("code", Edit::Set(&code.to_string()))])),
        None => Cow::Borrowed(error),
    }
}

/// An object of an upstream without what only we may say in its `_meta`.
pub fn without_ours(object: &str) -> Cow<'_, str> {
    let forged = forged_meta(object);
    if forged.is_empty() {
        return Cow::Borrowed(object);
    }
    let forged: Vec<(&str, Edit<'_>)> = forged.iter().map(|key| (key.as_str(), Edit::Remove)).collect();
    Cow::Owned(edit_object(object, &[("_meta", Edit::Merge(&forged))]))
}

/// Keys of the result's `_meta` that only we may set.
fn forged_meta(result: &str) -> Vec<String> {
    // Nearly every result is without: a search over the bytes spares the walk. A key may be written with escapes.
    let mentions = |needle: &Finder<'_>| needle.find(result.as_bytes()).is_some();
    let may_be_forged = mentions(&OURS) || (mentions(&META) && mentions(&ESCAPE));
    if !may_be_forged {
        return Vec::new();
    }
    let Some(meta) = member(result, "_meta") else { return Vec::new() };
    members(meta)
        .filter(|(key, _)| key.starts_with(meta_key::OURS))
        .map(|(key, _)| key.into_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::ScanRules;

    fn shaped(result: &str, method: Option<Method>, from: Era, to: Era) -> (String, bool) {
        let message = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
        let frame = Frame::parse(message.into(), &ScanRules::FROM_SERVER).unwrap();
        let shaped = result_of(&frame, method, from, to);
        (shaped.to_string(), matches!(shaped, Cow::Borrowed(_)))
    }

    #[test]
    fn a_result_of_the_same_era_is_the_same_text() {
        let text = r#"{"content" : [], "x":1e400}"#;
        assert_eq!(shaped(text, Some(Method::CallTool), Era::Legacy, Era::Legacy), (text.to_owned(), true));
        let text = r#"{"content":[],"resultType":"complete"}"#;
        assert_eq!(shaped(text, Some(Method::CallTool), Era::Modern, Era::Modern), (text.to_owned(), true));
    }

    #[test]
    fn a_legacy_result_becomes_modern_and_back() {
        let (up, _) = shaped(r#"{"contents":[]}"#, Some(Method::ReadResource), Era::Legacy, Era::Modern);
        assert_eq!(up, r#"{"contents":[],"resultType":"complete","ttlMs":0,"cacheScope":"private"}"#);
        let (down, _) = shaped(&up, Some(Method::ReadResource), Era::Modern, Era::Legacy);
        assert_eq!(down, r#"{"contents":[]}"#);
    }

    #[test]
    fn a_member_that_goes_takes_one_comma_with_it_wherever_it_stands() {
        for text in [
            r#"{"resultType":"complete"}"#,
            r#"{ "resultType" : "complete" , "a":1 }"#,
            r#"{"a":1 ,"resultType":"complete"}"#,
            r#"{"a":1, "resultType":"complete" , "b":[2] }"#,
            r#"{"\u0061":1,"resultType":"complete","b":2}"#,
            r#"{"resultType":"complete","\u0061":1}"#,
        ] {
            let (kept, _) = shaped(text, None, Era::Modern, Era::Legacy);
            assert_eq!(kept, edit_object(text, &[("resultType", Edit::Remove)]));
        }
    }

    #[test]
    fn nobody_speaks_in_our_name() {
        for text in [
            r#"{"_meta":{"dev.highwater/decision":"hwd_1","a":1}}"#,
            r#"{"_meta":{"dev.\u0068ighwater/decision":"hwd_1","a":1}}"#,
            r#"{"\u005fmeta":{"dev.highwater/decision":"hwd_1","a":1}}"#,
        ] {
            let (kept, _) = shaped(text, None, Era::Legacy, Era::Legacy);
            assert!(kept.ends_with(r#":{"a":1}}"#), "{kept}");
        }
    }

    #[test]
    fn a_missing_resource_has_the_code_of_the_clients_era() {
        let legacy = r#"{"code":-32002,"message":"m","data":{"uri":"u"}}"#;
        let modern = r#"{"code":-32602,"message":"m","data":{"uri":"u"}}"#;
        let method = Some(Method::ReadResource);
        assert_eq!(error(legacy, method, Era::Legacy, Era::Modern), modern);
        assert_eq!(error(modern, method, Era::Modern, Era::Legacy), legacy);
        assert_eq!(error(legacy, Some(Method::CallTool), Era::Legacy, Era::Modern), legacy);
    }

    #[test]
    fn the_type_of_a_result_is_read_only_from_modern_servers() {
        assert_eq!(result_type(r#"{"resultType":"x"}"#, Era::Legacy), ResultType::Complete);
        assert_eq!(result_type(r#"{"resultType":"x"}"#, Era::Modern), ResultType::Unknown);
        assert_eq!(result_type(r#"{"resultType":1}"#, Era::Modern), ResultType::Unknown);
        assert_eq!(result_type(r#"{}"#, Era::Modern), ResultType::Complete);
        assert_eq!(result_type(r#"{"resultType":"input_required"}"#, Era::Modern), ResultType::Unknown);
        let asks = r#"{"resultType":"input_required","requestState":"s"}"#;
        assert_eq!(result_type(asks, Era::Modern), ResultType::InputRequired);
    }
}
