//! The experiments of the Loko paper on emulated switches (S4-7, S4-8, S4-10).
//!
//! | module | does |
//! |---|---|
//! | [`benchmark`] | measures one switch from outside |
//! | [`table`] | writes the flow tables of the experiments |

pub mod benchmark;
pub mod table;
