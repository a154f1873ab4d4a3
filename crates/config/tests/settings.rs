//! Files that are right, and the settings they become.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

use highwater_config::{Auth, Listen, Prefix, Settings, Transport, load, schema};
use highwater_core::id::UpstreamId;
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
