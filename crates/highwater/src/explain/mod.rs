//! Why a call went as it did. Everything is read from the audit log, so it can be told whether a gateway runs or not.
//!
//! `log` reads the files, `chronicle` says what a session took in and with which call, `account` puts together
//! everything on record about one decision, `advice` says what would have changed it, `trying` judges it again with that
//! changed, and `tell` and `data` are the two forms in which people and programs get it.

mod account;
mod advice;
mod chronicle;
mod data;
mod list;
mod log;
mod phrase;
mod tell;
#[cfg(test)]
pub(crate) mod tests;
mod trying;
mod values;
pub(crate) mod when;

pub(crate) use account::{Account, last, latest};
pub(crate) use chronicle::{Chronicle, Subject};
pub(crate) use data::{brought as brought_data, data, risk as risk_data, summary};
pub(crate) use list::{List, list};
pub(crate) use log::{Log, record};
pub(crate) use phrase::{listed, plain};
pub(crate) use tell::{brought, published, table, text};
