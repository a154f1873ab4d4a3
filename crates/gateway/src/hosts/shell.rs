//! What a shell command shows its reader, as far as its words tell. This is no boundary: a command can hide anything. It
//! tells strangers' text from the user's own where nobody hides it.

/// Programs that bring what others wrote on other machines.
const NETWORK: [&str; 33] = [
    "curl",
    "wget",
    "wget2",
    "http",
    "https",
    "xh",
    "aria2c",
    "lynx",
    "w3m",
    "links",
    "elinks",
    "ssh",
    "scp",
    "sftp",
    "rsync",
    "ftp",
    "lftp",
    "nc",
    "ncat",
    "netcat",
    "socat",
    "telnet",
    "dig",
    "nslookup",
    "whois",
    "gh",
    "glab",
    "hub",
    "aws",
    "gcloud",
    "az",
    "yt-dlp",
    "youtube-dl",
];

/// Programs that do so with some of their commands.
const SOMETIMES: [(&str, &[&str]); 9] = [
    ("git", &["clone", "fetch", "pull", "ls-remote", "submodule"]),
    ("npm", &["view", "info", "show", "search", "audit"]),
    ("pnpm", &["view", "info", "search", "audit"]),
    ("yarn", &["info", "npm", "audit"]),
    ("pip", &["search", "download", "index"]),
    ("cargo", &["search", "info"]),
    ("docker", &["pull", "search"]),
    ("podman", &["pull", "search"]),
    ("brew", &["info", "search", "cat"]),
];

/// The words of a command, wherever they stand: a command in quotes is a command, too.
pub(super) fn words(command: &str) -> impl Iterator<Item = &str> {
    let is_between = |letter: char| letter.is_whitespace() || "\"'`;|&()<>[]{}=,".contains(letter);
    command.split(is_between).filter(|word| !word.is_empty())
}

/// Whether a command brings text from other machines.
pub(super) fn reaches_the_network(command: &str) -> bool {
    let words: Vec<&str> = words(command).collect();
    words.iter().enumerate().any(|(at, word)| {
        let program = word.rsplit('/').next().unwrap_or(word);
        let is_url = word.contains("://") && !word.starts_with("file://");
        let commands = SOMETIMES.iter().find(|(name, _)| *name == program);
        // Options may stand before the command, with values of their own.
        let following = words.get(at + 1..at + 8).unwrap_or(words.get(at + 1..).unwrap_or_default());
        is_url
            || NETWORK.contains(&program)
            || commands.is_some_and(|(_, commands)| following.iter().any(|word| commands.contains(word)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_fetch_are_known() {
        for command in [
            "curl -s https://example.com | jq .",
            "sh -c 'wget -qO- example.com'",
            "/usr/bin/curl example.com",
            "git -C /srv/x fetch --all",
            "cd x && git pull",
            "python -c \"import urllib.request as u; print(u.urlopen('http://example.com').read())\"",
            "gh issue view 7",
            "npm view left-pad",
        ] {
            assert!(reaches_the_network(command), "{command}");
        }
    }

    #[test]
    fn commands_that_stay_here_are_not_doubted() {
        for command in [
            "cargo test",
            "git log --oneline -5",
            "git status",
            "ls -la && cat README.md",
            "npm test",
            "echo hello",
            "grep -rn curly src",
            "cat file:///etc/hostname",
        ] {
            assert!(!reaches_the_network(command), "{command}");
        }
    }
}
