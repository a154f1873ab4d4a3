//! What conversations have said and read, for as long as this process runs: the evidence that the arguments of calls are
//! held against. It lies in memory and nowhere else, and whatever is lost of it only makes the gateway ask more.
//!
//! Only conversations that tell the user's words are kept here: without words nothing is vouched for.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use arc_swap::ArcSwap;
use highwater_config::{DirectoryEntry, Settings};
use highwater_core::id::{DecisionId, SessionKey, UpstreamId};
use highwater_core::provenance::People;
use highwater_provenance::{Body, Directory, Evidence};
use highwater_store::{SessionHandle, SessionKind};
use tokio::time::{Duration, Instant};

use crate::gateway::fresh_id;

/// How many conversations are kept. The one that was used longest ago goes first.
const MAX_CONVERSATIONS: usize = 4096;

/// How much of the replies of all conversations is kept. What the conversation holds that was used longest ago goes first.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// How many calls are known by name in whose replies something was read. It is for explanations alone.
const MAX_READS: usize = 256;

/// How many bytes of arguments are kept of such a call; one with more is known by its name.
const MAX_READ_ARGUMENTS: usize = 1024;

/// After this time the tools that list people are asked again.
const PEOPLE_AGAIN: Duration = Duration::from_secs(10 * 60);

/// The evidence of every conversation that tells its words.
pub(crate) struct Evidences {
    /// How many there are: while there is none, no call waits for the lock.
    count: AtomicUsize,
    conversations: RwLock<HashMap<SessionKey, Entry>>,
    directory: ArcSwap<Directory>,
    people: Mutex<KnownPeople>,
    /// Whether the configuration names tools that list people.
    has_people_tools: AtomicBool,
    /// Moves with every use.
    clock: AtomicU64,
    /// The bytes of all that is kept.
    bytes: Arc<AtomicUsize>,
    /// Other gateways serve the same conversations, so that replies are read that are not known here.
    is_shared: bool,
    bounds: Bounds,
}

/// Whom the operator knows.
struct KnownPeople {
    /// As the configuration says.
    written: Directory,
    /// As the tools say that the configuration names, by server and tool.
    listed: BTreeMap<(String, String), Body>,
    /// When they are to be asked again.
    next: Option<Instant>,
}

/// What is kept at most.
#[derive(Clone, Copy)]
struct Bounds {
    conversations: usize,
    bytes: usize,
}

/// The conversation of one agent session.
#[derive(Clone)]
struct Entry {
    /// The epoch of the session's label that the evidence belongs to; nothing where it could not be read.
    epoch: Option<u64>,
    conversation: Arc<Conversation>,
}

/// One conversation. A sub-agent has that of the request that started it.
struct Conversation {
    used: AtomicU64,
    heard: Mutex<ConversationEvidence>,
    all_bytes: Arc<AtomicUsize>,
}

struct ConversationEvidence {
    evidence: Evidence,
    /// The turn in which the user said something last, and a name of ours for it.
    turn: Option<(Box<str>, Arc<str>)>,
    /// The tools that somebody was asked about since, by their servers.
    asked: BTreeSet<(UpstreamId, Arc<str>)>,
    /// The calls whose replies were read, the oldest first.
    reads: VecDeque<Arc<ReadCall>>,
    /// As many bytes of it are counted among all.
    counted: usize,
}

/// A call whose reply was read, for those who are told where a value came from.
#[derive(Debug)]
pub(crate) struct ReadCall {
    pub(crate) decision: DecisionId,
    pub(crate) server: UpstreamId,
    /// The tool as its server names it, and as the client does.
    pub(crate) tool: Arc<str>,
    pub(crate) shown: Arc<str>,
    /// The arguments as JSON text.
    pub(crate) arguments: Box<str>,
}

// === impl Evidences ===

impl Evidences {
    pub(crate) fn new(is_shared: bool) -> Self {
        Self::bounded(is_shared, Bounds { conversations: MAX_CONVERSATIONS, bytes: MAX_BYTES })
    }

