//! `taktos reproduce`: experiments of papers, done again.

use std::fmt::Write;
use std::path::PathBuf;

use lab::privilege;
use measure::document;
use measure::reproduction::{self, Reproduction, documents};
use serde_json::{Value, json};

use super::WorldName;
use super::exit::Exit;
use super::report_folder::ReportFolder;
use super::screen::{self, Steps, say};
use papers::{
    Experiment, ExperimentFn, ExperimentSettings, MachineRequirement, PAPERS, Paper, Thoroughness,
};

/// What `taktos reproduce` is told.
#[derive(Debug, clap::Args)]
pub struct Reproduce {
    /// The paper; without it, what there is is listed.
    paper: Option<String>,
    /// The experiment; without it, all of the paper are done one after another.
    experiment: Option<String>,
    /// Where to do it; without this, in virtual time where it can be done so.
    #[arg(long, value_enum)]
    world: Option<WorldName>,
    /// Do less of what takes long: enough to see that it works.
    #[arg(long)]
    quick: bool,
    /// Print one JSON document, and nothing else.
    #[arg(long)]
    json: bool,
    /// Everything random follows from it.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A directory for report.json, report.html and the figures as SVG.
    #[arg(long, visible_alias = "report", value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Does experiments again, or lists them.
pub fn reproduce(arguments: &Reproduce) -> Exit {
    let Some(name) = &arguments.paper else {
        return show(&match arguments.json {
            true => format!("{:#}\n", list_as_json()),
            false => list_as_text(),
        });
    };
    let chosen = match choose(name, arguments.experiment.as_deref(), arguments.world) {
        Ok(chosen) => chosen,
        Err(mistake) => {
            say(format_args!("taktos: {mistake}"));
            return Exit::BadInput;
        }
    };
    let folder = match arguments.out.clone().map(ReportFolder::claim).transpose() {
        Ok(folder) => folder,
        Err(error) => {
            say(format_args!("taktos: {error}"));
            return Exit::BadInput;
        }
    };
    let is_real = chosen.paper.place == MachineRequirement::Namespaces
        || chosen.world == Some(WorldName::Lab);
    if is_real && let Err(lacking) = privilege::acquire() {
        say(format_args!(
            "taktos: {} needs namespaces: {lacking}",
            chosen.paper.name
        ));
        return Exit::Lacking;
    }
    let done = do_all(&chosen, arguments);
    let document = reproduction::document(chosen.paper.title, &done);
    let mut text = match arguments.json {
        true => document::json(&documents(&done)),
        false => document.to_text(),
    };
    let mut kept = Exit::Done;
    if let Some(folder) = folder {
        match folder.write_reproductions(&document, &done) {
            Ok(_) if arguments.json => {}
            Ok(page) => text += &format!("report: {}\n", page.display()),
            Err(error) => {
                say(format_args!("taktos: cannot write the report: {error}"));
                kept = Exit::Fault;
            }
        }
    }
    match show(&text) {
        Exit::Done if kept != Exit::Done => kept,
        Exit::Done if done.iter().any(|one| !one.broken.is_empty()) => Exit::Broken,
        exit => exit,
    }
}

fn show(text: &str) -> Exit {
    match screen::print(text) {
        Ok(()) => Exit::Done,
        Err(error) => {
            say(format_args!("taktos: cannot show the result: {error}"));
            Exit::Fault
        }
    }
}

/// What the command line names.
#[derive(Debug)]
struct Chosen {
    paper: &'static Paper,
    world: Option<WorldName>,
    /// With what does each.
    experiments: Vec<(&'static Experiment, ExperimentFn)>,
}

/// Finds a paper and its experiments, or says what there is instead.
fn choose(
    paper: &str,
    experiment: Option<&str>,
    world: Option<WorldName>,
) -> Result<Chosen, String> {
    let papers: Vec<_> = PAPERS.iter().map(|paper| paper.name).collect();
    let Some(paper) = PAPERS.iter().find(|known| known.name == paper) else {
        return Err(unknown("paper", paper, &papers));
    };
    let way = |experiment: &'static Experiment| {
        let run = match (world, paper.place) {
            (Some(WorldName::Lab), _) => paper.real(experiment),
            (Some(WorldName::Sim), MachineRequirement::Namespaces) => None,
            (Some(WorldName::Sim) | None, _) => Some(experiment.run),
        };
        run.map(|run| (experiment, run))
    };
    let named = paper
        .experiments
        .iter()
        .filter(|known| experiment.is_none_or(|name| known.name == name));
    let named: Vec<_> = named.collect();
    if let (Some(name), []) = (experiment, &named[..]) {
        let names: Vec<_> = paper.experiments.iter().map(|known| known.name).collect();
        let what = format!("experiment of {}", paper.name);
        return Err(unknown(&what, name, &names));
    }
    let experiments: Vec<_> = named.into_iter().filter_map(way).collect();
    if experiments.is_empty() {
        return Err(elsewhere(paper, experiment));
    }
    Ok(Chosen {
        paper,
        world,
        experiments,
    })
}

/// Says that something can only be done in another world.
fn elsewhere(paper: &Paper, experiment: Option<&str>) -> String {
    let what = experiment.map_or_else(
        || paper.name.to_owned(),
        |name| format!("{} {name}", paper.name),
    );
    let help = "leave out --world";
    match paper.place {
        MachineRequirement::Namespaces => format!("{what} is done with real devices alone: {help}"),
        MachineRequirement::Anywhere => format!("{what} is not done with real frames: {help}"),
    }
}

fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let near = |candidate: &&str| strsim::damerau_levenshtein(name, candidate);
    let nearest = known.iter().copied().min_by_key(near);
    let guess = match nearest {
        Some(nearest) if near(&nearest) <= nearest.len() / 2 => {
            format!("did you mean `{nearest}`? Otherwise ")
        }
        Some(_) | None => String::new(),
    };
    format!(
        "no {what} is named `{name}`: {guess}choose among {}",
        known.join(", ")
    )
}

