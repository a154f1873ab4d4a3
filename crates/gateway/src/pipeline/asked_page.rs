//! The pages that servers ask people to open. Only such may be asked for as a browser opens without doing anything else, and
//! none of ours; what is shown with them says whose question it is.

use std::borrow::Cow;
use std::net::IpAddr;

use highwater_config::{Listen, Settings};
use highwater_core::decide::AskKind;
use highwater_core::id::UpstreamId;
use highwater_mcp::edit::{Edit, edit_object};
use highwater_mcp::error_code::{REPLY_WITHHELD, URL_ELICITATION_REQUIRED};
use highwater_mcp::text::{elements, is_array, member, members, quote, string_member};
use http::Uri;

use super::ask::{ServerQuestions, ask_kind};
use super::permitted::Permitted;
use super::{Arrival, Refusal};

/// How a question is put.
const ELICITATION: &str = "elicitation/create";

/// Our own name, which no question of a server may speak in.
const OURS: &str = "highwater";

// === impl ServerQuestions ===

impl ServerQuestions {
    /// Whether a question, by its parameters, asks for a page that nobody may be sent to.
    pub(super) fn asks_for_bad_page(&self, kind: AskKind, params: &str) -> bool {
        match kind {
            AskKind::ElicitUrl => !self.may_open(&string_member(params, "url").unwrap_or_default()),
            AskKind::ElicitForm | AskKind::Sample | AskKind::Roots => false,
        }
    }

    /// A page that is sent over an encrypted connection, or comes from this machine, and is none of ours. A name before the
    /// host is what makes `https://localhost@example.com` look like what it is not.
    fn may_open(&self, url: &str) -> bool {
        let Ok(uri) = url.parse::<Uri>() else { return false };
        let Some(page) = Page::of(&uri) else { return false };
        let secure = match page.scheme {
            "https" => true,
            "http" => page.is_local(),
            _ => false,
        };
        secure && !self.is_ours(&page)
    }

    fn is_ours(&self, page: &Page<'_>) -> bool {
        let own = self
            .judge
            .service
            .as_ref()
            .and_then(|approval_service| approval_service.origin().parse::<Uri>().ok());
        let own = own.as_ref().and_then(Page::of);
        let is_local_port = |port: u16| page.is_local() && page.port == port;
        own.is_some_and(|own| {
            (own.host == page.host && own.port == page.port) || (own.is_local() && is_local_port(own.port))
        }) || is_local_port(listens_at(&self.settings.load()))
    }

    /// The result of a modern server that asks for more, for a modern client: each page it asks for is looked at, and each
    /// such question says whose it is.
    pub(super) async fn with_pages_marked<'r>(
        &self,
        arrival: &Arrival,
        during: &Permitted,
        result: &'r str,
    ) -> Result<Cow<'r, str>, Refusal> {
        let Some(requests) = member(result, "inputRequests") else { return Ok(Cow::Borrowed(result)) };
        let mut edited = Cow::Borrowed(requests);
        for (key, request) in members(requests) {
            if string_member(request, "method").as_deref() != Some(ELICITATION) {
                continue;
            }
            let Some(params) = member(request, "params") else { continue };
            self.check_page(arrival, during, params).await?;
            if let Cow::Owned(marked) = marked(during.route.upstream(), ELICITATION, params) {
                let request = edit_object(request, &[("params", Edit::Set(&marked))]);
                edited = Cow::Owned(edit_object(&edited, &[(&key, Edit::Set(&request))]));
            }
        }
        Ok(match edited {
            Cow::Borrowed(_) => Cow::Borrowed(result),
            Cow::Owned(edited) => Cow::Owned(edit_object(result, &[("inputRequests", Edit::Set(&edited))])),
        })
    }

    /// The legacy error "visit a page first", for a legacy client.
    pub(super) async fn with_error_pages_marked<'r>(
        &self,
        arrival: &Arrival,
        during: &Permitted,
        error: Cow<'r, str>,
    ) -> Result<Cow<'r, str>, Refusal> {
        let code = member(&error, "code").and_then(|code| code.parse::<i64>().ok());
        let pages = member(&error, "data").and_then(|data| member(data, "elicitations"));
        let Some(pages) = pages.filter(|pages| code == Some(URL_ELICITATION_REQUIRED) && is_array(pages))
        else {
            return Ok(error);
        };
        let mut marked_pages = Vec::new();
        for page in elements(pages) {
            self.check_page(arrival, during, page).await?;
            marked_pages.push(marked(during.route.upstream(), ELICITATION, page).into_owned());
        }
        let pages = format!("[{}]", marked_pages.join(","));
        let edits = [("elicitations", Edit::Set(pages.as_str()))];
        Ok(Cow::Owned(edit_object(&error, &[("data", Edit::Merge(&edits))])))
    }

    /// Withholds a reply that sends people to a page where nobody may be sent; the question is on record as refused.
    async fn check_page(&self, arrival: &Arrival, during: &Permitted, params: &str) -> Result<(), Refusal> {
        let is_bad = ask_kind(ELICITATION, params).is_some_and(|kind| self.asks_for_bad_page(kind, params));
        if !is_bad {
            return Ok(());
        }
        drop(self.clear_ask(arrival, during, ELICITATION, params).await);
        let message = "the server asked to open a page that nobody is sent to from here";
        Err(Refusal::about(&during.decision, REPLY_WITHHELD, message))
    }
}

