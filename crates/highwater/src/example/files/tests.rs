//! The drive: tools and resources over one tree.

use serde_json::{Value, json};

use crate::example::tests::client::{BOTH, Client, kept, plain};
use crate::example::{ExampleArgs, ExampleServer::Files};

const ROADMAP: &str = "file:///team/roadmap.md";

#[test]
fn folders_decide_the_label() {
    for era in BOTH {
        let mut files = Client::of(era, Files, &plain());
        for (path, label) in [
            ("public/handbook.md", json!({"sensitivity": "none"})),
            ("team/roadmap.md", json!({"sensitivity": "none"})),
            ("finance/salaries-2026.csv", json!({"sensitivity": ["pii", "financial"]})),
            ("deploy/.env", json!({"sensitivity": "credentials"})),
            ("uploads/partner-feedback.txt", json!({"openWorldHint": true, "sensitivity": "none"})),
        ] {
            let mut expected = label;
            expected["attribution"] = json!([format!("mcp://files.larkfield.example/{path}")]);
            assert_eq!(files.label("read_file", json!({"path": path})), expected, "{path}");
            let read = files.ask("resources/read", json!({"uri": format!("file:///{path}")}));
            assert_eq!(read["_meta"]["annotations"], expected, "the same as a resource");
        }
    }
}

