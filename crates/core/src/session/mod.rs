//! What a session takes in: the label of each reply, the stored things that carry labels, and the story they tell.

mod contributors;
mod doubt;
mod legs;
mod reply_label;
mod risk;

pub use contributors::{Assurance, Contributor, Contributors};
pub use doubt::Doubt;
pub use legs::Legs;
pub use reply_label::{label_claims, label_reply, reply_contract, reply_notices};
pub use risk::{Leg, SessionRisk};
