//! Reads flow imports: the flows of a substation description or of a table,
//! between hosts of the scenario.
//!
//! The frames of a simulated host carry addresses of their own, like those of
//! all flows of a scenario; who sends, who receives, how much and how late is
//! the file's.

use std::collections::{BTreeMap, BTreeSet};

use toml::de::DeTable;
use units::Duration;

use crate::flow_table::{self, FlowSet, ImportedFlow, Options, Said};
use crate::format::FLOW_IMPORT;
use crate::mistake::{Mistake, quote};
use crate::problem::{Problems, TextSpan};
use crate::read::Loader;
use crate::read::flows::{FlowReader, Terms};
use crate::read::protection::{check_heart_beat, excess_goes_on, protection};
use crate::record::{LayeredTable, records};
use crate::shape::is_name;
use crate::{
    Criticality, HostIndex, ImportedFile, LARGEST_UNTAGGED_FRAME, Protection, SMALLEST_FRAME,
    Traffic,
};

/// A file and what its scenario says of it.
struct Import<'r, 'a> {
    record: &'r LayeredTable<'a>,
    file: &'a str,
    /// The place of the name of the file.
    place: TextSpan,
    /// The hosts that names of the file stand for.
    hosts: BTreeMap<&'a str, (&'a str, TextSpan)>,
    protection: Protection,
    /// The names of hosts and classes that are not there, which were reported.
    missing: BTreeSet<String>,
}

impl FlowReader<'_> {
    /// Reads `[[flow_imports]]`.
    pub(super) fn read_imports(
        &mut self,
        file: &LayeredTable<'_>,
        load: &mut Loader<'_>,
        problems: &mut Problems,
    ) -> Vec<ImportedFile> {
        let imports = file.item("flow_imports");
        let imports = imports.and_then(|imports| imports.get_ref().as_array());
        let mut files = Vec::new();
        for record in imports
            .into_iter()
            .flat_map(|list| records(list, &FLOW_IMPORT))
        {
            let Some(name) = record.text("file") else {
                continue;
            };
            let mut import = Import {
                record: &record,
                file: name,
                place: record.place_of("file"),
                hosts: hosts(&record),
                protection: protection(&record, problems),
                missing: BTreeSet::new(),
            };
            let Some(set) = import.load(load, problems) else {
                continue;
            };
            let flows = set.flows.len();
            for flow in set.flows {
                self.add_imported(flow, &mut import, problems);
            }
            files.push(ImportedFile {
                file: name.to_owned(),
                prefix: record.text("prefix").unwrap_or_default().to_owned(),
                options: import.options(),
                flows,
                left_out: set.left_out,
                assumed: set.assumed,
            });
        }
        files
    }

    fn add_imported(
        &mut self,
        flow: ImportedFlow,
        import: &mut Import<'_, '_>,
        problems: &mut Problems,
    ) {
        let line = flow.line;
        let source = self.imported_host(&flow.source, line, import, problems);
        let receivers = flow.receivers.iter();
        let receivers: Vec<_> = receivers
            .map(|name| self.imported_host(name, line, import, problems))
            .collect();
        let (Some(source), Some(receivers)) = (source, receivers.into_iter().collect()) else {
            return;
        };
        let name = format!(
            "{}{}",
            import.record.text("prefix").unwrap_or_default(),
            flow.name
        );
        let Some(terms) = self.imported_terms(&flow, import, problems) else {
            return;
        };
        let mistake = self.imported_mistake(&name, &flow.traffic, source, &receivers);
        if let Some(mistake) = mistake {
            problems.report(import.place.clone(), import.at(line, mistake));
            return;
        }
        let place = import.place.clone();
        let ends = (source, receivers);
        if self.check_rate(&flow.traffic, ends.0, &ends.1, &place, problems) {
            self.add(&name, place, ends, flow.traffic, terms, problems);
        }
    }

    /// Returns why a flow that the file allows is none of a scenario.
    fn imported_mistake(
        &self,
        name: &str,
        traffic: &Traffic,
        source: HostIndex,
        receivers: &Vec<HostIndex>,
    ) -> Option<Mistake> {
        let host = |index: HostIndex| self.network.hosts[index.0].name.clone();
        if !is_name(name) {
            return Some(Mistake::NotAName { text: quote(name) });
        }
        let mut seen = BTreeSet::from([source]);
        for receiver in receivers {
            if *receiver == source {
                return Some(Mistake::ToItself { host: host(source) });
            }
            if !seen.insert(*receiver) {
                return Some(Mistake::Contradiction {
                    sentence: format!("it goes to `{}` twice", host(*receiver)),
                    help: "map each name to a host of its own".to_owned(),
                });
            }
            if !self.connects(source, *receiver) {
                let (from, to) = (host(source), host(*receiver));
                return Some(Mistake::NoPath { from, to });
            }
        }
        let untagged = match traffic {
            Traffic::Udp(traffic) => Some(traffic.frame),
            Traffic::BestEffort(traffic) => Some(traffic.frame),
            Traffic::SampledValues(_)
            | Traffic::Goose(_)
            | Traffic::Message(_)
            | Traffic::Trace(_)
            | Traffic::Mms(_) => None,
        };
        let (least, most) = (SMALLEST_FRAME, LARGEST_UNTAGGED_FRAME);
        let size = untagged.filter(|size| *size > most)?;
        Some(Mistake::FrameSize { size, least, most })
    }

    /// Returns the host that a name of the file stands for; reports once if there
    /// is none.
    fn imported_host(
        &self,
        name: &str,
        line: u32,
        import: &mut Import<'_, '_>,
        problems: &mut Problems,
    ) -> Option<HostIndex> {
        if let Some((host, place)) = import.hosts.get(name) {
            return self.host(host, place.clone(), problems);
        }
        if self.network.nodes.has(name) {
            return self.host(name, import.place.clone(), problems);
        }
        if import.missing.insert(name.to_owned()) {
            let name = quote(name);
            let mistake = Mistake::Contradiction {
                sentence: format!("no host is named `{name}`"),
                help: format!(
                    "declare it under [hosts], or map it: `hosts = {{ {name} = \"…\" }}` beside \
                     `file`"
                ),
            };
            problems.report(import.place.clone(), import.at(line, mistake));
        }
        None
    }

    fn imported_terms(
        &self,
        flow: &ImportedFlow,
        import: &mut Import<'_, '_>,
        problems: &mut Problems,
    ) -> Option<Terms> {
        let record = import.record;
        let is_periodic = matches!(flow.traffic, Traffic::SampledValues(_));
        check_heart_beat(import.protection, is_periodic, record, problems);
        let class = record.text("class").unwrap_or(flow.class);
        if !self.has_class(class) && !import.missing.insert(class.to_owned()) {
            return None;
        }
        let class = self.class(class, record.place_of("class"), problems)?;
        let criticality = record.integer("criticality").unwrap_or(0);
        Some(Terms {
            class,
            // The file says what the flow is.
            is_class_free: false,
            deadline: flow.deadline,
            criticality: Criticality(u8::try_from(criticality).expect("the shape ends at 7")),
            protection: match flow.deadline {
                Some(_) => import.protection,
                None => Protection::None,
            },
            excess_goes_on: excess_goes_on(record),
            start: Duration::ZERO,
            stop: None,
        })
    }
}

