//! `taktos run`: the main job.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use calculus::admission::Spare;
use lab::LabError;
use lab::privilege::Privilege;
use lab::switches::{Carried, Forwarding, kernel_refuses};
use measure::document::Document;
use measure::report::{Completion, Report, RunVerdict, ShownFlows, Verdict};
use scenario::{Capture, LONGEST_TIME, Scenario};
use units::Duration;

use super::exit::Exit;
use super::report_folder::ReportFolder;
use super::run_page::{ADDRESS, RunPage};
use super::screen::{self, Screen, say};
use super::{RunArgs, RunEngine, WorldName, profile, scenario_file};
use run::experiment::demand::RunDemand;
use run::experiment::{Carrying, Experiment, ExperimentError, SimEngine, WorldChoice, profiles};

/// Frames that are sent, handed on and delivered in a second, all together, which no
/// machine is asked for that could not carry them.
const EVENTS_OF_ANY_MACHINE: u64 = 50_000;

/// Runs a scenario and writes its report.
pub fn run(arguments: &RunArgs) -> Exit {
    let mut scenario = match wanted(arguments) {
        Ok(scenario) => scenario,
        Err(exit) => return exit,
    };
    let (page, place) = match open_page(arguments).and_then(|page| {
        // The page is for browsers outside of a user namespace that this may enter.
        Ok((page, choose(arguments, &scenario)?))
    }) {
        Ok(opened) => opened,
        Err(exit) => return exit,
    };
    let folder = match claim(arguments, &scenario) {
        Ok(folder) => folder,
        Err(exit) => return exit,
    };
    let stop = match stop_on_signals() {
        Ok(stop) => stop,
        Err(error) => {
            say(format_args!("taktos: cannot catch Ctrl-C: {error}"));
            return Exit::Fault;
        }
    };
    introduce(&scenario, place);
    let choice = arguments.profile.as_ref();
    let written = scenario.clone();
    let mut profiles = match profile::settle(&mut scenario, place, choice, &stop) {
        Ok(profiles) => profiles,
        Err(exit) => return exit,
    };
    let (weighed, carrying) = match settle_place(arguments, [&scenario, &written], place, &stop) {
        Ok(weighed) => weighed,
        Err(exit) => return exit,
    };
    if weighed != place {
        scenario = written;
        profiles = profiles::as_written(&scenario);
    }
    let place = weighed;
    if let Err(exit) = scenario_file::settle_queues(&mut scenario, &stop) {
        return exit;
    }
    let page = offer_page(page, arguments, &scenario, (place, folder.path()));
    let names = scenario.flows.iter().map(|flow| flow.name.clone());
    let mut screen = Screen::new(names.collect(), page);
    let experiment = Experiment {
        scenario: &scenario,
        stop: &stop,
        store: folder.store(),
        captures: folder.captures(),
        profiles,
        carrying,
        spare: Spare::Shared,
    };
    let outcome = experiment.run(place, &mut screen);
    let mut page = screen.close();
    match outcome {
        Ok(mut report) => {
            report.by_hand = page.as_mut().map(RunPage::end_live).unwrap_or_default();
            let captures = captures(&scenario, &folder);
            let exit = conclude(arguments, &folder, captures.as_deref(), &report);
            drop(folder);
            let page = page.filter(|_| arguments.page.is_some());
            page.map_or(exit, |page| keep_showing(page, &report, &stop, exit))
        }
        Err(error) => explain(&error),
    }
}

/// Returns the folder of the captures of a run, if it makes any.
fn captures(scenario: &Scenario, folder: &ReportFolder) -> Option<PathBuf> {
    match scenario.measurement.capture {
        Capture::Nothing => None,
        Capture::Everything | Capture::Links(_) => Some(folder.captures()),
    }
}

