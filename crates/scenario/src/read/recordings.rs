//! Reads the recordings that flows send, each file once.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::flow_table::{Options, Remark};
use crate::limits::MOST_RECORDINGS;
use crate::mistake::Mistake;
use crate::problem::Problems;
use crate::read::Loader;
use crate::record::LayeredTable;
use crate::{ImportedFile, Recording};

/// The recordings read so far, by their files; nothing where one could not be read,
/// which was reported.
#[derive(Default)]
pub(super) struct Recordings(BTreeMap<String, Used>);

#[derive(Default)]
struct Used {
    recording: Option<Arc<Recording>>,
    flows: usize,
}

impl Recordings {
    /// Returns the recording that a flow names, or nothing if there is none, which is
    /// reported once.
    pub(super) fn of_flow(
        &mut self,
        record: &LayeredTable<'_>,
        load: &mut Loader<'_>,
        problems: &mut Problems,
    ) -> Option<Arc<Recording>> {
        let file = record.text("file")?;
        if !self.0.contains_key(file) {
            let recording = self.read(file, record, load, problems);
            let used = Used {
                recording: recording.map(Arc::new),
                flows: 0,
            };
            self.0.insert(file.to_owned(), used);
        }
        let used = self.0.get_mut(file)?;
        used.flows += 1;
        used.recording.clone()
    }

    fn read(
        &self,
        file: &str,
        record: &LayeredTable<'_>,
        load: &mut Loader<'_>,
        problems: &mut Problems,
    ) -> Option<Recording> {
        let place = record.place_of("file");
        if self.0.len() == MOST_RECORDINGS {
            let (what, limit) = ("recordings", MOST_RECORDINGS);
            let count = limit + 1;
            problems.report(place, Mistake::TooMany { what, count, limit });
            return None;
        }
        let name = file.to_owned();
        let mistake = match load(file).map(|text| Recording::parse(&text)) {
            Ok(Ok(recording)) => return Some(recording),
            Ok(Err(error)) => Mistake::Import {
                file: name,
                what: "frames",
                reason: error.to_string(),
            },
            Err(error) => Mistake::Load {
                file: name,
                reason: error.to_string(),
            },
        };
        problems.report(place, mistake);
        None
    }

    /// Returns what is to be known of those that cannot be sent as they are.
    pub(super) fn remarks(&self) -> Vec<ImportedFile> {
        let read = self.0.iter().filter_map(|(file, used)| {
            let resized = used.recording.as_ref()?.resized();
            let remark = Remark {
                line: u32::try_from(resized.first_line).unwrap_or(u32::MAX),
                subject: format!("{} frames", resized.frames),
                reason: "no frame is as short or as long".to_owned(),
                help: "they are sent as near to it as one can be".to_owned(),
            };
            (resized.frames > 0).then(|| ImportedFile {
                file: file.clone(),
                prefix: String::new(),
                options: Options::default(),
                flows: used.flows,
                left_out: Vec::new(),
                assumed: vec![remark],
            })
        });
        read.collect()
    }
}