fn do_all(chosen: &Chosen, arguments: &Reproduce) -> Vec<Reproduction> {
    let settings = ExperimentSettings {
        seed: arguments.seed,
        effort: match arguments.quick {
            true => Thoroughness::Quick,
            false => Thoroughness::Full,
        },
    };
    let each = chosen.experiments.iter().map(|(experiment, run)| {
        let mut steps = Steps::new(format!("{} {}", chosen.paper.name, experiment.name));
        let done = chosen
            .paper
            .reproduce((experiment, *run), settings, &mut |done, of| {
                steps.show(done, of)
            });
        steps.close();
        done
    });
    each.collect()
}

fn list_as_json() -> Value {
    let papers = PAPERS.iter().map(|paper| {
        let experiments = paper.experiments.iter();
        let experiments = experiments.map(|one| {
            let in_lab = paper.real(one).is_some();
            json!({"experiment": one.name, "shows": one.shows, "in_lab": in_lab})
        });
        json!({
            "paper": paper.name,
            "title": paper.title,
            "experiments": experiments.collect::<Vec<_>>(),
        })
    });
    json!({"papers": papers.collect::<Vec<_>>()})
}

fn list_as_text() -> String {
    let mut text = String::new();
    for paper in &PAPERS {
        let names = paper.experiments.iter().map(|one| one.name.len());
        let width = names.max().unwrap_or(0);
        let _ = writeln!(text, "{}: {}", paper.name, paper.title);
        for one in paper.experiments {
            let also = match (paper.place, paper.real(one)) {
                (MachineRequirement::Anywhere, Some(_)) => "; --world lab: with real frames",
                (MachineRequirement::Anywhere, None) | (MachineRequirement::Namespaces, _) => "",
            };
            let _ = writeln!(text, "  {:width$}  {}{also}", one.name, one.shows);
        }
    }
    text + "Do one with `taktos reproduce PAPER EXPERIMENT`, all of a paper with `taktos reproduce PAPER`.\n"
}