    fn bounded(is_shared: bool, bounds: Bounds) -> Self {
        Self {
            count: AtomicUsize::new(0),
            conversations: RwLock::default(),
            directory: ArcSwap::from_pointee(Directory::new([], People::Directory)),
            people: Mutex::new(KnownPeople {
                written: Directory::new([], People::Directory),
                listed: BTreeMap::new(),
                next: None,
            }),
            has_people_tools: AtomicBool::new(false),
            clock: AtomicU64::new(0),
            bytes: Arc::default(),
            is_shared,
            bounds,
        }
    }

    /// Takes up whom the operator knows.
    pub(crate) fn adopt(&self, settings: &Settings) {
        let mut written = Directory::new(settings.identity.iter().map(String::as_str), settings.people);
        for entry in &settings.directory {
            if let DirectoryEntry::Person { name, addresses } = entry {
                addresses.iter().for_each(|address| written.add(name, address));
            }
        }
        let has_tools = settings.directory.iter().any(|entry| matches!(entry, DirectoryEntry::Tool { .. }));
        let people = KnownPeople { written, listed: BTreeMap::new(), next: None };
        self.has_people_tools.store(has_tools, Ordering::Release);
        *locked(&self.people) = people;
        self.renew_directory();
    }

    /// Whether the tools that list people are to be asked now, for a session that may need them. Who is told so asks.
    pub(crate) fn wants_people(&self, session: &SessionHandle) -> bool {
        if !self.has_people_tools.load(Ordering::Acquire) || !self.may_have(session) {
            return false;
        }
        let mut people = locked(&self.people);
        let is_due = people.next.is_none_or(|next| next <= Instant::now());
        if is_due {
            people.next = Some(Instant::now() + PEOPLE_AGAIN);
        }
        is_due
    }

    /// Takes up whom a tool lists that the operator names.
    pub(crate) fn learn_people(&self, server: &str, tool: &str, reply: Body) {
        locked(&self.people).listed.insert((server.to_owned(), tool.to_owned()), reply);
        self.renew_directory();
    }

    fn renew_directory(&self) {
        let directory = {
            let people = locked(&self.people);
            let mut directory = people.written.clone();
            people.listed.values().for_each(|reply| directory.read(reply));
            Arc::new(directory)
        };
        self.directory.store(Arc::clone(&directory));
        for entry in self.read().values() {
            locked(&entry.conversation.heard).evidence.set_directory(Arc::clone(&directory));
        }
    }

    /// The user's words of a turn. A conversation of which something was read before is one of which not everything is
    /// known: it was begun before this process, or before its host told any words.
    pub(crate) async fn hear_words(&self, session: &SessionHandle, turn: &str, typed: &str) {
        let entry = self.begun(session).await;
        self.look(&entry.conversation, |evidence| evidence.words(turn, typed));
        locked(&entry.conversation.heard).begin_turn(turn);
    }

    /// A call follows from this turn. Where its words never come, those of a request that was done do not stand in.
    pub(crate) async fn hear_turn(&self, session: &SessionHandle, turn: &str) {
        let entry = self.begun(session).await;
        self.look(&entry.conversation, |evidence| evidence.turn(turn));
        locked(&entry.conversation.heard).begin_turn(turn);
    }

    /// The host of a conversation tells words, whether or not it has told any yet. From here on missing words are words
    /// that say nothing. One that is not fresh goes on with what was read elsewhere: before its host told of it, or in the
    /// conversation that it was copied from.
    pub(crate) async fn bring_words(&self, session: &SessionHandle, is_fresh: bool) {
        let entry = self.begun(session).await;
        if !is_fresh {
            self.look(&entry.conversation, Evidence::lose);
        }
    }

    /// A sub-agent is judged by the words of the request that started it; what it is told to do are nobody's words. What it
    /// reads is read in that conversation, too.
    pub(crate) async fn share(&self, child: &SessionHandle, parent: &SessionHandle) {
        let parent = self.begun(parent).await;
        let state = child.current().await.ok();
        let is_new = state.as_ref().is_some_and(|state| state.version == 0);
        let epoch = state.map(|state| state.epoch);
        let known = self.entry(child.key()).is_some_and(|known| {
            known.epoch == epoch && Arc::ptr_eq(&known.conversation, &parent.conversation)
        });
        if known {
            return;
        }
        if !is_new {
            self.look(&parent.conversation, Evidence::lose);
        }
        self.keep(child.key(), Entry { epoch, conversation: parent.conversation });
    }

