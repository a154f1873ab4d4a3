//! Who may come in: tokens found by the digest of their secrets, without asking the store. What a token grants is a
//! value that can be replaced while its clients are connected, so that a revocation or a reload counts at once.

mod body_budget;
mod meter;

use std::collections::{BTreeMap, HashMap};
use std::ops::Deref;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use highwater_config::{ApprovalFlow, OWNER, Partition, Settings};
use highwater_core::grant::{AcceptedWords, Forms, Grant, Limits};
use highwater_core::id::{Principal, UserId, VirtualServerId};
use highwater_notation::Timestamp;
use highwater_store::{TokenBasis, TokenDigest, TokenRecord};
use tokio::time::Instant;

pub(crate) use body_budget::{BodyBudget, BodyCharge};
use meter::Meter;
pub(crate) use meter::{Bound, Busy, Slot};

/// How old a copy of the tokens may get on a store that several gateways share before nobody is let in by it: a
/// revocation elsewhere must not go unnoticed for longer.
pub(crate) const OLDEST_COPY: Duration = Duration::from_secs(10);

/// How often such a copy is made anew, besides whenever another gateway says that something changed.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// How often the last use of a token is written down.
const NOTE_USE_EVERY: u64 = 60_000;

/// One agent's token as its clients hold it.
#[derive(Debug)]
pub(crate) struct Token {
    pub(crate) principal: Principal,
    /// Where the store has a row of it: the operator's own agent has none.
    is_stored: bool,
    standing: ArcSwap<Standing>,
    meter: Meter,
    /// How many bytes of its requests are held.
    held_bytes: AtomicUsize,
}

/// What a token is worth at one moment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) grant: Grant,
    pub(crate) limits: Limits,
    /// What tells its sessions apart, where that is another than for everybody.
    pub(crate) partition: Option<Partition>,
    /// How long it must be silent before a new conversation may begin, where that is another than for everybody.
    pub(crate) quiet: Option<Duration>,
    /// Whose agent it is.
    pub(crate) user: UserId,
    /// Its calls without a signature are rejected at once.
    pub(crate) native: bool,
    /// Whether what its clients answer to a form is a person's word.
    pub(crate) forms: Forms,
    /// Whose words the prompts are that its clients tell of.
    pub(crate) words: AcceptedWords,
}

/// All tokens.
pub(crate) struct Tokens {
    /// The printed agent token.
    pub(crate) agent: Arc<Token>,
    /// Whoever comes where no token is asked for.
    pub(crate) anonymous: Arc<Token>,
    /// Whoever joins through the data directory's socket.
    pub(crate) local: Arc<Token>,
    index: ArcSwap<Index>,
    /// Held while an index is made, so that two changes cannot undo each other.
    changing: Mutex<()>,
    /// Held from the reading of the store until what was read is taken up, so that nothing older comes after it.
    pub(crate) reading: tokio::sync::Mutex<()>,
    is_shared: bool,
}

/// A copy of what the store has.
struct Index {
    by_digest: HashMap<TokenDigest, (TokenDigest, Arc<Token>)>,
    by_name: BTreeMap<String, Arc<Token>>,
    records: Vec<TokenRecord>,
    made: Instant,
}

/// Why a secret opens nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closed {
    /// Nobody has this secret, or its token was revoked or is over.
    Unknown,
    /// The copy of the tokens is too old to go by.
    Stale,
}

// === impl Token ===

impl Token {
    /// One that grants everything and is in no store.
    fn full(name: &str, forms: Forms) -> Arc<Self> {
        let (grant, words) = (Grant::everything().clone(), AcceptedWords::Owner);
        let standing = Standing { grant, forms, words, ..Standing::nothing() };
        Self::new(name, standing, false)
    }

    fn new(name: &str, standing: Standing, is_stored: bool) -> Arc<Self> {
        Arc::new(Self {
            principal: Principal::new(name),
            is_stored,
            standing: ArcSwap::from_pointee(standing),
            meter: Meter::default(),
            held_bytes: AtomicUsize::new(0),
        })
    }

    /// What it is worth now.
    pub(crate) fn standing(&self) -> Arc<Standing> {
        self.standing.load_full()
    }

    /// Whether it opens this virtual server now.
    pub(crate) fn enters(&self, virtual_server: &VirtualServerId) -> bool {
        self.standing.load().grant.enters(virtual_server)
    }

    /// Whether its time is over.
    pub(crate) fn is_over(&self, now: Timestamp) -> bool {
        self.standing.load().grant.is_over(now)
    }

    /// What tells its sessions apart, where that is another than for everybody.
    pub(crate) fn partition(&self) -> Option<Partition> {
        self.standing.load().partition
    }

    /// How long it must be silent before a new conversation may begin, where that is another than for everybody.
    pub(crate) fn quiet(&self) -> Option<Duration> {
        self.standing.load().quiet
    }

    /// Lets one more request in, or says for how long there is no room.
    pub(crate) fn admit(self: &Arc<Self>) -> Result<Slot, Busy> {
        let limits = self.standing.load().limits;
        Meter::admit(self, limits)
    }

    /// Whether it is time to write down that it is used.
    pub(crate) fn is_use_news(&self, now: Timestamp) -> bool {
        self.is_stored && self.meter.is_use_news(now, NOTE_USE_EVERY)
    }

    fn set(&self, standing: Standing) -> bool {
        let changes = **self.standing.load() != standing;
        if changes {
            self.standing.store(Arc::new(standing));
        }
        changes
    }
}

// === impl Standing ===

