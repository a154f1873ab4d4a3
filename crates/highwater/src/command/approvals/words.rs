//! What the approval service says, in words. Text of others goes through `plain`, so that nothing in it can move the cursor.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use highwater_core::id::UserId;
use highwater_gateway::{
    ApprovalState, CredentialView, MandateView, RequestKind, RequestView, ResetView, WindowOpened,
};
use highwater_notation::{Timestamp, to_iso};

use crate::explain::plain;
use crate::terminal::{Table, View};

/// What waits, or everything.
pub(super) fn requests(requests: &[RequestView], all: bool) -> String {
    if requests.is_empty() {
        return if all { "nobody was asked lately\n" } else { "nothing waits for an answer\n" }.to_owned();
    }
    let mut table = Table::new(["id", "asks", "state", "ends", "call"]);
    for request in requests {
        let ends = match request.state {
            ApprovalState::Pending => left(request.expires),
            _ => "-".to_owned(),
        };
        let call = format!("{} of `{}`", plain(&request.tool), plain(&request.principal));
        let (id, kind, state) = (plain(&request.id.to_string()), kind(request.kind), state(request.state));
        table.row([id, kind.to_owned(), state.to_owned(), ends, call]);
    }
    table.text(View::stdout())
}

/// One request, with everything the page shows.
pub(super) fn request(request: &RequestView) -> String {
    let mut text = String::new();
    // Writing to a text does not fail.
    write_request(&mut text, request).unwrap_or_default();
    text
}

fn write_request(text: &mut String, request: &RequestView) -> std::fmt::Result {
    writeln!(text, "{}", lines(&request.display_text))?;
    if request.hidden > 0 {
        writeln!(text, "   = {} hidden characters were made visible", request.hidden)?;
    }
    let server = request.server.as_deref().map(plain).unwrap_or_else(|| "-".to_owned());
    writeln!(text, "\nserver     {server}")?;
    writeln!(text, "agent      {} ({})", plain(&request.principal), plain(&request.caller))?;
    writeln!(text, "asks       {}, `{}`", kind(request.kind), plain(&request.user.to_string()))?;
    if request.need.n > 1 {
        let names = |users: &[highwater_core::id::UserId]| {
            users.iter().map(|user| plain(&user.to_string())).collect::<Vec<_>>().join(", ")
        };
        let (n, signed) = (request.need.n, names(&request.need.signed));
        writeln!(text, "needs      {n} of {}; signed so far: {signed}", names(&request.need.approvers))?;
    }
    writeln!(text, "state      {}", state(request.state))?;
    match request.state {
        ApprovalState::Pending => writeln!(text, "ends       in {}", left(request.expires))?,
        _ => writeln!(text, "answered   {}", who(request))?,
    }
    for ask in &request.context.asks {
        writeln!(text, "because    {}: {}", plain(&ask.rule), plain(&ask.says))?;
    }
    for label in &request.context.labels {
        writeln!(text, "session    {}", plain(label))?;
    }
    for origin in &request.context.origins {
        writeln!(text, "from       {}", plain(&origin.origin))?;
    }
    for absent in &request.context.absent {
        let default = absent.default.as_deref().map(|default| format!(", then {}", plain(default)));
        writeln!(text, "absent     {}{}", plain(&absent.name), default.unwrap_or_default())?;
    }
    writeln!(text, "page       {}", plain(&request.url))?;
    if let Some(decision) = &request.context.decision {
        writeln!(text, "\nhighwater explain {} tells the rest", plain(decision))?;
    }
    Ok(())
}

/// Where a page is.
pub(super) fn page(url: &str, opened: bool) -> String {
    let url = plain(url);
    if opened { format!("opened {url}\n") } else { format!("open {url}\n") }
}

/// An open enrollment.
pub(super) fn window(window: &WindowOpened, opened: bool) -> String {
    let mut text = page(&window.url, opened);
    let user = plain(&window.user.to_string());
    match &window.code {
        Some(code) => {
            text.push_str(&format!(
                "\ncode   {}\nfor    {user}\nends   in {}\n",
                plain(code),
                left(window.expires)
            ));
            let typed = if opened {
                "The code is filled in on the page; if not, type it."
            } else {
                "Type the code into the page."
            };
            text.push_str(&format!("\n{typed} Add a second passkey when you can, on another device or key: with one alone, losing it means to start over.\n"));
        }
        None => {
            text.push_str(&format!("\nfor    {user}\nends   in {}\n", left(window.expires)));
            text.push_str("\nA passkey that you have already confirms the new one.\n");
            if window.passkeys == 1 {
                text.push_str(&format!(
                    "`{user}` has only one passkey: with this second one, losing it is no disaster.\n"
                ));
            }
        }
    }
    text
}

