//! Connecting and disconnecting again, over generated files.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use highwater_hosts::command_line::HookCommand;
use highwater_hosts::connect::{Connected, HostFile, Install, ServerProgram, connect, disconnect};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use serde_json::Value;

const JSON_FILES: [HostFile; 4] =
    [HostFile::ClaudeServers, HostFile::ClaudeSettings, HostFile::ClaudePluginSettings, HostFile::CodexHooks];

fn install(token: &str) -> Install {
    // A program with and without variables.
    let token = (!token.len().is_multiple_of(2)).then(|| ("HIGHWATER_TOKEN".into(), token.into()));
    let server = ServerProgram {
        command: "/opt/my tools/highwater".into(),
        arguments: vec!["stdio".into()],
        environment: token.into_iter().collect(),
    };
    let hook = HookCommand { program: "/opt/my tools/highwater".into(), options: Vec::new(), watchdog: true };
    Install { name: "highwater".into(), server, hook }
}

// === JSON ===

/// A value and the layout it is written in.
#[derive(Clone, Debug)]
enum Json {
    Scalar(&'static str),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

fn json() -> impl Strategy<Value = Json> {
    let scalars = vec!["1", "-0.5e3", "true", "null", "\"a b\"", "\"\\\"{[//\\u00e4\"", "\"ä→\"", "\"\""];
    let leaf = prop::sample::select(scalars).prop_map(Json::Scalar);
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Json::List),
            prop::collection::vec(("[a-c]{1,2}", inner), 0..3)
                .prop_map(|members| Json::Object(unique(members))),
        ]
    })
}

fn unique(members: Vec<(String, Json)>) -> Vec<(String, Json)> {
    let mut seen = std::collections::BTreeSet::new();
    members.into_iter().filter(|(name, _)| seen.insert(name.clone())).collect()
}

/// A file of settings, with and without the parts that we add to.
fn settings() -> impl Strategy<Value = Json> {
    let stale = "\"/old/highwater hook claude-code PreToolUse || exit 2\"";
    let command = |line: &'static str| {
        let handler = Json::Object(vec![("command".into(), Json::Scalar(line))]);
        Json::Object(vec![("hooks".into(), Json::List(vec![handler]))])
    };
    let by_hand = Json::Object(vec![
        ("command".into(), Json::Scalar("\"highwater\"")),
        ("args".into(), Json::List(vec![Json::Scalar("\"stdio\"")])),
    ]);
    let group = prop_oneof![
        json(),
        Just(command(stale)),
        Just(Json::Object(vec![
            ("matcher".into(), Json::Scalar("\"Bash\"")),
            (
                "hooks".into(),
                Json::List(vec![Json::Object(vec![("command".into(), Json::Scalar("\"mine\""))])])
            ),
        ])),
    ];
    let events =
        prop::sample::subsequence(vec!["PreToolUse", "Stop", "SessionStart", "UserPromptSubmit"], 0..3);
    let hooks = (events, prop::collection::vec(prop::collection::vec(group, 0..3), 3)).prop_map(
        |(events, groups)| {
            Json::Object(
                events.into_iter().map(str::to_owned).zip(groups.into_iter().map(Json::List)).collect(),
            )
        },
    );
    let servers = prop::collection::vec(
        (prop::sample::select(vec!["highwater", "rec", "é"]), prop_oneof![json(), Just(by_hand)]),
        0..3,
    )
    .prop_map(|members| {
        Json::Object(unique(members.into_iter().map(|(name, value)| (name.into(), value)).collect()))
    });
    let others = prop::collection::vec(("[a-z]{1,3}", json()), 0..3);
    let inbound =
        prop::sample::select(vec![Json::Scalar("\"accept\""), Json::Scalar("\"refuse\""), Json::Scalar("7")]);
    let maybe = |strategy: BoxedStrategy<Json>| prop::option::of(strategy);
    (
        others,
        maybe(hooks.boxed()),
        maybe(servers.boxed()),
        maybe(inbound.boxed()),
        any::<prop::sample::Index>(),
    )
        .prop_map(|(mut members, hooks, servers, inbound, at)| {
            let parts = [("hooks", hooks), ("mcpServers", servers), ("crossSessionInbound", inbound)];
            for (name, value) in parts {
                if let Some(value) = value {
                    let place = at.index(members.len() + 1);
                    members.insert(place, (name.to_owned(), value));
                }
            }
            Json::Object(unique(members))
        })
}

