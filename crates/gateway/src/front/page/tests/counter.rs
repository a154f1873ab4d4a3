//! A counter that writes down what it is asked, in front of one request of each kind.

use std::sync::{Mutex, PoisonError};

use http::StatusCode;
use tokio::sync::broadcast;

use super::super::counter::{Counter, Refusal};
use super::super::view::*;

pub(super) const OPERATOR: &str = "hwo_operator";
pub(super) const NOW: u64 = 1_794_700_000_000;

/// A request that needs a passkey, one that needs a button, one that is somebody else's.
pub(super) const PASSKEY: &str = "pass";
pub(super) const CONFIRM: &str = "conf";
pub(super) const FOREIGN: &str = "alices";

pub(super) struct Written {
    asked: Mutex<Vec<String>>,
    changes: broadcast::Sender<String>,
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

pub(super) fn request(kind: Kind) -> RequestView {
    RequestView {
        id: match kind {
            Kind::Confirm => CONFIRM.to_owned(),
            Kind::Passkey => PASSKEY.to_owned(),
        },
        kind,
        state: State::Pending,
        user: "owner".to_owned(),
        approvers: Vec::new(),
        tool: "files__delete".to_owned(),
        server: Some(ServerView {
            name: "files".to_owned(),
            trust: "tool".to_owned(),
            verified: false,
            place: "npx server-files".to_owned(),
        }),
        display_text:
            "Call files__delete on files with\n  \"path\": \"<b>notes</b>\"\n  \"why\": \"x⟦U+202E⟧y\""
                .to_owned(),
        hidden: 1,
        absent: vec![
            AbsentField { name: "recursive".to_owned(), default: Some("true".to_owned()) },
            AbsentField { name: "note".to_owned(), default: None },
        ],
        reasons: vec![
            ReasonView { rule: "ordinary".to_owned(), words: "it deletes".to_owned(), unusual: false },
            ReasonView {
                rule: "taint".to_owned(),
                words: "untrusted text was read".to_owned(),
                unusual: true,
            },
        ],
        labels: vec![LabelView {
            label: "financial".to_owned(),
            origins: vec!["mail__read at 12:03".to_owned()],
            unusual: true,
        }],
        destination: Some("public".to_owned()),
        caller: "claude-code 2.1".to_owned(),
        token: "laptop".to_owned(),
        server_words: vec![(
            "description".to_owned(),
            "Deletes. <script>alert(1)</script>\u{200b}".to_owned(),
        )],
        created: NOW - 10_000,
        expires: NOW + 272_000,
        quorum: None,
        remember: match kind {
            Kind::Confirm => {
                vec![
                    RememberScope::Session,
                    RememberScope::ToolWithTargets,
                    RememberScope::UntilDefinitionChanges,
                ]
            }
            Kind::Passkey => Vec::new(),
        },
        decided: None,
    }
}

impl Counter for Written {
    fn is_operator(&self, shown: &[u8]) -> bool {
        shown == OPERATOR.as_bytes()
    }

    fn now(&self) -> u64 {
        NOW
    }

    fn changes(&self) -> broadcast::Receiver<String> {
        self.changes.subscribe()
    }

    async fn view(&self, id: &str) -> Result<Option<RequestView>, Refusal> {
        Ok(match id {
            PASSKEY => Some(request(Kind::Passkey)),
            CONFIRM => Some(request(Kind::Confirm)),
            FOREIGN => {
                let user = "alice".to_owned();
                Some(RequestView { id: FOREIGN.to_owned(), user, ..request(Kind::Passkey) })
            }
            _ => None,
        })
    }

