//! What a conversation has said and read.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use highwater_core::annotation::{ArgumentRole, Outcome};
use highwater_core::id::UpstreamId;

use crate::act::Act;
use crate::argument::{Leaf, leaves};
use crate::carrier::{Carrier, host_of};
use crate::kept::Kept;
use crate::normal::normal;
use crate::request::Turns;
use crate::value::Value;
use crate::{Call, Directory, Reply, Sight, sight, text};

/// How much of the replies that can be evidence is kept of one conversation. Older ones go first, and what they listed
/// is then no longer known to be all there is.
pub const KEPT_BYTES: usize = 512 * 1024;

/// How much of the replies of strangers is kept for explanations.
pub const SEEN_BYTES: usize = 256 * 1024;

/// How many such replies are kept.
const SEEN_REPLIES: usize = 256;

/// How many values of approved calls and of acts are remembered, each.
pub const REMEMBERED_VALUES: usize = 1024;

/// The longest such value.
const LONGEST_VALUE: usize = 512;

/// What one conversation has said and read.
#[derive(Clone, Debug)]
pub struct Evidence {
    directory: Arc<Directory>,
    has_words: bool,
    pub(crate) turns: Turns,
    /// Replies in the order in which they came, those that can be evidence and those that only explain.
    kept: VecDeque<Arc<Kept>>,
    kept_bytes: usize,
    /// Of those that only explain.
    seen_bytes: usize,
    seen: usize,
    approved: VecDeque<Approved>,
    taken: VecDeque<Taken>,
    has_acted: bool,
    /// Kinds of which not everything that was listed is known here.
    incomplete: BTreeSet<(UpstreamId, Arc<str>)>,
    is_incomplete: bool,
}

/// A value of a call to which a person said yes.
#[derive(Clone, Debug)]
pub(crate) struct Approved {
    turn: usize,
    server: UpstreamId,
    tool: Arc<str>,
    key: Arc<str>,
    role: ArgumentRole,
    normal: String,
    /// What it is, if it leads somewhere. What a name holds besides was not what the person looked at.
    carrier: Option<Carrier>,
}

/// A value of an act that was permitted.
#[derive(Clone, Debug)]
pub(crate) struct Taken {
    pub(crate) turn: usize,
    pub(crate) server: UpstreamId,
    pub(crate) key: Arc<str>,
    pub(crate) normal: String,
    /// Where it is a path: what lies below it is in use.
    pub(crate) path: Option<String>,
}

// === impl Evidence ===

impl Evidence {
    /// Of a conversation that has just begun.
    pub fn new(directory: Arc<Directory>) -> Self {
        Self {
            directory,
            has_words: false,
            turns: Turns::default(),
            kept: VecDeque::new(),
            kept_bytes: 0,
            seen_bytes: 0,
            seen: 0,
            approved: VecDeque::new(),
            taken: VecDeque::new(),
            has_acted: false,
            incomplete: BTreeSet::new(),
            is_incomplete: false,
        }
    }

    /// Replaces the directory, after a lookup.
    pub fn set_directory(&mut self, directory: Arc<Directory>) {
        self.directory = directory;
    }

    /// This conversation tells the user's words: its host's hooks have been heard. From here on missing words are
    /// words that say nothing.
    pub fn brings_words(&mut self) {
        self.has_words = true;
    }

    /// Whether it does.
    pub fn has_words(&self) -> bool {
        self.has_words
    }

    /// The words of a turn, as the user typed them; empty where they are not the user's. A turn that was told before
    /// may be told again.
    pub fn words(&mut self, turn: &str, typed: &str) {
        self.has_words = true;
        self.turns.tell(turn, typed);
    }

    /// A call follows from this turn, whose words may never come.
    pub fn turn(&mut self, turn: &str) {
        self.turns.begin(turn);
    }

    /// A person said yes to this call.
    pub fn approved(&mut self, call: &Call<'_>) {
        let turn = self.turns.now();
        let decides = |leaf: &Leaf| {
            matches!(leaf.role, ArgumentRole::Target | ArgumentRole::Object | ArgumentRole::Secret)
        };
        for leaf in leaves(call).unwrap_or_default().into_iter().filter(decides) {
            let written = leaf.given.written();
            if written.len() > LONGEST_VALUE {
                continue;
            }
            remember(
                &mut self.approved,
                Approved {
                    turn,
                    server: call.server.clone(),
                    tool: call.tool.into(),
                    key: leaf.key.into(),
                    role: leaf.role,
                    normal: normal(&written),
                    carrier: Value::new(&written).carrier(),
                },
            );
        }
    }

    /// A call is sent. One that acts closes the request with this turn, unless it only lets somebody in.
    pub fn acted(&mut self, call: &Call<'_>) {
        if call.outcome == Outcome::Benign {
            return;
        }
        self.has_acted = true;
        if !Act::of(call).is_entry() {
            self.turns.act();
        }
        let turn = self.turns.now();
        let is_used = |leaf: &Leaf| matches!(leaf.role, ArgumentRole::Object | ArgumentRole::Name);
        for leaf in leaves(call).unwrap_or_default() {
            let written = leaf.given.written();
            let path = text::path(&written);
            if written.len() <= LONGEST_VALUE && (is_used(&leaf) || path.is_some()) {
                let normal = if is_used(&leaf) { normal(&written) } else { String::new() };
                let server = call.server.clone();
                remember(&mut self.taken, Taken { turn, server, key: leaf.key.into(), normal, path });
            }
        }
    }

