//! What tests of Highwater lean on: peers, drivers and measuring tools that are ours.

pub mod bench;
pub mod client;
pub mod fixture;
pub mod harmless;
pub mod passkey;
pub mod port;
pub mod receipts;
pub mod rmcp_fixture;
pub mod scripted;
pub mod sockets;
pub mod wait;
pub mod webdriver;
