//! How we speak with switches: what is claimed of them, in which words, and what is known
//! of the frames that they handed over.

use units::Instant;
use wire::openflow::DatapathId;

use crate::mastery::{Claim, QUESTION, Standing};
use crate::northbound::{Event, Statistics, SwitchStatistics};
use crate::packet_in_classes::PacketInClasses;
use crate::session::Slot;
use crate::version10::Sides;

use super::{Context, Tables, Topology};

/// What is known of how switches speak with us.
#[derive(Debug)]
pub struct Southbound {
    pub standing: Standing,
    /// The latest term that a switch knows beyond ours.
    pub later_term: Option<u64>,
    /// What a switch of version 1.0 has said, in words of 1.3; kept for its memory.
    pub heard: Vec<u8>,
    /// The frames of switches whose connections are gone.
    pub punts: PacketInClasses,
}

impl Southbound {
    pub const fn new(now: Instant, claim: Claim) -> Self {
        Self {
            standing: Standing::Alone(claim),
            later_term: None,
            heard: Vec::new(),
            punts: PacketInClasses::new(now),
        }
    }

    /// Returns what was counted, and asks switches what they have counted since.
    pub fn statistics(&self, ctx: &mut Context, tables: &mut Tables) -> Statistics {
        let mut all = self.punts;
        let mut switches = Vec::new();
        for (_, session) in ctx.sessions.iter() {
            all.add(&session.punts);
            let telemetry = &session.telemetry;
            switches.extend(session.datapath().map(|datapath| SwitchStatistics {
                datapath,
                frames: session.punts.counts().collect(),
                wanted_entries: tables.desired.count(datapath),
                ports: telemetry.ports.said.clone(),
                tables: telemetry.tables.said.clone(),
                flows: telemetry.flows.said.clone(),
            }));
        }
        switches.sort_by_key(|switch| switch.datapath);
        tables.ask_for_counts(ctx);
        Statistics {
            counters: ctx.counters,
            frames: all.counts().collect(),
            switches,
        }
    }

    /// Takes in that another controller is the master of a switch.
    pub fn other_master(
        &mut self,
        ctx: &mut Context,
        topology: &mut Topology,
        datapath: DatapathId,
    ) {
        match &mut self.standing {
            Standing::Alone(claim) => claim.has_lost = true,
            Standing::Standby => {}
            // Whether it is so, the store says.
            Standing::Leads(epoch) => self.later_term = self.later_term.max(Some(epoch.number + 1)),
        }
        ctx.promises_changed();
        if topology.others.insert(datapath) {
            let name = ctx.name_of_switch(datapath);
            ctx.outbox.notify(Event::OtherMaster { datapath, name });
        }
    }

    /// Asks the switches that have us as their master whether that is so yet: nobody tells
    /// who is none any more.
    pub fn ask_for_roles(ctx: &mut Context) {
        let ready = ctx.sessions.ready();
        let masters = ready.filter(|(_, slot)| {
            let session = ctx.sessions.get(*slot);
            session.is_some_and(|session| session.is_master)
        });
        let masters: Vec<Slot> = masters.map(|(_, slot)| slot).collect();
        for slot in masters {
            let transaction = wire::openflow::TransactionId(0);
            QUESTION.emit_request(transaction, ctx.outbox.to(slot));
        }
    }

    /// Returns what translators answer in the place of their switches.
    pub fn translate_all(ctx: &mut Context) -> Vec<(Slot, Vec<u8>)> {
        let mut answers = Vec::new();
        for place in 0..ctx.sessions.narrow().len() {
            let slot = ctx.sessions.narrow()[place];
            let mut answer = Vec::new();
            Self::translate_for(ctx, slot, &mut answer);
            if !answer.is_empty() {
                answers.push((slot, answer));
            }
        }
        answers
    }

    /// Puts what a connection is told last into the words of its switch.
    pub fn translate_last_words(ctx: &mut Context, slot: Slot) {
        // Nobody is there any more whom an answer would concern.
        Self::translate_for(ctx, slot, &mut Vec::new());
    }

    fn translate_for(ctx: &mut Context, slot: Slot, answer: &mut Vec<u8>) {
        let Some(session) = ctx.sessions.get_mut(slot) else {
            return;
        };
        let Some(translator) = &mut session.translator else {
            return;
        };
        if translator.has_words() {
            ctx.outbox.to(slot);
        } else if !ctx.outbox.has_fresh(slot) {
            return;
        }
        ctx.outbox.rewrite(slot, |fresh, out| {
            translator.take_words(out);
            let mut sides = Sides {
                controller: answer,
                switch: out,
            };
            translator.say(fresh, &mut sides);
        });
    }
}
