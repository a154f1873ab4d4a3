//! A counter that writes down what it is asked, in front of one request of each kind.

use std::sync::{Mutex, PoisonError};

use highwater_core::approval::AuthenticatorClass;
use highwater_core::id::{ApprovalId, UserId};
use highwater_core::profile::Profile;
use highwater_notation::Timestamp;
use http::StatusCode;
use tokio::sync::broadcast;

use super::super::backend::{PageBackend, PlainAct, Refusal, SignedAct};
use crate::approvals::*;
use crate::describe::WhatItIs;

pub(super) const OPERATOR: &str = "hwo_operator";
pub(super) const TICKET: &str = "ticket";
pub(super) const NOW: Timestamp = Timestamp(1_794_700_000_000);

/// A request that needs a passkey, one that needs a button, one that is somebody else's.
pub(super) const PASSKEY: &str = "pass";
pub(super) const CONFIRM: &str = "conf";
pub(super) const FOREIGN: &str = "alices";

pub(super) struct Written {
    asked: Mutex<Vec<String>>,
    changes: broadcast::Sender<ApprovalId>,
}

impl Default for Written {
    fn default() -> Self {
        Self { asked: Mutex::default(), changes: broadcast::channel(4).0 }
    }
}

impl Written {
    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, what: String) {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }
}

fn after(milliseconds: u64) -> Timestamp {
    Timestamp(NOW.0 + milliseconds)
}

pub(super) fn request(kind: RequestKind) -> RequestView {
    RequestView {
        id: ApprovalId::new(match kind {
            RequestKind::Confirm => CONFIRM,
            RequestKind::Passkey => PASSKEY,
        }),
        kind,
        state: ApprovalState::Pending,
        url: String::new(),
        user: UserId::new("owner"),
        principal: "laptop".to_owned(),
        caller: "claude-code 2.1".to_owned(),
        tool: "files__delete".to_owned(),
        server: Some("files".to_owned()),
        display_text:
            "Call files__delete on files with\n  \"path\": \"<b>notes</b>\"\n  \"why\": \"x⟦U+202E⟧y\""
                .to_owned(),
        hidden: 1,
        mixed: 0,
        arguments: "{\"path\":\"<b>notes</b>\",\"why\":\"x\u{202e}y\"}".to_owned(),
        created: NOW,
        expires: after(272_000),
        decided: None,
        decided_by: None,
        need: NeedView {
            class: AuthenticatorClass::CrossPlatform,
            n: 1,
            approvers: Vec::new(),
            signed: Vec::new(),
        },
        remember: match kind {
            RequestKind::Confirm => vec![
                RememberScope::Session,
                RememberScope::ToolWithTargets,
                RememberScope::UntilDefinitionChanges,
            ],
            RequestKind::Passkey => Vec::new(),
        },
        context: ContextView {
            fields: vec![
                field("why", Some("Reason"), Some("Why it is <i>done</i>")),
                field("path", None, None),
                field("recursive", None, None),
            ],
            asks: vec![
                AskView { rule: "taint".to_owned(), says: "untrusted text was read".to_owned() },
                AskView { rule: "destructive".to_owned(), says: "it deletes".to_owned() },
            ],
            labels: vec!["financial".to_owned()],
            origins: vec![OriginView { origin: "mail__read".to_owned(), vouched: false }],
            destination: Some("What it is given may be seen by anybody.".to_owned()),
            trust: Some("not verified".to_owned()),
            absent: vec![
                AbsentView { name: "recursive".to_owned(), default: Some("true".to_owned()) },
                AbsentView { name: "note".to_owned(), default: None },
            ],
            server_says: Some(ServerSays {
                description: Some("Deletes. <script>alert(1)</script>\u{200b}".to_owned()),
                ..ServerSays::default()
            }),
            conversation: Some(ConversationView {
                rests_on: "presumed: a connection of `agent`".to_owned(),
                key: "presumed/agent".to_owned(),
                epoch: 2,
                way: Some("connection/agent/1".to_owned()),
                opened: None,
                earlier: Some(EarlierView {
                    labels: vec!["pii".to_owned()],
                    origins: vec!["mcp:mail:<i>read</i>".to_owned()],
                    since: NOW,
                    until: NOW,
                }),
                matters: EarlierMatters::Asks,
            }),
            ..ContextView::default()
        },
    }
}

fn field(name: &str, title: Option<&str>, description: Option<&str>) -> FieldView {
    let [title, description] = [title, description].map(|words| words.map(str::to_owned));
    FieldView { name: name.to_owned(), title, description }
}

pub(super) fn key(user: &str) -> CredentialView {
    CredentialView {
        id: "c_i5S_nVWJK1BWxEamDxEB0FrmzQi2p3nuMX8xlFRyU".to_owned(),
        name: "Blue <b>key</b>".to_owned(),
        user: UserId::new(user),
        standing: "dormant".to_owned(),
        transports: vec!["usb".to_owned()],
        aaguid: "00000000-0000-0000-0000-000000000000".to_owned(),
        attested_by: None,
        algorithm: "ES256".to_owned(),
        backup_eligible: false,
        created: NOW,
        enrolled_by: "code".to_owned(),
        confirmed: None,
        revoked: None,
    }
}

impl PageBackend for Written {
    fn is_operator(&self, shown: &[u8]) -> bool {
        shown == OPERATOR.as_bytes()
    }

    fn signed_in(&self, _how: &str, _from: std::net::IpAddr) -> Result<(), Refusal> {
        Ok(())
    }

    fn turned_away(&self, _from: std::net::IpAddr) {}

