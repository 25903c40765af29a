//! The network as one router among others (S1-10): its settings from a file, and the
//! connection to the daemon that speaks BGP for it.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use api::SdnIp;
use controller::northbound::{Asker, Reply, Request, RoutesChanged};
use futures_util::FutureExt;
use miette::{LabeledSpan, MietteDiagnostic, NamedSource, Report};
use serde::Deserialize;
use toml::Spanned;
use toml::de::DeTable;

use super::super::exit::Exit;
use super::super::screen::say;
use super::super::text_file;
use crate::speaker::{Answer, ControllerLink, Saying, SharedReport, Speaker, SpeakerApi};
use crate::web::site::Site;

/// The key that is ours alone; all others are the controller's.
const API: &str = "speaker_api";
/// The longest file that is read, in bytes.
const LONGEST_FILE: usize = 1 << 20;

/// The application on the command line.
#[derive(Debug, clap::Args)]
pub struct SdnIpOptions {
    /// A file that says how the network is a router (TOML): where the speaker and its peers
    /// are, and where gobgpd is asked (`speaker_api`). For `--app sdn-ip`.
    #[arg(long = "sdn-ip", value_name = "FILE")]
    sdn_ip: Option<PathBuf>,
}

/// What the file says.
#[derive(Clone, Debug)]
pub struct Routing {
    pub api: SpeakerApi,
    pub settings: SdnIp,
    pub report: SharedReport,
}

impl SdnIpOptions {
    /// Reads the file where the application is loaded, or says on standard error why that
    /// cannot be.
    pub fn read(&self, is_loaded: bool) -> Result<Option<Routing>, Exit> {
        match (&self.sdn_ip, is_loaded) {
            (None, false) => Ok(None),
            (Some(path), true) => read(path).map(Some),
            (Some(_), false) => {
                say("taktos: --sdn-ip is for --app sdn-ip: name both, or neither");
                Err(Exit::BadInput)
            }
            (None, true) => {
                say("taktos: --app sdn-ip needs --sdn-ip FILE, which says where its peers are");
                Err(Exit::BadInput)
            }
        }
    }
}

impl Routing {
    /// Begins to look for the speaker.
    ///
    /// # Errors
    ///
    /// If the machine has no threads or descriptors left.
    pub fn start(self, site: Site) -> io::Result<Speaker> {
        let Self {
            api,
            settings,
            report,
        } = self;
        let link = link(Arc::new(settings.clone()), site);
        Speaker::start((api, &settings), link, report)
    }
}

/// Returns how the controller behind an interface is told.
fn link(settings: Arc<SdnIp>, site: Site) -> ControllerLink {
    let asked = Arc::clone(&site);
    ControllerLink::new(
        move || site.is_ready(),
        move |saying| {
            let request = match saying {
                Saying::Settings => Request::ConfigureSdnIp(Some(Box::new((*settings).clone()))),
                Saying::State(state) => Request::SpeakerState(state),
                Saying::Routes(routes) => Request::ChangeRoutes {
                    changes: routes.changes,
                    part: routes.part,
                },
            };
            let site = Arc::clone(&asked);
            async move {
                match site.ask(Asker::Operator, request).await {
                    Ok(reply) => answer(reply),
                    Err(problem) => Answer::NotTaken {
                        reason: problem.body().message,
                    },
                }
            }
            .boxed()
        },
    )
}

fn answer(reply: Reply) -> Answer {
    match reply {
        Reply::SdnIpConfigured | Reply::SpeakerNoted => Answer::Taken {
            refused: Vec::new(),
        },
        Reply::RoutesChanged(RoutesChanged { refused, .. }) => {
            let refused = refused.iter();
            let refused = refused.map(|it| (it.prefix, it.reason.to_string()));
            Answer::Taken {
                refused: refused.collect(),
            }
        }
        Reply::SdnIpRefused(error) => Answer::NotTaken {
            reason: error.to_string(),
        },
        Reply::NotRouting => Answer::Gone,
        _ => Answer::NotTaken {
            reason: "it answered something else".to_owned(),
        },
    }
}