#[test]
fn a_list_can_be_narrowed_to_a_folder() {
    let mut files = Client::legacy(Files, &plain());
    let paths = |list: Value| -> Vec<String> {
        list["files"]
            .as_array()
            .unwrap()
            .iter()
            .map(|file| file["path"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(paths(files.data("list_files", json!({}))).len(), 8);
    let finance = ["finance/invoice-1187.md", "finance/salaries-2026.csv"];
    assert_eq!(paths(files.data("list_files", json!({"folder": "finance"}))), finance);
    assert_eq!(paths(files.data("list_files", json!({"folder": "/finance/"}))), finance);
    assert!(files.refused("list_files", json!({"folder": "fin"})).contains("`folder`"));
}

#[test]
fn earlier_versions_stay_readable_so_that_a_write_can_be_undone() {
    let mut files = Client::legacy(Files, &plain());
    for number in 2..=7 {
        let written =
            files.data("write_file", json!({"path": "team/roadmap.md", "text": format!("v{number}")}));
        assert_eq!(written["version"], number);
    }
    assert_eq!(files.data("read_file", json!({"path": "team/roadmap.md"}))["text"], "v7");
    assert_eq!(files.data("read_file", json!({"path": "team/roadmap.md", "version": 3}))["text"], "v3");
    let gone = files.refused("read_file", json!({"path": "team/roadmap.md", "version": 2}));
    assert!(gone.contains("`version`") && gone.contains("3 to 7"), "{gone}");
}

#[test]
fn bad_arguments_are_refused_by_name() {
    let mut files = Client::modern(Files, &plain());
    for (tool, arguments, named) in [
        ("read_file", json!({"path": "team/none.md"}), "`path`"),
        ("read_file", json!({"path": "/team/roadmap.md"}), "`path`"),
        ("read_file", json!({"path": "team/roadmap.md", "version": 0}), "`version`"),
        ("write_file", json!({"path": "team/x.md"}), "`text`"),
        ("write_file", json!({"path": "team/../finance/x.csv", "text": ""}), "`path`"),
        ("write_file", json!({"path": "/team/x.md", "text": ""}), "`path`"),
        ("write_file", json!({"path": "team//x.md", "text": ""}), "`path`"),
        ("write_file", json!({"path": "team/x y.md", "text": ""}), "`path`"),
        ("write_file", json!({"path": "team/x.md", "text": "x".repeat(100_001)}), "`text`"),
        ("delete_file", json!({"path": "team/none.md"}), "`path`"),
    ] {
        let text = files.refused(tool, arguments);
        assert!(text.contains(named), "{tool}: {text}");
    }
}

#[test]
fn resources_are_listed_read_and_templated() {
    for era in BOTH {
        let mut files = Client::of(era, Files, &plain());
        let listed = files.ask("resources/list", json!({}))["resources"].take();
        assert_eq!(listed.as_array().unwrap().len(), 8);
        assert_eq!(listed[0]["uri"], "file:///deploy/.env");
        for resource in listed.as_array().unwrap() {
            let contents = files.ask("resources/read", json!({"uri": resource["uri"]}))["contents"].take();
            assert_eq!(contents[0]["uri"], resource["uri"]);
            assert_eq!(contents[0]["mimeType"], resource["mimeType"]);
            assert_eq!(
                contents[0]["text"].as_str().unwrap().len() as u64,
                resource["size"].as_u64().unwrap()
            );
        }
        let templates = files.ask("resources/templates/list", json!({}));
        assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], "file:///{+path}");
        let reference = json!({"type": "ref/resource", "uri": "file:///{+path}"});
        let argument = json!({"name": "path", "value": "fin"});
        let completed = files.ask("completion/complete", json!({"ref": reference, "argument": argument}));
        assert_eq!(
            completed["completion"],
            json!({"values": ["finance/invoice-1187.md", "finance/salaries-2026.csv"], "total": 2, "hasMore": false})
        );
    }
}

#[test]
fn an_unknown_resource_has_the_code_of_its_era_and_the_uri() {
    for (era, code) in BOTH.into_iter().zip([-32002, -32602]) {
        let mut files = Client::of(era, Files, &plain());
        for uri in ["file:///team/none.md", "file:///", "https://files.example/x", "roadmap"] {
            let error = files.fail("resources/read", json!({"uri": uri}));
            assert_eq!((&error["code"], &error["data"]["uri"]), (&json!(code), &json!(uri)));
        }
        assert_eq!(files.fail("resources/read", json!({}))["code"], -32602);
    }
}

#[test]
fn a_legacy_subscriber_hears_of_its_file_until_it_unsubscribes() {
    let mut files = Client::legacy(Files, &plain());
    let write = json!({"path": "team/roadmap.md", "text": "x"});
    let methods = |files: &Client| -> Vec<String> {
        files.notifications.iter().map(|message| message["method"].as_str().unwrap().to_owned()).collect()
    };
    files.call("write_file", write.clone());
    assert_eq!(methods(&files), Vec::<String>::new());
    assert_eq!(files.fail("resources/subscribe", json!({"uri": "file:///none"}))["code"], -32002);
    files.ask("resources/subscribe", json!({"uri": ROADMAP}));
    files.call("write_file", write.clone());
    assert_eq!(methods(&files), ["notifications/resources/updated"]);
    assert_eq!(files.notifications[0]["params"], json!({"uri": ROADMAP}));
    files.call("delete_file", json!({"path": "team/roadmap.md"}));
    assert_eq!(methods(&files), ["notifications/resources/updated", "notifications/resources/list_changed"]);
    files.ask("resources/unsubscribe", json!({"uri": ROADMAP}));
    files.call("write_file", write);
    assert_eq!(methods(&files), ["notifications/resources/list_changed"]);
}

#[test]
fn the_drive_survives_a_restart_when_it_has_a_directory() {
    let directory = tempfile::tempdir().unwrap();
    Client::legacy(Files, &kept(directory.path()))
        .call("write_file", json!({"path": "new.md", "text": "kept"}));
    let mut again = Client::modern(Files, &kept(directory.path()));
    assert_eq!(again.data("read_file", json!({"path": "new.md"}))["text"], "kept");
    assert!(!directory.path().join("files.json.new").exists());
}

#[test]
fn data_out_of_reach_is_refused_without_naming_the_machine() {
    let directory = tempfile::tempdir().unwrap();
    let mut files = Client::modern(Files, &kept(directory.path()));
    std::fs::write(directory.path().join("files.json"), "broken").unwrap();
    let text = files.refused("read_file", json!({"path": "new.md"}));
    assert_eq!(text, "the server cannot reach its data");
    assert_eq!(files.fail("resources/list", json!({}))["code"], -32603);
}

#[test]
fn resolution_tells_destination_and_source_from_the_path() {
    let mut files = Client::modern(Files, &ExampleArgs { resolve: true, ..plain() });
    let resolved = |files: &mut Client, path: &str| {
        files.resolved("write_file", json!({"path": path, "text": ""}))["inputMetadata"]["destination"].take()
    };
    assert_eq!(resolved(&mut files, "public/news.md"), json!("public"));
    assert_eq!(resolved(&mut files, "team/news.md"), json!("internal"));
    let env = files.resolved("read_file", json!({"path": "deploy/.env"}));
    assert_eq!(env["returnMetadata"], json!({"source": "internal", "sensitivity": "credentials"}));
}
