//! Homes in which hosts have been used for a while, in the styles that people and hosts write.

use std::collections::BTreeMap;
use std::path::Path;

/// A home: what it is for, the host, and its files with their contents.
pub(crate) struct Home {
    pub(crate) name: &'static str,
    pub(crate) host: &'static str,
    pub(crate) files: &'static [(&'static str, &'static str)],
}

pub(crate) const HOMES: &[Home] = &[
    Home { name: "nothing of Claude Code", host: "claude-code", files: &[] },
    Home {
        name: "comments, unknown keys, hooks of others",
        host: "claude-code",
        files: &[
            (
                ".claude.json",
                "{\n  \"numStartups\": 41,\n  \"projects\": {\"/home/me/src\": {\"history\": [\"é → \\u00fc\"]}},\n  \
                 \"mcpServers\": {\n    \"github\": {\"command\": \"github-mcp-server\", \"args\": [\"stdio\"]}\n  },\n  \
                 \"someNewKey\": {\"deep\": [1, 2.50, null]}\n}\n",
            ),
            (
                ".claude/settings.json",
                "{\n    // my own\n    \"theme\": \"dark\", /* stays */\n    \"hooks\": {\n        \"PreToolUse\": [\n            \
                 {\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"~/bin/look\"}]}\n        ],\n        \
                 \"Notification\": []\n    },\n    \"crossSessionInbound\": \"accept\",\n}\n",
            ),
        ],
    },
    Home {
        name: "line ends of Windows, no end of the last line",
        host: "claude-code",
        files: &[
            (".claude.json", "{\r\n\t\"mcpServers\": {}\r\n}"),
            (
                ".claude/settings.json",
                "{\r\n\t\"hooks\": {\r\n\t\t\"Stop\": []\r\n\t},\r\n\t\"model\": \"opus\"\r\n}",
            ),
        ],
    },
    Home {
        name: "one line, a byte order mark, an empty file",
        host: "claude-code",
        files: &[
            (".claude.json", "\u{feff}{\"a\":1,\"mcpServers\":{\"x\":{}}}"),
            (".claude/settings.json", ""),
        ],
    },
    Home {
        name: "a server of our name that somebody entered",
        host: "claude-code",
        files: &[(
            ".claude.json",
            "{\"mcpServers\": {\"highwater\": {\"url\": \"http://localhost:7411/mcp\"}}}\n",
        )],
    },
    Home { name: "nothing of Codex", host: "codex", files: &[] },
    Home {
        name: "TOML with comments",
        host: "codex",
        files: &[
            (
                ".codex/config.toml",
                "# mine\nmodel = \"gpt-5\" # the good one\napproval_policy = \"on-request\"\n\n[mcp_servers.github] # work\n\
                 command = \"github-mcp-server\"\nargs = [\n  \"stdio\", # so\n]\n\n# of the next\n[projects.\"/home/me/src\"]\n\
                 trust_level = \"trusted\"",
            ),
            (
                ".codex/hooks.json",
                "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}]}}",
            ),
        ],
    },
    Home {
        name: "TOML of Windows with a server of our name",
        host: "codex",
        files: &[(
            ".codex/config.toml",
            "[mcp_servers.highwater]\r\nurl = \"http://localhost:7411/mcp\"\r\n\r\n[tui]\r\ntheme = \"dark\"\r\n",
        )],
    },
];

// === impl Home ===

impl Home {
    /// Puts the files into a folder.
    pub(crate) fn furnish(&self, folder: &Path) {
        for (name, text) in self.files {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }

    pub(crate) fn files_to_change(&self) -> [&'static str; 2] {
        match self.host {
            "codex" => [".codex/config.toml", ".codex/hooks.json"],
            _ => [".claude.json", ".claude/settings.json"],
        }
    }
}

/// Every file and folder below a folder with its contents, without what belongs to us.
pub(crate) fn everything(folder: &Path) -> BTreeMap<String, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).unwrap().flatten() {
            let path = entry.path();
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            if name == ".local" {
                continue;
            }
            if path.is_dir() {
                found.insert(name, None);
                folders.push(path);
            } else {
                found.insert(name, Some(std::fs::read(&path).unwrap()));
            }
        }
    }
    found
}