    /// A conversation is over, or its host began another under the same name.
    pub(crate) fn forget(&self, session: &SessionKey) {
        let mut conversations = self.conversations.write().unwrap_or_else(PoisonError::into_inner);
        conversations.remove(session);
        self.count.store(conversations.len(), Ordering::Release);
    }

    /// Looks at the evidence of a session's conversation, if it tells words. `epoch` is that of the label that the session
    /// has; evidence of an earlier one no longer counts.
    pub(crate) fn with<T>(
        &self,
        session: &SessionHandle,
        epoch: Option<u64>,
        look: impl FnOnce(&mut Evidence) -> T,
    ) -> Option<T> {
        let conversation = match self.entry(session.key()) {
            // What was begun in an earlier epoch is vouched for by nothing.
            Some(Entry { epoch: known, .. }) if known > epoch && epoch.is_some() => {
                return Some(look(&mut self.unknown_evidence()));
            }
            Some(Entry { epoch: known, conversation }) if known == epoch || epoch.is_none() => conversation,
            // Its words are gone, but not that it tells words.
            Some(_) => self.begun_unknown(session, epoch),
            None if is_of_host(session) => self.begun_unknown(session, epoch),
            None => return None,
        };
        Some(self.look(&conversation, look))
    }

    /// Whether a session may have evidence. Most have none, and nothing is locked to say so.
    pub(crate) fn may_have(&self, session: &SessionHandle) -> bool {
        self.count.load(Ordering::Acquire) > 0 || is_of_host(session)
    }

    /// A name of ours for what the user said last in a conversation, and whether somebody was asked about this tool since.
    pub(crate) fn open_request(
        &self,
        session: &SessionKey,
        server: &UpstreamId,
        tool: &Arc<str>,
    ) -> Option<(Arc<str>, bool)> {
        let entry = self.entry(session)?;
        let heard = locked(&entry.conversation.heard);
        let (_, request) = heard.turn.as_ref()?;
        Some((Arc::clone(request), heard.asked.contains(&(server.clone(), Arc::clone(tool)))))
    }

    /// Notes that somebody is asked about a call of a tool.
    pub(crate) fn note_question(&self, session: &SessionKey, server: &UpstreamId, tool: &Arc<str>) {
        if let Some(entry) = self.entry(session) {
            let mut heard = locked(&entry.conversation.heard);
            if heard.asked.len() < MAX_READS {
                heard.asked.insert((server.clone(), Arc::clone(tool)));
            }
        }
    }

    /// Notes a call whose reply was read, so that people can be told of it.
    pub(crate) fn note_read(&self, session: &SessionKey, mut call: ReadCall) {
        let Some(entry) = self.entry(session) else { return };
        if call.arguments.len() > MAX_READ_ARGUMENTS {
            call.arguments = "{}".into();
        }
        let mut heard = locked(&entry.conversation.heard);
        if heard.reads.len() >= MAX_READS {
            heard.reads.pop_front();
        }
        heard.reads.push_back(Arc::new(call));
    }

