//! Meeting a client: `initialize` of the legacy era, `server/discover` and the per-request words of the modern one.

use std::borrow::Cow;
use std::sync::Arc;

use highwater_audit::Access;
use highwater_mcp::annotations::APPROVAL_EXTENSIONS;
use highwater_mcp::edit::{Edit, edit_object};
use highwater_mcp::era::{Era, LEGACY_VERSIONS, MODERN_VERSION, meta_key};
use highwater_mcp::error_code::{self, INVALID_PARAMS, UNSUPPORTED_PROTOCOL_VERSION};
use highwater_mcp::frame::Frame;
use highwater_mcp::text::{is_object, member, pointer, quote, string_member, unquote};
use highwater_upstream::control::LogLevel;

use crate::catalog::View;
use crate::client::{Aside, Caller, Client, HangUp, LegacySession, ModernClient, Said};
use crate::gateway::{Gateway, OUR_INFO};

/// The one extension that adds methods and that we carry.
pub(crate) const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The first version in which a server may ask a client to open a page.
const PAGES_SINCE: &str = "2025-11-25";

/// A request that does not say what its era demands.
#[derive(Debug)]
pub(crate) struct Unmet {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Option<String>,
}

// === impl Unmet ===

impl Unmet {
    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The error as the answer to a request.
    pub(crate) fn response(&self, id: Option<&str>) -> Vec<u8> {
        error_code::error_response(id, self.code, &self.message, self.data.as_deref())
    }
}

/// Whether a request is made in the modern era's manner.
pub(crate) fn is_modern(frame: &Frame) -> bool {
    frame.meta(meta_key::PROTOCOL_VERSION).is_some()
}

/// What a modern request says of its sender.
pub(crate) fn modern_client(frame: &Frame, caller: Caller) -> Result<ModernClient, Unmet> {
    let missing = |key: &str| {
        Unmet::new(INVALID_PARAMS, format!("`params._meta[\"{key}\"]` is missing or has the wrong type"))
    };
    let version = frame
        .meta(meta_key::PROTOCOL_VERSION)
        .and_then(unquote)
        .ok_or_else(|| missing(meta_key::PROTOCOL_VERSION))?;
    if version != MODERN_VERSION {
        return Err(unsupported(&version));
    }
    let capabilities = frame
        .meta(meta_key::CLIENT_CAPABILITIES)
        .filter(|capabilities| is_object(capabilities))
        .ok_or_else(|| missing(meta_key::CLIENT_CAPABILITIES))?;
    let log_level = match frame.meta(meta_key::LOG_LEVEL) {
        None => None,
        Some(raw) => {
            let level = unquote(raw).and_then(|level| LogLevel::parse(&level));
            Some(level.ok_or_else(|| missing(meta_key::LOG_LEVEL))?)
        }
    };
    let extensions = member(capabilities, "extensions");
    let speaks_approval = extensions.is_some_and(declares_approval);
    let capabilities = bridgeable(capabilities, extensions).into_owned();
    Ok(ModernClient { caller, capabilities, speaks_approval, log_level })
}

/// A result that we made ourselves, and in the modern era who we are.
pub(crate) fn by_us(era: Era, result: &str) -> Cow<'_, str> {
    match era {
        Era::Legacy => Cow::Borrowed(result),
        Era::Modern => {
            let ours = [(meta_key::SERVER_INFO, Edit::Set(OUR_INFO))];
            Cow::Owned(edit_object(result, &[("_meta", Edit::Merge(&ours))]))
        }
    }
}

/// Whether the extensions that a client declares, as JSON text, have verified approval.
fn declares_approval(extensions: &str) -> bool {
    APPROVAL_EXTENSIONS.iter().any(|key| member(extensions, key).is_some())
}

