//! What holds for any flows in any order on a ring with detours.

use proptest::prelude::*;

use super::*;

/// Switches in the ring on which random flows are laid.
const SWITCHES: u32 = 4;

proptest! {
    /// Whatever is admitted and withdrawn, what is left is what admitting only
    /// those that stayed would have given.
    #[test]
    fn withdrawing_restores_exactly(flows in prop::collection::vec((flow(), any::<bool>()), 1..12)) {
        let mut with = Ledger::new(ring());
        let mut without = Ledger::new(ring());
        let mut stayed = Vec::new();
        let mut left = Vec::new();
        for (request, stays) in flows {
            match (with.admit(request.clone()), stays) {
                (Ok(_), true) => stayed.push(request),
                (Ok(admitted), false) => left.push(admitted.id),
                (Err(_), _) => {}
            }
        }

        for id in left {
            with.withdraw(id).unwrap();
        }

        for request in stayed {
            without.admit(request).unwrap();
        }
        for stage in (0..4 * SWITCHES).map(StageId) {
            prop_assert_eq!(with.load(stage), without.load(stage));
        }
    }

    /// Whatever is admitted, one by one or in batches, asked for and withdrawn, in
    /// whatever order: what is left is what admitting only the survivors gives.
    #[test]
    fn any_history_leaves_what_its_survivors_reserve(
        history in prop::collection::vec((event(), any::<prop::sample::Index>()), 1..16),
    ) {
        let mut ledger = Ledger::new(ring());
        let mut there: Vec<(FlowId, Request)> = Vec::new();
        for (event, which) in history {
            match event {
                Event::AdmitEach(requests) => {
                    let decisions = ledger.admit_each(requests.clone());
                    let admitted = decisions.into_iter().zip(requests);
                    there.extend(admitted.filter_map(|(a, request)| Some((a.ok()?.id, request))));
                }
                Event::AdmitAll(requests) => {
                    if let Ok(admitted) = ledger.admit_all(requests.clone()) {
                        there.extend(admitted.into_iter().map(|a| a.id).zip(requests));
                    }
                }
                Event::WhatIf(requests) => drop(ledger.what_if(&requests)),
                Event::Withdraw if !there.is_empty() => {
                    let (id, request) = there.remove(which.index(there.len()));
                    prop_assert_eq!(ledger.withdraw(id), Some(request));
                }
                Event::Withdraw => {}
            }
        }

        let mut of_survivors = Ledger::new(ring());
        for (_, request) in there.into_iter().rev() {
            of_survivors.admit(request).unwrap();
        }
        for stage in (0..4 * SWITCHES).map(StageId) {
            prop_assert_eq!(ledger.load(stage), of_survivors.load(stage));
        }
    }

    /// Whether all of a batch fit does not depend on their order.
    #[test]
    fn a_batch_fits_in_any_order_or_in_none(requests in flows(6)) {
        let backwards = requests.iter().rev().cloned().collect();

        let fits = Ledger::new(ring()).admit_all(requests).is_ok();

        prop_assert_eq!(fits, Ledger::new(ring()).admit_all(backwards).is_ok());
    }

    /// A check leaves nothing behind, and its answer is what admitting says.
    #[test]
    fn checking_changes_nothing(requests in flows(8)) {
        let mut ledger = Ledger::new(ring());
        for request in requests {
            let before = ledger.clone();

            let checked = ledger.check(&request);

            prop_assert!(ledger == before);
            let admitted = ledger.admit(request);
            prop_assert_eq!(checked, admitted.map(|admitted| admitted.guarantee));
        }
    }

    /// What a refusal says would fit is admitted, and one unit more is not.
    #[test]
    fn what_would_fit_fits_and_no_more(requests in flows(16)) {
        let mut ledger = Ledger::new(ring());
        for request in requests {
            let Err(refusal) = ledger.admit(request.clone()) else { continue };
            let rate_bps = refusal.fits.rate.map_or(0, BitRate::as_bps);
            let below_a_frame = request.largest_frame.as_bits() - 1;
            let burst_bits = refusal.fits.burst.map_or(below_a_frame, DataSize::as_bits);
            let with_rate = |bps| Request { rate: BitRate::from_bps(bps), ..request.clone() };
            let with_burst = |bits| Request { burst: DataSize::from_bits(bits), ..request.clone() };

            if rate_bps > 0 {
                prop_assert!(ledger.check(&with_rate(rate_bps)).is_ok());
            }
            prop_assert!(ledger.check(&with_rate(rate_bps + 1)).is_err());
            if burst_bits > below_a_frame {
                prop_assert!(ledger.check(&with_burst(burst_bits)).is_ok());
            }
            prop_assert!(ledger.check(&with_burst(burst_bits + 1)).is_err());
        }
    }

    /// No promise breaks another: whatever has been admitted, each bound that is
    /// computed from all of it is within its budget, also under failures.
    #[test]
    fn every_bound_stays_within_its_budget(requests in flows(16)) {
        let mut ledger = Ledger::new(ring());
        let admitted: Vec<_> = requests.into_iter().filter_map(|r| ledger.admit(r).ok()).collect();

        for Admitted { id, .. } in admitted {
            for hop in ledger.explain(id).unwrap().hops {
                prop_assert!(hop.bound <= hop.budget, "{hop:?}");
            }
        }
    }

    /// Sound: budgets that are suggested admit all that they were suggested for.
    /// Tight: without headroom each is the bound that is then reached, but for
    /// less than a nanosecond.
    #[test]
    fn suggested_budgets_are_enough_and_no_more(mut requests in flows(6)) {
        for request in &mut requests {
            request.deadline = MAX_DELAY;
        }
        let none = Headroom::default();
        let Some(stages) = suggest_budgets(&without_budgets(ring()), &[], &requests, none) else { return Ok(()) };
        let mut ledger = Ledger::new(stages);

        let admitted: Vec<_> = requests.into_iter().map(|r| ledger.admit(r).unwrap()).collect();

        for Admitted { id, .. } in admitted {
            for hop in ledger.explain(id).unwrap().hops {
                prop_assert!(hop.budget - hop.bound < Delay::from_ns(1), "{hop:?}");
            }
        }
    }

    /// Budgets with headroom are no smaller than those without.
    #[test]
    fn headroom_only_adds(requests in flows(4)) {
        let suggest = |percent| suggest_budgets(&without_budgets(ring()), &[], &requests, Headroom { percent });
        let Some(roomy) = suggest(20) else { return Ok(()) };

        let tight = suggest(0).unwrap();

        for (roomy, tight) in roomy.iter().zip(&tight) {
            for class in 0..8 {
                prop_assert!(roomy.budget(class) >= tight.budget(class));
            }
        }
    }
}

