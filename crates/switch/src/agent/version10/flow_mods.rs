//! Changes of the flow table, OF10 sections 4.6 and 5.3.3.

use units::Instant;
use wire::openflow::{
    self, Cookie, Fields, FlowModCommand, GroupId, Instruction, Instructions, TableId,
};
use wire::openflow10::{ErrorKind, FlowMod, FlowModFailed, FlowModFlags};

use super::actions::{Purpose, compile, steps, told};
use crate::action::Program;
use crate::agent::Agent;
use crate::agent::flow_mods::{Missing, Order};
use crate::agent::session::ConnectionId;
use crate::matching;
use crate::pipeline::Pipeline;

/// The table that version 1.0 sees.
pub(super) const TABLE: TableId = TableId(0);

impl Agent {
    pub(super) fn narrow_flow_mod(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        id: ConnectionId,
        flow_mod: &FlowMod<'_>,
    ) -> Result<(), ErrorKind> {
        check_flags(flow_mod)?;
        let fields = flow_mod.matching.to_of13();
        let (program, actions) = match flow_mod.command {
            FlowModCommand::Add | FlowModCommand::Modify | FlowModCommand::ModifyStrict => {
                let steps = steps(&flow_mod.actions, Purpose::Entry)?;
                let apply = compile(pipeline, &steps)?;
                let program = Program {
                    apply: apply.into(),
                    ..Program::default()
                };
                (program, told(&flow_mod.matching, &steps))
            }
            FlowModCommand::Delete | FlowModCommand::DeleteStrict => Default::default(),
        };
        let instructions = [Instruction::ApplyActions(openflow::Actions::of(&actions))];
        let wide = openflow::FlowMod {
            matching: Fields::of(&fields),
            instructions: match actions.is_empty() {
                true => Instructions::EMPTY,
                false => Instructions::of(&instructions),
            },
            ..head(flow_mod)
        };
        let order = Order {
            flow_mod: &wide,
            rule: matching::compile(&wide.matching, wide.priority).map_err(ErrorKind::from_of13)?,
            program,
            missing: Missing::Added,
        };
        self.begin_flow_mod(now, pipeline, id, order)
            .map_err(ErrorKind::from_of13)
    }
}

/// Returns everything of a flow-mod but the match and the actions.
fn head(flow_mod: &FlowMod<'_>) -> openflow::FlowMod<'static> {
    let mut flags = openflow::FlowModFlags(flow_mod.flags.0);
    if flow_mod.command == FlowModCommand::Add {
        flags = flags.with(openflow::FlowModFlags::RESET_COUNTS);
    }
    openflow::FlowMod {
        cookie: flow_mod.cookie,
        cookie_mask: Cookie::NONE,
        command: flow_mod.command,
        idle_timeout_s: flow_mod.idle_timeout_s,
        hard_timeout_s: flow_mod.hard_timeout_s,
        priority: match flow_mod.matching.is_exact() {
            true => u16::MAX,
            false => flow_mod.priority,
        },
        buffer: flow_mod.buffer,
        out_port: flow_mod.out_port.to_of13(),
        out_group: GroupId::ANY,
        flags,
        ..openflow::FlowMod::add(TABLE)
    }
}

fn check_flags(flow_mod: &FlowMod<'_>) -> Result<(), ErrorKind> {
    const KNOWN: FlowModFlags = FlowModFlags::SEND_FLOW_REMOVED.with(FlowModFlags::CHECK_OVERLAP);
    if KNOWN.contains(flow_mod.flags) {
        return Ok(());
    }
    let emergency = flow_mod.flags.contains(FlowModFlags::EMERGENCY);
    let timed = flow_mod.idle_timeout_s != 0 || flow_mod.hard_timeout_s != 0;
    Err(ErrorKind::FlowModFailed(match (emergency, timed) {
        (true, true) => FlowModFailed::BadEmergencyTimeout,
        // The table for such entries has room for none.
        (true, false) => FlowModFailed::AllTablesFull,
        (false, _) => FlowModFailed::Unsupported,
    }))
}
