//! A run that is over, as the page shows it: the report, and where what it is about stands
//! on the map.

use std::collections::BTreeMap;
use std::io;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Request};
use axum::http::{Response, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Redirect};
use axum::routing::get;
use serde::Deserialize;
use serde_json::json;
use tokio::runtime::Builder;

use super::gate::{Gate, Role};
use super::layout::{Shape, Spot};
use super::operations::kept;
use super::{page, server};

/// How often it is looked whether the end has come.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// A report and the map of its network.
#[derive(Clone, Debug)]
pub struct FinishedRun {
    report: Bytes,
    layout: Bytes,
}

/// What of a report the map depends on.
#[derive(Debug, Deserialize)]
struct Report {
    topology: Topology,
}

#[derive(Debug, Deserialize)]
struct Topology {
    nodes: Vec<Node>,
    links: Vec<Link>,
}

#[derive(Debug, Deserialize)]
struct Node {
    name: String,
    kind: NodeKind,
    /// From the left and from the top, in degrees if it is of the world.
    #[serde(default)]
    position: Option<[f64; 2]>,
}

#[derive(Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum NodeKind {
    Switch,
    Host,
}

#[derive(Debug, Deserialize)]
struct Link {
    a: String,
    b: String,
}

impl FinishedRun {
    /// Takes a report as a run has written it.
    ///
    /// # Errors
    ///
    /// If it is none, with the place.
    pub fn parse(report: String) -> Result<Self, serde_json::Error> {
        let Report { topology } = serde_json::from_str(&report)?;
        let layout = topology.shape().layout();
        let layout = json!({"switches": layout.switches, "hosts": layout.hosts});
        Ok(Self {
            report: report.into(),
            layout: layout.to_string().into(),
        })
    }

    /// Serves the page of it until `stop` is set.
    ///
    /// # Errors
    ///
    /// If the machine has no threads or descriptors left.
    pub fn serve(self, listener: TcpListener, stop: &AtomicBool) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let entered = runtime.enter();
        let listener = tokio::net::TcpListener::from_std(listener)?;
        drop(entered);
        runtime.spawn(server::serve(listener, None, self.router()));
        while !stop.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK_INTERVAL);
        }
        runtime.shutdown_timeout(super::FAREWELL);
        Ok(())
    }

    fn router(self) -> Router {
        let Self { report, layout } = self;
        Router::new()
            .route("/", get(index))
            .route("/page/{name}", get(file))
            .route("/run/report.json", get(async || kept(report)))
            .route("/run/layout.json", get(async || kept(layout)))
            .layer(middleware::from_fn(guard))
    }
}

impl Topology {
    fn shape(&self) -> Shape {
        let of_kind = |kind| self.nodes.iter().filter(move |node| node.kind == kind);
        let numbers = |kind| -> BTreeMap<&str, usize> {
            let names = of_kind(kind).map(|node| node.name.as_str());
            names.enumerate().map(|(at, name)| (name, at)).collect()
        };
        let (switches, hosts) = (numbers(NodeKind::Switch), numbers(NodeKind::Host));
        let mut shape = Shape {
            switches: of_kind(NodeKind::Switch).count(),
            links: Vec::new(),
            hosts: vec![None; of_kind(NodeKind::Host).count()],
            given: of_kind(NodeKind::Switch).map(Node::spot).collect(),
        };
        for link in &self.links {
            let [a, b] = [&link.a, &link.b].map(|name| name.as_str());
            match (switches.get(a), switches.get(b)) {
                (Some(one), Some(other)) => shape.links.push([*one, *other]),
                (Some(at), None) => place(&mut shape, hosts.get(b), *at),
                (None, Some(at)) => place(&mut shape, hosts.get(a), *at),
                (None, None) => {}
            }
        }
        shape
    }
}

impl Node {
    /// Returns where it stands by a topology file.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a map is not that large, and `as` saturates"
    )]
    fn spot(&self) -> Option<Spot> {
        let position = self.position?;
        Some(position.map(|it| (it * 1e6).round() as i32))
    }
}

fn place(shape: &mut Shape, host: Option<&usize>, at: usize) {
    if let Some(host) = host {
        shape.hosts[*host] = Some(at);
    }
}

/// Pages of other sites may not read a report, as they may not ask a controller.
async fn guard(request: Request, next: Next) -> Response<Body> {
    match Gate::Loopback(Role::Read).admit(request.headers()) {
        Ok(_) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

async fn index(uri: Uri) -> Response<Body> {
    match uri.query() {
        None => Redirect::to("/?run").into_response(),
        Some(_) => page::served(page::INDEX).into_response(),
    }
}

async fn file(Path(name): Path<String>) -> Response<Body> {
    page::served(&name).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_laid_out_and_what_is_none_is_refused_with_the_place() {
        let report = r#"{"verdict": "held", "topology": {
            "nodes": [{"name": "s1", "kind": "switch"}, {"name": "s2", "kind": "switch"},
                      {"name": "h", "kind": "host"}],
            "links": [{"name": "h-s2", "a": "h", "b": "s2"}, {"name": "x", "a": "s1", "b": "s2"}]}}"#;

        let run = FinishedRun::parse(report.to_owned()).unwrap();
        let wrong = FinishedRun::parse("{\"verdict\": 1}".to_owned()).unwrap_err();

        let layout: serde_json::Value = serde_json::from_slice(&run.layout).unwrap();
        assert_eq!(layout["switches"].as_array().unwrap().len(), 2);
        assert_ne!(layout["hosts"][0], serde_json::json!([0, 0]));
        assert!(wrong.to_string().contains("topology"), "{wrong}");
    }
}
