//! What clients are shown: the lists of all upstreams of a virtual server, merged under names that every client
//! accepts, and the map back from those names. The map is stored, never re-derived by splitting a name.

mod capabilities;
mod connection;
mod contracts;
mod declared;
mod definition;
mod finder;
mod gate;
mod known;
mod list_bytes;
mod listed;
mod loading;
mod log_level;
mod merge;
mod names;
mod naming;
mod not_local;
mod own_tool;
mod refresh;
mod relist;
mod resource_list;
mod server;
mod server_listing;
mod standing;
mod tool_contracts;
mod uris;
mod view;
mod virtual_server;

pub(crate) use contracts::{Contracts, Noted};
pub(crate) use definition::Definition;
pub(crate) use finder::Shown;
pub(crate) use gate::Gate;
pub(crate) use known::Known;
pub(crate) use merge::{Entry, Merged};
pub(crate) use own_tool::OwnTool;
pub(crate) use resource_list::ResourcePart;
pub(crate) use server::CatalogServer;
pub(crate) use server_listing::ServerListing;
pub(crate) use standing::{Standing, Standings, wanted};
pub use tool_contracts::ToolContracts;
pub(crate) use view::{View, Viewer};
pub(crate) use virtual_server::VirtualServer;
