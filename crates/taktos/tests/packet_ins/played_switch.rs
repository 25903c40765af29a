//! Controllers that are right and wrong in one way each, and what is said of them.

use proptest::prelude::*;
use units::{Duration, Instant};
use wire::openflow::oxm::Masked;
use wire::openflow::{
    Action, Actions, BufferId, DatapathId, Echo, FeaturesReply, Fields, FlowMod, Hello,
    Instruction, Instructions, MatchField, Message, PacketOut, PortNumber, TableId, TransactionId,
    first_message,
};
use wire::{ethernet, openflow10};

use crate::packet_ins::judge::Tally;
use crate::packet_ins::questions::host_port;
use crate::packet_ins::{Dialect, FRAME_LENGTH, PlayedSwitch, Population, SwitchPlan};

const POPULATION: Population = Population {
    switch: 2,
    hosts: 8,
};

/// How a controller of these tests answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    Rightly,
    WithTheFrameFirst,
    WithoutRules,
    ToTheWrongPort,
    ByFlooding,
}

#[test]
fn questions_that_got_their_rule_and_their_frame_are_answered() {
    for manner in [Manner::Rightly, Manner::WithTheFrameFirst] {
        for dialect in [Dialect::OpenFlow13, Dialect::OpenFlow10] {
            let tally = tally_of(20, dialect, manner);

            assert_eq!(
                (tally.asked, tally.answered),
                (20, 20),
                "{manner:?} {dialect:?}"
            );
            assert_eq!((tally.disordered, tally.stray), (0, 0));
        }
    }
}

#[test]
fn what_answers_only_half_of_a_question_answers_nothing() {
    let without_rules = tally_of(20, Dialect::OpenFlow13, Manner::WithoutRules);
    let astray = tally_of(20, Dialect::OpenFlow13, Manner::ToTheWrongPort);
    let flooded = tally_of(20, Dialect::OpenFlow13, Manner::ByFlooding);

    assert_eq!((without_rules.answered, without_rules.rules_lost), (0, 20));
    assert_eq!((astray.answered, astray.stray), (0, 40));
    assert_eq!((flooded.answered, flooded.flooded), (0, 20));
}

#[test]
fn a_switch_says_who_it_is_and_gives_signs_of_life() {
    let mut switch = played(Dialect::OpenFlow13);
    let (mut asked, mut said) = (Vec::new(), Vec::new());
    Hello::OURS.emit(TransactionId(1), &mut asked);
    FeaturesReply::emit_request(TransactionId(2), &mut asked);
    Echo { data: b"alive" }.emit_request(TransactionId(3), &mut asked);

    switch.take(at(0), &asked, &mut said).unwrap();

    assert!(switch.is_known());
    let first = first_message(&said).unwrap().unwrap();
    let (_, features) = Message::parse(first).unwrap();
    assert!(matches!(features, Message::FeaturesReply(it) if it.datapath == DatapathId(3)));
    let (_, echo) = Message::parse(&said[first.len()..]).unwrap();
    assert_eq!(echo, Message::EchoReply(Echo { data: b"alive" }));
}

#[test]
fn a_wait_lasts_from_when_the_question_was_due() {
    let mut switch = played(Dialect::OpenFlow13);
    let (mut questions, mut answers, mut out) = (Vec::new(), Vec::new(), Vec::new());
    switch.ask(at(10), &mut questions);
    answer(
        &questions,
        Dialect::OpenFlow13,
        Manner::Rightly,
        &mut answers,
    );

    switch.take(at(35), &answers, &mut out).unwrap();

    let waits = switch.finish().waits;
    assert_eq!(waits.max(), Some(Duration::from_us(25)));
}

proptest! {
    /// The same is found however the stream was cut.
    #[test]
    fn cuts_do_not_matter(pieces in prop::collection::vec(1usize..300, 1..60)) {
        let mut switch = played(Dialect::OpenFlow13);
        let (mut questions, mut answers, mut out) = (Vec::new(), Vec::new(), Vec::new());
        (0..30).for_each(|_| switch.ask(at(0), &mut questions));
        answer(&questions, Dialect::OpenFlow13, Manner::Rightly, &mut answers);

        let mut rest = &answers[..];
        for piece in pieces.iter().cycle() {
            let (now, later) = rest.split_at(rest.len().min(*piece));
            switch.take(at(1), now, &mut out).unwrap();
            rest = later;
            if rest.is_empty() {
                break;
            }
        }

        prop_assert_eq!(switch.finish().tally.answered, 30);
    }

    /// Whatever a controller sends, nothing is answered that was not asked.
    #[test]
    fn bytes_from_anywhere_answer_nothing(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut switch = played(Dialect::OpenFlow13);
        let mut out = Vec::new();

        // Whether the bytes can be cut into messages is not the point.
        let _ = switch.take(at(1), &bytes, &mut out);

        prop_assert_eq!(switch.finish().tally.answered, 0);
    }
}