impl Import<'_, '_> {
    /// Returns the flows of the file; reports if there are none to be had.
    fn load(&self, load: &mut Loader<'_>, problems: &mut Problems) -> Option<FlowSet> {
        let text = match load(self.file) {
            Ok(text) => text,
            Err(error) => {
                let (file, reason) = (self.file.to_owned(), error.to_string());
                problems.report(self.place.clone(), Mistake::Load { file, reason });
                return None;
            }
        };
        match flow_table::read(self.file, &text, &self.options()) {
            Ok(set) => Some(set),
            Err(error) => {
                for problem in error.problems() {
                    let line = text[..problem.place.start].matches('\n').count() + 1;
                    let help = problem.mistake.help().map(|help| format!("; {help}"));
                    let reason = format!(
                        "line {line}: {}{}",
                        problem.mistake,
                        help.unwrap_or_default()
                    );
                    let (file, what) = (self.file.to_owned(), "flows");
                    let mistake = Mistake::Import { file, what, reason };
                    problems.report(self.place.clone(), mistake);
                }
                None
            }
        }
    }

    fn options(&self) -> Options {
        let owned = |key: &str| self.record.text(key).map(str::to_owned);
        let receivers = self.record.texts("to").into_iter();
        Options {
            deadline: self.record.time("deadline"),
            jitter: self.record.time("jitter"),
            frequency_hz: self.record.integer("frequency"),
            mode: owned("mode"),
            source: owned("from"),
            receivers: receivers.map(|(name, _)| name.to_owned()).collect(),
            sub_network: owned("sub_network"),
            said: Said::InScenario,
        }
    }

    /// Returns a mistake of a line of the file.
    fn at(&self, line: u32, mistake: Mistake) -> Mistake {
        Mistake::At {
            place: format!("`{}` line {line}", self.file),
            mistake: Box::new(mistake),
        }
    }
}

fn hosts<'a>(record: &LayeredTable<'a>) -> BTreeMap<&'a str, (&'a str, TextSpan)> {
    let entries = record.entries("hosts").map(|(entries, _)| entries);
    let entries = entries.into_iter().flat_map(DeTable::iter);
    entries
        .filter_map(|(name, host)| {
            let place = host.span();
            Some((&**name.get_ref(), (host.get_ref().as_str()?, place)))
        })
        .collect()
}
