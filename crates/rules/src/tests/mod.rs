//! The engine by example: seed 000's rules, every operator on every kind, every error, waivers, phases,
//! explanations.

mod decisions;
mod errors;
mod evaluation;
mod seed_rules;
mod spellings;
mod support;
mod truth;
mod waivers;