fn played(dialect: Dialect) -> PlayedSwitch {
    PlayedSwitch::new(SwitchPlan {
        dialect,
        population: POPULATION,
    })
}

fn tally_of(count: usize, dialect: Dialect, manner: Manner) -> Tally {
    let mut switch = played(dialect);
    let (mut questions, mut answers, mut out) = (Vec::new(), Vec::new(), Vec::new());
    (0..count).for_each(|_| switch.ask(at(0), &mut questions));
    answer(&questions, dialect, manner, &mut answers);
    switch.take(at(1), &answers, &mut out).unwrap();
    assert!(out.is_empty(), "nothing was asked of the switch");
    switch.finish().tally
}

/// Appends the answers of a controller that knows where all hosts are.
fn answer(questions: &[u8], dialect: Dialect, manner: Manner, out: &mut Vec<u8>) {
    let mut rest = questions;
    while let Some(message) = first_message(rest).unwrap() {
        rest = &rest[message.len()..];
        let frame = &message[message.len() - FRAME_LENGTH..];
        let (header, _) = ethernet::Header::parse(frame).unwrap();
        let mut hosts = 0..POPULATION.hosts;
        let host = hosts.find(|host| POPULATION.mac(*host) == header.destination);
        let right = PortNumber(u32::from(host_port(host.unwrap())));
        let (rule_to, frame_to) = match manner {
            Manner::Rightly | Manner::WithTheFrameFirst => (Some(right), right),
            Manner::WithoutRules => (None, right),
            Manner::ToTheWrongPort => (Some(PortNumber(9)), PortNumber(9)),
            Manner::ByFlooding => (None, PortNumber::FLOOD),
        };
        if manner == Manner::WithTheFrameFirst {
            send(dialect, frame_to, frame, out);
        }
        if let Some(output) = rule_to {
            rule(dialect, &header, output, out);
        }
        if manner != Manner::WithTheFrameFirst {
            send(dialect, frame_to, frame, out);
        }
    }
}

fn rule(dialect: Dialect, header: &ethernet::Header, output: PortNumber, out: &mut Vec<u8>) {
    if dialect == Dialect::OpenFlow10 {
        let actions = [openflow10::Action::output(narrow(output))];
        let flow_mod = openflow10::FlowMod {
            matching: openflow10::Match10 {
                dl_dst: Some(header.destination),
                ..openflow10::Match10::ANY
            },
            actions: openflow10::Actions::of(&actions),
            ..openflow10::FlowMod::ADD
        };
        return flow_mod.emit(TransactionId(0), out);
    }
    let fields = [
        MatchField::EthDst(Masked::exact(header.destination)),
        MatchField::EthSrc(Masked::exact(header.source)),
    ];
    let actions = [Action::output(output)];
    let instructions = [Instruction::ApplyActions(Actions::of(&actions))];
    let flow_mod = FlowMod {
        matching: Fields::of(&fields),
        instructions: Instructions::of(&instructions),
        ..FlowMod::add(TableId(0))
    };
    flow_mod.emit(TransactionId(0), out);
}

fn send(dialect: Dialect, output: PortNumber, data: &[u8], out: &mut Vec<u8>) {
    let buffer = BufferId::NONE;
    if dialect == Dialect::OpenFlow10 {
        let actions = [openflow10::Action::output(narrow(output))];
        let packet_out = openflow10::PacketOut {
            buffer,
            in_port: openflow10::PortNumber::NONE,
            actions: openflow10::Actions::of(&actions),
            data,
        };
        return packet_out.emit(TransactionId(0), out);
    }
    let actions = [Action::output(output)];
    let packet_out = PacketOut {
        buffer,
        in_port: PortNumber::CONTROLLER,
        actions: Actions::of(&actions),
        data,
    };
    packet_out.emit(TransactionId(0), out);
}

fn narrow(port: PortNumber) -> openflow10::PortNumber {
    openflow10::PortNumber::from_of13(port).unwrap()
}

fn at(us: u64) -> Instant {
    Instant::ZERO + Duration::from_us(us)
}
