//! The words of a first meeting in either era: what we say and how the answer is read. Shared by every
//! transport.

use bytes::Bytes;
use highwater_mcp::era::{
    ClientMeta, ClientView, Era, LEGACY_VERSIONS, MODERN_VERSION, meta_key, request_params,
};
use highwater_mcp::error_code;
use highwater_mcp::frame::{Frame, FrameKind};
use highwater_mcp::text::{
    elements, integer, is_array, is_object, is_string, is_true, member, quote, unquote,
};

use crate::link::Greeting;

/// What we can bridge to whichever client calls. A legacy server over HTTP hears it on the connection that clients of the
/// modern era share, where each of them says on each request what it can do; what it cannot is refused question by question.
pub(crate) const LEGACY_CAPABILITIES: &str =
    r#"{"roots":{},"sampling":{},"elicitation":{"form":{},"url":{}}}"#;

/// What the answer to a probe says about the server's era.
#[derive(Debug)]
pub(crate) enum Probed {
    /// It speaks the modern version we speak.
    Modern(Greeting),
    /// It says, in a modern way, that it does not speak our modern version but does speak a legacy one.
    LegacyOffered,
    /// It speaks only versions that we do not.
    NoCommonVersion,
    /// It recognised the modern era and refused to greet.
    Refused(i64),
    /// It does not know what we are talking about.
    NotModern,
}

// === impl Greeting ===

impl Greeting {
    /// Whether the server declared a capability of this name.
    pub fn has(&self, capability: &str) -> bool {
        std::str::from_utf8(&self.capabilities).is_ok_and(|all| member(all, capability).is_some())
    }
}

/// The parameters of `initialize`.
pub(crate) fn initialize_params(client_info: &str, capabilities: &str) -> String {
    format!(
        r#"{{"protocolVersion":{},"capabilities":{capabilities},"clientInfo":{client_info}}}"#,
        quote(LEGACY_VERSIONS[0])
    )
}

/// The parameters of a modern request that we make in our own name.
pub(crate) fn own_modern_params(params: Option<&str>, client_info: &str) -> String {
    let client = ClientView { capabilities: "{}", client_info, log_level: None };
    request_params(params, ClientMeta::Kept, Era::Modern, None, &client).unwrap_or_else(|| "{}".to_owned())
}

