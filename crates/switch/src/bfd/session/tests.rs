use std::collections::BTreeMap;

use proptest::prelude::*;
use wire::bfd::{Encapsulation, Secret};

use super::*;

const DELAY: Duration = Duration::from_us(20);

fn config(us: u32, multiplier: u8) -> SessionConfig {
    SessionConfig {
        heart_beat_us: 0,
        encapsulation: Encapsulation::Ethernet,
        desired_min_tx_us: us,
        required_min_rx_us: us,
        detect_multiplier: multiplier,
        authentication: None,
    }
}

fn keyed(secret: &[u8]) -> SessionConfig {
    let kind = AuthenticationKind::MeticulousKeyedSha1;
    SessionConfig {
        authentication: Some(Authentication {
            kind,
            key: 1,
            secret: Secret::new(kind, secret).unwrap(),
        }),
        ..config(1_000, 3)
    }
}

/// Two ends, and what is on the way between them.
struct Pair {
    now: Instant,
    ends: [Session; 2],
    /// By when it arrives, where, and which it is.
    way: BTreeMap<(Instant, usize, u64), Vec<u8>>,
    sent: u64,
    /// Which ends are not heard.
    mute: [bool; 2],
    /// What each end sent, with when.
    trace: [Vec<(Instant, Vec<u8>)>; 2],
}

impl Pair {
    fn new(configs: [SessionConfig; 2]) -> Self {
        let now = Instant::ZERO;
        let [one, other] = configs;
        Self {
            now,
            ends: [Session::new(now, one, 1), Session::new(now, other, 2)],
            way: BTreeMap::new(),
            sent: 0,
            mute: [false; 2],
            trace: [Vec::new(), Vec::new()],
        }
    }

    fn drain(&mut self, end: usize) {
        self.ends[end].advance(self.now);
        while let Some((packet, proof)) = self.ends[end].take(self.now) {
            let mut bytes = Vec::new();
            packet.emit(proof.as_ref().map(|(how, it)| (how, *it)), &mut bytes);
            self.trace[end].push((self.now, bytes.clone()));
            self.sent += 1;
            if !self.mute[end] {
                self.way
                    .insert((self.now + DELAY, 1 - end, self.sent), bytes);
            }
        }
    }

    fn run_for(&mut self, time: Duration) {
        let until = self.now + time;
        for end in [0, 1] {
            self.drain(end);
        }
        loop {
            let due = [0, 1].map(|end| self.ends[end].deadline().unwrap_or(Instant::FAR_FUTURE));
            let arrival = self
                .way
                .keys()
                .next()
                .map_or(Instant::FAR_FUTURE, |it| it.0);
            let next = arrival.min(due[0]).min(due[1]);
            if next > until {
                break;
            }
            self.now = self.now.max(next);
            if arrival == next {
                let ((_, to, _), bytes) = self.way.pop_first().unwrap();
                let _ = self.ends[to].receive(self.now, &bytes);
                self.drain(to);
            } else {
                self.drain(usize::from(due[1] == next));
            }
        }
        self.now = until;
    }

    fn states(&self) -> [State; 2] {
        [0, 1].map(|end| self.ends[end].state())
    }

    fn up(configs: [SessionConfig; 2]) -> Self {
        let mut pair = Self::new(configs);
        pair.run_for(Duration::from_secs(3));
        assert_eq!(pair.states(), [State::Up; 2]);
        pair
    }

    /// Returns when an end sent what, from `from` on.
    fn sent_from(&self, end: usize, from: Instant) -> Vec<(Instant, ControlPacket)> {
        let sent = self.trace[end].iter().filter(|(at, _)| *at >= from);
        sent.map(|(at, bytes)| (*at, ControlPacket::parse(bytes).unwrap().0))
            .collect()
    }
}

/// RFC 5880 section 6.8.3: slow until both are up, then as agreed on.
#[test]
fn two_ends_come_up_and_send_as_fast_as_the_slower_one_takes() {
    let pair = Pair::up([config(1_000, 3), config(4_000, 5)]);

    assert_eq!(pair.ends[0].interval(), Duration::from_ms(4));
    assert_eq!(pair.ends[0].detection_time(), Some(Duration::from_ms(20)));
    assert_eq!(pair.ends[1].detection_time(), Some(Duration::from_ms(12)));
    assert!(pair.ends.iter().all(|end| !end.polls && !end.owes_final));
}

