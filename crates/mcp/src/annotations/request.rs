//! What a client says of its own context, in the `_meta` of a request.

use highwater_core::annotation::{Authority, Claims, Notice};
use highwater_core::session::Contributors;

use super::flow::{FLOW_ORIGIN, contributors};
use super::heard::{Heard, Reading, Subject};
use crate::text::member;

/// What a client says of its own context. Only ever tightens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestSays {
    /// What it claims.
    pub claims: Claims,
    /// What there is to say about how it claims it.
    pub notices: Vec<Notice>,
    /// Who contributed to it, where the client says so.
    pub contributors: Option<Contributors>,
}

/// Reads the `_meta` of a request.
pub fn request_says(meta: &str) -> RequestSays {
    let mut heard = Heard::new(Subject::Request, Authority::Declared);
    heard.meta(meta);
    let Reading { claims, notices } = heard.finish();
    RequestSays { claims, notices, contributors: member(meta, FLOW_ORIGIN).map(contributors) }
}