/// A ring: processors, then ports clockwise, ports the other way round, and ports
/// to a host at each switch. Link `i` joins switch `i` and the next.
pub(super) fn ring() -> Vec<Stage> {
    let pair = switches(1);
    let count = usize::try_from(SWITCHES).unwrap();
    let mut stages = vec![pair[0].clone(); count];
    stages.extend(vec![pair[1].clone(); 3 * count]);
    stages
}

#[derive(Clone, Copy, Debug)]
enum Way {
    Clockwise,
    Back,
}

/// Returns the stages from switch `from` over `links` links to a host.
fn around(from: u32, links: u32, way: Way) -> Tree {
    let mut stages = Vec::new();
    let mut at = from;
    for _ in 0..links {
        match way {
            Way::Clockwise => {
                stages.extend([at, SWITCHES + at]);
                at = (at + 1) % SWITCHES;
            }
            Way::Back => {
                stages.extend([at, 2 * SWITCHES + at]);
                at = (at + SWITCHES - 1) % SWITCHES;
            }
        }
    }
    stages.extend([at, 3 * SWITCHES + at]);
    path(&stages)
}

/// Returns the stages of frames that go `from` there clockwise until they meet the broken
/// link, the `met`-th, and are turned back; the way round the ring has `links` links.
fn turned_back(from: u32, met: u32, links: u32) -> Tree {
    let there = (0..met).flat_map(|at| {
        let switch = (from + at) % SWITCHES;
        [switch, SWITCHES + switch]
    });
    let back = around((from + met) % SWITCHES, SWITCHES - links + met, Way::Back);
    Tree::path(
        there
            .map(StageId)
            .chain(back.hops.iter().map(|hop| hop.stage)),
    )
}

