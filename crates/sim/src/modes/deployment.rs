//! The entries of an experiment, as messages to its switches: so many of them as the
//! experiment wants.
//!
//! With modes, every entry stands in the tables once for each level beforehand, and
//! one word decides which of them is in force (S2-5). Without, the entries of the
//! lowest level stand there, and whoever changes the mode sends others (S2-9).

use units::Duration;
use wire::ethernet::EtherType;
use wire::mode_signal::Level;
use wire::openflow::oxm::Masked;
use wire::openflow::taktos::{
    LevelSet, ModeConfig, ModeFlags, ModeKey, ModeMessage, MonitorCommand, MonitorContract,
    MonitorId, MonitorMod, QueuedFrameAction, QueuedFrameActions, Trunk,
};
use wire::openflow::{
    Action, Actions, DatapathId, Fields, FlowMod, Hello, Instruction, Instructions, MatchField,
    PortNumber, QueueId, Sequence, TableId, TransactionId,
};

use super::forged::KEY;

/// What the experiments have: usual, and everything for what matters most.
pub const LEVELS: [Level; 2] = [Level::LOWEST, high()];
/// What a frame carries whose message breaks its contract, so that a switch without
/// monitors can tell (MC-SDN section III-A).
pub const FLAG_DSCP: u8 = 8;

/// How much later than others a message may come to its first switch: others on the
/// link of its host go first, and the stage of the switch takes its time.
const RELEASE_JITTER: Duration = Duration::from_ms(2);
const SIGNALS_PRIORITY: u16 = 300;
const FLAGGED_PRIORITY: u16 = 200;
const FLOWS_PRIORITY: u16 = 100;
/// Entries that no frame meets match ports from here on.
const FILLERS_FROM: u16 = 20_000;
const FILLERS_QUEUE: u8 = 1;
const UDP: u8 = 17;
const TRANSACTION: TransactionId = TransactionId(0x4D0D_E000);

/// How the network copes with a flow that needs more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strategy {
    /// Switches notice, tell each other and change to entries that they have.
    Taktos,
    /// A switch asks the controller, which sends new entries to all.
    StdSdn,
    McAgnostic,
}

impl Strategy {
    pub const ALL: [Self; 3] = [Self::Taktos, Self::StdSdn, Self::McAgnostic];

    /// Returns its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Taktos => "Taktos",
            Self::StdSdn => "Std-SDN",
            Self::McAgnostic => "MC-Agnostic",
        }
    }
}

/// What becomes of a flow's frames at a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelTreatment {
    /// They go through this queue.
    Queue(u8),
    Drop,
}

/// A flow, as far as switches know it.
#[derive(Clone, Debug)]
pub struct RuledFlow {
    /// The UDP port that it goes to.
    pub port: u16,
    /// The switches on its way, each with the port by which it leaves.
    pub hops: Vec<(usize, PortNumber)>,
    /// What becomes of it at each level, the lowest first; at those above the last as at
    /// that.
    pub treatments: Vec<LevelTreatment>,
    /// What it may send at each level; with any, it is watched at its first switch.
    pub contracts: Vec<MonitorContract>,
}

/// Everything that the switches of an experiment are told.
#[derive(Clone, Debug)]
pub struct Deployment {
    pub strategy: Strategy,
    pub flows: Vec<RuledFlow>,
    /// How many entries change at each switch; those that no flow needs are there for
    /// their number alone.
    pub rules: usize,
    /// By switch, its ports towards others, with the far ends.
    pub trunks: Vec<Vec<(PortNumber, DatapathId, PortNumber)>>,
    /// How often neighbours repeat what they hold.
    pub heartbeat: Duration,
    /// How long flows have to be quiet before the level may fall; it does not without.
    pub hold: Option<Duration>,
    /// How many levels there are.
    pub levels: usize,
}

impl Deployment {
    fn levels(&self) -> impl Iterator<Item = Level> + use<> {
        Level::all().take(self.levels)
    }

    /// Returns the first messages to a switch.
    #[must_use]
    pub fn greeting(&self, switch: usize) -> Vec<u8> {
        let mut out = Vec::new();
        Hello::OURS.emit(TRANSACTION, &mut out);
        match self.strategy {
            Strategy::Taktos => {
                for level in self.levels() {
                    self.emit_rules(switch, level, Some(level), &mut out);
                }
                self.emit_modes(switch, &mut out);
            }
            Strategy::StdSdn => {
                self.emit_rules(switch, Level::LOWEST, None, &mut out);
                self.emit_requests(switch, &mut out);
            }
            Strategy::McAgnostic => self.emit_rules(switch, Level::LOWEST, None, &mut out),
        }
        out
    }

    /// Returns the messages by which a controller changes the mode of a switch.
    #[must_use]
    pub fn change(&self, switch: usize, level: Level) -> Vec<u8> {
        let mut out = Vec::new();
        self.emit_rules(switch, level, None, &mut out);
        out
    }

    /// Returns how many entries of flows a switch has at each level.
    #[must_use]
    pub fn entries_of(&self, switch: usize) -> usize {
        let is_here = |flow: &&RuledFlow| flow.hops.iter().any(|(at, _)| *at == switch);
        self.flows.iter().filter(is_here).count()
    }

