//! `taktos analyze`: worst-case bounds of a network of servers.

mod bounds;
mod clock;
mod network;
mod result;

use std::path::PathBuf;

use calculus::analysis::{Budget, FlowId, Method, ServerGraph};
use clap::ValueEnum;
use scenario::LONGEST_NETWORK;
use scenario::servers::{Multiplexing, ServerNetwork};

use super::exit::Exit;
use super::screen::{self, say};
use super::text_file;
use bounds::{AnalysisBounds, BoundsQuery};
use clock::Clock;

/// What `taktos analyze` is told.
#[derive(Debug, clap::Args)]
pub struct Analyze {
    /// The network: JSON in the format of docs/analysis.md, or Saihu's.
    file: PathBuf,
    /// How bounds are found; replaces the file's own.
    #[arg(long, value_enum)]
    method: Option<MethodName>,
    /// In which order all servers serve; replaces what the file says.
    #[arg(long, value_enum)]
    multiplexing: Option<ServingOrder>,
    /// Bound only this flow, and any other that is given so.
    #[arg(long = "flow", value_name = "ID")]
    flows: Vec<String>,
    /// Leave this method out of `best` and `all`, and any other that is given so.
    #[arg(long, value_enum, value_name = "METHOD")]
    without: Vec<MethodName>,
    /// How long to search at most; flows that are not finished by then have the best
    /// that was found.
    #[arg(long, value_name = "TIME", default_value = "30s")]
    budget: units::Duration,
    /// Print the network in a format, without analysing it.
    #[arg(long, value_enum, value_name = "FORMAT")]
    print_as: Option<Format>,
    /// Print one JSON document, and nothing else.
    #[arg(long)]
    json: bool,
}

/// How bounds are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MethodName {
    /// Total flow analysis: a bound for each server, added up.
    Tfa,
    /// Total flow analysis as the NetworkCalculus.org DNC defines it.
    TfaDnc,
    /// Separate flow analysis.
    Sfa,
    /// Pay multiplexing only once.
    Pmoo,
    /// Tandem matching analysis.
    Tma,
    /// Least upper delay bound.
    Ludb,
    /// A linear program, its solution proven in whole numbers.
    Lp,
    /// For each flow the least of all that apply.
    Best,
    /// Each that applies, one after the other.
    All,
}

/// In which order servers serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ServingOrder {
    /// Any order among flows.
    Arbitrary,
    /// First in, first out.
    Fifo,
    /// The most urgent first, no packet interrupted.
    StrictPriority,
}

/// How a network is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Our own format, in SI units.
    Taktos,
    /// The output-port network of Saihu.
    Saihu,
}

impl MethodName {
    /// Returns the method, or nothing for all of them.
    fn method(self) -> Option<Method> {
        match self {
            Self::Tfa => Some(Method::Tfa),
            Self::TfaDnc => Some(Method::TfaDnc),
            Self::Sfa => Some(Method::Sfa),
            Self::Pmoo => Some(Method::Pmoo),
            Self::Tma => Some(Method::Tma),
            Self::Ludb => Some(Method::Ludb),
            Self::Lp => Some(Method::Lp),
            Self::Best => Some(Method::Best),
            Self::All => None,
        }
    }
}

/// Bounds the flows of a network of servers.
pub fn analyze(arguments: &Analyze) -> Exit {
    let text = match text_file::read(&arguments.file, LONGEST_NETWORK) {
        Ok(text) => text,
        Err(exit) => return exit,
    };
    let name = arguments.file.display().to_string();
    let mut described = match ServerNetwork::parse(&name, &text) {
        Ok(described) => described,
        Err(error) => return text_file::show(&error),
    };
    drop(text);
    if let Some(order) = arguments.multiplexing {
        set_order(&mut described, order);
    }
    match arguments.print_as {
        Some(format) => print_network(&described, format),
        None => print_bounds(arguments, &described),
    }
}

fn set_order(network: &mut ServerNetwork, order: ServingOrder) {
    let multiplexing = match order {
        ServingOrder::Arbitrary => Multiplexing::Arbitrary,
        ServingOrder::Fifo => Multiplexing::Fifo,
        ServingOrder::StrictPriority => Multiplexing::StrictPriority,
    };
    for server in &mut network.servers {
        server.multiplexing = Some(multiplexing);
    }
}

fn print_network(described: &ServerNetwork, format: Format) -> Exit {
    let text = match format {
        Format::Taktos => described.to_json(),
        Format::Saihu => match described.to_saihu() {
            Ok(text) => text,
            Err(error) => {
                say(format_args!("taktos: {error}"));
                return Exit::BadInput;
            }
        },
    };
    print(&text)
}

fn print_bounds(arguments: &Analyze, described: &ServerNetwork) -> Exit {
    let asked = match asked(arguments, described) {
        Ok(asked) => asked,
        Err(exit) => return exit,
    };
    let (network, assumed) = match network::build(described, asked.method) {
        Ok(built) => built,
        Err(error) => {
            say(format_args!(
                "taktos: {}: {error}",
                arguments.file.display()
            ));
            return Exit::BadInput;
        }
    };
    let found = find(&network, &asked, arguments.budget);
    let shown = result::ShownResult {
        described,
        network: &network,
        found: &found,
        assumed,
        budget: arguments.budget,
    };
    let printed = print(&match arguments.json {
        true => shown.as_json(),
        false => shown.as_text(),
    });
    let nothing_applies = found.bounds.is_empty() && !found.not_applicable.is_empty();
    match printed {
        Exit::Done if nothing_applies => Exit::BadInput,
        other => other,
    }
}

fn find(network: &ServerGraph, asked: &BoundsQuery, budget: units::Duration) -> AnalysisBounds {
    let clock = Clock::start(budget);
    let go_on = |progress| clock.goes_on(progress);
    let steps = Budget::of_steps(clock::steps_in(budget)).while_told(&go_on);
    let mut found = bounds::find(network, asked, &steps);
    found.elapsed = clock.stop();
    found
}

/// Returns what is to be found: on the command line, else in the file, else the
/// best of all.
fn asked(arguments: &Analyze, described: &ServerNetwork) -> Result<BoundsQuery, Exit> {
    let of_file = match &described.method {
        Some(word) => Some(MethodName::from_str(word, false).map_err(|_| {
            let words = MethodName::value_variants().iter();
            let words = words.filter_map(|name| name.to_possible_value());
            let words: Vec<_> = words.map(|word| word.get_name().to_owned()).collect();
            say(format_args!(
                "taktos: {}: method: there is no `{word}`; there are {}",
                arguments.file.display(),
                words.join(", ")
            ));
            Exit::BadInput
        })?),
        None => None,
    };
    let method = arguments.method.or(of_file).unwrap_or(MethodName::Best);
    let flows = arguments.flows.iter().map(|id| {
        let place = described.flows.iter().position(|flow| flow.id == *id);
        let place = place.and_then(|place| u32::try_from(place).ok());
        place.map(FlowId).ok_or_else(|| {
            let file = arguments.file.display();
            say(format_args!("taktos: --flow {id}: {file} has no such flow"));
            Exit::BadInput
        })
    });
    let without = arguments.without.iter();
    Ok(BoundsQuery {
        method: method.method(),
        without: without.filter_map(|name| name.method()).collect(),
        flows: flows.collect::<Result<_, _>>()?,
    })
}

fn print(text: &str) -> Exit {
    match screen::print(text) {
        Ok(()) => Exit::Done,
        Err(error) => {
            say(format_args!("taktos: cannot show the result: {error}"));
            Exit::Fault
        }
    }
}
