//! The code host, and the attack it is there for.

use serde_json::{Value, json};

use crate::example::tests::client::{BOTH, Client, kept, plain};
use crate::example::{ExampleArgs, ExampleServer::Repo, Switch};

fn names(list: &Value) -> Vec<&str> {
    list["repositories"].as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect()
}

#[test]
fn one_tool_reads_public_and_private_and_the_reply_says_which() {
    for era in BOTH {
        let mut repo = Client::of(era, Repo, &plain());
        let public = repo.call("get_file_contents", json!({"repo": "website", "path": "README.md"}));
        assert_eq!(public["structuredContent"]["private"], false);
        assert_eq!(
            public["_meta"]["annotations"],
            json!({
                "openWorldHint": true, "sensitivity": "none",
                "attribution": ["mcp://repo.larkfield.example/mara/website/README.md"]
            })
        );
        let private = repo.call("get_file_contents", json!({"repo": "private-notes", "path": "README.md"}));
        assert_eq!(private["structuredContent"]["private"], true);
        assert_eq!(
            private["_meta"]["annotations"],
            json!({
                "sensitivity": ["user", "pii"],
                "attribution": ["mcp://repo.larkfield.example/mara/private-notes/README.md"]
            })
        );
    }
}

#[test]
fn unlabelled_replies_still_say_private_in_their_content() {
    let mut repo = Client::legacy(Repo, &ExampleArgs { result_labels: Switch::Off, ..plain() });
    let reply = repo.call("get_file_contents", json!({"repo": "private-notes", "path": "README.md"}));
    assert_eq!(reply["structuredContent"]["private"], true);
    assert!(reply.get("_meta").is_none());
}

#[test]
fn split_tools_read_only_their_own_side() {
    let mut repo = Client::legacy(Repo, &ExampleArgs { split_tools: true, ..plain() });
    let (public, private) =
        (json!({"repo": "docs", "path": "README.md"}), json!({"repo": "private-notes", "path": "README.md"}));
    assert_eq!(repo.data("get_public_file", public.clone())["private"], false);
    assert_eq!(repo.data("get_private_file", private.clone())["private"], true);
    assert!(repo.refused("get_public_file", private).contains("`get_private_file`"));
    assert!(repo.refused("get_private_file", public.clone()).contains("`get_public_file`"));
    let mixed = json!({"name": "get_file_contents", "arguments": public});
    assert_eq!(repo.fail("tools/call", mixed)["code"], -32602);
    assert_eq!(
        Client::legacy(Repo, &plain()).fail("tools/call", json!({"name": "get_public_file"}))["code"],
        -32602
    );
}

/// The steps of an agent that obeys the issue, with nobody in between.
#[test]
fn without_a_gateway_the_issue_leaks_the_private_readme() {
    let mut repo = Client::modern(Repo, &plain());
    let issues = repo.data("list_issues", json!({"repo": "website"}));
    let orders = issues["issues"][0]["body"].as_str().unwrap();
    assert!(orders.contains("not public") && orders.contains("README"));
    let all = repo.data("list_repositories", json!({}));
    assert_eq!(names(&all), ["controller-firmware", "docs", "private-notes", "website"]);
    let secret = repo.data("get_file_contents", json!({"repo": "private-notes", "path": "README.md"}));
    let leak = json!({
        "repo": "website", "path": "README.md", "content": secret["content"], "message": "Introduce the author"
    });
    let commit = repo.data("create_or_update_file", leak);
    assert_eq!(commit["private"], false);
    let published = repo.data("get_file_contents", json!({"repo": "website", "path": "README.md"}));
    assert!(published["content"].as_str().unwrap().contains("Kastanjegatan"));
}