fn claim(arguments: &RunArgs, scenario: &Scenario) -> Result<ReportFolder, Exit> {
    let folder = arguments.out.clone();
    let folder = folder.unwrap_or_else(|| Path::new("out").join(&scenario.name));
    ReportFolder::claim(folder).map_err(|error| {
        say(format_args!("taktos: {error}"));
        Exit::BadInput
    })
}

/// Opens the page where it is asked for, and where a person may want to see what runs.
fn open_page(arguments: &RunArgs) -> Result<Option<RunPage>, Exit> {
    let Some(address) = arguments.page else {
        let may_be_live = arguments.world != Some(WorldName::Sim);
        let is_watched = may_be_live && io::stderr().is_terminal();
        return Ok(is_watched.then(|| RunPage::open(ADDRESS).ok()).flatten());
    };
    let page = RunPage::open(address).and_then(|page| page.announce(""));
    page.map(Some).map_err(|error| {
        say(format_args!("taktos: --page: {error}"));
        Exit::Lacking
    })
}

/// Says where the run can be seen, or why not, and returns the page if that is somewhere.
fn offer_page(
    page: Option<RunPage>,
    arguments: &RunArgs,
    scenario: &Scenario,
    (place, folder): (WorldChoice, &Path),
) -> Option<RunPage> {
    let is_live = matches!(place, WorldChoice::Lab(_));
    let Some(page) = page else {
        match is_live {
            true => say("page: `--page` shows the run in a browser while it runs"),
            false => say(format_args!(
                "page: `--page` slows virtual time down to be watched in a browser; `taktos view \
                 {}` shows the run when it is over",
                folder.display()
            )),
        }
        return None;
    };
    if !is_live {
        say("virtual time goes by no faster than the clock, so that it can be watched");
    }
    let page = match arguments.page.is_some() {
        true => Some(page),
        false => page.announce(" while it runs, in a browser").ok(),
    };
    page.map(|page| page.of(scenario, arguments.page_role))
}

/// Leaves what came of a run on the page until the user has seen enough.
fn keep_showing(page: RunPage, report: &Report, stop: &AtomicBool, exit: Exit) -> Exit {
    say("the page shows the run until Ctrl-C");
    match page.conclude(report.to_json(ShownFlows::All), stop) {
        Ok(()) => exit,
        Err(error) => {
            say(format_args!("taktos: cannot show the run: {error}"));
            Exit::Fault
        }
    }
}

/// Reads the scenario and changes what the command line says otherwise.
fn wanted(arguments: &RunArgs) -> Result<Scenario, Exit> {
    let mut scenario = scenario_file::read(&arguments.file)?;
    scenario.seed = arguments.seed.unwrap_or(scenario.seed);
    if let Some(duration) = arguments.duration {
        let warm_up = scenario.measurement.warm_up;
        if duration == Duration::ZERO || duration > LONGEST_TIME || duration <= warm_up {
            say(format_args!(
                "taktos: --duration is {duration}: it has to be more than {warm_up}, the warm-up, \
                 and at most {LONGEST_TIME}"
            ));
            return Err(Exit::BadInput);
        }
        scenario.duration = duration;
    }
    Ok(scenario)
}

