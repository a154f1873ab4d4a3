//! Files that are right, and the settings they become.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

use highwater_config::{Auth, Listen, Prefix, Settings, Surroundings, Transport, check, load, schema};
use highwater_core::annotation::{Authority, Axis, Contract, Destination, Outcome, Possible};
use highwater_core::id::UpstreamId;
use highwater_core::label::TextSet;
use highwater_core::trust::ServerTrust;
use serde_json::Value;

fn environment(name: &str) -> Option<String> {
    match name {
        "GITHUB_TOKEN" => Some("ghp_secret".to_owned()),
        "API_TOKEN" => Some("api-secret".to_owned()),
        "HOME" => Some("/home/ada".to_owned()),
        _ => None,
    }
}

fn settings(text: &str) -> Settings {
    load("highwater.yaml", text, &environment).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn every_key_reaches_the_settings() {
    insta::assert_debug_snapshot!(settings(include_str!("files/example.yaml")));
}

#[test]
fn a_block_pasted_from_a_client_is_understood() {
    insta::assert_debug_snapshot!(settings(include_str!("files/pasted.json")));
}

#[test]
fn what_debug_hides_is_there() {
    let settings = settings(include_str!("files/example.yaml"));
    let Transport::Stdio { args, env, .. } = &settings.server("github").unwrap().transport else { panic!() };
    assert_eq!(args, &["stdio", "--port", "8080", "--ratio", "1.10", "--verbose", "true"]);
    assert_eq!(env["GITHUB_PERSONAL_ACCESS_TOKEN"], "ghp_secret");
    assert_eq!(env["RETRIES"], "3");
    let Transport::Http { url, headers, .. } = &settings.server("web").unwrap().transport else { panic!() };
    assert_eq!(url, "https://example.com/mcp?key=none");
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(headers, &[header("authorization", "Bearer api-secret"), header("x-plain", "${NOT}")]);
    let shown = format!("{settings:?}");
    for secret in ["ghp_secret", "api-secret", "key=none", "8080"] {
        assert!(!shown.contains(secret), "{secret} is shown");
    }
}

#[test]
fn what_is_kept_of_the_audit_log_has_defaults_and_says_what_is_wrong() {
    let with = |audit: &str| format!("servers: {{ mail: {{ command: x }} }}\naudit: {audit}\n");
    let kept = settings(&with("{ keep: 36h }")).audit;
    assert_eq!((kept.keep.as_secs(), kept.max, kept.compress), (36 * 3_600, 10 << 30, true));
    assert_eq!(settings(&with("{}")).audit, settings("servers: { mail: { command: x } }").audit);
    for (audit, says) in [
        ("{ keep: 90 }", "`90` is not a duration"),
        ("{ keep: 0s }", "`audit.keep` must not be zero"),
        ("{ max: 10G }", "`10G` is not a size"),
        ("{ max: 0 }", "`audit.max` must not be zero"),
        ("{ max: 512KiB }", "`audit.max` is too small"),
        ("{ compress: gzip }", "compress"),
        ("{ retain: 90d }", "unknown key `retain` in `audit`"),
    ] {
        let problems = load("highwater.yaml", &with(audit), &environment).unwrap_err().to_string();
        assert!(problems.contains(says) && problems.contains("--> highwater.yaml:2:"), "{audit}: {problems}");
    }
}

#[test]
fn a_permit_that_is_none_is_refused_with_its_place_and_one_for_nobody_is_a_warning() {
    let with =
        |permit: &str| format!("servers: {{ mail: {{ command: x }} }}\npermits:\n  nightly: {permit}\n");
    for (permit, says) in [
        ("{ token: agent, until: 2030-01-01 }", "permit `nightly` has no `tool`"),
        ("{ tool: 'mail:send', until: 2030-01-01 }", "permit `nightly` has no `token`"),
        ("{ token: agent, tool: 'mail:send' }", "permit `nightly` has no `until`"),
        ("{ token: agent, tool: send, until: 2030-01-01 }", "`send` names no server"),
        ("{ token: agent, tool: 'mail:send', until: soon }", "`soon` is no day"),
        (
            "{ token: agent, tool: 'mail:send', until: 2030-01-01, arguments: { to: { regex: a } } }",
            "permit `nightly`: `arguments.to`",
        ),
        (
            "{ token: agent, tool: 'mail:send', until: 2030-01-01, arguments: { to: { prefix: 'https://a' } } }",
            "permit `nightly`: `arguments.to`",
        ),
    ] {
        let refused = load("highwater.yaml", &with(permit), &environment).unwrap_err().to_string();
        assert!(refused.contains(says), "{refused}");
    }
    let right = with("{ token: agent, tool: 'mail:send', until: 2030-01-01, arguments: { n: { max: 5 } } }");
    assert_eq!(settings(&right).permits.len(), 1);
    let none = |_: &str| Err(String::new());
    let surroundings = Surroundings { environment: &environment, files: &none };
    let doubtful = with("{ token: nobody, tool: 'post:send', until: 2030-01-01 }");
    let checked = check("highwater.yaml", &doubtful, &surroundings).unwrap();
    let warnings: Vec<String> = checked.warnings.iter().map(|it| it.as_warning().to_string()).collect();
    for says in ["token `nobody`, which is not in this file", "server `post`, which is not configured"] {
        assert!(warnings.iter().any(|warning| warning.contains(says)), "{warnings:?}");
    }
}

#[test]
fn what_only_a_shell_would_expand_is_remarked_on_where_it_stands() {
    let text = "servers:\n  notes:\n    command: notes\n    args: [\"~/notes\", \"--in=$HOME/x\", \"${HOME}/y\"]\n    env: { DIR: ~/z }\n  \
        shell: { command: sh, args: [-c, \"ls ~ $HOME\"] }\n";
    let none = |_: &str| Err(String::new());
    let home = |name: &str| (name == "HOME").then(|| "/home/ada".to_owned());
    let surroundings = Surroundings { environment: &home, files: &none };
    let checked = check("highwater.yaml", text, &surroundings).unwrap();
    let of_shell = checked.warnings.iter().filter(|it| it.code == Some("unexpanded"));
    let told: Vec<String> = of_shell
        .map(|it| {
            let place = it.place.as_ref().unwrap();
            format!("{}:{} {} | {}", place.line, place.column, it.message, it.help.as_deref().unwrap())
        })
        .collect();
    assert_eq!(
        told,
        [
            "4:13 `args` of server `notes`: nothing expands `~` here | write `${HOME}/notes`",
            "4:29 `args` of server `notes`: nothing expands `$HOME` here | write `${HOME}/x`",
            "5:17 `env.DIR` of server `notes`: nothing expands `~` here | write `${HOME}/z`",
        ]
    );
}

#[test]
fn a_label_for_every_tool_stands_under_those_of_single_tools() {
    let text = "servers:\n  notes:\n    command: x\n    labels:\n      \
        '*': { inputMetadata: { destination: user, outcomes: benign }, cases: [{ when: { arguments.a: b }, approval: confirm }] }\n      \
        send: { inputMetadata: { destination: public } }\n";
    let settings = settings(text);
    let labels = &settings.server("notes").unwrap().labels;
    assert_eq!(labels.tool_names().collect::<Vec<_>>(), ["send"]);
    let contract =
        |tool: &str| Contract::weigh(labels.tool(tool).unwrap().claims(), &ServerTrust::default()).0;
    assert_eq!(contract("anything").destination(), Possible::only(Destination::User));
    assert_eq!(contract("anything").basis(Axis::Destination), Authority::OperatorDefault);
    assert_eq!(contract("send").destination(), Possible::only(Destination::Public));
    assert_eq!(contract("send").basis(Axis::Destination), Authority::Operator);
    assert_eq!(contract("send").outcomes(), Possible::only(Outcome::Benign));
    for tool in ["anything", "send"] {
        assert_eq!(labels.tool(tool).unwrap().cases().len(), 1, "{tool}");
    }
}

#[test]
fn what_vouches_for_arguments_is_said_once_and_taken_over_where_nothing_else_is_said() {
    let text = "servers:\n  bank:\n    command: x\n    labels:\n      \
        '*': { caps: { amount: 100, count: 3 }, records: { kind: payment } }\n      \
        pay: { caps: { amount: 5.5 } }\n      \
        list: { records: { attested: [owner] } }\n\
        virtual_servers: { v: {}, w: { provenance: on } }\nprovenance: off\n";
    let settings = settings(text);
    let labels = &settings.server("bank").unwrap().labels;
    let above = |tool: &str, arguments: &str| labels.tool(tool).unwrap().caps().exceeded(arguments).len();
    assert_eq!(above("pay", r#"{ "amount": 5.4, "count": 3 }"#), 0);
    assert_eq!(above("pay", r#"{ "amount": 6, "count": 4 }"#), 2);
    assert_eq!(above("other", r#"{ "amount": 100 }"#), 0);
    assert_eq!(above("other", r#"{ "amount": "100.01" }"#), 1);
    let kind = |tool: &str| labels.records(tool).unwrap().kind.clone();
    assert_eq!((kind("pay").as_deref(), kind("list")), (Some("payment"), None));
    let is_on = |name: &str| settings.virtual_server(name).unwrap().provenance;
    assert_eq!((is_on("default"), is_on("v"), is_on("w")), (false, false, true));
}

/// Whose label a resource has is certain only where every spelling of its URI says the same.
#[test]
fn a_resource_that_is_spelled_oddly_may_have_several_labels() {
    let text = "servers:\n  files:\n    command: x\n    resource_labels:\n      \
        'file:///srv/public/*': { returnMetadata: { source: system, sensitivity: none } }\n      \
        'file:///srv/private/*': { returnMetadata: { source: internal, sensitivity: pii } }\n";
    let settings = settings(text);
    let labels = &settings.server("files").unwrap().labels;
    let certain = |uri: &str| labels.resource(uri)[0].unwrap();
    let (public, private) = (certain("file:///srv/public/a"), certain("file:///srv/private/a"));
    let named = |uri: &str| -> Vec<&str> {
        let possible = labels.resource(uri).into_iter();
        possible
            .map(|label| match label {
                Some(label) if std::sync::Arc::ptr_eq(label, public) => "public",
                Some(label) if std::sync::Arc::ptr_eq(label, private) => "private",
                Some(_) => "another",
                None => "none",
            })
            .collect()
    };
    assert_eq!(named("file:///srv/public/a"), ["public"]);
    assert_eq!(named("file:///srv/public/a%20b"), ["public"]);
    assert_eq!(named("file:///srv/private/a"), ["private"]);
    assert_eq!(named("file:///tmp/a"), ["none"]);
    // What looks public and means private, and the other way round.
    for (from, to) in [("public", "private"), ("private", "public")] {
        for uri in [
            format!("file:///srv/{from}/../{to}/a"),
            format!("file:///srv/{from}/./../{to}/a"),
            format!("file:///srv/{from}//..//{to}/a"),
            format!("file:///srv/{from}/%2e%2e/{to}/a"),
            format!("file:///srv/{from}/%252e%252e/{to}/a"),
            format!(r"file:///srv/{from}/..\{to}\a"),
        ] {
            let mut named = named(&uri);
            named.sort_unstable();
            assert_eq!(named, ["none", "private", "public"], "{uri}");
        }
    }
    assert_eq!(named("file:///srv/Private/a"), ["private", "none"]);
    assert_eq!(named("/srv/private/a"), ["private", "none"]);
    assert_eq!(named("private/a"), ["private", "none"]);
}

/// As they are printed where they were first described: alone in a file.
#[test]
fn tokens_are_read_as_they_are_published() {
    let text = r#"{
  "agent_tokens": {
    "my-read-only-agent": {
      "permissions": ["call_tool_read", "retrieve_tools"],
      "servers": ["*"]
    }
  }
}"#;
    let settings = settings(text);
    let token = settings.agent_token("my-read-only-agent").unwrap();
    let granted: Vec<&str> = token.grant.permissions.iter().map(|granted| granted.as_str()).collect();
    assert_eq!(granted, ["call_tool_read", "retrieve_tools"]);
    assert_eq!(token.grant.servers.names(), ["*"]);
    assert_eq!(settings.agent_tokens.len(), 1);
}

#[test]
fn a_list_of_no_tools_grants_none_and_no_list_all() {
    let token = |tools: &str| {
        let text = format!(
            "servers: {{ a: {{ command: x }} }}\nagent_tokens: {{ bot: {{ permissions: [read], servers: [a]{tools} }} }}\n"
        );
        settings(&text).agent_tokens[0].grant.reaches_tool(&UpstreamId::new("a"), "get")
    };
    assert!(token(""));
    assert!(token(", tools: null"));
    assert!(!token(", tools: []"));
    assert!(token(", tools: ['a:g*']"));
}

#[test]
fn escapes_of_json_are_undone() {
    let settings = settings(include_str!("files/pasted.json"));
    let Transport::Http { url, headers, .. } = &settings.server("remote").unwrap().transport else {
        panic!()
    };
    assert_eq!(url, "https://example.com/mcp");
    assert_eq!(headers, &[("x-cafe".to_owned(), "1".to_owned())]);
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_do_no_harm() {
    let plain = "servers:\n  a:\n    command: x\n    args: [y]\n";
    let windows = format!("\u{feff}{}", plain.replace('\n', "\r\n"));
    assert_eq!(settings(plain), settings(&windows));
}

/// Writes every default of the schema out, key by key.
fn written_out(schema: &Value, shape: &Value) -> Value {
    let shape = match shape.get("$ref").and_then(Value::as_str) {
        Some(reference) => &schema["$defs"][reference.strip_prefix("#/$defs/").unwrap()],
        None => shape,
    };
    let mut file = serde_json::Map::new();
    for (key, value) in shape["properties"].as_object().unwrap() {
        let nested = value
            .get("$ref")
            .is_some_and(|r| matches!(r.as_str(), Some("#/$defs/limits" | "#/$defs/timeouts")));
        match value.get("default") {
            Some(default) => drop(file.insert(key.clone(), default.clone())),
            None if nested => drop(file.insert(key.clone(), written_out(schema, value))),
            None => {}
        }
    }
    Value::Object(file)
}

#[test]
fn the_defaults_the_reference_names_are_those_in_effect() {
    let schema = schema();
    let mut file = written_out(&schema, &schema);
    let mut program = written_out(&schema, &schema["$defs"]["server"]);
    let mut remote = program.clone();
    for (entry, key, value, foreign) in [
        (&mut program, "command", "x", ["headers", "allow_plain_http", ""]),
        (&mut remote, "url", "https://example.com/", ["args", "env", "cwd"]),
    ] {
        let entry = entry.as_object_mut().unwrap();
        entry.insert(key.to_owned(), value.into());
        entry.retain(|key, _| !foreign.contains(&key.as_str()));
    }
    file["servers"] = serde_json::json!({ "a": program, "b": remote });
    let short = "servers: { a: { command: x }, b: { url: 'https://example.com/' } }";
    assert_eq!(settings(&file.to_string()), settings(short));
}

#[test]
fn the_default_virtual_server_holds_everything_that_is_enabled() {
    let settings =
        settings("servers: { a: { command: x }, b: { command: y, disabled: true } }\nprefix: never");
    let default = settings.virtual_server("default").unwrap();
    assert_eq!(default.servers, ["a"]);
    assert_eq!(default.prefix, Prefix::Never);
}

#[test]
fn a_default_that_is_written_replaces_the_one_made() {
    let text =
        "servers: { a: { command: x }, b: { command: y } }\nvirtual_servers: { default: { servers: [b] } }";
    let settings = settings(text);
    assert_eq!(settings.virtual_servers.len(), 1);
    assert_eq!(settings.virtual_servers[0].servers, ["b"]);
}

#[test]
fn a_change_to_one_server_changes_that_server_alone() {
    let before = settings("servers: { a: { command: x }, b: { command: y } }");
    let after = settings("servers: { a: { command: x }, b: { command: y, args: [z] } }");
    assert_eq!(before.server("a"), after.server("a"));
    assert_ne!(before.server("b"), after.server("b"));
}

#[test]
fn a_command_line_cannot_expose_what_the_file_could_not() {
    let open: Listen = "0.0.0.0:7411".parse().unwrap();
    let local: Listen = "127.0.0.1:9000".parse().unwrap();
    let free = settings("auth: none\nservers: { a: { command: x } }");
    assert_eq!(free.auth, Auth::None);
    assert_eq!(free.clone().listening_on(local).unwrap().listen, local);
    let refused = free.listening_on(open).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`auth: none` is refused with `listen: 0.0.0.0:7411`, which other machines can reach"
    );
    let guarded = settings("servers: { a: { command: x } }");
    assert_eq!(guarded.listening_on(open).unwrap().listen, open);
}

#[test]
fn lines_are_tried_as_if_they_had_been_pasted() {
    let around = highwater_config::Surroundings { environment: &|_| None, files: &|_| Err(String::new()) };
    let file = "servers:\n  notes: { command: notes-server }\nclearance: { public: [pii] }\nwaivers:\n  - { waive: [flow.write], when: { tool.id: a }, until: 2027-01-31, reason: Ours. }\n";
    let with = |lines: &[&str]| highwater_config::load_with("highwater.yaml", file, lines, &around);
    let word = "servers:\n  notes:\n    profile: local";
    let settings = with(&[word]).unwrap();
    assert_eq!(settings.servers.len(), 1);
    assert_eq!(settings.servers[0].profile.map(|word| word.as_str()), Some("local"));
    // A list at the top gains what is pasted, one below is replaced, and several pastes add up.
    let waiver =
        "waivers:\n  - { waive: [flow.act], when: { tool.id: b }, until: 2027-01-31, reason: Ours too. }";
    let settings = with(&[word, waiver, "clearance: { public: [user] }"]).unwrap();
    assert_eq!(settings.servers[0].profile.map(|word| word.as_str()), Some("local"));
    let flow = &settings.virtual_servers[0].flow;
    let public = flow.clearance.admits(highwater_core::annotation::Destination::Public);
    assert_eq!(public.iter().map(|class| class.as_str()).collect::<Vec<_>>(), ["user"]);
    // What would not load is no configuration.
    let wrong = with(&["servers:\n  notes:\n    profile: lokal"]).unwrap_err().to_string();
    assert!(wrong.contains("lokal"), "{wrong}");
    assert!(with(&["clearance: ["]).is_err());
}

#[test]
fn regulated_data_is_cleared_by_scope() {
    let settings = settings(
        "servers: { notes: { command: notes-server } }\nclearance: { public: [user, { regulated: { scopes: [GDPR, pci] } }] }\n",
    );
    let clearance = &settings.virtual_servers[0].flow.clearance;
    let (names, scopes) = clearance.parts(Destination::Public);
    assert!(names.is_empty());
    assert_eq!(scopes, &TextSet::of(["gdpr", "pci"]));
    assert!(!clearance.admits_every_scope(Destination::Public));
}
