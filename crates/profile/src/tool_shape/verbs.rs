//! What the words of tool names mean: which read, and which change, send or run something.
//!
//! Only reading loosens, so that list holds words that mean nothing else, and the other lists are long.

use super::super::word_list::WordList;

/// What a word that is no reading one does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// It changes something.
    Changes,
    /// It sends something to somebody.
    Sends,
    /// It runs something.
    Runs,
}

/// Where in a name a word acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Force {
    /// Wherever it stands.
    Always,
    /// Wherever it stands, unless a reading word makes it the thing that is read: `get_commit`, `list_post`.
    UnlessRead,
    /// Only where a verb stands: `email_team` does, `archive_email` does not.
    AsVerb,
}

/// Verbs that only read.
const READING_VERBS: WordList = WordList(
    "cat compare count describe diff enumerate examine fetch find get glob grep has inspect list locate lookup
    ls peek preview query read retrieve search show stat tail view whoami",
);

/// Those of them that are no nouns, so that a noun before them is what is read: `order_get`, but not `order_list`.
const NO_NOUNS: WordList = WordList("describe fetch find get inspect lookup read retrieve");

/// Nouns that name what is read, at the end of a name: `git_status`, `directory_tree`.
const READING_NOUNS: WordList = WordList(
    "blame details history info log logs metadata overview schema statistics stats status summary tree usage
    version versions",
);

/// Words that may follow such a noun.
const QUALIFIERS: WordList = WordList(
    "all by cached current file files for full id in json latest name of raw recent short staged text unstaged",
);

/// What joins two verbs.
const CONJUNCTIONS: WordList = WordList("also and or plus then");

/// What makes something to be written of what is read.
const INTO: WordList = WordList("into onto to");

/// What is put on a screen rather than read.
const SHOWN: WordList = WordList(
    "alert alerts banner dialog dialogs dialogue message messages modal notification notifications popup popups
    prompt prompts toast toasts window windows",
);

/// Nouns of which a verb that composes makes a message: `create_message`.
const MESSAGES: WordList = WordList("dm email fax mail message sms");

/// Verbs that compose.
const COMPOSING: WordList = WordList("add compose create make new submit write");

const CHANGES_ALWAYS: WordList = WordList(
    "abort accept acknowledge activate add adjust allocate allowlist aloud append apply approve assign attach
    authenticate authorize autofix ban bind blacklist burn cancel checkin clean clear compact compose
    configure confirm connect convert create crud deactivate deauthorize decline decrement decrypt del
    delegate delete demote deny denylist destroy detach disable discard disconnect dismiss do drag drop
    edit elevate empower enable encrypt enroll ensure erase escalate evict exit expire extend finish
    flatten flush forget generate grant impersonate increment initialize insert invalidate kick kill learn
    manage mark migrate mint modify move mutate mute navigate nuke obliterate optimize overwrite pop
    prepend promote provision purge put quit rebase reboot rebuild reconfigure redeploy redirect redo
    refactor refresh regenerate reindex reject reload remember remove rename renew reorder replace
    reschedule reset resize respond restart restore retry revert revoke rewrite rm rmdir rollback rotate
    save set shorten shred shuffle shutdown speak squash strip subscribe suspend sync synchronize
    terminate toggle touch trim truncate unarchive unassign unban unblock undo unfollow uninstall unlink
    unlock unmount unpack unpin unregister unshare unstar unsubscribe unzip update upgrade upsert
    whitelist wipe write zap zip",
);

const CHANGES_UNLESS_READ: WordList = WordList(
    "alarm archive backup bill block book bookmark boot borrow branch bump cache capture change charge check
    checkout click clone close commit complete copy cut delay deposit download draft dump duplicate empty
    export extract fill fix flag focus follow force fork format freeze go handle hide hold hover import
    init join keep label leave like link load lock log login logout loop lower make mask maximize measure
    merge minimize monitor mount new open order override pack paint park parse pass pause pick pin plan
    play power press print process propose prune pull raise rate reach record refund register reimburse
    relay release rent repair repeat replay report request rerank reserve resolve resume return review
    ring roll sample scan schedule scroll secure seed seek select shift sign skip sleep snapshot solve
    sort split stage stake star start stash stop store stream swap sweep switch tag take tap tie trace
    track trade train transform trash try tune turn type unread use validate verify visit vote wait wake
    walk wash watch wear wrap",
);

const SENDS_ALWAYS: WordList = WordList(
    "announce broadcast buy crosspost deliver dispatch disseminate donate forward notify pay postmessage
    publish push remit retweet sell send sendemail sendmail sendmessage sendsms submit syndicate transmit
    tweet upload withdraw",
);

const SENDS_UNLESS_READ: WordList = WordList(
    "announcement comment deploy donation gist invitation invite newsletter payment payout post purchase reply
    repost share submission transfer",
);

const SENDS_AS_VERB: WordList =
    WordList("alert chat dm email fax mail message ping say sms talk text whisper");

const RUNS_ALWAYS: WordList = WordList(
    "cmd eval evaluate exec execcommand execute executecommand interpret invoke powershell pwsh repl rerun
    runcommand runscript spawn subprocess sudo",
);

const RUNS_UNLESS_READ: WordList = WordList(
    "bash command cypher javascript js lua macro nodejs perl php python ruby run script sh shell sql ssh
    terminal tty zsh",
);

const RUNS_AS_VERB: WordList = WordList("build call compile debug install launch perform test trigger");

