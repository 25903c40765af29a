//! A scenario, and what can be done with it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use ::scenario::Capture;
use pyo3::prelude::*;
use run::experiment::{Admission, Audience, Discovered, ExperimentError};
use serde_json::json;
use taktos::library::{self, LoadError};

use crate::{InputError, RunError, interruptible, mistakes};

/// A scenario: a network, its flows, and what happens.
#[pyclass(frozen, module = "taktos._taktos")]
pub struct Scenario {
    scenario: scenario::Scenario,
}

/// Tells a function of Python how far a run is, in seconds of it.
struct Told<'a> {
    listener: Option<Py<PyAny>>,
    /// Ends the run, where the function has raised something.
    stop: &'a AtomicBool,
    raised: Option<PyErr>,
}

impl Audience for Told<'_> {
    fn built(&mut self, _: units::Duration) {}
    fn discovered(&mut self, _: Discovered, _: units::Duration) {}
    fn decided(&mut self, _: &[Admission]) {}
    fn happened(&mut self, _: units::Duration, _: &str) {}

    fn running(&mut self, elapsed: units::Duration, whole: units::Duration) {
        let Some(listener) = &self.listener else {
            return;
        };
        let seconds = [elapsed, whole].map(|it| it.as_ns() as f64 / 1e9);
        let told = Python::attach(|py| listener.call1(py, (seconds[0], seconds[1])));
        if let Err(error) = told {
            self.stop.store(true, Ordering::Relaxed);
            self.raised.get_or_insert(error);
        }
    }
}

#[pymethods]
impl Scenario {
    /// What there is, as JSON: nodes, links and flows.
    fn describe(&self) -> String {
        let scenario = &self.scenario;
        let links = scenario.links.iter().map(|link| {
            json!({
                "name": link.name,
                "ends": link.ends.map(|end| scenario.name_of(end.node)),
                "ports": link.ends.map(|end| end.port),
                "rate_bps": link.rate.as_bps(),
                "propagation_ns": link.propagation.round_up().as_ns(),
            })
        });
        let flows = scenario.flows.iter().map(|flow| {
            let receivers = flow.receivers.iter();
            let receivers = receivers.map(|host| scenario.hosts[host.0].name.as_str());
            let contract = flow.contract();
            json!({
                "name": flow.name,
                "source": scenario.hosts[flow.source.0].name,
                "receivers": receivers.collect::<Vec<_>>(),
                "class": scenario.class_of(flow).name,
                "queue": scenario.class_of(flow).queue,
                "deadline_ns": flow.deadline.map(units::Duration::as_ns),
                "rate_bps": contract.as_ref().map(|it| it.rate.as_bps()),
                "burst_bytes": contract.as_ref().map(|it| it.burst.bytes_up()),
                "protection": flow.protection.name(),
            })
        });
        let document = json!({
            "name": scenario.name,
            "title": scenario.title,
            "seed": scenario.seed,
            "duration_ns": scenario.duration.as_ns(),
            "switches": scenario.switches.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(),
            "hosts": scenario.hosts.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(),
            "links": links.collect::<Vec<_>>(),
            "flows": flows.collect::<Vec<_>>(),
        });
        document.to_string()
    }

    fn check(&self, py: Python<'_>) -> PyResult<String> {
        interruptible(py, |stop| library::check(&self.scenario, stop))?.map_err(failed)
    }

    fn certify(&self, py: Python<'_>) -> PyResult<String> {
        interruptible(py, |stop| library::certify(&self.scenario, stop))?.map_err(failed)
    }

    /// Runs it, and returns its report.
    fn run(
        &self,
        py: Python<'_>,
        seed: Option<u64>,
        duration: Option<&str>,
        captures: Option<PathBuf>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        let mut scenario = self.scenario.clone();
        scenario.measurement.capture = match captures {
            Some(_) => Capture::Everything,
            None => Capture::Nothing,
        };
        scenario.seed = seed.unwrap_or(scenario.seed);
        if let Some(duration) = duration {
            scenario.duration = duration
                .parse()
                .map_err(|error| InputError::new_err(format!("duration: {error}")))?;
            let warm_up = scenario.measurement.warm_up;
            if scenario.duration <= warm_up || scenario.duration > scenario::LONGEST_TIME {
                return Err(InputError::new_err(format!(
                    "duration: {duration} has to be more than {warm_up}, the warm-up, and at most {}",
                    scenario::LONGEST_TIME
                )));
            }
        }
        let folder = captures.unwrap_or_default();
        let (ran, raised) = interruptible(py, |stop| {
            let mut told = Told {
                listener: progress,
                stop,
                raised: None,
            };
            let ran = library::simulate(&scenario, &folder, stop, &mut told);
            (ran, told.raised)
        })?;
        match raised {
            Some(error) => Err(error),
            None => ran.map_err(failed),
        }
    }
}

/// Reads a scenario file, with the files that it imports.
#[pyfunction]
pub fn read_scenario(py: Python<'_>, path: PathBuf) -> PyResult<Scenario> {
    let read = interruptible(py, |stop| read(&path, stop))?;
    let scenario = read.map_err(|error| match error {
        ReadError::Load(LoadError::Mistakes(error)) => {
            mistakes(py, &path.display().to_string(), &error)
        }
        ReadError::Load(LoadError::File { error, .. }) => PyErr::from(error),
        ReadError::Settle(error) => failed(error),
    })?;
    Ok(Scenario { scenario })
}

enum ReadError {
    Load(LoadError),
    Settle(ExperimentError),
}

fn read(path: &Path, stop: &AtomicBool) -> Result<scenario::Scenario, ReadError> {
    let mut scenario = library::read_scenario(path).map_err(ReadError::Load)?;
    library::settle(&mut scenario, stop).map_err(ReadError::Settle)?;
    Ok(scenario)
}

fn failed(error: ExperimentError) -> PyErr {
    RunError::new_err(error.to_string())
}