    async fn inbox(&self, user: Option<&str>) -> Result<InboxView, Refusal> {
        self.note(format!("inbox {user:?}"));
        let entry = InboxEntry {
            id: PASSKEY.to_owned(),
            tool: "files__delete".to_owned(),
            server: Some("files".to_owned()),
            caller: "claude-code 2.1".to_owned(),
            kind: Kind::Passkey,
            state: State::Pending,
            created: NOW,
            expires: NOW + 200_000,
            decided: None,
        };
        let act = NoticeAct::ResumeTool { principal: "laptop".to_owned(), tool: "files__delete".to_owned() };
        Ok(InboxView {
            recent: vec![InboxEntry {
                state: State::Declined,
                decided: Some(("owner".to_owned(), NOW)),
                ..entry.clone()
            }],
            pending: vec![entry],
            notices: vec![Notice { at: NOW, words: "three declines".to_owned(), act: Some(act) }],
        })
    }

    async fn challenge(&self, id: &str, user: &str) -> Result<String, Refusal> {
        self.note(format!("challenge {id} {user}"));
        Ok(r#"{"challengeId":"c"}"#.to_owned())
    }

    async fn assertion(
        &self,
        id: &str,
        user: &str,
        challenge: &str,
        response: &str,
    ) -> Result<State, Refusal> {
        self.note(format!("assertion {id} {user} {challenge} {response}"));
        let words = "the challenge is too old".to_owned();
        Err(Refusal { status: StatusCode::CONFLICT, reason: Some("challenge_expired"), words })
    }

    async fn confirm(&self, id: &str, user: &str, remember: Option<RememberScope>) -> Result<State, Refusal> {
        self.note(format!("confirm {id} {user} {remember:?}"));
        Ok(State::Approved)
    }

    async fn decline(&self, id: &str, user: &str) -> Result<State, Refusal> {
        self.note(format!("decline {id} {user}"));
        Ok(State::Declined)
    }

    async fn sign_in_challenge(&self) -> Result<String, Refusal> {
        Ok("{}".to_owned())
    }

    async fn sign_in(&self, challenge: &str, response: &str) -> Result<String, Refusal> {
        self.note(format!("sign_in {challenge} {response}"));
        Ok("bob".to_owned())
    }

    async fn enroll_begin(&self, user: &str, ticket: &str, signed_in: bool) -> Result<String, Refusal> {
        self.note(format!("enroll_begin {user} {} {signed_in}", ticket.len()));
        Ok("{}".to_owned())
    }

    async fn enroll_finish(&self, ticket: &str, response: &str) -> Result<CredentialView, Refusal> {
        self.note(format!("enroll_finish {ticket} {response}"));
        Ok(key("owner"))
    }

    async fn confirm_by_code(&self, credential: &str, code: &str) -> Result<CredentialView, Refusal> {
        self.note(format!("confirm_by_code {credential} {code}"));
        Ok(key("owner"))
    }

    async fn confirm_challenge(&self, credential: &str) -> Result<String, Refusal> {
        self.note(format!("confirm_challenge {credential}"));
        Ok("{}".to_owned())
    }

    async fn confirm_assertion(
        &self,
        credential: &str,
        challenge: &str,
        response: &str,
    ) -> Result<CredentialView, Refusal> {
        self.note(format!("confirm_assertion {credential} {challenge} {response}"));
        Ok(key("owner"))
    }

    async fn credentials(&self, user: Option<&str>) -> Result<Vec<CredentialView>, Refusal> {
        Ok(vec![key(user.unwrap_or("owner"))])
    }

    async fn act(&self, act: NoticeAct, user: &str) -> Result<(), Refusal> {
        self.note(format!("act {act:?} {user}"));
        Ok(())
    }
}

fn key(user: &str) -> CredentialView {
    CredentialView {
        id: "c_i5S_nVWJK1BWxEamDxEB0FrmzQi2p3nuMX8xlFRyU".to_owned(),
        user: user.to_owned(),
        transports: vec!["usb".to_owned()],
        aaguid: "00000000-0000-0000-0000-000000000000".to_owned(),
        created: NOW,
        enrolled_by: "code".to_owned(),
        standing: Standing::Dormant,
    }
}
