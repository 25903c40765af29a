//! `cargo xtask switch-tests`: runs the tests of switches that os-ken carries
//! against `taktos switch`, or for comparison against Open vSwitch.
//!
//! os-ken's tester controls two switches that three cables join. It sets up the
//! one to be tested, the target, has the other send a frame to it, and looks
//! what comes out. Its tests say what OpenFlow 1.3 has: actions, set-field,
//! matches, groups, meters. Each tester has a stage of its own ([`stage`]). Several
//! run side by side, in lanes; cases that send as many frames as the tester can
//! run alone.
//!
//! What was said and found lies below `target/neighbours/switch-tests/`.

mod case_file;
mod family;
mod lane;
mod stage;
mod summary;
mod transcript;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::cargo::{Cargo, target_folder};
use crate::failure::Failure;
use crate::namespaces::Namespaces;
use crate::neighbours::missing_packages;
use crate::python;
use crate::workspace::Workspace;
use case_file::{CaseFile, CaseLoad};
use family::Family;
use lane::{Lane, News};
use stage::TesterRun;
use summary::Summary;
use transcript::{CaseVerdict, Transcript};

/// How many testers run side by side if nothing else is asked for. Most of
/// their time they wait.
const LANES: usize = 4;
/// A case takes half a minute at most; who is silent for so long has hung.
const SILENCE_MAX: Duration = Duration::from_secs(180);
/// After how many cases the progress is told.
const PROGRESS_EVERY: usize = 50;
/// The switch to be tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Ours, by one of its engines.
    Taktos(Engine),
    /// Open vSwitch with its userspace datapath.
    OpenVswitch,
}

/// How our switch gets at frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// AF_PACKET.
    Packet,
    /// AF_XDP.
    Xdp,
    /// The kernel.
    Kernel,
}

impl Engine {
    fn word(self) -> &'static str {
        match self {
            Self::Packet => "packet",
            Self::Xdp => "xdp",
            Self::Kernel => "kernel",
        }
    }
}

impl Target {
    const ALL: [Self; 4] = [
        Self::Taktos(Engine::Packet),
        Self::Taktos(Engine::Xdp),
        Self::Taktos(Engine::Kernel),
        Self::OpenVswitch,
    ];

    fn word(self) -> &'static str {
        match self {
            Self::Taktos(Engine::Packet) => "taktos-packet",
            Self::Taktos(Engine::Xdp) => "taktos-xdp",
            Self::Taktos(Engine::Kernel) => "taktos-kernel",
            Self::OpenVswitch => "open-vswitch",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|target| target.word() == word)
    }
}

/// What the command line asks for.
#[derive(Debug)]
struct Request {
    target: Target,
    families: Vec<Family>,
    /// Only files with this in their name.
    files: String,
    interval_s: u32,
    lanes: usize,
    /// The program `taktos` to take, if it is not to be built.
    program: Option<PathBuf>,
}

impl Request {
    fn read(words: &[String]) -> Result<Self, Failure> {
        let mut request = Self {
            target: Target::Taktos(Engine::Packet),
            families: Family::ALL.to_vec(),
            files: String::new(),
            interval_s: 0,
            lanes: LANES,
            program: None,
        };
        for option in words.chunks(2) {
            let refused =
                || Failure::Usage(format!("switch-tests: cannot do `{}`", option.join(" ")));
            let [name, value] = option else {
                return Err(refused());
            };
            match name.as_str() {
                "--target" if value == "taktos" => {}
                "--target" if value == "open-vswitch" => request.target = Target::OpenVswitch,
                "--engine" if value == "packet" => request.target = Target::Taktos(Engine::Packet),
                "--engine" if value == "xdp" => request.target = Target::Taktos(Engine::Xdp),
                "--engine" if value == "kernel" => request.target = Target::Taktos(Engine::Kernel),
                "--only" => {
                    request.families.retain(|family| family.name() == value);
                    if request.families.is_empty() {
                        return Err(refused());
                    }
                }
                "--files" => request.files.clone_from(value),
                "--interval" => request.interval_s = value.parse().map_err(|_| refused())?,
                "--program" => request.program = Some(PathBuf::from(value)),
                "--lanes" => {
                    request.lanes = value.parse().map_err(|_| refused())?;
                    if request.lanes == 0 {
                        return Err(refused());
                    }
                }
                _ => return Err(refused()),
            }
        }
        Ok(request)
    }

    /// Returns how many cases there are if none is left out by its file.
    fn cases(&self) -> Option<usize> {
        let whole = self.files.is_empty();
        whole.then(|| self.families.iter().map(|family| family.cases()).sum())
    }
}

/// Sets the stage of one tester: for the processes that [`run`] starts.
///
/// # Errors
///
/// If something that it needs is missing.
pub fn run_stage(workspace: &Workspace, words: &[&str]) -> Result<ExitCode, Failure> {
    let usage = || Failure::Usage("only `cargo xtask switch-tests` sets a stage".to_owned());
    TesterRun::from_words(words)
        .ok_or_else(usage)?
        .run(workspace)
}

