//! A bounded set of short texts that is free while empty and cheap to copy.

use std::cmp::Ordering;
use std::sync::Arc;

use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};

/// Texts of one kind: the scopes or the origins of a label.
///
/// It lists at most [`TextSet::LIMIT`] members. What does not fit leaves the set *open*: further members may
/// be in it, and membership of an unlisted one is unknown. Of too many members the first in order stay, so
/// that the union is the same in whatever order it is made. Origins that we give ourselves are before all
/// others in that order: nothing that anybody says can push them out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextSet {
    /// Sorted by [`order`], without duplicates; `None` when there are none.
    members: Option<Arc<[Arc<str>]>>,
    open: bool,
}

// === impl TextSet ===

impl TextSet {
    /// The most members a set lists.
    pub const LIMIT: usize = 256;
    /// The longest text that is kept; a longer one leaves the set open.
    pub const LONGEST: usize = 2048;
    /// Nothing.
    pub const EMPTY: Self = Self { members: None, open: false };
    /// Anything: every membership is possible.
    pub const EVERY: Self = Self { members: None, open: true };

    /// A set of these texts, open if they do not all fit.
    pub fn of<T: Into<Arc<str>>>(texts: impl IntoIterator<Item = T>) -> Self {
        let mut open = false;
        let mut members: Vec<Arc<str>> = Vec::new();
        for text in texts {
            let text = text.into();
            if text.len() > Self::LONGEST {
                open = true;
                continue;
            }
            if let Err(place) = find(&members, &text) {
                members.insert(place, text);
            }
            if members.len() > Self::LIMIT {
                members.pop();
                open = true;
            }
        }
        Self::from_sorted(members, open)
    }

    fn from_sorted(members: Vec<Arc<str>>, open: bool) -> Self {
        Self { members: (!members.is_empty()).then(|| members.into()), open }
    }

    /// The listed members, in order.
    pub fn members(&self) -> &[Arc<str>] {
        self.members.as_deref().unwrap_or_default()
    }

    /// Whether more may be in it than is listed.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Whether nothing is in it, for certain.
    pub fn is_empty(&self) -> bool {
        self.members.is_none() && !self.open
    }

    /// Whether the text is in it; `None` where that is unknown.
    pub fn contains(&self, text: &str) -> Option<bool> {
        if find(self.members(), text).is_ok() {
            return Some(true);
        }
        if self.open { None } else { Some(false) }
    }

    /// Whether everything that may be in the other is in this one. An open set leaves room for anything.
    pub fn covers(&self, other: &Self) -> bool {
        self.open || (!other.open && self.lists_all(other))
    }

    fn lists_all(&self, other: &Self) -> bool {
        match (&self.members, &other.members) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(mine), Some(theirs)) if Arc::ptr_eq(mine, theirs) => true,
            (Some(mine), Some(theirs)) => theirs.iter().all(|text| find(mine, text).is_ok()),
        }
    }

    /// Whether joining the other would leave this set as it is, member by member. Stronger than
    /// [`TextSet::covers`]: an open set covers what it does not list, and still lists what fits when it comes.
    pub fn includes(&self, other: &Self) -> bool {
        if other.open && !self.open {
            return false;
        }
        if self.lists_all(other) {
            return true;
        }
        let full = self.open && self.members().len() == Self::LIMIT;
        let beyond = |text: &str| self.members().last().is_some_and(|last| order(last, text).is_lt());
        full && other.members().iter().all(|text| beyond(text) || find(self.members(), text).is_ok())
    }

    /// The first members in order, open if there are more.
    #[must_use]
    pub fn first(mut self, most: usize) -> Self {
        if self.members().len() > most {
            self = Self::from_sorted(self.members().iter().take(most).cloned().collect(), true);
        }
        self
    }

    /// This set, left open.
    #[must_use]
    pub fn opened(mut self) -> Self {
        self.open = true;
        self
    }

    /// Takes in everything of the other.
    pub fn join(&mut self, other: &Self) {
        self.open |= other.open;
        if self.lists_all(other) {
            return;
        }
        if self.members.is_none() {
            self.members.clone_from(&other.members);
            return;
        }
        let merged = merged(self.members(), other.members());
        let overflow = merged.len() > Self::LIMIT;
        *self = Self::from_sorted(merged.into_iter().take(Self::LIMIT).collect(), self.open | overflow);
    }
}

/// Whether a text is an origin that we give to a reply: `mcp:SERVER:TOOL`. A URI of the scheme `mcp` has an authority,
/// and ours have none. What others say is never kept in this form.
pub fn is_own_origin(text: &str) -> bool {
    text.strip_prefix("mcp:").is_some_and(|rest| !rest.starts_with("//"))
}

/// The order of members: our own origins, then everything else, each by its bytes.
fn order(left: &str, right: &str) -> Ordering {
    is_own_origin(right).cmp(&is_own_origin(left)).then_with(|| left.cmp(right))
}

/// Where a text is in a sorted list, or belongs.
fn find(sorted: &[Arc<str>], text: &str) -> Result<usize, usize> {
    sorted.binary_search_by(|member| order(member, text))
}

/// Two sorted lists as one, without duplicates.
fn merged(left: &[Arc<str>], right: &[Arc<str>]) -> Vec<Arc<str>> {
    let mut out = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    loop {
        let from_left = match (left.peek(), right.peek()) {
            (None, None) => return out,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some(a), Some(b)) => match order(a, b) {
                Ordering::Less => true,
                Ordering::Greater => false,
                Ordering::Equal => {
                    right.next();
                    true
                }
            },
        };
        let next = if from_left { left.next() } else { right.next() };
        out.extend(next.map(Arc::clone));
    }
}

impl Serialize for TextSet {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut list = to.serialize_seq(Some(self.members().len()))?;
        for text in self.members() {
            list.serialize_element(&**text)?;
        }
        list.end()
    }
}
