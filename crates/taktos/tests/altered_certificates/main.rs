//! Certificates of real scenarios, altered by those who want them to promise more.
//!
//! Every alteration is consistent in itself: digests are made anew. What follows from
//! the rest of a document is refused by the proof; what is stated of the network and of
//! flows, and cannot be proven, by the comparison with the scenario.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod alterations;
mod drawn;
mod real;

use certificate::{Certificate, check};
use real::Real;

/// S4-11: what is certified is proven, with levels, copies, messages, groups and failures.
#[test]
fn what_is_certified_of_each_kind_is_proven_and_is_about_its_scenario() {
    for real in Real::all() {
        let proven = check(&real.certificate);

        let proven = proven.unwrap_or_else(|objections| panic!("{}: {objections:#?}", real.name));
        assert!(proven.promises.len() >= real.certificate.flows.len());
        assert_eq!(real.differences(&real.certificate), [], "{}", real.name);
        let text = real.certificate.write();
        assert_eq!(Certificate::read(&text).unwrap(), real.certificate);
    }
}