/// Runs the tests.
///
/// # Errors
///
/// If an option does not exist, something is missing, or a tester hangs.
pub fn run(workspace: &Workspace, words: &[String]) -> Result<ExitCode, Failure> {
    let request = Request::read(words)?;
    check_programs()?;
    let python = python::environment(workspace, "os-ken")?;
    let suite = python::package_folder(&python, "os_ken")?.join("tests/switch/of13");
    let taktos = match (request.target, &request.program) {
        (Target::Taktos(_), None) => build_taktos(workspace)?,
        (Target::Taktos(_), Some(program)) => program.clone(),
        (Target::OpenVswitch, _) => PathBuf::new(),
    };

    let began = Instant::now();
    let mut run = Run {
        expected: request.cases(),
        cases: Vec::new(),
        began,
        complete: true,
    };
    for Round { load, lanes } in rounds(&request, &suite)? {
        let mut stages = Vec::new();
        for (lane, cases) in lanes.iter().enumerate() {
            let folder = folder(request.target).join(format!("{}-{lane}", load.word()));
            stage::lay_out(&folder, cases)?;
            stages.push(TesterRun {
                folder,
                target: request.target,
                load,
                interval_s: request.interval_s,
                python: python.clone(),
                taktos: taktos.clone(),
            });
        }
        run.round(&stages)?;
    }
    let summary = Summary {
        target: request.target,
        versions: versions(request.target, &taktos),
        interval_s: request.interval_s,
        took: began.elapsed(),
        cases: run.cases,
    };
    summary.show();
    summary.write(&folder(request.target).join("summary.json"))?;
    let whole = match request.cases() {
        Some(cases) => cases == summary.cases.len(),
        None => !summary.cases.is_empty(),
    };
    if !run.complete || !whole {
        println!("not every case came to a verdict: the transcripts say where it ended");
    }
    Ok(
        match run.complete && whole && summary.failures().next().is_none() {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        },
    )
}

/// What has been found so far.
struct Run {
    expected: Option<usize>,
    cases: Vec<CaseVerdict>,
    began: Instant,
    /// Whether every tester came to its end.
    complete: bool,
}

impl Run {
    /// Runs these stages side by side.
    fn round(&mut self, stages: &[TesterRun]) -> Result<(), Failure> {
        let namespaces = Namespaces::of_this_user();
        let (sender, news) = mpsc::channel();
        let mut lanes = Vec::new();
        for (number, stage) in stages.iter().enumerate() {
            lanes.push(Lane::start(namespaces, stage, number, sender.clone())?);
        }
        let mut transcripts: Vec<_> = stages.iter().map(|_| Transcript::default()).collect();
        let mut running = stages.len();
        while running > 0 {
            let silent = |_| {
                let seconds = SILENCE_MAX.as_secs();
                Failure::Missing(format!("no tester has said anything for {seconds} s"))
            };
            match news.recv_timeout(SILENCE_MAX).map_err(silent)? {
                (lane, News::Line(line)) => {
                    if let Some(case) = transcripts[lane].take(&line) {
                        self.add(case);
                    }
                }
                (lane, News::Ended) => {
                    running -= 1;
                    if !transcripts[lane].has_ended() {
                        let folder = stages[lane].folder.display();
                        println!("a tester ended too early: {folder}/transcript.txt");
                        self.complete = false;
                    }
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, case: CaseVerdict) {
        if let Some(reason) = &case.failure {
            println!("FAILED {} {}\n       {reason}", case.file, case.name);
        }
        self.cases.push(case);
        let done = self.cases.len();
        if done.is_multiple_of(PROGRESS_EVERY) || Some(done) == self.expected {
            let of = self
                .expected
                .map_or(String::new(), |all| format!(" of {all}"));
            let failed = self.cases.iter().filter(|case| case.failure.is_some());
            let (failed, seconds) = (failed.count(), self.began.elapsed().as_secs());
            println!("{done}{of} cases, {failed} failed, {seconds} s");
        }
    }
}

/// Files that testers work through side by side.
struct Round {
    load: CaseLoad,
    /// The files of each tester.
    lanes: Vec<Vec<CaseFile>>,
}

/// Shares the files out over rounds of lanes: those that need little of the
/// machine side by side, the others after them.
fn rounds(request: &Request, suite: &Path) -> Result<Vec<Round>, Failure> {
    let mut files = Vec::new();
    for &family in &request.families {
        for path in family.files(suite)? {
            let file = CaseFile::read(family, path)?;
            if file.name.contains(&request.files) {
                files.push(file);
            }
        }
    }
    let mut rounds = Vec::new();
    for load in CaseLoad::ALL {
        let mut lanes = vec![Vec::new(); load.lanes(request.lanes)];
        let lane_count = lanes.len();
        let its = files.iter().filter(|file| file.load == load);
        for (number, file) in its.enumerate() {
            lanes[number % lane_count].push(file.clone());
        }
        lanes.retain(|lane| !lane.is_empty());
        if !lanes.is_empty() {
            rounds.push(Round { load, lanes });
        }
    }
    Ok(rounds)
}

fn folder(target: Target) -> PathBuf {
    let all = target_folder().join("neighbours/switch-tests");
    all.join(target.word())
}

fn check_programs() -> Result<(), Failure> {
    let packages = missing_packages();
    if packages.is_empty() {
        return Ok(());
    }
    let packages = packages.join(" ");
    let sentence = format!("programs are missing: apt-get install {packages}");
    Err(Failure::Missing(sentence))
}

fn build_taktos(workspace: &Workspace) -> Result<PathBuf, Failure> {
    let build = ["build", "--release", "--locked", "--package", "taktos"];
    if Cargo::new(workspace).run(&build)? {
        Ok(target_folder().join("release/taktos"))
    } else {
        Err(Failure::Missing("taktos does not build".to_owned()))
    }
}

/// Returns what took part, as it calls itself.
fn versions(target: Target, taktos: &Path) -> Vec<String> {
    let mut versions = vec!["os-ken 4.2.2".to_owned()];
    versions.extend(first_line("ovs-vswitchd"));
    match target {
        Target::Taktos(_) => versions.extend(first_line(&taktos.display().to_string())),
        Target::OpenVswitch => {}
    }
    versions
}

fn first_line(program: &str) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let said = String::from_utf8_lossy(&output.stdout);
    said.lines().next().map(str::to_owned)
}
