use proptest::prelude::*;
use units::BitRate;
use wire::openflow::TransactionId;
use wire::openflow10::{Actions, FlowMod, Message};

use super::*;

#[test]
fn a_frame_without_an_entry_goes_to_the_controller() {
    let mut switch = ZodiacFx::new(Profile::ZODIAC_FX, DatapathId(1));
    let frame = frame_with_tag(5);

    let sent = sent_after(
        &mut switch,
        Input::Frame {
            port: PortNumber(2),
            frame: frame.clone(),
        },
    );

    let [Sent::Control(bytes)] = &sent[..] else {
        panic!("{sent:?}")
    };
    let (_, message) = Message::parse(bytes).unwrap();
    let Message::PacketIn(packet_in) = message else {
        panic!("{message:?}")
    };
    assert_eq!(
        (packet_in.in_port, packet_in.data),
        (PortNumber(2), &frame.bytes[..])
    );
}

#[test]
fn a_flood_leaves_by_every_other_port() {
    let mut switch = ZodiacFx::new(Profile::ZODIAC_FX, DatapathId(1));
    let actions = [wire::openflow10::Action::output(PortNumber::FLOOD)];
    let add = FlowMod {
        actions: Actions::of(&actions),
        ..FlowMod::ADD
    };
    sent_after(&mut switch, Input::Control(bytes_of(Message::FlowMod(add))));

    let sent = sent_after(
        &mut switch,
        Input::Frame {
            port: PortNumber(2),
            frame: frame_with_tag(5),
        },
    );

    let ports: Vec<_> = sent.iter().map(port_of).collect();
    assert_eq!(ports, [PortNumber(1), PortNumber(3)]);
}

#[test]
fn the_native_port_takes_no_frames_of_the_data_plane() {
    let mut switch = ZodiacFx::new(Profile::ZODIAC_FX, DatapathId(1));

    let sent = sent_after(
        &mut switch,
        Input::Frame {
            port: NATIVE_PORT,
            frame: frame_with_tag(5),
        },
    );

    assert_eq!(sent, []);
}

/// 645 Mbit/s at 1470 bytes, LOKO section 2.3.
#[test]
fn the_other_device_of_the_paper_has_its_throughput() {
    let Profile {
        work: profile::ProcessorWork::Flat {
            fixed, per_byte, ..
        },
        ..
    } = Profile::BANANA_PI_R1
    else {
        panic!("a processor with an operating system")
    };
    let frame = DataSize::from_bytes(1_470);

    let rate = BitRate::of(frame, fixed + per_byte * 1_470u64).unwrap();

    let printed = BitRate::from_mbps(645).as_bps();
    assert!(rate.as_bps().abs_diff(printed) * 100 < printed, "{rate}");
}

/// LOKO Fig. 6a: the checks that the paper turns off.
#[test]
fn port_checks_delay_a_message_every_1500_ms() {
    let profile = Profile {
        port_checks: Some(Duration::from_ms(1)),
        ..Profile::ZODIAC_FX
    };
    let mut switch = ZodiacFx::new(profile, DatapathId(1));
    let mut reply_time = |at: Instant| {
        let barrier = bytes_of(Message::BarrierRequest);
        switch.handle(at, Input::Control(barrier));
        switch.handle(at + Duration::from_ms(200), Input::Timeout);
        let reply = switch.poll().expect("a barrier is answered");
        reply.begins.saturating_since(at)
    };

    let during = reply_time(Instant::ZERO + Duration::from_us(1_500_200));
    let after = reply_time(Instant::ZERO + Duration::from_us(1_800_200));

    assert_eq!(after, Duration::from_us(92));
    assert!(during > after + Duration::from_us(700), "{during}");
}

proptest! {
    /// What goes in comes out, is lost where the switch counts it, or is still
    /// in it; and the same inputs give the same outputs.
    #[test]
    fn no_frame_is_forgotten(gaps in prop::collection::vec(0u64..60_000, 1..200)) {
        let run = || {
            let mut switch = ZodiacFx::new(Profile::ZODIAC_FX, DatapathId(1));
            let actions = [wire::openflow10::Action::output(PortNumber(3))];
            let add = FlowMod { actions: Actions::of(&actions), ..FlowMod::ADD };
            sent_after(&mut switch, Input::Control(bytes_of(Message::FlowMod(add))));
            let mut now = Instant::ZERO + Duration::from_ms(500);
            for (tag, gap) in (0..).zip(&gaps) {
                now += Duration::from_ns(*gap);
                switch.handle(now, Input::Frame { port: PortNumber(1), frame: frame_with_tag(tag) });
            }
            switch.handle(now + Duration::from_ms(500), Input::Timeout);
            let outputs: Vec<_> = std::iter::from_fn(|| switch.poll()).collect();
            (outputs, switch.losses())
        };

        let (outputs, losses) = run();

        let lost = losses.before_link + losses.before_processor + losses.behind_processor;
        prop_assert_eq!(outputs.len() as u64 + lost, gaps.len() as u64);
        prop_assert!(outputs.is_sorted_by_key(|output| output.begins));
        prop_assert_eq!(run(), (outputs, losses));
    }
}

fn frame_with_tag(tag: u64) -> Frame {
    let bytes = frame::datagram(
        ([10, 0, 0, 1].into(), 1_000),
        ([10, 0, 0, 2].into(), 2_000),
        DataSize::from_bytes(306),
    );
    Frame { bytes, tag }
}

fn bytes_of(message: Message<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.emit(TransactionId(1), &mut bytes);
    bytes
}

fn sent_after(switch: &mut ZodiacFx, input: Input) -> Vec<Sent> {
    let now = switch.now;
    switch.handle(now, input);
    switch.handle(now + Duration::from_ms(100), Input::Timeout);
    std::iter::from_fn(|| switch.poll())
        .map(|output| output.sent)
        .collect()
}

fn port_of(sent: &Sent) -> PortNumber {
    match sent {
        Sent::Frame { port, .. } => *port,
        Sent::Control(_) => NATIVE_PORT,
    }
}
