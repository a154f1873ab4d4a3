//! ChromeDriver itself: one process on a port of its own, and the requests it takes.

use std::io::{Read, Write};
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, bail};
use bytes::{Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::port::ReservedPort;
use crate::wait::PATIENCE;

/// How to get what is missing.
const INSTALL: &str = "apt-get update && apt-get install -y chromium chromium-driver";

/// Debian's browser. Elsewhere ChromeDriver looks for one itself.
const CHROMIUM: &str = "/usr/bin/chromium";

/// How long a script or a page may take, in milliseconds. Sooner than our own patience, so that it is said which.
const LONGEST_MS: u64 = 100_000;

/// How often a browser is started: ChromeDriver gives one up that does not answer within a minute.
const STARTS: usize = 5;

/// No answer is longer; a screenshot is the longest.
const LONGEST: usize = 64 << 20;

/// ChromeDriver with one session. Both are ended when this is dropped.
pub(super) struct Driver {
    http: Client<HttpConnector, Full<Bytes>>,
    port: ReservedPort,
    session: String,
    process: Child,
}

// === impl Driver ===

impl Driver {
    pub(super) async fn start() -> anyhow::Result<Self> {
        let mut failures = Vec::new();
        for _ in 0..STARTS {
            match Self::start_once().await {
                Ok(driver) => return Ok(driver),
                Err(error) => failures.push(format!("{error:#}")),
            }
        }
        bail!("there is no browser after {STARTS} attempts: {failures:#?}")
    }

    async fn start_once() -> anyhow::Result<Self> {
        // Left to itself it takes a port of one loopback, and ends if that is taken on the other.
        let port = ReservedPort::new()?;
        let process = launch(port.get()).await?;
        let http = Client::builder(TokioExecutor::new()).build_http();
        let mut driver = Self { http, port, session: String::new(), process };
        let answer = driver.send(Method::POST, "/session", Some(&capabilities())).await?;
        let session = answer.get("sessionId").and_then(Value::as_str);
        driver.session = session.context("chromedriver opened no session")?.to_owned();
        let timeouts = json!({ "script": LONGEST_MS, "pageLoad": LONGEST_MS });
        driver.post("timeouts", &timeouts).await?;
        Ok(driver)
    }

    /// A command of the session that sends something.
    pub(super) async fn post(&self, command: &str, body: &Value) -> anyhow::Result<Value> {
        self.send(Method::POST, &format!("/session/{}/{command}", self.session), Some(body)).await
    }

    pub(super) async fn get(&self, command: &str) -> anyhow::Result<Value> {
        self.send(Method::GET, &format!("/session/{}/{command}", self.session), None).await
    }

    pub(super) async fn delete(&self, command: &str) -> anyhow::Result<Value> {
        self.send(Method::DELETE, &format!("/session/{}/{command}", self.session), None).await
    }

    async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> anyhow::Result<Value> {
        let text = body.map(Value::to_string).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(format!("http://127.0.0.1:{}{path}", self.port.get()))
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(text)))?;
        let exchange = async {
            let mut body = self.http.request(request).await?.into_body();
            let mut bytes = BytesMut::new();
            while let Some(frame) = body.frame().await {
                if let Ok(data) = frame?.into_data() {
                    anyhow::ensure!(bytes.len() + data.len() <= LONGEST, "the answer is too long");
                    bytes.extend_from_slice(&data);
                }
            }
            Ok(bytes)
        };
        let bytes =
            tokio::time::timeout(PATIENCE, exchange).await.context("the browser does not answer")??;
        let mut answer: Value = serde_json::from_slice(&bytes).context("the browser answers no JSON")?;
        let value = answer.get_mut("value").map(Value::take).unwrap_or_default();
        match (value.get("error").and_then(Value::as_str), value.get("message").and_then(Value::as_str)) {
            (Some(error), Some(message)) => {
                let message = message.lines().next().unwrap_or_default();
                bail!("{error}: {message}")
            }
            _ => Ok(value),
        }
    }

    /// Ends the browser before its driver, which would leave it behind.
    fn end_session(&self) -> std::io::Result<()> {
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", self.port.get()))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let request = format!(
            "DELETE /session/{} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nconnection: close\r\n\r\n",
            self.session,
            self.port.get()
        );
        stream.write_all(request.as_bytes())?;
        // The answer comes when the browser has ended.
        stream.read(&mut [0; 64]).map(|_| ())
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            self.end_session().ok();
        }
        self.process.start_kill().ok();
    }
}

/// ChromeDriver, once it listens on this port.
async fn launch(port: u16) -> anyhow::Result<Child> {
    let mut command = Command::new("chromedriver");
    command.arg(format!("--port={port}")).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut process = command
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("`chromedriver` cannot be started; run as root: {INSTALL}"))?;
    let output = process.stdout.take().context("chromedriver has no output")?;
    let mut lines = BufReader::new(output).lines();
    let mut said = String::new();
    loop {
        let line = tokio::time::timeout(PATIENCE, lines.next_line()).await;
        let Some(line) = line.context("chromedriver is not ready in time")?? else {
            bail!("chromedriver ended before it listened; it said:\n{said}")
        };
        if line.contains("started successfully") {
            // Read to the end, so that it never waits for a reader.
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return Ok(process);
        }
        said.push_str(&line);
        said.push('\n');
    }
}

fn capabilities() -> Value {
    let mut arguments = vec!["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"];
    // A browser refuses its own sandbox to the superuser.
    if rustix::process::geteuid().is_root() {
        arguments.push("--no-sandbox");
    }
    let mut options = json!({ "args": arguments });
    if Path::new(CHROMIUM).exists()
        && let Some(options) = options.as_object_mut()
    {
        options.insert("binary".to_owned(), CHROMIUM.into());
    }
    json!({ "capabilities": { "alwaysMatch": {
        "browserName": "chrome",
        "goog:chromeOptions": options,
        "webauthn:virtualAuthenticators": true,
    } } })
}
