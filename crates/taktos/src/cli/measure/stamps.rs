//! Who is to stamp the frames of a measurement.

use lab::tester::StampsWanted;

/// Whose stamps are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Wanted {
    /// The kernel's, at the driver.
    Kernel,
    /// Those of the network cards.
    Hardware,
}

/// Returns whose stamps a tester is to take.
pub fn wanted(chosen: Option<Wanted>) -> StampsWanted {
    match chosen {
        None => StampsWanted::Best,
        Some(Wanted::Kernel) => StampsWanted::Kernel,
        Some(Wanted::Hardware) => StampsWanted::Hardware,
    }
}
