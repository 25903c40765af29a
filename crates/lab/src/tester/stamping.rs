//! Who stamps the frames at borrowed interfaces: their cards if all of them can, both ways,
//! else the kernel. Stamps of both kinds in one measurement would say nothing.

use linux::interface::{Stamping, Ways};
use linux::interface_guard::InterfaceGuard;

use super::TesterError;
use super::card_clocks::{CardClocks, ClockPlace};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampsWanted {
    /// The cards' if they can, else the kernel's.
    Best,
    /// The kernel's, at the driver.
    Kernel,
    /// The cards', or there is no tester.
    Hardware,
}

#[derive(Debug)]
pub(super) struct Chosen {
    /// The clock of each port's card, or none if the kernel stamps.
    pub(super) places: Option<Vec<ClockPlace>>,
    pub(super) clocks: CardClocks,
    /// What is to be known of it, a sentence or more each.
    pub(super) remarks: Vec<String>,
}

/// Chooses who stamps the frames of borrowed interfaces, and has their cards stamp if it is
/// them.
pub(super) fn choose(
    guards: &mut [InterfaceGuard],
    wanted: StampsWanted,
) -> Result<Chosen, TesterError> {
    let told: Vec<_> = guards
        .iter()
        .map(|guard| {
            let interface = guard.interface();
            (interface.name().to_owned(), interface.stamping())
        })
        .collect();
    let kernel = |remarks| Chosen {
        places: None,
        clocks: CardClocks::default(),
        remarks,
    };
    if wanted == StampsWanted::Kernel {
        return Ok(kernel(spare_cards(&told)));
    }
    match by_cards(guards, &told) {
        Ok((clocks, places)) => Ok(Chosen {
            remarks: vec![stamped(&told)],
            places: Some(places),
            clocks,
        }),
        Err(reason) if wanted == StampsWanted::Hardware => Err(TesterError::Stamps(reason)),
        Err(reason) => Ok(kernel(vec![format!(
            "The network cards do not stamp: {reason}."
        )])),
    }
}

/// What a port's driver says of stamps, by the name of the port.
type DriverStamping = (String, Option<Stamping>);

/// Has the cards stamp, or says which of them do not and why. Those that were told to are
/// told otherwise then.
fn by_cards(
    guards: &mut [InterfaceGuard],
    told: &[DriverStamping],
) -> Result<(CardClocks, Vec<ClockPlace>), String> {
    let numbers = clocks_of(told)?;
    let mut clocks = CardClocks::default();
    let mut places = Vec::new();
    for ((name, _), number) in told.iter().zip(numbers) {
        let place = clocks.open(number);
        places.push(place.map_err(|error| format!("{name}: {error}"))?);
    }
    let begun = guards.iter_mut().try_for_each(|guard| {
        let begun = guard.stamp_by_card();
        begun.map_err(|error| format!("{}: {error}", guard.interface().name()))
    });
    if begun.is_err() {
        guards.iter_mut().for_each(InterfaceGuard::stamp_as_before);
    }
    begun.map(|()| (clocks, places))
}

/// Returns the number of each card's clock if all cards can stamp both ways, or what they
/// lack.
fn clocks_of(told: &[DriverStamping]) -> Result<Vec<u32>, String> {
    let able = |stamping: &Stamping| match stamping.by_card {
        Ways::Both => stamping.clock,
        Ways::Neither | Ways::Sent | Ways::Received => None,
    };
    let numbers: Option<Vec<_>> = told
        .iter()
        .map(|(_, stamping)| stamping.as_ref().and_then(able))
        .collect();
    numbers.ok_or_else(|| {
        let each = told.iter().map(|(name, stamping)| match stamping {
            Some(stamping) => format!("{name}: {stamping}"),
            None => format!("{name}: its driver does not say who can stamp"),
        });
        each.collect::<Vec<_>>().join("; ")
    })
}

/// Says by which clocks ports are stamped.
fn stamped(told: &[DriverStamping]) -> String {
    let each = told.iter().filter_map(|(name, stamping)| {
        let clock = stamping.as_ref()?.clock?;
        Some(format!("{name} by clock {clock}"))
    });
    let each: Vec<_> = each.collect();
    format!(
        "The network cards stamp: {}. That was tried on no card before: connect two ports by a \
         cable and measure its latency before you believe it.",
        each.join(", ")
    )
}

/// Says which cards could stamp frames and do not.
fn spare_cards(told: &[DriverStamping]) -> Vec<String> {
    let able = |stamping: &Stamping| stamping.by_card == Ways::Both;
    let cards = told
        .iter()
        .filter(|(_, stamping)| stamping.as_ref().is_some_and(able));
    cards
        .map(|(name, _)| {
            format!(
                "The card of {name} could stamp frames itself, which is not wanted: the kernel's \
                 stamps include the card and its interrupts."
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(name: &str, by_card: Ways, clock: Option<u32>) -> DriverStamping {
        let stamping = Stamping {
            by_card,
            by_driver: Ways::Both,
            clock,
        };
        (name.to_owned(), Some(stamping))
    }

    #[test]
    fn cards_stamp_only_if_all_of_them_can_both_ways() {
        let [first, second] =
            [("eth0", 0), ("eth1", 0)].map(|(name, clock)| port(name, Ways::Both, Some(clock)));
        let sending = port("eth2", Ways::Sent, Some(1));
        let silent = ("odd0".to_owned(), None);

        let able = clocks_of(&[first.clone(), second]);
        let unable = clocks_of(&[first.clone(), sending]).unwrap_err();
        let unknown = clocks_of(&[first, silent]).unwrap_err();

        assert_eq!(able, Ok(vec![0, 0]));
        assert!(
            unable.contains("eth2: its card can stamp what is sent (clock 1)"),
            "{unable}"
        );
        assert!(
            unknown.ends_with("odd0: its driver does not say who can stamp"),
            "{unknown}"
        );
    }

    #[test]
    fn a_card_without_a_clock_that_can_be_read_does_not_stamp() {
        let without = port("eth0", Ways::Both, None);

        assert!(clocks_of(&[without]).is_err());
    }

    #[test]
    fn cards_that_could_do_better_are_named_and_no_others() {
        let ports = [
            port("eth0", Ways::Both, Some(0)),
            port("eth1", Ways::Sent, Some(1)),
            port("veth0", Ways::Neither, None),
            ("odd0".to_owned(), None),
        ];

        let said = spare_cards(&ports);

        assert_eq!(said.len(), 1);
        assert!(said[0].contains("card of eth0"), "{}", said[0]);
    }

    #[test]
    fn the_clock_of_each_port_is_named() {
        let said = stamped(&[
            port("eth0", Ways::Both, Some(0)),
            port("eth1", Ways::Both, Some(3)),
        ]);

        assert!(said.contains("eth0 by clock 0, eth1 by clock 3"), "{said}");
    }
}
