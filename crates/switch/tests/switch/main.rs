//! What a switch does, seen from its world.

mod allocation;
mod controllers;
mod flow_mods;
mod forwarding;
mod frames;
mod meters;
mod robustness;
mod scheduling;
mod session;
mod statistics;
mod table_features;
mod world;
