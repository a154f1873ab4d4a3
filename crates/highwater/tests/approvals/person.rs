//! A person in front of the page: opens it as a browser would, signs in, and answers.

use highwater_testkit::client::{HttpEvents, Setup};
use highwater_testkit::passkey::Passkey;
use http::Method;
use serde_json::{Value, json};

/// Somebody who is signed in.
pub(crate) struct Person {
    /// Where the page is reached.
    address: String,
    /// What a browser takes it for.
    origin: String,
    cookie: String,
    secret: String,
}

// === impl Person ===

impl Person {
    /// Signs in with the operator's token.
    pub(crate) async fn operator(origin: &str, token: &str) -> Self {
        Self::operator_behind(origin, origin, token).await
    }

    /// The same where the page is public, and `address` is what its name leads to.
    pub(crate) async fn operator_behind(address: &str, origin: &str, token: &str) -> Self {
        let (address, origin) = (address.to_owned(), origin.to_owned());
        let nobody = Self { address, origin, cookie: String::new(), secret: String::new() };
        let (status, headers, said) = nobody.send("/sign-in", "/inbox", &json!({ "token": token })).await;
        assert_eq!(status, 200, "{said}");
        let cookie = headers.get("set-cookie").unwrap().to_str().unwrap();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        Self { cookie, secret: said["secret"].as_str().unwrap().to_owned(), ..nobody }
    }

    /// Signs in with a passkey, and so as somebody.
    pub(crate) async fn with_passkey(&self, passkey: &Passkey) -> Self {
        let nobody = self.stranger();
        let (status, envelope) = nobody.post("/sign-in/challenge", &json!({})).await;
        assert_eq!(status, 200, "{envelope}");
        let response = passkey.get(&envelope["requestOptions"]).unwrap();
        let body = json!({ "challengeId": envelope["challengeId"], "response": response });
        let (status, headers, said) = nobody.send("/sign-in", "/inbox", &body).await;
        assert_eq!(status, 200, "{said}");
        let cookie = headers.get("set-cookie").unwrap().to_str().unwrap();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        Self { cookie, secret: said["secret"].as_str().unwrap().to_owned(), ..nobody }
    }

    /// Somebody in front of the same page of whom nothing is known.
    pub(crate) fn stranger(&self) -> Self {
        let (address, origin) = (self.address.clone(), self.origin.clone());
        Self { address, origin, cookie: String::new(), secret: String::new() }
    }

    /// Has the inbox open until what this gives is dropped.
    pub(crate) async fn watch_inbox(&self) -> HttpEvents {
        let browser =
            Setup::http(&format!("{}/inbox/events", self.address)).connect_silently().await.unwrap();
        let headers =
            [("host", self.host()), ("sec-fetch-site", "same-origin"), ("cookie", self.cookie.as_str())];
        browser.open(Method::GET, String::new(), &headers).await.unwrap()
    }

    /// Signs a mandate.
    pub(crate) async fn mandate(&self, terms: &Value, passkey: &Passkey) -> (u16, Value) {
        let act = json!({ "act": "mandate", "terms": terms.to_string() });
        let (status, envelope) = self.post("/act/challenge", &json!({ "act": act })).await;
        if status != 200 {
            return (status, envelope);
        }
        let response = passkey.get(&envelope["requestOptions"]).unwrap();
        let body = json!({ "act": act, "challengeId": envelope["challengeId"], "response": response });
        self.post("/act/assertion", &body).await
    }

    /// Asks the page for something, from the document at `from`.
    async fn send(&self, path: &str, from: &str, body: &Value) -> (u16, http::HeaderMap, Value) {
        let csrf = self.csrf(from).await;
        let browser = Setup::http(&format!("{}{path}", self.address)).connect_silently().await.unwrap();
        let mut headers = vec![
            ("host", self.host()),
            ("origin", self.origin.as_str()),
            ("sec-fetch-site", "same-origin"),
            ("content-type", "application/json"),
            ("highwater-csrf", &csrf),
        ];
        if !self.cookie.is_empty() {
            headers.extend([("cookie", self.cookie.as_str()), ("highwater-page-secret", &self.secret)]);
        }
        let reply = browser.exchange(Method::POST, body.to_string(), &headers).await.unwrap();
        (reply.status, reply.headers, serde_json::from_str(&reply.body).unwrap_or(Value::Null))
    }

    async fn csrf(&self, from: &str) -> String {
        let document = self.document(from).await;
        let csrf = document.split("data-csrf=\"").nth(1).and_then(|rest| rest.split('"').next());
        csrf.unwrap_or_else(|| panic!("{document}")).to_owned()
    }

    /// A document of the page, as the browser gets it.
    pub(crate) async fn document(&self, path: &str) -> String {
        let browser = Setup::http(&format!("{}{path}", self.address)).connect_silently().await.unwrap();
        // An empty header is none.
        let headers =
            [("host", self.host()), ("sec-fetch-dest", "document"), ("cookie", self.cookie.as_str())];
        browser.exchange(Method::GET, String::new(), &headers).await.unwrap().body
    }

    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    fn host(&self) -> &str {
        self.origin.split("://").nth(1).unwrap()
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let (status, _, said) = self.send(path, "/inbox", body).await;
        (status, said)
    }

    /// Registers a passkey on the page and confirms it with the code.
    pub(crate) async fn enroll(&self, user: &str, code: &str, passkey: &mut Passkey) {
        let (status, begun) = self.post("/enroll/begin", &json!({ "user": user })).await;
        assert_eq!(status, 200, "{begun}");
        let response = passkey.create(&begun["options"]).unwrap();
        let body = json!({ "ticket": begun["ticket"], "response": response });
        let (status, key) = self.post("/enroll/finish", &body).await;
        assert_eq!(status, 200, "{key}");
        let (status, said) = self.post("/enroll/code", &json!({ "id": key["id"], "code": code })).await;
        assert_eq!(status, 200, "{said}");
    }

    /// Signs a request with a passkey.
    pub(crate) async fn sign(&self, id: &str, passkey: &Passkey) -> (u16, Value) {
        let (status, envelope) = self.post(&format!("/approve/{id}/challenge"), &json!({})).await;
        if status != 200 {
            return (status, envelope);
        }
        let response = passkey.get(&envelope["requestOptions"]).unwrap();
        let body = json!({ "challengeId": envelope["challengeId"], "response": response });
        self.post(&format!("/approve/{id}/assertion"), &body).await
    }

    /// Presses the button.
    pub(crate) async fn confirm(&self, id: &str, remember: Option<&str>) -> (u16, Value) {
        self.post(&format!("/approve/{id}/confirm"), &json!({ "remember": remember })).await
    }
}
