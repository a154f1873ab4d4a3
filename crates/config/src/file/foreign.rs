//! Keys that MCP clients write and that mean nothing, or something else, here.
//!
//! People paste the entries of their client. A key of it that we would ignore is an error with a way out.

/// The key as a client writes it, and what to do instead.
const FOREIGN_KEYS: [(&str, &str); 13] = [
    ("serverUrl", "write `url`"),
    ("httpUrl", "write `url`"),
    ("transport", "write `type`"),
    ("transportType", "write `type`"),
    ("timeout", "write `timeouts: { call: 60s }`"),
    ("enabled", "remove it; write `disabled: true` to switch a server off"),
    ("includeTools", "write `allowed_tools`"),
    ("envFile", "list the variables under `env`, as `NAME: \"${NAME}\"`"),
    (
        "oauth",
        "remove it; OAuth is not supported yet: where the server takes a token, too, write it under `headers`",
    ),
    ("autoApprove", "remove it; it is a setting of the client"),
    ("alwaysAllow", "remove it; it is a setting of the client"),
    ("description", "remove it, or make it a comment"),
    ("inputs", "remove it; put each value into an environment variable and write `${NAME}`"),
];

/// The way out for a key that another client would understand at the place where `known` are the keys.
pub(crate) fn help(key: &str, known: &[&str]) -> Option<String> {
    // Some write the name of the clients' block in another style, and land in the block that holds trust.
    if known.contains(&"server_trust")
        && matches!(key, "command" | "args" | "env" | "url" | "headers" | "type")
    {
        return Some("define servers under `servers`; here stands how far they are trusted".to_owned());
    }
    let place_fits = if key == "inputs" { known.contains(&"mcpServers") } else { known.contains(&"command") };
    FOREIGN_KEYS.iter().find(|(name, _)| *name == key && place_fits).map(|(_, help)| (*help).to_owned())
}
