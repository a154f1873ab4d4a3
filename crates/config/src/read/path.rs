//! The way from the root of the file to a value, and how messages name it.

use std::fmt;

/// The way from the root of the file to a value.
pub(super) enum Path<'p> {
    Root,
    /// A part that is read by itself, under its name in messages.
    Part(&'static str),
    Key(&'p Path<'p>, &'p str),
    Item(&'p Path<'p>, usize),
}

impl Path<'_> {
    fn part(&self) -> Option<&'static str> {
        match self {
            Path::Root => None,
            Path::Part(name) => Some(name),
            Path::Key(parent, _) | Path::Item(parent, _) => parent.part(),
        }
    }

    /// The key that leads here, if a key does.
    pub(super) fn last(&self) -> Option<&str> {
        match self {
            Path::Key(_, key) => Some(key),
            Path::Root | Path::Part(_) | Path::Item(..) => None,
        }
    }

    fn parts(&self) -> Vec<String> {
        match self {
            Path::Root | Path::Part(_) => Vec::new(),
            Path::Key(parent, key) => [parent.parts(), vec![(*key).to_owned()]].concat(),
            Path::Item(parent, index) => {
                let mut parts = parent.parts();
                if let Some(last) = parts.last_mut() {
                    last.push_str(&format!("[{index}]"));
                }
                parts
            }
        }
    }
}

/// Names the value in the words of the operator: `timeouts.call` of server `github`.
impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.parts();
        let (owner, rest) = match parts.as_slice() {
            rest if let Some(name) = self.part() => (name.to_owned(), rest),
            [group, name, rest @ ..] if group == "servers" || group == "mcpServers" => {
                (format!("server `{name}`"), rest)
            }
            [group, name, rest @ ..] if group == "virtual_servers" => {
                (format!("virtual server `{name}`"), rest)
            }
            rest => (String::new(), rest),
        };
        match (owner.as_str(), rest) {
            ("", []) => f.write_str("the file"),
            (owner, []) => f.write_str(owner),
            ("", rest) => write!(f, "`{}`", rest.join(".")),
            (owner, rest) => write!(f, "`{}` of {owner}", rest.join(".")),
        }
    }
}
