//! All that is known of one tool, resource or prompt, ready for its calls.

use std::sync::{Arc, LazyLock, OnceLock};

use highwater_core::annotation::{Contract, OperatorLabel};
use highwater_core::pin::Hold;
use highwater_core::policy::ToolStatus;
use highwater_core::profile::Profile;
use highwater_core::provenance::RecordShape;
use highwater_display::Sentence;
use highwater_mcp::annotations::ResolveForm;
use highwater_notation::Parameters;
use highwater_profile::{Naming, ToolShape};

use super::definition::Definition;
use super::standing::Standing;

/// All that is known of one tool, resource or prompt.
#[derive(Debug)]
pub(crate) struct Known {
    /// What holds for every call.
    pub(crate) contract: Contract,
    /// The operator's word, where it has cases that hold for some calls or replies alone.
    pub(crate) cases: Option<Arc<OperatorLabel>>,
    /// How its server can be asked about one call.
    pub(crate) resolve: Option<ResolveForm>,
    /// Why it may not be used until a person has looked at it.
    pub(crate) hold: Option<Hold>,
    /// Whether a person has.
    pub(crate) status: ToolStatus,
    /// Whether what its server says of it may loosen anything.
    pub(crate) believed: bool,
    /// Whether its server says that calls of it must be approved, always or in some cases, and verified by it.
    pub(crate) gated: bool,
    /// What its definition tells without being believed.
    pub(crate) shape: Arc<ToolShape>,
    /// Whether its server says in so many words that it reaches anybody's world. Anybody is believed in that.
    pub(crate) says_open_world: bool,
    /// What the operator says that a call does, for whoever is asked about one.
    pub(crate) display: Option<Arc<Sentence>>,
    /// Whether nobody has said what its server is, and people may.
    pub(crate) undescribed: bool,
    /// The operator's one word for its server.
    pub(crate) profile: Profile,
    /// Which arguments it declares; `None` where that is not known.
    pub(crate) parameters: Option<Parameters>,
    /// By which arguments it names what it is about, as far as that shows.
    pub(crate) namings: Arc<[Naming]>,
    /// How what its replies list is read, if the operator says.
    pub(crate) records: Option<Arc<RecordShape>>,
    /// How its server defines it, once somebody asked.
    pub(crate) definition: OnceLock<Option<Definition>>,
}

// === impl Known ===

impl Known {
    pub(super) fn of(contract: Contract, hold: Option<Hold>, standing: &Standing) -> Self {
        let (status, believed) = standing.unpinned();
        Self {
            contract,
            cases: None,
            resolve: None,
            hold,
            status,
            believed,
            gated: false,
            shape: Arc::clone(&SHAPELESS),
            says_open_world: false,
            display: None,
            undescribed: standing.is_undescribed(),
            profile: standing.profile,
            parameters: None,
            namings: Arc::default(),
            records: None,
            definition: OnceLock::new(),
        }
    }

    /// Whether it is kept from agents: nobody has approved it as it is.
    pub(crate) fn is_held(&self) -> bool {
        self.hold.is_some()
    }
}

/// What can be told of something that has no definition: nothing.
static SHAPELESS: LazyLock<Arc<ToolShape>> = LazyLock::new(|| Arc::new(ToolShape::read("", "", None)));
