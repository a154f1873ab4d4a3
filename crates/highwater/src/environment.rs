//! The environment: read here and nowhere else.

use std::path::PathBuf;

/// What a child gets of our environment without being told to. Enough to find programs, a home and a language;
/// nothing in which people keep secrets.
const SAFE: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TERM",
    "TMPDIR",
    "TZ",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
];

/// Beginnings of further such names.
const SAFE_BEGINNINGS: &[&str] = &["LC_"];

/// Where the certificates of authorities are. A company's proxy that looks into TLS has its own, and without them nothing
/// can be fetched. Variables that turn checks off are not among them: those are written where they are needed.
const CERTIFICATES: &[&str] = &[
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "NODE_USE_SYSTEM_CA",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "AWS_CA_BUNDLE",
    "DENO_CERT",
    "DENO_TLS_CA_STORE",
    "PIP_CERT",
    "UV_NATIVE_TLS",
    "UV_SYSTEM_CERTS",
    "NPM_CONFIG_CA",
    "NPM_CONFIG_CAFILE",
    // Hosts, and no more of them than names.
    "NO_PROXY",
    "NPM_CONFIG_NOPROXY",
];

/// Addresses of proxies and of the registries from which launchers fetch servers. A user and a password in them stay here.
const ADDRESSES: &[&str] = &[
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "PIP_PROXY",
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_FIND_LINKS",
    "UV_INDEX",
    "UV_INDEX_URL",
    "UV_DEFAULT_INDEX",
    "UV_EXTRA_INDEX_URL",
    "UV_FIND_LINKS",
    "UV_PYTHON_INSTALL_MIRROR",
    "UV_PYPY_INSTALL_MIRROR",
    "NPM_CONFIG_REGISTRY",
    "NPM_CONFIG_PROXY",
    "NPM_CONFIG_HTTP_PROXY",
    "NPM_CONFIG_HTTPS_PROXY",
];

/// Names that programs read in small letters as well.
const SMALL: &[&str] = &["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"];

/// The names of npm are read in any case.
const NPM: &str = "NPM_CONFIG_";

/// What a child is given of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Passed {
    Whole,
    /// Without a user and a password in an address.
    Address,
    Nothing,
}

/// A variable. One that is not text counts as missing.
#[expect(clippy::disallowed_methods, reason = "this is the place where the environment is read")]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// A variable that names a directory. As the XDG rules say, one that is not absolute counts as missing.
pub(crate) fn directory(name: &str) -> Option<PathBuf> {
    variable(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The variables that every child gets.
pub(crate) fn for_children() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter_map(|(name, value)| match passed(&name) {
            Passed::Whole => Some((name, value)),
            Passed::Address => {
                let value = without_credentials(&value);
                if value.is_none() {
                    tracing::warn!(name, "what it holds cannot be understood, so no server is given it");
                }
                Some((name, value?))
            }
            Passed::Nothing => None,
        })
        .collect()
}

fn passed(name: &str) -> Passed {
    let upper = name.to_ascii_uppercase();
    // A name in small letters is another variable, except where programs read both.
    let known = match () {
        () if name == upper || upper.starts_with(NPM) => upper.as_str(),
        () if name == name.to_ascii_lowercase() && SMALL.contains(&upper.as_str()) => upper.as_str(),
        () => name,
    };
    // The registry of one scope of npm; beside it, a name may hold a token.
    let is_of_scope = known.starts_with("NPM_CONFIG_@") && known.ends_with(":REGISTRY");
    if ADDRESSES.contains(&known) || is_of_scope {
        return Passed::Address;
    }
    let is_safe = SAFE.contains(&known)
        || SAFE_BEGINNINGS.iter().any(|beginning| known.starts_with(beginning))
        || CERTIFICATES.contains(&known);
    if is_safe { Passed::Whole } else { Passed::Nothing }
}

/// Addresses, one or several, without users and passwords; nothing if what is left could still hold one.
fn without_credentials(value: &str) -> Option<String> {
    let words: Option<Vec<String>> = value.split_whitespace().map(address_alone).collect();
    words.map(|words| words.join(" "))
}

fn address_alone(word: &str) -> Option<String> {
    let (scheme, rest) = match word.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), word),
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end)?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    // Where there is no port behind the host, a password with a slash was cut in two.
    let port = host.rsplit_once(']').map_or(host, |(_, port)| port).rsplit_once(':').map(|(_, port)| port);
    let is_whole = port.is_none_or(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
    // Behind a slash it is the scope of a package.
    let is_scope =
        path.match_indices('@').all(|(at, _)| path.get(..at).is_some_and(|before| before.ends_with('/')));
    let is_file = authority.is_empty() && path.starts_with('/');
    (is_file || is_whole && is_scope && !host.is_empty()).then(|| format!("{scheme}{host}{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_get_no_secrets_unasked() {
        for name in ["PATH", "HOME", "LC_ALL", "LANG", "TMPDIR", "XDG_CACHE_HOME"] {
            assert_eq!(passed(name), Passed::Whole, "{name}");
        }
        for name in
            ["GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "LD_PRELOAD", "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR"]
        {
            assert_eq!(passed(name), Passed::Nothing, "{name}");
        }
        for name in [
            "UV_PUBLISH_TOKEN",
            "UV_INDEX_INTERNAL_PASSWORD",
            "npm_config_//registry.example.com/:_authToken",
            "npm_config__auth",
            "NPM_TOKEN",
            "PIP_KEYRING_PROVIDER",
            "NODE_OPTIONS",
            "NODE_TLS_REJECT_UNAUTHORIZED",
            "npm_config_strict_ssl",
            "ssl_cert_file",
        ] {
            assert_eq!(passed(name), Passed::Nothing, "{name}");
        }
    }

    #[test]
    fn what_a_company_sets_for_every_program_reaches_servers_without_its_passwords() {
        for name in ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "no_proxy", "NO_PROXY"] {
            assert_eq!(passed(name), Passed::Whole, "{name}");
        }
        for name in [
            "HTTPS_PROXY",
            "https_proxy",
            "all_proxy",
            "UV_INDEX_URL",
            "PIP_EXTRA_INDEX_URL",
            "npm_config_registry",
            "NPM_CONFIG_REGISTRY",
            "npm_config_@acme:registry",
        ] {
            assert_eq!(passed(name), Passed::Address, "{name}");
        }
        for (value, left) in [
            ("http://proxy.example.com:3128", Some("http://proxy.example.com:3128")),
            ("http://me:s3cr3t@proxy.example.com:3128/", Some("http://proxy.example.com:3128/")),
            ("me:s3cr3t@proxy:3128", Some("proxy:3128")),
            ("proxy:3128", Some("proxy:3128")),
            ("http://me:s@3cr3t@[::1]:3128", Some("http://[::1]:3128")),
            (
                "acme=https://me:s3cr3t@a.example/simple https://b.example/simple",
                Some("acme=https://a.example/simple https://b.example/simple"),
            ),
            // A password that is cut in two is no port.
            ("http://me:s3/cr3t@proxy:3128", None),
            ("http://me:12/cr3t@proxy:3128", None),
            ("http://me:@", None),
            ("https://r.example/npm/@acme/", Some("https://r.example/npm/@acme/")),
            ("/srv/wheels", Some("/srv/wheels")),
            ("file:///srv/wheels", Some("file:///srv/wheels")),
        ] {
            assert_eq!(without_credentials(value).as_deref(), left, "{value}");
        }
    }
}
