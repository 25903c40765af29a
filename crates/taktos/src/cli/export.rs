//! `taktos export`: a network that promises something, in the words of others.

mod network;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use api::topology::Topology;
use clap::ValueEnum;
use controller::northbound::Requirement;
use scenario::ImportedFile;
use scenario::export::ConfiguredNetwork;
use scenario::export::substation::{self, FlowSettings, WrittenDescription};
use scenario::flow_table::{LONGEST_DESCRIPTION, Options, Said};
use serde_json::json;

use super::certify::print;
use super::client::{Target, failure};
use super::exit::Exit;
use super::report_folder::write_whole;
use super::run::explain;
use super::screen::say;
use super::{scenario_file, text_file};
use crate::web::document::FlowsDocument;
use run::experiment::{Experiment, certificate, export as admitted};

/// The most names that are listed of flows which a description has and the network has not.
const MOST_NAMED: usize = 5;

/// What `taktos export` is told.
#[derive(Debug, clap::Args)]
pub struct Export {
    /// The scenario file; without it, the network of a running controller.
    file: Option<PathBuf>,
    /// The directory for what is written [default: out/NAME/export].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write only this, and any other that is given so.
    #[arg(long, value_enum, value_name = "FORMAT")]
    only: Vec<ExportFormat>,
    /// The substation description that the flows of the running network came from; may be
    /// repeated. Those of a scenario are in its `[[flow_imports]]`.
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    scd: Vec<PathBuf>,
    /// The sub-network, in a substation description with several.
    #[arg(long, value_name = "NAME", requires = "scd")]
    sub_network: Option<String>,
    #[command(flatten)]
    target: Target,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// Substation descriptions, with the settings of their flows.
    Scd,
    /// Settings of switches, for people and as a table.
    Settings,
    /// The flows as a table.
    Csv,
    /// A network and its flows for INET.
    Inet,
    /// A network of servers for Saihu.
    Saihu,
}

/// What the network is, and what follows from how it was asked for.
struct Source {
    network: ConfiguredNetwork,
    /// How many flows were refused.
    refused: usize,
    /// Each description with its text and its settings.
    descriptions: Vec<Description>,
    /// Whether rates and budgets are known.
    is_whole: bool,
}

struct Description {
    path: PathBuf,
    /// What stands before the names of its flows in the network.
    prefix: String,
    options: Options,
    settings: BTreeMap<String, FlowSettings>,
}

/// Writes the network of a scenario or of a controller.
pub fn export(arguments: &Export) -> Exit {
    let source = match &arguments.file {
        Some(file) => of_scenario(file),
        None => of_controller(arguments),
    };
    let mut source = match source {
        Ok(source) => source,
        Err(exit) => return exit,
    };
    let mut files = BTreeMap::new();
    let written = write_descriptions(arguments, &mut source, &mut files)
        .and_then(|written| write_tables(arguments, &source, &mut files).map(|()| written));
    let written = match written {
        Ok(written) => written,
        Err(exit) => return exit,
    };
    let usual = || Path::new("out").join(&source.network.name).join("export");
    let folder = arguments.out.clone().unwrap_or_else(usual);
    if let Err(exit) = write(&folder, &files, &source) {
        return exit;
    }
    let exit = match source.refused {
        0 => Exit::Done,
        _ => Exit::Broken,
    };
    print(
        &summary(arguments, &source, &folder, &files, &written),
        exit,
    )
}

fn of_scenario(file: &Path) -> Result<Source, Exit> {
    let stop = AtomicBool::new(false);
    let mut scenario = scenario_file::read(file)?;
    scenario_file::settle_queues(&mut scenario, &stop)?;
    let experiment = Experiment::deciding(&scenario, &stop);
    let (admissions, promises) = experiment.promises().map_err(|error| explain(&error))?;
    let certificate = certificate(&scenario, &promises);
    let network = admitted::of_certificate(&scenario, &certificate);
    let folder = file.parent().unwrap_or(Path::new("."));
    let imports = scenario
        .imports
        .iter()
        .filter(|it| is_description(&it.file));
    let descriptions = imports.map(|import| Description {
        path: folder.join(&import.file),
        prefix: import.prefix.clone(),
        options: import.options.clone(),
        settings: settings_of_import(import, &network),
    });
    Ok(Source {
        descriptions: descriptions.collect(),
        network,
        refused: admissions.iter().filter(|it| it.decision.is_err()).count(),
        is_whole: true,
    })
}

