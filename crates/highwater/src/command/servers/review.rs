//! A server's definitions beside what was approved: as the gateway describes them, and as people read them.

use std::fmt::Write;

use highwater_core::annotation::NoticeKind;
use highwater_core::pin::PinDigest;
use highwater_core::profile::Profile;
use highwater_notation::Timestamp;
use highwater_pins::{PinKey, PinKind, visible};
use serde::Deserialize;
use serde_json::Value;

use super::contract::Contract;
use super::{difference, summary};
use crate::exit::Failure;
use crate::explain::when::moment;
use crate::explain::{listed, plain};

/// A server as the gateway describes it.
#[derive(Debug, Deserialize)]
pub(super) struct Review {
    pub(super) server: String,
    pub(super) state: String,
    #[serde(default)]
    label: Option<String>,
    #[serde(default)]
    reached: String,
    #[serde(default)]
    pub(super) starting: bool,
    #[serde(default)]
    failed: Option<String>,
    #[serde(default)]
    stderr: Vec<String>,
    hold: Option<String>,
    vouched: bool,
    quarantine: bool,
    manifest: String,
    #[serde(default)]
    manifest_says: Option<String>,
    #[serde(default)]
    profile: Option<Profile>,
    #[serde(default)]
    by_file: bool,
    #[serde(default)]
    described: Option<Described>,
    pub(super) digest: PinDigest,
    pub(super) items: Vec<Item>,
    history: Vec<Event>,
}

/// Who said what the server is.
#[derive(Debug, Deserialize)]
struct Described {
    person: String,
    at: Timestamp,
}

/// One definition.
#[derive(Debug, Deserialize)]
pub(super) struct Item {
    pub(super) kind: PinKind,
    pub(super) name: String,
    #[serde(default)]
    drifted: bool,
    hold: Option<String>,
    pub(super) digest: PinDigest,
    basis: Option<String>,
    believed: bool,
    #[serde(default)]
    concerns: Vec<Concern>,
    #[serde(default)]
    changes: Vec<Change>,
    #[serde(default)]
    loosens: Vec<String>,
    #[serde(default)]
    tightens: Vec<String>,
    #[serde(default)]
    would_loosen: Vec<String>,
    contract: Option<Contract>,
    #[serde(default)]
    notices: Vec<ClaimNotice>,
    definition: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Concern {
    kind: String,
    part: String,
    what: String,
}

/// Something that was noted about a claim.
#[derive(Debug, Deserialize)]
struct ClaimNotice {
    kind: String,
    axis: Option<String>,
    from: String,
    detail: String,
}

#[derive(Debug, Deserialize)]
struct Change {
    part: String,
    class: String,
    pinned: Option<Value>,
    seen: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Event {
    at: Timestamp,
    kind: PinKind,
    name: String,
    what: String,
    #[serde(default)]
    person: String,
    #[serde(default)]
    reason: String,
}

// === impl Item ===

impl Item {
    pub(super) fn key(&self) -> PinKey {
        PinKey::new(self.kind, self.name.as_str())
    }

    /// Whether somebody has to look at it.
    pub(super) fn is_open(&self) -> bool {
        self.hold.is_some() || !self.changes.is_empty() || !self.concerns.is_empty()
    }

    fn title(&self) -> String {
        plain(&self.key().to_string())
    }

    fn verdict(&self) -> String {
        let word = match self.hold.as_deref() {
            Some(hold) => format!("held: {}", hold_words(hold)),
            None if self.drifted => "drifted: in use, and not as it was approved".to_owned(),
            None => "in use".to_owned(),
        };
        let by = match self.basis.as_deref() {
            Some("person") if self.believed && self.kind == PinKind::Tool => {
                ", approved by a person, its claims believed"
            }
            Some("person") => ", approved by a person",
            Some("vouched") => ", approved because you vouch for its server",
            Some("manifest") => ", approved because its manifest signs it",
            _ => "",
        };
        format!("{word}{by}")
    }

    /// Where it stands among what there is to look at: what is flagged first, then what is held, then the rest.
    fn rank(&self) -> u8 {
        match (self.concerns.is_empty(), self.changes.is_empty(), self.hold.is_some()) {
            (false, _, _) => 0,
            (true, false, true) => 1,
            (true, false, false) => 2,
            (true, true, _) => 3,
        }
    }

