//! The one origin of the page, and the check that a request was sent to it: the defence against names that were made to
//! point here (DNS rebinding).

use http::header::{HOST, HeaderMap};
use http::{Method, Uri};

/// Where the page is, as browsers write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageOrigin {
    origin: String,
    /// What `Host` must say.
    host: String,
    /// The name that passkeys are bound to.
    rp_id: String,
    /// Other ways to say this machine and port, from which people are sent on.
    loopback: Vec<String>,
}

/// An address that cannot be the page's.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` cannot be the address of the approval page")]
pub struct BadOrigin(String);

/// What becomes of a request, judged by the host it names.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Addressed {
    Ours,
    /// It means us, by a name under which passkeys do not work.
    Elsewhere(String),
    NotUs,
}

// === impl PageOrigin ===

impl PageOrigin {
    /// The page at `localhost` and this port, or at the public URL that leads to it.
    pub fn new(port: u16, public_url: Option<&str>) -> Result<Self, BadOrigin> {
        let local = |name: &str| if port == 80 { name.to_owned() } else { format!("{name}:{port}") };
        let mut loopback = vec![local("127.0.0.1"), local("[::1]")];
        let Some(url) = public_url else {
            let host = local("localhost");
            let origin = format!("http://{host}");
            return Ok(Self { origin, host, rp_id: "localhost".to_owned(), loopback });
        };
        loopback.push(local("localhost"));
        let bad = || BadOrigin(url.to_owned());
        let uri: Uri = url.parse().map_err(|_| bad())?;
        // Browsers give passkeys to secure pages alone, and never to addresses.
        let name = uri.host().map(str::to_ascii_lowercase).ok_or_else(bad)?;
        let is_address = name.starts_with('[') || name.parse::<std::net::IpAddr>().is_ok();
        let scheme = uri.scheme_str().unwrap_or_default();
        let secure = scheme == "https" || (scheme == "http" && name == "localhost");
        let bare = matches!(uri.path(), "" | "/") && uri.query().is_none();
        let named = uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
        if !secure || is_address || !bare || !named {
            return Err(bad());
        }
        let usual = if scheme == "https" { 443 } else { 80 };
        let host = match uri.port_u16() {
            Some(port) if port != usual => format!("{name}:{port}"),
            _ => name.clone(),
        };
        loopback.retain(|other| *other != host);
        Ok(Self { origin: format!("{scheme}://{host}"), host, rp_id: name, loopback })
    }

    /// As it stands in `Origin` and in what authenticators sign.
    pub fn as_str(&self) -> &str {
        &self.origin
    }

    /// The name that passkeys are bound to.
    pub fn rp_id(&self) -> &str {
        &self.rp_id
    }

    pub(super) fn is_secure(&self) -> bool {
        self.origin.starts_with("https:")
    }

    pub(super) fn addressed(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Addressed {
        let mut hosts = headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next().and_then(|host| host.to_str().ok()), hosts.next()) else {
            return Addressed::NotUs;
        };
        if uri.authority().is_some_and(|authority| !authority.as_str().eq_ignore_ascii_case(host)) {
            return Addressed::NotUs;
        }
        if self.host.eq_ignore_ascii_case(host) {
            Addressed::Ours
        } else if *method == Method::GET && self.loopback.iter().any(|name| name.eq_ignore_ascii_case(host)) {
            let rest = uri.path_and_query().map_or("/", |rest| rest.as_str());
            Addressed::Elsewhere(format!("{}{rest}", self.origin))
        } else {
            Addressed::NotUs
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addressed(origin: &PageOrigin, host: &str) -> Addressed {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        origin.addressed(&Method::GET, &Uri::from_static("/approve/x?a"), &headers)
    }

    #[test]
    fn only_the_exact_host_is_served_and_loopback_addresses_are_sent_on() {
        let origin = PageOrigin::new(7412, None).unwrap();
        assert_eq!(origin.as_str(), "http://localhost:7412");
        assert_eq!(addressed(&origin, "localhost:7412"), Addressed::Ours);
        let sent_on = Addressed::Elsewhere("http://localhost:7412/approve/x?a".to_owned());
        assert_eq!(addressed(&origin, "127.0.0.1:7412"), sent_on);
        assert_eq!(addressed(&origin, "[::1]:7412"), sent_on);
        for other in [
            "localhost",
            "localhost:7413",
            "127.0.0.1",
            "127.0.0.1:7411",
            "evil.example:7412",
            "localhost.evil.example:7412",
            "foo.localhost:7412",
            "localhost:7412.evil.example",
            "",
        ] {
            assert_eq!(addressed(&origin, other), Addressed::NotUs, "{other}");
        }
        let posted = |host: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, host.parse().unwrap());
            origin.addressed(&Method::POST, &Uri::from_static("/"), &headers)
        };
        assert_eq!(posted("127.0.0.1:7412"), Addressed::NotUs);
        let mut twice = HeaderMap::new();
        twice.append(HOST, "localhost:7412".parse().unwrap());
        twice.append(HOST, "localhost:7412".parse().unwrap());
        assert_eq!(origin.addressed(&Method::GET, &Uri::from_static("/"), &twice), Addressed::NotUs);
        assert_eq!(
            origin.addressed(&Method::GET, &Uri::from_static("/"), &HeaderMap::new()),
            Addressed::NotUs
        );
    }

    #[test]
    fn a_public_url_is_the_only_origin_there_is() {
        let origin = PageOrigin::new(7412, Some("https://Approve.Example.com/")).unwrap();
        assert_eq!((origin.as_str(), origin.rp_id()), ("https://approve.example.com", "approve.example.com"));
        assert_eq!(addressed(&origin, "approve.example.com"), Addressed::Ours);
        let sent_on = Addressed::Elsewhere("https://approve.example.com/approve/x?a".to_owned());
        assert_eq!(addressed(&origin, "localhost:7412"), sent_on);
        assert_eq!(addressed(&origin, "approve.example.com:7412"), Addressed::NotUs);
        let ported = PageOrigin::new(1, Some("https://a.example:8443")).unwrap();
        assert_eq!(ported.as_str(), "https://a.example:8443");
        for bad in [
            "http://approve.example.com",
            "https://192.0.2.1",
            "https://[2001:db8::1]",
            "https://a.example/path",
            "https://a.example/?q",
            "https://user@a.example",
            "a.example",
            "",
        ] {
            assert!(PageOrigin::new(7412, Some(bad)).is_err(), "{bad}");
        }
    }
}
