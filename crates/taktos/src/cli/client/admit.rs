//! `taktos admit`: asks the controller to promise that flows arrive in time.
//!
//! One flow comes from the command line, many from a file: a substation
//! description, a table of virtual links or of streams (`scenario::flow_table`).

mod decisions;
mod file;

use std::path::PathBuf;

use api::{Cover, FrameOrder, Protection};
use controller::northbound::ExceedAction;
use scenario::flow_table::Remark;
use serde_json::Value;
use units::{BitRate, DataSize, Duration};
use wire::openflow::taktos::SequenceEncoding;

use self::decisions::Decided;
use super::super::exit::Exit;
use super::super::screen::{Steps, say};
use super::frames::FrameMatchArgs;
use super::levels::Levels;
use super::{Target, failure, put};
use crate::client::{ClientError, Controller};
use crate::web::document::{RequirementDocument, RequirementsDocument};

/// How many flows are decided upon in one question: an answer comes soon, and shows
/// how far we are.
const FLOWS_A_QUESTION: usize = 256;

/// What `taktos admit` is told.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("what").args(["name", "from"]).required(true))]
pub struct Admit {
    /// The name of the flow.
    #[arg(requires_all = ["source", "destination", "rate"], conflicts_with = "from")]
    name: Option<String>,
    /// A file with flows: a substation description (.scd), a table of virtual links
    /// or of streams (.csv).
    #[arg(long, value_name = "FILE", conflicts_with_all = ["ContractArgs", "FrameMatchArgs"])]
    from: Option<PathBuf>,
    /// The host that sends; with --from, where the file does not say.
    #[arg(long, value_name = "HOST")]
    source: Option<String>,
    /// The hosts that receive; with --from, where the file does not say.
    #[arg(long, value_name = "HOST", value_delimiter = ',')]
    destination: Vec<String>,
    /// How late a frame may be, as in "2 ms"; best effort without it. With --from,
    /// for flows of which the file does not say it.
    #[arg(long)]
    deadline: Option<Duration>,
    /// How long a flow may be interrupted when a link breaks, as in "10 ms"; without
    /// it, it waits until the link is back.
    #[arg(long)]
    interruption: Option<Duration>,
    /// Have the interruption hold for faults that nobody reports, too, or be refused with
    /// the least that can be promised.
    #[arg(long, requires = "interruption")]
    any_fault: bool,
    /// Have the switch at which its way breaks send its frames on by itself, without the
    /// controller.
    #[arg(long, requires = "interruption")]
    fast_failover: bool,
    /// The longest time between two frames of the flow, if it is sent all the time: links
    /// that bring nothing in one direction are noticed after three of them, and interruptions
    /// may be as short as five.
    #[arg(long, value_name = "TIME", requires = "fast_failover")]
    heart_beat: Option<Duration>,
    /// Have two ways without a common link carry the flow at the same time, so that a failure
    /// loses nothing: with numbers in redundancy tags, or in trailers of PRP.
    #[arg(
        long,
        value_name = "ENCODING",
        num_args = 0..=1,
        default_missing_value = "r-tag",
        conflicts_with = "interruption"
    )]
    seamless: Option<EncodingArg>,
    /// Have its frames come in the order in which they were sent, whichever way is quicker.
    #[arg(long, requires = "seamless")]
    keep_order: bool,
    /// Refuse a flow where no switch would drop what exceeds its contract, so that its source
    /// would have to be trusted.
    #[arg(long, value_name = "WHAT")]
    require: Option<Required>,
    /// What becomes of frames that exceed the contract, where switches hold the source to it:
    /// sent on as best effort if every switch on the way can tell them from the others.
    #[arg(long, value_name = "WHAT", default_value = "drop")]
    excess: ExcessArg,
    /// Say what would be decided, and beside which flows a refused one does not fit, and
    /// admit nothing.
    #[arg(long)]
    dry_run: bool,
    /// Where a flow is refused and would not be if another one went another way, have that
    /// go there first, make before break.
    #[arg(long, conflicts_with = "dry_run")]
    rearrange: bool,
    #[command(flatten)]
    contract: ContractArgs,
    #[command(flatten)]
    frames: FrameMatchArgs,
    #[command(flatten)]
    levels: Levels,
    #[command(flatten)]
    file: file::FileOptions,
    #[command(flatten)]
    target: Target,
}

/// What a flow can require of the network beside its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Required {
    /// That a switch holds its source to the contract.
    Enforced,
}

/// What becomes of frames that exceed a contract, as it is said on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ExcessArg {
    /// They go no further.
    Drop,
    /// They go on without a promise.
    BestEffort,
}

/// Where frames that two ways carry have their numbers, as it is said on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum EncodingArg {
    /// In a redundancy tag (IEEE 802.1CB).
    RTag,
    /// In a trailer (IEC 62439-3).
    Prp,
}

impl From<EncodingArg> for SequenceEncoding {
    fn from(encoding: EncodingArg) -> Self {
        match encoding {
            EncodingArg::RTag => Self::RTag,
            EncodingArg::Prp => Self::Prp,
        }
    }
}

impl Admit {
    fn excess(&self) -> ExceedAction {
        match self.excess {
            ExcessArg::Drop => ExceedAction::Drop,
            ExcessArg::BestEffort => ExceedAction::BestEffort,
        }
    }
}