/// RFC 5880 section 6.8.7: without respect to any timer. Others send no sooner as they say
/// than they have the answer.
#[test]
fn a_poll_is_answered_at_once() {
    let mut pair = Pair::up([config(50_000, 3), config(50_000, 3)]);
    let [mine, yours] = pair.ends[0].discriminators();
    // Something new was said before its time not long ago.
    pair.ends[0].prompt_from = pair.now + Duration::from_secs(1);
    let poll = ControlPacket {
        flags: Flags::POLL,
        my_discriminator: yours,
        your_discriminator: mine,
        ..pair.sent_from(1, Instant::ZERO).last().unwrap().1
    };
    let mut bytes = Vec::new();
    poll.emit(None, &mut bytes);

    pair.ends[0].receive(pair.now, &bytes).unwrap();

    let (answer, _) = pair.ends[0].take(pair.now).unwrap();
    assert_eq!(answer.flags, Flags::FINAL);
}

/// RFC 5880 section 6.8.7: a quarter of the interval is left out at most.
#[test]
fn packets_are_sent_at_intervals_with_a_random_part_left_out() {
    let mut pair = Pair::up([config(1_000, 3), config(1_000, 3)]);
    let from = pair.now;
    pair.run_for(Duration::from_secs(1));

    let sent = pair.sent_from(0, from);
    let gaps: Vec<_> = sent.windows(2).map(|two| two[1].0 - two[0].0).collect();
    let within = Duration::from_us(750)..=Duration::from_us(1_000);
    assert!(gaps.iter().all(|gap| within.contains(gap)), "{gaps:?}");
    let longest = gaps.iter().max().unwrap();
    let shortest = gaps.iter().min().unwrap();
    assert!(*longest > Duration::from_us(950) && *shortest < Duration::from_us(800));
}

#[test]
fn a_neighbour_that_misses_one_packet_is_sent_them_early() {
    let mut pair = Pair::up([config(1_000, 1), config(1_000, 1)]);
    let from = pair.now;
    pair.run_for(Duration::from_secs(1));

    let sent = pair.sent_from(0, from);
    let longest = sent.windows(2).map(|two| two[1].0 - two[0].0).max();
    assert!(longest.unwrap() <= Duration::from_us(900));
    assert_eq!(pair.ends.each_ref().map(|end| end.counters.downs), [0; 2]);
}

/// RFC 5880 section 6.8.3: shorter times of one's own hold at once, longer ones when the
/// neighbour has said that it knows.
#[test]
fn times_change_by_a_poll_without_the_session_going_down() {
    let mut pair = Pair::up([config(1_000, 3), config(1_000, 3)]);
    let from = pair.now;

    pair.ends[0].configure(config(10_000, 3));
    assert_eq!(pair.ends[0].interval(), Duration::from_ms(1));
    pair.run_for(Duration::from_ms(100));

    assert_eq!(pair.ends[0].interval(), Duration::from_ms(10));
    assert_eq!(pair.ends[1].detection_time(), Some(Duration::from_ms(30)));
    let polled = pair.sent_from(0, from);
    assert!(polled.iter().any(|(_, it)| it.flags.contains(Flags::POLL)));
    let answered = pair.sent_from(1, from);
    assert!(answered.iter().any(|(_, it)| it.flags == Flags::FINAL));

    pair.ends[0].configure(config(1_000, 3));
    pair.run_for(Duration::from_ms(100));
    assert_eq!(pair.ends[0].interval(), Duration::from_ms(1));
    assert_eq!(pair.ends.each_ref().map(|end| end.counters.downs), [0; 2]);
}

