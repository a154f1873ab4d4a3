//! Who contributed to a context, and whether a tool takes data from all of them (SEP-3193).
//!
//! A restriction and nothing else: nothing is ever permitted because of who contributed.

use std::collections::BTreeSet;
use std::sync::Arc;

use highwater_notation::vocabulary;

vocabulary! {
    /// How well it is known who a contributor is, best first.
    Assurance {
        /// The person.
        User = "user",
        /// The program the agent runs in.
        Host = "host",
        /// A server whose identity was verified.
        Verified = "verified",
        /// A server that somebody approved when it was first seen.
        Tofu = "tofu",
        /// Anybody.
        Unverified = "unverified",
    }
}

/// One contributor to a context.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Contributor {
    /// How well it is known.
    pub assurance: Assurance,
    /// Its URI, where it has one and may be named.
    pub principal: Option<Arc<str>>,
    /// The publisher that vouches for it, where one was verified.
    pub publisher: Option<Arc<str>>,
}

/// Everybody who contributed to a context, as far as that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contributors {
    known: BTreeSet<Contributor>,
    /// Whether there is nobody else.
    complete: bool,
}

// === impl Contributor ===

impl Contributor {
    /// The person in front of the agent, who contributes to everything.
    pub fn user() -> Self {
        Self { assurance: Assurance::User, principal: Some(Arc::from("urn:mcp:user")), publisher: None }
    }

    /// Somebody without a name.
    pub fn unnamed(assurance: Assurance) -> Self {
        Self { assurance, principal: None, publisher: None }
    }

    /// Whether a token names this contributor. `own` is the URI of the server that wrote the token. A token of
    /// a kind nobody knows matches nothing.
    fn matches(&self, token: &str, own: Option<&str>) -> bool {
        let named = |name: &str| self.principal.as_deref() == Some(name);
        if token == "self" {
            return own.is_some_and(named);
        }
        if let Some(publisher) = token.strip_prefix("publisher:") {
            return self.publisher.as_deref() == Some(publisher);
        }
        self.assurance.as_str() == token || named(token)
    }
}

// === impl Contributors ===

impl Contributors {
    /// The most that are kept; who names more has others, too.
    pub const LIMIT: usize = 256;

    /// These contributors; `complete` if there can be nobody else.
    pub fn new(known: impl IntoIterator<Item = Contributor>, complete: bool) -> Self {
        let mut all = Self { known: BTreeSet::new(), complete };
        for contributor in known {
            all.add(contributor);
        }
        all
    }

    /// Nobody is known, and there may be anybody: what a missing label means.
    pub fn unknown() -> Self {
        Self::new([], false)
    }

    fn add(&mut self, contributor: Contributor) {
        if self.known.len() < Self::LIMIT {
            self.known.insert(contributor);
        } else if !self.known.contains(&contributor) {
            self.complete = false;
        }
    }

    /// Both together.
    #[must_use]
    pub fn and(mut self, others: &Self) -> Self {
        self.complete &= others.complete;
        for contributor in &others.known {
            self.add(contributor.clone());
        }
        self
    }

    /// Those that are known.
    pub fn known(&self) -> impl Iterator<Item = &Contributor> {
        self.known.iter()
    }

    /// Whether there is nobody else.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// The first contributor that matches none of the tokens. An incomplete list has one more, unverified.
    pub fn refused_by(&self, tokens: &[Arc<str>], own: Option<&str>) -> Option<Contributor> {
        let refused = |contributor: &Contributor| !tokens.iter().any(|token| contributor.matches(token, own));
        let stranger = Contributor::unnamed(Assurance::Unverified);
        if !self.complete && refused(&stranger) {
            return Some(stranger);
        }
        self.known.iter().find(|contributor| refused(contributor)).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "https://own.example/mcp";

    fn server(principal: &str, assurance: Assurance) -> Contributor {
        Contributor { principal: Some(principal.into()), ..Contributor::unnamed(assurance) }
    }

    fn accepted(contributors: &Contributors, tokens: &[&str]) -> bool {
        let tokens: Vec<Arc<str>> = tokens.iter().map(|token| Arc::from(*token)).collect();
        contributors.refused_by(&tokens, Some(OWN)).is_none()
    }

    #[test]
    fn every_contributor_must_match_some_token() {
        let both = Contributors::new(
            [Contributor::user(), server("https://other.example/mcp", Assurance::Verified)],
            true,
        );
        assert!(accepted(&both, &["user", "verified"]));
        assert!(accepted(&both, &["user", "https://other.example/mcp"]));
        assert!(!accepted(&both, &["user"]));
        assert!(!accepted(&both, &["user", "https://third.example/mcp"]));
        assert!(!accepted(&both, &[]));
    }

    #[test]
    fn an_incomplete_list_holds_a_stranger() {
        let user = |complete| Contributors::new([Contributor::user()], complete);
        assert!(accepted(&user(true), &["user"]));
        assert!(!accepted(&user(false), &["user", "host", "verified"]));
        assert!(accepted(&user(false), &["user", "unverified"]));
        assert!(!accepted(&Contributors::unknown(), &["self", "user", "host", "verified"]));
    }

    #[test]
    fn an_unknown_token_matches_nothing() {
        let verified = Contributors::new([server("https://a.example", Assurance::Verified)], true);
        assert!(!accepted(&verified, &["com.example.tier:gold", "Verified", "anyone", ""]));
    }

    #[test]
    fn a_withheld_name_matches_neither_self_nor_publisher() {
        let own = server(OWN, Assurance::Unverified);
        assert!(accepted(&Contributors::new([own], true), &["self"]));
        let unnamed = Contributors::new([Contributor::unnamed(Assurance::Unverified)], true);
        assert!(!accepted(&unnamed, &["self", "publisher:https://pub.example"]));
        let published = Contributor {
            publisher: Some("https://pub.example".into()),
            ..Contributor::unnamed(Assurance::Verified)
        };
        assert!(accepted(&Contributors::new([published], true), &["publisher:https://pub.example"]));
    }

    #[test]
    fn joining_keeps_everybody_and_every_doubt() {
        let user = Contributors::new([Contributor::user()], true);
        let stranger = Contributors::new([Contributor::unnamed(Assurance::Unverified)], true);
        assert!(!accepted(&user.clone().and(&stranger), &["user"]));
        assert!(!user.clone().and(&Contributors::new([], false)).is_complete());
        let many = Contributors::new(
            (0..300).map(|number| server(&format!("https://{number}.example"), Assurance::Verified)),
            true,
        );
        assert!(!many.is_complete());
        assert_eq!(many.known().count(), Contributors::LIMIT);
    }
}
