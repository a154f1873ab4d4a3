//! What can be told of a server's tools without believing it: what a tool does, from its definition; what an SQL text
//! does; what a path is, and who wrote what lies there.
//!
//! The result are values that the core takes: [`ToolShape::acts`] for contracts and for which acts are free, and the word
//! [`Named`](highwater_core::profile::Named) for what a call names.

mod command_reach;
mod named_things;
pub mod never_free;
pub mod path_source;
pub mod sql;
mod tool_shape;
mod word_list;

pub use command_reach::{Reach, reach};
pub use named_things::{NamedThings, Places};
pub use tool_shape::{Engine, Exit, InferredRoles, Naming, ToolShape, UsesFiles, Walk};

#[cfg(test)]
mod tests;