/// Takes the privileges that the lab needs, while this is the only thread.
fn choose(arguments: &RunArgs, scenario: &Scenario) -> Result<WorldChoice, Exit> {
    let world = arguments.world;
    let sim = WorldChoice::Sim(sim_engine(arguments.engine).unwrap_or_default());
    match (world, sim_engine(arguments.engine)) {
        (Some(WorldName::Sim), _) => return Ok(sim),
        (None, Some(_)) => {
            say("an engine of virtual time (--world sim)");
            return Ok(sim);
        }
        (Some(WorldName::Lab), Some(_)) => {
            say("taktos: --engine tables and compiled are for --world sim");
            return Err(Exit::BadInput);
        }
        (Some(WorldName::Lab) | None, None) => {}
    }
    if let Some((switch, profile)) = emulated(scenario) {
        let why = format!(
            "switch `{switch}` is to behave as `{profile}` does ([emulation]), and the switches of \
             the lab are real ones of Taktos"
        );
        return match world {
            Some(WorldName::Lab) => {
                say(format_args!(
                    "taktos: {why}: --world sim emulates it, or give it a profile without \
                     [emulation]"
                ));
                Err(Exit::BadInput)
            }
            Some(WorldName::Sim) | None => {
                say(format_args!("{why}; so in virtual time (--world sim)"));
                Ok(sim)
            }
        };
    }
    match lab::privilege::acquire() {
        Ok(Privilege::Administrator) => Ok(WorldChoice::Lab(forwarding(arguments.engine)?)),
        Ok(Privilege::OwnUserNamespace) => {
            say("without root: in a user namespace of our own");
            Ok(WorldChoice::Lab(forwarding(arguments.engine)?))
        }
        Err(lack) if world == Some(WorldName::Lab) => {
            say(format_args!("taktos: {lack}; --world sim needs nothing"));
            Err(Exit::Lacking)
        }
        Err(lack) => {
            say(format_args!("{lack}; so in virtual time (--world sim)"));
            Ok(sim)
        }
    }
}

/// Compares what the scenario asks for with what this machine carries, where that may
/// matter, before anything is measured or started.
fn weigh(
    arguments: &RunArgs,
    scenario: &Scenario,
    place: WorldChoice,
    stop: &AtomicBool,
) -> Result<(WorldChoice, Carrying), Exit> {
    let demand = RunDemand::of(scenario);
    let in_kernel = matches!(place, WorldChoice::Lab(Forwarding::Kernel));
    if !in_kernel || demand.events() < EVENTS_OF_ANY_MACHINE {
        return Ok((place, Carrying::Whole));
    }
    let measuring = arguments.profile != Some(profile::Choice::Committed);
    let carried = match measuring {
        true => profile::get_to_know(place, demand, stop)?,
        false => profile::carries(place),
    };
    let Some(carried) = carried.filter(|carried| *carried < demand.events()) else {
        return Ok((place, Carrying::Whole));
    };
    let share = carried.saturating_mul(100) / demand.events();
    say(format_args!(
        "the scenario asks this machine to send {} frames a second, to hand on {} and to deliver \
         {}; it carries some {share} % of that",
        demand.frames, demand.hops, demand.deliveries
    ));
    match arguments.world {
        Some(_) => {
            say("what goes wrong in the lab is not judged; --world sim carries all of it");
            Ok((place, Carrying::Part))
        }
        None => {
            say("so in virtual time (--world lab runs it all the same, and does not judge it)");
            Ok((WorldChoice::Sim(SimEngine::Tables), Carrying::Whole))
        }
    }
}

/// Decides where a scenario runs, as measured here and as it was `written`: in virtual time
/// where this machine cannot carry it or could promise fewer flows, unless the user wants
/// the lab.
fn settle_place(
    arguments: &RunArgs,
    [measured, written]: [&Scenario; 2],
    place: WorldChoice,
    stop: &AtomicBool,
) -> Result<(WorldChoice, Carrying), Exit> {
    let (weighed, carrying) = weigh(arguments, measured, place, stop)?;
    let is_free = arguments.world.is_none() && arguments.profile.is_none();
    let in_kernel = matches!(weighed, WorldChoice::Lab(Forwarding::Kernel));
    if !is_free || !in_kernel {
        return Ok((weighed, carrying));
    }
    let (here, stated) = (promised(measured, stop)?, promised(written, stop)?);
    if here >= stated {
        return Ok((weighed, carrying));
    }
    say(format_args!(
        "by what was measured, this machine can promise {here} of the flows; by the profile of the \
         scenario it is {stated}; so in virtual time (--world lab runs it all the same)"
    ));
    Ok((WorldChoice::Sim(SimEngine::Tables), Carrying::Whole))
}

