//! What the page's own documents ask for: challenges and their answers, yes and no, signing in, enrolling.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use highwater_core::id::{ApprovalId, UserId};
use highwater_core::profile::Profile;
use highwater_display::plain;
use http::StatusCode;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use super::answer::{self, Answer};
use super::backend::{PageBackend, PlainAct, Refusal, SignedAct};
use super::rates::Known;
use super::visitors::{COOKIE_NAME, SIGNED_IN, Visitor};
use super::{IncomingRequest, Page, document, guard};
use crate::approvals::{ApprovalState, By, RememberScope};
use crate::front::server::{BodyPatience, NoBody, RequestBody};
use crate::gateway::random_text;

/// How much a request may hold: an attestation of the greatest allowed size, in base64, and room for the rest.
const MAX_BODY: usize = 256 * 1024;

/// How long the body of a request may take.
const PATIENCE: BodyPatience =
    BodyPatience { silence: Duration::from_secs(15), time: Duration::from_secs(60) };

/// The word by which the module knows that it has to sign in again.
const SIGN_IN: &str = "sign_in_required";

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Signed {
    challenge_id: String,
    /// Not looked into here (C8).
    response: Box<RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Yes {
    #[serde(default)]
    remember: Option<RememberScope>,
}

/// The two things that are asked of a server that nobody described.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Describe {
    strangers_write: bool,
    sends: bool,
}

