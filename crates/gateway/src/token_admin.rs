//! What people do with agents' tokens: make, list, rotate, revoke. It needs a store, a configuration and an audit log, but no
//! running gateway; a running one takes up at once what was done.

use std::fmt;
use std::sync::Arc;

use highwater_audit::{AuditEvent, Happened};
use highwater_config::{AgentToken, OWNER, Settings};
use highwater_core::grant::{AcceptedWords, Forms, Grant, Limits, NAME_RULE, ServerScope, name_fault};
use highwater_core::id::UserId;
use highwater_notation::Timestamp;
use highwater_store::{
    AuditError, AuditLog, ChangedToken, CreatedToken, Store, StoreError, TokenBasis, TokenRecord,
    TokenSecret, TokenTerms,
};
use serde::Serialize;
use tokio::time::{Instant, sleep_until};

use crate::gateway::{Gateway, now};
use crate::tokens::LOOK_AGAIN;

/// Makes tokens and takes them back.
pub struct TokenAdmin<'a> {
    /// Where they are kept.
    pub store: &'a Store,
    /// What is configured.
    pub settings: &'a Settings,
    /// Where it goes on record.
    pub audit: &'a AuditLog,
}

/// A token as people see it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenView {
    /// Its name.
    pub name: String,
    /// Whether it opens anything.
    pub status: TokenStatus,
    /// Who says what it grants.
    pub source: TokenSource,
    /// What it grants, if that can be told.
    #[serde(flatten)]
    pub terms: Option<ShownTerms>,
    /// The beginning of its secret; nothing where it has none yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// Who made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// When it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<Timestamp>,
    /// When its secret was replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotated: Option<Timestamp>,
    /// When it was last used, to the minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used: Option<Timestamp>,
    /// When it was revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked: Option<Timestamp>,
}

/// What a token grants, for people.
#[derive(Clone, Debug, Serialize)]
pub struct ShownTerms {
    /// What it grants.
    #[serde(flatten)]
    pub grant: Grant,
    /// How much it may ask.
    pub limits: Limits,
    /// Whose agent it is: their passkeys count for its calls.
    pub user: UserId,
    /// Whether what its clients answer to a form is a person's word.
    pub forms: Forms,
    /// Whose words the prompts are that its clients tell of.
    pub words: AcceptedWords,
}

/// Whether a token opens anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TokenStatus {
    /// It does.
    Active,
    /// Its time is over.
    Expired,
    /// It was revoked.
    Revoked,
    /// The configuration has it, and nobody has made its secret.
    NoSecret,
    /// Nothing says what it grants, or nobody understands what does.
    GrantsNothing,
}

/// Who says what a token grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TokenSource {
    /// Whoever made it.
    Command,
    /// The configuration.
    Configuration,
}

