//! A server of this machine takes its sources by path: what was downloaded, installed or cloned is strangers' text, and
//! the user's own project is not.

use serde_json::{Value, json};

use super::{ClientOptions, Script, Setup, Stage, Step, text};

const OWN: [&str; 2] = ["integrity:tool", "confidential"];
const STRANGERS: [&str; 2] = ["integrity:none", "confidential"];

/// A machine with a project, a clone of others and a folder of downloads.
struct Machine {
    folder: tempfile::TempDir,
}

// === impl Machine ===

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for made in [
            "src/app/.git",
            "src/app/node_modules/evil",
            "src/app/lib",
            "clones/theirs/.git",
            "clones/theirs/docs",
            "Downloads",
            "letters",
        ] {
            std::fs::create_dir_all(folder.path().join(made)).unwrap();
        }
        for file in [
            "src/app/README.md",
            "src/app/node_modules/evil/README.md",
            "clones/theirs/docs/a.md",
            "Downloads/offer.txt",
            "letters/a.txt",
        ] {
            std::fs::write(folder.path().join(file), "text").unwrap();
        }
        std::os::unix::fs::symlink("../node_modules/evil", folder.path().join("src/app/lib/evil")).unwrap();
        Self { folder }
    }

    fn path(&self, below: &str) -> String {
        self.folder.path().join(below).to_str().unwrap().to_owned()
    }

    /// A gateway with a file server that says nothing of itself.
    async fn open(&self, projects: &[&str]) -> Stage {
        let one =
            |name: &str| tool(name, json!({ "path": { "type": "string" }, "pattern": { "type": "string" } }));
        let many = tool("read_files", json!({ "paths": { "type": "array", "items": { "type": "string" } } }));
        let script = Script::of([
            one("read_file"),
            one("list_directory"),
            one("search_files"),
            one("edit_file"),
            many,
        ]);
        let projects: Vec<String> = projects.iter().map(|project| self.path(project)).collect();
        let setup = Setup::new().server("up", script).with(|config| {
            config["servers"]["up"] =
                json!({ "command": "scripted", "quarantine": false, "profile": "local" });
            config["projects"] = json!(projects);
        });
        setup.open().await
    }
}

fn tool(name: &str, properties: Value) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object", "properties": properties, "additionalProperties": false } })
}

/// The label of a session after one call.
async fn after(stage: &Stage, tool: &str, arguments: Value) -> Vec<&'static str> {
    // Each in a conversation of its own.
    let context = format!("c{}", stage.up().journal().len());
    let agent = stage.agent(ClientOptions { context: Some(&context), ..ClientOptions::default() });
    text(&agent.call(&format!("up__{tool}"), arguments).await);
    stage.label(&agent)
}

#[tokio::test]
async fn what_is_read_is_worth_what_its_place_is() {
    let machine = Machine::new();
    let stage = machine.open(&["src/app"]).await;
    for (path, label) in [
        ("src/app/README.md", OWN),
        ("src/app/package.json", OWN),
        ("letters/a.txt", OWN),
        ("src/app/node_modules/evil/README.md", STRANGERS),
        ("src/app/lib/evil/README.md", STRANGERS),
        ("src/app/../../Downloads/offer.txt", STRANGERS),
        ("clones/theirs/docs/a.md", STRANGERS),
    ] {
        assert_eq!(after(&stage, "read_file", json!({ "path": machine.path(path) })).await, label, "{path}");
    }
    let both = json!({ "paths": [machine.path("src/app/README.md"), machine.path("Downloads/offer.txt")] });
    assert_eq!(after(&stage, "read_files", both).await, STRANGERS);
    let own = json!({ "paths": [machine.path("src/app/README.md"), machine.path("src/app/package.json")] });
    assert_eq!(after(&stage, "read_files", own).await, OWN);
    // Where it lies is not known, and by its name it was installed.
    assert_eq!(after(&stage, "read_file", json!({ "path": "node_modules/evil/README.md" })).await, STRANGERS);
    assert_eq!(after(&stage, "read_file", json!({ "path": "README.md" })).await, OWN);
}

#[tokio::test]
async fn a_clone_is_told_from_a_project_only_where_projects_are_named() {
    let machine = Machine::new();
    let stage = machine.open(&[]).await;
    let theirs = json!({ "path": machine.path("clones/theirs/docs/a.md") });
    assert_eq!(after(&stage, "read_file", theirs).await, OWN);
    let offer = json!({ "path": machine.path("Downloads/offer.txt") });
    assert_eq!(after(&stage, "read_file", offer).await, STRANGERS);
}

#[tokio::test]
async fn a_search_is_worth_what_it_finds() {
    let machine = Machine::new();
    let stage = machine.open(&["src/app"]).await;
    let within = json!({ "path": machine.path("src/app"), "pattern": "a" });
    stage.up().on("search_files", [Step::say("README.md\nlib/a.js")]);
    assert_eq!(after(&stage, "search_files", within.clone()).await, OWN);
    stage.up().on("search_files", [Step::say("README.md\nnode_modules/evil/README.md: obey")]);
    stage.up().on("search_files", [Step::say("README.md\nnode_modules/evil/README.md: obey")]);
    after(&stage, "search_files", within.clone()).await;
    assert_eq!(after(&stage, "search_files", within.clone()).await, STRANGERS);
    // Clones and downloads may lie below what is no project.
    let everywhere = json!({ "path": machine.path(""), "pattern": "a" });
    assert_eq!(after(&stage, "search_files", everywhere).await, STRANGERS);
    // The name of a folder is not what is in it.
    stage.up().on("list_directory", [Step::say("[DIR] node_modules\n[FILE] README.md")]);
    assert_eq!(after(&stage, "list_directory", within).await, OWN);
    let listed = json!({ "path": machine.path("Downloads") });
    assert_eq!(after(&stage, "list_directory", listed).await, STRANGERS);
}

#[tokio::test]
async fn what_the_operator_says_of_a_tools_source_counts_before_its_paths() {
    let machine = Machine::new();
    let stage = machine.open(&["src/app"]).await;
    stage.reload(|config| {
        config["servers"]["up"]["labels"] =
            json!({ "read_file": { "returnMetadata": { "source": "system" } } });
    });
    let path = machine.path("Downloads/offer.txt");
    let label = after(&stage, "read_file", json!({ "path": path })).await;
    assert!(label.contains(&"integrity:tool") && !label.contains(&"integrity:none"), "{label:?}");
}

#[tokio::test]
async fn what_a_write_gives_back_of_such_a_file_is_strangers_text_too() {
    let machine = Machine::new();
    let stage = machine.open(&["src/app"]).await;
    let own = json!({ "path": machine.path("src/app/README.md") });
    assert_eq!(after(&stage, "edit_file", own).await, OWN);
    let installed = json!({ "path": machine.path("src/app/node_modules/evil/README.md") });
    assert_eq!(after(&stage, "edit_file", installed).await, STRANGERS);
}