impl Standing {
    fn nothing() -> Self {
        let user = UserId::new(OWNER);
        let (grant, limits) = (Grant::nothing().clone(), Limits::default());
        Self {
            grant,
            limits,
            partition: None,
            quiet: None,
            user,
            native: false,
            forms: Forms::Never,
            words: AcceptedWords::None,
        }
    }

    /// What a record is worth under this configuration, which decides for every name that it has.
    fn of(record: &TokenRecord, settings: &Settings) -> Self {
        if record.revoked.is_some() {
            return Self::nothing();
        }
        if let Some(written) = settings.agent_token(&record.name) {
            let (grant, limits) = (written.grant.clone(), written.limits);
            let native = written.approval_flow == Some(ApprovalFlow::NativeOnly);
            return Self {
                grant,
                limits,
                partition: written.partition,
                quiet: written.quiet,
                user: written.user.clone(),
                native,
                forms: written.forms,
                words: written.words,
            };
        }
        match &record.basis {
            TokenBasis::Stored(terms) => {
                let usual = Self::nothing();
                let user = terms.user.clone().unwrap_or(usual.user);
                Self {
                    grant: terms.grant.clone(),
                    limits: terms.limits,
                    user,
                    forms: terms.forms,
                    words: terms.words,
                    ..usual
                }
            }
            // The file no longer has it, or nobody understands it.
            TokenBasis::Configured | TokenBasis::Unreadable => Self::nothing(),
        }
    }
}

// === impl Tokens ===

impl Tokens {
    pub(crate) fn new(records: Vec<TokenRecord>, settings: &Settings, is_shared: bool) -> Self {
        let empty = Index {
            by_digest: HashMap::new(),
            by_name: BTreeMap::new(),
            records: Vec::new(),
            made: Instant::now(),
        };
        let (here, forms) = (Forms::Person, settings.own_forms());
        let tokens = Self {
            agent: Token::full("agent", forms),
            anonymous: Token::full("anonymous", forms),
            // Whoever reaches the socket of the data directory is on this machine.
            local: Token::full("local", here),
            index: ArcSwap::from_pointee(empty),
            changing: Mutex::default(),
            reading: tokio::sync::Mutex::default(),
            is_shared,
        };
        tokens.take_up(records, || settings);
        tokens
    }

    /// The token that a secret opens. No store is asked, and what is compared is a digest, in constant time.
    pub(crate) fn find(&self, secret: &[u8], now: Timestamp) -> Result<Arc<Token>, Closed> {
        self.find_again(&TokenDigest::of(secret), now)
    }

    /// The token that a secret of this digest opens. A connection that stays asks with every request.
    pub(crate) fn find_again(&self, digest: &TokenDigest, now: Timestamp) -> Result<Arc<Token>, Closed> {
        let index = self.index.load();
        let (held, token) = index.by_digest.get(digest).ok_or(Closed::Unknown)?;
        if !held.is(digest) || token.standing.load().grant.is_over(now) {
            return Err(Closed::Unknown);
        }
        if self.is_shared && index.made.elapsed() > OLDEST_COPY {
            return Err(Closed::Stale);
        }
        Ok(Arc::clone(token))
    }

    /// Takes up what the store has, under the configuration of that moment. Gives the principals whose open streams must
    /// end: their token was revoked, or opens with another secret.
    pub(crate) fn take_up<S: Deref<Target = Settings>>(
        &self,
        records: Vec<TokenRecord>,
        settings: impl FnOnce() -> S,
    ) -> Vec<Principal> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let settings = settings();
        let settings: &Settings = &settings;
        let made = Instant::now();
        let old = self.index.load_full();
        let (mut by_digest, mut by_name) = (HashMap::new(), BTreeMap::new());
        let mut ended = Vec::new();
        for record in &records {
            let standing = Standing::of(record, settings);
            let token = match old.by_name.get(&record.name) {
                Some(known) => {
                    known.set(standing);
                    Arc::clone(known)
                }
                None => Token::new(&record.name, standing, true),
            };
            let before = old.records.iter().find(|other| other.name == record.name);
            if before.is_some_and(|before| before.digest != record.digest || before.revoked != record.revoked)
            {
                ended.push(token.principal.clone());
            }
            if record.revoked.is_none() {
                by_digest.insert(record.digest, (record.digest, Arc::clone(&token)));
            }
            by_name.insert(record.name.clone(), token);
        }
        // What the store no longer has grants nothing, to whoever still holds it.
        for (name, token) in old.by_name.iter().filter(|(name, _)| !by_name.contains_key(*name)) {
            token.set(Standing::nothing());
            tracing::warn!(token = %name, "it is gone from the store and grants nothing any more");
            ended.push(token.principal.clone());
        }
        self.index.store(Arc::new(Index { by_digest, by_name, records, made }));
        ended
    }

    /// The same tokens under another configuration, which must be the current one already.
    pub(crate) fn under(&self, settings: &Settings) {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let index = self.index.load_full();
        for record in &index.records {
            if let Some(token) = index.by_name.get(&record.name) {
                token.set(Standing::of(record, settings));
            }
        }
    }

    /// Whether there are others than the operator's own agents.
    pub(crate) fn are_there(&self) -> bool {
        !self.index.load().by_digest.is_empty()
    }

    /// Whether calls of an agent of this name may come.
    pub(crate) fn is_agent(&self, name: &Principal) -> bool {
        let own = [&self.agent, &self.anonymous, &self.local];
        own.iter().any(|token| token.principal == *name)
            || self.index.load().by_name.contains_key(name.as_str())
    }

    /// What the store had when it was last looked at.
    pub(crate) fn records(&self) -> Vec<TokenRecord> {
        self.index.load().records.clone()
    }
}

#[cfg(test)]
mod tests;
