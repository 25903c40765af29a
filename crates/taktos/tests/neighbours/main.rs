//! Other projects' controllers and tools, unchanged, with `taktos switch`, and their
//! switches with `taktos controller`: what they expect is what ours has to do.
//!
//! Each test has namespaces of its own: one with the switch and the controller,
//! and one for each host. Without the privilege, or without the other project, it
//! says so and is skipped, or fails where `TAKTOS_REQUIRE_NAMESPACES` and
//! `TAKTOS_REQUIRE_NEIGHBOURS` are set. `cargo xtask test` installs the Python
//! packages that `neighbours/` lists, and sets both in continuous integration.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bfdd;
#[expect(dead_code, reason = "tests of the store do more with members")]
#[path = "../../../store/src/etcd/tests/cluster.rs"]
mod cluster;
mod controller;
mod dead_switch;
mod descriptions;
mod documents;
mod encrypted;
mod faucet;
mod mininet;
mod one_network;
mod open_vswitch;
mod ordinary_hosts;
mod os_ken;
mod ovs_ofctl;
mod process_bus;
mod process_bus_live;
mod prometheus;
mod sdn_ip;
mod several_instances;
#[path = "../site/mod.rs"]
mod site;
mod stand_in;
mod two_controllers;
mod workbench;