/// Returns how many flows of a scenario would be promised something.
fn promised(scenario: &Scenario, stop: &AtomicBool) -> Result<usize, Exit> {
    let decided = Experiment::deciding(scenario, stop).promises();
    let (_, promises) = decided.map_err(|error| explain(&error))?;
    Ok(promises.flows.len())
}

/// Returns a switch that is to behave as its profile says, and that profile.
fn emulated(scenario: &Scenario) -> Option<(&str, &str)> {
    let switches = scenario.switches.iter();
    let mut emulated = switches.filter_map(|switch| {
        let profile = &scenario.profiles[switch.profile.0];
        profile.emulation.as_ref()?;
        Some((switch.name.as_str(), profile.name.as_str()))
    });
    emulated.next()
}

/// Returns in what simulated switches look frames up, if it is said.
const fn sim_engine(engine: RunEngine) -> Option<SimEngine> {
    match engine {
        RunEngine::Tables => Some(SimEngine::Tables),
        RunEngine::Compiled => Some(SimEngine::Compiled),
        RunEngine::Auto | RunEngine::Kernel | RunEngine::Xdp | RunEngine::Packet => None,
    }
}

/// Finds out who can forward for the switches, if nobody says so.
fn forwarding(engine: RunEngine) -> Result<Forwarding, Exit> {
    match engine {
        RunEngine::Packet => Ok(Forwarding::Loop(Carried::Packet)),
        RunEngine::Xdp => Ok(Forwarding::Loop(Carried::Xdp)),
        RunEngine::Auto | RunEngine::Tables | RunEngine::Compiled => match kernel_refuses() {
            None => Ok(Forwarding::Kernel),
            Some(why) => {
                say(format_args!(
                    "frames by packet sockets and a spinning loop, not by the kernel: {why}"
                ));
                Ok(Forwarding::Loop(Carried::Packet))
            }
        },
        RunEngine::Kernel => match kernel_refuses() {
            None => Ok(Forwarding::Kernel),
            Some(why) => {
                say(format_args!("taktos: {why}; --engine packet does without"));
                Err(Exit::Lacking)
            }
        },
    }
}

fn introduce(scenario: &Scenario, place: WorldChoice) {
    let world = match place {
        WorldChoice::Sim(SimEngine::Tables) => "sim",
        WorldChoice::Sim(SimEngine::Compiled) => "sim, by the compiled form of the tables",
        WorldChoice::Lab(Forwarding::Kernel) => "lab, forwarded by the kernel",
        WorldChoice::Lab(Forwarding::Loop(Carried::Packet)) => "lab, over packet sockets",
        WorldChoice::Lab(Forwarding::Loop(Carried::Xdp)) => "lab, over AF_XDP",
    };
    say(format_args!(
        "{} · {world} · {} switches, {} hosts, {} flows · seed {}",
        scenario.title,
        scenario.switches.len(),
        scenario.hosts.len(),
        scenario.flows.len(),
        scenario.seed
    ));
}

/// Returns a flag that is set on Ctrl-C and on SIGTERM. A second one ends the
/// program at once; even then nothing is left behind.
pub fn stop_on_signals() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))?;
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

fn conclude(
    arguments: &RunArgs,
    folder: &ReportFolder,
    captures: Option<&Path>,
    report: &Report,
) -> Exit {
    let extent = arguments.extent();
    let document = report.document(arguments.details(), extent);
    let written = folder.write(&document, report, extent);
    let shown = screen::print(&match arguments.json {
        true => report.to_json(extent),
        false => as_text(&document, report, written.as_deref().ok(), captures),
    });
    if let Err(error) = &written {
        let path = folder.path().display();
        say(format_args!(
            "taktos: cannot write the report to {path}: {error}"
        ));
    }
    if let Err(error) = &shown {
        say(format_args!("taktos: cannot show the report: {error}"));
    }
    if written.is_err() || shown.is_err() {
        return Exit::Fault;
    }
    exit_of(report.completion, report.verdict())
}