    /// The call whose reply was read, if it is still known.
    pub(crate) fn read_call(&self, session: &SessionKey, decision: &DecisionId) -> Option<Arc<ReadCall>> {
        let entry = self.entry(session)?;
        let heard = locked(&entry.conversation.heard);
        heard.reads.iter().find(|call| call.decision == *decision).cloned()
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<SessionKey, Entry>> {
        self.conversations.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn entry(&self, session: &SessionKey) -> Option<Entry> {
        self.read().get(session).cloned()
    }

    /// The conversation of a session, begun if there is none.
    async fn begun(&self, session: &SessionHandle) -> Entry {
        let state = session.current().await.ok();
        let epoch = state.as_ref().map(|state| state.epoch);
        if let Some(entry) = self.entry(session.key())
            && (epoch.is_none() || entry.epoch == epoch)
        {
            return entry;
        }
        let is_new = state.is_some_and(|state| state.version == 0) && self.entry(session.key()).is_none();
        let entry = Entry { epoch, conversation: Arc::new(self.conversation(!is_new)) };
        self.keep(session.key(), entry.clone());
        entry
    }

    /// A conversation in which something may have been said and read that is not known here.
    fn begun_unknown(&self, session: &SessionHandle, epoch: Option<u64>) -> Arc<Conversation> {
        let conversation = Arc::new(self.conversation(true));
        self.keep(session.key(), Entry { epoch, conversation: Arc::clone(&conversation) });
        conversation
    }

    /// A conversation that tells its words. `is_lost` says that something was read in it that is not known here.
    fn conversation(&self, is_lost: bool) -> Conversation {
        let evidence = if is_lost || self.is_shared {
            self.unknown_evidence()
        } else {
            let mut evidence = Evidence::new(self.directory.load_full());
            evidence.brings_words();
            evidence
        };
        Conversation {
            used: AtomicU64::new(self.clock.fetch_add(1, Ordering::Relaxed)),
            heard: Mutex::new(ConversationEvidence {
                evidence,
                turn: None,
                asked: BTreeSet::new(),
                reads: VecDeque::new(),
                counted: 0,
            }),
            all_bytes: Arc::clone(&self.bytes),
        }
    }

    /// That of a conversation that tells words, of which nothing is known.
    fn unknown_evidence(&self) -> Evidence {
        let mut evidence = Evidence::new(self.directory.load_full());
        evidence.brings_words();
        evidence.lose();
        evidence
    }

    fn keep(&self, session: &SessionKey, entry: Entry) {
        let mut conversations = self.conversations.write().unwrap_or_else(PoisonError::into_inner);
        if !conversations.contains_key(session) && conversations.len() >= self.bounds.conversations {
            let oldest = conversations.iter().min_by_key(|(_, entry)| entry.conversation.last_use());
            let oldest = oldest.map(|(key, _)| key.clone());
            oldest.map(|key| conversations.remove(&key));
        }
        conversations.insert(session.clone(), entry);
        self.count.store(conversations.len(), Ordering::Release);
    }

    fn look<T>(&self, conversation: &Conversation, look: impl FnOnce(&mut Evidence) -> T) -> T {
        conversation.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        let answer = conversation.look(look);
        if self.bytes.load(Ordering::Relaxed) > self.bounds.bytes {
            self.make_room();
        }
        answer
    }

    /// Lets go of the oldest replies of the conversations that were used longest ago.
    fn make_room(&self) {
        let mut all: Vec<Arc<Conversation>> =
            self.read().values().map(|entry| Arc::clone(&entry.conversation)).collect();
        all.sort_by_key(|conversation| conversation.last_use());
        for conversation in all {
            while self.bytes.load(Ordering::Relaxed) > self.bounds.bytes && conversation.look(Evidence::evict)
            {
            }
        }
    }
}

// === impl Conversation ===

impl Conversation {
    fn last_use(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    fn look<T>(&self, look: impl FnOnce(&mut Evidence) -> T) -> T {
        let mut heard = locked(&self.heard);
        let answer = look(&mut heard.evidence);
        let (now, before) = (heard.evidence.bytes(), heard.counted);
        heard.counted = now;
        self.all_bytes.fetch_add(now, Ordering::Relaxed);
        self.all_bytes.fetch_sub(before, Ordering::Relaxed);
        answer
    }
}

// === impl ConversationEvidence ===

impl ConversationEvidence {
    /// The user says something, in a turn that may have been told of before.
    fn begin_turn(&mut self, turn: &str) {
        if self.turn.as_ref().is_none_or(|(known, _)| **known != *turn) {
            self.turn = Some((turn.into(), fresh_id().into()));
            self.asked.clear();
        }
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        let counted = self.heard.get_mut().unwrap_or_else(PoisonError::into_inner).counted;
        self.all_bytes.fetch_sub(counted, Ordering::Relaxed);
    }
}

/// Whether it is the conversation of a host whose hooks were heard: that is what such a session is made from.
fn is_of_host(session: &SessionHandle) -> bool {
    session.owner().kind == SessionKind::Host
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