fn is_description(file: &str) -> bool {
    let ending = Path::new(file).extension().and_then(|it| it.to_str());
    ending.is_some_and(|it| !matches!(it.to_ascii_lowercase().as_str(), "csv" | "tsv" | "txt"))
}

/// Returns what is set of the flows of a file: its own groups and VLANs stay. The frames of a
/// simulated host have addresses of their own.
fn settings_of_import(
    import: &ImportedFile,
    network: &ConfiguredNetwork,
) -> BTreeMap<String, FlowSettings> {
    let flows = network.flows.iter().filter_map(|flow| {
        let name = flow.name.strip_prefix(&import.prefix)?;
        Some((name.to_owned(), FlowSettings::of(flow, network)))
    });
    flows.collect()
}

fn of_controller(arguments: &Export) -> Result<Source, Exit> {
    let controller = arguments.target.controller()?;
    let fetched = controller
        .get::<Topology>("/api/v1/topology")
        .and_then(|topology| Ok((topology, controller.get::<FlowsDocument>("/api/v1/flows")?)));
    let (topology, flows) = fetched.map_err(|error| failure::complain(&error))?;
    let mut promised = Vec::new();
    for flow in flows.flows {
        let name = flow.accepted.name.clone();
        let requirement = Requirement::try_from(flow.requirement).map_err(|error| {
            say(format_args!(
                "taktos: the flow {name} of the controller: {error}"
            ));
            Exit::Fault
        })?;
        if requirement.deadline.is_some() {
            promised.push((flow.accepted, requirement));
        }
    }
    let network = network::of_controller("network", &topology, &promised);
    let settings = network.flows.iter().map(|flow| {
        let settings = FlowSettings {
            group: flow.matching.destination,
            vlan: Some(flow.matching.vlan.unwrap_or(0)),
            ..FlowSettings::of(flow, &network)
        };
        (flow.name.clone(), settings)
    });
    let settings: BTreeMap<_, _> = settings.collect();
    let descriptions = arguments.scd.iter().map(|path| Description {
        path: path.clone(),
        prefix: String::new(),
        options: Options {
            sub_network: arguments.sub_network.clone(),
            said: Said::OnCommandLine,
            ..Options::default()
        },
        settings: settings.clone(),
    });
    Ok(Source {
        descriptions: descriptions.collect(),
        network,
        refused: 0,
        is_whole: false,
    })
}

impl Export {
    fn wants(&self, format: ExportFormat) -> bool {
        self.only.is_empty() || self.only.contains(&format)
    }
}

/// Makes the descriptions with their settings, and gives the flows of the network the
/// addresses that stand there. One that is imported several times has the settings of all.
fn write_descriptions(
    arguments: &Export,
    source: &mut Source,
    files: &mut BTreeMap<String, String>,
) -> Result<Vec<(String, WrittenDescription)>, Exit> {
    let (mut written, mut origins) = (Vec::new(), BTreeMap::<String, &Path>::new());
    for description in &source.descriptions {
        let path = &description.path;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.into_owned();
        let origin = origins.entry(name.clone()).or_insert(path);
        if *origin != path {
            say(format_args!(
                "taktos: {} and {} have the same name: export one of them with a scenario of its own",
                origin.display(),
                path.display()
            ));
            return Err(Exit::BadInput);
        }
        let text = match files.remove(&name) {
            Some(text) => text,
            None => text_file::read(path, LONGEST_DESCRIPTION)?,
        };
        let shown = path.display().to_string();
        let (options, settings) = (&description.options, &description.settings);
        let it = substation::write(&shown, &text, options, settings)
            .map_err(|error| text_file::show(&error))?;
        for flow in &mut source.network.flows {
            let name = flow.name.strip_prefix(&description.prefix);
            if let Some(matching) = name.and_then(|name| it.set.get(name)) {
                flow.matching = *matching;
            }
        }
        files.insert(name.clone(), it.text.clone());
        written.push((name, it));
    }
    if !arguments.wants(ExportFormat::Scd) {
        files.clear();
        written.clear();
    }
    Ok(written)
}