/// One of the proofs of who somebody is.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct SignIn {
    #[serde(default)]
    token: Option<String>,
    #[serde(default)]
    ticket: Option<String>,
    #[serde(default)]
    challenge_id: Option<String>,
    #[serde(default)]
    response: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Enroll {
    user: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Registered {
    ticket: String,
    response: Box<RawValue>,
    /// What the passkey is to be called; what is known of it, if nobody says.
    #[serde(default)]
    name: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ByTicket {
    ticket: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyByCode {
    id: String,
    code: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Act {
    act: SignedAct,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ActSigned {
    act: SignedAct,
    challenge_id: String,
    response: Box<RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

impl<C: PageBackend> Page<C> {
    pub(super) async fn post(
        &self,
        asked: &IncomingRequest<'_>,
        path: &[&str],
        body: &mut RequestBody<'_>,
    ) -> Answer {
        if let Err((status, words)) = guard::change(&asked.head.headers, &self.origin, &self.visitors) {
            return answer::refusal(&Refusal::new(status, words));
        }
        if !self.is_within_rates(asked, path) {
            let words = "that is too often; wait a minute";
            return answer::refusal(&Refusal::new(StatusCode::TOO_MANY_REQUESTS, words));
        }
        let bytes = match whole(body).await {
            Ok(bytes) => bytes,
            Err(refusal) => return answer::refusal(&refusal),
        };
        let answered = match path {
            ["approve", id, act] => self.answer(asked, id, act, &bytes).await,
            ["sign-in", "challenge"] => self.sign_in_challenge(&bytes).await,
            ["sign-in"] => self.sign_in(asked, &bytes).await,
            ["sign-out"] => self.sign_out(asked, &bytes),
            ["enroll", act] => self.enroll(asked, act, &bytes).await,
            ["act", "challenge"] => self.act_challenge(asked, &bytes).await,
            ["act", "assertion"] => self.act_assertion(&bytes).await,
            ["act"] => self.act(asked, &bytes).await,
            _ => Err(nothing_here()),
        };
        answered.unwrap_or_else(|refusal| answer::refusal(&refusal))
    }

    /// Signing in uses up nothing, and is refused to nobody: what it takes cannot be guessed.
    fn is_within_rates(&self, asked: &IncomingRequest<'_>, path: &[&str]) -> bool {
        match (&asked.visitor, path) {
            (_, ["sign-in", ..]) => true,
            (Some(visitor), _) => {
                let about = match path {
                    ["approve", id, _] => Some(Known::Request(visitor.user.clone(), (*id).to_owned())),
                    _ => None,
                };
                self.rates.admit(Known::Person(visitor.user.clone()))
                    && about.is_none_or(|about| self.rates.admit(about))
            }
            (None, _) => self.rates.admit_unknown(asked.ends.peer.ip()),
        }
    }

    /// Something about one request, by somebody who may see it: what was not shown cannot be answered (C7).
    async fn answer(
        &self,
        asked: &IncomingRequest<'_>,
        id: &str,
        act: &str,
        bytes: &[u8],
    ) -> Result<Answer, Refusal> {
        let visitor = signed_in(asked)?;
        let id = ApprovalId::new(id);
        let view = self.counter.view(&id).await?.ok_or_else(nothing_here)?;
        if !visitor.may_see(&view) {
            return Err(Refusal::new(StatusCode::FORBIDDEN, "this request is for somebody else"));
        }
        let state = match act {
            "challenge" => {
                let Nothing {} = read(bytes)?;
                // The operator sits in for whoever is asked; that person's passkey is still needed.
                let user = Some(&visitor.user).filter(|_| !visitor.operator);
                let envelope = self.counter.challenge(&id, user).await?;
                return Ok(answer::json_text(StatusCode::OK, envelope));
            }
            "assertion" => {
                let signed: Signed = read(bytes)?;
                self.counter.assertion(&id, &signed.challenge_id, signed.response.get()).await?
            }
            "confirm" => {
                let yes: Yes = read(bytes)?;
                // The cookie alone is not enough: other servers on this machine see it.
                if !self.visitors.is_our_page(&asked.head.headers) {
                    return Err(sign_in_again());
                }
                self.counter.confirm(&id, visitor.by(), yes.remember).await?
            }
            "describe" => {
                let Describe { strangers_write, sends } = read(bytes)?;
                if !self.visitors.is_our_page(&asked.head.headers) {
                    return Err(sign_in_again());
                }
                let Some(server) = view.server.as_deref().filter(|_| visitor.may_describe()) else {
                    let words = "what a server is, the owner of this gateway says";
                    return Err(Refusal::new(StatusCode::FORBIDDEN, words));
                };
                let profile = Profile::of_answers(strangers_write, sends);
                self.counter.describe(server, profile, &visitor.user).await?;
                return Ok(answer::json(StatusCode::OK, &json!({ "server": server, "profile": profile })));
            }
            "new-conversation" => {
                let Nothing {} = read(bytes)?;
                if !self.visitors.is_our_page(&asked.head.headers) {
                    return Err(sign_in_again());
                }
                self.counter.begin_conversation(&id, visitor.by()).await?;
                return Ok(answer::json(StatusCode::OK, &json!({ "conversation": "new" })));
            }
            "decline" => {
                let Nothing {} = read(bytes)?;
                self.counter.decline(&id, visitor.by()).await?;
                ApprovalState::Declined
            }
            _ => return Err(nothing_here()),
        };
        Ok(answer::json(StatusCode::OK, &json!({ "state": state })))
    }

    async fn sign_in_challenge(&self, bytes: &[u8]) -> Result<Answer, Refusal> {
        let Nothing {} = read(bytes)?;
        Ok(answer::json_text(StatusCode::OK, self.counter.sign_in_challenge().await?))
    }

    async fn sign_in(&self, asked: &IncomingRequest<'_>, bytes: &[u8]) -> Result<Answer, Refusal> {
        let SignIn { token, ticket, challenge_id, response } = read(bytes)?;
        let from = asked.ends.peer.ip();
        let visitor = match (token, ticket, challenge_id, response) {
            (None, Some(ticket), None, None) => {
                let ticket = own_ticket(asked, &ticket)?;
                self.counter.sign_in_by_ticket(ticket).map_err(|_| no_ticket())?;
                self.counter.signed_in("page, by a link", from)?;
                Visitor { user: UserId::new(super::visitors::OWNER), operator: true }
            }
            (Some(token), None, None, None) => {
                if !self.counter.is_operator(token.trim().as_bytes()) {
                    self.counter.turned_away(from);
                    let words = "this is not the operator token; an agent’s token opens nothing here";
                    return Err(Refusal::new(StatusCode::FORBIDDEN, words));
                }
                self.counter.signed_in("page, by the operator token", from)?;
                Visitor { user: UserId::new(super::visitors::OWNER), operator: true }
            }
            (None, None, Some(challenge), Some(response)) => {
                let user = self.counter.sign_in(&challenge, response.get()).await?;
                Visitor { user, operator: false }
            }
            _ => return Err(not_understood("it takes a token or a passkey")),
        };
        self.let_in(visitor)
    }

    /// Gives the browser its cookie and the page its secret.
    fn let_in(&self, visitor: Visitor) -> Result<Answer, Refusal> {
        let pass = self.visitors.sign_in(visitor).ok_or_else(no_numbers)?;
        let mut answer = answer::json(StatusCode::OK, &json!({ "secret": pass.secret }));
        let secure = self.origin.is_secure();
        answer::set_cookie(&mut answer, COOKIE_NAME, &pass.cookie, SIGNED_IN.as_secs(), secure);
        Ok(answer)
    }

    fn sign_out(&self, asked: &IncomingRequest<'_>, bytes: &[u8]) -> Result<Answer, Refusal> {
        let Nothing {} = read(bytes)?;
        self.visitors.sign_out(&asked.head.headers);
        let mut answer = answer::json(StatusCode::OK, &json!({}));
        answer::set_cookie(&mut answer, COOKIE_NAME, "", 0, self.origin.is_secure());
        Ok(answer)
    }

    /// A passkey is registered first, and counts once the code or another passkey of the same person says so.
    async fn enroll(&self, asked: &IncomingRequest<'_>, act: &str, bytes: &[u8]) -> Result<Answer, Refusal> {
        match act {
            "begin" => {
                let Enroll { user } = read(bytes)?;
                let (user, ticket) = (UserId::new(user.trim()), random_text(16).ok_or_else(no_numbers)?);
                let signed_in = asked.visitor.as_ref().is_some_and(|visitor| visitor.user == user);
                let options = self.counter.enroll_begin(&user, &ticket, signed_in).await?;
                let said = format!(r#"{{"ticket":"{ticket}","options":{options}}}"#);
                Ok(answer::json_text(StatusCode::OK, said))
            }
            "finish" => {
                let Registered { ticket, response, name } = read(bytes)?;
                let name = name.as_deref().map(str::trim).filter(|name| !name.is_empty());
                let key = self.counter.enroll_finish(&ticket, response.get(), name).await?;
                Ok(answer::json(StatusCode::OK, &json!({ "id": key.id, "user": key.user.as_str() })))
            }
            "ticket" => {
                let ByTicket { ticket } = read(bytes)?;
                let code =
                    self.counter.code_of_ticket(own_ticket(asked, &ticket)?).map_err(|_| no_ticket())?;
                Ok(answer::json(StatusCode::OK, &json!({ "code": code })))
            }
            "code" => {
                let KeyByCode { id, code } = read(bytes)?;
                let user = self.counter.confirm_by_code(&id, code.trim()).await?.user;
                // Whoever had the code needs no further proof to be shown things.
                self.let_in(Visitor { user, operator: false })
            }
            _ => Err(nothing_here()),
        }
    }

    async fn act_challenge(&self, asked: &IncomingRequest<'_>, bytes: &[u8]) -> Result<Answer, Refusal> {
        let Act { act } = read(bytes)?;
        let user = asked.visitor.as_ref().map(|visitor| &visitor.user);
        let envelope = self.counter.act_challenge(&act, user).await?;
        // What is signed stays to the letter; the sentence stands beside it.
        let mut said: BTreeMap<String, Box<RawValue>> = read(envelope.as_bytes())?;
        if let Ok(says) = to_raw_value(&self.says(&act).await?) {
            said.insert("says".to_owned(), says);
        }
        Ok(answer::json(StatusCode::OK, &said))
    }

    async fn act_assertion(&self, bytes: &[u8]) -> Result<Answer, Refusal> {
        let ActSigned { act, challenge_id, response } = read(bytes)?;
        match self.counter.act_assertion(&act, &challenge_id, response.get()).await? {
            Some(user) => self.let_in(Visitor { user, operator: false }),
            None => Ok(answer::json(StatusCode::OK, &json!({}))),
        }
    }

    /// What somebody is about to sign that is not about a call, in words.
    async fn says(&self, act: &SignedAct) -> Result<String, Refusal> {
        Ok(match act {
            SignedAct::ConfirmKey { id } => {
                let all = self.counter.credentials().await?;
                match all.iter().find(|key| key.id == *id) {
                    Some(key) => document::keys::to_be_added(key),
                    None => "Add a passkey".to_owned(),
                }
            }
            SignedAct::CancelReset { user } => {
                format!("Keep the passkeys of {} and stop the reset", plain(user.as_str()).text)
            }
            SignedAct::Mandate { terms } => document::mandate::says(terms),
        })
    }

    /// The acts of the inbox change what may happen, so they need more than the cookie.
    async fn act(&self, asked: &IncomingRequest<'_>, bytes: &[u8]) -> Result<Answer, Refusal> {
        let visitor = signed_in(asked)?;
        if !self.visitors.is_our_page(&asked.head.headers) {
            return Err(sign_in_again());
        }
        let act: PlainAct = read(bytes)?;
        self.counter.act(&act, visitor.by()).await?;
        Ok(answer::json(StatusCode::OK, &json!({})))
    }
}

// === impl Visitor ===

impl Visitor {
    /// As whom they answer.
    fn by(&self) -> By<'_> {
        if self.operator { By::Operator("page") } else { By::User(&self.user) }
    }
}

fn signed_in<'a>(asked: &'a IncomingRequest<'_>) -> Result<&'a Visitor, Refusal> {
    asked.visitor.as_ref().ok_or_else(sign_in_again)
}

/// A ticket, if the connection is of the user that the gateway runs as: others may have seen it.
fn own_ticket<'a>(asked: &IncomingRequest<'_>, ticket: &'a str) -> Result<&'a str, Refusal> {
    asked.ends.are_of_our_user().then_some(ticket).ok_or_else(no_ticket)
}

fn no_ticket() -> Refusal {
    let words = "this address was used already, or is too old";
    Refusal { status: StatusCode::FORBIDDEN, reason: Some("no_ticket"), words: words.to_owned() }
}

fn sign_in_again() -> Refusal {
    Refusal { status: StatusCode::FORBIDDEN, reason: Some(SIGN_IN), words: "sign in again".to_owned() }
}

fn nothing_here() -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, "there is no such request")
}

fn no_numbers() -> Refusal {
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "the system gives no random numbers")
}

fn not_understood(words: impl std::fmt::Display) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, format!("the request is not understood: {words}"))
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(bytes).map_err(not_understood)
}

/// A whole body, if it is not too long and comes in time.
async fn whole(body: &mut RequestBody<'_>) -> Result<Bytes, Refusal> {
    body.whole(MAX_BODY, PATIENCE, None).await.map_err(|error| match error {
        NoBody::TooSlow => Refusal::new(StatusCode::REQUEST_TIMEOUT, "the request did not come in time"),
        NoBody::Read(_) | NoBody::NoRoom(_) => {
            Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "the request could not be read")
        }
    })
}
