//! Who is to stamp the frames of a measurement.

use lab::tester::StampsWanted;

/// Whose stamps are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum WantedStamps {
    /// The kernel's, at the driver.
    Kernel,
    /// Those of the network cards.
    Hardware,
}

/// Returns whose stamps a tester is to take.
pub fn wanted(chosen: Option<WantedStamps>) -> StampsWanted {
    match chosen {
        None => StampsWanted::Best,
        Some(WantedStamps::Kernel) => StampsWanted::Kernel,
        Some(WantedStamps::Hardware) => StampsWanted::Hardware,
    }
}
