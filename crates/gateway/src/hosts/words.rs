//! Whose words the prompt of a turn is. It is found out at the first call that follows from the prompt, not in the hook: the
//! host writes down where a prompt came from a little after it has told of it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

use highwater_core::grant;
use highwater_hosts::ancestry::Ancestry;
use highwater_hosts::binding::{KeptPrompt, Node};
use highwater_hosts::event::TurnId;
use highwater_hosts::host::Host;
use highwater_hosts::transcript::{PromptLine, find_prompt};
use highwater_hosts::words::{AcceptedWords, Circumstances, NotTheUsers, Words, words};
use highwater_provenance::OPEN_TURNS;
use highwater_store::StoreError;

use super::bind::Bound;
use super::native::strangers;
use super::state::State;
use crate::gateway::Gateway;
use crate::tokens::Token;

/// How much of the end of a transcript is looked at. A prompt stands near the end when what follows from it is judged.
const LONGEST_TRANSCRIPT: u64 = 16 << 20;

/// How often, and how long apart, the transcript is looked at for a line that is not there yet.
pub(super) const LOOKS: usize = 6;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// What is known of the prompt of a turn, before anybody has asked whose words it is.
struct PromptOrigin {
    prompt: KeptPrompt,
    ancestry: Ancestry,
    confirmed: bool,
    /// The transcript that the host itself named for the conversation.
    transcript: Option<String>,
}

impl Gateway {
    /// Finds out whose words the prompt is that a call follows from, if nobody has yet, and keeps them as evidence.
    ///
    /// # Errors
    ///
    /// The prompt is a stranger's, and what that does to the label could not be stored.
    pub(super) async fn learn_words(&self, bound: &Bound, token: &Token) -> Result<(), StoreError> {
        let Some(turn) = &bound.turn else { return Ok(()) };
        let (node, accepted) = (&bound.node, accepted(token.standing().words));
        let root = Node { conversation: node.conversation.clone(), agent: None };
        // Who is asked back and says "yes, go ahead" still means what they said before.
        let earlier = self.hosts.state.lock().await.unsettled_before(&root, turn);
        for earlier in &earlier {
            self.learn(node, earlier, accepted, 1).await?;
        }
        self.evidence.hear_turn(&self.session_of_node(&root), turn.as_str()).await;
        self.learn(node, turn, accepted, LOOKS).await
    }

    /// The same for the prompt of a turn of a node. `looks` says how often its transcript is looked at for a line that is
    /// not there yet.
    pub(super) async fn learn(
        &self,
        node: &Node,
        turn: &TurnId,
        accepted: AcceptedWords,
        looks: usize,
    ) -> Result<(), StoreError> {
        let root = Node { conversation: node.conversation.clone(), agent: None };
        let Some(known) = self.hosts.state.lock().await.unsettled(&root, turn) else { return Ok(()) };
        let found = match (accepted, root.conversation.host) {
            // Nobody looks for what does not count.
            (AcceptedWords::None, _) | (_, Host::Codex) => None,
            (_, Host::ClaudeCode) => line_of(&known, turn, looks).await,
        };
        let said = known.judged(turn, accepted, found.as_ref());
        let is_final = said.as_ref().err().is_none_or(|why| !why.may_change());
        match &said {
            Err(NotTheUsers::Unconfirmed) => self.hosts.state.lock().await.postpone(&root, turn, accepted),
            _ if is_final => self.hosts.state.lock().await.settle(&root, turn),
            _ => {}
        }
        match said {
            Ok(said) => {
                let session = self.session_of_node(&root);
                self.evidence.hear_words(&session, said.turn.as_str(), &said.text).await;
                self.remark(&root, "words", &format!("turn `{turn}` brings the user's words"));
            }
            Err(why) => {
                tracing::debug!(%turn, %why, "a prompt is not taken for the user's words");
                if is_final {
                    self.remark(&root, "no-words", &format!("turn `{turn}` brings no words: {why}"));
                }
                // What people write to whom the operator does not speak for is a reply from strangers.
                if why == NotTheUsers::NotAccepted {
                    let origin = format!("host:{}:prompt", root.conversation.host);
                    self.raise_node(&root, &strangers().with_origin(&origin)).await?;
                    self.raise_node(node, &strangers().with_origin(&origin)).await?;
                }
            }
        }
        Ok(())
    }
}

// === impl State ===