/// How a text is laid out: dice that say what stands between its parts.
struct Layout<'a> {
    dice: std::iter::Cycle<std::slice::Iter<'a, u8>>,
    newline: &'static str,
    is_plain: bool,
}

impl Layout<'_> {
    fn blank(&mut self, out: &mut String) {
        let newline = self.newline;
        match self.dice.next().copied().unwrap_or_default() % 9 {
            0 => out.push(' '),
            1 => out.push_str(newline),
            2 => out.push_str(&format!("{newline}\t")),
            3 => out.push_str(&format!("{newline}    ")),
            4 if !self.is_plain => out.push_str(&format!(" // a \"comment\" }}{newline}")),
            5 if !self.is_plain => out.push_str("/* { , */"),
            6 => out.push_str(&format!("  {newline}{newline}  ")),
            _ => {}
        }
    }

    fn write(&mut self, out: &mut String, value: &Json) {
        let (open, close, parts): (_, _, Vec<(Option<&String>, &Json)>) = match value {
            Json::Scalar(text) => return out.push_str(text),
            Json::List(items) => ('[', ']', items.iter().map(|item| (None, item)).collect()),
            Json::Object(members) => {
                ('{', '}', members.iter().map(|(name, value)| (Some(name), value)).collect())
            }
        };
        let last = parts.len();
        out.push(open);
        self.blank(out);
        for (index, (name, value)) in parts.into_iter().enumerate() {
            if let Some(name) = name {
                out.push_str(&format!("\"{name}\""));
                self.blank(out);
                out.push(':');
                self.blank(out);
            }
            self.write(out, value);
            self.blank(out);
            let trailing = !self.is_plain && self.dice.next().is_some_and(|die| die % 5 == 0);
            if index + 1 < last || trailing {
                out.push(',');
                self.blank(out);
            }
        }
        out.push(close);
    }
}

fn text(value: &Json, dice: &[u8], is_plain: bool) -> String {
    let newline = if dice.first().is_some_and(|die| die % 3 == 0) { "\r\n" } else { "\n" };
    let mut layout = Layout { dice: dice.iter().cycle(), newline, is_plain };
    let mut out = String::new();
    if !is_plain && dice.len().is_multiple_of(4) {
        out.push('\u{feff}');
    }
    layout.blank(&mut out);
    layout.write(&mut out, value);
    layout.blank(&mut out);
    out
}

// === TOML ===

fn toml() -> impl Strategy<Value = String> {
    let blocks = vec![
        "# a comment\n",
        "\n",
        "   \n",
        "model = \"x\" # why\n",
        "[ tools . web ]\n  a = [ 1,\n   2, # two\n ]\n",
        "[[profiles]]\nname = 'x'\n",
        "[[profiles]]\nname = 'y'\n[profiles.inner]\nz = 1\n",
        "[mcp_servers.rec]\ncommand = \"python3\"\n",
        "[mcp_servers.rec.env]\nA = \"\"\"\n[mcp_servers.highwater]\n\"\"\"\n",
        "[mcp_servers.highwater]\nurl = \"http://mine\"\n\n# of the next\n",
        "[ \"mcp_servers\" . 'highwater' ] # mine\ncommand = '''\n[x]\n'''\nargs.list = [\n]",
        "[mcp_servers.highwater.env]\nB = { c = \"}\" }\n",
        "[mcp_servers]\nother = { command = \"x\" }\n",
        "[mcp_servers]\nhighwater = { command = \"x\" } # inline\n",
        "mcp_servers = { rec = {} }\n",
        "mcp_servers.highwater.command = \"dotted\"\n",
        "[hooks.state]\n\"a:b\" = { trusted_hash = \"1\" }\n",
        "date = 2026-11-18T05:00:00Z",
    ];
    (prop::sample::subsequence(blocks, 0..8).prop_shuffle(), 0..4_u8).prop_map(|(blocks, style)| {
        let text = blocks.concat();
        match style {
            0 => text.replace('\n', "\r\n"),
            1 => text.trim_end().to_owned(),
            _ => text,
        }
    })
}

