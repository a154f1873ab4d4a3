//! The JSON interface for people: sessions, contexts, principals. Only the operator token opens it; no agent has that.

use bytes::Bytes;
use highwater_core::id::{Principal, SessionKey, UpstreamId};
use highwater_core::pin::PinDigest;
use highwater_core::profile::Profile;
use highwater_http1::conn::ReadError;
use highwater_pins::{PinKey, PinKind};
use highwater_store::{PinScope, PinVerdict, StoreError, TokenSecret, TokenTerms};
use http::{Method, Response, StatusCode};
use serde::{Deserialize, Serialize};

use super::response;
use super::{HttpFront, authenticate, request};
use crate::describe::Saying;
use crate::front::server::{BodyPatience, NoBody, Request, RequestBody, ResponseBody};
use crate::marks::{ClearedMarks, MarkChoice};
use crate::pins::{Decided, Judgement};
use crate::session_admin::Reset;
use crate::stated_label::StatedLabel;
use crate::token_admin::{TokenFault, TokenView};

/// Where the interface begins.
pub(super) const ROOT: &str = "/api/v1/";

/// How much a request may hold.
const MAX_BODY: usize = 64 * 1024;

/// How many entries a list has, unless fewer are asked for.
const MOST: u32 = 1000;

/// A person's act, with what goes on record about it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Act {
    /// Who; the operator, if nobody says.
    #[serde(default)]
    person: Option<String>,
    #[serde(default)]
    pub(super) reason: String,
    /// For which person.
    #[serde(default)]
    pub(super) user: Option<String>,
    /// What for.
    #[serde(default)]
    note: String,
    /// The epoch of the session that the person looked at.
    #[serde(default)]
    epoch: Option<u64>,
    /// The name of a new token, or what a passkey is to be called.
    #[serde(default)]
    pub(super) name: Option<String>,
    /// What a new token grants, unless the configuration says it.
    #[serde(default)]
    terms: Option<TokenTerms>,
    /// The digest of a whole server as the person looked at it.
    #[serde(default)]
    digest: Option<PinDigest>,
    /// The definitions that the person looked at, where it is not about the whole server.
    #[serde(default)]
    items: Vec<Looked>,
    /// Of an approval of definitions: what they claim of themselves is believed, and may make decisions milder.
    #[serde(default)]
    believe: bool,
    /// What a server is, in one word.
    #[serde(default)]
    profile: Option<Profile>,
    /// What a conversation holds from the beginning, in words.
    #[serde(default)]
    label: Vec<String>,
    /// Which marks.
    #[serde(default)]
    marks: Option<MarkChoice>,
}

/// A definition as a person looked at it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Looked {
    kind: PinKind,
    #[serde(default)]
    name: String,
    digest: PinDigest,
}

/// An answer that is no success.
#[derive(Serialize)]
struct Problem<'a> {
    error: &'a str,
}

// === impl Act ===

impl Act {
    pub(super) fn person(&self) -> &str {
        self.person.as_deref().filter(|person| !person.is_empty()).unwrap_or("operator")
    }
}

impl Act {
    /// What a decision about definitions is about; nothing if that is not said, or said twice.
    fn scope(&self) -> Option<PinScope> {
        match (self.digest, self.items.as_slice()) {
            (Some(digest), []) => Some(PinScope::Server(digest)),
            (None, [_, ..]) => {
                let named = self.items.iter().map(|it| (PinKey::new(it.kind, it.name.as_str()), it.digest));
                Some(PinScope::Some(named.collect()))
            }
            (Some(_), [_, ..]) | (None, []) => None,
        }
    }
}

impl HttpFront {
    /// Answers a request to the interface.
    pub(super) async fn api(
        &self,
        request: &Request,
        path: &str,
        query: &str,
        body: &mut RequestBody<'_>,
    ) -> Response<ResponseBody> {
        if let Err(refused) = authenticate::operator(request, "api", &self.gateway) {
            return *refused;
        }
        let path = path.strip_prefix(ROOT).unwrap_or_default();
        let parts: Vec<String> = path.split('/').filter_map(unescaped).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let act = match request.head.method {
            Method::GET | Method::HEAD => None,
            Method::POST => match read(body, request::patience(&self.gateway.settings.load())).await {
                Ok(act) => Some(act),
                Err(problem) => return problem,
            },
            _ => return response::not_allowed("GET, HEAD, POST", "this path takes GET or POST"),
        };
        self.answer(&parts, query, act).await.unwrap_or_else(|error| {
            tracing::error!(%error, "the store could not answer a person");
            problem(StatusCode::SERVICE_UNAVAILABLE, &error.to_string())
        })
    }