    /// What there is to look at, in a line where it is new.
    fn write_short(&self, text: &mut String) -> std::fmt::Result {
        if !self.changes.is_empty() || self.hold.is_none() {
            return self.write(text, false);
        }
        let nothing = Value::Null;
        let definition = self.definition.as_ref().unwrap_or(&nothing);
        let said = match self.kind {
            PinKind::Identity => definition.get("name"),
            _ => definition.get("description").or(definition.get("title")),
        };
        let said = said.unwrap_or(definition);
        let sentence = summary::first_sentence(said.as_str().unwrap_or_default());
        write!(text, "{} {}", if self.concerns.is_empty() { "+" } else { "!" }, self.title())?;
        match sentence.as_str() {
            "" => writeln!(text)?,
            sentence => writeln!(text, "  {sentence}")?,
        }
        self.write_concerns(text)?;
        let claims = summary::claims(definition);
        let claimed = match (self.kind, claims.is_empty()) {
            (PinKind::Tool, true) => "claims nothing of itself".to_owned(),
            (PinKind::Tool, false) => format!("claims: {}", plain(&claims.join(", "))),
            (_, _) => return Ok(()),
        };
        match (self.believed, self.would_loosen.as_slice()) {
            (_, []) => writeln!(text, "    {claimed}"),
            (true, _) => writeln!(text, "    {claimed}; believed"),
            (false, axes) => writeln!(text, "    {claimed}; believed, it would loosen {}", listed(axes)),
        }
    }

    fn write_concerns(&self, text: &mut String) -> std::fmt::Result {
        for concern in &self.concerns {
            let (part, what) = (place(&concern.part), visible(&concern.what));
            match concern.kind.as_str() {
                "other-server" => writeln!(text, "  ! {part} names `{what}`, a tool of another server")?,
                kind => writeln!(text, "  ! {part} holds hidden text: {kind} {what}")?,
            }
        }
        Ok(())
    }

    /// What there is to look at.
    fn write(&self, text: &mut String, full: bool) -> std::fmt::Result {
        writeln!(text, "{} ({})", self.title(), self.verdict())?;
        self.write_concerns(text)?;
        for change in &self.changes {
            change.write(text)?;
        }
        if self.changes.is_empty() && self.hold.is_some() {
            self.whole(text)?;
        }
        if !self.tightens.is_empty() {
            writeln!(text, "  riskier, and in effect already: {}", listed(&self.tightens))?;
        }
        if !self.loosens.is_empty() {
            writeln!(
                text,
                "  safer-looking, and not in effect until you approve and believe it: {}",
                listed(&self.loosens)
            )?;
        }
        self.write_disbelief(text)?;
        if full { writeln!(text, "  digest {}", self.digest) } else { Ok(()) }
    }

    /// What there would be to gain from believing it.
    fn write_disbelief(&self, text: &mut String) -> std::fmt::Result {
        if self.believed || self.would_loosen.is_empty() {
            return Ok(());
        }
        writeln!(
            text,
            "  believing what it claims of itself would loosen: {} (say `--believe` if you do)",
            listed(&self.would_loosen)
        )
    }

