//! Hooks on the road.
