//! A small set of our own: what agents ask for and which tool they mean. It says whether the ranking is any good, and is
//! not what its weights were made for.

use highwater_core::id::UpstreamId;

use super::{Filters, Index, Query, ToolText, Traits};

/// Server, tool, description, arguments.
const TOOLS: [[&str; 4]; 28] = [
    ["github", "create_issue", "Open a new issue in a repository", "owner repo title body labels"],
    [
        "github",
        "search_issues",
        "Search for issues and pull requests across repositories",
        "query sort order",
    ],
    ["github", "get_file_contents", "Get the contents of a file or directory", "owner repo path ref"],
    ["github", "create_pull_request", "Create a pull request", "owner repo title head base body"],
    ["github", "merge_pull_request", "Merge a pull request", "owner repo pullNumber mergeMethod"],
    ["github", "list_commits", "List the commits of a branch", "owner repo sha page"],
    ["github", "delete_file", "Delete a file from a repository", "owner repo path message branch"],
    ["files", "read_file", "Read the complete contents of a file from disk", "path"],
    ["files", "write_file", "Create a new file or overwrite an existing one", "path content"],
    ["files", "list_directory", "List files and folders in a path", "path"],
    ["files", "move_file", "Move or rename files and directories", "source destination"],
    [
        "files",
        "search_files",
        "Recursively search for files matching a pattern",
        "path pattern excludePatterns",
    ],
    ["mail", "send_message", "Send an e-mail to one or more recipients", "to cc subject body"],
    ["mail", "list_messages", "List messages in a mailbox", "folder limit unread"],
    ["mail", "get_attachment", "Download an attachment of a message", "messageId attachmentId"],
    [
        "calendar",
        "create_event",
        "Add an appointment to the calendar and invite attendees",
        "title start end attendees",
    ],
    ["calendar", "find_free_slots", "Find times when all attendees are available", "attendees duration"],
    ["slack", "post_message", "Post a message to a channel", "channel text"],
    ["slack", "get_thread_replies", "Get all replies in a message thread", "channel threadTs"],
    ["web", "fetch", "Fetch a URL from the internet and return its content as markdown", "url maxLength"],
    ["web", "search", "Search the web", "query count"],
    ["db", "query", "Run a read-only SQL statement", "sql"],
    ["db", "list_tables", "List all tables of the database", "schema"],
    ["db", "describe_table", "Show the columns and types of a table", "table"],
    ["maps", "geocode", "Convert an address into coordinates", "address"],
    ["maps", "directions", "Get directions between two places", "origin destination mode"],
    ["time", "getCurrentTime", "Get the current time in a time zone", "timezone"],
    ["time", "convertTime", "Convert a time between time zones", "sourceTimezone time targetTimezone"],
];

/// What is asked, and the name of the tool that is meant.
const ASKED: [(&str, &str); 24] = [
    ("open an issue", "create_issue"),
    ("create issue in github repository", "create_issue"),
    ("look for open issues about login", "search_issues"),
    ("read the contents of a file in a repository", "get_file_contents"),
    ("create a pull request", "create_pull_request"),
    ("merge PR", "merge_pull_request"),
    ("recent commits on a branch", "list_commits"),
    ("read a local file", "read_file"),
    ("save text to a file on disk", "write_file"),
    ("rename a file", "move_file"),
    ("list the files in a folder", "list_directory"),
    ("find files by pattern", "search_files"),
    ("send an email", "send_message"),
    ("show unread mail", "list_messages"),
    ("download an attachment", "get_attachment"),
    ("schedule a meeting with attendees", "create_event"),
    ("when is everybody available", "find_free_slots"),
    ("post to a slack channel", "post_message"),
    ("download a web page", "fetch"),
    ("web search", "search"),
    ("run SQL", "query"),
    ("columns of a table", "describe_table"),
    ("coordinates of an address", "geocode"),
    ("what time is it in a time zone", "getCurrentTime"),
];

#[test]
fn what_agents_ask_for_is_among_the_first() {
    let servers: Vec<UpstreamId> = TOOLS.iter().map(|[server, ..]| UpstreamId::new(*server)).collect();
    let index = Index::new(TOOLS.iter().zip(&servers).map(|([_, name, description, arguments], server)| {
        ToolText { name, server, title: "", description, arguments, traits: Traits::default() }
    }));
    let sight = index.sight(|_| true);
    let (mut first, mut third, mut lost) = (0, 0, Vec::new());
    for (text, meant) in ASKED {
        let found = index.find(&sight, &Query { text, filters: Filters::EMPTY, server: None, limit: 5 });
        let place = found.hits.iter().position(|hit| TOOLS[hit.tool][1] == meant);
        first += usize::from(place == Some(0));
        third += usize::from(place.is_some_and(|place| place < 3));
        if place.is_none() {
            lost.push(text);
        }
    }
    assert!(lost.len() <= 1, "not among the first five: {lost:?}");
    assert!(first >= 17 && third >= 21, "first {first}, among three {third}, of {}", ASKED.len());
}
