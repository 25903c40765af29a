//! `cargo xtask repeat-run`: runs a scenario in the lab many times, half of them beside a
//! load if that is wanted, and says what each run said: a promise that holds in one run
//! holds by luck.
//!
//! Every run is a new process of the program as it was built for release. Each leaves its
//! report in a folder of its own, from which the table is made.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use crate::cargo::{self, Cargo};
use crate::failure::Failure;
use crate::workspace::Workspace;

const USUAL_RUNS: usize = 30;
const USUAL_SCENARIO: &str = "scenarios/substation.toml";
/// No run of any scenario that is meant for this takes longer, and a load that is left
/// behind ends then.
const LONGEST_SECONDS: &str = "180";

/// What is wanted.
struct RunOptions {
    runs: usize,
    scenario: String,
    /// Whether every second run is beside `stress-ng --cpu 2 --io 1`.
    stress: bool,
    out: PathBuf,
}

/// What a run said.
struct RunResult {
    beside_load: bool,
    code: Option<i32>,
    verdict: String,
    admitted: usize,
    exceeded: u64,
    missed: u64,
    set_apart: u64,
    not_judged: u64,
    latest_ns: u64,
    summary: String,
}

/// Runs the scenario again and again and prints a line for each.
///
/// # Errors
///
/// For an option that there is not, or if nothing can be built or started.
pub fn run(workspace: &Workspace, words: &[&str]) -> Result<ExitCode, Failure> {
    let wanted = RunOptions::parse(words)?;
    if !Cargo::new(workspace).run(&["build", "--release", "--package", "taktos"])? {
        return Err(Failure::Missing("taktos does not build".to_owned()));
    }
    let program = cargo::target_folder().join("release").join("taktos");
    println!(
        "run  beside  code  verdict     admitted  later than bound  missed deadlines  set apart  \
         not judged  latest"
    );
    let mut all = Vec::new();
    for number in 1..=wanted.runs {
        let said = once(workspace, &program, &wanted, number)?;
        println!("{}", said.line(number));
        println!("     {}", said.summary);
        all.push(said);
    }
    println!("{}", conclusion(&all));
    let broken = all.iter().any(|said| said.verdict == "broken");
    Ok(ExitCode::from(u8::from(broken)))
}

impl RunOptions {
    fn parse(words: &[&str]) -> Result<Self, Failure> {
        let mut wanted = Self {
            runs: USUAL_RUNS,
            scenario: USUAL_SCENARIO.to_owned(),
            stress: false,
            out: cargo::target_folder().join("repeat-run"),
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || {
                let value = words.next().map(|value| (*value).to_owned());
                value.ok_or_else(|| Failure::Usage(format!("{word} needs a value")))
            };
            match *word {
                "--stress" => wanted.stress = true,
                "--scenario" => wanted.scenario = value()?,
                "--out" => wanted.out = PathBuf::from(value()?),
                "--runs" => {
                    let runs = value()?;
                    let number = runs.parse().ok().filter(|runs| *runs > 0);
                    let wrong = || Failure::Usage(format!("--runs takes a number, not {runs}"));
                    wanted.runs = number.ok_or_else(wrong)?;
                }
                other => return Err(Failure::Usage(format!("repeat-run has no {other}"))),
            }
        }
        Ok(wanted)
    }
}

fn once(
    workspace: &Workspace,
    program: &Path,
    wanted: &RunOptions,
    number: usize,
) -> Result<RunResult, Failure> {
    let folder = wanted.out.join(number.to_string());
    fs::create_dir_all(&folder).map_err(Failure::at(&folder))?;
    let beside_load = wanted.stress && number.is_multiple_of(2);
    let load = match beside_load {
        true => Some(StressLoad::begin()?),
        false => None,
    };
    let ended = Command::new(program)
        .args([
            "run",
            &wanted.scenario,
            "--world",
            "lab",
            "--details",
            "--all",
            "--report",
        ])
        .arg(&folder)
        .current_dir(workspace.root())
        .output()
        .map_err(not_started(&program.display().to_string()))?;
    drop(load);
    // What cannot be kept beside the report is in the report.
    let _ = fs::write(folder.join("output.txt"), &ended.stdout);
    let _ = fs::write(folder.join("messages.txt"), &ended.stderr);
    let report = fs::read_to_string(folder.join("report.json")).unwrap_or_default();
    Ok(RunResult::of(&report, ended.status.code(), beside_load))
}

fn not_started(name: &str) -> impl FnOnce(io::Error) -> Failure {
    let name = name.to_owned();
    move |error| Failure::Program { name, error }
}

/// A load beside a run, as long as this lives.
struct StressLoad(Child);

impl StressLoad {
    fn begin() -> Result<Self, Failure> {
        let started = Command::new("stress-ng")
            .args(["--cpu", "2", "--io", "1", "--timeout", LONGEST_SECONDS])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        started.map(Self).map_err(not_started("stress-ng"))
    }
}

