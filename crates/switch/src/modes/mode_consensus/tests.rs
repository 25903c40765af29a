use proptest::prelude::*;

use super::*;

const HOLD: Duration = Duration::from_ms(100);
const HIGH: Level = Level::HIGHEST;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_ms(ms)
}

fn level(number: u8) -> Level {
    Level::new(number).unwrap()
}

fn agreement(number: u64) -> ModeConsensus {
    ModeConsensus::new(DatapathId(number), HOLD)
}

fn told(by: &ModeConsensus) -> Heard {
    Heard {
        mode: by.mode(),
        origin: by.origin(),
    }
}

#[test]
fn a_demand_raises_the_level_once() {
    let mut switch = agreement(1);

    let first = switch.demand(at(1), level(2));
    let again = switch.demand(at(2), level(2));
    let less = switch.demand(at(3), level(1));

    let mode = Mode {
        era: 0,
        level: level(2),
    };
    assert_eq!(first, ConsensusStep::Enter(mode));
    assert_eq!((again, less), (ConsensusStep::Stay, ConsensusStep::Stay));
    assert_eq!(switch.mode(), mode);
}

#[test]
fn a_neighbour_that_is_behind_is_told() {
    let (mut ahead, mut behind) = (agreement(1), agreement(2));
    ahead.demand(at(1), level(1));

    assert_eq!(ahead.hear(at(2), told(&behind)), ConsensusStep::Answer);
    assert_eq!(
        behind.hear(at(2), told(&ahead)),
        ConsensusStep::Enter(ahead.mode())
    );
    assert_eq!(behind.origin(), DatapathId(1));
    assert_eq!(behind.hear(at(3), told(&ahead)), ConsensusStep::Stay);
}

#[test]
fn the_level_falls_only_after_the_hold_time() {
    let mut switch = agreement(1);
    switch.demand(at(10), level(1));

    let soon = switch.lower(at(109), Level::LOWEST);
    let later = switch.lower(at(110), Level::LOWEST);

    assert_eq!(soon, Err(StayReason::NotQuiet(at(110))));
    let lowered = Mode {
        era: 1,
        level: Level::LOWEST,
    };
    assert_eq!(later, Ok(ConsensusStep::Enter(lowered)));
}

/// The switch that begins the new era knows nothing of a violation elsewhere; the
/// one that saw it raises the level again.
#[test]
fn a_violation_is_not_lost_on_the_way_back() {
    let (mut one, mut other) = (agreement(1), agreement(2));
    one.demand(at(0), level(1));
    other.hear(at(1), told(&one));
    other.demand(at(150), level(1));

    one.lower(at(151), Level::LOWEST).unwrap();
    let undone = other.hear(at(152), told(&one));

    let raised = Mode {
        era: 1,
        level: level(1),
    };
    assert_eq!(undone, ConsensusStep::Enter(raised));
    assert_eq!(
        one.hear(at(153), told(&other)),
        ConsensusStep::Enter(raised)
    );
}

#[test]
fn a_locked_switch_counts_and_follows_others() {
    let (mut locked, mut other) = (agreement(1), agreement(2));
    locked.restrain(Restraint::Locked);
    other.demand(at(0), level(1));

    assert_eq!(locked.demand(at(0), HIGH), ConsensusStep::Stay);
    assert_eq!(locked.disregarded(), 1);
    assert_eq!(
        locked.hear(at(1), told(&other)),
        ConsensusStep::Enter(other.mode())
    );
}

#[test]
fn a_forced_level_outdoes_what_flows_demanded() {
    let mut switch = agreement(1);
    switch.demand(at(0), HIGH);

    let forced = switch.force(Level::LOWEST);

    let lowest = Mode {
        era: 1,
        level: Level::LOWEST,
    };
    assert_eq!(forced, Ok(ConsensusStep::Enter(lowest)));
    assert_eq!(switch.held_until(at(1), Level::LOWEST), None);
}

