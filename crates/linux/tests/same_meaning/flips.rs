//! Whether frames see a bundle whole or not at all, while others change the tables.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use linux::sender::{ClassId, Sender};
use wire::ethernet::{EtherType, MacAddress};
use wire::openflow::oxm::{Masked, VlanMatch};
use wire::openflow::{
    Action, Actions, Bucket, Buckets, BundleAdd, BundleControl, BundleControlKind, BundleFlags,
    BundleId, FlowMod, FlowModCommand, GroupId, GroupMod, GroupModCommand, GroupType, Hello,
    Instruction, Instructions, MatchField, Message, PortNumber, Sequence, TableId, TransactionId,
};

use crate::case::{Setup, Step};
use crate::kernel::{Kernel, Way};
use crate::kernel_or_skip;
use crate::subject::{Leaving, Subject};

const FLIPS: u8 = 250;
const ROUNDS: usize = 4;
const GROUP: GroupId = GroupId(1);
/// The type of the frames; behind it stands who sent them.
const TYPE: [u8; 2] = [0x88, 0xb5];
const CROWD: u8 = 1;
const WITNESS: u8 = 2;
const OUT: u32 = 2;

#[test]
fn a_frame_sees_a_bundle_whole_or_not_at_all_and_after_the_answer_always() {
    let name = "a_frame_sees_a_bundle_whole_or_not_at_all";
    let Some(mut kernel) = kernel_or_skip(name, Way::Cable) else {
        return;
    };
    let class = ClassId { major: 0, minor: 0 };
    let [mut crowd, mut witness] =
        [1, 3].map(|port| Sender::open(kernel.cables.far(port), class).unwrap());
    let mut subject = begin(&mut kernel);
    let stop = AtomicBool::new(false);

    let mut arrived = Vec::new();
    thread::scope(|scope| {
        let _ends = Ends(&stop);
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let _ = crowd.send(&frame(CROWD, 0));
            }
        });
        for state in (0..ROUNDS).flat_map(|_| 1..=FLIPS) {
            for step in bundle(state, GroupModCommand::Modify, FlowModCommand::Modify) {
                subject.take(&step);
            }
            let _ = witness.send(&frame(WITNESS, state));
            arrived.extend(subject.engine().take_arrived());
        }
    });

    let senders: Vec<u8> = arrived.iter().map(check).collect();
    let crowd = senders.iter().filter(|sender| **sender == CROWD);
    assert!(crowd.count() > 100, "of {}", senders.len());
}

/// Ends what runs beside, also if the test fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Returns a switch whose tables are in the state of number 0.
fn begin(kernel: &mut Kernel) -> Subject<'_, Kernel> {
    let setup = Setup {
        ports: 3,
        tables: 2,
        masks: 64,
        room: 64,
        seed: 5,
        standalone: 0,
    };
    let mut subject = Subject::new(&setup, kernel);
    let mut hello = Vec::new();
    Hello::OURS.emit(TransactionId(0), &mut hello);
    subject.take(&Step::Connect(1));
    subject.take(&Step::Message(1, hello));
    for step in bundle(0, GroupModCommand::Add, FlowModCommand::Add) {
        subject.take(&step);
    }
    subject
}

fn frame(sender: u8, state: u8) -> Vec<u8> {
    let mut frame = vec![2; 60];
    frame[12..14].copy_from_slice(&TYPE);
    frame[14..16].copy_from_slice(&[sender, state]);
    frame
}

/// Returns who sent a frame, whose fields all have to be of one state.
fn check(leaving: &Leaving) -> u8 {
    let bytes = &leaving.bytes;
    assert_eq!((leaving.port, leaving.length), (OUT, 64), "{leaving:?}");
    assert_eq!(bytes[12..14], [0x81, 0x00]);
    let states = [bytes[5], bytes[11], bytes[15]];
    let (sender, sent_in) = (bytes[18], bytes[19]);
    assert!(states.iter().all(|it| *it == states[0]), "{states:?}");
    if sender == WITNESS {
        assert_eq!(states[0], sent_in, "the answer was there before");
    }
    sender
}

/// Returns a bundle that gives the tables and the group the state of a number: a
/// frame gets it in its destination in the first table, in its source in the second
/// one, in its VLAN in the group.
fn bundle(state: u8, group: GroupModCommand, entries: FlowModCommand) -> Vec<Step> {
    let address = Masked::exact(MacAddress([2, 0, 0, 0, 0, state]));
    let vlan = VlanMatch::tagged(u16::from(state));
    let in_group = [
        Action::PushVlan(EtherType::VLAN),
        Action::SetField(MatchField::VlanVid(Masked::exact(vlan))),
        Action::output(PortNumber(OUT)),
    ];
    let in_group = [Bucket::new(Actions::of(&in_group))];
    let first = [Action::SetField(MatchField::EthDst(address))];
    let first = [
        Instruction::ApplyActions(Actions::of(&first)),
        Instruction::GotoTable(TableId(1)),
    ];
    let second = [
        Action::SetField(MatchField::EthSrc(address)),
        Action::Group(GROUP),
    ];
    let second = [Instruction::ApplyActions(Actions::of(&second))];
    let entry = |table, instructions| {
        Message::FlowMod(FlowMod {
            command: entries,
            instructions: Instructions::of(instructions),
            ..FlowMod::add(TableId(table))
        })
    };
    let group = Message::GroupMod(GroupMod {
        command: group,
        kind: GroupType::Indirect,
        group: GROUP,
        buckets: Buckets::of(&in_group),
    });
    envelope(&[group, entry(0, &first[..]), entry(1, &second[..])])
}

fn envelope(messages: &[Message<'_>]) -> Vec<Step> {
    let (bundle, flags) = (BundleId(1), BundleFlags::ATOMIC);
    let step = |message: &Message<'_>| {
        let mut bytes = Vec::new();
        message.emit(TransactionId(1), &mut bytes);
        Step::Message(1, bytes)
    };
    let control = |kind| {
        step(&Message::BundleControl(BundleControl {
            bundle,
            kind,
            flags,
            properties: Sequence::EMPTY,
        }))
    };
    let mut steps = vec![control(BundleControlKind::OpenRequest)];
    for message in messages {
        let mut bytes = Vec::new();
        message.emit(TransactionId(1), &mut bytes);
        steps.push(step(&Message::BundleAdd(BundleAdd {
            bundle,
            flags,
            message: &bytes,
            properties: Sequence::EMPTY,
        })));
    }
    steps.push(control(BundleControlKind::CloseRequest));
    steps.push(control(BundleControlKind::CommitRequest));
    steps
}