/// A version nobody here speaks. Modern first, then everything older.
pub(crate) fn unsupported(requested: &str) -> Unmet {
    let supported: Vec<String> =
        [MODERN_VERSION].iter().chain(&LEGACY_VERSIONS).map(|version| quote(version)).collect();
    Unmet {
        code: UNSUPPORTED_PROTOCOL_VERSION,
        message: format!("protocol version `{requested}` is not spoken here"),
        data: Some(format!(r#"{{"supported":[{}],"requested":{}}}"#, supported.join(","), quote(requested))),
    }
}

/// The capabilities as a modern upstream may see them: without what only the legacy era has, and without extensions
/// that could add methods we do not carry.
fn bridgeable<'a>(capabilities: &'a str, extensions: Option<&str>) -> Cow<'a, str> {
    let carried = extensions.and_then(|extensions| member(extensions, TASKS_EXTENSION));
    let kept = carried.map(|settings| format!("{{{}:{settings}}}", quote(TASKS_EXTENSION)));
    let mut edits = Vec::new();
    match (&kept, extensions) {
        (Some(kept), _) => edits.push(("extensions", Edit::Set(kept.as_str()))),
        (None, Some(_)) => edits.push(("extensions", Edit::Remove)),
        (None, None) => {}
    }
    if member(capabilities, "tasks").is_some() {
        edits.push(("tasks", Edit::Remove));
    }
    if edits.is_empty() { Cow::Borrowed(capabilities) } else { Cow::Owned(edit_object(capabilities, &edits)) }
}

/// The capabilities as servers of the client's own era may see them: all of it, but for what asks us, and for tasks of the
/// client, after which nobody could ask. Nothing more than can be bridged where it is far too long.
fn announceable(capabilities: &str, extensions: Option<&str>) -> String {
    const LONGEST: usize = 16 << 10;
    if capabilities.len() > LONGEST {
        return bridgeable(capabilities, extensions).into_owned();
    }
    let ours: Vec<_> = APPROVAL_EXTENSIONS.iter().map(|key| (*key, Edit::Remove)).collect();
    let mut edits = Vec::new();
    if extensions.is_some_and(declares_approval) {
        edits.push(("extensions", Edit::Merge(&ours)));
    }
    if member(capabilities, "tasks").is_some() {
        edits.push(("tasks", Edit::Remove));
    }
    if edits.is_empty() { capabilities.to_owned() } else { edit_object(capabilities, &edits) }
}

/// A name that somebody gave themselves, as far as a person would read it.
pub(crate) fn short(name: &str) -> String {
    const LONGEST: usize = 64;
    name.chars().filter(|c| !c.is_control()).take(LONGEST).collect()
}

/// Pages to visit came with 2025-11-25; whatever an older client declares, it is offered none.
fn without_pages<'a>(capabilities: &'a str, version: &str) -> Cow<'a, str> {
    if version >= PAGES_SINCE || pointer(capabilities, &["elicitation", "url"]).is_none() {
        return Cow::Borrowed(capabilities);
    }
    let edits = [("url", Edit::Remove)];
    Cow::Owned(edit_object(capabilities, &[("elicitation", Edit::Merge(&edits))]))
}

