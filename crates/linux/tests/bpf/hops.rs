//! What counts as a frame of ours where frames leave, and what is believed of it.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::Ordering;

use linux::bpf::attachment::{Attachment, Preference};
use linux::bpf::map::MappedArray;
use linux::bpf::object::Object;
use linux::bpf::program::Program;
use linux::clock;
use linux::hold::Hold;
use linux::hop_watch::HopSpace;
use linux::port::KernelPort;
use linux::sender::{ClassId, Sender};
use switch::compiled::layout::{Region, hop};
use units::{Duration, Instant};

use crate::world::{Action, Cable, Probe, await_some, frame};

/// The program of `crates/linux/bpf/hops_probe.c`.
const PROBE: &[u8] = include_bytes!("../../bpf/hops_probe.o");
const PAYLOAD_AT: usize = 54;
const RECORDS: u32 = 64;
const SLOT: u64 = 5;
const TURN: u64 = 2;

/// A switch whose records are looked at, with one port on a cable.
struct Bench {
    records: MappedArray,
    space: HopSpace,
    cable: Cable,
    port: KernelPort,
    bouncing: (Hold, Attachment),
}

impl Bench {
    fn or_skip(test: &str) -> Option<Self> {
        Probe::load_or_skip(test)?;
        let cable = Cable::lay();
        let records = HopSpace::records(RECORDS).unwrap();
        let space = HopSpace::join(&records).unwrap();
        let port = cable
            .namespace
            .run(|| KernelPort::open(cable.near))
            .unwrap();
        space.know_port(&port).unwrap();
        space.want(true).unwrap();
        let bench = Self {
            records,
            space,
            bouncing: bouncing(&cable),
            cable,
            port,
        };
        bench.set(hop::DEVICE, u64::from(bench.cable.near) | (TURN + 1) << 32);
        Some(bench)
    }

    fn place(word: usize) -> usize {
        usize::try_from(SLOT).unwrap() * Region::Hops.record_words() + word
    }

    fn set(&self, word: usize, value: u64) {
        self.records.words()[Self::place(word)].store(value, Ordering::SeqCst);
    }

    fn get(&self, word: usize) -> u64 {
        self.records.words()[Self::place(word)].load(Ordering::SeqCst)
    }

    /// Frames that were counted with a stay, and without.
    fn counted(&self) -> (u64, u64) {
        let buckets = (0..hop::BUCKETS_COUNT).map(|bucket| self.get(hop::BUCKETS + bucket));
        (buckets.sum(), self.get(hop::UNTIMED))
    }

    /// Returns what all of this switch's records have.
    fn sum(&self) -> u64 {
        let words = self.records.words().iter().enumerate();
        let counted = words.filter(|(at, _)| {
            let word = at % Region::Hops.record_words();
            word >= hop::BUCKETS || word == hop::UNTIMED
        });
        counted.map(|(_, word)| word.load(Ordering::SeqCst)).sum()
    }

    fn mark(&self) -> Mark {
        Mark {
            sign: hop::MARK_SIGN,
            turn: TURN,
            space: self.space.number().into(),
            slot: SLOT,
        }
    }

    /// Sends a frame by the port.
    fn send(&self, mark: Mark, came: Instant) {
        send(&self.cable, mark, came);
    }
}

#[derive(Clone, Copy, Debug)]
struct Mark {
    sign: u64,
    turn: u64,
    space: u64,
    slot: u64,
}

impl Mark {
    fn word(self) -> u32 {
        let word = self.sign << hop::MARK_SIGN_AT
            | self.turn << hop::MARK_TURN_AT
            | self.space << hop::MARK_SPACE_AT
            | self.slot;
        u32::try_from(word).unwrap()
    }
}

/// Has a frame come by a cable that is sent back with a mark and a time.
fn send(cable: &Cable, mark: Mark, came: Instant) {
    send_many(cable, mark, came, 1);
}

