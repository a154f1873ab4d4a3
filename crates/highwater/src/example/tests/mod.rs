//! Tests of the example servers. `client` speaks to a server line by line; what belongs to one server is
//! beside that server.

pub(super) mod client;
mod definitions;
mod legacy;
mod modern;
mod transport;
