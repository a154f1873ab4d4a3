//! How a page looks: themes, sizes, and pictures of it.

use std::path::Path;

use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::Browser;

/// Light or dark, as the person's system has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    Light,
    Dark,
}

/// A theme and the size of a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    pub theme: Theme,
    pub width: u32,
    pub height: u32,
    pub phone: bool,
}

/// A window on a desk, in the light.
pub const WINDOW: Look = Look { theme: Theme::Light, width: 1000, height: 900, phone: false };

/// A small phone.
pub const PHONE: Look = Look { theme: Theme::Light, width: 360, height: 740, phone: true };

// === impl Look ===

impl Look {
    /// The same in the dark.
    pub fn dark(self) -> Self {
        Self { theme: Theme::Dark, ..self }
    }

    fn word(self) -> &'static str {
        match self.theme {
            Theme::Light => "light",
            Theme::Dark => "dark",
        }
    }
}

// === impl Browser ===

impl Browser {
    /// Makes pages be shown like this from now on.
    pub async fn look(&self, look: Look) -> anyhow::Result<()> {
        let features = json!([{ "name": "prefers-color-scheme", "value": look.word() }]);
        self.cdp("Emulation.setEmulatedMedia", json!({ "features": features })).await?;
        let scale = if look.phone { 2 } else { 1 };
        let size = json!({
            "width": look.width, "height": look.height, "deviceScaleFactor": scale, "mobile": look.phone
        });
        self.cdp("Emulation.setDeviceMetricsOverride", size).await.map(|_| ())
    }

    /// A picture of what is on the screen now.
    pub async fn picture(&self, file: &Path) -> anyhow::Result<()> {
        let shot = self.cdp("Page.captureScreenshot", json!({ "format": "png" })).await?;
        let data = shot.get("data").and_then(Value::as_str).context("the browser made no picture")?;
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(file, STANDARD.decode(data)?)
            .with_context(|| format!("cannot write {}", file.display()))
    }

    /// Whether everything fits into the width of the screen.
    pub async fn fits(&self) -> anyhow::Result<bool> {
        let script = "const page = document.documentElement; return page.scrollWidth <= page.clientWidth";
        Ok(self.run(script, json!([])).await? == Value::Bool(true))
    }
}
