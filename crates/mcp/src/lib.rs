//! The wire of the Model Context Protocol: frames, scanning, editing and headers, with no sockets and no
//! async. Nothing here re-serialises what it does not change.

pub mod annotations;
pub mod edit;
pub mod era;
pub mod error_code;
pub mod frame;
pub mod headers;
pub mod method;
pub mod parameters;
pub mod scan;
pub mod schema_headers;
pub mod sse;
pub mod text;