// === Laws ===

fn back(file: HostFile, connected: &Connected) -> Option<String> {
    let out = disconnect(file, "f", Some(&connected.contents), Some(&connected.undo)).unwrap();
    assert!(out.left.is_empty());
    out.contents
}

/// There and back, and twice there.
fn check(file: HostFile, before: &str, token: &str) -> Result<Option<Connected>, TestCaseError> {
    let Ok(connected) = connect(file, "f", Some(before), &install(token), None) else { return Ok(None) };
    prop_assert_eq!(back(file, &connected), Some(before.to_owned()));
    let again =
        connect(file, "f", Some(&connected.contents), &install(token), Some(&connected.undo)).unwrap();
    prop_assert_eq!(&again, &connected);
    let unrecorded = connect(file, "f", Some(&connected.contents), &install(token), None).unwrap();
    prop_assert_eq!(&unrecorded.contents, &connected.contents);
    prop_assert!(unrecorded.undo.is_empty());
    let renewed =
        connect(file, "f", Some(&connected.contents), &install("hwt_new"), Some(&connected.undo)).unwrap();
    prop_assert_eq!(back(file, &renewed), Some(before.to_owned()));
    Ok(Some(connected))
}

/// A file without what is ours, as values.
fn without_ours(mut value: Value) -> Value {
    let Some(root) = value.as_object_mut() else { return value };
    root.remove("crossSessionInbound");
    if let Some(servers) = root.get_mut("mcpServers").and_then(Value::as_object_mut) {
        servers.remove("highwater");
    }
    if let Some(hooks) = root.get_mut("hooks").and_then(Value::as_object_mut) {
        for groups in hooks.values_mut() {
            groups.as_array_mut().unwrap().retain(|group| {
                let text = group.to_string();
                !text.contains("highwater__hook") && !text.contains(" hook c")
            });
        }
        hooks.retain(|_, groups| groups.as_array().is_some_and(|groups| !groups.is_empty()));
    }
    for name in ["hooks", "mcpServers"] {
        if root.get(name).is_some_and(|part| part.as_object().is_some_and(serde_json::Map::is_empty)) {
            root.remove(name);
        }
    }
    value
}

