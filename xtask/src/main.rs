//! The jobs around the code: what holds it to its rules, runs its tests and
//! lists what it cites. Started as `cargo xtask JOB`; uses the standard library
//! alone, so that it builds at once.

mod bench;
mod blank;
mod bpf;
mod cargo;
mod check;
mod citation;
mod cites;
mod deb;
mod deny;
mod drawn;
mod etcd;
mod failure;
mod finding;
mod fuzz;
mod manifest;
mod markers;
mod modes;
mod namespaces;
mod neighbours;
mod origin;
mod page;
mod python;
mod release;
mod repeat_run;
mod rivals;
mod rooms;
mod same_meaning;
mod soundness;
mod source;
mod stall_watch;
mod switch_tests;
mod test_run;
mod tidy;
mod wheel;
mod workspace;

use std::process::ExitCode;

use cites::Listing;
use failure::Failure;
use workspace::Workspace;

const USAGE: &str = "\
usage: cargo xtask JOB

  check              holds the code to its rules: format, lints, boundaries of crates,
                     sizes, names, links, citations
  test [FILTER]      runs every test and sums the results
  cites [--missing]  lists the equations and requirements cited, with their tests
  tidy               mends what a machine can mend
  bench              runs the benchmarks that have a goal and prints the ratios
  rivals [--quick] [--record]
                     compares the switch with Open vSwitch, the Linux bridge and bare
                     forwarders on this machine, and puts the tables into
                     docs/benchmarks.md; needs root, two processors, and the Debian
                     packages openvswitch-switch and iproute2
  fuzz [SECONDS]     feeds each fuzz target with bytes for that long (20)
  bpf                compiles the programs that run in the kernel, with clang
  page               builds the page for browsers and tests it in Chromium; needs Node, npm
      [--build]          and chromium, and root for what is shown live; --build tests nothing,
      [--pictures]       --pictures keeps pictures in docs/images
  deny               holds licences and sources of all packages to deny.toml, with
                     cargo-deny
  deb                makes the Debian package, with cargo-deb; --quick without LTO; --try
      [--quick] [--try]  installs, runs, upgrades and removes it in a fresh Debian, as root,
                     with the Debian package mmdebstrap
  wheel              makes the package for Python, with maturin from PyPI; --quick without
      [--quick] [--try]  LTO; --try installs it in a fresh environment and runs its tests
  release            makes what is given away, of the commit that is checked out: archive,
      [--quick]          Debian package, wheel, bill of materials, notes, digests; --twice
      [--twice]          makes all again and compares; needs cargo-deb, cargo-deny and
                         cargo-cyclonedx
  notebooks          runs docs/notebooks with the wheel that was made last
  same-meaning       compares the switch's core with its program in the kernel, on random
      [--pairs NUMBER]   tables and frames (1,000,000); needs root
      [--seed NUMBER]
  soundness          holds the bounds of all methods against an adversary on random
      [--networks NUMBER]  networks (1,000) and counts how close it comes; --seed shows
      [--first SEED]   one network in full; --record puts the tables into
      [--seed SEED] [--json] [--record]
                     docs/soundness.md
  certificates       has what `taktos certify` writes verified, of drawn scenarios
      [--networks NUMBER]  (100,000), on two threads; --seed takes one
      [--first SEED] [--seed SEED]
  promises           has an adversary look for a frame later than promised, on drawn
      [--networks NUMBER]  networks (10,000) with flows that move, second copies and
      [--first SEED] [--seed SEED]
                     changes of mode, on two threads; --seed takes one
  admissible         holds drawn sets of flows (100,000) to one truth: in any order, made
      [--networks NUMBER]  harder, with flows that come and go, on two threads; --seed
      [--first SEED] [--seed SEED]  takes one
  mutated            changes files at random (20,000 cases): each is used or refused,
      [--networks NUMBER]  and nothing panics; --seed takes one
      [--first SEED] [--seed SEED]
  culprits           plants an error in each of random networks (1,000): is whoever it is
      [--seeds NUMBER]   named within a second, and nobody without one? --seed takes one
      [--first SEED] [--seed SEED]
  lab-culprits       the same in namespaces, an error of each kind and none (20 times);
      [--seeds NUMBER]   needs root
      [--first SEED] [--seed SEED]
  faults             has random networks (2,000) live through faults of links, switches
      [--networks NUMBER]  and control channels; --seed takes one
      [--first SEED] [--seed SEED]
  seamless           cuts one of two ways after the other (10,000 times): is no frame
      [--seeds NUMBER]   lost or doubled?
      [--first SEED] [--seed SEED]
  clusters           has three instances (1,000 times) crash, stop, lose each other, their
      [--networks NUMBER]  switches and their store: is all kept that was answered?
      [--first SEED] [--seed SEED]
  routes             has routes, links, outside routers and switches come and go in random
      [--networks NUMBER]  networks (1,000): does every packet come out where it should?
      [--first SEED] [--seed SEED]
  modes              leads random networks (10,000) through violations, restarts, cuts,
      [--seeds NUMBER]   lost and forged signals: do all end in one mode? --seed shows one
      [--first SEED] [--seed SEED]
  repeat-run         runs a scenario (scenarios/substation.toml) in the lab many times
      [--runs NUMBER]    (30) and says what each run said; --stress puts every second
      [--scenario FILE]  one beside `stress-ng --cpu 2 --io 1`; needs root, and the
      [--stress] [--out DIR]  Debian package stress-ng for that
  etcd               runs the tests of the store in etcd beside 3.6 and 3.7, which it
                     builds, and measures group commit; needs Go
  neighbours         installs the other projects' programs that tests run beside ours
  switch-tests       runs os-ken's 991 tests of switches against taktos switch
      [--target taktos|open-vswitch] [--engine kernel|packet|xdp]
      [--only action|set-field|match|group|meter] [--files TEXT]
      [--interval SECONDS] [--lanes NUMBER] [--program FILE]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[String]) -> Result<ExitCode, Failure> {
    let workspace = Workspace::open()?;
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["check"] => check::run(&workspace),
        ["test", ..] => test_run::run(&workspace, &arguments[1..]),
        ["cites"] => cites::run(&workspace, Listing::All),
        ["cites", "--missing"] => cites::run(&workspace, Listing::Missing),
        ["tidy"] => tidy::run(&workspace),
        ["bpf"] => bpf::run(&workspace),
        ["deny"] => deny::run(&workspace),
        ["deb", words @ ..] => deb::run(&workspace, words),
        ["wheel", words @ ..] => wheel::run(&workspace, words),
        ["release", words @ ..] => release::run(&workspace, words),
        ["notebooks"] => wheel::notebooks(&workspace),
        ["bench"] => bench::run(&workspace),
        ["rivals", ..] => rivals::run(&workspace, &arguments[1..]),
        ["fuzz"] => fuzz::run(&workspace, None),
        ["same-meaning", words @ ..] => same_meaning::run(&workspace, words),
        ["soundness", words @ ..] => soundness::run(&workspace, words),
        ["certificates", words @ ..] => drawn::CERTIFICATES.run(&workspace, words),
        ["promises", words @ ..] => drawn::PROMISES.run(&workspace, words),
        ["admissible", words @ ..] => drawn::ADMISSIBLE.run(&workspace, words),
        ["mutated", words @ ..] => drawn::MUTATED.run(&workspace, words),
        ["faults", words @ ..] => drawn::FAULTS.run(&workspace, words),
        ["seamless", words @ ..] => drawn::SEAMLESS.run(&workspace, words),
        ["clusters", words @ ..] => drawn::CLUSTERS.run(&workspace, words),
        ["routes", words @ ..] => drawn::ROUTES.run(&workspace, words),
        ["culprits", words @ ..] => drawn::CULPRITS.run(&workspace, words),
        ["lab-culprits", words @ ..] => drawn::LAB_CULPRITS.run(&workspace, words),
        ["modes", words @ ..] => modes::run(&workspace, words),
        ["repeat-run", words @ ..] => repeat_run::run(&workspace, words),
        ["etcd"] => etcd::run(&workspace),
        ["page", words @ ..] => page::run(&workspace, words),
        ["neighbours"] => neighbours::demand(&workspace).map(|()| ExitCode::SUCCESS),
        ["switch-tests-stage", words @ ..] => switch_tests::run_stage(&workspace, words),
        ["switch-tests", ..] => switch_tests::run(&workspace, &arguments[1..]),
        ["fuzz", seconds] => fuzz::run(&workspace, Some(seconds)),
        [] | ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        [job, ..] => Err(Failure::Usage(format!(
            "no job `{job}` of that form\n\n{USAGE}"
        ))),
    }
}