#[test]
fn silence_in_one_direction_takes_both_ends_down() {
    for mute in [[true, false], [false, true], [true, true]] {
        let mut pair = Pair::up([config(1_000, 3), config(1_000, 3)]);
        pair.mute = mute;
        pair.way.clear();
        pair.run_for(Duration::from_ms(3) + DELAY * 2u64);

        assert!(pair.ends.iter().all(|end| !end.is_live()), "{mute:?}");
        let deaf = usize::from(mute[0]);
        let diagnostic = Diagnostic::DETECTION_TIME_EXPIRED;
        assert_eq!(pair.ends[deaf].diagnostics()[0], diagnostic, "{mute:?}");
        if mute[1 - deaf] == mute[deaf] {
            continue;
        }
        let told = pair.ends[1 - deaf].diagnostics();
        assert_eq!(told, [Diagnostic::NEIGHBOUR_DOWN, diagnostic]);

        pair.mute = [false; 2];
        pair.run_for(Duration::from_secs(3));
        assert_eq!(pair.states(), [State::Up; 2]);
        assert!(pair.ends.iter().all(Session::is_live));
    }
}

#[test]
fn whoever_was_held_up_takes_nobody_for_silent_and_then_listens() {
    let mut pair = Pair::up([config(1_000, 3), config(1_000, 3)]);
    let (now, [mine, yours]) = (pair.now, pair.ends[0].discriminators());
    let stalled = now + Duration::from_ms(50);

    pair.ends[0].advance(stalled);
    assert_eq!(pair.ends[0].state(), State::Up);
    // A packet that came meanwhile.
    let packet = ControlPacket {
        state: State::Up,
        my_discriminator: yours,
        your_discriminator: mine,
        ..pair.sent_from(1, Instant::ZERO).last().unwrap().1
    };
    let mut bytes = Vec::new();
    packet.emit(None, &mut bytes);
    pair.ends[0].receive(stalled, &bytes).unwrap();
    while pair.ends[0].take(stalled).is_some() {}

    // Behind it there is silence, of which it hears in time.
    let mut now = stalled;
    while pair.ends[0].state() == State::Up {
        now = pair.ends[0].deadline().unwrap();
        pair.ends[0].advance(now);
        while pair.ends[0].take(now).is_some() {}
    }
    assert_eq!(now, stalled + Duration::from_ms(3));
}

/// RFC 5882 section 3.2.
#[test]
fn nothing_is_made_of_a_neighbour_that_is_not_there_or_is_switched_off() {
    let mut alone = Pair::new([config(1_000, 3), config(1_000, 3)]);
    alone.mute = [true; 2];
    alone.run_for(Duration::from_secs(10));
    assert!(alone.ends.iter().all(Session::is_live));

    let mut pair = Pair::up([config(1_000, 3), config(1_000, 3)]);
    pair.ends[0].end();
    pair.run_for(Duration::from_ms(100));
    assert!(pair.ends[0].has_ended());
    assert_eq!(pair.ends[1].state(), State::Down);
    assert_eq!(pair.ends[1].remote_state(), State::AdminDown);
    assert!(pair.ends[1].is_live());
}

#[test]
fn a_lost_carrier_is_no_path_until_the_session_is_up_again() {
    let mut pair = Pair::up([config(1_000, 3), config(1_000, 3)]);

    let now = pair.now;
    pair.ends[0].lose_path(now);
    assert!(!pair.ends[0].is_live());
    assert_eq!(pair.ends[0].diagnostics()[0], Diagnostic::PATH_DOWN);
    pair.run_for(Duration::from_secs(3));

    assert_eq!(pair.states(), [State::Up; 2]);
    assert!(pair.ends[0].is_live());
}

