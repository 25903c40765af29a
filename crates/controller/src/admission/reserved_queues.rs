//! Queues that a level has for itself.
//!
//! When the level rises to `n`, frames of flows that `n` gives up, or serves less
//! urgently, may still wait at a port. Where our core queues them they are judged when
//! their turn comes; where the kernel does, they are sent. So for the bound of a change,
//! which counts none of them (`calculus::mode_change::Ahead::Reserved`), they have to
//! wait behind every frame of a flow that `n` serves. With `q_m` the queue of a flow at
//! level `m`, nothing where it is not served, at each port of its ways:
//!
//! ```text
//! for no two flows F and X and no m < n:   q_n(X) < q_n(F) <= q_m(X)
//! ```
//!
//! What of `X` is in queues above `q_n(F)` is what it brings at level `n` itself, as a
//! contract never shrinks with the level. So a flow that matters at a higher level has
//! to have a queue there that is more urgent than those of all that is given up for it.
//!
//! Frames of `F` itself that it sent at level `m` may still wait as well, in the queue of
//! that level. In whichever engine, these have their turn when nothing waits above them. So
//! a flow never moves up:
//!
//! ```text
//! for no flow F and no m < n:   q_m(F) < q_n(F)
//! ```
//!
//! What goes on then only moves down, and what is left of it in a queue `q_m(F) > q_n(F)`
//! waits for nothing but what goes on in queues from `q_n(F)` on, by both rules: the ledger of
//! level `n` counts that, and all of it, for its class. What moves up again when the level
//! falls waits in `q_n(F)` for flows that were in the same queues or above at level `n`, by
//! the first rule, and send less now.
//!
//! Signals of a change have the most urgent queue, and the bound counts no frame of a flow
//! in front of them: where the kernel queues, they would wait for those in the same queue.
//! So no flow is promised that uses it at any level.
//!
//! Nothing is asked where no bound of a change is promised: where the controller changes
//! the level, and where the bound is said to be nothing.

use std::collections::{BTreeMap, BTreeSet};

use calculus::admission::{Constraint, StageId};
use wire::mode_signal::Level;

use super::ReservationId;

const QUEUES: usize = 8;
/// The queue in which switches tell each other of a change.
const SIGNALS: u8 = 7;

/// The queue of a flow at each level, the lowest first; nothing where it is not served.
pub(super) type QueueAtLevels = Vec<(Level, Option<u8>)>;

/// How many flows are in a queue at a level, and how many may be left in it from a lower
/// level at which it was not for such.
#[derive(Clone, Copy, Debug, Default)]
struct Users {
    served: u32,
    left: u32,
}

/// Why nothing can be promised to a flow in these queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clash {
    pub(super) port: Option<StageId>,
    pub(super) level: Level,
    pub(super) constraint: Constraint,
}

/// Who uses which queue, at all ports and levels above the lowest.
#[derive(Clone, Debug, Default)]
pub(super) struct ReservedQueues {
    users: BTreeMap<(StageId, Level), [Users; QUEUES]>,
    flows: BTreeMap<ReservationId, (BTreeSet<StageId>, QueueAtLevels)>,
}

impl ReservedQueues {
    /// Has a flow use its queues at these ports.
    ///
    /// # Errors
    ///
    /// Why and where that cannot be, if the queues are none for such a flow, or frames that
    /// a level gives up would stand before frames that it serves. Nothing has changed then.
    pub(super) fn enter(
        &mut self,
        flow: ReservationId,
        ports: BTreeSet<StageId>,
        queues: QueueAtLevels,
    ) -> Result<(), Clash> {
        unfit(&queues).map_or(Ok(()), Err)?;
        for (level, served, left) in uses(&queues) {
            for port in &ports {
                let none = [Users::default(); QUEUES];
                let users = self.users.get(&(*port, level)).unwrap_or(&none);
                let clash = (0u8..).zip(users).find(|(queue, users)| {
                    (served == Some(*queue) && users.left > 0)
                        || (left.contains(queue) && users.served > 0)
                });
                if let Some((class, _)) = clash {
                    return Err(Clash {
                        port: Some(*port),
                        level,
                        constraint: Constraint::NotReserved { class },
                    });
                }
            }
        }
        self.count(&ports, &queues, |count| *count += 1);
        self.flows.insert(flow, (ports, queues));
        Ok(())
    }

    /// Takes back what a flow used.
    pub(super) fn leave(&mut self, flow: ReservationId) {
        if let Some((ports, queues)) = self.flows.remove(&flow) {
            self.count(&ports, &queues, |count| *count -= 1);
        }
    }

    fn count(&mut self, ports: &BTreeSet<StageId>, queues: &QueueAtLevels, by: impl Fn(&mut u32)) {
        for (level, served, left) in uses(queues) {
            for port in ports {
                let users = self.users.entry((*port, level)).or_default();
                if let Some(users) = served.and_then(|queue| users.get_mut(usize::from(queue))) {
                    by(&mut users.served);
                }
                for queue in &left {
                    if let Some(users) = users.get_mut(usize::from(*queue)) {
                        by(&mut users.left);
                    }
                }
            }
        }
    }
}