/// A question's parameters with whose question it is, where it sends people to a page or speaks of us.
pub(super) fn marked<'p>(upstream: &UpstreamId, method: &str, params: &'p str) -> Cow<'p, str> {
    let message = string_member(params, "message").unwrap_or_default();
    let speaks_of_us = || message.to_lowercase().contains(OURS);
    match ask_kind(method, params) {
        Some(AskKind::ElicitUrl) => {}
        Some(AskKind::ElicitForm) if speaks_of_us() => {}
        Some(AskKind::ElicitForm | AskKind::Sample | AskKind::Roots) | None => return Cow::Borrowed(params),
    }
    let message = quote(&format!("server `{upstream}` asks: {message}"));
    Cow::Owned(edit_object(params, &[("message", Edit::Set(&message))]))
}

/// Where a page is.
struct Page<'u> {
    scheme: &'u str,
    host: &'u str,
    port: u16,
}

// === impl Page ===

impl<'u> Page<'u> {
    fn of(uri: &'u Uri) -> Option<Self> {
        let (scheme, authority) = (uri.scheme_str()?, uri.authority()?);
        let usual = if scheme == "https" { 443 } else { 80 };
        let is_plain = !authority.as_str().contains('@') && !authority.host().is_empty();
        is_plain.then(|| Self { scheme, host: authority.host(), port: authority.port_u16().unwrap_or(usual) })
    }

    /// Whether it is on this machine.
    fn is_local(&self) -> bool {
        let host = self.host.trim_end_matches('.');
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        host.eq_ignore_ascii_case("localhost")
            || bare.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
    }
}

fn listens_at(settings: &Settings) -> u16 {
    match settings.listen {
        Listen::Localhost { port } => port,
        Listen::Address(address) => address.port(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_where_a_browser_would_go() {
        let read =
            |url: &str| url.parse::<Uri>().ok().and_then(|uri| Page::of(&uri).map(|page| page.is_local()));
        for local in ["http://localhost:1/x", "http://127.0.0.1/", "http://[::1]:80/", "http://LOCALHOST./"] {
            assert_eq!(read(local), Some(true), "{local}");
        }
        for elsewhere in
            ["https://example.com/?q=localhost", "http://localhost.example.com/", "http://1.2.3.4/"]
        {
            assert_eq!(read(elsewhere), Some(false), "{elsewhere}");
        }
        for no_page in [
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "https://localhost@e.example/",
            "//example.com",
            "https://",
            "",
            "https://e.example/ x",
            "https:\\\\e.example",
        ] {
            assert_eq!(read(no_page), None, "{no_page}");
        }
    }

    #[test]
    fn a_question_says_whose_it_is() {
        let server = UpstreamId::new("mail");
        let told =
            marked(&server, ELICITATION, r#"{"mode":"url","url":"https://e.example","message":"Go."}"#);
        assert_eq!(told, r#"{"mode":"url","url":"https://e.example","message":"server `mail` asks: Go."}"#);
        let form = r#"{"message":"Your name?"}"#;
        assert_eq!(marked(&server, ELICITATION, form), form);
        let told = marked(&server, ELICITATION, r#"{"message":"Highwater asks: approve?"}"#);
        assert_eq!(told, r#"{"message":"server `mail` asks: Highwater asks: approve?"}"#);
    }
}
