//! Input schemas: what is followed, what cannot be, and what is found at which place.

use super::*;

fn of(name: &str, schema: &str) -> ToolShape {
    ToolShape::read("server", name, Some(schema))
}

#[test]
fn a_schema_that_cannot_be_read_makes_nothing_milder() {
    let deep = format!("{}{}", r#"{"properties":{"a":"#.repeat(20), "{}".to_owned() + &"}}".repeat(20));
    for schema in [
        "",
        "null",
        "true",
        "[]",
        "{",
        r#"{"properties":[]}"#,
        r#"{"properties":{"a":7}}"#,
        r#"{"properties":{"a":{"$ref":"https://a.example/x"}}}"#,
        r##"{"properties":{"a":{"$ref":"#/$defs/missing"}}}"##,
        r##"{"properties":{"a":{"$ref":"#anchor"}}}"##,
        r#"{"properties":{"a":{"$ref":7}}}"#,
        r##"{"properties":{"a":{"$dynamicRef":"#x"}}}"##,
        r#"{"anyOf":{}}"#,
        &deep,
        &"[".repeat(1000),
        &r#"{"allOf":["#.repeat(40),
    ] {
        let shape = of("get_x", schema);
        assert_eq!(found(&shape), "reads exit? engine?", "{schema}");
        assert!(shape.is_open() && !shape.only_reads(), "{schema}");
    }
    assert_eq!(found(&ToolShape::read("server", "get_x", None)), "reads exit? engine?");
    assert_eq!(found(&ToolShape::read("server", "send_x", None)), "name:send engine?");
}

#[test]
fn too_many_schemas_are_not_looked_at() {
    let wide: Vec<String> = (0..5000).map(|at| format!(r#""a{at}":{{"type":"string"}}"#)).collect();
    let schema = format!(r#"{{"properties":{{{}}}}}"#, wide.join(","));
    assert_eq!(found(&of("get_x", &schema)), "reads exit? engine?");
    // References that multiply: each object holds the next one twice.
    let defs: Vec<String> = (0..40)
        .map(|at| format!(r##""d{at}":{{"properties":{{"x":{{"$ref":"#/$defs/d{0}"}},"y":{{"$ref":"#/$defs/d{0}"}}}}}}"##, at + 1))
        .collect();
    let schema = format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{},"d40":{{}}}}}}"##, defs.join(","));
    assert_eq!(found(&of("get_x", &schema)), "reads exit? engine?");
}

#[test]
fn a_tool_without_arguments_is_known() {
    for schema in
        ["{}", r#"{"type":"object"}"#, r#"{"type":"object","properties":{},"additionalProperties":false}"#]
    {
        let shape = of("get_x", schema);
        assert!(shape.only_reads() && !shape.is_open(), "{schema}");
    }
}

#[test]
fn an_argument_is_found_wherever_the_schema_says_it() {
    let definitions = r#""definitions":{"Page":{"type":"object","properties":{"url":{"type":"string"}}}}"#;
    for (schema, place) in [
        (r#"{"properties":{"a":{"properties":{"b":{"properties":{"url":{}}}}}}}"#, "a/b/url"),
        (r#"{"properties":{"a":{"items":{"properties":{"url":{}}}}}}"#, "a/*/url"),
        (r#"{"properties":{"a":{"prefixItems":[{},{"properties":{"url":{}}}]}}}"#, "a/*/url"),
        (r#"{"properties":{"a":{"additionalProperties":{"properties":{"url":{}}}}}}"#, "a/*/url"),
        (r#"{"properties":{"a":{"patternProperties":{"x":{"properties":{"url":{}}}}}}}"#, "a/*/url"),
        (r#"{"anyOf":[{"properties":{"a":{}}},{"properties":{"url":{}}}]}"#, "url"),
        (r#"{"allOf":[{"if":{},"then":{"properties":{"url":{}}}}]}"#, "url"),
        (r#"{"dependentSchemas":{"a":{"properties":{"url":{}}}}}"#, "url"),
        (r#"{"properties":{"a~/b":{"properties":{"url":{}}}}}"#, "a~0~1b/url"),
        (r#"{"properties":{"a":{"format":"uri"}}}"#, "a"),
        (r#"{"properties":{"a":{"anyOf":[{"type":"string","format":"uri"},{"type":"null"}]}}}"#, "a"),
        (r#"{"properties":{"a":{"pattern":"^https?://"}}}"#, "a"),
        (r#"{"properties":{"a":{"default":"http://localhost"}}}"#, "a"),
        (&format!(r##"{{"properties":{{"a":{{"$ref":"#/definitions/Page"}}}},{definitions}}}"##), "a/url"),
        (
            &format!(
                r##"{{"properties":{{"a":{{"items":{{"$ref":"#/definitions/Page"}}}}}},{definitions}}}"##
            ),
            "a/*/url",
        ),
    ] {
        let found = of("get_x", schema).sends().cloned();
        assert_eq!(found, Some(Exit::Url { argument: place.to_owned() }), "{schema}");
    }
}

#[test]
fn a_schema_that_holds_itself_ends() {
    let schema = r##"{"properties":{"node":{"$ref":"#/$defs/Node"}},"$defs":{"Node":{"type":"object","properties":{
        "path":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/Node"}}}}}}"##;
    let shape = of("write_x", schema);
    assert_eq!(shape.paths(), ["node/path"]);
    assert!(shape.is_open());
    assert_eq!(shape.sends(), None);
    assert_eq!(of("get_x", r##"{"$ref":"#"}"##).sends(), None);
}

#[test]
fn an_argument_is_a_url_by_its_name() {
    for name in [
        "url",
        "URL",
        "imageUrl",
        "image_url",
        "imageURLs",
        "baseurl",
        "redirect_uri",
        "href",
        "link",
        "links",
        "endpoint",
        "webhook",
        "webHook",
        "callback",
        "host",
        "hostname",
        "domain",
        "ip_address",
        "resource_uri",
        "website",
    ] {
        assert!(matches!(shape("s", "get_x", name).sends(), Some(Exit::Url { .. })), "{name}");
    }
    for name in ["url_count", "link_text", "webhook_id", "curly", "ship", "linked", "title", "security"] {
        assert_eq!(shape("s", "get_x", name).sends(), None, "{name}");
    }
    assert_eq!(
        of("get_x", r#"{"properties":{"links":{"type":"boolean"},"max_links":{"type":"integer"}}}"#).sends(),
        None
    );
}

#[test]
fn an_argument_is_an_address_by_its_name_unless_the_tool_reads() {
    for name in [
        "to",
        "cc",
        "bcc",
        "recipient",
        "recipients",
        "recipient_id",
        "email",
        "to_email",
        "userEmail",
        "phone",
        "phone_number",
        "channel",
        "channelId",
        "chat_id",
        "room",
        "account",
        "account_id",
        "iban",
        "wallet",
        "payee",
        "attendees",
        "reply_to",
        "send_to",
        "owner",
        "address",
    ] {
        assert!(matches!(shape("s", "put_x", name).sends(), Some(Exit::Address { .. })), "{name}");
        assert_eq!(shape("s", "get_x", name).sends(), None, "{name}");
    }
    for name in
        ["email_id", "email_subject", "channel_type", "token", "total", "topic", "owner_type", "headroom"]
    {
        assert_eq!(shape("s", "put_x", name).sends(), None, "{name}");
    }
    let shape = of("put_x", r#"{"properties":{"who":{"type":"string","format":"email"}}}"#);
    assert!(matches!(shape.sends(), Some(Exit::Address { .. })));
    // The number of a chat is a number, and nothing that is yes or no receives anything.
    assert!(of("put_x", r#"{"properties":{"chat_id":{"type":"integer"}}}"#).sends().is_some());
    assert_eq!(of("put_x", r#"{"properties":{"email":{"type":"boolean"}}}"#).sends(), None);
}

#[test]
fn two_ends_are_a_relation_only_where_nothing_is_sent_along() {
    let ends = |name, more: &str| shape("s", name, &format!("from to {more}")).sends().is_some();
    assert!(!ends("put_x", "relationType"));
    assert!(!ends("put_x", "relation_type weight"));
    for more in ["amount", "subject", "body", "message", "text", "content", "relationType text"] {
        assert!(ends("put_x", more), "{more}");
    }
    assert!(shape("s", "put_x", "to relationType").sends().is_some());
    assert!(ends("put_x", "source destination"));
}

#[test]
fn an_argument_is_run_by_its_name() {
    for name in [
        "command",
        "cmd",
        "shell_command",
        "commands",
        "code",
        "source_code",
        "pythonCode",
        "code_snippet",
        "script",
        "expression",
        "sql",
        "sql_query",
        "rawSQL",
        "args",
        "function",
        "cypher",
        "formula",
    ] {
        assert!(shape("s", "get_x", name).runs().is_some(), "{name}");
    }
    for name in [
        "query",
        "country_code",
        "zip_code",
        "status_code",
        "command_id",
        "script_name",
        "statement",
        "codec",
        "scripted",
    ] {
        assert_eq!(shape("s", "get_x", name).runs(), None, "{name}");
    }
    assert_eq!(
        of("get_x", r#"{"properties":{"code":{"type":"integer"},"sql":{"type":"boolean"}}}"#).runs(),
        None
    );
}

#[test]
fn things_and_paths_are_named_by_pointer() {
    let edits =
        r#"edits={"type":"array","items":{"type":"object","properties":{"oldText":{"type":"string"}}}}"#;
    for (name, arguments, objects, paths) in [
        ("write_file", "path content", "path", "path"),
        ("edit_file", &format!("path {edits}"), "path", "path"),
        ("read_multiple_files", "paths[]", "paths/*", "paths/*"),
        ("move_file", "source destination", "destination source", "destination source"),
        ("rename", "from to", "from to", "from to"),
        ("git_add", "repo_path files[]", "files/* repo_path", "files/* repo_path"),
        ("git_commit", "repo_path message", "repo_path", "repo_path"),
        ("describe_table", "table_name", "table_name", ""),
        ("delete_entities", "entityNames[]", "entityNames/*", ""),
        ("update_issue", "repo issue_number body", "issue_number repo", ""),
        ("put", "key value", "key", ""),
        ("set", "api_key", "", ""),
        ("list", "page per_page", "page", ""),
        ("add", "file_id fileContent fileType filePattern", "file_id", ""),
        ("send", "to channel_id url command", "", ""),
        (
            "save",
            "projectRoot workdir file_name",
            "file_name projectRoot workdir",
            "file_name projectRoot workdir",
        ),
    ] {
        let shape = shape("s", name, arguments);
        let sorted = |all: &[String]| {
            let mut all = all.to_vec();
            all.sort();
            all.join(" ")
        };
        assert_eq!(sorted(shape.objects()), objects, "{name}");
        assert_eq!(sorted(shape.paths()), paths, "{name}");
        assert!(shape.paths().iter().all(|path| shape.objects().contains(path)), "{name}");
    }
}

#[test]
fn what_is_left_open_is_said() {
    for schema in [
        r#"{"properties":{"options":{"type":"object"}}}"#,
        r#"{"properties":{"value":{}}}"#,
        r#"{"properties":{"values":{"type":"array"}}}"#,
        r#"{"properties":{"files":{"additionalProperties":{"type":"string"}}}}"#,
        r#"{"properties":{"a":{"type":"string"}},"additionalProperties":true}"#,
    ] {
        assert!(of("put_x", schema).is_open(), "{schema}");
    }
    let closed =
        r#"{"properties":{"a":{"type":"string"},"b":{"enum":["x"]},"c":{"type":["integer","null"]}}}"#;
    assert!(!of("put_x", closed).is_open());
}
