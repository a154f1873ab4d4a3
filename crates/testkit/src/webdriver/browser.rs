//! What a person does in a browser: opens pages, reads them, presses keys and buttons.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::{Value, json};

use super::driver::Driver;
use crate::wait::PATIENCE;

/// How often a page that reloads itself is left before that is given up.
const MOST_TRIES: usize = 5;

/// How often a page is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// The name of an element in answers of the driver.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A browser of its own, with nothing in it.
pub struct Browser {
    pub(super) driver: Driver,
}

// === impl Browser ===

impl Browser {
    pub async fn start() -> anyhow::Result<Self> {
        Ok(Self { driver: Driver::start().await? })
    }

    /// Opens a page and waits until it is loaded. A page that reloads itself at that moment wins against being left, so
    /// whoever is still there is sent off again.
    pub async fn open(&self, url: &str) -> anyhow::Result<()> {
        let left = self.url().await?;
        for _ in 0..MOST_TRIES {
            self.driver
                .post("url", &json!({ "url": url }))
                .await
                .with_context(|| format!("cannot open {url}"))?;
            if page(&left) == page(url) || self.url().await? != left {
                return Ok(());
            }
        }
        bail!("{left} cannot be left for {url}")
    }

    /// Where the browser is.
    pub async fn url(&self) -> anyhow::Result<String> {
        Ok(self.driver.get("url").await?.as_str().unwrap_or_default().to_owned())
    }

    /// Runs a script in the page; it may `return` something, and `arguments` are given to it.
    pub async fn run(&self, script: &str, arguments: Value) -> anyhow::Result<Value> {
        self.driver.post("execute/sync", &json!({ "script": script, "args": arguments })).await
    }

    /// Runs the body of an asynchronous function in the page and waits for what it returns. What it throws is an error
    /// with the name and the message of it.
    pub async fn run_async(&self, body: &str, arguments: Value) -> anyhow::Result<Value> {
        let script = format!(
            "const done = arguments[arguments.length - 1]; \
             (async (...given) => {{ {body} }})(...[...arguments].slice(0, -1)) \
             .then((value) => done({{ value }}), (error) => done({{ failed: `${{error.name}}: ${{error.message}}` }}));"
        );
        let mut answer =
            self.driver.post("execute/async", &json!({ "script": script, "args": arguments })).await?;
        match answer.get("failed").and_then(Value::as_str) {
            Some(failed) => bail!("{failed}"),
            None => Ok(answer.get_mut("value").map(Value::take).unwrap_or_default()),
        }
    }

    /// The text of an element as people see it.
    pub async fn text(&self, selector: &str) -> anyhow::Result<String> {
        let script = "return document.querySelector(arguments[0])?.innerText ?? null";
        let text = self.run(script, json!([selector])).await?;
        Ok(text.as_str().with_context(|| format!("there is no `{selector}`"))?.to_owned())
    }

    /// Whether there is such an element.
    pub async fn has(&self, selector: &str) -> anyhow::Result<bool> {
        let script = "return document.querySelector(arguments[0]) !== null";
        Ok(self.run(script, json!([selector])).await? == Value::Bool(true))
    }

    /// Presses something, as a person does: with the pointer, once it can be pressed.
    pub async fn click(&self, selector: &str) -> anyhow::Result<()> {
        self.wait_for(&format!("{selector}:not(:disabled)")).await?;
        // Into the middle of the window, where nothing that sticks to its edge lies over it.
        let script = "document.querySelector(arguments[0]).scrollIntoView({ block: 'center' })";
        self.run(script, json!([selector])).await?;
        let element = self.element(selector).await?;
        self.driver.post(&format!("element/{element}/click"), &json!({})).await?;
        Ok(())
    }

    /// Types into a field, in place of what is in it.
    pub async fn fill(&self, selector: &str, text: &str) -> anyhow::Result<()> {
        let element = self.element(selector).await?;
        self.driver.post(&format!("element/{element}/clear"), &json!({})).await?;
        self.driver.post(&format!("element/{element}/value"), &json!({ "text": text })).await?;
        Ok(())
    }

    /// Presses keys, wherever the focus is.
    pub async fn press(&self, keys: &[&str]) -> anyhow::Result<()> {
        let actions: Vec<Value> = keys
            .iter()
            .flat_map(|key| {
                [json!({ "type": "keyDown", "value": key }), json!({ "type": "keyUp", "value": key })]
            })
            .collect();
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": actions });
        self.driver.post("actions", &json!({ "actions": [keyboard] })).await?;
        Ok(())
    }

    /// Waits until there is such an element.
    pub async fn wait_for(&self, selector: &str) -> anyhow::Result<()> {
        let script = "return document.querySelector(arguments[0]) !== null";
        self.wait_until(&format!("`{selector}`"), script, json!([selector])).await
    }

    /// Waits until an element holds this text.
    pub async fn wait_for_text(&self, selector: &str, text: &str) -> anyhow::Result<()> {
        let script = "return document.querySelector(arguments[0])?.innerText.includes(arguments[1]) === true";
        self.wait_until(&format!("`{text}` in `{selector}`"), script, json!([selector, text])).await
    }

    async fn wait_until(&self, what: &str, script: &str, arguments: Value) -> anyhow::Result<()> {
        let start = Instant::now();
        loop {
            // A page that is being loaded has nothing to say.
            if self.run(script, arguments.clone()).await.is_ok_and(|answer| answer == Value::Bool(true)) {
                return Ok(());
            }
            if start.elapsed() > PATIENCE {
                let script = "return document.body?.innerText ?? ''";
                let shown = self.run(script, json!([])).await.unwrap_or_default();
                bail!(
                    "{what} did not come; {} shows:\n{}",
                    self.url().await?,
                    shown.as_str().unwrap_or_default()
                );
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Any command of the DevTools protocol.
    pub async fn cdp(&self, command: &str, parameters: Value) -> anyhow::Result<Value> {
        self.driver.post("goog/cdp/execute", &json!({ "cmd": command, "params": parameters })).await
    }

    async fn element(&self, selector: &str) -> anyhow::Result<String> {
        let found =
            self.driver.post("element", &json!({ "using": "css selector", "value": selector })).await?;
        Ok(found.get(ELEMENT).and_then(Value::as_str).context("the browser names no element")?.to_owned())
    }
}

/// An address without its fragment, which a page may take out at once.
fn page(url: &str) -> &str {
    url.split('#').next().unwrap_or(url)
}
