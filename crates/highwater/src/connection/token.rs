//! The token of a host: one of its own, so that its conversations, its limits and its end are its own.

use anyhow::Context;
use highwater_core::grant::{AcceptedWords, Forms, Grant, Limits};
use highwater_hosts::host::Host;
use highwater_store::TokenTerms;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::command::named;
use crate::command::token::ask;
use crate::exit::Failure;
use crate::local::hello::Ask;
use crate::place::Places;

/// A token that was given to a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HostToken {
    pub(crate) name: String,
    pub(crate) secret: String,
    /// Whether the configuration says what it grants. Such a token outlives the connection.
    #[serde(default)]
    pub(crate) configured: bool,
}

/// Which token a host is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TokenChoice {
    /// The one that it has.
    Keep(HostToken),
    /// A new one of this name, with everything granted.
    Create(String),
    /// The one that the configuration names, which has no secret yet.
    Configured(String),
    /// The same with a new secret: nobody who is known has the old one.
    Rotate(String),
}

/// A token in the list.
#[derive(Debug, Deserialize)]
struct Listed {
    name: String,
    status: String,
    source: String,
}

/// What making a token answers.
#[derive(Debug, Deserialize)]
struct Made {
    secret: String,
}

// === impl TokenChoice ===

impl TokenChoice {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Keep(token) => &token.name,
            Self::Create(name) | Self::Configured(name) | Self::Rotate(name) => name,
        }
    }
}

/// The token for a host: the one it has, if that still opens anything, or one whose name is free.
pub(crate) fn choose(
    places: &Places,
    host: Host,
    wanted: Option<&str>,
    earlier: Option<&HostToken>,
) -> Result<TokenChoice, Failure> {
    let tokens = listed(places)?;
    let find = |name: &str| tokens.iter().find(|token| token.name == name);
    let stays = |token: &HostToken| {
        find(&token.name).is_some_and(|listed| listed.status == "active")
            && wanted.is_none_or(|name| name == token.name)
    };
    if let Some(token) = earlier.filter(|token| stays(token)) {
        return Ok(TokenChoice::Keep(token.clone()));
    }
    let base = wanted.unwrap_or(host.name());
    let numbered = (2..).map(|number| format!("{base}-{number}"));
    for name in std::iter::once(base.to_owned()).chain(numbered) {
        match find(&name).map(|token| (token.status.as_str(), token.source.as_str())) {
            None => return Ok(TokenChoice::Create(name)),
            Some(("no-secret", _)) => return Ok(TokenChoice::Configured(name)),
            Some(("active", "configuration")) => return Ok(TokenChoice::Rotate(name)),
            // Taken, or used up: names of tokens are never given twice.
            Some(_) if wanted.is_some() => {
                return Err(Failure::failed(format_args!("there is a token `{name}` already"))
                    .help("choose another name, or leave `--token` out"));
            }
            Some(_) => {}
        }
    }
    Err(Failure::failed("no name is left for a token"))
}

/// Makes what was chosen.
pub(crate) fn make(places: &Places, choice: TokenChoice) -> Result<HostToken, Failure> {
    let person = named(None);
    let (name, what, configured) = match choice {
        TokenChoice::Keep(token) => return Ok(token),
        TokenChoice::Create(name) => {
            let terms = Some(Box::new(terms()));
            (name.clone(), Ask::CreateToken { name, terms, person }, false)
        }
        TokenChoice::Configured(name) => (name.clone(), Ask::CreateToken { name, terms: None, person }, true),
        TokenChoice::Rotate(name) => (name.clone(), Ask::RotateToken { name, person }, true),
    };
    let made: Made = read(&ask(places, what)?)?;
    Ok(HostToken { name, secret: made.secret, configured })
}

/// Ends what the secret of a token opens. One that the configuration has keeps its name for the next connection.
pub(crate) fn withdraw(places: &Places, token: &HostToken) -> Result<(), Failure> {
    let found = listed(places)?.into_iter().find(|listed| listed.name == token.name);
    if found.is_none_or(|listed| listed.status == "revoked") {
        return Ok(());
    }
    let (name, person) = (token.name.clone(), named(None));
    let what = match token.configured {
        true => Ask::RotateToken { name, person },
        false => Ask::RevokeToken { name, person },
    };
    ask(places, what).map(|_| ())
}

/// Everything: what its user may do, the host may ask for. The person who sits there answers its forms, and the words are
/// theirs.
fn terms() -> TokenTerms {
    let grant = Grant::everything().clone();
    TokenTerms {
        grant,
        limits: Limits::default(),
        user: None,
        forms: Forms::Person,
        words: AcceptedWords::Owner,
    }
}

fn listed(places: &Places) -> Result<Vec<Listed>, Failure> {
    read(&ask(places, Ask::Tokens)?)
}

fn read<'a, T: Deserialize<'a>>(answer: &'a RawValue) -> Result<T, Failure> {
    Ok(serde_json::from_str(answer.get())
        .context("the gateway speaks another language; is it of another version?")?)
}
