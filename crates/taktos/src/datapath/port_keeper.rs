//! Holds the interfaces of a switch while it runs: notices that one has gone, and
//! opens it again when one of its name is back.
//!
//! That a link went down is told to controllers by the packet loop, at once. Here
//! an interface that was deleted is looked for, now and then, and users are told.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use linux::interface::{Carrier, Interface};
use linux::interface_guard::InterfaceGuard;
use linux::packet_loop::Command;
use linux::port::Port;

use super::carriage::Carriage;
use super::event::{DatapathEvent, tell};
use super::port_plan::PortPlan;
use super::{STATION, port_title};

/// How often each interface is looked for.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// One port and the interface that it has at the moment.
#[derive(Debug)]
pub struct KeptPort {
    /// What it is to be.
    pub plan: PortPlan,
    /// Its interface, if there is one.
    pub guard: Option<InterfaceGuard>,
}

/// The thread that holds the interfaces. They are given back when this value is
/// dropped.
#[derive(Debug)]
pub struct PortKeeper {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl PortKeeper {
    /// Begins to hold `ports`, in the calling thread's namespace.
    ///
    /// # Errors
    ///
    /// If the process has no threads left.
    pub fn start(
        ports: Vec<KeptPort>,
        carriage: Carriage,
        commands: Sender<Command>,
        events: SyncSender<DatapathEvent>,
    ) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let should_stop = Arc::clone(&stop);
        let (retire, retired) = mpsc::channel();
        let mut watch = PortWatch {
            ports: ports.into_iter().map(WatchedPort::new).collect(),
            carriage,
            commands,
            events,
            retire,
            retired,
        };
        let thread = thread::Builder::new()
            .name("ports".to_owned())
            .spawn(move || {
                while !should_stop.load(Ordering::Relaxed) {
                    watch.look();
                    thread::sleep(LOOK_INTERVAL);
                }
            })?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for PortKeeper {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct PortWatch {
    ports: Vec<WatchedPort>,
    carriage: Carriage,
    commands: Sender<Command>,
    events: SyncSender<DatapathEvent>,
    /// Where the loop puts what it no longer uses: closing takes its time.
    retire: Sender<Port>,
    retired: Receiver<Port>,
}

struct WatchedPort {
    kept: KeptPort,
    carrier: Carrier,
    /// Whether users know that it cannot be opened.
    complained: bool,
}

impl WatchedPort {
    fn new(kept: KeptPort) -> Self {
        Self {
            kept,
            carrier: Carrier::Present,
            complained: false,
        }
    }

    fn title(&self) -> String {
        port_title(self.kept.plan.number, &self.kept.plan.interface)
    }
}

impl PortWatch {
    fn look(&mut self) {
        while let Ok(port) = self.retired.try_recv() {
            drop(port);
        }
        for port in &mut self.ports {
            let found = Interface::named(&port.kept.plan.interface).ok();
            let held = port
                .kept
                .guard
                .as_ref()
                .map(|guard| guard.interface().index());
            let found_index = found.as_ref().map(Interface::index);
            if held.is_some() && held != found_index {
                port.kept.guard = None;
                tell(&self.events, DatapathEvent::Gone(port.title()));
            }
            match &found {
                None => {}
                Some(_) if port.kept.guard.is_none() => {
                    reopen(
                        port,
                        &self.carriage,
                        &self.commands,
                        &self.retire,
                        &self.events,
                    );
                }
                Some(interface) => follow_link(port, interface, &self.events),
            }
        }
    }
}

fn follow_link(port: &mut WatchedPort, interface: &Interface, events: &SyncSender<DatapathEvent>) {
    let carrier = interface.carrier().unwrap_or(Carrier::Lost);
    if std::mem::replace(&mut port.carrier, carrier) != carrier {
        tell(events, DatapathEvent::Link(port.title(), carrier));
    }
}

/// Opens an interface that is back and gives it to the loop.
fn reopen(
    port: &mut WatchedPort,
    carriage: &Carriage,
    commands: &Sender<Command>,
    retire: &Sender<Port>,
    events: &SyncSender<DatapathEvent>,
) {
    match carriage.reopen(&port.kept.plan) {
        Ok(opened) => {
            let back = format!("port {}: {}", port.kept.plan.number, opened.introduction());
            tell(events, DatapathEvent::Back(back));
            port.complained = false;
            port.carrier = Carrier::Present;
            port.kept.guard = Some(opened.guard);
            // A loop that has ended has no ports to be replaced.
            let _ = commands.send(Command::Replace {
                station: STATION,
                number: port.kept.plan.number,
                port: opened.port,
                retire: retire.clone(),
            });
        }
        Err(error) if !port.complained => {
            port.complained = true;
            tell(events, DatapathEvent::Unusable(error.to_string()));
        }
        Err(_) => {}
    }
}