/// The parameters of `subscriptions/listen`: every list change that the server announces, and these
/// resources. Nothing if there is nothing to listen for.
pub(crate) fn listen_params(greeting: &Greeting, uris: &[String], client_info: &str) -> Option<String> {
    let capabilities = std::str::from_utf8(&greeting.capabilities).unwrap_or_default();
    let announces = |list: &str| {
        member(capabilities, list)
            .and_then(|capability| member(capability, "listChanged"))
            .is_some_and(is_true)
    };
    let mut wishes: Vec<String> = [
        ("tools", "toolsListChanged"),
        ("prompts", "promptsListChanged"),
        ("resources", "resourcesListChanged"),
    ]
    .into_iter()
    .filter(|(list, _)| announces(list))
    .map(|(_, wish)| format!(r#""{wish}":true"#))
    .collect();
    if !uris.is_empty() {
        let uris: Vec<String> = uris.iter().map(|uri| quote(uri)).collect();
        wishes.push(format!(r#""resourceSubscriptions":[{}]"#, uris.join(",")));
    }
    if wishes.is_empty() {
        return None;
    }
    let params = format!(r#"{{"notifications":{{{}}}}}"#, wishes.join(","));
    Some(own_modern_params(Some(&params), client_info))
}

/// Reads the answer to `initialize`.
pub(crate) fn read_initialize(answer: &Frame) -> Result<Greeting, String> {
    if answer.kind() == FrameKind::Error {
        return Err(format!("it refused `initialize` with error {}", code_text(answer)));
    }
    let version = answer
        .result_member("protocolVersion")
        .and_then(unquote)
        .ok_or("its answer to `initialize` names no version")?;
    let version = LEGACY_VERSIONS
        .into_iter()
        .find(|known| *known == version)
        .ok_or("its answer to `initialize` names a version that is not spoken here")?;
    Ok(Greeting {
        era: Era::Legacy,
        version: version.to_owned(),
        capabilities: capabilities(answer),
        instructions: instructions(answer),
        server_info: answer
            .result_member("serverInfo")
            .filter(|info| is_object(info))
            .map(|info| answer.slice(info)),
    })
}

/// Reads the answer to `server/discover`.
pub(crate) fn read_discover(answer: &Frame) -> Probed {
    if answer.kind() == FrameKind::Error {
        return read_refusal(answer);
    }
    let Some(versions) = answer.result_member("supportedVersions").filter(|versions| is_array(versions))
    else {
        // Some servers answer whatever they are asked.
        return Probed::NotModern;
    };
    match common(versions) {
        Some(Era::Modern) => Probed::Modern(Greeting {
            era: Era::Modern,
            version: MODERN_VERSION.to_owned(),
            capabilities: capabilities(answer),
            instructions: instructions(answer),
            server_info: answer
                .meta(meta_key::SERVER_INFO)
                .filter(|info| is_object(info))
                .map(|info| answer.slice(info)),
        }),
        Some(Era::Legacy) => Probed::LegacyOffered,
        None => Probed::NoCommonVersion,
    }
}

/// The code of an error answer.
pub(crate) fn code(answer: &Frame) -> Option<i64> {
    answer.error_member("code").and_then(integer)
}

fn code_text(answer: &Frame) -> String {
    code(answer).map_or_else(|| "of an unknown kind".to_owned(), |code| code.to_string())
}

fn read_refusal(answer: &Frame) -> Probed {
    match code(answer) {
        Some(error_code::UNSUPPORTED_PROTOCOL_VERSION) => {
            let supported = answer.error_member("data").and_then(|data| member(data, "supported"));
            match supported.and_then(common) {
                Some(Era::Legacy) => Probed::LegacyOffered,
                // It refused the very version it says it speaks.
                Some(Era::Modern) => Probed::Refused(error_code::UNSUPPORTED_PROTOCOL_VERSION),
                None => Probed::NoCommonVersion,
            }
        }
        Some(code @ (error_code::HEADER_MISMATCH | error_code::MISSING_CLIENT_CAPABILITY)) => {
            Probed::Refused(code)
        }
        _ => Probed::NotModern,
    }
}

/// The era of the best version that both sides speak.
fn common(versions: &str) -> Option<Era> {
    let speaks = |version: &str| elements(versions).filter_map(unquote).any(|spoken| spoken == version);
    if speaks(MODERN_VERSION) {
        Some(Era::Modern)
    } else if LEGACY_VERSIONS.iter().any(|version| speaks(version)) {
        Some(Era::Legacy)
    } else {
        None
    }
}

fn capabilities(answer: &Frame) -> Bytes {
    match answer.result_member("capabilities") {
        Some(capabilities) if is_object(capabilities) => answer.slice(capabilities),
        _ => Bytes::from_static(b"{}"),
    }
}

fn instructions(answer: &Frame) -> Option<Bytes> {
    answer.result_member("instructions").filter(|text| is_string(text)).map(|text| answer.slice(text))
}

#[cfg(test)]
mod tests {
    use highwater_mcp::scan::ScanRules;

    use super::*;

    fn frame(text: &str) -> Frame {
        Frame::parse(Bytes::copy_from_slice(text.as_bytes()), &ScanRules::FROM_SERVER).unwrap()
    }

    #[test]
    fn any_legacy_version_is_accepted_and_no_other() {
        let answer = |version: &str| {
            frame(&format!(
                r#"{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"{version}","capabilities":{{"tools":{{}}}},"instructions":"be nice"}}}}"#
            ))
        };
        for version in LEGACY_VERSIONS {
            let greeting = read_initialize(&answer(version)).unwrap();
            assert_eq!(greeting.version, version);
            assert_eq!(greeting.capabilities, r#"{"tools":{}}"#);
            assert_eq!(greeting.instructions.unwrap(), r#""be nice""#);
        }
        assert!(read_initialize(&answer("2026-07-28")).is_err());
        assert!(read_initialize(&frame(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602}}"#)).is_err());
    }

    #[test]
    fn the_probe_tells_the_eras_apart() {
        let result = |versions: &str| {
            read_discover(&frame(&format!(
                r#"{{"jsonrpc":"2.0","id":1,"result":{{"supportedVersions":{versions}}}}}"#
            )))
        };
        assert!(matches!(result(r#"["2026-07-28"]"#), Probed::Modern(_)));
        assert!(matches!(result(r#"["2025-06-18"]"#), Probed::LegacyOffered));
        assert!(matches!(result(r#"["2031-01-01"]"#), Probed::NoCommonVersion));
        assert!(matches!(result("{}"), Probed::NotModern));
        let error =
            |error: &str| read_discover(&frame(&format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#)));
        for code in [-32601, -32602, -32603, 0] {
            assert!(
                matches!(error(&format!(r#"{{"code":{code},"message":"?"}}"#)), Probed::NotModern),
                "{code}"
            );
        }
        assert!(matches!(
            error(r#"{"code":-32022,"data":{"supported":["2025-11-25"]}}"#),
            Probed::LegacyOffered
        ));
        assert!(matches!(error(r#"{"code":-32022,"data":{"supported":[]}}"#), Probed::NoCommonVersion));
        assert!(matches!(error(r#"{"code":-32021}"#), Probed::Refused(-32021)));
    }
}
