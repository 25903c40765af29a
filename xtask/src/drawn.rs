//! `cargo xtask certificates`, `promises`, `admissible`, `mutated`, `culprits`, `faults`,
//! `seamless`, `clusters`, `routes` and `lab-culprits`: the long forms of tests that draw networks
//! from seeds, released; some of them on two threads.
//!
//! The first has what `taktos certify` writes verified, the second has an adversary look
//! for a frame that is later than promised, the third holds that what is admissible
//! follows from the set of flows alone, the fourth changes files at random, which are
//! used or refused. These end at the first seed that shows a mistake. The fifth plants an
//! error in each network and expects that whoever it is is named; it shows all mistakes. The
//! sixth lets cables lose, corrupt and flap, switches die and control channels fall silent, the
//! seventh cuts one of two ways after the other, the eighth has instances of a controller crash,
//! stop and lose each other and their store, the ninth has routes come and go while links, outside
//! routers and switches do. The last one is the fifth with real frames and one run at a time.

use std::process::ExitCode;

use crate::cargo::Cargo;
use crate::failure::Failure;
use crate::workspace::Workspace;

/// A test with a long form.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    name: &'static str,
    package: &'static str,
    target: &'static str,
    test: &'static str,
    /// Networks that are drawn if nothing else is asked for.
    networks: &'static str,
}

/// What certify writes, verify proves.
pub const CERTIFICATES: Job = Job {
    name: "certificates",
    package: "taktos",
    target: "certificates",
    test: "of_many_networks_what_certify_writes_verify_proves",
    networks: "100000",
};
/// No frame is later than promised, while flows move and modes change.
pub const PROMISES: Job = Job {
    name: "promises",
    package: "calculus",
    target: "soundness",
    test: "adversary::of_many_networks_none_breaks_a_promise",
    networks: "10000",
};
/// What is admissible follows from the set of flows alone, and less is never harder.
pub const ADMISSIBLE: Job = Job {
    name: "admissible",
    package: "calculus",
    target: "soundness",
    test: "one_truth::of_many_sets_all_are_judged_alike",
    networks: "100000",
};

/// Whatever stands in a file, nothing panics.
pub const MUTATED: Job = Job {
    name: "mutated",
    package: "taktos",
    target: "mutated_files",
    test: "of_many_files_none_ends_the_program",
    networks: "20000",
};

/// Whoever is not what the network file says is named, and nobody else.
pub const CULPRITS: Job = Job {
    name: "culprits",
    package: "run",
    target: "culprits",
    test: "of_many_networks_the_culprit_is_named",
    networks: "1000",
};

/// The same with real frames, in namespaces.
pub const LAB_CULPRITS: Job = Job {
    name: "lab-culprits",
    package: "run",
    target: "culprits",
    test: "lab_runs::in_namespaces_the_culprit_is_named_many_times",
    networks: "20",
};

/// Whatever faults a user may write do no more than they may.
pub const FAULTS: Job = Job {
    name: "faults",
    package: "sim",
    target: "network",
    test: "faults::of_many_networks_faults_do_no_more_than_they_may",
    networks: "2000",
};

/// What two ways carry arrives, and once, whichever link is cut and whenever.
pub const SEAMLESS: Job = Job {
    name: "seamless",
    package: "run",
    target: "seamless",
    test: "of_many_drawn_cuts_none_loses_or_doubles_a_frame",
    networks: "10000",
};

/// Several controllers lose nothing that one of them has answered.
pub const CLUSTERS: Job = Job {
    name: "clusters",
    package: "sim",
    target: "network",
    test: "instances::of_many_clusters_none_loses_what_it_answered",
    networks: "1000",
};

/// Packets of outside routers come out where the longest prefix says, whatever happens.
pub const ROUTES: Job = Job {
    name: "routes",
    package: "sim",
    target: "routing",
    test: "random_networks::of_many_networks_none_leads_a_packet_astray",
    networks: "1000",
};

impl Job {
    /// Runs the long form.
    ///
    /// # Errors
    ///
    /// If an argument is none of these, or cargo cannot be started.
    pub fn run(self, workspace: &Workspace, arguments: &[&str]) -> Result<ExitCode, Failure> {
        let (mut networks, mut first) = (self.networks, "0");
        let mut words = arguments;
        while let [name, value, rest @ ..] = words {
            match *name {
                "--networks" | "--seeds" => networks = value,
                "--first" => first = value,
                "--seed" => (networks, first) = ("1", value),
                _ => break,
            }
            words = rest;
        }
        let numbers = [networks, first]
            .iter()
            .all(|word| word.parse::<u64>().is_ok());
        if !words.is_empty() || !numbers {
            let name = self.name;
            return Err(Failure::Usage(format!(
                "cargo xtask {name} [--networks NUMBER] [--first SEED] [--seed SEED]"
            )));
        }
        let cargo = Cargo::new(workspace)
            .with("TAKTOS_NETWORKS", networks)
            .with("TAKTOS_FIRST", first);
        let test = ["test", "--release", "--quiet", "--locked"];
        let of = ["--package", self.package, "--test", self.target, "--"];
        let only = ["--ignored", "--exact", "--nocapture", self.test];
        match cargo.run(&[&test[..], &of, &only].concat())? {
            true => Ok(ExitCode::SUCCESS),
            false => Ok(ExitCode::FAILURE),
        }
    }
}
