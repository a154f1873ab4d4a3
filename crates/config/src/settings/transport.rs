//! How a server is reached.

use std::collections::BTreeMap;
use std::fmt;

/// How a server is reached. `Debug` shows no arguments, no environment values, no header values and no query
/// of the URL: those are the places where people put secrets.
#[derive(Clone, PartialEq, Eq)]
pub enum Transport {
    /// A child process that speaks over its standard input and output.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables added to its environment.
        env: BTreeMap<String, String>,
        /// Its working directory, an absolute path.
        cwd: Option<String>,
    },
    /// A server at a URL.
    Http {
        /// The URL, `http` or `https`, without user name, password and fragment.
        url: String,
        /// Headers sent with every request, names in lower case.
        headers: Vec<(String, String)>,
        /// Which of MCP's HTTP transports it speaks.
        kind: HttpKind,
    },
}

/// Which of MCP's HTTP transports a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpKind {
    /// Not said: find out.
    Detect,
    /// Streamable HTTP.
    Streamable,
    /// HTTP+SSE of revision 2024-11-05.
    Sse,
}

// === impl Transport ===

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Stands for what is not shown.
        struct Hidden(String);

        impl fmt::Debug for Hidden {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        match self {
            Transport::Stdio { command, args, env, cwd } => f
                .debug_struct("Stdio")
                .field("command", command)
                .field("args", &Hidden(format!("[{} hidden]", args.len())))
                .field(
                    "env",
                    &env.keys().map(|name| (name, Hidden("…".to_owned()))).collect::<BTreeMap<_, _>>(),
                )
                .field("cwd", cwd)
                .finish(),
            Transport::Http { url, headers, kind } => {
                let shown = match url.split_once('?') {
                    Some((path, _)) => format!("{path}?…"),
                    None => url.clone(),
                };
                f.debug_struct("Http")
                    .field("url", &shown)
                    .field(
                        "headers",
                        &headers.iter().map(|(name, _)| (name, Hidden("…".to_owned()))).collect::<Vec<_>>(),
                    )
                    .field("kind", kind)
                    .finish()
            }
        }
    }
}