    fn changes(&self) -> broadcast::Receiver<ApprovalId> {
        self.changes.subscribe()
    }

    async fn view(&self, id: &ApprovalId) -> Result<Option<RequestView>, Refusal> {
        Ok(match id.as_str() {
            PASSKEY => Some(request(RequestKind::Passkey)),
            CONFIRM => Some(request(RequestKind::Confirm)),
            FOREIGN => {
                let (id, user) = (id.clone(), UserId::new("alice"));
                Some(RequestView { id, user, ..request(RequestKind::Passkey) })
            }
            _ => None,
        })
    }

    async fn inbox(&self) -> Result<InboxView, Refusal> {
        let alices = self.view(&ApprovalId::new(FOREIGN)).await?;
        let declined = RequestView {
            state: ApprovalState::Declined,
            decided: Some(NOW),
            decided_by: Some("user owner".to_owned()),
            ..request(RequestKind::Confirm)
        };
        Ok(InboxView {
            pending: alices.into_iter().chain([request(RequestKind::Passkey)]).collect(),
            recent: vec![declined],
            paused: vec![PausedView { principal: "laptop".to_owned(), tool: "files__wipe".to_owned() }],
            ..InboxView::default()
        })
    }

    async fn challenge(&self, id: &ApprovalId, user: Option<&UserId>) -> Result<String, Refusal> {
        self.note(format!("challenge {id} {user:?}"));
        Ok(r#"{"challengeId":"c"}"#.to_owned())
    }

    async fn assertion(
        &self,
        id: &ApprovalId,
        challenge: &str,
        response: &str,
    ) -> Result<ApprovalState, Refusal> {
        self.note(format!("assertion {id} {challenge} {response}"));
        let words = "the challenge is too old".to_owned();
        Err(Refusal { status: StatusCode::CONFLICT, reason: Some("challenge_expired"), words })
    }

    fn what_it_is(&self, _: &str) -> Option<WhatItIs> {
        let why = "`to` of `send` is a URL or an address, so it reaches others";
        Some(WhatItIs {
            profile: Profile::Unknown,
            by_file: false,
            described: None,
            not_local: Some(why.to_owned()),
        })
    }

    async fn begin_conversation(&self, id: &ApprovalId, by: By<'_>) -> Result<(), Refusal> {
        self.note(format!("begin conversation {id} {}", by.words()));
        Ok(())
    }

    async fn describe(&self, server: &str, profile: Profile, person: &UserId) -> Result<(), Refusal> {
        self.note(format!("describe {server} {profile} {person}"));
        Ok(())
    }

    async fn confirm(
        &self,
        id: &ApprovalId,
        by: By<'_>,
        remember: Option<RememberScope>,
    ) -> Result<ApprovalState, Refusal> {
        self.note(format!("confirm {id} {} {remember:?}", by.words()));
        Ok(ApprovalState::Approved)
    }

    async fn decline(&self, id: &ApprovalId, by: By<'_>) -> Result<(), Refusal> {
        self.note(format!("decline {id} {}", by.words()));
        Ok(())
    }

    async fn sign_in_challenge(&self) -> Result<String, Refusal> {
        Ok("{}".to_owned())
    }

    async fn sign_in(&self, challenge: &str, response: &str) -> Result<UserId, Refusal> {
        self.note(format!("sign_in {challenge} {response}"));
        Ok(UserId::new("bob"))
    }

    async fn enroll_begin(&self, user: &UserId, ticket: &str, signed_in: bool) -> Result<String, Refusal> {
        self.note(format!("enroll_begin {user} {} {signed_in}", ticket.len()));
        Ok("{}".to_owned())
    }

    fn sign_in_by_ticket(&self, ticket: &str) -> Result<(), Refusal> {
        self.note(format!("sign_in_by_ticket {ticket}"));
        if ticket == TICKET { Ok(()) } else { Err(Refusal::new(StatusCode::NOT_FOUND, "unknown")) }
    }

    fn code_of_ticket(&self, ticket: &str) -> Result<String, Refusal> {
        self.note(format!("code_of_ticket {ticket}"));
        if ticket == TICKET {
            Ok("AAAA".to_owned())
        } else {
            Err(Refusal::new(StatusCode::NOT_FOUND, "unknown"))
        }
    }

    async fn enroll_finish(
        &self,
        ticket: &str,
        response: &str,
        name: Option<&str>,
    ) -> Result<CredentialView, Refusal> {
        self.note(format!("enroll_finish {ticket} {response} {name:?}"));
        Ok(key("owner"))
    }

    async fn confirm_by_code(&self, credential: &str, code: &str) -> Result<CredentialView, Refusal> {
        self.note(format!("confirm_by_code {credential} {code}"));
        Ok(key("owner"))
    }

    async fn credentials(&self) -> Result<Vec<CredentialView>, Refusal> {
        Ok(vec![key("owner")])
    }

    async fn act_challenge(&self, act: &SignedAct, user: Option<&UserId>) -> Result<String, Refusal> {
        self.note(format!("act_challenge {act:?} {user:?}"));
        Ok("{}".to_owned())
    }

    async fn act_assertion(
        &self,
        act: &SignedAct,
        challenge: &str,
        response: &str,
    ) -> Result<Option<UserId>, Refusal> {
        self.note(format!("act_assertion {act:?} {challenge} {response}"));
        Ok(matches!(act, SignedAct::ConfirmKey { .. }).then(|| UserId::new("owner")))
    }

    async fn act(&self, act: &PlainAct, by: By<'_>) -> Result<(), Refusal> {
        self.note(format!("act {act:?} {}", by.words()));
        Ok(())
    }
}
