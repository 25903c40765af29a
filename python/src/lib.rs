//! What the package for Python is made of: networks, scenarios and documents.
//!
//! Whatever takes long runs in a thread of its own without the interpreter's lock, while
//! the caller's thread looks for signals: Ctrl-C ends it, and nothing is left of it. Texts
//! are JSON; `taktos/__init__.py` makes objects of them.

mod capture;
mod scenario;

use std::ffi::OsString;
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use ::scenario::ScenarioError;
use ::scenario::servers::{Multiplexing, ServerNetwork};
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use run::measuring::invocation;
use taktos::library::{self, AnalysisWish};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

create_exception!(
    _taktos,
    InputError,
    PyValueError,
    "What was given cannot be used."
);
create_exception!(
    _taktos,
    RunError,
    PyRuntimeError,
    "What was asked for could not be done."
);

/// How often it is looked whether the user wants to stop.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);
/// The stack of a thread that works: that of a main thread.
const STACK_BYTES: usize = 8 << 20;

/// A network of servers and flows.
#[pyclass(frozen, module = "taktos._taktos")]
struct Network {
    described: ServerNetwork,
}

#[pymethods]
impl Network {
    /// What was taken differently from how it is written.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.described.warnings.clone()
    }

    #[getter]
    fn id(&self) -> Option<String> {
        self.described.id.clone()
    }

    fn to_json(&self, py: Python<'_>) -> String {
        py.detach(|| self.described.to_json())
    }

    fn to_saihu(&self, py: Python<'_>) -> PyResult<String> {
        let written = py.detach(|| self.described.to_saihu());
        written.map_err(|error| InputError::new_err(error.to_string()))
    }

    /// Returns the network with another order of service at all servers.
    fn with_multiplexing(&self, word: &str) -> PyResult<Self> {
        let known = Multiplexing::WORDS.iter().find(|(known, _)| *known == word);
        let Some((_, order)) = known else {
            let words = Multiplexing::WORDS.map(|(word, _)| word).join(", ");
            let message = format!("multiplexing: there is no `{word}`; there are {words}");
            return Err(InputError::new_err(message));
        };
        let mut described = self.described.clone();
        for server in &mut described.servers {
            server.multiplexing = Some(*order);
        }
        Ok(Self { described })
    }

    fn analyze(
        &self,
        py: Python<'_>,
        method: Option<String>,
        without: Vec<String>,
        flows: Vec<String>,
        budget_ns: u64,
    ) -> PyResult<String> {
        let wish = AnalysisWish {
            method,
            without,
            flows,
            budget: units::Duration::from_ns(budget_ns),
        };
        let found = interruptible(py, |stop| {
            wish.document(&self.described, &|| !stop.load(Ordering::Relaxed))
        })?;
        found.map_err(InputError::new_err)
    }
}

/// Reads a network in our own format or in that of Saihu.
#[pyfunction]
fn read_network(py: Python<'_>, name: &str, text: &str) -> PyResult<Network> {
    let read = py.detach(|| ServerNetwork::parse(name, text));
    match read {
        Ok(described) => Ok(Network { described }),
        Err(error) => Err(mistakes(py, name, &error)),
    }
}

/// Calculates a certificate again.
#[pyfunction]
fn verify(py: Python<'_>, text: &str) -> PyResult<String> {
    let proven = interruptible(py, |_| library::verify(text))?;
    proven.map_err(|error| InputError::new_err(error.to_string()))
}

/// Does what the command line says, and returns the exit code. It begins with the path of
/// what starts the program by itself.
#[pyfunction]
fn command(py: Python<'_>, given: Vec<OsString>) -> u8 {
    invocation::say(&given);
    py.detach(|| taktos::cli::run_with(given))
}

/// Does `work` beside the interpreter, which goes on looking for signals. `work` is told to
/// stop where one says so.
fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&AtomicBool) -> T + Send,
) -> PyResult<T> {
    let stop = AtomicBool::new(false);
    py.detach(|| {
        thread::scope(|scope| {
            let (done, wait) = mpsc::channel::<()>();
            let thread = thread::Builder::new().stack_size(STACK_BYTES);
            let worker = thread.spawn_scoped(scope, || {
                // Is dropped when the work is over, however it ends.
                let _done = done;
                work(&stop)
            })?;
            let mut interrupted = Ok(());
            while wait.recv_timeout(SIGNAL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                if interrupted.is_ok() {
                    interrupted = Python::attach(|py| py.check_signals());
                    stop.store(interrupted.is_err(), Ordering::Relaxed);
                }
            }
            let result = worker.join();
            interrupted?;
            result.map_err(|_| PyRuntimeError::new_err("a fault of Taktos: see standard error"))
        })
    })
}

/// Returns the exception that says all mistakes of a text, each with its line.
fn mistakes(py: Python<'_>, name: &str, error: &ScenarioError) -> PyErr {
    let mut message = error.to_string();
    let problems = PyList::empty(py);
    let noted = error.problems().iter().try_for_each(|problem| {
        let (line, column) = error.position_of(problem);
        let help = problem.mistake.help();
        message += &format!("\n{name}:{line}:{column}: {problem}");
        if let Some(help) = &help {
            message += &format!(" ({help})");
        }
        let entry = PyDict::new(py);
        entry.set_item("line", line)?;
        entry.set_item("column", column)?;
        entry.set_item("message", problem.to_string())?;
        entry.set_item("help", help)?;
        problems.append(entry)
    });
    let exception = InputError::new_err(message);
    let value = exception.value(py);
    let noted = noted
        .and_then(|()| value.setattr("file", name))
        .and_then(|()| value.setattr("problems", problems));
    noted.err().unwrap_or(exception)
}

#[pymodule]
fn _taktos(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    // A fault is told by its exception; its place goes to standard error as everywhere.
    panic::set_hook(Box::new(|fault| eprintln!("taktos: {fault}")));
    module.add("InputError", py.get_type::<InputError>())?;
    module.add("RunError", py.get_type::<RunError>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<Network>()?;
    module.add_class::<scenario::Scenario>()?;
    module.add_function(wrap_pyfunction!(read_network, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::read_scenario, module)?)?;
    module.add_class::<capture::Frames>()?;
    module.add_function(wrap_pyfunction!(capture::read_capture, module)?)?;
    module.add_function(wrap_pyfunction!(verify, module)?)?;
    module.add_function(wrap_pyfunction!(command, module)?)
}
