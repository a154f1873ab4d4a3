//! `highwater serve`: the gateway over HTTP, until it is told to stop.

use std::io::IsTerminal as _;
use std::net::TcpListener;

use clap::Args;
use highwater_config::Listen;
use highwater_core::id::UserId;
use highwater_gateway::WindowOpened;
use highwater_gateway::front::http;
use highwater_store::{DataDir, Secret};

use crate::announce::Announcement;
use crate::command::approvals::{alone, browser};
use crate::command::tell;
use crate::exit::Failure;
use crate::life::{Life, Until, runtime};
use crate::log::LogOptions;
use crate::new_question::Announce;
use crate::page::Page;
use crate::place::{ConfigSource, Places, text};
use crate::wire::{Held, Plan, program};

/// What `serve` takes.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    places: Places,

    /// Where to listen, such as `localhost:7411`, in place of what the configuration says.
    #[arg(long, value_name = "ADDR", value_parser = listen)]
    listen: Option<Listen>,

    /// The session store comes from a backup, so count every session in it as having read everything.
    #[arg(long)]
    restored: bool,
}

pub(crate) fn run(args: &ServeArgs, log: &LogOptions) -> Result<(), Failure> {
    let data = args.places.data_dir()?;
    let plan = Plan { source: args.places.config(), data, listen: args.listen, restored: args.restored };
    let settings = plan.settings()?;
    let held = Held::take(&plan.data)?.ok_or_else(|| Held::taken(&plan.data))?;
    let listeners = http::bind(settings.listen).map_err(|error| {
        Failure::failed(error)
            .help("choose another address with `--listen localhost:PORT` or `listen:` in the configuration")
    })?;
    let endpoint = endpoint(settings.listen, &listeners);
    let page = Page::open(&settings.approvals)?;
    let words = words(&args.places, &plan, &settings, (&endpoint, page.as_ref()), &held.data_dir)?;
    let (endpoint, until, announce) = (Some(endpoint), Until::Told, Announce::of(log));
    let life = Life { plan: &plan, held: &held, settings, listeners, endpoint, page, until, announce };
    let may_enroll = may_enroll(&plan.source);
    runtime()?.block_on(life.live(may_enroll, |first| {
        let passkeys = match &first.opened {
            Some(window) => opened(window),
            None => lonely(&first.alone),
        };
        tell(&(words + &passkeys));
    }))
}

/// Whether the page on which the first passkey is made is shown at once: to a person who tries the built-in example, at a
/// terminal with a screen.
fn may_enroll(source: &ConfigSource) -> bool {
    matches!(source, ConfigSource::Example) && std::io::stdout().is_terminal() && browser::is_there()
}

/// Says what was opened, and what is typed if that page did not come up.
fn opened(window: &WindowOpened) -> String {
    let (url, code) = (&window.url, window.code.as_deref().unwrap_or_default());
    format!(
        "\nYour browser shows the page on which you make your first passkey. If not: {url}, with code {code}\n"
    )
}

/// Who would lose their say with one passkey.
fn lonely(users: &[UserId]) -> String {
    users.iter().map(|user| format!("\n{}", alone(user))).collect()
}

fn words(
    places: &Places,
    plan: &Plan,
    settings: &highwater_config::Settings,
    (endpoint, page): (&str, Option<&Page>),
    data_dir: &DataDir,
) -> Result<String, Failure> {
    let token = |secret| data_dir.secret(secret).map_err(Failure::failed);
    let announcement = Announcement {
        source: &plan.source,
        settings,
        endpoint,
        inbox: page.map(|page| format!("{}/inbox", page.origin.as_str())),
        data: &plan.data,
        agent_token: (&token(Secret::AgentToken)?, &data_dir.secret_path(Secret::AgentToken)),
        operator_token: (&token(Secret::OperatorToken)?, &data_dir.secret_path(Secret::OperatorToken)),
        program: &text(&program()?)?,
        options: &places.options()?,
    };
    Ok(announcement.text())
}

/// The URL for clients on this machine. The port is the real one, which a configured 0 does not tell.
fn endpoint(listen: Listen, listeners: &[TcpListener]) -> String {
    let bound = listeners.first().and_then(|listener| listener.local_addr().ok());
    let port = bound.map_or(listen.port(), |bound| bound.port());
    match listen {
        Listen::Localhost { .. } => format!("http://localhost:{port}/mcp"),
        Listen::Address(address) if address.ip().is_unspecified() => format!("http://localhost:{port}/mcp"),
        Listen::Address(mut address) => {
            address.set_port(port);
            format!("http://{address}/mcp")
        }
    }
}

fn listen(text: &str) -> Result<Listen, String> {
    text.parse::<Listen>().map_err(|error| format!("{error}; {}", error.help()))
}
