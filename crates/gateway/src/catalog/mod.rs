//! What clients are shown: the lists of all upstreams of a virtual server, merged under names that every client
//! accepts, and the map back from those names. The map is stored, never re-derived by splitting a name.

mod capabilities;
mod contracts;
mod finder;
mod gate;
mod list_bytes;
mod listed;
mod merge;
mod names;
mod own_tool;
mod station;
mod uris;
mod view;
mod virtual_server;

pub(crate) use contracts::{Contracts, Known, Noted, Standing, Standings, wanted};
pub(crate) use finder::Shown;
pub(crate) use gate::Gate;
pub(crate) use merge::{Entry, Merged};
pub(crate) use own_tool::OwnTool;
pub(crate) use station::{Station, Stock};
pub(crate) use view::{View, Viewer};
pub(crate) use virtual_server::VirtualServer;
