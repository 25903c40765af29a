//! What holds for any flows in any order on a small network with detours.

use proptest::prelude::*;

use super::*;

/// Switches in the ring on which random flows are laid.
const SWITCHES: u32 = 4;

proptest! {
    /// Whatever is admitted and withdrawn, what is left is what admitting only
    /// those that stayed would have given.
    #[test]
    fn withdrawing_restores_exactly(
        (staying, leaving) in (flows(6), flows(6)),
        order in any::<u64>(),
    ) {
        let mut with = Ledger::new(ring());
        let mut without = Ledger::new(ring());
        let mut stayed = Vec::new();
        let mut left = Vec::new();
        for (at, (stays, leaves)) in staying.into_iter().zip(leaving).enumerate() {
            if order >> at & 1 == 0 {
                left.extend(with.admit(leaves).map(|admitted| admitted.id));
                stayed.extend(with.admit(stays.clone()).map(|_| stays));
            } else {
                stayed.extend(with.admit(stays.clone()).map(|_| stays));
                left.extend(with.admit(leaves).map(|admitted| admitted.id));
            }
        }

        for id in left {
            with.withdraw(id).unwrap();
        }

        for stays in stayed {
            without.admit(stays).unwrap();
        }
        prop_assert!(with.has_same_loads(&without));
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
    /// computed from all of it is within its budget.
    #[test]
    fn every_bound_stays_within_its_budget(requests in flows(16)) {
        let mut ledger = Ledger::new(ring());
        let admitted: Vec<_> = requests
            .into_iter()
            .filter_map(|request| ledger.admit(request).ok())
            .collect();

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
    fn suggested_budgets_are_enough_and_no_more(mut requests in flows(8)) {
        for request in &mut requests {
            request.deadline = MAX_DELAY;
        }
        let none = Headroom::default();
        let Some(stages) = suggest_budgets(&ring(), &[], &requests, none) else { return Ok(()) };
        let mut ledger = Ledger::new(stages);

        let admitted: Result<Vec<_>, _> = requests.into_iter().map(|r| ledger.admit(r)).collect();

        let admitted = admitted.unwrap();
        for Admitted { id, .. } in admitted {
            for hop in ledger.explain(id).unwrap().hops {
                let slack = hop.budget - hop.bound;
                let of_processor = hop.budget;
                let _ = of_processor;
                prop_assert!(slack < Delay::from_ns(1), "{hop:?}");
            }
        }
    }
}
