//! Marks on stored things: what a call writes is marked before it is sent, what a reply hands out before it is released.

use highwater_core::label::Label;
use highwater_core::session::ObjectId;
use highwater_store::StoreError;
use highwater_upstream::apart;

use super::objects;
use super::undertaking::Undertaking;
use crate::gateway::Gateway;

impl Gateway {
    /// Marks what an action writes with the label of the session that writes it.
    pub(super) async fn mark_written(&self, undertaking: &mut Undertaking) -> Result<(), StoreError> {
        let written = objects::written(&undertaking.told, &undertaking.action);
        if written.is_empty() {
            return Ok(());
        }
        // On a store that others share the label known here may be old, and a mark that is too low launders.
        if self.store.is_shared() {
            self.look_again(undertaking).await;
        }
        undertaking.met = Some(self.asked_marks(undertaking).await);
        self.mark(&written, &undertaking.before.label).await
    }

    /// Marks handles that a reply gives out with the reply's own label, where reading them would not bring it anyway.
    pub(super) async fn mark_handles(
        &self,
        undertaking: &Undertaking,
        handles: &[ObjectId],
        label: &Label,
    ) -> Result<(), StoreError> {
        if undertaking.told.reply_label().covers(label) && handles.is_empty() {
            return Ok(());
        }
        self.mark(handles, label).await
    }

    async fn mark(&self, objects: &[ObjectId], label: &Label) -> Result<(), StoreError> {
        if objects.is_empty() || *label == Label::bottom() {
            return Ok(());
        }
        apart(self.store.mark(objects, label)).await.map(|_| ())
    }

    /// The labels of what a reply may have been made from, as they are now that it has come. What the call itself has set
    /// says nothing of the reply: it is what the session knew already.
    pub(super) async fn marks(&self, undertaking: &Undertaking) -> Label {
        let now = self.asked_marks(undertaking).await;
        match &undertaking.met {
            Some(met) if met.clone().joined(&undertaking.before.label).covers(&now) => met.clone(),
            _ => now,
        }
    }

    async fn asked_marks(&self, undertaking: &Undertaking) -> Label {
        let asked = objects::read(&undertaking.told, &undertaking.action);
        if let Some(label) = self.store.known_marks(&asked) {
            return label;
        }
        match apart(self.store.marks(&asked)).await {
            Ok(label) => label,
            Err(error) => {
                tracing::error!(%error, decision = %undertaking.decision, "the marks of a reply cannot be read");
                // Where nobody writes there is nothing to be read that has a mark, unless an old one is known.
                let unwritten = self.world.load().keeps_nothing(undertaking.action.upstream());
                let known = if unwritten { self.store.last_known_marks(&asked) } else { None };
                known.unwrap_or_else(Label::top)
            }
        }
    }
}