impl State {
    /// The prompt of a turn, unless it is settled whose words it is.
    fn unsettled(&mut self, root: &Node, turn: &TurnId) -> Option<PromptOrigin> {
        let key = &root.conversation;
        let confirmed = self.binding.is_confirmed(key);
        let prompt = self.binding.prompt(key, turn)?.clone();
        let heard = self.heard(key).filter(|heard| !heard.is_settled(turn))?;
        Some(PromptOrigin { prompt, ancestry: heard.ancestry, confirmed, transcript: heard.transcript() })
    }

    /// The turns before this one from which no call has followed, as far as a request may reach back, the oldest first.
    fn unsettled_before(&mut self, root: &Node, turn: &TurnId) -> Vec<TurnId> {
        let mut earlier = self.binding.turns_before(&root.conversation, turn);
        let Some(heard) = self.heard(&root.conversation) else { return Vec::new() };
        if heard.is_settled(turn) {
            return Vec::new();
        }
        earlier.drain(..earlier.len().saturating_sub(OPEN_TURNS - 1));
        earlier.retain(|earlier| !heard.is_settled(earlier));
        earlier
    }

    /// Leaves the words of a turn until somebody says that the conversation is theirs.
    fn postpone(&mut self, root: &Node, turn: &TurnId, accepted: AcceptedWords) {
        if let Some(heard) = self.heard(&root.conversation) {
            heard.postponed = Some((turn.clone(), accepted));
        }
    }

    fn settle(&mut self, root: &Node, turn: &TurnId) {
        if let Some(heard) = self.heard(&root.conversation) {
            heard.settle(turn);
        }
    }
}

// === impl PromptOrigin ===

impl PromptOrigin {
    fn judged(
        &self,
        turn: &TurnId,
        accepted: AcceptedWords,
        line: Option<&PromptLine>,
    ) -> Result<Words, NotTheUsers> {
        let given = Circumstances {
            accepted,
            // What is kept is the first of its turn.
            turn_was_seen: false,
            origin: line.map_or(&self.prompt.origin, |line| &line.origin),
            recorded_text: line.and_then(|line| line.text.as_deref()),
            acting_turn: Some(turn),
            ancestry: self.ancestry,
            confirmed: self.confirmed,
        };
        words(&self.prompt.event, &given)
    }
}

/// The line of a prompt in the transcript that the host named. A prompt that names another one has none.
async fn line_of(known: &PromptOrigin, turn: &TurnId, looks: usize) -> Option<PromptLine> {
    let path = known.transcript.clone()?;
    if known.prompt.event.transcript.as_ref() != Some(&path) {
        return None;
    }
    for look in 0..looks {
        if look > 0 {
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        let (path, turn) = (path.clone(), turn.clone());
        let found = tokio::task::spawn_blocking(move || {
            let text = end_of(&path)?;
            Ok::<_, io::Error>(find_prompt(&text, &turn))
        });
        match found.await {
            Ok(Ok(Some(line))) => return Some(line),
            Ok(Ok(None)) => {}
            Ok(Err(error)) => tracing::debug!(%error, "a transcript cannot be read"),
            Err(error) => tracing::error!(%error, "a transcript was not read"),
        }
    }
    None
}

/// The end of a file, whole lines only.
fn end_of(path: &str) -> io::Result<String> {
    // A pipe in its place must not keep us waiting.
    let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
    let mut file: File = OpenOptions::new().read(true).custom_flags(nonblocking).open(path)?;
    let known = file.metadata()?;
    if !known.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let from = known.len().saturating_sub(LONGEST_TRANSCRIPT);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(LONGEST_TRANSCRIPT).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let whole = if from > 0 { text.split_once('\n').map_or("", |(_, rest)| rest) } else { &text };
    Ok(whole.to_owned())
}

fn accepted(words: grant::AcceptedWords) -> AcceptedWords {
    match words {
        grant::AcceptedWords::Owner => AcceptedWords::Owner,
        grant::AcceptedWords::Sdk => AcceptedWords::Sdk,
        grant::AcceptedWords::None => AcceptedWords::None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_a_file_is_a_transcript() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t.jsonl");
        fs::write(&file, "a\nb\n").unwrap();
        assert_eq!(end_of(file.to_str().unwrap()).unwrap(), "a\nb\n");
        assert!(end_of(folder.path().to_str().unwrap()).is_err());
        assert!(end_of("/dev/null").is_err());
    }
}
