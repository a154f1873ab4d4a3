//! The approval page in a real browser, through the shipped program: passkeys that exist in the browser alone enroll,
//! approve, decline and sign for native clients, and everything that must not work does not.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod answer;
mod attested;
mod doors;
mod enroll;
mod first_call;
mod five_requests;
mod native;
mod opened;
mod shown;
mod stage;
mod together;