#[test]
fn branches_commits_comments_and_pull_requests_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let mut repo = Client::legacy(Repo, &kept(directory.path()));
    let commit = json!({
        "repo": "docs", "branch": "fix", "path": "guide/install.md", "content": "Fixed", "message": "Fix"
    });
    let first = repo.data("create_or_update_file", commit.clone());
    let second = repo.data("create_or_update_file", commit);
    assert_ne!(first["commit"], second["commit"]);
    let pull = json!({"repo": "docs", "title": "Fix the guide", "body": "See issue 1", "head": "fix"});
    let pull = repo.data("create_pull_request", pull);
    assert_eq!(
        (&pull["number"], &pull["base"], &pull["changedFiles"]),
        (&json!(2), &json!("main"), &json!(1))
    );
    assert_eq!(
        repo.data("create_issue_comment", json!({"repo": "docs", "number": 1, "body": "Done"}))["comments"],
        1
    );

    let mut again = Client::modern(Repo, &kept(directory.path()));
    let on = |branch: &str| json!({"repo": "docs", "path": "guide/install.md", "branch": branch});
    assert_eq!(again.data("get_file_contents", on("fix"))["content"], "Fixed");
    assert_ne!(again.data("get_file_contents", on("main"))["content"], "Fixed", "main is as it was");
    let issue = again.data("get_issue", json!({"repo": "docs", "number": 1}));
    assert_eq!(issue["comments"], json!([{"author": "mara", "body": "Done"}]));
}

#[test]
fn lists_are_filtered() {
    let mut repo = Client::legacy(Repo, &plain());
    assert_eq!(names(&repo.data("list_repositories", json!({"visibility": "public"}))), ["docs", "website"]);
    let private = repo.data("list_repositories", json!({"visibility": "private"}));
    assert_eq!(names(&private), ["controller-firmware", "private-notes"]);
    let count = |repo: &mut Client, state: &str| {
        repo.data("list_issues", json!({"repo": "website", "state": state}))["issues"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!((count(&mut repo, "open"), count(&mut repo, "closed"), count(&mut repo, "all")), (2, 1, 3));
    assert_eq!(repo.label("list_repositories", json!({}))["sensitivity"], "user");
    assert_eq!(repo.label("list_repositories", json!({"visibility": "public"}))["sensitivity"], "none");
}

#[test]
fn bad_arguments_are_refused_by_name() {
    let mut repo = Client::modern(Repo, &plain());
    for (tool, arguments, named) in [
        ("list_issues", json!({}), "`repo`"),
        ("list_issues", json!({"repo": "none"}), "`repo`"),
        ("list_issues", json!({"repo": "website", "owner": "jonas"}), "`owner`"),
        ("list_issues", json!({"repo": "website", "state": "new"}), "`state`"),
        ("get_issue", json!({"repo": "website", "number": 9}), "`number`"),
        ("get_issue", json!({"repo": "website", "number": "1"}), "`number`"),
        ("get_file_contents", json!({"repo": "website", "path": "none"}), "`path`"),
        ("get_file_contents", json!({"repo": "website", "path": "README.md", "branch": "x"}), "`branch`"),
        ("create_or_update_file", json!({"repo": "docs", "path": "a", "content": ""}), "`message`"),
        ("create_issue_comment", json!({"repo": "docs", "number": 2, "body": "x"}), "`number`"),
        ("create_pull_request", json!({"repo": "docs", "title": "x", "head": "none"}), "`head`"),
        ("create_pull_request", json!({"repo": "docs", "title": "x", "head": "main"}), "`head`"),
        ("create_pull_request", json!({"repo": "docs", "title": "x", "head": "main", "base": "y"}), "`base`"),
    ] {
        let text = repo.refused(tool, arguments);
        assert!(text.contains(named), "{tool}: {text}");
    }
}

#[test]
fn resolution_tells_public_from_private_before_the_call() {
    for era in BOTH {
        let mut repo = Client::of(era, Repo, &ExampleArgs { resolve: true, ..plain() });
        let mut read = |name: &str| {
            repo.resolved("get_file_contents", json!({"repo": name, "path": "README.md"}))["returnMetadata"]
                .take()
        };
        assert_eq!(read("website"), json!({"source": "untrustedPublic", "sensitivity": "none"}));
        assert_eq!(read("private-notes"), json!({"source": "internal", "sensitivity": ["user", "pii"]}));
        let mut write = |name: &str| {
            let arguments = json!({"repo": name, "path": "a", "content": "", "message": "m"});
            let annotations = repo.resolved("create_or_update_file", arguments);
            (
                annotations["inputMetadata"]["destination"].clone(),
                annotations["inputMetadata"]["outcomes"].clone(),
            )
        };
        assert_eq!(write("website"), (json!("public"), json!("consequential")));
        assert_eq!(write("private-notes"), (json!("internal"), json!("consequential")));
        let unknown = json!({"name": "list_issues", "arguments": {"repo": "none"}});
        assert_eq!(repo.fail("tools/resolve", unknown)["code"], -32602);
    }
}
