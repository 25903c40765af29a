//! Which instances a cluster has, and which of them decides.

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};

use super::Operation;
use crate::web::document::{ClusterInstance, InstancesDocument};
use crate::web::problem::json;
use crate::web::site::Site;

/// Returns what can be asked about it.
#[must_use]
pub fn operations() -> Vec<Operation> {
    let summary = "List the instances of the cluster, as the one knows them that is asked.";
    vec![
        Operation::get("list-instances", "/api/v1/instances", summary, list)
            .gives::<InstancesDocument>(StatusCode::OK)
            .of_this_instance(),
    ]
}

async fn list(State(site): State<Site>) -> Response<Body> {
    json(StatusCode::OK, &instances_of(&site))
}

fn instances_of(site: &Site) -> InstancesDocument {
    let Some(cluster) = &site.cluster else {
        return InstancesDocument::default();
    };
    let report = cluster.report();
    let own = report.members.iter().find(|it| it.is_this);
    let own = own.map(|it| it.member.options);
    let instances = report.members.into_iter().map(|it| ClusterInstance {
        id: it.member.name,
        url: it.member.url,
        address: it.member.address.to_string(),
        answers: it.is_this,
        decides: it.is_sequencer,
        lives: it.is_heard,
        differs: own.is_some_and(|own| own != it.member.options),
    });
    InstancesDocument {
        epoch: report.epoch,
        instances: instances.collect(),
    }
}