    /// A definition that nobody approved, whole.
    fn whole(&self, text: &mut String) -> std::fmt::Result {
        let Some(definition) = &self.definition else { return Ok(()) };
        let members = match definition {
            Value::Object(members) => members.clone(),
            other => {
                for line in visible(other.as_str().unwrap_or_default()).lines() {
                    writeln!(text, "  + {line}")?;
                }
                return Ok(());
            }
        };
        for (key, value) in members.iter().filter(|(key, _)| *key != "name") {
            Change { part: format!("/{key}"), class: String::new(), pinned: None, seen: Some(value.clone()) }
                .write(text)?;
        }
        Ok(())
    }
}

// === impl ClaimNotice ===

impl ClaimNotice {
    fn words(&self) -> String {
        let what = NoticeKind::parse(&self.kind)
            .map_or_else(|| plain(&self.kind), |kind| kind_words(kind).to_owned());
        let axis = self.axis.as_deref().map(|axis| format!(" of {}", plain(axis))).unwrap_or_default();
        format!("{what}{axis}: `{}` ({})", visible(&self.detail), plain(&self.from))
    }
}

/// What was noted, for people.
fn kind_words(kind: NoticeKind) -> &'static str {
    match kind {
        NoticeKind::UnknownWord => "a word outside the vocabulary, read as the worst",
        NoticeKind::WrongType => "a value of the wrong type, read at its most severe",
        NoticeKind::Malformed => "a block that cannot be read",
        NoticeKind::Contradiction => "two claims that cannot both be meant",
        NoticeKind::OverrideBelowClaim => "your word is milder than what it says",
        NoticeKind::FloorLifted => "your classes stand, although the source would add some",
        NoticeKind::Drift => "a value beyond what was declared",
        NoticeKind::Malicious => "malicious activity is reported",
        NoticeKind::Spoofed => "a key that only Highwater writes",
        NoticeKind::Truncated => "longer than is kept",
    }
}

// === impl Change ===

impl Change {
    fn write(&self, text: &mut String) -> std::fmt::Result {
        let class = if self.class.is_empty() { String::new() } else { format!(" ({})", plain(&self.class)) };
        writeln!(text, "  {}{class}", place(&self.part))?;
        let lines = match (&self.pinned, &self.seen) {
            (Some(Value::String(pinned)), Some(Value::String(seen))) => {
                difference::words(pinned, seen).lines().map(str::to_owned).collect()
            }
            (pinned, seen) => {
                let pretty = |value: &Option<Value>| match value {
                    None => String::new(),
                    Some(Value::String(text)) => text.clone(),
                    Some(value) => format!("{value:#}"),
                };
                difference::lines(&pretty(pinned), &pretty(seen))
            }
        };
        lines.iter().try_for_each(|line| writeln!(text, "    {line}"))
    }
}

// === impl Review ===

impl Review {
    /// Whether a person believes what some tool claims, of these definitions or of all.
    pub(super) fn is_believed_by_a_person(&self, items: &[(PinKey, PinDigest)]) -> bool {
        let meant = |item: &&Item| items.is_empty() || items.iter().any(|(key, _)| *key == item.key());
        let mut tools = self.items.iter().filter(|item| item.kind == PinKind::Tool).filter(meant);
        !self.vouched && tools.any(|item| item.believed && item.basis.as_deref() == Some("person"))
    }

    /// Whether some tool, of these definitions or of all, claims what would make decisions milder if it were believed.
    pub(super) fn claims_more_than_unbelieved(&self, items: &[(PinKey, PinDigest)]) -> bool {
        let meant = |item: &&Item| items.is_empty() || items.iter().any(|(key, _)| *key == item.key());
        !self.vouched && self.items.iter().filter(meant).any(|item| !item.would_loosen.is_empty())
    }

    /// Whether nobody has said what the server is.
    pub(super) fn is_undescribed(&self) -> bool {
        self.profile == Some(Profile::Unknown) && !self.by_file
    }

    /// Whether there is something to look at.
    pub(super) fn is_open(&self) -> bool {
        self.items.iter().any(Item::is_open)
    }

    /// Whether anything was seen of the server; else why nothing was.
    pub(super) fn seen(&self) -> Result<(), Failure> {
        let server = plain(&self.server);
        if self.starting {
            return Err(Failure::failed(format_args!(
                "`{server}` is still starting, and nothing was seen of it"
            ))
            .help(format_args!("look again with `highwater servers diff {server}`")));
        }
        let Some(why) = &self.failed else { return Ok(()) };
        let words = match self.stderr.last() {
            Some(last) => format!("`{server}` {}; last words of it: {}", plain(why), visible(last)),
            None => format!("`{server}` {}", plain(why)),
        };
        let help =
            format_args!("it is reached by {}; `highwater servers` says how it is", self.reached_words());
        Err(Failure::failed(words).help(help))
    }

    fn reached_words(&self) -> String {
        format!("`{}`", plain(&self.reached))
    }

    /// What there is to look at, and how to approve exactly that; `full` is with whole definitions.
    pub(super) fn difference(&self, full: bool) -> String {
        let mut text = String::new();
        // Writing to a text cannot fail.
        self.write_difference(&mut text, full).unwrap_or_default();
        text
    }

