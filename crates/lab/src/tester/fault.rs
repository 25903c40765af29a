//! What happens to cables and the device during a trial.
//!
//! To take an interface down can keep the kernel busy for milliseconds, so faults are
//! made by a thread of their own. A cable is cut at the tester's end: the device
//! loses its carrier, as when a plug is pulled. A fault lasts beyond its trial.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use linux::clock;
use linux::netlink::Netlink;
use measure::trial::{Fault, PortIndex, TrialError};
use units::{Duration, Instant};

use super::Stand;
use super::port::TesterPort;
use crate::process::{Killer, Process};
use crate::veth::{self, Power};

/// How long the thread sleeps before it looks whether the trial has ended.
const LOOK: Duration = Duration::from_ms(20);

/// One fault, ready to be made.
#[derive(Debug)]
pub(super) struct Act {
    after: Duration,
    deed: Deed,
}

#[derive(Debug)]
enum Deed {
    Switch(Netlink, u32, Power),
    Mute(Arc<AtomicBool>, bool),
    Kill(Vec<Killer>),
}

/// Gets ready to make `faults`, in their order of time.
pub(super) fn prepare(
    faults: &[(Duration, Fault)],
    ports: &[TesterPort],
    stand: Option<&Stand>,
) -> Result<Vec<Act>, TrialError> {
    let mut acts = faults
        .iter()
        .map(|(after, fault)| {
            Ok(Act {
                after: *after,
                deed: deed(*fault, ports, stand)?,
            })
        })
        .collect::<Result<Vec<_>, TrialError>>()?;
    acts.sort_by_key(|act| act.after);
    Ok(acts)
}

fn deed(fault: Fault, ports: &[TesterPort], stand: Option<&Stand>) -> Result<Deed, TrialError> {
    let unable = |reason: &str| TrialError::Unable {
        device: "the tester".to_owned(),
        reason: reason.to_owned(),
    };
    let port = |index: PortIndex| {
        let port = ports.get(index.0);
        port.ok_or_else(|| unable("a fault is at a port that is not there: name more ports"))
    };
    let switch = |index: PortIndex, power: Power| {
        let port = port(index)?;
        let netlink = port.room.run(Netlink::open);
        let netlink = netlink.map_err(|error| TrialError::Machine(error.to_string()))?;
        Ok(Deed::Switch(netlink, port.index, power))
    };
    match fault {
        Fault::Cut(index) => switch(index, Power::Off),
        Fault::Join(index) => switch(index, Power::On),
        Fault::Mute(index) => Ok(Deed::Mute(Arc::clone(&port(index)?.muted), true)),
        Fault::Unmute(index) => Ok(Deed::Mute(Arc::clone(&port(index)?.muted), false)),
        Fault::Kill => match stand.map(|stand| stand.running.processes()) {
            Some(processes) if !processes.is_empty() => {
                Ok(Deed::Kill(processes.iter().map(Process::killer).collect()))
            }
            Some(_) | None => Err(unable("only a device that it has started can be killed")),
        },
    }
}

/// Makes the faults of a trial that began at `began`, until `over` is set. Returns
/// what went wrong.
pub(super) fn commit(acts: Vec<Act>, began: Instant, over: &AtomicBool) -> Option<String> {
    for act in acts {
        let due = began + act.after;
        while clock::now() < due {
            if over.load(Ordering::Relaxed) {
                return None;
            }
            clock::sleep_until(due.min(clock::now() + LOOK));
        }
        if let Err(error) = act.deed.make() {
            return Some(format!("a fault could not be made: {error}"));
        }
    }
    None
}

impl Deed {
    fn make(self) -> io::Result<()> {
        match self {
            Self::Switch(mut netlink, index, power) => veth::switch(&mut netlink, index, power),
            Self::Mute(flag, mute) => {
                flag.store(mute, Ordering::Relaxed);
                Ok(())
            }
            Self::Kill(killers) => killers.into_iter().try_for_each(Killer::kill),
        }
    }
}