fn read(path: &Path) -> Result<Routing, Exit> {
    let text = text_file::read(path, LONGEST_FILE)?;
    let (api, settings) = parse(&text).map_err(|label| {
        let mistake = MietteDiagnostic::new(format!("{} has a mistake", path.display()))
            .with_code("taktos::sdn_ip")
            .with_help("docs/sdn-ip.md describes all that can be said")
            .with_labels([label]);
        let source = NamedSource::new(path.display().to_string(), text.clone());
        let report = Report::new(mistake).with_source_code(source.with_language("TOML"));
        text_file::show(report.as_ref())
    })?;
    let report = SharedReport::new(say);
    Ok(Routing {
        api,
        settings,
        report,
    })
}

/// Returns where the speaker is asked and how the network is a router, or the first mistake at
/// its place.
fn parse(text: &str) -> Result<(SpeakerApi, SdnIp), LabeledSpan> {
    let at = |place: Option<Range<usize>>, why: &str| {
        let first = why.lines().next().unwrap_or_default();
        LabeledSpan::at(place.unwrap_or(0..0), first)
    };
    let mut table = DeTable::parse(text).map_err(|error| at(error.span(), error.message()))?;
    let api = match table.get_mut().remove(API) {
        Some(value) => {
            let place = Some(value.span());
            let text = value.get_ref().as_str().unwrap_or_default().to_owned();
            text.parse()
                .map_err(|error: crate::speaker::ParseSpeakerApiError| {
                    at(place, &error.to_string())
                })?
        }
        None => {
            let why = format!("{API} = \"127.0.0.1:50051\" is missing: where is gobgpd asked?");
            return Err(at(None, &why));
        }
    };
    let ports = spans_of(&table);
    let settings = SdnIp::deserialize(toml::Deserializer::from(table))
        .map_err(|error| at(error.span(), error.message()))?;
    match settings.check() {
        Ok(()) => Ok((api, settings)),
        Err(error) => {
            let why = error.to_string();
            Err(at(place_of(&ports, &why), &why))
        }
    }
}

/// Returns the values that stand at the top of a table, as people read them, with their keys
/// and places.
fn spans_of(table: &Spanned<DeTable<'_>>) -> Vec<(String, Range<usize>)> {
    let values = table.get_ref().iter();
    let values = values.map(|(key, value)| (key.get_ref().to_string(), value.span()));
    values.collect()
}

/// Returns the place of the key that a mistake names.
fn place_of(values: &[(String, Range<usize>)], why: &str) -> Option<Range<usize>> {
    let named = |(key, _): &&(String, Range<usize>)| {
        why.split(|it: char| !it.is_alphanumeric() && it != '_')
            .any(|word| word == key)
    };
    let found = values.iter().find(named);
    let peerings = values.iter().find(|(key, _)| key == "peerings");
    found.or(peerings).map(|(_, place)| place.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = include_str!("../../../../../docs/sdn-ip/sdn-ip.toml");

    #[test]
    fn the_file_of_the_documentation_is_read_whole() {
        let (api, settings) = parse(FILE).unwrap();

        assert_eq!(api.to_string(), "unix:/run/gobgpd.sock");
        assert_eq!(settings.peerings.len(), 2);
        assert_eq!(settings.peerings[0].peers[0].autonomous_system, 65_001);
    }

    #[test]
    fn mistakes_are_shown_at_their_places() {
        for (from, to, why, at) in [
            (
                "unix:/run/gobgpd.sock",
                "fish",
                "127.0.0.1:50051",
                "\"fish\"",
            ),
            ("own_prefixes", "own_prefix", "unknown field", "own_prefix"),
            ("\"2:1\"", "\"2\"", "expected ports", "\"2\""),
            (
                "02:00:00:00:06:01",
                "ff:ff:ff:ff:ff:ff",
                "router_mac",
                "\"ff:ff:ff:ff:ff:ff\"",
            ),
            (
                "\"198.51.100.2\"",
                "\"203.0.113.2\"",
                "in no subnet",
                "[[peerings]]",
            ),
            (
                "10.9.0.0/16",
                "10.9.1.0/16",
                "10.9.0.0/16",
                "\"10.9.1.0/16\"",
            ),
        ] {
            let text = FILE.replace(from, to);
            assert_ne!(text, FILE, "{from}");

            let label = parse(&text).unwrap_err();

            let said = label.label().unwrap();
            assert!(said.contains(why), "{said}");
            let place = label.offset()..label.offset() + label.len();
            assert!(text[place.clone()].contains(at), "{:?}", &text[place]);
        }
        let without = FILE.replace(API, "speaker_ape");
        assert!(
            parse(&without)
                .unwrap_err()
                .label()
                .unwrap()
                .contains("is missing")
        );
    }
}
