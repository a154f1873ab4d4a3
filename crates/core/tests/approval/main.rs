//! Verified approval, rule by rule: tests are named after the lines they hold (S, G), and every signature is real.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod assertions;
mod attested;
mod canonical;
mod chromium;
mod enrollment;
mod issuing;
mod never_panics;
mod order;
mod scene;
mod spending;