    async fn answer(
        &self,
        path: &[&str],
        query: &str,
        act: Option<Act>,
    ) -> Result<Response<ResponseBody>, StoreError> {
        let gateway = &self.gateway;
        Ok(match (path, act) {
            (["servers"], None) => json(StatusCode::OK, &gateway.servers()),
            (["servers", name], None) => match gateway.review(&UpstreamId::new(*name)).await? {
                Some(review) => json(StatusCode::OK, &review),
                None => problem(StatusCode::NOT_FOUND, "there is no such server"),
            },
            (["servers", name, verdict @ ("approve" | "reject")], Some(act)) => {
                let verdict = match *verdict {
                    "approve" => PinVerdict::Approve { believed: act.believe },
                    _ => PinVerdict::Reject,
                };
                let Some(scope) = act.scope() else {
                    let words =
                        "say what was looked at: `digest` of the whole server, or `items` with theirs";
                    return Ok(problem(StatusCode::BAD_REQUEST, words));
                };
                let (person, reason) = (act.person().to_owned(), act.reason);
                let server = UpstreamId::new(*name);
                let judgement = Judgement { server, verdict, scope, person, reason };
                decided(gateway.decide_pins(judgement).await?)
            }
            (["servers", name, "describe"], Some(act)) => match act.profile {
                Some(_) => {
                    let server = UpstreamId::new(*name);
                    said(&gateway.describe(&server, act.profile, act.person(), &act.reason).await?)
                }
                None => problem(StatusCode::BAD_REQUEST, "say what it is, in `profile`"),
            },
            (["servers", name, "undescribe"], Some(act)) => {
                said(&gateway.describe(&UpstreamId::new(*name), None, act.person(), &act.reason).await?)
            }
            (["sessions"], None) => {
                let principal = asked(query, "principal").map(Principal::new);
                let most = asked(query, "most").and_then(|most| most.parse().ok()).unwrap_or(MOST);
                json(StatusCode::OK, &gateway.sessions(principal.as_ref(), most.min(MOST)).await?)
            }
            (["sessions", key], None) => match gateway.session(&SessionKey::new(*key)).await? {
                Some(session) => json(StatusCode::OK, &session),
                None => problem(StatusCode::NOT_FOUND, "there is no such session"),
            },
            (["sessions", key, "reset"], Some(act)) => {
                let key = SessionKey::new(*key);
                reset(gateway.reset_session(&key, act.epoch, act.person(), &act.reason).await?)
            }
            (["marks"], None) => {
                let choice = MarkChoice {
                    server: asked(query, "server").map(UpstreamId::new),
                    session: asked(query, "session").map(SessionKey::new),
                    ..MarkChoice::default()
                };
                json(StatusCode::OK, &gateway.marks(&choice).await?)
            }
            (["marks", "clear"], Some(act)) => {
                let Some(choice) = &act.marks else {
                    return Ok(problem(StatusCode::BAD_REQUEST, "say which, in `marks`"));
                };
                match gateway.clear_marks(choice, act.person(), &act.reason).await? {
                    ClearedMarks::Done(marks) => json(StatusCode::OK, &marks),
                    ClearedMarks::Unknown => problem(StatusCode::NOT_FOUND, "there is no such mark"),
                    ClearedMarks::NoReason => problem(StatusCode::BAD_REQUEST, "say why, in `reason`"),
                }
            }
            (["sessions", key, "new"], Some(act)) => match StatedLabel::read(&act.label) {
                Ok(label) => {
                    let (key, said) = (SessionKey::new(*key), (act.person(), act.reason.as_str()));
                    reset(gateway.new_conversation(&key, None, act.epoch, label.label(), said).await?)
                }
                Err(why) => problem(StatusCode::BAD_REQUEST, &why),
            },
            (["contexts"], None) => json(StatusCode::OK, &gateway.contexts(MOST).await?),
            (["contexts"], Some(act)) => match StatedLabel::read(&act.label) {
                Ok(label) => {
                    json(StatusCode::CREATED, &gateway.new_context(act.person(), &act.note, &label).await?)
                }
                Err(why) => problem(StatusCode::BAD_REQUEST, &why),
            },
            (["tokens"], None) => json(StatusCode::OK, &gateway.tokens().await?),
            (["tokens"], Some(act)) => {
                let name = act.name.clone().unwrap_or_default();
                let person = act.person().to_owned();
                made(StatusCode::CREATED, gateway.create_token(&name, act.terms, &person).await)
            }
            (["tokens", name, "rotate"], Some(act)) => {
                made(StatusCode::OK, gateway.rotate_token(name, act.person()).await)
            }
            (["tokens", name, "revoke"], Some(act)) => match gateway.revoke_token(name, act.person()).await {
                Ok(token) => json(StatusCode::OK, &serde_json::json!({ "token": token })),
                Err(fault) => refused(&fault),
            },
            (["approvals", rest @ ..], act) => Box::pin(self.approvals_api(rest, query, act)).await,
            (["notices"], None) => json(StatusCode::OK, &gateway.notices(MOST).await?),
            _ => problem(StatusCode::NOT_FOUND, "nothing is here"),
        })
    }
}

