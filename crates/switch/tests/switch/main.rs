//! What a switch does, seen from its world.

mod allocation;
mod bundles;
mod contact;
mod controllers;
mod cost;
mod errors;
mod flow_mods;
mod forwarding;
mod frames;
mod group_mods;
mod group_statistics;
mod groups;
mod header_actions;
mod kept_frames;
mod layers;
mod matching;
mod meters;
mod references;
mod reserved_ports;
mod robustness;
mod scheduling;
mod session;
mod statistics;
mod table_features;
mod ways;
mod world;
