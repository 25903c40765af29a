//! Whether frames meet the same fate in the kernel as in the switch's own core:
//! random tables and frames, and everything that comes of them, compared.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod actions;
mod cables;
mod campaign;
mod case;
mod changes;
mod comparison;
mod flips;
mod frame;
mod generator;
mod kernel;
mod matching;
mod modes;
mod old_changes;
mod pools;
mod random;
mod shrinking;
mod subject;
mod template;

use std::fs;
use std::io::{self, Write};

use campaign::Campaign;
use case::{Case, Step};
use comparison::compare;
use kernel::{Kernel, Way};
use subject::{CoreAlone, Engine, Leaving};

/// What once differed, each case as it was when it had been made small.
const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/same_meaning/cases");

/// An engine with a mistake: it forgets the third frame of every case.
#[derive(Debug, Default)]
struct Forgetful {
    frames: usize,
}

impl Engine for Forgetful {
    fn begin(&mut self, _: &mut switch::Switch, _: &case::Setup) {
        self.frames = 0;
    }

    fn receive(
        &mut self,
        switch: &mut switch::Switch,
        now: units::Instant,
        port: u8,
        frame: &[u8],
    ) -> Vec<Leaving> {
        self.frames += 1;
        match self.frames {
            3 => Vec::new(),
            _ => CoreAlone.receive(switch, now, port, frame),
        }
    }

    fn heed(&mut self, _: &mut switch::Switch) {}
}

#[test]
fn a_case_is_the_same_after_it_was_written_and_read() {
    let case = generator::draw(7, 40);

    assert_eq!(Case::parse(&case.to_string()), case);
}

#[test]
fn the_core_alone_does_what_the_core_alone_does() {
    for seed in 0..200 {
        let case = generator::draw(seed, 40);
        assert_eq!(compare(&case, &mut CoreAlone), None);
    }
}

#[test]
fn a_difference_shrinks_to_what_shows_it() {
    let case = generator::draw(1, 40);
    let mut engine = Forgetful::default();

    let small = shrinking::shrink(&case, |case| compare(case, &mut engine).is_some());

    let frames = small.steps.iter();
    let frames = frames.filter(|step| matches!(step, Step::Frame(..)));
    assert_eq!((frames.count(), small.steps.len()), (3, 3), "{small}");
}

/// Pairs that every run of all tests compares.
const SHORT: usize = 50_000;
const SHORT_OVER_CABLES: usize = 10_000;

#[test]
fn frames_meet_the_same_fate_in_the_kernel() {
    let name = "frames_meet_the_same_fate_in_the_kernel";
    let Some(mut kernel) = kernel_or_skip(name, Way::Trial) else {
        return;
    };

    Campaign::asked_for(SHORT).run(&mut kernel);

    say_handed(&kernel);
    assert_eq!(kernel.cables.lost(), 0, "the capture kept up");
}

#[test]
fn frames_that_come_over_cables_meet_the_same_fate() {
    let name = "frames_that_come_over_cables_meet_the_same_fate";
    let Some(mut kernel) = kernel_or_skip(name, Way::Cable) else {
        return;
    };

    Campaign::asked_for(SHORT_OVER_CABLES).run(&mut kernel);

    say_handed(&kernel);
    assert_eq!(kernel.cables.lost(), 0, "the capture kept up");
}

#[test]
fn what_once_differed_does_so_no_more() {
    let Some(mut kernel) = kernel_or_skip("what_once_differed", Way::Trial) else {
        return;
    };
    for entry in fs::read_dir(CASES).unwrap() {
        let path = entry.unwrap().path();
        let case = Case::parse(&fs::read_to_string(&path).unwrap());

        let difference = compare(&case, &mut kernel);

        assert_eq!(difference, None, "{}", path.display());
    }
}

#[test]
fn a_flood_of_signals_and_violations_that_do_not_count_wakes_nobody() {
    const FRAMES: usize = 1_000;
    let Some(mut kernel) = kernel_or_skip("a_flood_of_signals", Way::Trial) else {
        return;
    };

    let difference = compare(&modes::flood(FRAMES), &mut kernel);

    assert_eq!(difference, None);
    // A refusal is told once, violations as many as a burst has.
    assert_eq!((kernel.handed, kernel.rung), (1, 16), "of {FRAMES} each");
}

/// Says how many frames took the way through the core.
fn say_handed(kernel: &Kernel) {
    // Not `eprintln!`: the test harness would swallow it.
    let _ = writeln!(io::stderr(), "{} frames through the core", kernel.handed);
}

/// Returns the kernel's program, or says loudly why not.
///
/// With `TAKTOS_REQUIRE_NAMESPACES` set, as in continuous integration, a skip is a
/// failure.
fn kernel_or_skip(test: &str, way: Way) -> Option<Kernel> {
    match Kernel::begin(way) {
        Ok(kernel) => Some(kernel),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let notice = format!("SKIPPED {test}: needs CAP_BPF and CAP_NET_ADMIN. Run it as root");
            let required = std::env::var_os("TAKTOS_REQUIRE_NAMESPACES").is_some();
            assert!(!required, "{notice}");
            // Not `eprintln!`: the test harness would swallow it.
            let _ = writeln!(io::stderr(), "\n{notice}\n");
            None
        }
        Err(error) => panic!("{error}"),
    }
}