const ACTS: &[(Act, Force, WordList)] = &[
    (Act::Sends, Force::Always, SENDS_ALWAYS),
    (Act::Runs, Force::Always, RUNS_ALWAYS),
    (Act::Changes, Force::Always, CHANGES_ALWAYS),
    (Act::Sends, Force::UnlessRead, SENDS_UNLESS_READ),
    (Act::Runs, Force::UnlessRead, RUNS_UNLESS_READ),
    (Act::Changes, Force::UnlessRead, CHANGES_UNLESS_READ),
    (Act::Sends, Force::AsVerb, SENDS_AS_VERB),
    (Act::Runs, Force::AsVerb, RUNS_AS_VERB),
];

/// What this word does where it acts, and where that is.
pub(super) fn act(word: &str) -> Option<(Act, Force)> {
    listed(word).or_else(|| {
        // `resend`, `unset`: the same again, or the other way round. Of nouns that would make too much: `report`.
        let rest = word.strip_prefix("re").or_else(|| word.strip_prefix("un"))?;
        listed(rest).filter(|(_, force)| *force == Force::Always)
    })
}

fn listed(word: &str) -> Option<(Act, Force)> {
    ACTS.iter().find(|(_, _, list)| list.contains(word)).map(|(act, force, _)| (*act, *force))
}

/// Whether we know this word as a verb, in any of its forms.
pub(super) fn is_known_verb(word: &str) -> bool {
    let stem = |ending: &str| word.strip_suffix(ending);
    let inflected = [stem("s"), stem("es"), stem("ing"), stem("ed"), stem("d")];
    act(word).is_some()
        || READING_VERBS.contains(word)
        || inflected.into_iter().flatten().any(|stem| matches!(act(stem), Some((_, Force::Always))))
}

/// Where in a name the reading word stands, if there is one: first, or second after the thing that is read.
pub(super) fn reading_word(words: &[String]) -> Option<usize> {
    let (first, following) = words.split_first()?;
    // `log_event` writes one.
    if reads(first, following) && act(first).is_none() {
        return Some(0);
    }
    let (second, following) = following.split_first()?;
    let is_thing = match act(first) {
        None => !is_known_verb(first) && (!ends_like_verb(first) || NO_NOUNS.contains(second)),
        Some((Act::Changes | Act::Sends, Force::UnlessRead | Force::AsVerb)) => NO_NOUNS.contains(second),
        Some((Act::Runs, _) | (_, Force::Always)) => false,
    };
    (is_thing && reads(second, following)).then_some(1)
}

/// Whether a word that we do not know is more likely a verb: `materialize_view`, `populate_list`.
fn ends_like_verb(word: &str) -> bool {
    ["ate", "ify", "ise", "ize"].iter().any(|ending| word.len() > ending.len() && word.ends_with(ending))
}

/// Whether this word reads, with those that follow it.
pub(super) fn reads(word: &str, following: &[String]) -> bool {
    READING_VERBS.contains(word)
        || READING_NOUNS.contains(word) && following.iter().all(|word| QUALIFIERS.contains(word))
}

/// Whether a verb may follow this word.
pub(super) fn is_conjunction(word: &str) -> bool {
    CONJUNCTIONS.contains(word)
}

/// Whether what follows is written to.
pub(super) fn is_into(word: &str) -> bool {
    INTO.contains(word)
}

/// Whether a verb that shows does not read when this is what it shows.
pub(super) fn is_shown(word: &str) -> bool {
    SHOWN.contains(word)
}

/// Whether this verb makes a message of this noun.
pub(super) fn composes(verb: &str, noun: &str) -> bool {
    COMPOSING.contains(verb) && MESSAGES.contains(noun)
}

/// Whether what is sent is files that lie somewhere, rather than what the call itself holds.
pub(super) fn publishes(word: &str) -> bool {
    matches!(word, "deploy" | "publish" | "push")
}

/// Whether this is a verb that reads, or one that runs a query and says nothing else.
pub(super) fn queries(word: &str) -> bool {
    READING_VERBS.contains(word) || matches!(word, "exec" | "execute" | "run")
}

/// The words that act like this and there, for laws over names.
#[cfg(test)]
pub(super) fn words_of(wanted: Act, force: Force) -> Vec<&'static str> {
    let lists = ACTS.iter().filter(|(act, with, _)| *act == wanted && *with == force);
    lists.flat_map(|(_, _, list)| list.iter()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_is_in_two_lists() {
        let acts = ACTS.iter().flat_map(|(_, _, list)| list.iter());
        let mut all: Vec<&str> = acts.chain(READING_VERBS.iter()).collect();
        let count = all.len();
        all.sort_unstable();
        let twice: Vec<_> = all.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{count}: {twice:?}");
        assert!(all.iter().all(|word| word.bytes().all(|byte| byte.is_ascii_lowercase())), "{all:?}");
    }

    #[test]
    fn a_verb_is_known_in_its_forms_and_behind_its_prefixes() {
        for word in ["send", "sends", "sending", "resend", "unset", "deletes", "created", "get", "email"] {
            assert!(is_known_verb(word), "{word}");
        }
        for word in ["git", "directory", "resource", "region", "unit", "until", "slack", "issues", "posts"] {
            assert!(!is_known_verb(word), "{word}");
        }
        assert_eq!(act("resend"), Some((Act::Sends, Force::Always)));
        assert_eq!(act("report"), Some((Act::Changes, Force::UnlessRead)));
        assert_eq!(act("research"), None);
    }
}
