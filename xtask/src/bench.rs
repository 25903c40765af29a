//! `cargo xtask bench`: runs the benchmarks that have a goal and prints what
//! was reached beside it, as a ratio.
//!
//! The figure of a benchmark is the median that it prints itself; the table of
//! the simulation shows its best run. Programs are built before anything is
//! measured, and a watch runs beside each of them: where the machine stood
//! still, a figure says less.

use std::process::ExitCode;

use crate::cargo::Cargo;
use crate::failure::Failure;
use crate::stall_watch::{StallWatch, Stalls};
use crate::workspace::Workspace;

/// A benchmark whose goal is a rate.
struct Goal {
    package: &'static str,
    program: &'static str,
    /// Which part of the program runs; all of it if empty.
    part: &'static str,
    reading: RatePosition,
    /// What is counted, for people.
    what: &'static str,
    per_second: f64,
}

/// Where the rate stands in what a program prints.
enum RatePosition {
    /// In the line after the one with this name: the median of divan.
    MedianAfter(&'static str),
    /// In the line of this name, in that column, in millions.
    MillionsIn { row: &'static str, column: usize },
}

const GOALS: [Goal; 4] = [
    Goal {
        package: "switch",
        program: "forwarding",
        part: "frames_with_entries_and_masks",
        reading: RatePosition::MedianAfter("(100, 8)"),
        what: "frames of 64 bytes forwarded, 100 entries, 8 masks",
        per_second: 5e6,
    },
    Goal {
        package: "controller",
        program: "messages",
        part: "mixed",
        reading: RatePosition::MedianAfter("mixed"),
        what: "OpenFlow messages decoded, handled and answered",
        per_second: 3e6,
    },
    Goal {
        package: "taktos",
        program: "simulation",
        part: "",
        reading: RatePosition::MillionsIn {
            row: "substation",
            column: 4,
        },
        what: "hops of frames simulated, substation",
        per_second: 2e6,
    },
    Goal {
        package: "taktos",
        program: "simulation",
        part: "",
        reading: RatePosition::MillionsIn {
            row: "large",
            column: 4,
        },
        what: "hops of frames simulated, 200 switches",
        per_second: 2e6,
    },
];

/// Benchmarks without a rate as their goal: what they print is shown.
const OTHERS: [(&str, &str); 2] = [("wire", "openflow"), ("calculus", "admission")];

/// Runs the benchmarks.
///
/// # Errors
///
/// If `cargo` cannot be started.
pub fn run(workspace: &Workspace) -> Result<ExitCode, Failure> {
    let mut programs: Vec<_> = GOALS
        .iter()
        .map(|goal| (goal.package, goal.program, goal.part))
        .collect();
    programs.dedup();
    programs.extend(OTHERS.map(|(package, program)| (package, program, "")));
    for (package, program, _) in &programs {
        let build = [
            "bench",
            "--package",
            package,
            "--bench",
            program,
            "--no-run",
        ];
        if !Cargo::new(workspace).run(&build)? {
            return Ok(ExitCode::FAILURE);
        }
    }

    let mut rows = Vec::new();
    let mut complete = true;
    for (package, program, part) in programs {
        let (output, stalls) = measure(workspace, &[package, program, part])?;
        let goals = GOALS
            .iter()
            .filter(|goal| (goal.package, goal.program, goal.part) == (package, program, part));
        for goal in goals {
            let reached = goal.reading.find(&output);
            complete &= reached.is_some();
            rows.push(row(goal, reached, stalls));
        }
    }
    println!("\n| a second, on one processor | goal | reached | ratio | stalls meanwhile |");
    println!("| --- | --: | --: | --: | --- |");
    rows.iter().for_each(|row| println!("{row}"));
    Ok(match complete {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// Runs one program, shows what it prints and returns it.
fn measure(
    workspace: &Workspace,
    [package, program, part]: &[&str; 3],
) -> Result<(Vec<String>, Stalls), Failure> {
    println!("\n{package}: {program} {part}");
    let mut arguments = vec!["bench", "--quiet", "--package", package, "--bench", program];
    if !part.is_empty() {
        arguments.extend(["--", part]);
    }
    let mut output = Vec::new();
    let watch = StallWatch::start();
    Cargo::new(workspace).run_lines(&arguments, |line| {
        println!("{line}");
        output.push(line.to_owned());
    })?;
    Ok((output, watch.finish()))
}

fn row(goal: &Goal, reached: Option<f64>, stalls: Stalls) -> String {
    let Goal {
        what, per_second, ..
    } = goal;
    let (reached, ratio) = match reached {
        Some(reached) => (
            format!("{:.2} M", reached / 1e6),
            format!("{:.2}", reached / per_second),
        ),
        None => ("not measured".to_owned(), String::new()),
    };
    let goal = per_second / 1e6;
    let (count, longest) = (stalls.count, stalls.longest.as_secs_f64() * 1e3);
    format!("| {what} | {goal} M | {reached} | {ratio} | {count}, {longest:.1} ms at most |")
}

impl RatePosition {
    /// Returns the rate a second that a program has printed.
    fn find(&self, output: &[String]) -> Option<f64> {
        match self {
            Self::MedianAfter(name) => {
                let is_named = |line: &&String| {
                    let title = line.trim_start_matches([' ', '│', '├', '╰', '─']);
                    title
                        .strip_prefix(name)
                        .is_some_and(|rest| rest.starts_with(' '))
                };
                let mut lines = output.iter().skip_while(|line| !is_named(line));
                let _times = lines.next()?;
                // Deep in the tree a line begins with a branch of it.
                let rates = lines.next()?.trim_start_matches([' ', '│']);
                rate(rates.split('│').nth(2)?)
            }
            Self::MillionsIn { row, column } => {
                let mut rows = output.iter().map(|line| line.split_whitespace());
                let mut row =
                    rows.find_map(|mut words| (words.next() == Some(row)).then_some(words))?;
                Some(row.nth(column - 1)?.parse::<f64>().ok()? * 1e6)
            }
        }
    }
}

/// Reads a rate such as `10.02 Mitem/s`.
fn rate(text: &str) -> Option<f64> {
    let (number, unit) = text.trim().split_once(' ')?;
    let factor = match unit {
        "item/s" => 1.0,
        "Kitem/s" => 1e3,
        "Mitem/s" => 1e6,
        "Gitem/s" => 1e9,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * factor)
}

#[cfg(test)]
mod tests {
    use super::{GOALS, RatePosition};

    #[test]
    fn the_median_stands_in_the_third_column_after_the_name() {
        let output = lines(&[
            "forwarding     fastest       │ slowest       │ median        │ mean          │ samples",
            "╰─ frames                    │               │               │               │",
            "   ├─ (100, 8)  101.5 µs      │ 8.152 ms      │ 102.1 µs      │ 224.2 µs      │ 100",
            "   │            10.08 Mitem/s │ 125.6 Kitem/s │ 10.02 Mitem/s │ 4.567 Mitem/s │",
        ]);

        let median = RatePosition::MedianAfter("(100, 8)").find(&output);

        assert_eq!(median, Some(10.02e6));
        assert_eq!(RatePosition::MedianAfter("(100").find(&output), None);
    }

    #[test]
    fn a_column_is_found_by_the_name_of_its_row() {
        let output = lines(&[
            "scenario    switches  flows  hops  Mhop/s  Mevent/s",
            "substation         4     13  9000    2.41      5.10",
        ]);

        let reading = &GOALS[2].reading;

        assert_eq!(reading.find(&output), Some(2.41e6));
    }

    fn lines(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }
}