impl Drop for StressLoad {
    fn drop(&mut self) {
        // Its workers notice and end.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl RunResult {
    fn of(report: &str, code: Option<i32>, beside_load: bool) -> Self {
        let text = |key: &str| values(report, key).next().unwrap_or("").to_owned();
        let sum = |key: &str| numbers(report, key).sum();
        let admitted = values(report, "admitted").filter(|value| *value == "true");
        Self {
            beside_load,
            code,
            verdict: text("verdict"),
            admitted: admitted.count(),
            exceeded: inner(report, "exceeded", "count"),
            missed: sum("missed_deadline"),
            set_apart: inner(report, "stalled", "late") + inner(report, "stalled", "lost"),
            not_judged: sum("not_judged"),
            latest_ns: promised_latest(report),
            summary: text("summary"),
        }
    }

    fn line(&self, number: usize) -> String {
        let beside = if self.beside_load { "load" } else { "-" };
        let code = self
            .code
            .map_or_else(|| "-".to_owned(), |code| code.to_string());
        format!(
            "{number:>3}  {beside:<6}  {code:>4}  {:<10}  {:>8}  {:>16}  {:>16}  {:>9}  {:>10}  {:.3} ms",
            self.verdict,
            self.admitted,
            self.exceeded,
            self.missed,
            self.set_apart,
            self.not_judged,
            milliseconds(self.latest_ns),
        )
    }
}

fn conclusion(all: &[RunResult]) -> String {
    let count = |beside: bool, verdict: &str| {
        let of = all.iter().filter(|said| said.beside_load == beside);
        of.filter(|said| said.verdict == verdict).count()
    };
    let say = |beside: bool, name: &str| {
        format!(
            "{name}: {} held, {} exceeded, {} broken, {} not judged",
            count(beside, "held"),
            count(beside, "exceeded"),
            count(beside, "broken"),
            count(beside, "not-judged")
        )
    };
    format!("{}; {}", say(false, "alone"), say(true, "beside a load"))
}

/// Returns the values of a key, each on a line of its own, without quotes.
fn values<'a>(report: &'a str, key: &str) -> impl Iterator<Item = &'a str> {
    let begin = format!("\"{key}\": ");
    report.lines().filter_map(move |line| {
        let value = line.trim_start().strip_prefix(&begin)?;
        Some(value.trim_end_matches(',').trim_matches('"'))
    })
}

fn numbers(report: &str, key: &str) -> impl Iterator<Item = u64> {
    values(report, key).filter_map(|value| value.parse().ok())
}

/// Adds up a key of objects that stand on one line.
fn inner(report: &str, object: &str, key: &str) -> u64 {
    let begin = format!("\"{key}\": ");
    let found = values(report, object).filter_map(|value| {
        let (_, rest) = value.split_once(&begin)?;
        let end = rest.find(|c: char| !c.is_ascii_digit())?;
        rest.get(..end)?.parse::<u64>().ok()
    });
    found.sum()
}

/// Returns the highest latency of flows that have a deadline.
fn promised_latest(report: &str) -> u64 {
    let deadlines = values(report, "deadline_ns");
    let highest = values(report, "highest_ns");
    let promised = deadlines
        .zip(highest)
        .filter(|(deadline, _)| *deadline != "null");
    let latest = promised.filter_map(|(_, highest)| highest.parse().ok());
    latest.max().unwrap_or(0)
}

fn milliseconds(ns: u64) -> f64 {
    std::time::Duration::from_nanos(ns).as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"{
  "verdict": "exceeded",
  "summary": "Every promise held.",
  "flows": [
    {
      "admitted": true,
      "deadline_ns": 2000000,
      "missed_deadline": 1,
      "exceeded": {"count": 3, "by_ns": 900},
      "stalled": {"late": 4, "lost": 1},
      "not_judged": 7,
      "highest_ns": 812000
    },
    {
      "admitted": true,
      "deadline_ns": null,
      "missed_deadline": 0,
      "exceeded": null,
      "stalled": {"late": 0, "lost": 0},
      "not_judged": 0,
      "highest_ns": 83000000
    }
  ]
}
"#;

    #[test]
    fn the_figures_of_a_report_are_added_up_over_its_flows() {
        let said = RunResult::of(REPORT, Some(0), true);

        assert_eq!((&said.verdict[..], said.admitted), ("exceeded", 2));
        assert_eq!((said.exceeded, said.missed, said.not_judged), (3, 1, 7));
        assert_eq!((said.set_apart, said.latest_ns), (5, 812_000));
        assert!(said.line(7).contains("0.812 ms"));
    }

    #[test]
    fn a_run_without_a_report_says_nothing() {
        let said = RunResult::of("", Some(4), false);

        assert_eq!((&said.verdict[..], said.latest_ns), ("", 0));
        assert!(conclusion(&[said]).starts_with("alone: 0 held"));
    }
}
