//! Whether the arguments of a call may hold what is not for everybody who reads receipts.

use highwater_core::annotation::{Accepts, Contract};
use highwater_core::label::Label;

/// Whether the arguments of a call may be sensitive: its session has taken in a class of data, even one that nobody
/// named, and could pass it on in them, or the tool is built to be given one.
pub fn may_be_sensitive(session: &Label, contract: &Contract) -> bool {
    let is_given = match contract.accepts() {
        Accepts::Unknown => false,
        Accepts::Only(classes) => !classes.classes().is_empty(),
        Accepts::Any => true,
    };
    session.private() || is_given
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_core::annotation::DataClass;

    #[test]
    fn what_a_session_holds_may_be_in_its_arguments() {
        let contract = Contract::unknown();
        assert!(!may_be_sensitive(&Label::bottom(), &contract));
        assert!(!may_be_sensitive(&Label::bottom().with_open_world(), &contract));
        for class in DataClass::ALL {
            assert!(may_be_sensitive(&Label::bottom().with_class(*class), &contract), "{class}");
        }
    }
}