#[test]
fn a_mode_whose_rules_are_not_complete_is_agreed_on_but_not_served() {
    let mut switch = agreement(1);
    switch.set_complete(level(1), true);
    switch.set_default(level(1));

    switch.demand(at(0), level(2));
    let meanwhile = switch.serves();
    switch.set_complete(level(2), true);

    assert_eq!(switch.mode().level, level(2));
    assert_eq!(meanwhile, level(1));
    assert_eq!(switch.serves(), level(2));
}

#[test]
fn a_default_whose_rules_are_not_complete_either_is_no_better() {
    let mut switch = agreement(1);
    switch.set_default(level(1));

    switch.demand(at(0), level(2));
    let neither = switch.serves();
    switch.set_complete(level(1), true);

    assert_eq!(neither, Level::LOWEST);
    assert_eq!(switch.serves(), level(1));
}

#[test]
fn eras_do_not_begin_again() {
    let mut switch = agreement(1);
    let last = Mode {
        era: u32::MAX,
        level: HIGH,
    };
    switch.hear(
        at(0),
        Heard {
            mode: last,
            origin: DatapathId(9),
        },
    );

    assert_eq!(
        switch.lower(at(1), Level::LOWEST),
        Err(StayReason::NotLower)
    );
    assert_eq!(switch.mode(), last);
}

/// What happens in a network of switches, one thing after the other.
#[derive(Clone, Debug)]
enum Happening {
    Demand {
        switch: usize,
        level: u8,
    },
    Lower {
        switch: usize,
        level: u8,
    },
    Restart {
        switch: usize,
    },
    /// A frame that was sent some time ago arrives, perhaps not for the first time.
    Arrive {
        frame: usize,
        switch: usize,
    },
}

fn happening(switches: usize) -> impl Strategy<Value = Happening> {
    let switch = 0..switches;
    prop_oneof![
        (switch.clone(), 1..LEVELS).prop_map(|(switch, level)| Happening::Demand { switch, level }),
        (switch.clone(), 0..LEVELS).prop_map(|(switch, level)| Happening::Lower { switch, level }),
        switch
            .clone()
            .prop_map(|switch| Happening::Restart { switch }),
        (any::<usize>(), switch).prop_map(|(frame, switch)| Happening::Arrive { frame, switch }),
    ]
}

proptest! {
    /// Whatever was lost, repeated, reordered or forgotten: once neighbours in a line
    /// hear each other as often as the line is long, all hold one mode, and it is
    /// at least what was demanded within the hold time by switches that run since.
    #[test]
    fn all_switches_end_up_in_the_same_mode(
        happenings in prop::collection::vec((0u64..40, happening(6)), 0..60),
    ) {
        let mut line: Vec<ModeConsensus> = (0..6).map(agreement).collect();
        let mut frames: Vec<Heard> = Vec::new();
        let mut now = at(0);
        let mut demanded: Vec<(usize, Instant, u8)> = Vec::new();
        for (pause, happening) in happenings {
            now += Duration::from_ms(pause);
            match happening {
                Happening::Demand { switch, level: number } => {
                    line[switch].demand(now, level(number));
                    demanded.push((switch, now, number));
                }
                Happening::Lower { switch, level: number } => {
                    let _ = line[switch].lower(now, level(number));
                }
                Happening::Restart { switch } => {
                    line[switch] = agreement(switch as u64);
                    demanded.retain(|(whose, ..)| *whose != switch);
                }
                Happening::Arrive { frame, switch } if !frames.is_empty() => {
                    let heard = frames[frame % frames.len()];
                    let before = line[switch].mode();
                    line[switch].hear(now, heard);
                    prop_assert!(line[switch].mode() >= before);
                }
                Happening::Arrive { .. } => {}
            }
            frames.extend(line.iter().map(told));
        }

        for _ in 0..2 * line.len() {
            for one in 1..line.len() {
                let (left, right) = line.split_at_mut(one);
                let (left, right) = (&mut left[one - 1], &mut right[0]);
                right.hear(now, told(left));
                left.hear(now, told(right));
            }
        }

        let mode = line[0].mode();
        prop_assert!(line.iter().all(|switch| switch.mode() == mode));
        for (_, when, number) in demanded {
            prop_assert!(now >= when + HOLD || mode.level >= level(number));
        }
    }
}