/// A file without old hooks of ours, which do not come back into a file that somebody has changed.
fn without_stale(mut value: Value) -> Value {
    let hooks = value.get_mut("hooks").and_then(Value::as_object_mut).into_iter().flatten();
    for (_, groups) in hooks {
        groups.as_array_mut().unwrap().retain(|group| !group.to_string().contains("/old/highwater hook"));
    }
    value
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_json_file_is_restored_byte_for_byte(
        value in settings(),
        dice in prop::collection::vec(any::<u8>(), 1..40),
        file in prop::sample::select(&JSON_FILES[..]),
        token in "hwt_[a-z]{1,2}",
    ) {
        let before = text(&value, &dice, false);
        prop_assert!(check(file, &before, &token)?.is_some(), "{before}");
    }

    #[test]
    fn everything_else_in_a_json_file_stays_what_it_is(
        value in settings(),
        dice in prop::collection::vec(any::<u8>(), 1..40),
        file in prop::sample::select(&JSON_FILES[..]),
    ) {
        let before = text(&value, &dice, true);
        let connected = check(file, &before, "hwt_x")?.unwrap();
        let (old, new): (Value, Value) = (serde_json::from_str(&before).unwrap(), serde_json::from_str(&connected.contents).unwrap());
        prop_assert_eq!(without_ours(new), without_ours(old));
    }

    #[test]
    fn what_somebody_adds_to_a_json_file_stays(
        value in settings(),
        dice in prop::collection::vec(any::<u8>(), 1..40),
        file in prop::sample::select(&JSON_FILES[..]),
    ) {
        let before = text(&value, &dice, true);
        let connected = check(file, &before, "hwt_x")?.unwrap();
        let add = |text: &str| {
            let comma = if serde_json::from_str::<Value>(text).unwrap().as_object().unwrap().is_empty() { "" } else { "," };
            text.replacen('{', &format!("{{ \"theme\": [\"dark\"]{comma}"), 1)
        };
        let out = disconnect(file, "f", Some(&add(&connected.contents)), Some(&connected.undo)).unwrap();
        let out: Value = serde_json::from_str(&out.contents.unwrap()).unwrap();
        let expected: Value = serde_json::from_str(&add(&before)).unwrap();
        prop_assert_eq!(without_stale(out), without_stale(expected));
        // The host writes the whole file in its own way.
        let rewritten: Value = serde_json::from_str(&connected.contents).unwrap();
        let out = disconnect(file, "f", Some(&format!("{rewritten:#}")), Some(&connected.undo)).unwrap();
        let expected: Value = serde_json::from_str(&before).unwrap();
        let out: Value = serde_json::from_str(&out.contents.unwrap()).unwrap();
        prop_assert_eq!(without_stale(out), without_stale(expected));
    }

    #[test]
    fn broken_json_is_refused_or_restored(
        value in settings(),
        dice in prop::collection::vec(any::<u8>(), 1..40),
        file in prop::sample::select(&JSON_FILES[..]),
        at in any::<prop::sample::Index>(),
        put in prop::sample::select(vec!["", "{", "}", "\"", ",", "/", "\\", "ä", "\u{0}"]),
    ) {
        let mut broken = text(&value, &dice, false);
        let places: Vec<usize> = broken.char_indices().map(|(place, _)| place).collect();
        let place = places[at.index(places.len())];
        if put.is_empty() { broken.truncate(place) } else { broken.insert_str(place, put) }
        check(file, &broken, "hwt_x")?;
    }

    #[test]
    fn a_toml_file_is_restored_byte_for_byte(before in toml(), token in "hwt_[a-z]{1,2}") {
        let is_valid = before.parse::<toml::Table>().is_ok();
        let connected = check(HostFile::CodexConfig, &before, &token)?;
        prop_assert!(is_valid || connected.is_none());
        if let Some(connected) = connected {
            let mut old = before.parse::<toml::Table>().unwrap();
            let mut new = connected.contents.parse::<toml::Table>().unwrap();
            for table in [&mut old, &mut new] {
                if let Some(servers) = table.get_mut("mcp_servers").and_then(toml::Value::as_table_mut) {
                    servers.remove("highwater");
                }
                if table.get("mcp_servers").is_some_and(|servers| servers.as_table().unwrap().is_empty()) {
                    table.remove("mcp_servers");
                }
            }
            prop_assert_eq!(old, new);
            // Somebody adds to it: that stays, and ours goes.
            let added = format!("zz = 1\n{}", connected.contents);
            if added.parse::<toml::Table>().is_ok() {
                let out = disconnect(HostFile::CodexConfig, "f", Some(&added), Some(&connected.undo)).unwrap();
                let out = out.contents.unwrap().parse::<toml::Table>().unwrap();
                prop_assert_eq!(out, format!("zz = 1\n{before}").parse::<toml::Table>().unwrap());
            }
        }
    }

    #[test]
    fn any_text_at_all_is_refused_or_restored(before in any::<String>()) {
        for file in JSON_FILES.into_iter().chain([HostFile::CodexConfig]) {
            check(file, &before, "hwt_x")?;
        }
    }
}

#[test]
fn most_generated_toml_can_be_connected() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let texts = (0..500).map(|_| toml().new_tree(&mut runner).unwrap().current());
    let (mut connected, mut valid) = (0, 0);
    for text in texts {
        valid += usize::from(text.parse::<toml::Table>().is_ok());
        connected +=
            usize::from(connect(HostFile::CodexConfig, "f", Some(&text), &install("hwt_x"), None).is_ok());
    }
    assert!(valid > 100 && connected * 10 > valid * 7, "{connected} of {valid}");
}
