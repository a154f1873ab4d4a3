//! Tells people that a question waits: each once, in the terminal of the gateway, by a notification of the desktop, and in
//! the browser of whoever sits there. What comes within a moment is one notification that says how many.

use std::io::{self, Write as _};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use highwater_config::OWNER;
use highwater_core::decide::Effect;
use highwater_core::id::{ApprovalId, UserId};
use highwater_store::ApprovalRequest;
use tokio::sync::broadcast;

use super::ApprovalService;

/// How long the desktop waits for further questions before it is told of those that came.
const MOMENT: Duration = Duration::from_millis(500);

/// How many questions one notification names.
const MOST_NAMED: usize = 3;

/// A question as it is announced: which tool of which server, who is asked, where. Nothing of its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewQuestion {
    /// The name of the tool, or of an act of our own.
    pub tool: String,
    /// Whose tool it is.
    pub server: Option<String>,
    /// The token that wants it.
    pub token: String,
    /// Who is asked.
    pub user: String,
    /// Whether it takes a passkey.
    pub needs_passkey: bool,
    /// Where to answer.
    pub url: String,
}

/// What is told of each question at once.
type Announce = Box<dyn Fn(&NewQuestion) + Send + Sync>;

/// Who is told, and how.
pub(super) struct Attention {
    inbox: String,
    /// The terminal, or whatever else hears of each question at once.
    announce: OnceLock<Announce>,
    /// What the desktop has not been told yet.
    waiting: Mutex<Vec<NewQuestion>>,
    /// The pages that are open hear of changes here.
    pages: broadcast::Sender<ApprovalId>,
}

/// How the desktop is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Desktop {
    notify: bool,
    open_browser: bool,
}

/// One thing that the desktop is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Act {
    Notify(String),
    Open(String),
}

// === impl Attention ===

impl Attention {
    pub(super) fn new(origin: &str, pages: broadcast::Sender<ApprovalId>) -> Arc<Self> {
        let inbox = format!("{origin}/inbox");
        Arc::new(Self { inbox, announce: OnceLock::new(), waiting: Mutex::default(), pages })
    }

    /// Keeps a question for the desktop. Whether it is the first, so that somebody must wait for the others.
    fn keep(&self, question: NewQuestion) -> bool {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push(question);
        waiting.len() == 1
    }

    /// What the desktop is told of everything that was kept.
    fn tell(&self, desktop: Desktop) -> Vec<Act> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let questions = std::mem::take(&mut *waiting);
        // Whoever has a page open sees it there.
        let desktop =
            Desktop { open_browser: desktop.open_browser && self.pages.receiver_count() == 0, ..desktop };
        acts(&questions, &self.inbox, desktop)
    }
}

/// Whether this desktop, which is the owner's, is told: others are reached by the webhook and by their own clients, and so is
/// whoever's client was given the address.
fn is_for_desktop(user: &UserId, has_link: bool) -> bool {
    user.as_str() == OWNER && !has_link
}

/// What the desktop is asked to do for these questions.
fn acts(questions: &[NewQuestion], inbox: &str, desktop: Desktop) -> Vec<Act> {
    let (text, url) = match questions {
        [] => return Vec::new(),
        [one] => (format!("{} waits for you: {}", one.tool, one.url), one.url.as_str()),
        several => {
            let (named, more) = several.split_at(several.len().min(MOST_NAMED));
            let mut names = named.iter().map(|one| one.tool.as_str()).collect::<Vec<_>>().join(", ");
            if !more.is_empty() {
                names.push_str(&format!(" and {} more", more.len()));
            }
            (format!("{} questions wait for you ({names}): {inbox}", several.len()), inbox)
        }
    };
    let notify = desktop.notify.then_some(Act::Notify(text));
    notify.into_iter().chain(desktop.open_browser.then(|| Act::Open(url.to_owned()))).collect()
}

// === impl ApprovalService ===

impl ApprovalService {
    /// Learns where each new question is announced at once. Without it that is the log.
    pub fn announce_with(&self, announce: impl Fn(&NewQuestion) + Send + Sync + 'static) {
        // The program says it once, when it starts.
        self.attention.announce.set(Box::new(announce)).ok();
    }

    /// Announces a new question, once. `has_link` is whether its client was given the address and tells its own person.
    pub(super) fn call_attention(&self, request: &ApprovalRequest, has_link: bool) {
        let question = NewQuestion {
            tool: request.tool.as_str().to_owned(),
            server: request.upstream.as_ref().map(ToString::to_string),
            token: request.principal.to_string(),
            user: request.user.to_string(),
            needs_passkey: request.kind == Effect::Passkey,
            url: self.url(&request.id),
        };
        match self.attention.announce.get() {
            Some(announce) => announce(&question),
            None => question.log(),
        }
        let settings = self.settings();
        let desktop = Desktop { notify: settings.notify, open_browser: settings.open_browser };
        let is_ours = is_for_desktop(&request.user, has_link);
        if !is_ours || !(desktop.notify || desktop.open_browser) || !self.attention.keep(question) {
            return;
        }
        let (attention, tickets) = (Arc::clone(&self.attention), Arc::clone(&self.tickets));
        tokio::spawn(async move {
            tokio::time::sleep(MOMENT).await;
            for act in attention.tell(desktop) {
                // The owner's own browser: they need not sign in to see what is asked.
                run(match act {
                    Act::Open(url) => Act::Open(tickets.signed_in(&url)),
                    notify @ Act::Notify(_) => notify,
                });
            }
        });
    }
}

