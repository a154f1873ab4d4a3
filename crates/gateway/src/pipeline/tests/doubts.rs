//! Files that were written after strangers' text had been read are run, pushed and published only once a person has said
//! that they are in order.

use highwater_store::Fault;
use serde_json::{Value, json};

use super::{Agent, ClientOptions, Script, Setup, Stage, Step, forms, text, yes};

const EDIT: &str = "files__edit_file";

/// A machine with two projects, and a link into one of them.
struct Machine {
    folder: tempfile::TempDir,
}

// === impl Machine ===

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for made in ["src/app/.git", "src/app/tests", "src/other/.git", "letters"] {
            std::fs::create_dir_all(folder.path().join(made)).unwrap();
        }
        std::os::unix::fs::symlink("app", folder.path().join("src/link")).unwrap();
        Self { folder }
    }

    fn path(&self, below: &str) -> String {
        self.folder.path().join(below).to_str().unwrap().to_owned()
    }

    /// A gateway over a file server, a shell, a repository, a database and the web.
    fn setup(&self) -> Setup {
        let text = || json!({ "type": "string" });
        let files = Script::of([
            tool("edit_file", json!({ "path": text(), "content": text() })),
            tool("read_file", json!({ "path": text() })),
        ]);
        let shell = Script::of([
            tool("run_tests", json!({ "path": text() })),
            tool("execute_command", json!({ "command": text(), "cwd": text() })),
            tool("build", json!({})),
        ]);
        let git = Script::of([
            tool("git_status", json!({ "repo_path": text() })),
            tool("git_push", json!({ "repo_path": text() })),
            tool("git_commit", json!({ "repo_path": text(), "message": text() })),
        ]);
        let database = Script::of([tool("read_query", json!({ "query": text() }))]);
        let mail = Script::of([tool("send_mail", json!({ "to": text(), "attachment_path": text() }))]);
        let hints = json!({ "readOnlyHint": true, "openWorldHint": true });
        let web = Script::of([
            json!({ "name": "get_page", "inputSchema": { "type": "object" }, "annotations": hints }),
        ]);
        let projects = [self.path("src/app"), self.path("src/other")];
        let setup = Setup::new().server("files", files).server("shell", shell).server("git", git);
        setup.server("database", database).server("mail", mail).server("web", web).with(|config| {
            config["projects"] = json!(projects);
            for name in ["files", "shell", "git", "database"] {
                config["servers"][name]["profile"] = json!("local");
            }
            config["servers"]["mail"]["profile"] = json!("private");
            config["servers"]["web"]["profile"] = json!("public");
        })
    }

    /// The same after a conversation with strangers has written these files.
    async fn doubted(&self, setup: Setup, files: &[&str]) -> Stage {
        let stage = setup.open().await;
        let writer = agent(&stage, "writer");
        text(&writer.call("web__get_page", json!({})).await);
        for file in files {
            text(&writer.call(EDIT, json!({ "path": self.path(file), "content": "x" })).await);
        }
        stage
    }
}

fn tool(name: &str, properties: Value) -> Value {
    let schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    json!({ "name": name, "inputSchema": schema })
}

fn agent(stage: &Stage, context: &'static str) -> Agent {
    stage.agent(ClientOptions { context: Some(context), capabilities: forms(), ..ClientOptions::default() })
}

/// The question that a call ends in; nothing where it is done.
async fn question(agent: &Agent, tool: &str, arguments: Value) -> Option<Value> {
    let answer = agent.call(tool, arguments).await;
    if answer["result"]["resultType"] == "input_required" {
        return Some(answer);
    }
    text(&answer);
    None
}

/// What a person reads of it.
fn words(question: &Value) -> String {
    question["result"]["inputRequests"].to_string()
}

/// Makes the call and says yes to its question.
async fn agreed(agent: &Agent, tool: &str, arguments: Value) -> String {
    let asked = question(agent, tool, arguments.clone()).await.expect("it is asked about");
    let params = json!({ "name": tool, "arguments": arguments });
    let answered = agent.answer("tools/call", &params, &asked, json!({ "highwater_approval": yes() })).await;
    text(&answered);
    words(&asked)
}