#[test]
fn packets_that_may_not_count_do_not_and_are_told_apart() {
    let mut pair = Pair::up([config(1_000, 3), config(1_000, 3)]);
    let [mine, yours] = pair.ends[0].discriminators();
    let good = ControlPacket {
        diagnostic: Diagnostic::NONE,
        state: State::Down,
        flags: Flags::default(),
        detect_multiplier: 3,
        my_discriminator: yours,
        your_discriminator: mine,
        desired_min_tx_us: 1_000,
        required_min_rx_us: 1_000,
        required_min_echo_rx_us: 0,
    };
    let now = pair.now;
    let mut hand = |packet: ControlPacket, proof: Option<&Authentication>| {
        let mut bytes = Vec::new();
        packet.emit(proof.map(|it| (it, SequenceNumber(1))), &mut bytes);
        pair.ends[0].receive(now, &bytes)
    };

    let guessed = ControlPacket {
        your_discriminator: mine ^ 1,
        ..good
    };
    assert_eq!(hand(guessed, None), Err(Fault::Misdirected));
    let nobody = ControlPacket {
        my_discriminator: 0,
        ..good
    };
    assert_eq!(hand(nobody, None), Err(Fault::Malformed));
    let demand = ControlPacket {
        flags: Flags::DEMAND,
        ..good
    };
    assert_eq!(hand(demand, None), Err(Fault::Demanding));
    let unasked = keyed(b"key").authentication;
    assert_eq!(hand(good, unasked.as_ref()), Err(Fault::Forged));
    assert_eq!(
        pair.ends[0].receive(now, b"nonsense"),
        Err(Fault::Malformed)
    );
    assert_eq!(pair.states(), [State::Up; 2]);
}

#[test]
fn who_has_another_key_or_none_never_comes_up() {
    for other in [keyed(b"other"), config(1_000, 3)] {
        let mut pair = Pair::new([keyed(b"key"), other]);
        pair.run_for(Duration::from_secs(10));

        assert_eq!(pair.states(), [State::Down; 2]);
        assert_eq!(pair.ends[0].counters.received, 0);
    }
    Pair::up([keyed(b"key"), keyed(b"key")]);
}

#[test]
fn what_was_recorded_counts_no_second_time() {
    let mut pair = Pair::up([keyed(b"key"), keyed(b"key")]);
    let recorded: Vec<_> = pair.trace[1]
        .iter()
        .map(|(_, bytes)| bytes.clone())
        .collect();
    for bytes in &recorded {
        let heard = pair.ends[0].receive(pair.now, bytes);
        assert!(matches!(heard, Err(Fault::Replayed | Fault::Misdirected)));
    }
    assert_eq!(pair.ends[0].state(), State::Up);

    // Nor when the neighbour is gone, and the numbers are forgotten: no session comes up.
    pair.mute = [true; 2];
    pair.way.clear();
    for _ in 0..20 {
        pair.run_for(Duration::from_ms(500));
        for bytes in &recorded {
            let _ = pair.ends[0].receive(pair.now, bytes);
        }
        assert_ne!(pair.ends[0].state(), State::Up);
        assert!(!pair.ends[0].is_live());
    }
}

/// RFC 5880 section 6.7.4: the number of a packet wraps around like any other.
#[test]
fn numbers_wrap_around() {
    let mut pair = Pair::new([keyed(b"key"), keyed(b"key")]);
    for end in &mut pair.ends {
        end.sequence = u32::MAX - 50;
    }
    pair.run_for(Duration::from_secs(3));

    assert_eq!(pair.states(), [State::Up; 2]);
    assert!(pair.ends.iter().all(|end| end.sequence < 1 << 20));
    assert_eq!(pair.ends.each_ref().map(|end| end.counters.downs), [0; 2]);
}

#[test]
fn whoever_knows_the_discriminators_turns_the_port_seldom_and_is_answered_seldom() {
    let mut pair = Pair::up([config(1_000, 3), config(1_000, 3)]);
    let from = pair.now;
    let (mut turns, mut was_live) = (0, true);
    for round in 0..40_000 {
        pair.run_for(Duration::from_us(250));
        let [mine, yours] = pair.ends[0].discriminators();
        let forged = ControlPacket {
            diagnostic: Diagnostic::NONE,
            state: [State::Down, State::Init][round % 2],
            flags: Flags::POLL,
            detect_multiplier: 3,
            my_discriminator: yours.max(1),
            your_discriminator: mine,
            desired_min_tx_us: 1,
            required_min_rx_us: 1,
            required_min_echo_rx_us: 0,
        };
        let mut bytes = Vec::new();
        forged.emit(None, &mut bytes);
        let _ = pair.ends[0].receive(pair.now, &bytes);
        pair.drain(0);
        turns += u32::from(pair.ends[0].is_live() != was_live);
        was_live = pair.ends[0].is_live();
    }
    assert!(turns <= 20, "{turns} turns in ten seconds");
    assert!(pair.ends[0].counters.damped > 0);
    // Once an interval by itself, and once as an answer.
    let sent = pair.sent_from(0, from).len();
    assert!(sent <= 24_000, "{sent} packets in ten seconds");
}

