//! The standing of a call.

use highwater_core::provenance::{CallProvenance, Carries, Lack, Need};

use crate::{Call, Evidence};

/// Finds out where everything in a call comes from. `holds_private` says whether the conversation holds anything that
/// may not go to `public`.
pub fn stand(evidence: &Evidence, _call: &Call<'_>, _holds_private: bool) -> CallProvenance {
    let lacks = vec![Lack { need: Need::Value, pointer: None }];
    CallProvenance {
        has_words: evidence.has_words(),
        arguments: Vec::new(),
        lacks: lacks.clone(),
        lacks_strictly: lacks,
        audience_wanted: false,
        carries: Carries::Anything,
    }
}