fn decided(outcome: Decided) -> Response<ResponseBody> {
    match outcome {
        Decided::Done(changed) => json(StatusCode::OK, &serde_json::json!({ "changed": changed })),
        Decided::Moved => problem(StatusCode::CONFLICT, "it is not as you saw it; look at it again"),
        Decided::Unknown => problem(StatusCode::NOT_FOUND, "there is no such server"),
        Decided::Unseen => problem(StatusCode::SERVICE_UNAVAILABLE, "the server cannot be reached"),
    }
}

fn said(outcome: &Saying) -> Response<ResponseBody> {
    let status = match outcome {
        Saying::Done => return json(StatusCode::OK, &serde_json::json!({ "done": true })),
        Saying::Unknown => StatusCode::NOT_FOUND,
        Saying::Unseen => StatusCode::SERVICE_UNAVAILABLE,
        Saying::ByFile(_) | Saying::NotLocal(_) => StatusCode::CONFLICT,
    };
    problem(status, &outcome.refusal().unwrap_or_default())
}

fn reset(outcome: Reset) -> Response<ResponseBody> {
    let shown = |status, state: &highwater_store::SessionState| {
        json(status, &serde_json::json!({ "epoch": state.epoch, "label": state.label }))
    };
    match outcome {
        Reset::Done(state) => shown(StatusCode::OK, &state),
        Reset::Changed(state) => shown(StatusCode::CONFLICT, &state),
        Reset::Unknown => problem(StatusCode::NOT_FOUND, "there is no such session"),
        Reset::NoReason => problem(StatusCode::BAD_REQUEST, "say why, in `reason`"),
    }
}

/// A token with its secret, which is shown this once.
fn made(status: StatusCode, made: Result<(TokenView, TokenSecret), TokenFault>) -> Response<ResponseBody> {
    match made {
        Ok((token, secret)) => {
            json(status, &serde_json::json!({ "token": token, "secret": secret.expose() }))
        }
        Err(fault) => refused(&fault),
    }
}

fn refused(fault: &TokenFault) -> Response<ResponseBody> {
    let status = match fault {
        TokenFault::Unknown(_) => StatusCode::NOT_FOUND,
        TokenFault::Taken(_) | TokenFault::Spent(_) | TokenFault::Revoked(_) | TokenFault::TooMany => {
            StatusCode::CONFLICT
        }
        TokenFault::Store(_) | TokenFault::Audit(_) => StatusCode::SERVICE_UNAVAILABLE,
        TokenFault::Name(..)
        | TokenFault::User(..)
        | TokenFault::Declared(_)
        | TokenFault::Undeclared(_)
        | TokenFault::UnknownServer(_)
        | TokenFault::UnknownVirtualServer(_) => StatusCode::BAD_REQUEST,
    };
    problem(status, &fault.to_string())
}

async fn read(body: &mut RequestBody<'_>, patience: BodyPatience) -> Result<Act, Response<ResponseBody>> {
    let bytes = match body.whole(MAX_BODY, patience, None).await {
        Ok(bytes) => bytes,
        Err(NoBody::TooSlow) => return Err(response::too_slow()),
        Err(NoBody::Read(ReadError::TooLarge)) => {
            return Err(problem(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large"));
        }
        Err(_) => return Err(problem(StatusCode::BAD_REQUEST, "the body could not be read")),
    };
    if bytes.is_empty() {
        return Ok(Act::default());
    }
    serde_json::from_slice(&bytes)
        .map_err(|error| problem(StatusCode::BAD_REQUEST, &format!("the body is not understood: {error}")))
}

pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Response<ResponseBody> {
    match serde_json::to_vec(value) {
        Ok(bytes) => response::json(status, Bytes::from(bytes)),
        Err(_) => response::text(StatusCode::INTERNAL_SERVER_ERROR, "the answer could not be written"),
    }
}

pub(super) fn problem(status: StatusCode, error: &str) -> Response<ResponseBody> {
    json(status, &Problem { error })
}

/// The value of a query's key.
pub(super) fn asked(query: &str, key: &str) -> Option<String> {
    let pair = query.split('&').filter_map(|pair| pair.split_once('=')).find(|(name, _)| *name == key)?;
    unescaped(pair.1)
}

/// A part of a path with its percent escapes undone; `None` if that is no text.
fn unescaped(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        match (*first, tail) {
            (b'%', [high, low, after @ ..]) => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                bytes.push(u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()?);
                rest = after;
            }
            (b'%', _) => return None,
            (byte, after) => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone_once() {
        assert_eq!(unescaped("context%2Fagent%2Fa").as_deref(), Some("context/agent/a"));
        assert_eq!(unescaped("a%252F").as_deref(), Some("a%2F"));
        for bad in ["%", "%2", "%zz", "%ff"] {
            assert_eq!(unescaped(bad), None, "{bad}");
        }
        assert_eq!(asked("a=1&principal=x%20y", "principal").as_deref(), Some("x y"));
        assert_eq!(asked("a=1", "principal"), None);
    }
}