    fn emit_rules(&self, switch: usize, level: Level, at: Option<Level>, out: &mut Vec<u8>) {
        for (number, flow) in (0..).zip(&self.flows) {
            let Some(place) = flow.hops.iter().position(|(at, _)| *at == switch) else {
                continue;
            };
            let watched = at.is_some() && place == 0 && !flow.contracts.is_empty();
            let monitor = watched.then_some(MonitorId(number));
            let (_, port) = flow.hops[place];
            let actions = flow.actions(level, (monitor, at), port, self.levels());
            emit_rule(FLOWS_PRIORITY, &[], (flow.port, at), &actions, out);
        }
        let fillers = self.rules.saturating_sub(self.entries_of(switch));
        for port in (FILLERS_FROM..).take(fillers) {
            let actions = match level == Level::LOWEST {
                true => vec![Action::SetQueue(QueueId(u32::from(FILLERS_QUEUE)))],
                false => Vec::new(),
            };
            emit_rule(FLOWS_PRIORITY, &[], (port, at), &actions, out);
        }
    }

    /// Monitors, what is done with signals, and who the neighbours are.
    fn emit_modes(&self, switch: usize, out: &mut Vec<u8>) {
        for (monitor, flow) in (0..).map(MonitorId).zip(&self.flows) {
            let begins_here = flow.hops.first().is_some_and(|(at, _)| *at == switch);
            if begins_here && !flow.contracts.is_empty() {
                let monitor = MonitorMod {
                    command: MonitorCommand::Add,
                    monitor,
                    jitter: RELEASE_JITTER,
                    contracts: Sequence::of(&flow.contracts),
                };
                ModeMessage::MonitorMod(monitor).emit(TRANSACTION, out);
            }
        }
        let signals = [MatchField::EthType(EtherType::MODE_SIGNAL)];
        emit_entry(SIGNALS_PRIORITY, &signals, &[Action::ModeArrange], out);
        let trunks = self.trunks[switch].iter();
        let trunks = trunks.map(|(port, far_switch, far_port)| Trunk {
            port: *port,
            far_port: *far_port,
            far_switch: *far_switch,
        });
        let trunks: Vec<_> = trunks.collect();
        let config = ModeConfig {
            hold: self.hold,
            heart_beat: Some(self.heartbeat),
            key: ModeKey(KEY),
            complete: self.levels().collect::<LevelSet>(),
            default: Level::LOWEST,
            flags: ModeFlags::NONE,
            trunks: Sequence::of(&trunks),
        };
        ModeMessage::Config(config).emit(TRANSACTION, out);
    }

    /// At the first switch of a watched flow, frames that bear the flag are shown to
    /// the controller.
    fn emit_requests(&self, switch: usize, out: &mut Vec<u8>) {
        for flow in self.flows.iter().filter(|flow| !flow.contracts.is_empty()) {
            let Some((at, port)) = flow.hops.first().copied() else {
                continue;
            };
            if at == switch {
                let mut actions = vec![Action::output(PortNumber::CONTROLLER)];
                actions.extend(flow.actions(Level::LOWEST, (None, None), port, self.levels()));
                let flag = [MatchField::IpDscp(FLAG_DSCP)];
                emit_rule(FLAGGED_PRIORITY, &flag, (flow.port, None), &actions, out);
            }
        }
    }
}

impl RuledFlow {
    fn actions(
        &self,
        level: Level,
        (monitor, at): (Option<MonitorId>, Option<Level>),
        port: PortNumber,
        levels: impl Iterator<Item = Level>,
    ) -> Vec<Action> {
        let mut actions: Vec<_> = monitor.into_iter().map(Action::FlowMonitor).collect();
        let treatment = self.treatment(level);
        match treatment {
            LevelTreatment::Queue(queue) => {
                actions.push(Action::SetQueue(QueueId(u32::from(queue))))
            }
            // Nothing is sent; the monitor goes on counting.
            LevelTreatment::Drop => return actions,
        }
        if at.is_some() {
            let fates = levels.fold(QueuedFrameActions::STAY, |fates, other| {
                fates.with(other, self.fate(treatment, other))
            });
            if fates != QueuedFrameActions::STAY {
                actions.push(Action::QueuedFrame(fates));
            }
        }
        actions.push(Action::output(port));
        actions
    }

    fn treatment(&self, level: Level) -> LevelTreatment {
        let treatment = self.treatments.get(usize::from(level.number()));
        let treatment = treatment.or(self.treatments.last());
        treatment.copied().unwrap_or(LevelTreatment::Drop)
    }

    /// Returns what becomes of a frame that waits as it was treated before.
    fn fate(&self, before: LevelTreatment, level: Level) -> QueuedFrameAction {
        match self.treatment(level) {
            now if now == before => QueuedFrameAction::Stay,
            LevelTreatment::Queue(queue) => QueuedFrameAction::Move(queue),
            LevelTreatment::Drop => QueuedFrameAction::Drop,
        }
    }
}

/// Appends an entry for datagrams to a port, at a level or at any.
fn emit_rule(
    priority: u16,
    more: &[MatchField],
    (port, level): (u16, Option<Level>),
    actions: &[Action],
    out: &mut Vec<u8>,
) {
    let mut fields = vec![MatchField::EthType(EtherType::IPV4)];
    fields.extend_from_slice(more);
    fields.extend([MatchField::IpProto(UDP), MatchField::UdpDst(port)]);
    fields.extend(level.map(|level| MatchField::Level(Masked::exact(level.number()))));
    emit_entry(priority, &fields, actions, out);
}

fn emit_entry(priority: u16, fields: &[MatchField], actions: &[Action], out: &mut Vec<u8>) {
    let instructions = [Instruction::ApplyActions(Actions::of(actions))];
    let entry = FlowMod {
        priority,
        matching: Fields::of(fields),
        instructions: Instructions::of(&instructions),
        ..FlowMod::add(TableId(0))
    };
    entry.emit(TRANSACTION, out);
}

const fn high() -> Level {
    match Level::LOWEST.next() {
        Some(level) => level,
        None => panic!("there is more than one level"),
    }
}
