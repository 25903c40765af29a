//! Captures, frame by frame.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use run::measuring::captures::{self, CaptureError};

use crate::{InputError, interruptible};

/// The frames of a capture, column by column.
#[pyclass(frozen, module = "taktos._taktos")]
pub struct Frames {
    interfaces: Vec<String>,
    interface: Vec<usize>,
    time_ns: Vec<u64>,
    length: Vec<usize>,
    /// Where the bytes of each frame end.
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

#[pymethods]
impl Frames {
    /// The interfaces, by name.
    #[getter]
    fn interfaces(&self) -> Vec<String> {
        self.interfaces.clone()
    }

    fn __len__(&self) -> usize {
        self.ends.len()
    }

    /// Returns when a frame was seen (nanoseconds since 1970), at which interface, its length
    /// and its bytes.
    fn frame<'py>(
        &self,
        py: Python<'py>,
        at: usize,
    ) -> Option<(u64, &str, usize, Bound<'py, PyBytes>)> {
        let end = *self.ends.get(at)?;
        let begin = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        let interface = self.interfaces.get(self.interface[at]);
        Some((
            self.time_ns[at],
            interface.map_or("", String::as_str),
            self.length[at],
            PyBytes::new(py, &self.bytes[begin..end]),
        ))
    }
}

/// Reads a capture as far as it can be read.
#[pyfunction]
pub fn read_capture(py: Python<'_>, path: PathBuf) -> PyResult<Frames> {
    let mut frames = Frames {
        interfaces: Vec::new(),
        interface: Vec::new(),
        time_ns: Vec::new(),
        length: Vec::new(),
        ends: Vec::new(),
        bytes: Vec::new(),
    };
    let read = interruptible(py, |_| {
        captures::each_frame(&path, |frame| {
            frames.interface.push(frame.interface);
            frames.time_ns.push(frame.unix_ns);
            frames.length.push(frame.length);
            frames.bytes.extend_from_slice(frame.bytes);
            frames.ends.push(frames.bytes.len());
        })
    })?;
    let contents = read.map_err(|error| match error {
        CaptureError::Unreadable { error, .. } => PyErr::from(error),
        error => InputError::new_err(error.to_string()),
    })?;
    let names = contents.interfaces.into_iter();
    frames.interfaces = names.map(|it| it.name.unwrap_or_default()).collect();
    Ok(frames)
}