proptest! {
    /// Whatever comes: an end is asked again, sends no more than it may, and a port whose
    /// session was never up stays live.
    #[test]
    fn no_packets_make_it_panic_or_send_without_end(
        packets in prop::collection::vec(
            (0u64..3_000_000, prop::collection::vec(any::<u8>(), 24..60), any::<bool>()), 0..60,
        ),
        us in 100u32..1_000_000, multiplier in 1u8..,
    ) {
        let mut session = Session::new(Instant::ZERO, config(us, multiplier), 7);
        let mut now = Instant::ZERO;
        for (later, mut bytes, aimed) in packets {
            now += Duration::from_ns(later);
            if aimed {
                bytes[0] = 0x20 | bytes[0] & 0x1f;
                bytes[1] &= 0xf8;
                bytes[3] = 24;
                bytes[8..12].copy_from_slice(&session.discriminator.to_be_bytes());
            }
            session.advance(now);
            let _ = session.receive(now, &bytes);
            let mut sent = 0;
            while session.take(now).is_some() {
                sent += 1;
            }
            prop_assert!(sent <= 3, "{sent} at once");
            prop_assert!(session.deadline().is_none_or(|due| due > now));
            prop_assert!(session.counters.ups > 0 || session.is_live());
        }
    }

    /// Sound and tight: packets that are lost now and then take nothing down; silence does
    /// within the detection time, and one packet that arrives puts it off.
    #[test]
    fn silence_is_noticed_in_time_and_losses_are_not_taken_for_it(
        (us, multiplier) in (500u32..50_000, 2u8..8),
        lost in prop::collection::vec(0u32..8, 20),
        random: u64,
    ) {
        let mut pair = Pair::up([config(us, multiplier), config(us, multiplier)]);
        for lost in lost {
            pair.mute = [true; 2];
            // One less than the multiplier may be lost, and one is at its latest.
            let silent = lost.min(u32::from(multiplier) - 2);
            pair.run_for(Duration::from_us((us * silent).into()));
            pair.mute = [false; 2];
            pair.run_for(Duration::from_us((us * 2).into()));
            prop_assert_eq!(pair.states(), [State::Up; 2]);
        }

        pair.run_for(Duration::from_ns(random % 1_000_000));
        let (cut_at, allowed) = (pair.now, Duration::from_us((us * u32::from(multiplier)).into()));
        pair.mute = [true; 2];
        let heard = pair.ends[0].heard.unwrap();
        pair.way.clear();
        pair.run_for((heard + allowed).saturating_since(cut_at).saturating_sub(Duration::from_ns(1)));
        prop_assert_eq!(pair.ends[0].state(), State::Up);
        pair.run_for(Duration::from_ns(1));
        prop_assert_eq!(pair.ends[0].state(), State::Down);
        prop_assert!(!pair.ends[0].is_live());
    }
}

/// Frames of others kept it up for long; who comes late then is given what he was late, once.
#[test]
fn a_late_look_behind_frames_of_others_is_put_off_once_and_by_no_more() {
    let mut pair = Pair::up([config(1_000, 3), config(1_000, 3)]);
    let last = pair.now + Duration::from_ms(100);
    let end = &mut pair.ends[0];
    end.hear_frame(last, false);
    let late = Duration::from_us(400);
    let expires = last + Duration::from_ms(3);
    while end.take(expires + late).is_some() {}

    end.advance(expires + late);

    assert_eq!(end.state(), State::Up);
    assert_eq!(end.expires(), Some(expires + late));
    end.advance(expires + late);
    assert_eq!(end.state(), State::Down);
}