#[tokio::test]
async fn running_pushing_and_publishing_what_is_in_doubt_is_asked_in_a_clean_conversation() {
    let machine = Machine::new();
    let app = |below: &str| machine.path(&format!("src/app{below}"));
    let cases = [
        ("shell__run_tests", json!({ "path": app("/tests") }), true),
        ("shell__execute_command", json!({ "command": "make", "cwd": app("") }), true),
        ("shell__execute_command", json!({ "command": "make" }), true),
        ("shell__execute_command", json!({ "command": format!("make -C {}", app("")), "cwd": "/" }), true),
        (
            "shell__execute_command",
            json!({ "command": "cd ../app && make", "cwd": machine.path("src/other") }),
            true,
        ),
        ("shell__build", json!({}), true),
        ("git__git_push", json!({ "repo_path": app("") }), true),
        ("git__git_push", json!({ "repo_path": machine.path("src/link") }), true),
        ("mail__send_mail", json!({ "to": "bob@example.com", "attachment_path": app("/a.sh") }), true),
        // What runs nothing, and what runs elsewhere, is not concerned.
        ("shell__run_tests", json!({ "path": machine.path("src/other") }), false),
        ("shell__execute_command", json!({ "command": "make", "cwd": machine.path("src/other") }), false),
        ("git__git_push", json!({ "repo_path": machine.path("src/other") }), false),
        ("git__git_status", json!({ "repo_path": app("") }), false),
        ("git__git_commit", json!({ "repo_path": app(""), "message": "m" }), false),
        ("database__read_query", json!({ "query": "SELECT 1" }), false),
        ("mail__send_mail", json!({ "to": "bob@example.com", "attachment_path": app("/b.txt") }), false),
        ("mail__send_mail", json!({ "to": "bob@example.com" }), false),
    ];
    for (tool, arguments, asks) in cases {
        let stage = machine.doubted(machine.setup(), &["src/app/a.sh"]).await;
        let asked = question(&agent(&stage, "reader"), tool, arguments.clone()).await;
        assert_eq!(asked.is_some(), asks, "{tool} {arguments}");
        if let Some(asked) = asked {
            assert!(words(&asked).contains("src/app/a.sh"), "{tool}: {asked}");
        }
    }
}

#[tokio::test]
async fn what_the_operator_calls_benign_runs_nothing_whatever_its_name_is() {
    let machine = Machine::new();
    let benign = json!({ "inputMetadata": { "destination": "user", "outcomes": "benign" } });
    let setup =
        machine.setup().with(|config| config["servers"]["shell"]["labels"] = json!({ "run_tests": benign }));
    let stage = machine.doubted(setup, &["src/app/a.sh"]).await;
    let run = json!({ "path": machine.path("src/app") });
    assert_eq!(question(&agent(&stage, "reader"), "shell__run_tests", run).await, None);
    assert!(question(&agent(&stage, "other"), "shell__build", json!({})).await.is_some());
}

#[tokio::test]
async fn without_a_doubt_nothing_is_asked() {
    let machine = Machine::new();
    let stage = machine.setup().open().await;
    let edit = json!({ "path": machine.path("src/app/a.sh"), "content": "x" });
    text(&agent(&stage, "writer").call(EDIT, edit).await);
    let run = json!({ "path": machine.path("src/app") });
    assert_eq!(question(&agent(&stage, "builder"), "shell__build", json!({})).await, None);
    assert_eq!(question(&agent(&stage, "tester"), "shell__run_tests", run).await, None);
}

#[tokio::test]
async fn a_yes_takes_the_doubt_off_the_files_and_leaves_what_is_private_of_them() {
    let machine = Machine::new();
    let run = || json!({ "path": machine.path("src/app") });
    let stage = machine.doubted(machine.setup(), &["src/app/a.sh", "src/app/b.sh", "src/other/c.sh"]).await;
    let asked = agreed(&agent(&stage, "first"), "shell__run_tests", run()).await;
    assert!(asked.contains("a.sh") && asked.contains("b.sh") && !asked.contains("c.sh"), "{asked}");
    for context in ["second", "third"] {
        assert_eq!(question(&agent(&stage, context), "shell__run_tests", run()).await, None, "{context}");
    }
    let other = json!({ "path": machine.path("src/other") });
    assert!(question(&agent(&stage, "fourth"), "shell__run_tests", other).await.is_some());
    // What was read is as trusted as any file of a project, and a new doubt is a new question.
    let reader = agent(&stage, "reader");
    text(&reader.call("files__read_file", json!({ "path": machine.path("src/app/a.sh") })).await);
    assert_eq!(stage.label(&reader), ["integrity:tool", "confidential"]);
    let writer = agent(&stage, "writer");
    text(&writer.call(EDIT, json!({ "path": machine.path("src/app/a.sh"), "content": "y" })).await);
    assert!(question(&agent(&stage, "fifth"), "shell__run_tests", run()).await.is_some());
}