fn write_tables(
    arguments: &Export,
    source: &Source,
    files: &mut BTreeMap<String, String>,
) -> Result<(), Exit> {
    let network = &source.network;
    let mut add = |name: &str, text: String| files.insert(name.to_owned(), text);
    if arguments.wants(ExportFormat::Settings) {
        add("settings.md", network.settings_text());
        add("settings.csv", network.settings_csv());
    }
    if arguments.wants(ExportFormat::Csv) {
        add("flows.csv", network.flows_csv());
    }
    // How fast links are, which a controller does not tell, has to be known for these.
    let is_asked_for = |format| arguments.only.contains(&format);
    if arguments.wants(ExportFormat::Inet) && (source.is_whole || is_asked_for(ExportFormat::Inet))
    {
        let (ned, ini) = network.to_inet().map_err(|error| cannot("INET", &error))?;
        add("network.ned", ned);
        add("omnetpp.ini", ini);
    }
    if arguments.wants(ExportFormat::Saihu)
        && (source.is_whole || is_asked_for(ExportFormat::Saihu))
    {
        let servers = network
            .to_servers()
            .map_err(|error| cannot("Saihu", &error))?;
        let text = servers.to_saihu_with(&network.promises_in_words());
        add("saihu.json", text.map_err(|error| cannot("Saihu", &error))?);
    }
    Ok(())
}

fn cannot(whose: &str, error: &dyn std::fmt::Display) -> Exit {
    say(format_args!(
        "taktos: {whose} cannot have this network: {error}. A scenario file says it"
    ));
    Exit::BadInput
}

fn write(folder: &Path, files: &BTreeMap<String, String>, source: &Source) -> Result<(), Exit> {
    let say_why = |path: &Path, error: std::io::Error| {
        say(format_args!(
            "taktos: cannot write {}: {error}",
            path.display()
        ));
        Exit::BadInput
    };
    fs::create_dir_all(folder).map_err(|error| say_why(folder, error))?;
    for description in &source.descriptions {
        let original = fs::canonicalize(&description.path).ok();
        let name = description.path.file_name().unwrap_or_default();
        if original.is_some() && fs::canonicalize(folder.join(name)).ok() == original {
            say(format_args!(
                "taktos: {} is the original, which stays: choose another --out",
                description.path.display()
            ));
            return Err(Exit::BadInput);
        }
    }
    for (name, text) in files {
        let path = folder.join(name);
        write_whole(&path, text).map_err(|error| say_why(&path, error))?;
    }
    Ok(())
}

fn summary(
    arguments: &Export,
    source: &Source,
    folder: &Path,
    files: &BTreeMap<String, String>,
    written: &[(String, WrittenDescription)],
) -> String {
    let flows = source.network.flows.len();
    let paths = files
        .keys()
        .map(|name| folder.join(name).display().to_string());
    if arguments.target.json() {
        let descriptions = written
            .iter()
            .map(|(name, it)| json!({"file": name, "set": it.set.len(), "unknown": it.unknown}));
        let document = json!({
            "flows": flows,
            "refused": source.refused,
            "files": paths.collect::<Vec<_>>(),
            "descriptions": descriptions.collect::<Vec<_>>(),
        });
        return format!("{document:#}\n");
    }
    let refused = match source.refused {
        0 => String::new(),
        refused => format!("; {refused} refused, which are left out"),
    };
    let mut text = format!("{flows} flows{refused}\n");
    for (name, it) in written {
        text += &format!("{name}: {} control blocks set", it.set.len());
        if !it.unknown.is_empty() {
            let named = it.unknown.iter().take(MOST_NAMED).cloned();
            let named = named.collect::<Vec<_>>().join(", ");
            text += &format!("; {} not in this network ({named})", it.unknown.len());
        }
        text.push('\n');
    }
    for path in paths {
        text += &format!("{path}\n");
    }
    text
}

#[cfg(test)]
mod tests;