/// Adds a leaf at the host of each switch that the tree passes.
fn with_every_host(mut tree: Tree) -> Tree {
    let processors = tree
        .hops
        .iter()
        .enumerate()
        .filter(|(_, hop)| hop.stage.0 < SWITCHES);
    let mut leaves: Vec<_> = processors
        .map(|(at, hop)| Hop {
            stage: StageId(3 * SWITCHES + hop.stage.0),
            parent: Some(at),
        })
        .collect();
    leaves.pop(); // The last switch has it already.
    tree.hops.extend(leaves);
    tree
}

#[derive(Clone, Debug)]
enum Event {
    AdmitEach(Vec<Request>),
    AdmitAll(Vec<Request>),
    WhatIf(Vec<Request>),
    Withdraw,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        flows(3).prop_map(Event::AdmitEach),
        flows(3).prop_map(Event::AdmitAll),
        flows(2).prop_map(Event::WhatIf),
        Just(Event::Withdraw),
        Just(Event::Withdraw),
    ]
}

pub(super) fn flows(most: usize) -> impl Strategy<Value = Vec<Request>> {
    prop::collection::vec(flow(), 1..=most)
}

prop_compose! {
    pub(super) fn flow()(
        (from, links, multicast) in (0..SWITCHES, 0..SWITCHES, any::<bool>()),
        (class, rate_kbps, frames) in (1u8..8, 1u64..20_000, 1u64..4),
        (smallest, more) in (84u64..800, 0u64..739),
        deadline_us in 200u64..20_000,
        (protection, has_peak) in (0u8..5, any::<bool>()),
    ) -> Request {
        let shape = |tree| if multicast { with_every_host(tree) } else { tree };
        let detour = shape(around(from, SWITCHES - links, Way::Back));
        let is_local = protection == 4 && !multicast;
        let mut alternatives: Vec<_> = (0..links)
            .map(|met| {
                let tree = if is_local { turned_back(from, met, links) } else { detour.clone() };
                (FailureId((from + met) % SWITCHES), tree)
            })
            .collect();
        alternatives.sort_by_key(|(failure, _)| *failure);
        alternatives.retain(|_| protection < 2 || is_local);
        let largest_frame = DataSize::from_bytes(smallest + more);
        Request {
            class,
            rate: BitRate::from_bps(rate_kbps * 1_000),
            burst: largest_frame * frames,
            peak: has_peak.then(|| TokenBucket::new(BitRate::from_bps(rate_kbps * 3_000), largest_frame)),
            frames: None,
            largest_frame,
            smallest_frame: DataSize::from_bytes(smallest),
            deadline: Delay::from_us(deadline_us),
            initial: LINK.time_to_send(largest_frame),
            base: shape(around(from, links, Way::Clockwise)),
            alternatives,
            is_held_back: false,
            redundant: (protection == 2 && links > 0 && !multicast).then(|| {
                let eliminator = Some(StageId((from + links) % SWITCHES));
                let tree = around(from, SWITCHES - links, Way::Back);
                let hold = Delay::from_us(deadline_us % 300);
                Box::new(Redundant { tree, eliminator, hold })
            }),
        }
    }
}