/// The same, as if so many frames were one.
fn send_many(cable: &Cable, mark: Mark, came: Instant, frames: u32) {
    let mut sender = open(cable);
    let mut bytes = frame(Action::Pass, 1).to_vec();
    bytes.resize(PAYLOAD_AT + 16, 0);
    say(&mut bytes, mark, came, frames);
    sender.send(&bytes).unwrap();
}

fn open(cable: &Cable) -> Sender {
    let open = || Sender::open(cable.far, ClassId { major: 0, minor: 0 });
    cable.namespace.run(open).unwrap()
}

/// Sends three frames in one, which a card would have to cut.
fn send_uncut(cable: &Cable, mark: Mark, came: Instant) {
    const SEGMENT: u16 = 1_000;
    /// `virtio_net_hdr`: a checksum is left to the card, behind the network header, and so is
    /// to cut TCP over IPv4.
    const NEEDS_SUM: u8 = 1;
    const TCP4: u8 = 1;
    let mut sender = open(cable);
    prefix_headers(&sender).unwrap();
    let mut bytes = vec![NEEDS_SUM, TCP4];
    for number in [54, SEGMENT, 34, 16] {
        bytes.extend(number.to_ne_bytes());
    }
    let mut long = vec![0; PAYLOAD_AT + 3 * usize::from(SEGMENT)];
    long[..12].copy_from_slice(&frame(Action::Pass, 1)[..12]);
    // IPv4 of 20 bytes, of TCP, whose header has 20 bytes as well.
    let length = u16::try_from(long.len() - 14).unwrap().to_be_bytes();
    long[12..18].copy_from_slice(&[8, 0, 0x45, 0, length[0], length[1]]);
    long[22..24].copy_from_slice(&[64, 6]);
    long[46] = 0x50;
    say(&mut long, mark, came, 3);
    bytes.extend(long);
    sender.send(&bytes).unwrap();
}

