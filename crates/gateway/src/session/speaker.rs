//! Words that somebody tells of a client from outside its connection: where a story is told, in place of the host's hooks.

use std::sync::Arc;

use highwater_core::grant::AcceptedWords;
use highwater_core::id::VirtualServerId;

use super::Place;
use crate::gateway::{Gateway, now};
use crate::world::DEFAULT_VIRTUAL_SERVER;

/// A client, by what it comes with.
pub struct Speaker<'a> {
    /// Its token.
    pub token: &'a str,
    /// The virtual server in its address, if there is one.
    pub virtual_server: Option<&'a str>,
    /// The context in its address.
    pub context: Option<&'a str>,
    /// The transport session that it was given.
    pub transport_session: Option<&'a str>,
}

impl Gateway {
    /// Tells what the user says in the conversation of a client. Says whether its prompts are anybody's words.
    pub async fn tell_words(&self, speaker: &Speaker<'_>, turn: &str, typed: &str) -> bool {
        let token = if speaker.token == self.agent_token {
            Arc::clone(&self.tokens.agent)
        } else {
            match self.tokens.find(speaker.token.as_bytes(), now()) {
                Ok(token) => token,
                Err(_) if self.siblings.is_agent(speaker.token.as_bytes()).is_ok() => {
                    Arc::clone(&self.tokens.agent)
                }
                Err(_) => return false,
            }
        };
        if token.standing().words == AcceptedWords::None {
            return false;
        }
        let virtual_server = VirtualServerId::new(speaker.virtual_server.unwrap_or(DEFAULT_VIRTUAL_SERVER));
        let place = speaker.transport_session.map_or(Place::Anywhere, Place::Transport);
        let caller = self.caller(token, virtual_server, speaker.context, place, None);
        self.begin(&caller.session, &caller.token).await;
        self.evidence.hear_words(&caller.session, turn, typed).await;
        true
    }
}
