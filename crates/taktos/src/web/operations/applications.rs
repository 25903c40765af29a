//! Applications: loaded, reloaded and unloaded while the controller runs.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{Response, StatusCode};
use controller::northbound::{ApplicationSummary, Reply, Request};

use super::{About, Operation, done};
use crate::web::body::Sent;
use crate::web::document::application::{ApplicationsDocument, ManifestDocument};
use crate::web::gate::{Caller, Role};
use crate::web::problem::{Problem, json};
use crate::web::site::Site;

/// Returns what can be asked about them.
#[must_use]
pub fn operations() -> Vec<Operation> {
    let (all, one) = ("/api/v1/applications", "/api/v1/applications/{name}");
    let again = "/api/v1/applications/{name}/reload";
    let reloaded = "Let an application begin anew; its rules stay.";
    let unloaded = "Unload an application, with its rules and intents.";
    vec![
        Operation::get("list-applications", all, "List the applications.", list)
            .gives::<ApplicationsDocument>(StatusCode::OK),
        Operation::post("load-application", all, "Load an application.", load)
            .role(Role::Administer)
            .takes::<ManifestDocument>()
            .gives::<ApplicationSummary>(StatusCode::CREATED),
        Operation::delete("unload-application", one, unloaded, unload).role(Role::Administer),
        Operation::post("reload-application", again, reloaded, reload).role(Role::Administer),
    ]
}

async fn applications(site: &Site, caller: &Caller) -> Result<Vec<ApplicationSummary>, Problem> {
    match site
        .ask(caller.asker.clone(), Request::Applications)
        .await?
    {
        Reply::Applications(applications) => Ok(applications),
        _ => Err(Problem::fault()),
    }
}

async fn list(State(site): State<Site>, caller: Caller) -> Result<Response<Body>, Problem> {
    let applications = applications(&site, &caller).await?;
    Ok(json(StatusCode::OK, &ApplicationsDocument { applications }))
}

async fn load(
    State(site): State<Site>,
    caller: Caller,
    Sent(document): Sent<ManifestDocument>,
) -> Result<Response<Body>, Problem> {
    let name = document.name.clone();
    let request = Request::Load(document.try_into()?);
    match site.ask(caller.asker.clone(), request).await? {
        Reply::Loaded(id) => {
            let loaded = applications(&site, &caller).await?;
            let found = loaded.iter().find(|it| it.id == id);
            let found = found.ok_or_else(|| unknown(&name))?;
            let mut response = json(StatusCode::CREATED, found);
            response.extensions_mut().insert(About(vec![name]));
            Ok(response)
        }
        Reply::ApplicationRefused(reason) => Err(Problem::conflict("application-refused", reason)
            .help("GET /api/v1/applications lists those that are loaded")),
        _ => Err(Problem::fault()),
    }
}

async fn unload(
    State(site): State<Site>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Response<Body>, Problem> {
    let request = Request::Unload(name.clone());
    match site.ask(caller.asker, request).await? {
        Reply::Unloaded => Ok(done(name)),
        Reply::UnknownApplication(name) => Err(unknown(&name)),
        _ => Err(Problem::fault()),
    }
}

async fn reload(
    State(site): State<Site>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Response<Body>, Problem> {
    let request = Request::Reload(name.clone());
    match site.ask(caller.asker, request).await? {
        Reply::Reloaded => Ok(done(name)),
        Reply::UnknownApplication(name) => Err(unknown(&name)),
        _ => Err(Problem::fault()),
    }
}

fn unknown(name: &str) -> Problem {
    Problem::not_found(
        "unknown-application",
        format!("no application is called {name}"),
    )
    .help("GET /api/v1/applications lists those that are loaded")
}
