use units::Seeded;

use super::*;
use crate::loko::SwitchModel;

const FRAME_SIZE: DataSize = DataSize::from_bytes(306);
/// LOKO Table 2.
const PROCESSING_TIME: Delay = Delay::from_ps(257_200_000);
const SWITCHES: u32 = 31;

/// LOKO Table 2 counts a packet's time in the integrated switch once less than a
/// stage does, and its delay is a little longer for that.
#[test]
fn parts_of_a_processor_are_as_large_as_those_of_the_paper() {
    let model = SwitchModel::zodiac_fx(FRAME_SIZE, PROCESSING_TIME);
    for part in [Fraction::FULL_RATE, Fraction::FIFTH_RATE] {
        let stages = allocate_part(&[zodiac()], part).unwrap();

        let budget = stages[0].budget(7).unwrap();
        let printed = model.allocate(part).unwrap().delay;
        let frame = model.service.rate.time_to_send(FRAME_SIZE);
        assert!(
            budget <= printed && budget + frame * 2u64 >= printed,
            "{budget}"
        );
    }
}

#[test]
fn a_buffer_without_room_for_a_frame_allows_no_part() {
    let mut stage = zodiac();
    let Stage::Processing { buffer_frames, .. } = &mut stage else {
        unreachable!()
    };
    *buffer_frames = Some(3);

    assert_eq!(allocate_part(&[stage.clone()], Fraction::FULL_RATE), None);
    assert!(allocate_part(&[stage], Fraction::FIFTH_RATE).is_some());
}

/// A burst of the size that the buffer holds is admitted at the rate that was set
/// aside, and a larger one is not.
#[test]
fn a_port_has_the_budget_for_the_burst_that_its_buffer_holds() {
    let link = BitRate::from_mbps(100);
    let mut budgets = [None; CLASSES];
    budgets[7] = Some(Delay::ZERO);
    let port = Stage::Port {
        rate: link,
        propagation: Delay::ZERO,
        budgets,
        buffers: [Some(Room::Size(DataSize::from_bytes(20_000))); CLASSES],
        largest_frame: DataSize::from_bytes(1_538),
    };
    let part = Fraction {
        numerator: 1,
        denominator: 2,
    };

    let stages = allocate_part(&[port], part).unwrap();

    let rate = BitRate::from_mbps(50);
    let mut request = expected(&[0], Delay::from_us(100_000));
    request.initial = Delay::ZERO;
    request.largest_frame = DataSize::from_bytes(1_538);
    request.rate = rate;
    let meanwhile = rate.most_in(link.time_to_send(DataSize::from_bytes(2 * 1_538)));
    request.burst = DataSize::from_bytes(20_000).checked_sub(meanwhile).unwrap();
    let mut ledger = Ledger::new(stages);
    assert!(ledger.admits(&request));
    request.burst += DataSize::from_bits(1);
    assert!(!ledger.admits(&request));
}

/// S4-9: under the deadlines that full-rate allocation gives, several times as
/// many flows over six switches of the ring.
#[test]
fn budgets_for_deadlines_admit_several_times_what_a_fixed_part_does() {
    let full_rate = SwitchModel::zodiac_fx(FRAME_SIZE, PROCESSING_TIME)
        .allocate(Fraction::FULL_RATE)
        .unwrap();
    let flows = requests_on_the_ring(6, full_rate.end_to_end(6));
    let stages = vec![zodiac(); SWITCHES.try_into().unwrap()];
    let (fitted_to, later) = flows.split_at(100);

    let allocation = allocate_for_deadlines(&stages, &[], fitted_to).unwrap();

    let admitted = count_admitted(&allocation.stages, &[], later).unwrap();
    // The paper's rule admits about eight of a hundred.
    assert!(
        admitted >= 3 * 8,
        "{admitted}, {:?}",
        allocation.of_deadline
    );
}

/// The processor of a Zodiac FX. A frame that meets no other takes the processing
/// time, and no two are closer than a frame takes in the processor.
fn zodiac() -> Stage {
    let model = SwitchModel::zodiac_fx(FRAME_SIZE, PROCESSING_TIME);
    let per_frame = model.service.rate.time_to_send(FRAME_SIZE);
    Stage::Processing {
        latency: PROCESSING_TIME,
        per_frame,
        fastest_per_frame: per_frame,
        budget: Delay::ZERO,
        buffer_frames: Some(model.buffer_frames),
    }
}

/// A hundred flows and a hundred more, from anywhere on the ring.
fn requests_on_the_ring(switches: u32, deadline: Delay) -> Vec<Request> {
    let mut random = Seeded::new(1);
    let mut next = |below: u32| u32::try_from(random.below(below.into())).unwrap();
    let mut request = || {
        let from = next(SWITCHES);
        let way: Vec<_> = (0..switches).map(|hop| (from + hop) % SWITCHES).collect();
        Request {
            rate: BitRate::from_bps(u64::from(750_000 + next(250_001))),
            ..expected(&way, deadline)
        }
    };
    (0..200).map(|_| request()).collect()
}

fn expected(way: &[u32], deadline: Delay) -> Request {
    Request {
        class: 7,
        rate: BitRate::from_bps(1_000_000),
        burst: FRAME_SIZE,
        peak: None,
        frames: None,
        largest_frame: FRAME_SIZE,
        smallest_frame: FRAME_SIZE,
        deadline,
        initial: Delay::ZERO,
        base: Tree::path(way.iter().copied().map(StageId)),
        alternatives: Vec::new(),
        is_held_back: false,
        redundant: None,
    }
}