/// Returns why the queues of a flow are none that can be promised, whoever else there is.
fn unfit(queues: &QueueAtLevels) -> Option<Clash> {
    let served = queues
        .iter()
        .filter_map(|(level, queue)| Some((*level, (*queue)?)));
    let mut least: Option<u8> = None;
    for (level, class) in served {
        let below = least.filter(|below| *below < class);
        let constraint = match (class, below) {
            (SIGNALS, _) => Some(Constraint::ForSignals { class }),
            (_, Some(below)) => Some(Constraint::Overtaken { class, below }),
            (_, None) => None,
        };
        if let Some(constraint) = constraint {
            return Some(Clash {
                port: None,
                level,
                constraint,
            });
        }
        least = Some(least.map_or(class, |least| least.min(class)));
    }
    None
}

/// Returns for each level above the lowest in which queue a flow is, and in which others,
/// more urgent ones, frames of it may be left that it sent at lower levels.
fn uses(queues: &QueueAtLevels) -> impl Iterator<Item = (Level, Option<u8>, BTreeSet<u8>)> + '_ {
    queues
        .iter()
        .enumerate()
        .skip(1)
        .map(|(at, (level, queue))| {
            let lower = queues[..at].iter().filter_map(|(_, queue)| *queue);
            let first = queue.map_or(0, |queue| queue + 1);
            let left = lower.max().map(|most| (first..=most).collect());
            (*level, *queue, left.unwrap_or_default())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORT: StageId = StageId(3);

    #[test]
    fn a_favoured_flow_needs_a_queue_above_all_that_is_given_up() {
        for (queue, fits) in [(4, false), (5, false), (6, true)] {
            let mut queues = ReservedQueues::default();
            let film = queues.enter(ReservationId(0), ports(3), levels([Some(5), None]));
            let camera = queues.enter(ReservationId(1), ports(3), levels([Some(queue); 2]));

            assert_eq!(film, Ok(()));
            let expected = if fits {
                Ok(())
            } else {
                Err(not_reserved(queue))
            };
            assert_eq!(camera, expected, "queue {queue}");
        }
    }

    #[test]
    fn the_order_in_which_flows_come_does_not_matter() {
        let mut queues = ReservedQueues::default();
        let camera = queues.enter(ReservationId(1), ports(3), levels([Some(5); 2]));
        let film = queues.enter(ReservationId(0), ports(3), levels([Some(6), None]));
        let slower = queues.enter(ReservationId(2), ports(3), levels([Some(6), Some(4)]));
        let other = queues.enter(ReservationId(3), ports(3), levels([Some(4), None]));

        assert_eq!(camera, Ok(()));
        assert_eq!(film, Err(not_reserved(5)));
        assert_eq!(slower, Err(not_reserved(5)));
        assert_eq!(other, Ok(()));
    }

    #[test]
    fn flows_that_share_no_port_do_not_concern_each_other_and_none_is_left_behind() {
        let mut queues = ReservedQueues::default();
        queues
            .enter(ReservationId(0), ports(3), levels([Some(6), None]))
            .unwrap();

        assert!(
            queues
                .enter(ReservationId(1), ports(4), levels([Some(5); 2]))
                .is_ok()
        );
        assert!(
            queues
                .enter(ReservationId(2), ports(3), levels([Some(5); 2]))
                .is_err()
        );
        queues.leave(ReservationId(0));
        assert!(
            queues
                .enter(ReservationId(2), ports(3), levels([Some(5); 2]))
                .is_ok()
        );
    }

    #[test]
    fn a_flow_that_is_always_the_same_shares_its_queue_with_its_like() {
        let mut queues = ReservedQueues::default();

        for flow in 0..3 {
            let entered = queues.enter(ReservationId(flow), ports(3), levels([Some(6); 2]));
            assert_eq!(entered, Ok(()));
        }
    }

    #[test]
    fn a_flow_may_move_down_but_never_up_past_frames_of_its_own() {
        for (lower, higher, fits) in [
            ([Some(4), Some(5)], Some(5), false),
            ([Some(4), None], Some(5), false),
            ([Some(5), Some(4)], Some(5), false),
            ([None, Some(5)], Some(5), true),
            ([Some(6), Some(5)], Some(4), true),
            ([Some(4), Some(4)], None, true),
        ] {
            let mut known = ReservedQueues::default();
            let queues = Level::all().zip(lower.into_iter().chain([higher]));

            let entered = known.enter(ReservationId(0), ports(3), queues.collect());

            let overtaken = matches!(
                entered,
                Err(Clash {
                    port: None,
                    constraint: Constraint::Overtaken { class: 5, below: 4 },
                    ..
                })
            );
            assert_eq!((entered.is_ok(), overtaken), (fits, !fits), "{lower:?}");
        }
    }

    #[test]
    fn no_flow_uses_the_queue_of_signals_at_any_level() {
        for (at, queues) in [(0, [Some(7), None]), (1, [None, Some(7)])] {
            let mut known = ReservedQueues::default();

            let refused = known.enter(ReservationId(0), ports(3), levels(queues));

            let clash = Clash {
                port: None,
                level: Level::new(at).unwrap(),
                constraint: Constraint::ForSignals { class: 7 },
            };
            assert_eq!(refused, Err(clash));
        }
    }

    fn not_reserved(class: u8) -> Clash {
        Clash {
            port: Some(PORT),
            level: high(),
            constraint: Constraint::NotReserved { class },
        }
    }

    fn high() -> Level {
        Level::new(1).unwrap()
    }

    fn ports(stage: u32) -> BTreeSet<StageId> {
        BTreeSet::from([StageId(stage)])
    }

    fn levels(queues: [Option<u8>; 2]) -> QueueAtLevels {
        Level::all().zip(queues).collect()
    }
}