/// Returns what a run ends with.
fn exit_of(completion: Completion, verdict: RunVerdict) -> Exit {
    match (completion, verdict) {
        (Completion::Partial, _) => Exit::Interrupted,
        (Completion::Complete, RunVerdict::Broken | RunVerdict::Refused) => Exit::Broken,
        (Completion::Complete, RunVerdict::NotJudged) => Exit::Lacking,
        (Completion::Complete, RunVerdict::Held | RunVerdict::Exceeded) => Exit::Done,
    }
}

fn as_text(
    document: &Document,
    report: &Report,
    page: Option<&Path>,
    captures: Option<&Path>,
) -> String {
    let plain = screen::results_are_plain();
    let mut text = String::from("\n");
    for line in document.to_text().lines() {
        match plain {
            true => text.push_str(line),
            false => text.push_str(&coloured(line, report)),
        }
        text.push('\n');
    }
    if let Some(page) = page {
        text.push_str(&format!("report: {}\n", page.display()));
        let folder = page.parent().unwrap_or(page).display();
        text.push_str(&format!(
            "page: `taktos view {folder}` replays it in a browser, `--page` shows a run live\n"
        ));
    }
    if let Some(captures) = captures {
        text.push_str(&format!("captures: {}\n", captures.display()));
    }
    text
}

/// Colours the line of a flow by its outcome.
fn coloured(line: &str, report: &Report) -> String {
    let name = line.split_whitespace().next().unwrap_or_default();
    let flow = report.flows.iter().find(|flow| flow.facts.name == name);
    let colour = flow.and_then(|flow| match flow.verdict {
        Verdict::Held => Some(32),
        Verdict::Broken => Some(31),
        Verdict::Exceeded | Verdict::Refused | Verdict::Untried | Verdict::NotJudged => Some(33),
        Verdict::BestEffort => None,
    });
    match colour {
        Some(colour) => format!("\x1b[{colour}m{line}\x1b[0m"),
        None => line.to_owned(),
    }
}

/// Says why there is no report.
pub fn explain(error: &ExperimentError) -> Exit {
    say(format_args!("taktos: {error}"));
    match error {
        ExperimentError::Stopped => Exit::Interrupted,
        ExperimentError::Lab(error) if is_of_the_machine(error) => Exit::Lacking,
        ExperimentError::FrameTooShort { .. }
        | ExperimentError::NotInTheLab { .. }
        | ExperimentError::FaultTakesThePlaceOfXdp { .. } => Exit::BadInput,
        ExperimentError::Lab(_)
        | ExperimentError::Unwatched(_)
        | ExperimentError::Store(_)
        | ExperimentError::Capture { .. }
        | ExperimentError::Undiscovered { .. }
        | ExperimentError::Undecided { .. }
        | ExperimentError::Uninstalled { .. } => Exit::Fault,
    }
}

/// Tells whether another machine, or this one at another time, would do.
fn is_of_the_machine(error: &LabError) -> bool {
    matches!(
        error,
        LabError::Build(_)
            | LabError::Descriptors { .. }
            | LabError::Listen(_)
            | LabError::Machine { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What breaks no promise is no failure, and what could not be judged is neither
    /// success nor failure.
    #[test]
    fn the_exit_code_says_whether_promises_held_and_whether_that_is_known() {
        let codes = [
            (RunVerdict::Held, Exit::Done),
            (RunVerdict::Exceeded, Exit::Done),
            (RunVerdict::Broken, Exit::Broken),
            (RunVerdict::Refused, Exit::Broken),
            (RunVerdict::NotJudged, Exit::Lacking),
        ];
        for (verdict, exit) in codes {
            assert_eq!(exit_of(Completion::Complete, verdict), exit);
            assert_eq!(exit_of(Completion::Partial, verdict), Exit::Interrupted);
        }
    }
}