    fn write_difference(&self, text: &mut String, full: bool) -> std::fmt::Result {
        self.head(text)?;
        let mut open: Vec<&Item> = self.items.iter().filter(|item| item.is_open()).collect();
        if open.is_empty() {
            return writeln!(text, "\neverything is as it was approved");
        }
        open.sort_by_key(|item| item.rank());
        if !full {
            writeln!(text)?;
        }
        for item in &open {
            match full {
                true => {
                    writeln!(text)?;
                    item.write(text, true)?;
                }
                false => item.write_short(text)?,
            }
        }
        let server = plain(&self.server);
        if !full {
            writeln!(text, "\nto see all of it\n  highwater servers diff {server} --full")?;
        }
        writeln!(
            text,
            "\nto approve exactly this\n  highwater servers approve {server} --seen {}",
            self.digest
        )?;
        writeln!(text, "to refuse it\n  highwater servers reject {server} --seen {}", self.digest)
    }

    /// Everything, with its history.
    pub(super) fn whole(&self) -> String {
        let mut text = String::new();
        self.write_whole(&mut text).unwrap_or_default();
        text
    }

    fn write_whole(&self, text: &mut String) -> std::fmt::Result {
        self.head(text)?;
        writeln!(text)?;
        for item in &self.items {
            writeln!(text, "{}: {}", item.title(), item.verdict())?;
            item.contract.iter().try_for_each(|contract| writeln!(text, "  {}", contract.words()))?;
            item.write_disbelief(text)?;
            for noted in &item.notices {
                writeln!(text, "  noted: {}", noted.words())?;
            }
        }
        if !self.history.is_empty() {
            writeln!(text, "\nwhat happened, newest first")?;
        }
        for event in &self.history {
            let key = PinKey::new(event.kind, event.name.as_str());
            let by = match event.person.as_str() {
                "" => String::new(),
                person => format!(" by `{}`", plain(person)),
            };
            let why = match event.reason.as_str() {
                "" => String::new(),
                reason => format!(": {}", plain(reason)),
            };
            writeln!(
                text,
                "  {}  {} {}{by}{why}",
                moment(event.at),
                plain(&key.to_string()),
                plain(&event.what)
            )?;
        }
        Ok(())
    }

    fn head(&self, text: &mut String) -> std::fmt::Result {
        let label = self.label.as_deref().map(|label| format!(" ({})", plain(label))).unwrap_or_default();
        writeln!(text, "server `{}`{label}: {}", plain(&self.server), plain(&self.state))?;
        if !self.reached.is_empty() {
            writeln!(text, "   = it is reached by {}", self.reached_words())?;
        }
        if let Some(hold) = &self.hold {
            writeln!(text, "   = nothing of it can be used: {}", hold_words(hold))?;
        }
        match (self.profile, self.by_file, &self.described) {
            (Some(profile), true, _) => {
                writeln!(text, "   = it is `{profile}` (`profile` in the configuration)")?
            }
            (Some(profile), false, Some(Described { person, at })) => {
                writeln!(text, "   = it is `{profile}`, as {} said {}", plain(person), moment(*at))?;
            }
            (Some(Profile::Unknown), false, None) => {
                writeln!(
                    text,
                    "   = nobody has said what it is (`highwater servers describe {}`)",
                    plain(&self.server)
                )?;
            }
            (Some(_), false, None) | (None, _, _) => {}
        }
        if self.vouched {
            writeln!(text, "   = you vouch for it (`trust.verified: true`)")?;
        }
        if !self.quarantine {
            writeln!(text, "   = nothing of it is ever held (`quarantine: false`)")?;
        }
        if self.manifest != "absent" || self.manifest_says.is_some() {
            let says =
                self.manifest_says.as_deref().map(|says| format!(": {}", plain(says))).unwrap_or_default();
            writeln!(text, "   = manifest {}{says}", plain(&self.manifest))?;
        }
        let held = self.items.iter().filter(|item| item.hold.is_some()).count();
        write!(text, "   = {} definitions, {held} held", self.items.len())?;
        match self.items.iter().filter(|item| item.drifted).count() {
            0 => writeln!(text),
            drifted => writeln!(text, ", {drifted} drifted"),
        }
    }
}

/// A part of a definition as people name it.
fn place(pointer: &str) -> String {
    match pointer.strip_prefix('/') {
        None | Some("") => "text".to_owned(),
        Some(rest) => plain(&rest.replace('/', ".").replace("~1", "/").replace("~0", "~")),
    }
}

/// Why something is held, for people.
fn hold_words(hold: &str) -> String {
    highwater_core::pin::Hold::parse(hold).map_or_else(|| plain(hold), |hold| hold.words().to_owned())
}