// === impl NewQuestion ===

impl NewQuestion {
    /// In one line.
    pub fn line(&self) -> String {
        let Self { tool, token, user, url, .. } = self;
        let server = self.server.as_ref().map(|server| format!(" on {server}")).unwrap_or_default();
        let what = if self.needs_passkey { "a passkey of" } else { "an answer of" };
        format!("{tool}{server}, wanted by token {token}, waits for {what} {user}: {url}")
    }

    /// As an event of the log.
    pub fn log(&self) {
        let Self { tool, server, token, user, needs_passkey, url } = self;
        tracing::info!(tool, server, token, user, needs_passkey, url, "a question waits for a person");
    }
}

// === impl Act ===

impl Act {
    fn run(&self) -> io::Result<ExitStatus> {
        match self {
            Self::Notify(text) => quietly(notification(text)),
            Self::Open(url) if cfg!(target_os = "macos") => open_location(url),
            Self::Open(url) => quietly(browser(url)),
        }
    }
}

/// Opens the page where there is a screen that a person may sit in front of: without one a browser would open in a
/// terminal.
fn browser(url: &str) -> Command {
    let mut command = Command::new("sh");
    // As an argument, so that no address can be part of the script.
    command.args(["-c", r#"[ -z "$DISPLAY$WAYLAND_DISPLAY" ] || exec xdg-open "$1""#, "sh", url]);
    command
}

/// Opens an address of ours in the browser of a Mac. It goes through standard input: other users can read the arguments of a
/// program, and here the page cannot tell whose connection it is.
pub fn open_location(url: &str) -> io::Result<ExitStatus> {
    let mut command = Command::new("osascript");
    command.arg("-").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // Addresses of ours have no quotation marks.
        writeln!(stdin, "open location \"{url}\"")?;
    }
    child.wait()
}

fn notification(text: &str) -> Command {
    if cfg!(target_os = "macos") {
        let mut command = Command::new("osascript");
        // As an argument, so that no text can be part of the script.
        command.args([
            "-e",
            "on run argv",
            "-e",
            "display notification (item 1 of argv) with title \"Highwater\"",
        ]);
        command.args(["-e", "end run", text]);
        command
    } else {
        let mut command = Command::new("notify-send");
        command.args(["--app-name=Highwater", "Highwater", text]);
        command
    }
}

/// Tells the desktop. Whether it works is of no concern: the page and the inbox are there anyway.
fn run(act: Act) {
    std::thread::spawn(move || {
        if let Err(error) = act.run() {
            tracing::debug!(%error, "the desktop could not be told of a request");
        }
    });
}

fn quietly(mut command: Command) -> io::Result<ExitStatus> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Desktop = Desktop { notify: true, open_browser: true };

    fn question(number: usize) -> NewQuestion {
        NewQuestion {
            tool: format!("mail__send{number}"),
            server: Some("mail".to_owned()),
            token: "agent".to_owned(),
            user: OWNER.to_owned(),
            needs_passkey: false,
            url: format!("http://localhost:7412/approve/{number}"),
        }
    }

    #[test]
    fn what_comes_within_a_moment_is_one_notification_that_says_how_many() {
        let attention = Attention::new("http://localhost:7412", broadcast::channel(1).0);
        assert!(attention.keep(question(1)));
        let one = "mail__send1 waits for you: http://localhost:7412/approve/1";
        let url = "http://localhost:7412/approve/1";
        assert_eq!(attention.tell(ALL), [Act::Notify(one.to_owned()), Act::Open(url.to_owned())]);
        assert_eq!(attention.tell(ALL), [], "each is told once");

        let firsts: Vec<bool> = (1..=5).map(|number| attention.keep(question(number))).collect();
        assert_eq!(firsts, [true, false, false, false, false], "one waits for all");
        let inbox = "http://localhost:7412/inbox".to_owned();
        let names = "mail__send1, mail__send2, mail__send3 and 2 more";
        let several = format!("5 questions wait for you ({names}): {inbox}");
        assert_eq!(attention.tell(ALL), [Act::Notify(several), Act::Open(inbox)]);
    }

    #[test]
    fn the_desktop_is_the_owners_and_is_not_told_what_a_client_tells() {
        let (owner, ada) = (UserId::new(OWNER), UserId::new("ada"));
        assert!(is_for_desktop(&owner, false));
        assert!(!is_for_desktop(&owner, true) && !is_for_desktop(&ada, false));
    }

    #[test]
    fn no_further_tab_is_opened_while_a_page_is_open() {
        let attention = Attention::new("http://localhost:7412", broadcast::channel(1).0);
        let page = attention.pages.subscribe();
        attention.keep(question(1));
        assert!(matches!(attention.tell(ALL).as_slice(), [Act::Notify(_)]));
        drop(page);
        attention.keep(question(2));
        assert!(matches!(attention.tell(ALL).as_slice(), [Act::Notify(_), Act::Open(_)]));
        attention.keep(question(3));
        assert_eq!(attention.tell(Desktop { notify: false, open_browser: false }), []);
    }
}
