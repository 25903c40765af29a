use super::*;
use crate::openflow::Message;
use crate::openflow::taktos::{Answer, Question};

fn session(port: u32, kind: Option<AuthenticationKind>) -> PortSession {
    PortSession {
        port: PortNumber(port),
        session: SessionConfig {
            encapsulation: match kind {
                None => Encapsulation::Ethernet,
                Some(_) => Encapsulation::Ipv4(Neighbours {
                    local: Ipv4Addr::new(10, 0, 0, 1),
                    remote: Ipv4Addr::new(10, 0, 0, 2),
                }),
            },
            desired_min_tx_us: 1_000,
            required_min_rx_us: 2_000,
            detect_multiplier: 3,
            heart_beat_us: if kind.is_none() { 350 } else { 0 },
            authentication: kind.map(|kind| Authentication {
                kind,
                key: 9,
                secret: Secret::new(kind, b"abc").unwrap(),
            }),
        },
    }
}

#[test]
fn a_session_stands_in_forty_eight_bytes() {
    let mut expected = vec![4, 4, 0, 64, 0, 0, 0, 9, 0, 6, 0x74, 0x6b, 0, 0, 0, 10];
    expected.extend([0, 0, 0, 1, 1, 3, 5, 9, 0, 0, 3, 0xe8, 0, 0, 7, 0xd0]);
    expected.extend([10, 0, 0, 1, 10, 0, 0, 2, 3, 0, 0, 0]);
    expected.extend(b"abc");
    expected.extend([0; 17]);
    let wanted = [session(1, Some(AuthenticationKind::MeticulousKeyedSha1))];
    let sessions = Sequence::of(&wanted);
    let mut out = Vec::new();

    BfdConfig { sessions }.emit(TransactionId(9), &mut out);

    assert_eq!(out, expected);
    let read = Message::parse(&out).unwrap().1;
    let Message::Bfd(read) = read else {
        panic!("{read:?}");
    };
    let read: Vec<_> = read.sessions.iter().map(Result::unwrap).collect();
    assert_eq!(read, wanted);
}

#[test]
fn sessions_of_every_kind_are_read_as_they_were_written() {
    for kind in [
        None,
        Some(AuthenticationKind::SimplePassword),
        Some(AuthenticationKind::KeyedSha1),
    ] {
        let mut out = Vec::new();
        session(7, kind).emit(&mut out);

        assert_eq!(PortSession::parse(&out).unwrap().0, session(7, kind));
    }
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let mut good = Vec::new();
    session(1, Some(AuthenticationKind::SimplePassword)).emit(&mut good);
    for (at, byte) in [(4, 2), (6, 2), (6, 9), (24, 0), (24, 17), (24, 21)] {
        let mut bytes = good.clone();
        bytes[at] = byte;

        let error = PortSession::parse(&bytes).unwrap_err();
        assert_eq!(error.kind(), BfdFailed::BadSession.into_kind(), "{at}");
    }
    assert_eq!(
        PortSession::parse(&good[..47]).unwrap_err(),
        DecodeError::Length
    );
}

#[test]
fn a_report_stands_in_a_hundred_and_thirty_six_bytes() {
    let report = BfdReport {
        port: PortNumber(1),
        state: State::Up,
        remote_state: State::Init,
        diagnostic: Diagnostic(1),
        remote_diagnostic: Diagnostic(3),
        is_live: true,
        owner: SessionOwner::Switch,
        stand_in: StandIn::Lacking(95),
        stand_ins: 258,
        my_discriminator: 2,
        your_discriminator: 3,
        interval: Duration::from_ns(4),
        detection_time: Duration::from_ns(5),
        counters: BfdCounters {
            sent: 6,
            received: 7,
            malformed: 8,
            hopped: 9,
            misdirected: 10,
            forged: 11,
            replayed: 12,
            demanding: 13,
            ups: 14,
            downs: 15,
            damped: 16,
            silences: 17,
        },
    };
    let mut expected = vec![0, 0, 0, 1, 3, 2, 1, 3, 1, 1, 2, 95, 0, 0, 1, 2];
    expected.extend([0, 0, 0, 2, 0, 0, 0, 3]);
    for number in 4..=17 {
        expected.extend([0, 0, 0, 0, 0, 0, 0, number]);
    }
    let mut data = Vec::new();

    let reports = [report];
    let answer = Answer::Sessions(Sequence::of(&reports));
    let body = answer.body(&mut data);

    assert_eq!((body.kind, body.data), (11, &expected[..]));
    assert_eq!(body.data.len(), 136);
    assert_eq!(
        Question::of(&Question::Sessions.body()),
        Some(Question::Sessions)
    );
    let Ok(Some(Answer::Sessions(read))) = Answer::parse(&body) else {
        panic!("another answer");
    };
    assert_eq!(read.iter().map(Result::unwrap).collect::<Vec<_>>(), reports);
}