/// Has a socket take a `virtio_net_hdr` in front of each frame.
fn prefix_headers(sender: &Sender) -> io::Result<()> {
    let yes: libc::c_int = 1;
    let length = u32::try_from(size_of::<libc::c_int>()).unwrap();
    // SAFETY: the kernel reads an integer.
    #[expect(unsafe_code, reason = "setsockopt")]
    let result = unsafe {
        libc::setsockopt(
            sender.as_fd().as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_VNET_HDR,
            (&raw const yes).cast(),
            length,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Writes into a frame with what it is to be sent back.
fn say(bytes: &mut [u8], mark: Mark, came: Instant, frames: u32) {
    let said = [
        mark.word(),
        low(came.as_ns()),
        low(came.as_ns() >> 32),
        frames,
    ];
    let said = said.iter().flat_map(|word| word.to_ne_bytes());
    let places = bytes.iter_mut().skip(PAYLOAD_AT).zip(said);
    places.for_each(|(to, byte)| *to = byte);
}

#[expect(clippy::cast_possible_truncation, reason = "a part is wanted")]
fn low(word: u64) -> u32 {
    word as u32
}

/// Has frames that come to the near end sent back there.
fn bouncing(cable: &Cable) -> (Hold, Attachment) {
    let object = Object::parse(PROBE).unwrap();
    let program = Program::load(&object, "bounce", &BTreeMap::new()).unwrap();
    cable.namespace.run(|| {
        let hold = Hold::take(cable.near).unwrap();
        let attachment = Attachment::attach(&program, &hold, Preference::Best).unwrap();
        (hold, attachment)
    })
}

#[test]
fn a_stay_is_from_the_time_that_the_frame_keeps_to_its_departure() {
    let test = "a_stay_is_from_the_time_that_the_frame_keeps_to_its_departure";
    let Some(bench) = Bench::or_skip(test) else {
        return;
    };
    let ago = Duration::from_ms(700);
    bench.set(hop::BUDGET, Duration::from_ms(600).as_ns());

    bench.send(
        bench.mark(),
        Instant::from_ns(clock::now().as_ns() - ago.as_ns()),
    );
    let long_after = clock::now();
    bench.send(bench.mark(), clock::now());

    await_some("two frames", || (bench.counted() == (2, 0)).then_some(()));
    let longest = Duration::from_ns(bench.get(hop::LONGEST));
    assert!(longest >= ago && longest <= ago + (clock::now() - long_after + ago));
    assert_eq!(
        (bench.get(hop::ABOVE), bench.get(hop::PEAK)),
        (1, longest.as_ns())
    );
    let all = bench.records.words()[hop::ABOVE].load(Ordering::SeqCst);
    assert_eq!(all, 1);
}

#[test]
fn a_time_that_makes_no_sense_is_not_believed_and_counted_apart() {
    let test = "a_time_that_makes_no_sense_is_not_believed_and_counted_apart";
    let Some(bench) = Bench::or_skip(test) else {
        return;
    };

    for came in [
        clock::now() + Duration::from_secs(3_600),
        Instant::from_ns(u64::MAX),
        Instant::ZERO,
    ] {
        bench.send(bench.mark(), came);
    }

    // A machine that was started less than an hour ago knows such a time as zero.
    let believed = u64::from(clock::now() <= Instant::ZERO + Duration::from_secs(3_600));
    await_some("three frames", || {
        (bench.counted() == (believed, 3 - believed)).then_some(())
    });
}

#[test]
fn marks_of_others_are_not_counted() {
    let test = "marks_of_others_are_not_counted";
    let Some(bench) = Bench::or_skip(test) else {
        return;
    };
    let own = bench.mark();
    let came = clock::now();
    let others = [
        Mark { sign: 0, ..own },
        Mark {
            sign: own.sign ^ 1,
            ..own
        },
        Mark {
            turn: TURN + 1,
            ..own
        },
        Mark {
            space: own.space ^ hop::MARK_SPACES,
            ..own
        },
        Mark {
            slot: SLOT + 1,
            ..own
        },
        Mark {
            slot: hop::MARK_RECORDS,
            ..own
        },
    ];

    for mark in others {
        bench.send(mark, came);
    }
    // In another namespace there is another cable whose ends have the same numbers.
    let elsewhere = Cable::lay();
    assert_eq!(elsewhere.near, bench.cable.near);
    let _bouncing = bouncing(&elsewhere);
    send(&elsewhere, own, came);
    bench.send(own, came);

    await_some("the one frame", || {
        (bench.counted() == (1, 0)).then_some(())
    });
    assert_eq!(bench.sum(), 1);
}

/// What was many frames in one has been cut on its way, or it would say how large they are.
#[test]
fn a_frame_that_was_cut_out_of_many_counts_as_one() {
    let test = "a_frame_that_was_cut_out_of_many_counts_as_one";
    let Some(bench) = Bench::or_skip(test) else {
        return;
    };

    send_many(&bench.cable, bench.mark(), clock::now(), 7);

    await_some("a frame", || (bench.counted() == (1, 0)).then_some(()));
}

#[test]
fn frames_that_are_still_one_count_as_many() {
    let test = "frames_that_are_still_one_count_as_many";
    let Some(bench) = Bench::or_skip(test) else {
        return;
    };

    send_uncut(&bench.cable, bench.mark(), clock::now());

    await_some("three frames", || (bench.counted() == (3, 0)).then_some(()));
}

#[test]
fn who_does_not_want_to_know_is_told_nothing() {
    let test = "who_does_not_want_to_know_is_told_nothing";
    let Some(bench) = Bench::or_skip(test) else {
        return;
    };
    let came = clock::now();
    bench.send(bench.mark(), came);
    await_some("a frame", || (bench.counted() == (1, 0)).then_some(()));

    let mark = bench.mark();
    let Bench {
        records,
        space,
        cable,
        port,
        bouncing,
    } = bench;
    drop(space);
    send(&cable, mark, came);
    drop((port, bouncing));

    let buckets = &records.words()[Bench::place(hop::BUCKETS)..][..hop::BUCKETS_COUNT];
    let counted = buckets.iter().map(|word| word.load(Ordering::SeqCst));
    assert_eq!(counted.sum::<u64>(), 1);
}
