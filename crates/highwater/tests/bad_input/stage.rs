//! A gateway with one server behind it that writes down everything it sees.

use std::path::Path;

use highwater_testkit::client::gateway::{Gateway, Home};
use highwater_testkit::client::peer::{Journal, fixture_program};

const PROGRAM: &str = env!("CARGO_BIN_EXE_highwater");

/// Stands in every message that must not arrive.
pub(crate) const NEVER: &str = "never-arrives";

/// A home whose configuration names the fixture as `up`, and the fixture's journal.
pub(crate) fn home() -> (Home, Journal) {
    let home = Home::new(PROGRAM, "servers: {}\n").unwrap();
    let journal = Journal::at(home.path().join("saw.jsonl"));
    let fixture = fixture_program(Path::new(PROGRAM)).unwrap();
    let config = format!(
        "flow: observe\nservers:\n  up:\n    command: {fixture:?}\n    args: [--stdio, --extras]\n    env: {{ FIXTURE_LOG: {journal:?} }}\n\
         virtual_servers:\n  default: {{ servers: [up] }}\n  other: {{ servers: [up] }}\n",
        journal = journal.path(),
    );
    home.configure(&config).unwrap();
    (home, journal)
}

/// The same, served over HTTP.
pub(crate) async fn gateway() -> (Gateway, Journal) {
    let (home, journal) = home();
    (home.serve().await.unwrap(), journal)
}

/// Nothing arrived but so many calls.
pub(crate) fn assert_only_calls(journal: &Journal, calls: usize) {
    let notes = journal.notes();
    let arrived: Vec<_> = notes.iter().filter(|note| note.raw.contains(NEVER)).collect();
    assert!(arrived.is_empty(), "{arrived:#?}");
    assert_eq!(journal.of("tools/call").len(), calls, "{notes:#?}");
    for note in notes {
        let method = note.method.unwrap_or_default();
        let expected = method.ends_with("/list")
            || [
                "tools/call",
                "server/discover",
                "initialize",
                "notifications/initialized",
                "subscriptions/listen",
                // Nothing arrived: a call notes that it waits for its file.
                "waited",
            ]
            .contains(&method.as_str())
            || method == "resources/templates/list";
        assert!(expected, "`{method}` arrived: {}", note.raw);
    }
}
