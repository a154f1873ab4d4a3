//! The stages of the matrix and the stories told on them.

pub(crate) mod calls;
pub(crate) mod changes;
pub(crate) mod questions;
pub(crate) mod reads;
pub(crate) mod stage;
