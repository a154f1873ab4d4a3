//! Who calls, as far as servers are concerned: a client with a session of the legacy era, one that says who it is with
//! every request, or we ourselves.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::control::LogLevel;

/// A legacy client's session. Servers over HTTP know it as a session of its own, which lives as long as this one.
#[derive(Debug)]
pub struct ClientSession {
    number: u64,
    /// What its servers are told that the client can do, as JSON text.
    capabilities: Box<str>,
    log_level: Mutex<Option<LogLevel>>,
    is_over: AtomicBool,
}

/// Who calls.
#[derive(Clone, Copy, Debug)]
pub enum Party<'a> {
    /// A client with a session of the legacy era.
    Legacy(&'a Arc<ClientSession>),
    /// A client of the modern era.
    Modern,
    /// We ourselves, beside a client's call.
    Gateway,
}

// === impl ClientSession ===

impl ClientSession {
    /// A session of a client that can do this, as JSON text.
    pub fn new(capabilities: &str) -> Arc<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Arc::new(Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            capabilities: capabilities.into(),
            log_level: Mutex::default(),
            is_over: AtomicBool::new(false),
        })
    }

    /// A number that no other session has.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// What its servers are told that the client can do, as JSON text.
    pub fn capabilities(&self) -> &str {
        &self.capabilities
    }

    /// It is over: what is still done for its client is done over connections that others share.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Notes which log lines the client wants, for servers that are met later.
    pub fn set_log_level(&self, level: LogLevel) {
        *self.log_level.lock().unwrap_or_else(PoisonError::into_inner) = Some(level);
    }

    /// Which log lines the client wants, if it said.
    pub fn log_level(&self) -> Option<LogLevel> {
        *self.log_level.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
