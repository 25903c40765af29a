//! Checks the instructions of an entry and the actions of a packet-out, and
//! makes them ready to be executed.
//!
//! Everything that can be wrong is found here, once, and answered with the
//! error that the specification has for it; executing an action can then not
//! fail. OF13 clauses 5.9, 5.12, 7.2.4, 7.2.5 and 7.4.4.

use wire::openflow::taktos::{StreamHandle, TrailerAction};
use wire::openflow::{
    self, BadAction, BadInstruction, ControllerLength, DecodeError, ErrorKind, Instruction,
    Instructions, MeterId, MeterModFailed, PortNumber, TableId,
};

use crate::action::{ACTIONS_MAX, Action, MetadataChange, Program, Target};
use crate::action_set::ActionSet;
use crate::egress::Egress;
use crate::flow_table::Rule;
use crate::header_actions::Frames;
use crate::port::QUEUES;

/// How many entries can police.
pub(crate) const POLICERS_MAX: usize = 1 << 14;
/// Nothing polices where another meter does, nor behind another action.
const MISPLACED: ErrorKind = ErrorKind::BadAction(BadAction::BadExperimenterType);

/// What instructions and actions are checked against.
pub(crate) struct Compiler<'a> {
    /// Which ports, groups and meters there are.
    pub(crate) egress: &'a Egress,
    /// How many tables there are.
    pub(crate) tables: u8,
    /// On whose behalf they are executed.
    pub(crate) place: InstructionSite<'a>,
}

/// Where instructions and actions stand.
#[derive(Clone, Copy, Debug)]
pub(crate) enum InstructionSite<'a> {
    Entry(TableId, &'a Rule),
    /// In a packet-out, whose frame may be anything.
    PacketOut,
    /// In a bucket of a group, which any entry may use.
    Bucket,
}

