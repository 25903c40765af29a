//! The program as its users meet it: started as a process of its own, judged by
//! what it prints, what it writes, and how it ends.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod analyze;
mod bad_input;
mod captures;
mod certify;
mod client;
#[expect(dead_code, reason = "tests of the store do more with members")]
#[path = "../../../store/src/etcd/tests/cluster.rs"]
mod cluster;
mod cluster_files;
mod config_file;
mod controller;
mod etcd;
mod explanations;
mod export;
mod graceful_restart;
mod instances;
mod interruption;
mod kernel_engine;
mod linearizable;
mod listeners;
mod measurements;
mod modes;
mod one_switch_an_interface;
mod openflow;
mod page;
mod privilege;
mod profile;
mod profiles;
mod recordings;
mod reproduce;
mod results;
mod scripted;
#[path = "../site/mod.rs"]
mod site;
mod switch;
mod switch_bad_input;
mod terminal;
mod testbed;
mod tls;
#[path = "../site/trust.rs"]
mod trust;
mod workplace;