/// Why nothing was done.
#[derive(Debug)]
pub enum TokenFault {
    /// The name cannot be one.
    Name(String, &'static str),
    /// The name of its user cannot be one.
    User(String, &'static str),
    /// There is a token of that name already.
    Taken(String),
    /// There was one, and it was revoked.
    Spent(String),
    /// The configuration says what it grants, so nobody else does.
    Declared(String),
    /// Nobody says what it is to grant.
    Undeclared(String),
    /// There is no such server.
    UnknownServer(String),
    /// There is no such virtual server.
    UnknownVirtualServer(String),
    /// There is no token of that name.
    Unknown(String),
    /// It is revoked already.
    Revoked(String),
    /// There are too many.
    TooMany,
    /// The store could not do it.
    Store(StoreError),
    /// It could not be recorded, so it was not done.
    Audit(AuditError),
}

// === impl TokenAdmin ===

impl TokenAdmin<'_> {
    /// Every token, by name: those in the store and those that the configuration has.
    pub async fn list(&self) -> Result<Vec<TokenView>, StoreError> {
        let records = self.store.tokens().await?;
        let mut views: Vec<TokenView> = records.iter().map(|record| self.view(record)).collect();
        for token in &self.settings.agent_tokens {
            if !records.iter().any(|record| record.name == token.name) {
                views.push(TokenView::declared(&token.name, ShownTerms::of_file(token)));
            }
        }
        views.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(views)
    }

    /// Makes a token. Without terms it is one that the configuration has.
    pub async fn create(
        &self,
        name: &str,
        terms: Option<TokenTerms>,
        person: &str,
    ) -> Result<(TokenView, TokenSecret), TokenFault> {
        if let Some(fault) = name_fault(name) {
            return Err(TokenFault::Name(name.to_owned(), fault));
        }
        let declared = self.settings.agent_token(name).is_some();
        let basis = match terms {
            Some(_) if declared => return Err(TokenFault::Declared(name.to_owned())),
            Some(terms) => {
                self.check(&terms.grant)?;
                let user = terms.user.as_ref().map(UserId::as_str).filter(|user| *user != OWNER);
                if let Some((user, fault)) = user.and_then(|user| Some((user, name_fault(user)?))) {
                    return Err(TokenFault::User(user.to_owned(), fault));
                }
                TokenBasis::Stored(terms)
            }
            None if declared => TokenBasis::Configured,
            None => return Err(TokenFault::Undeclared(name.to_owned())),
        };
        if let Some(found) = self.find(name).await? {
            let taken = if found.revoked.is_some() { TokenFault::Spent } else { TokenFault::Taken };
            return Err(taken(name.to_owned()));
        }
        let said = match &basis {
            TokenBasis::Stored(terms) => Some(terms),
            TokenBasis::Configured | TokenBasis::Unreadable => None,
        };
        self.record("created", name, person, said)?;
        match self.store.create_token(name, basis, person).await? {
            CreatedToken::Made(record, secret) => Ok((self.view(&record), secret)),
            CreatedToken::Taken(record) if record.revoked.is_some() => {
                Err(TokenFault::Spent(name.to_owned()))
            }
            CreatedToken::Taken(_) => Err(TokenFault::Taken(name.to_owned())),
            CreatedToken::TooMany => Err(TokenFault::TooMany),
        }
    }

    /// Gives a token another secret.
    pub async fn rotate(&self, name: &str, person: &str) -> Result<(TokenView, TokenSecret), TokenFault> {
        self.changeable(name).await?;
        self.record("rotated", name, person, None)?;
        match self.store.rotate_token(name).await? {
            ChangedToken::Done(record, secret) => Ok((self.view(&record), secret)),
            ChangedToken::Revoked(_) => Err(TokenFault::Revoked(name.to_owned())),
            ChangedToken::Unknown => Err(TokenFault::Unknown(name.to_owned())),
        }
    }

    /// Ends a token for ever.
    pub async fn revoke(&self, name: &str, person: &str) -> Result<TokenView, TokenFault> {
        self.changeable(name).await?;
        self.record("revoked", name, person, None)?;
        match self.store.revoke_token(name).await? {
            ChangedToken::Done(record, ()) => Ok(self.view(&record)),
            ChangedToken::Revoked(_) => Err(TokenFault::Revoked(name.to_owned())),
            ChangedToken::Unknown => Err(TokenFault::Unknown(name.to_owned())),
        }
    }

    async fn find(&self, name: &str) -> Result<Option<TokenRecord>, StoreError> {
        Ok(self.store.tokens().await?.into_iter().find(|record| record.name == name))
    }

    /// Only what can be done goes on record as done.
    async fn changeable(&self, name: &str) -> Result<(), TokenFault> {
        match self.find(name).await? {
            None => Err(TokenFault::Unknown(name.to_owned())),
            Some(record) if record.revoked.is_some() => Err(TokenFault::Revoked(name.to_owned())),
            Some(_) => Ok(()),
        }
    }

    /// A grant that names what is not there is a slip of the pen.
    fn check(&self, grant: &Grant) -> Result<(), TokenFault> {
        if let ServerScope::Only(servers) = &grant.servers {
            let missing = servers.iter().find(|server| self.settings.server(server.as_str()).is_none());
            if let Some(missing) = missing {
                return Err(TokenFault::UnknownServer(missing.to_string()));
            }
        }
        match &grant.virtual_server {
            Some(name) if self.settings.virtual_server(name.as_str()).is_none() => {
                Err(TokenFault::UnknownVirtualServer(name.to_string()))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Written before it is done, as everything is.
    fn record(&self, act: &str, name: &str, by: &str, terms: Option<&TokenTerms>) -> Result<(), TokenFault> {
        let grant = terms.map(|terms| &terms.grant);
        let user = terms.and_then(|terms| terms.user.as_ref()).map(UserId::as_str);
        let happened = Happened::Token { act, name, by, grant, user };
        self.audit
            .append(&AuditEvent { time: now(), id: None, happened })
            .map(drop)
            .map_err(TokenFault::Audit)
    }

    fn view(&self, record: &TokenRecord) -> TokenView {
        let declared = self.settings.agent_token(&record.name);
        let terms = match (declared, &record.basis) {
            (Some(token), _) => Some(ShownTerms::of_file(token)),
            (None, TokenBasis::Stored(terms)) => Some(ShownTerms {
                grant: terms.grant.clone(),
                limits: terms.limits,
                user: terms.user.clone().unwrap_or_else(|| UserId::new(OWNER)),
                forms: terms.forms,
                words: terms.words,
            }),
            (None, TokenBasis::Configured | TokenBasis::Unreadable) => None,
        };
        let is_over = terms.as_ref().is_some_and(|terms| terms.grant.is_over(now()));
        let status = match &terms {
            _ if record.revoked.is_some() => TokenStatus::Revoked,
            None => TokenStatus::GrantsNothing,
            Some(_) if is_over => TokenStatus::Expired,
            Some(_) => TokenStatus::Active,
        };
        let from_file = declared.is_some() || record.basis == TokenBasis::Configured;
        TokenView {
            name: record.name.clone(),
            status,
            source: if from_file { TokenSource::Configuration } else { TokenSource::Command },
            terms,
            prefix: Some(record.prefix.clone()),
            person: Some(record.person.clone()),
            created: Some(record.created),
            rotated: record.rotated,
            last_used: record.used,
            revoked: record.revoked,
        }
    }
}

// === impl ShownTerms ===

impl ShownTerms {
    fn of_file(token: &AgentToken) -> Self {
        let AgentToken { grant, limits, user, forms, words, .. } = token;
        Self { grant: grant.clone(), limits: *limits, user: user.clone(), forms: *forms, words: *words }
    }
}

// === impl TokenView ===

impl TokenView {
    fn declared(name: &str, terms: ShownTerms) -> Self {
        Self {
            name: name.to_owned(),
            status: TokenStatus::NoSecret,
            source: TokenSource::Configuration,
            terms: Some(terms),
            prefix: None,
            person: None,
            created: None,
            rotated: None,
            last_used: None,
            revoked: None,
        }
    }
}

// === impl Gateway ===

impl Gateway {
    /// Every token.
    pub async fn tokens(&self) -> Result<Vec<TokenView>, StoreError> {
        self.token_admin(&self.settings.load_full()).list().await
    }

    /// Makes a token; it opens the gateway at once.
    pub async fn create_token(
        &self,
        name: &str,
        terms: Option<TokenTerms>,
        person: &str,
    ) -> Result<(TokenView, TokenSecret), TokenFault> {
        let made = self.token_admin(&self.settings.load_full()).create(name, terms, person).await?;
        self.take_up_tokens().await?;
        Ok(made)
    }

    /// Gives a token another secret; the old one opens nothing from now on.
    pub async fn rotate_token(
        &self,
        name: &str,
        person: &str,
    ) -> Result<(TokenView, TokenSecret), TokenFault> {
        let rotated = self.token_admin(&self.settings.load_full()).rotate(name, person).await?;
        self.take_up_tokens().await?;
        Ok(rotated)
    }

    /// Ends a token; whoever is connected with it is cut off.
    pub async fn revoke_token(&self, name: &str, person: &str) -> Result<TokenView, TokenFault> {
        let revoked = self.token_admin(&self.settings.load_full()).revoke(name, person).await?;
        self.take_up_tokens().await?;
        Ok(revoked)
    }

    fn token_admin<'a>(&'a self, settings: &'a Settings) -> TokenAdmin<'a> {
        TokenAdmin { store: &self.store, settings, audit: &self.audit }
    }

    /// Takes up what the store has now.
    async fn take_up_tokens(&self) -> Result<(), StoreError> {
        let _reading = self.tokens.reading.lock().await;
        let records = self.store.tokens().await?;
        let changed = records != self.tokens.records();
        for principal in self.tokens.take_up(records, || self.settings.load_full()) {
            tracing::info!(%principal, "its token was revoked or rotated; its connections end");
            self.cut_off(&principal);
        }
        if changed {
            self.expect_tool_names();
            self.announce_everything();
        }
        Ok(())
    }

    /// On a store that several gateways share, another one may revoke a token: the copy is renewed whenever one says so,
    /// and often enough in any case that a revocation never takes longer than a few seconds.
    pub(crate) fn follow_tokens(self: &Arc<Self>) {
        if !self.store.is_shared() {
            return;
        }
        let gateway = Arc::downgrade(self);
        let mut hints = self.store.token_hints();
        tokio::spawn(async move {
            loop {
                let next = Instant::now() + LOOK_AGAIN;
                tokio::select! {
                    hint = hints.changed() => if hint.is_err() { return },
                    () = sleep_until(next) => {}
                }
                let Some(gateway) = gateway.upgrade() else { return };
                if let Err(error) = gateway.take_up_tokens().await {
                    tracing::warn!(%error, "tokens could not be read again");
                }
                if let Err(error) = gateway.siblings.look_again(&gateway.store).await {
                    tracing::warn!(%error, "the other gateways could not be listed again");
                }
            }
        });
    }
}

// === impl TokenFault ===

impl TokenFault {
    /// The way out.
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::Name(..) | Self::User(..) => NAME_RULE.to_owned(),
            Self::Taken(name) => {
                format!("choose another name, or give it a new secret with `highwater token rotate {name}`")
            }
            Self::Spent(_) => {
                "choose another name: the sessions of the old token go under this one".to_owned()
            }
            Self::Declared(_) => "leave the options out; the configuration says what it grants".to_owned(),
            Self::Undeclared(_) => {
                "say what it grants, with `--permission` and `--server`, or name it under `agent_tokens`"
                    .to_owned()
            }
            Self::UnknownServer(_) => "name a server of the configuration, or `'*'` for all".to_owned(),
            Self::UnknownVirtualServer(_) => "name a virtual server of the configuration".to_owned(),
            Self::Unknown(_) => "`highwater token list` names them".to_owned(),
            Self::TooMany => return None,
            Self::Revoked(_) => "a revoked token stays revoked; make another one".to_owned(),
            Self::Store(_) | Self::Audit(_) => return None,
        })
    }
}

impl fmt::Display for TokenFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name, fault) => write!(f, "`{name}` {fault}"),
            Self::User(name, fault) => write!(f, "user `{name}` {fault}"),
            Self::Taken(name) => write!(f, "there is a token `{name}` already"),
            Self::Spent(name) => write!(f, "there was a token `{name}`, and it was revoked"),
            Self::Declared(name) => write!(f, "the configuration says what token `{name}` grants"),
            Self::Undeclared(name) => write!(f, "nothing says what token `{name}` is to grant"),
            Self::UnknownServer(name) => write!(f, "there is no server `{name}`"),
            Self::UnknownVirtualServer(name) => write!(f, "there is no virtual server `{name}`"),
            Self::Unknown(name) => write!(f, "there is no token `{name}`"),
            Self::Revoked(name) => write!(f, "token `{name}` is revoked already"),
            Self::TooMany => f.write_str("there are too many tokens, revoked ones included"),
            Self::Store(error) => error.fmt(f),
            Self::Audit(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TokenFault {}

impl From<StoreError> for TokenFault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
