//! The turns: who is measured when.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};

use crate::packet_ins::Outcome;
use linux::clock;
use linux::scheduling::{self, HIGHEST_NICE, Placement, Wish};
use units::Duration;

use crate::arguments::{Arguments, Mode};
use crate::load::{Load, Pace, Trial};
use crate::process::Process;
use crate::subject::Subject;

/// How long a program may take until it listens.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOKING: Duration = Duration::from_ms(20);
/// How long a controller may take to notice that connections are closed.
const SETTLING: Duration = Duration::from_ms(200);
/// For how long a controller works before it is measured.
const WARMING: Duration = Duration::from_ms(200);

#[derive(Clone, Copy, Debug)]
pub struct Processors {
    /// What the controller has for itself.
    pub subject: usize,
    /// What the load generator has.
    pub load: usize,
}

/// What was found of one controller under one condition, over all rounds.
#[derive(Clone, Debug)]
pub struct Row {
    pub subject: Subject,
    /// Whose capacity set the rate, in open loop.
    pub rate_of: Option<Subject>,
    pub switches: u16,
    pub mode: Mode,
    pub rounds: Vec<Found>,
}

#[derive(Clone, Debug)]
pub struct Found {
    pub answered_per_second: f64,
    pub outcome: Outcome,
    /// Processor time of the controller for one answer, in nanoseconds.
    pub cost_ns: f64,
    /// What the controller occupied afterwards.
    pub resident_bytes: u64,
    /// For how long the controller stood ready without its processor.
    pub waited: Duration,
    /// For how long the generator stood still.
    pub stalled: Duration,
    pub longest_stall: Duration,
}

/// A controller that stands ready.
struct Stand {
    subject: Subject,
    address: SocketAddr,
    process: Process,
}

/// Lets all take their turns.
pub fn run(arguments: &Arguments, processors: Processors) -> io::Result<Vec<Row>> {
    let mut stands = Vec::new();
    for subject in Subject::ALL {
        if !arguments.includes(subject) {
            continue;
        }
        match subject.missing() {
            Some(reason) => eprintln!("left out: {} {reason}", subject.name()),
            None => stands.push(Stand::start(subject, processors.subject)?),
        }
    }
    scheduling::apply(Wish {
        nice: HIGHEST_NICE,
        placement: Placement::Only(processors.load),
    });
    let mut rows = Vec::new();
    for round in 1..=arguments.rounds() {
        for switches in &arguments.switches {
            for index in 0..stands.len() {
                let subject = stands[index].subject;
                if *switches > subject.most_switches() {
                    continue;
                }
                eprintln!("round {round}: {} with {switches} switches", subject.name());
                let turn = Turn {
                    arguments,
                    switches: *switches,
                };
                if let Err(error) = turn.measure(&stands, index, &mut rows) {
                    eprintln!("round {round}: {}: {error}", subject.name());
                }
                stands[index].process.pause()?;
            }
        }
    }
    Ok(rows)
}

struct Turn<'a> {
    arguments: &'a Arguments,
    switches: u16,
}

impl Turn<'_> {
    /// Measures one controller, and for a schedule the null responder beside it.
    fn measure(&self, stands: &[Stand], index: usize, rows: &mut Vec<Row>) -> io::Result<()> {
        let stand = &stands[index];
        let mut load = self.connect(stand)?;
        load.run(Pace::Open(self.arguments.outstanding), WARMING)?;
        let flooded = self.trial(stand, &mut load, Pace::Open(self.arguments.outstanding))?;
        let rate = half(flooded.answered_per_second);
        if self.arguments.measures(Mode::Flooded) {
            self.keep(rows, stand, None, Mode::Flooded, flooded);
        }
        if self.arguments.measures(Mode::One) {
            let one = self.trial(stand, &mut load, Pace::Open(1))?;
            self.keep(rows, stand, None, Mode::One, one);
        }
        if !self.arguments.measures(Mode::Open) {
            return Ok(());
        }
        let open = self.trial(stand, &mut load, Pace::PerSecond(rate))?;
        self.keep(rows, stand, Some(stand.subject), Mode::Open, open);
        drop(load);
        stand.process.pause()?;
        let null = stands.iter().find(|stand| stand.subject == Subject::Null);
        if let Some(null) = null.filter(|null| null.subject != stand.subject) {
            let mut load = self.connect(null)?;
            load.run(Pace::Open(self.arguments.outstanding), WARMING)?;
            let open = self.trial(null, &mut load, Pace::PerSecond(rate))?;
            self.keep(rows, null, Some(stand.subject), Mode::Open, open);
            null.process.pause()?;
        }
        Ok(())
    }

    /// Lets a controller go on, and connects its switches once it has noticed that
    /// those of its last turn are gone.
    fn connect(&self, stand: &Stand) -> io::Result<Load> {
        stand.process.resume()?;
        clock::sleep_until(clock::now() + SETTLING);
        let (switches, hosts) = (self.switches, self.arguments.hosts);
        Load::connect(stand.address, stand.subject.dialect(), switches, hosts)
    }

    fn trial(&self, stand: &Stand, load: &mut Load, pace: Pace) -> io::Result<Found> {
        let (ran, waited) = (stand.process.ran(), stand.process.waited());
        let trial = load.run(pace, self.arguments.trial())?;
        let ran = stand.process.ran().saturating_sub(ran);
        Ok(Found {
            answered_per_second: per_second(&trial),
            cost_ns: ran.as_secs_f64() * 1e9 / as_f64(trial.outcome.tally.answered.max(1)),
            resident_bytes: stand.process.resident_bytes(),
            waited: stand.process.waited().saturating_sub(waited),
            stalled: trial.stalled,
            longest_stall: trial.longest_stall,
            outcome: trial.outcome,
        })
    }

    fn keep(
        &self,
        rows: &mut Vec<Row>,
        stand: &Stand,
        rate_of: Option<Subject>,
        mode: Mode,
        found: Found,
    ) {
        let (subject, switches) = (stand.subject, self.switches);
        let is_it = |row: &&mut Row| {
            (row.subject, row.rate_of, row.switches, row.mode) == (subject, rate_of, switches, mode)
        };
        match rows.iter_mut().find(is_it) {
            Some(row) => row.rounds.push(found),
            None => rows.push(Row {
                subject,
                rate_of,
                switches,
                mode,
                rounds: vec![found],
            }),
        }
    }
}

impl Stand {
    /// Starts a controller, waits until it listens, and makes it stand still.
    fn start(subject: Subject, processor: usize) -> io::Result<Self> {
        let port = free_port()?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let mut process = subject.start(port, processor)?;
        let limit = clock::now() + PATIENCE;
        while TcpStream::connect(address).is_err() {
            if process.has_ended() || clock::now() >= limit {
                let name = subject.name();
                return Err(io::Error::other(format!("{name} does not listen")));
            }
            clock::sleep_until(clock::now() + LOOKING);
        }
        process.pause()?;
        Ok(Self {
            subject,
            address,
            process,
        })
    }
}

/// Returns a port that nobody listens on now.
fn free_port() -> io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}

fn per_second(trial: &Trial) -> f64 {
    as_f64(trial.answered_in_time) / trial.took.as_secs_f64()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate far below 2^52"
)]
fn half(per_second: f64) -> u64 {
    (per_second / 2.0) as u64
}

#[expect(clippy::cast_precision_loss, reason = "for statistics only")]
fn as_f64(count: u64) -> f64 {
    count as f64
}
