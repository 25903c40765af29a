//! Who stamps the frames of a measurement, and what the ports could do beside.

use lab::tester::LinkTester;
use linux::interface::{Stamping, Ways};

use super::Failure;

/// Whose stamps are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Wanted {
    /// The kernel's, at the driver.
    Kernel,
    /// Those of the network cards.
    Hardware,
}

/// Makes sure that a tester stamps frames as wanted. Returns what is to be known of it.
pub fn settle(tester: &LinkTester, wanted: Option<Wanted>) -> Result<Vec<String>, Failure> {
    let ports = tester.stampings();
    match wanted {
        None | Some(Wanted::Kernel) => Ok(spare_cards(&ports)),
        Some(Wanted::Hardware) => Err(Failure::Lacking(format!(
            "stamps of cards are not read yet, for none was at hand to hold them against a known \
             delay ({}): --stamps kernel",
            told(&ports)
        ))),
    }
}

/// Says which cards could stamp frames and do not.
fn spare_cards(ports: &[(String, Option<Stamping>)]) -> Vec<String> {
    let able = |stamping: &Stamping| stamping.by_card == Ways::Both;
    let cards = ports
        .iter()
        .filter(|(_, stamping)| stamping.as_ref().is_some_and(able));
    cards
        .map(|(name, _)| {
            format!(
                "The card of {name} could stamp frames itself, which is not used: the kernel's \
                 stamps include the card and its interrupts."
            )
        })
        .collect()
}

fn told(ports: &[(String, Option<Stamping>)]) -> String {
    let each = ports.iter().map(|(name, stamping)| match stamping {
        Some(stamping) => format!("{name}: {stamping}"),
        None => format!("{name}: its driver does not say"),
    });
    each.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamping(by_card: Ways, clock: Option<u32>) -> Option<Stamping> {
        Some(Stamping {
            by_card,
            by_driver: Ways::Both,
            clock,
        })
    }

    #[test]
    fn cards_that_could_do_better_are_named_and_no_others() {
        let ports = [
            ("eth0".to_owned(), stamping(Ways::Both, Some(0))),
            ("eth1".to_owned(), stamping(Ways::Sent, Some(1))),
            ("veth0".to_owned(), stamping(Ways::Neither, None)),
            ("odd0".to_owned(), None),
        ];

        let said = spare_cards(&ports);

        assert_eq!(said.len(), 1);
        assert!(said[0].contains("card of eth0"), "{}", said[0]);
        let told = told(&ports);
        assert!(
            told.contains("eth1: its card can stamp what is sent (clock 1)"),
            "{told}"
        );
        assert!(told.ends_with("odd0: its driver does not say"), "{told}");
    }
}