/// What one flow sends.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "One flow")]
struct ContractArgs {
    /// The rate that it never exceeds for long, as in "4 Mbit/s", headers and gaps
    /// between frames included.
    #[arg(long)]
    rate: Option<BitRate>,
    /// By how much it may exceed the rate at any time, as in "3 kB"
    /// [default: its largest frame].
    #[arg(long)]
    burst: Option<DataSize>,
    /// Its largest frame as it occupies the wire, header, check sequence and gap
    /// included, as in "150 B" [default: 1542 B].
    #[arg(long, value_name = "SIZE")]
    frame: Option<DataSize>,
    /// The queue in which it travels, 7 is the most urgent [default: 0 without a
    /// deadline, else 6, or where that is refused the least urgent in which it is in time].
    #[arg(long, value_name = "0-7")]
    class: Option<u8>,
}

/// What is asked for.
#[derive(Default)]
struct WantedFlows {
    requirements: Vec<RequirementDocument>,
    /// What of a file is not asked for.
    left_out: Vec<Remark>,
    /// What a file does not say.
    assumed: Vec<Remark>,
}

/// Asks for one flow, or for those of a file.
pub fn admit(arguments: &Admit) -> Exit {
    let wanted = match (&arguments.from, &arguments.name) {
        (Some(path), _) => match file::read(path, arguments) {
            Ok(wanted) => wanted,
            Err(exit) => return exit,
        },
        (None, Some(name)) => WantedFlows {
            requirements: vec![single(name, arguments)],
            ..WantedFlows::default()
        },
        (None, None) => WantedFlows::default(),
    };
    if wanted.requirements.is_empty() {
        say("taktos: there is no flow to admit");
        return Exit::BadInput;
    }
    let controller = match arguments.target.controller() {
        Ok(controller) => controller,
        Err(exit) => return exit,
    };
    let mut decided = Decided::new(arguments.dry_run);
    let outcome = ask(&controller, arguments, &wanted.requirements, &mut decided);
    conclude(arguments, &wanted, &decided, outcome)
}

fn single(name: &str, arguments: &Admit) -> RequirementDocument {
    let contract = &arguments.contract;
    RequirementDocument {
        name: name.to_owned(),
        source: arguments.source.clone().unwrap_or_default(),
        destinations: arguments.destination.clone(),
        matching: arguments.frames.document(),
        class: contract.class,
        deadline_ns: arguments.deadline.map(Duration::as_ns),
        rate_bps: contract.rate.map_or(0, BitRate::as_bps),
        burst_bytes: contract.burst.or(contract.frame).map(DataSize::bytes_up),
        largest_frame_bytes: contract.frame.map(DataSize::bytes_up),
        smallest_frame_bytes: None,
        protection: protection(arguments),
        require_enforced: arguments.require.is_some(),
        excess: arguments.excess(),
        modes: arguments.levels.document(),
    }
}

fn protection(arguments: &Admit) -> Protection {
    if let Some(encoding) = arguments.seamless {
        let order = match arguments.keep_order {
            true => FrameOrder::Kept,
            false => FrameOrder::Any,
        };
        let encoding = encoding.into();
        return Protection::Seamless { encoding, order };
    }
    let covers = match (arguments.any_fault, arguments.heart_beat) {
        (true, _) => Cover::Any,
        (false, Some(_)) => Cover::OneWay,
        (false, None) => Cover::CarrierLoss,
    };
    match arguments.interruption {
        None => Protection::None,
        Some(interruption) if arguments.fast_failover => Protection::FastFailover {
            interruption,
            covers,
            heart_beat: arguments.heart_beat,
        },
        Some(interruption) => Protection::Restore {
            interruption,
            covers,
        },
    }
}

/// Asks for all flows, some at a time, and notes what is decided.
fn ask(
    controller: &Controller,
    arguments: &Admit,
    wanted: &[RequirementDocument],
    decided: &mut Decided,
) -> Result<(), ClientError> {
    let path = match (arguments.dry_run, arguments.rearrange) {
        (true, _) => "/api/v1/flows?dry_run=true",
        (false, true) => "/api/v1/flows?rearrange=true",
        (false, false) => "/api/v1/flows",
    };
    let mut steps = Steps::new("deciding".to_owned());
    let many = wanted.len() > FLOWS_A_QUESTION;
    for (number, some) in wanted.chunks(FLOWS_A_QUESTION).enumerate() {
        let question = RequirementsDocument {
            requirements: some.to_vec(),
        };
        let answer = match controller.post::<Value>(path, &question) {
            // Where nothing was admitted, the decisions come with the refusal.
            Err(ClientError::Refused(it)) if it.document.get("decisions").is_some() => it.document,
            answer => answer?,
        };
        decided.take(arguments.target.read(answer)?);
        if many {
            let done = number * FLOWS_A_QUESTION + some.len();
            steps.show(done as u64, wanted.len() as u64);
        }
    }
    steps.close();
    Ok(())
}

/// Shows the decisions, also where the questions did not come to their end.
fn conclude(
    arguments: &Admit,
    wanted: &WantedFlows,
    decided: &Decided,
    outcome: Result<(), ClientError>,
) -> Exit {
    let failed = match outcome {
        Ok(()) => None,
        Err(error) => {
            let exit = failure::complain(&error);
            if decided.is_empty() {
                return exit;
            }
            say(format_args!(
                "taktos: {} of {} flows were decided upon before that; the others were not",
                decided.len(),
                wanted.requirements.len()
            ));
            Some(exit)
        }
    };
    let shown = put(&match arguments.target.json {
        true => decided.json(wanted),
        false => decided.text(&wanted.requirements),
    });
    match (failed, shown) {
        (Some(exit), _) => exit,
        (None, Exit::Done) if decided.any_refused() => Exit::Broken,
        (None, shown) => shown,
    }
}
