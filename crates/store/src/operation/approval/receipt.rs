//! Receipts: each is the next of its chain, and is there if and only if what it is the receipt of is.

use highwater_core::id::ApprovalId;
use highwater_receipts::SignedReceipt;

use super::super::{Access, Operation};
use super::codec;
use crate::StoreError;
use crate::approval::{Filed, ReceiptDraft, StoredReceipt};
use crate::sql::{Row, Tx, Value, approvals as statement, first, only};

/// Receipts of a chain, from a place on.
#[derive(Debug)]
pub(crate) struct ListReceipts {
    pub(crate) chain: String,
    pub(crate) from: u64,
    pub(crate) most: u32,
}

/// One receipt.
#[derive(Debug)]
pub(crate) struct ReadReceipt(pub(crate) String);

/// The receipts of one request.
#[derive(Debug)]
pub(crate) struct ReceiptsOf(pub(crate) ApprovalId);

/// The chains, with how many receipts each has.
#[derive(Debug)]
pub(crate) struct ListChains;

/// Signs a receipt as the next of its chain, inside the transaction that it is the receipt of.
pub(super) async fn file<T: Tx>(
    tx: &mut T,
    draft: &ReceiptDraft,
    approval: &str,
    now: i64,
) -> Result<Box<SignedReceipt>, StoreError> {
    let chain = Value::Text(draft.chain());
    let place = only(tx.query(statement::NEXT_RECEIPT, &[chain]).await?)?;
    let seq = place.count(0)?.saturating_sub(1);
    let unsigned = StoreError::Failed { doing: "write a receipt", why: "it cannot be signed".into() };
    let Filed { signed, text, digest } = draft.file(seq, place.text(1)?, now).ok_or(unsigned)?;
    let values = [
        chain,
        Value::Int(i64::try_from(seq).unwrap_or(i64::MAX)),
        Value::Text(draft.id()),
        Value::Text(approval),
        Value::Int(now),
        Value::Text(&text),
    ];
    tx.execute(statement::FILE_RECEIPT, &values).await?;
    tx.execute(statement::MOVE_CHAIN, &[Value::Text(&digest), chain]).await?;
    Ok(Box::new(signed))
}

// === impl ListReceipts ===

impl Operation for ListReceipts {
    type Output = Vec<StoredReceipt>;

    const DOING: &'static str = "list receipts";

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Vec<StoredReceipt>, StoreError> {
        let from = Value::Int(i64::try_from(self.from).unwrap_or(i64::MAX));
        let values = [Value::Text(&self.chain), from, Value::Int(i64::from(self.most))];
        tx.query(statement::RECEIPTS, &values).await?.iter().map(codec::receipt).collect()
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Vec<StoredReceipt> {
        let of_chain = |it: &&StoredReceipt| it.chain == self.chain && it.seq >= self.from;
        let all = model.approvals.receipts.iter().map(|(_, receipt)| receipt);
        all.filter(of_chain).take(self.most as usize).cloned().collect()
    }
}

// === impl ReadReceipt ===

impl Operation for ReadReceipt {
    type Output = Option<StoredReceipt>;

    const DOING: &'static str = "read a receipt";

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Option<StoredReceipt>, StoreError> {
        let rows = tx.query(statement::RECEIPT, &[Value::Text(&self.0)]).await?;
        first(rows).as_ref().map(codec::receipt).transpose()
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Option<StoredReceipt> {
        model.approvals.receipts.iter().map(|(_, receipt)| receipt).find(|it| it.id == self.0).cloned()
    }
}

// === impl ReceiptsOf ===

impl Operation for ReceiptsOf {
    type Output = Vec<StoredReceipt>;

    const DOING: &'static str = "list the receipts of a request";

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Vec<StoredReceipt>, StoreError> {
        let rows = tx.query(statement::RECEIPTS_OF, &[Value::Text(self.0.as_str())]).await?;
        rows.iter().map(codec::receipt).collect()
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Vec<StoredReceipt> {
        let of = model.approvals.receipts.iter().filter(|(of, _)| *of == self.0.as_str());
        of.map(|(_, receipt)| receipt.clone()).collect()
    }
}

// === impl ListChains ===

impl Operation for ListChains {
    type Output = Vec<(String, u64)>;

    const DOING: &'static str = "list chains of receipts";

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Vec<(String, u64)>, StoreError> {
        let rows = tx.query(statement::CHAINS, &[]).await?;
        rows.iter().map(|row: &Row| Ok((row.text(0)?.to_owned(), row.count(1)?))).collect()
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Vec<(String, u64)> {
        model.approvals.chains.iter().map(|(id, (next, _))| (id.clone(), *next)).collect()
    }
}