impl Gateway {
    /// Meets a legacy client: the session, and the answer to its `initialize`.
    pub(crate) async fn initialize(
        &self,
        frame: &Frame,
        caller: Caller,
        id: Arc<str>,
        ways: (Aside, HangUp),
    ) -> Result<(Arc<LegacySession>, Vec<u8>), Unmet> {
        let requested = frame.param("protocolVersion").and_then(unquote);
        let requested = requested.ok_or_else(|| {
            Unmet::new(INVALID_PARAMS, "`params.protocolVersion` is missing or not a string")
        })?;
        // A version we do not know, or one without a handshake, is answered with the newest that has one.
        let [newest, ..] = LEGACY_VERSIONS;
        let version = LEGACY_VERSIONS.into_iter().find(|known| *known == requested).unwrap_or(newest);
        let extensions =
            frame.param("capabilities").and_then(|capabilities| member(capabilities, "extensions"));
        let (capabilities, announced) = match frame.param("capabilities") {
            Some(capabilities) if is_object(capabilities) => (
                without_pages(&bridgeable(capabilities, extensions), version).into_owned(),
                without_pages(&announceable(capabilities, extensions), version).into_owned(),
            ),
            Some(_) => return Err(Unmet::new(INVALID_PARAMS, "`params.capabilities` is not an object")),
            None => ("{}".to_owned(), "{}".to_owned()),
        };
        let speaks_approval = extensions.is_some_and(declares_approval);
        let name = frame.param("clientInfo").and_then(|info| string_member(info, "name")).unwrap_or_default();
        let name = short(&name);
        let said = Said { capabilities, announced, speaks_approval, name: name.clone() };
        let session = LegacySession::new(id, caller.clone(), version, said, ways);
        // Servers that are started now are told what this client can do.
        self.expect(&session);
        let (offered, view) = self.offered(Era::Legacy, &caller).await?;
        let result = format!(r#"{{"protocolVersion":{},{offered},"serverInfo":{OUR_INFO}}}"#, quote(version));
        let access = Access {
            principal: Some(caller.principal.as_str()),
            session: Some(caller.session.key().as_str()),
            what: Some(&name),
            ..Access::default()
        };
        self.access.note("session", access);
        session.shown.note_all(&view);
        self.registry.add_session(Arc::clone(&session));
        Ok((session, error_code::result_response(frame.id().unwrap_or("null"), &result)))
    }

    /// A legacy session with a client that said this of itself.
    pub(crate) fn meet(
        &self,
        id: Arc<str>,
        caller: Caller,
        version: &'static str,
        said: Said,
        ways: (Aside, HangUp),
    ) -> Arc<LegacySession> {
        let session = LegacySession::new(id, caller, version, said, ways);
        self.expect(&session);
        self.registry.add_session(Arc::clone(&session));
        session
    }

    /// Makes a legacy client known to the servers that it may use.
    fn expect(&self, session: &LegacySession) {
        let world = self.world.load_full();
        let standing = session.caller.standing();
        for catalog_server in
            world.virtual_server(&session.caller.virtual_server).iter().flat_map(|of| of.catalog_servers())
        {
            if standing.grant.servers.covers(catalog_server.id()) {
                catalog_server.upstream.expect(&session.upstream);
            }
        }
    }

    /// Makes known to servers what a client of the modern era can do that is about to see what they offer.
    pub(crate) fn expect_modern(&self, client: &Client) {
        let Client::Modern(client) = client else { return };
        let world = self.world.load_full();
        let standing = client.caller.standing();
        for catalog_server in
            world.virtual_server(&client.caller.virtual_server).iter().flat_map(|of| of.catalog_servers())
        {
            if standing.grant.servers.covers(catalog_server.id()) {
                catalog_server.upstream.expect_modern(&client.capabilities);
            }
        }
    }

    /// The answer to `server/discover`.
    pub(crate) async fn discover(&self, frame: &Frame, caller: &Caller) -> Result<Vec<u8>, Unmet> {
        let (offered, _) = self.offered(Era::Modern, caller).await?;
        let versions: Vec<String> =
            [MODERN_VERSION].iter().chain(&LEGACY_VERSIONS).map(|version| quote(version)).collect();
        let result = format!(
            r#"{{"resultType":"complete","supportedVersions":[{}],{offered},"ttlMs":0,"cacheScope":"private","_meta":{{"{}":{OUR_INFO}}}}}"#,
            versions.join(","),
            meta_key::SERVER_INFO,
        );
        Ok(error_code::result_response(frame.id().unwrap_or("null"), &result))
    }

    /// Capabilities and instructions, as members of a result, and what the lists hold now.
    async fn offered(&self, era: Era, caller: &Caller) -> Result<(String, Arc<View>), Unmet> {
        let (world, virtual_server) = (self.world.load_full(), &caller.virtual_server);
        let server = world.virtual_server(virtual_server).ok_or_else(|| {
            Unmet::new(INVALID_PARAMS, format!("there is no virtual server `{virtual_server}`"))
        })?;
        let standing = caller.standing();
        let view = server.view(&caller.viewer(&standing)).await;
        server.look_for_new_client();
        let instructions =
            view.instructions.as_ref().map(|text| format!(r#","instructions":{text}"#)).unwrap_or_default();
        Ok((format!(r#""capabilities":{}{instructions}"#, view.capabilities(era)), view))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_we_can_carry_is_passed_on() {
        let bridgeable = |text: &str| super::bridgeable(text, member(text, "extensions")).into_owned();
        assert_eq!(bridgeable(r#"{"sampling":{}}"#), r#"{"sampling":{}}"#);
        let text = r#"{"tasks":{},"extensions":{"x/y":{},"io.modelcontextprotocol/tasks":{}},"a":1}"#;
        assert_eq!(bridgeable(text), r#"{"extensions":{"io.modelcontextprotocol/tasks":{}},"a":1}"#);
        assert_eq!(bridgeable(r#"{"extensions":{"x/y":{}}}"#), "{}");
    }
}
