//! Several receipts of one gateway: is each the next of the one before?

use thiserror::Error;

use super::body::ChainLink;
use super::signature::SignedReceipt;

/// What is wrong between two receipts.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChainFault {
    /// Receipts are missing.
    #[error("receipts {after} to {before} are missing between the two")]
    Gap {
        /// The first that is missing.
        after: u64,
        /// The last that is missing.
        before: u64,
    },
    /// The order is not that of the chain, or one is there twice.
    #[error("receipt {seq} does not stand in its place")]
    Disorder {
        /// The one that does not.
        seq: u64,
    },
    /// It says something else of the one before than that is.
    #[error("receipt {seq} follows another receipt than the one before it")]
    Broken {
        /// The one that does.
        seq: u64,
    },
    /// It is of another chain.
    #[error("receipt {seq} is of another chain")]
    Foreign {
        /// The one that is.
        seq: u64,
    },
}

/// Everything that is wrong with receipts in the order of their chain. They need not begin with its first.
pub fn check_chain<'a>(receipts: impl IntoIterator<Item = &'a SignedReceipt>) -> Vec<ChainFault> {
    let mut faults = Vec::new();
    let mut before: Option<&SignedReceipt> = None;
    for receipt in receipts {
        let link = &receipt.receipt().chain;
        let first = before.is_none() || link.seq == 0;
        if first && (link.seq == 0) != (link.prev_hash == ChainLink::NOTHING_BEFORE) {
            faults.push(ChainFault::Broken { seq: link.seq });
        }
        if let Some(before) = before {
            faults.extend(between(before, link));
        }
        before = Some(receipt);
    }
    faults
}

fn between(before: &SignedReceipt, link: &ChainLink) -> Option<ChainFault> {
    let expected = before.next();
    if link.id != expected.id {
        Some(ChainFault::Foreign { seq: link.seq })
    } else if link.seq < expected.seq {
        Some(ChainFault::Disorder { seq: link.seq })
    } else if link.seq > expected.seq {
        Some(ChainFault::Gap { after: expected.seq, before: link.seq - 1 })
    } else if link.prev_hash != expected.prev_hash {
        Some(ChainFault::Broken { seq: link.seq })
    } else {
        None
    }
}