impl Compiler<'_> {
    /// Returns what an entry does.
    ///
    /// # Errors
    ///
    /// With the specification's error for the first thing that is wrong.
    pub(crate) fn program(&self, instructions: &Instructions<'_>) -> Result<Program, ErrorKind> {
        let mut program = Program::default();
        let mut frames = self.frames();
        let mut seen = Vec::new();
        for instruction in instructions.iter() {
            let instruction = instruction.map_err(|error| error.kind())?;
            let kind = std::mem::discriminant(&instruction);
            if seen.contains(&kind) {
                return Err(refused(BadInstruction::UnsupportedInstruction));
            }
            seen.push(kind);
            self.add(&mut program, &mut frames, instruction)?;
        }
        check_order(&program).map_err(ErrorKind::BadAction)?;
        self.check_set(&program, frames)
            .map_err(ErrorKind::BadAction)?;
        Ok(program)
    }

    /// Checks what is executed at the end, in the order in which it will be.
    /// Which frames that will see is known only if no other table changes them
    /// before or writes actions of its own.
    fn check_set(&self, program: &Program, mut frames: Frames) -> Result<(), BadAction> {
        let alone = matches!(self.place, InstructionSite::Entry(TableId(0), _));
        if !alone || program.goto.is_some() {
            return Ok(());
        }
        let mut set = ActionSet::new();
        set.write(&program.write);
        set.all().try_for_each(|action| frames.take(action))
    }

    fn add(
        &self,
        program: &mut Program,
        frames: &mut Frames,
        instruction: Instruction<'_>,
    ) -> Result<(), ErrorKind> {
        match instruction {
            Instruction::GotoTable(next) => {
                let forward = match self.place {
                    InstructionSite::Entry(table, _) => next > table,
                    InstructionSite::PacketOut | InstructionSite::Bucket => false,
                };
                if !forward || next.0 >= self.tables {
                    return Err(refused(BadInstruction::BadTableId));
                }
                program.goto = Some(next);
            }
            Instruction::WriteMetadata { metadata, mask } => {
                let value = metadata;
                program.metadata = Some(MetadataChange { value, mask });
            }
            Instruction::WriteActions(actions) => {
                program.write = self.list(actions.iter(), &mut Frames::Any)?;
                check_in_set(&program.write)?;
            }
            Instruction::ApplyActions(actions) => self.apply(program, frames, &actions)?,
            Instruction::ClearActions => program.clear = true,
            Instruction::Meter(_) if program.police.is_some() => return Err(MISPLACED),
            Instruction::Meter(meter) => {
                let unknown = ErrorKind::MeterModFailed(MeterModFailed::UnknownMeter);
                let usable = (1..=MeterId::MAX.0).contains(&meter.0);
                let found = self.egress.meters.find(meter).filter(|_| usable);
                program.meter = Some(found.ok_or(unknown)?);
            }
        }
        Ok(())
    }

    /// Takes the actions that are done at once. The first may police, in an entry without
    /// another meter.
    fn apply(
        &self,
        program: &mut Program,
        frames: &mut Frames,
        actions: &openflow::Actions<'_>,
    ) -> Result<(), ErrorKind> {
        let mut rest = actions.iter();
        if let Some(Ok(openflow::Action::Police(police))) = actions.iter().next() {
            if program.meter.is_some() || !matches!(self.place, InstructionSite::Entry(..)) {
                return Err(MISPLACED);
            }
            program.police = Some(police);
            rest.next();
        }
        program.apply = self.list(rest, frames)?.into();
        Ok(())
    }

    /// Returns a list of actions, ready to be executed.
    ///
    /// # Errors
    ///
    /// With the specification's error for the first action that is wrong.
    pub(crate) fn actions(
        &self,
        actions: &openflow::Actions<'_>,
    ) -> Result<Box<[Action]>, ErrorKind> {
        let list = self.list(actions.iter(), &mut self.frames())?;
        match self.place {
            InstructionSite::Bucket => check_in_set(&list)?,
            InstructionSite::Entry(..) | InstructionSite::PacketOut => {}
        }
        Ok(list)
    }

    fn frames(&self) -> Frames {
        match self.place {
            InstructionSite::Entry(_, rule) => Frames::matching(rule),
            InstructionSite::PacketOut | InstructionSite::Bucket => Frames::Any,
        }
    }

    fn list(
        &self,
        actions: impl Iterator<Item = Result<openflow::Action, DecodeError>>,
        frames: &mut Frames,
    ) -> Result<Box<[Action]>, ErrorKind> {
        let mut list = Vec::new();
        for action in actions {
            if list.len() == ACTIONS_MAX {
                return Err(ErrorKind::BadAction(BadAction::TooMany));
            }
            let action = action.map_err(|error| error.kind())?;
            let action = self.action(action, frames).map_err(ErrorKind::BadAction)?;
            list.push(action);
        }
        Ok(list.into())
    }

    fn action(&self, action: openflow::Action, frames: &mut Frames) -> Result<Action, BadAction> {
        Ok(match action {
            openflow::Action::Output { port, max_length } => {
                Action::Output(self.target(port, max_length)?)
            }
            openflow::Action::SetQueue(queue) => match u8::try_from(queue.0) {
                Ok(queue) if usize::from(queue) < QUEUES => Action::SetQueue(queue),
                Ok(_) | Err(_) => return Err(BadAction::BadQueue),
            },
            openflow::Action::Group(group) => {
                let found = self.egress.groups.find(group);
                Action::Group(found.ok_or(BadAction::BadOutGroup)?)
            }
            openflow::Action::FlowMonitor(id) => {
                let monitors = &self.egress.modes.monitors;
                if monitors.find(id).is_none() && monitors.is_full() {
                    return Err(BadAction::TooMany);
                }
                Action::FlowMonitor(id)
            }
            openflow::Action::ModeArrange => Action::ModeArrange,
            openflow::Action::QueuedFrame(fates) => Action::QueuedFrame(fates),
            openflow::Action::Police(_) => return Err(BadAction::BadExperimenterType),
            openflow::Action::Sequence(stream) => {
                self.check_stream(stream)?;
                Action::Sequence(stream)
            }
            openflow::Action::Eliminate(how) => {
                self.check_stream(how.stream)?;
                if !self.egress.held_frames.has_room_for(&how) {
                    return Err(BadAction::TooMany);
                }
                Action::Eliminate(how)
            }
            openflow::Action::Trailer(what) => {
                if let TrailerAction::Number(stream) = what {
                    self.check_stream(stream)?;
                }
                Action::Trailer(what)
            }
            openflow::Action::CopyTtlOut
            | openflow::Action::CopyTtlIn
            | openflow::Action::SetMplsTtl(_)
            | openflow::Action::DecrementMplsTtl
            | openflow::Action::PushVlan(_)
            | openflow::Action::PopVlan
            | openflow::Action::PushMpls(_)
            | openflow::Action::PopMpls(_)
            | openflow::Action::SetNetworkTtl(_)
            | openflow::Action::DecrementNetworkTtl
            | openflow::Action::SetField(_)
            | openflow::Action::PushPbb(_)
            | openflow::Action::PopPbb => frames.header_action(action)?,
        })
    }

    /// Refuses a stream that there is no room for, or that nobody would hold.
    fn check_stream(&self, stream: StreamHandle) -> Result<(), BadAction> {
        match self.place {
            InstructionSite::PacketOut | InstructionSite::Bucket => {
                Err(BadAction::BadExperimenterType)
            }
            InstructionSite::Entry(..) if self.egress.streams.has_room_for(stream) => Ok(()),
            InstructionSite::Entry(..) => Err(BadAction::TooMany),
        }
    }

    fn target(&self, port: PortNumber, length: ControllerLength) -> Result<Target, BadAction> {
        match port {
            PortNumber::IN_PORT => Ok(Target::InPort),
            PortNumber::ALL => Ok(Target::All),
            PortNumber::FLOOD => Ok(Target::Flood),
            PortNumber::NORMAL => Ok(Target::Normal),
            PortNumber::CONTROLLER => Ok(Target::Controller(length)),
            PortNumber::TABLE if matches!(self.place, InstructionSite::PacketOut) => {
                Ok(Target::Tables)
            }
            port => match self.egress.find_port(port) {
                Some(port) => Ok(Target::Port(port)),
                None => Err(BadAction::BadOutPort),
            },
        }
    }
}

