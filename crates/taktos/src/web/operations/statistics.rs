//! What the controller counted.

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use controller::northbound::{ClassCount, Reply, Request, Statistics};

use super::Operation;
use crate::web::describe::Names;
use crate::web::document::StatisticsDocument;
use crate::web::document::statistics::{ClassDocument, SwitchStatisticsDocument};
use crate::web::gate::Caller;
use crate::web::problem::{Problem, json};
use crate::web::site::Site;

/// Returns what can be asked about it.
#[must_use]
pub fn operations() -> Vec<Operation> {
    let summary = "Show what was counted since the start.";
    vec![
        Operation::get("show-statistics", "/api/v1/statistics", summary, show)
            .gives::<StatisticsDocument>(StatusCode::OK),
    ]
}

async fn show(State(site): State<Site>, caller: Caller) -> Result<Response<Body>, Problem> {
    let statistics = statistics(&site, &caller).await?;
    Ok(json(StatusCode::OK, &site.names.statistics(&statistics)))
}

/// Returns what was counted.
///
/// # Errors
///
/// If the controller does not answer, or not this caller.
pub async fn statistics(site: &Site, caller: &Caller) -> Result<Box<Statistics>, Problem> {
    match site.ask(caller.asker.clone(), Request::Statistics).await? {
        Reply::Statistics(statistics) => Ok(statistics),
        _ => Err(Problem::fault()),
    }
}

impl Names {
    /// Writes down what was counted.
    #[must_use]
    pub fn statistics(&self, statistics: &Statistics) -> StatisticsDocument {
        let switches = statistics.switches.iter();
        StatisticsDocument {
            counters: statistics.counters,
            frames: statistics.frames.iter().map(class).collect(),
            switches: switches
                .map(|switch| SwitchStatisticsDocument {
                    datapath: switch.datapath,
                    name: self.switch(switch.datapath),
                    frames: switch.frames.iter().map(class).collect(),
                })
                .collect(),
        }
    }
}

fn class(count: &ClassCount) -> ClassDocument {
    ClassDocument {
        class: count.class.name().to_owned(),
        taken: count.taken(),
        dropped: count.dropped,
    }
}
