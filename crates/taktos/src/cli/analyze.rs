//! `taktos analyze`: worst-case bounds of a network of servers.

mod bounds;
mod clock;
pub(super) mod network;
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
    let word = |name: MethodName| name.to_possible_value().expect("no name is hidden");
    let word = |name: MethodName| word(name).get_name().to_owned();
    let wish = AnalysisWish {
        method: arguments.method.map(word),
        without: arguments.without.iter().copied().map(word).collect(),
        flows: arguments.flows.clone(),
        budget: arguments.budget,
    };
    let found = wish.find(described, &|| true);
    let result = match found {
        Ok(result) => result,
        Err(error) => {
            say(format_args!(
                "taktos: {}: {error}",
                arguments.file.display()
            ));
            return Exit::BadInput;
        }
    };
    let shown = result.shown(described, arguments.budget);
    let printed = print(&match arguments.json {
        true => shown.as_json(),
        false => shown.as_text(),
    });
    let found = &result.found;
    let nothing_applies = found.bounds.is_empty() && !found.not_applicable.is_empty();
    match printed {
        Exit::Done if nothing_applies => Exit::BadInput,
        other => other,
    }
}

/// What is asked of an analysis, in words.
#[derive(Clone, Debug)]
pub struct AnalysisWish {
    /// The method; if absent, the network's own, else the best of all.
    pub method: Option<String>,
    /// Methods that are left out of `best` and `all`.
    pub without: Vec<String>,
    /// The flows that are bounded; all if empty.
    pub flows: Vec<String>,
    /// How long to search at most.
    pub budget: units::Duration,
}

/// The network as it was analysed, and what was found.
struct AnalysisResult {
    network: ServerGraph,
    found: AnalysisBounds,
    assumed: Option<String>,
}

impl AnalysisResult {
    fn shown<'a>(
        &'a self,
        described: &'a ServerNetwork,
        budget: units::Duration,
    ) -> result::ShownResult<'a> {
        result::ShownResult {
            described,
            network: &self.network,
            found: &self.found,
            assumed: self.assumed.clone(),
            budget,
        }
    }
}

impl AnalysisWish {
    /// Returns the document of `docs/analysis.md`. What is asked whether to go on may end
    /// the search.
    ///
    /// # Errors
    ///
    /// A word or a flow that there is not, in a sentence.
    pub fn document(
        &self,
        described: &ServerNetwork,
        go_on: &dyn Fn() -> bool,
    ) -> Result<String, String> {
        let result = self.find(described, go_on)?;
        Ok(result.shown(described, self.budget).as_json())
    }

    fn find(
        &self,
        described: &ServerNetwork,
        go_on: &dyn Fn() -> bool,
    ) -> Result<AnalysisResult, String> {
        let asked = self.asked(described)?;
        let (network, assumed) =
            network::build(described, asked.method).map_err(|error| error.to_string())?;
        let clock = Clock::start(self.budget);
        let goes_on = |progress| go_on() && clock.goes_on(progress);
        let steps = Budget::of_steps(clock::steps_in(self.budget)).while_told(&goes_on);
        let mut found = bounds::find(&network, &asked, &steps);
        found.elapsed = clock.stop();
        Ok(AnalysisResult {
            network,
            found,
            assumed,
        })
    }

    fn asked(&self, described: &ServerNetwork) -> Result<BoundsQuery, String> {
        let method = self.method.as_ref().or(described.method.as_ref());
        let method = method.map_or(Ok(MethodName::Best), |word| method_named(word))?;
        let without = self.without.iter().map(|word| method_named(word));
        let without = without.collect::<Result<Vec<_>, _>>()?;
        let flows = self.flows.iter().map(|id| {
            let place = described.flows.iter().position(|flow| flow.id == *id);
            let place = place.and_then(|place| u32::try_from(place).ok());
            place
                .map(FlowId)
                .ok_or_else(|| format!("there is no flow `{id}`"))
        });
        Ok(BoundsQuery {
            method: method.method(),
            without: without.into_iter().filter_map(MethodName::method).collect(),
            flows: flows.collect::<Result<_, _>>()?,
        })
    }
}

fn method_named(word: &str) -> Result<MethodName, String> {
    MethodName::from_str(word, false).map_err(|_| {
        let words = MethodName::value_variants().iter();
        let words = words.filter_map(|name| name.to_possible_value());
        let words: Vec<_> = words.map(|word| word.get_name().to_owned()).collect();
        format!(
            "method: there is no `{word}`; there are {}",
            words.join(", ")
        )
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