#[tokio::test]
async fn what_was_written_while_a_person_thought_is_not_what_they_said_yes_to() {
    let machine = Machine::new();
    let stage = machine.doubted(machine.setup(), &["src/app/a.sh"]).await;
    let (runner, writer) = (agent(&stage, "runner"), agent(&stage, "writer"));
    let arguments = json!({ "path": machine.path("src/app") });
    let asked = question(&runner, "shell__run_tests", arguments.clone()).await.unwrap();
    for (path, content) in [("src/app/a.sh", "evil"), ("src/app/b.sh", "evil")] {
        text(&writer.call(EDIT, json!({ "path": machine.path(path), "content": content })).await);
    }
    let params = json!({ "name": "shell__run_tests", "arguments": arguments });
    let again = runner.answer("tools/call", &params, &asked, json!({ "highwater_approval": yes() })).await;
    assert_eq!(again["result"]["resultType"], "input_required", "{again}");
    assert!(words(&again).contains("b.sh"));
    assert_eq!(stage.server("shell").runs("run_tests"), 0);
    text(&runner.answer("tools/call", &params, &again, json!({ "highwater_approval": yes() })).await);
    assert_eq!(stage.server("shell").runs("run_tests"), 1);
    assert_eq!(question(&agent(&stage, "next"), "shell__run_tests", arguments).await, None);
}

#[tokio::test]
async fn a_file_is_known_again_by_whatever_link_it_was_written() {
    let machine = Machine::new();
    for (written, run) in [("src/link/a.sh", "src/app"), ("src/app/a.sh", "src/link/tests")] {
        let stage = machine.doubted(machine.setup(), &[written]).await;
        let arguments = json!({ "path": machine.path(run) });
        assert!(
            question(&agent(&stage, "reader"), "shell__run_tests", arguments).await.is_some(),
            "{written}"
        );
    }
}

#[tokio::test]
async fn each_mode_does_with_it_what_it_does_with_acts() {
    let machine = Machine::new();
    for (flow, expected) in [("observe", false), ("balanced", true), ("samos", false)] {
        let setup = machine.setup().with(|config| {
            config["virtual_servers"] = json!({ "other": { "servers": ["shell"], "flow": flow } });
        });
        let stage = machine.doubted(setup, &["src/app/a.sh"]).await;
        let who =
            ClientOptions { virtual_server: "other", capabilities: forms(), ..ClientOptions::default() };
        let run = json!({ "path": machine.path("src/app") });
        assert_eq!(question(&stage.agent(who), "shell__run_tests", run).await.is_some(), expected, "{flow}");
        let found = stage.audit().iter().any(|record| record["findings"].to_string().contains("flow.doubt"));
        assert_eq!(found, flow != "samos", "{flow}");
    }
}

#[tokio::test]
async fn what_another_agent_wrote_is_not_named() {
    let machine = Machine::new();
    let everything =
        json!({ "permissions": ["read", "write", "destructive"], "servers": ["*"], "forms": "person" });
    let setup = machine.setup().token("other", everything);
    let stage = machine.doubted(setup, &["src/app/hers.sh"]).await;
    let token = Some(stage.token("other"));
    let other = stage.agent(ClientOptions { token, capabilities: forms(), ..ClientOptions::default() });
    let asked =
        question(&other, "shell__run_tests", json!({ "path": machine.path("src/app") })).await.unwrap();
    let asked = words(&asked);
    assert!(asked.contains("what another agent wrote") && !asked.contains("hers"), "{asked}");
}

#[tokio::test]
async fn a_yes_that_cannot_be_kept_leaves_the_doubt_where_it_was() {
    let machine = Machine::new();
    let stage = machine.doubted(machine.setup(), &["src/app/a.sh"]).await;
    let (runner, run) = (agent(&stage, "runner"), json!({ "path": machine.path("src/app") }));
    let asked = question(&runner, "shell__run_tests", run.clone()).await.unwrap();
    stage.server("shell").on("run_tests", [Step::say("ok")]);
    stage.store_fails(Fault::Write);
    let params = json!({ "name": "shell__run_tests", "arguments": run.clone() });
    runner.answer("tools/call", &params, &asked, json!({ "highwater_approval": yes() })).await;
    stage.store_fails(None);
    assert!(question(&agent(&stage, "next"), "shell__run_tests", run).await.is_some());
}
