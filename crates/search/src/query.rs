//! Asking the index: everything that leaves a tool out is tested before it is scored, so that a limit never cuts off what
//! a filter would have kept.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use highwater_core::id::UpstreamId;

use super::index::{Index, Indexed, SATURATION, Sight};
use super::traits::{Filter, Filters};
use super::words::words;

/// How many words of a query count.
pub const MOST_WORDS: usize = 64;

/// The score of a tool that has the words and that a filter leaves out.
const LEFT_OUT: f32 = -1.0;

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The words. A word that is repeated counts as often. Without any, every tool fits.
    pub text: &'a str,
    /// The choices.
    pub filters: Filters,
    /// The one server whose tools are wanted.
    pub server: Option<&'a UpstreamId>,
    /// How many hits are wanted.
    pub limit: usize,
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The best, best first; of two that fit alike, the one with the smaller number.
    pub hits: Vec<Hit>,
    /// How many fit in all.
    pub total: usize,
    /// What the filters left out.
    pub omitted: Omitted,
}

/// One tool that fits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Its number.
    pub tool: usize,
    /// How well it fits; never negative.
    pub score: f32,
}

/// What filters left out of what would have fitted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Omitted {
    /// How many tools.
    pub total: usize,
    /// For each filter that left some out. A tool may be left out by several.
    pub by: Vec<Omission>,
}

/// What one filter left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Omission {
    /// The filter.
    pub filter: Filter,
    /// How many tools.
    pub tools: usize,
    /// How many of them only because nobody who is believed has said anything of them.
    pub unstated: usize,
}

// === impl Index ===

impl Index {
    /// The tools that fit a query, among those that are seen.
    pub fn find(&self, sight: &Sight, query: &Query<'_>) -> Found {
        let server = match query.server.map(|name| self.server(name)) {
            None => None,
            Some(Some(number)) => Some(number),
            Some(None) => return Found { hits: Vec::new(), total: 0, omitted: Omitted::default() },
        };
        let wanted = |tool: &Indexed| server.is_none_or(|server| tool.server == server);
        let mut scores = vec![0.0_f32; self.len()];
        let asked = asked(query.text);
        if asked.is_empty() {
            for (number, (tool, score)) in self.tools.iter().zip(&mut scores).enumerate() {
                if sight.sees(number) && wanted(tool) {
                    *score = if tool.traits.passes(query.filters) { f32::MIN_POSITIVE } else { LEFT_OUT };
                }
            }
        }
        for (word, times) in &asked {
            let postings = self.postings(word);
            // How common a word is among what is seen: what is not seen must not show in any score.
            let known = if sight.count == self.len() {
                postings.len()
            } else {
                postings.iter().filter(|posting| sight.sees(posting.tool as usize)).count()
            };
            let rarity = rarity(sight.count, known) * f32::from(*times) * (SATURATION + 1.0);
            for posting in postings {
                let number = posting.tool as usize;
                let (Some(tool), Some(damping)) = (self.tools.get(number), sight.damping.get(number)) else {
                    continue;
                };
                if !sight.sees(number) || !wanted(tool) {
                    continue;
                }
                let Some(score) = scores.get_mut(number) else { continue };
                if tool.traits.passes(query.filters) {
                    let weight = posting.weight as f32;
                    *score += rarity * weight / (weight + damping);
                } else {
                    *score = LEFT_OUT;
                }
            }
        }
        let hits = scores.iter().enumerate().filter(|(_, score)| **score > 0.0);
        let score = |score: f32| if asked.is_empty() { 0.0 } else { score };
        let hits: Vec<Hit> = hits.map(|(tool, found)| Hit { tool, score: score(*found) }).collect();
        let omitted =
            if query.filters.is_empty() { Omitted::default() } else { self.omitted(&scores, query) };
        let total = hits.len();
        Found { hits: best(hits, query.limit), total, omitted }
    }

    fn omitted(&self, scores: &[f32], query: &Query<'_>) -> Omitted {
        let mut by: Vec<Omission> =
            query.filters.iter().map(|filter| Omission { filter, tools: 0, unstated: 0 }).collect();
        let mut total = 0;
        for (tool, _) in self.tools.iter().zip(scores).filter(|(_, score)| **score < 0.0) {
            total += 1;
            for omission in &mut by {
                omission.tools += usize::from(tool.traits.fails(omission.filter));
                omission.unstated += usize::from(tool.traits.is_unstated(omission.filter));
            }
        }
        by.retain(|omission| omission.tools > 0);
        Omitted { total, by }
    }
}

/// The words of a query and how often each is there.
fn asked(text: &str) -> BTreeMap<Box<str>, u8> {
    let mut asked: BTreeMap<Box<str>, u8> = BTreeMap::new();
    let mut left = MOST_WORDS;
    words(text, |word| {
        if left > 0 {
            left -= 1;
            *asked.entry(word.into()).or_default() += 1;
        }
    });
    asked
}

/// How much it says that a tool has a word which `known` of `all` tools have.
fn rarity(all: usize, known: usize) -> f32 {
    let (all, known) = (all as f32, known as f32);
    ln((all + 1.0) / (known + 0.5))
}

/// The natural logarithm of a positive number, the same on every machine: those of systems differ in the last digit, and
/// with it the order of two tools.
fn ln(value: f32) -> f32 {
    let bits = value.to_bits();
    let exponent = (bits >> 23) as f32 - 127.0;
    let mantissa = f32::from_bits(bits & 0x007f_ffff | 0x3f80_0000);
    let root = (mantissa - 1.0) / (mantissa + 1.0);
    let square = root * root;
    let series = [2.0 / 9.0, 2.0 / 7.0, 2.0 / 5.0, 2.0 / 3.0, 2.0];
    let sum = series.iter().fold(0.0, |sum, factor| sum * square + factor);
    exponent * std::f32::consts::LN_2 + root * sum
}

/// The best of them, in order.
fn best(mut hits: Vec<Hit>, limit: usize) -> Vec<Hit> {
    let order = |one: &Hit, other: &Hit| -> Ordering {
        other.score.total_cmp(&one.score).then_with(|| one.tool.cmp(&other.tool))
    };
    if limit == 0 {
        return Vec::new();
    }
    if limit < hits.len() {
        hits.select_nth_unstable_by(limit, order);
        hits.truncate(limit);
    }
    hits.sort_unstable_by(order);
    hits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_is_one() {
        for value in [0.5f32, 0.999, 1.0, 1.0001, 1.5, 1.9999, 2.0, 3.0, 10.0, 12_345.0, 20_001.0, 1.0e9] {
            let exact = f64::from(value).ln();
            let error = (f64::from(ln(value)) - exact).abs();
            assert!(error <= 2.0e-6 * exact.abs().max(1.0), "{value}: {} is not {exact}", ln(value));
        }
    }
}