/// Refuses what nobody could do any more with a frame that was held: what follows is a list
/// of its own, and groups may be gone by then.
fn check_order(program: &Program) -> Result<(), BadAction> {
    let holds = |action: &Action| matches!(action, Action::Eliminate(how) if how.holds());
    let Some(at) = program.apply.iter().position(holds) else {
        return Ok(());
    };
    let is_left = |action: &Action| holds(action) || action.group().is_some();
    let ends = program.goto.is_none() && program.write.is_empty();
    match ends && !program.apply[at + 1..].iter().any(is_left) {
        true => Ok(()),
        false => Err(BadAction::BadExperimenterType),
    }
}

/// Refuses what has no place in an action set: actions of ours are done at once.
fn check_in_set(actions: &[Action]) -> Result<(), ErrorKind> {
    let at_once = |action: &Action| {
        matches!(
            action,
            Action::FlowMonitor(_)
                | Action::ModeArrange
                | Action::QueuedFrame(_)
                | Action::Sequence(_)
                | Action::Eliminate(_)
                | Action::Trailer(_)
        )
    };
    match actions.iter().any(at_once) {
        true => Err(ErrorKind::BadAction(BadAction::BadExperimenterType)),
        false => Ok(()),
    }
}

fn refused(code: BadInstruction) -> ErrorKind {
    ErrorKind::BadInstruction(code)
}
