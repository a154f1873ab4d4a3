//! Tickets: a browser that a program of ours opens is let in, or given the enrollment code, without anything being typed.
//! A ticket stands behind the address, in the fragment, which browsers send to nobody. It counts once, for two minutes, for
//! the page on this machine alone. Other users of the machine can see the arguments of programs, and so tickets: the page
//! takes them only over connections of the user that the gateway runs as.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use aws_lc_rs::digest::{SHA256, digest};
use highwater_audit::ApprovalNote;
use highwater_notation::{Timestamp, encode_base64url};

use super::view::WindowOpened;
use super::{ApprovalFault, ApprovalService, random};
use crate::gateway::now;

/// How long a browser may take to start.
const LIFETIME_MS: u64 = 2 * 60 * 1000;

/// How many are kept. One is made whenever a browser is opened.
const MOST: usize = 64;

/// What a ticket gives.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Gives {
    /// A page session of the operator.
    SignIn,
    /// The code of an enrollment.
    Code(String),
}

struct Ticket {
    gives: Gives,
    until: Timestamp,
}

/// Those that nobody has used. Of each its hash alone is kept.
pub(super) struct Tickets {
    /// Behind a proxy nobody can tell whose connection it is, so there are none.
    enabled: bool,
    kept: Mutex<HashMap<[u8; 32], Ticket>>,
}

// === impl Tickets ===

impl Tickets {
    pub(super) fn new(enabled: bool) -> Self {
        Self { enabled, kept: Mutex::default() }
    }

    fn make(&self, gives: Gives, now: Timestamp) -> Result<Option<String>, ApprovalFault> {
        if !self.enabled {
            return Ok(None);
        }
        let ticket = encode_base64url(&random::<32>()?);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|_, ticket| ticket.until > now);
        if kept.len() >= MOST {
            let oldest = kept.iter().min_by_key(|(_, ticket)| ticket.until).map(|(hash, _)| *hash);
            oldest.and_then(|oldest| kept.remove(&oldest));
        }
        let until = Timestamp(now.0.saturating_add(LIFETIME_MS));
        kept.insert(hash(&ticket), Ticket { gives, until });
        Ok(Some(ticket))
    }

    /// Uses a ticket up, whatever it was for.
    fn take(&self, ticket: &str, now: Timestamp) -> Option<Gives> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.remove(&hash(ticket)).filter(|ticket| ticket.until > now).map(|ticket| ticket.gives)
    }

    /// An address at which the page lets its visitor in; the bare address where there are no tickets.
    pub(super) fn signed_in(&self, url: &str) -> String {
        match self.make(Gives::SignIn, now()) {
            Ok(Some(ticket)) => format!("{url}#sign-in={ticket}"),
            Ok(None) | Err(_) => url.to_owned(),
        }
    }
}

// === impl ApprovalService ===

impl ApprovalService {
    /// The address of a page for a browser that the operator's own program opens: whoever comes with it is signed in.
    pub fn signed_in_url(&self, url: &str) -> String {
        self.tickets.signed_in(url)
    }

    /// The address of an enrollment for such a browser: the code is typed by the page.
    pub fn enrollment_url(&self, window: &WindowOpened) -> Result<String, ApprovalFault> {
        let ticket = match &window.code {
            Some(code) => self.tickets.make(Gives::Code(code.clone()), now())?,
            None => None,
        };
        Ok(match ticket {
            Some(ticket) => format!("{}#enroll={ticket}", window.url),
            None => window.url.clone(),
        })
    }

    /// Uses up a ticket that signs in. Who signs in is the operator, whose program made it.
    pub(crate) fn sign_in_by_ticket(&self, ticket: &str) -> Result<(), ApprovalFault> {
        match self.tickets.take(ticket, now()) {
            Some(Gives::SignIn) => {
                let note =
                    ApprovalNote { act: "signed-in", by: "operator ticket", ..ApprovalNote::default() };
                self.record(None, note)
            }
            Some(Gives::Code(_)) | None => Err(ApprovalFault::Unknown),
        }
    }

    /// Uses up a ticket of an enrollment, for its code. Whether that still counts, the window says.
    pub(crate) fn code_of_ticket(&self, ticket: &str) -> Result<String, ApprovalFault> {
        match self.tickets.take(ticket, now()) {
            Some(Gives::Code(code)) => Ok(code),
            Some(Gives::SignIn) | None => Err(ApprovalFault::Unknown),
        }
    }
}

fn hash(ticket: &str) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, ticket.as_bytes()).as_ref());
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_counts_once_and_for_two_minutes() {
        let tickets = Tickets::new(true);
        let (start, end) = (Timestamp(1_000), Timestamp(1_000 + LIFETIME_MS));
        let one = tickets.make(Gives::SignIn, start).unwrap().unwrap();
        assert_eq!(tickets.take("another", start), None);
        assert_eq!(tickets.take(&one, start), Some(Gives::SignIn));
        assert_eq!(tickets.take(&one, start), None, "once means once");
        let late = tickets.make(Gives::Code("AAAA".to_owned()), start).unwrap().unwrap();
        assert_eq!(tickets.take(&late, end), None);
    }

    #[test]
    fn there_are_so_many_and_the_oldest_goes_first() {
        let tickets = Tickets::new(true);
        let first = tickets.make(Gives::SignIn, Timestamp(1)).unwrap().unwrap();
        for at in 0..MOST as u64 {
            tickets.make(Gives::SignIn, Timestamp(2 + at)).unwrap();
        }
        assert_eq!(tickets.kept.lock().unwrap().len(), MOST);
        assert_eq!(tickets.take(&first, Timestamp(100)), None);
    }

    #[test]
    fn behind_a_proxy_there_are_none() {
        let tickets = Tickets::new(false);
        assert_eq!(tickets.make(Gives::SignIn, Timestamp(1)).unwrap(), None);
        assert_eq!(tickets.signed_in("https://a.example/inbox"), "https://a.example/inbox");
    }
}
