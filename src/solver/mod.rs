//! The discrete equations and nothing else.

pub mod mac;
pub mod pressure;