/// All passkeys.
pub(super) fn credentials(credentials: &[CredentialView]) -> String {
    if credentials.is_empty() {
        return "no passkeys; add two with `highwater approvals enroll`\n".to_owned();
    }
    let is_attested = credentials.iter().any(|credential| credential.attested_by.is_some());
    let mut heads = vec!["name", "user", "standing", "algorithm", "transports", "since", "id"];
    heads.extend(is_attested.then_some("attested by"));
    let mut table = Table::new(heads);
    for credential in credentials {
        let mut cells = vec![
            plain(&credential.name),
            plain(&credential.user.to_string()),
            plain(&credential.standing),
            plain(&credential.algorithm),
            plain(&credential.transports.join(", ")),
            to_iso(credential.created),
            plain(&credential.id),
        ];
        if is_attested {
            cells.push(credential.attested_by.as_deref().map_or_else(|| "-".to_owned(), plain));
        }
        table.row(cells);
    }
    let mut text = table.text(View::stdout());
    let counts = |user: &UserId| credentials.iter().filter(|it| it.user == *user && it.counts()).count() == 1;
    let users: BTreeSet<&UserId> = credentials.iter().map(|credential| &credential.user).collect();
    for user in users.into_iter().filter(|user| counts(user)) {
        text.push_str(&format!("\n{}", alone(user)));
    }
    text
}

/// What it means that somebody has one passkey and no other.
pub(crate) fn alone(user: &UserId) -> String {
    let user = plain(&user.to_string());
    format!(
        "`{user}` has only one passkey: if it is lost, nothing that needs `{user}` is approved until a reset, which takes a day.\nhelp: add a second with `highwater approvals enroll {user}`\n"
    )
}

/// All mandates that count.
pub(super) fn mandates(mandates: &[MandateView]) -> String {
    if mandates.is_empty() {
        return "no mandates; `highwater approvals mandate --new` opens the page to sign one\n".to_owned();
    }
    let mut text = String::new();
    for mandate in mandates {
        let (id, user) = (plain(&mandate.id), plain(&mandate.user.to_string()));
        let standing = match mandate.revoked {
            Some(at) => format!("ended {}", to_iso(at)),
            None => format!("{} calls left, until {}", mandate.remaining, to_iso(mandate.expires)),
        };
        text.push_str(&format!("{id}  {user}  {standing}\n    {}\n", plain(&mandate.terms)));
    }
    text
}

/// A reset that has begun.
pub(super) fn reset(reset: &ResetView) -> String {
    let (user, by, due) = (plain(&reset.user.to_string()), plain(&reset.begun_by), to_iso(reset.due));
    format!(
        "all passkeys of `{user}` are reset on {due}, begun by `{by}`\nUntil then any of them stops it on the page, and nothing that needs `{user}` is approved.\nhelp: then `highwater approvals reset {user} --complete`\n"
    )
}

/// Who answered, and when.
pub(super) fn who(request: &RequestView) -> String {
    let by =
        request.decided_by.as_deref().map_or_else(|| "nobody".to_owned(), |by| format!("`{}`", plain(by)));
    match request.decided {
        Some(at) => format!("{by} on {}", to_iso(at)),
        None => by,
    }
}

fn kind(kind: RequestKind) -> &'static str {
    match kind {
        RequestKind::Confirm => "button",
        RequestKind::Passkey => "passkey",
    }
}

fn state(state: ApprovalState) -> &'static str {
    match state {
        ApprovalState::Pending => "waiting",
        ApprovalState::Approved => "approved",
        ApprovalState::Consumed => "done",
        ApprovalState::Declined => "declined",
        ApprovalState::Expired => "over",
    }
}

/// How long until a time, in minutes and seconds.
fn left(until: Timestamp) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let seconds = Duration::from_millis(until.0).saturating_sub(now).as_secs();
    format!("{}m{:02}s", seconds / 60, seconds % 60)
}

/// Text of several lines, each made harmless.
fn lines(text: &str) -> String {
    text.lines().map(plain).collect::<Vec<_>>().join("\n")
}
