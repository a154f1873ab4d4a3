//! A real browser: Chromium without a window, driven through ChromeDriver over plain HTTP.
//!
//! ```no_run
//! # async fn story() -> anyhow::Result<()> {
//! use highwater_testkit::webdriver::{Authenticator, Browser};
//!
//! let browser = Browser::start().await?;
//! let key = browser.add(&Authenticator::usb()).await?;
//! browser.open("http://localhost:7412/inbox").await?;
//! browser.click("#sign-in").await?;
//! # Ok(()) }
//! ```

mod authenticator;
mod browser;
mod driver;
mod look;

pub use authenticator::{Authenticator, AuthenticatorId};
pub use browser::Browser;
pub use look::{Look, PHONE, Theme, WINDOW};