    /// A reply was delivered.
    pub fn reply(&mut self, reply: &Reply<'_>) {
        let kept = Kept::new(reply, self.turns.now());
        let bytes = kept.bytes();
        if kept.is_evidence() {
            if bytes > KEPT_BYTES {
                self.miss(&kept);
                return;
            }
            self.kept_bytes += bytes;
            self.kept.push_back(Arc::new(kept));
            while self.kept_bytes > KEPT_BYTES && self.evict() {}
        } else if bytes <= SEEN_BYTES {
            self.seen_bytes += bytes;
            self.kept.push_back(Arc::new(kept));
            self.seen += 1;
            while self.seen_bytes > SEEN_BYTES || self.seen > SEEN_REPLIES {
                let Some(at) = self.kept.iter().position(|kept| !kept.is_evidence()) else { break };
                self.seen_bytes -= self.kept.remove(at).map_or(0, |kept| kept.body_bytes());
                self.seen -= 1;
            }
        }
    }

    /// Something that this conversation said or read is not known here: the process was started again, or another one
    /// raised the label. Nothing that was listed is known to be all there is, from now on, and whatever was asked for
    /// before this turn may have been done.
    pub fn lose(&mut self) {
        self.is_incomplete = true;
        self.turns.close();
    }

    /// The bytes of replies that are kept, and of what was made of them when they were read.
    pub fn bytes(&self) -> usize {
        self.kept.iter().map(|kept| kept.bytes()).sum()
    }

    /// Lets go of the oldest reply that can be evidence, and of every older one. Says whether there was one.
    pub fn evict(&mut self) -> bool {
        let Some(at) = self.kept.iter().position(|kept| kept.is_evidence()) else {
            (self.seen_bytes, self.seen) = (0, 0);
            self.kept.clear();
            return false;
        };
        let gone: Vec<Arc<Kept>> = self.kept.drain(..=at).collect();
        for kept in gone {
            if kept.is_evidence() {
                self.kept_bytes -= kept.body_bytes();
                self.miss(&kept);
            } else {
                self.seen_bytes -= kept.body_bytes();
                self.seen -= 1;
            }
        }
        true
    }

    /// The first reply in which this value stands, if any that is still kept.
    pub fn first_sight(&self, value: &str) -> Option<Sight> {
        sight::first_sight(self.kept.iter().map(|kept| &**kept), value)
    }

    fn miss(&mut self, kept: &Kept) {
        self.incomplete.insert((kept.server.clone(), Arc::clone(&kept.kind)));
    }

    pub(crate) fn directory(&self) -> &Directory {
        &self.directory
    }

    pub(crate) fn has_acted(&self) -> bool {
        self.has_acted
    }

    /// The replies that can be evidence, in the order in which they came.
    pub(crate) fn replies(&self) -> impl Iterator<Item = &Kept> {
        self.kept.iter().map(|kept| &**kept).filter(|kept| kept.is_evidence())
    }

    /// What acts of this conversation took.
    pub(crate) fn taken(&self) -> impl Iterator<Item = &Taken> {
        self.taken.iter()
    }

    /// Values to which a person said yes in the open request.
    pub(crate) fn approvals(&self) -> impl Iterator<Item = &Approved> {
        let open = self.turns.open_from();
        self.approved.iter().filter(move |approved| approved.turn >= open)
    }

    /// Whether something that this server listed was forgotten.
    pub(crate) fn has_lost(&self, server: &UpstreamId) -> bool {
        self.is_incomplete || self.incomplete.iter().any(|(lost, _)| lost == server)
    }

    /// Whether everything of this kind that was listed is known here.
    pub(crate) fn is_complete(&self, server: &UpstreamId, kind: &Arc<str>) -> bool {
        let is_partial =
            |kept: &Kept| kept.server == *server && kept.kind == *kind && kept.listing().is_partial;
        !self.is_incomplete
            && !self.incomplete.contains(&(server.clone(), Arc::clone(kind)))
            && !self.replies().any(is_partial)
    }
}

// === impl Approved ===

impl Approved {
    /// Whether it is this value of this argument of this tool.
    pub(crate) fn is_for(&self, call: &Call<'_>, key: &str, normal: &str) -> bool {
        self.server == *call.server && *self.tool == *call.tool && *self.key == *key && self.normal == normal
    }

    /// Whether it is a target of a call to this server.
    pub(crate) fn is_target_of(&self, server: &UpstreamId, normal: &str) -> bool {
        self.server == *server && self.role == ArgumentRole::Target && self.normal == normal
    }

    /// Mail addresses and pages hold for other tools, too.
    pub(crate) fn carries(&self, carrier: &Carrier) -> bool {
        !matches!(carrier, Carrier::Code(_)) && self.carrier.as_ref() == Some(carrier)
    }

    /// Whether it leads to this host.
    pub(crate) fn names_host(&self, host: &str) -> bool {
        self.carrier.as_ref().and_then(host_of) == Some(host)
    }
}

fn remember<T>(values: &mut VecDeque<T>, value: T) {
    if values.len() == REMEMBERED_VALUES {
        values.pop_front();
    }
    values.push_back(value);
}
