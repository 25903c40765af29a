//! Everything that can be asked over the interface: the one table from which the
//! paths, the roles they need and their description (`/api/v1/openapi.json`) follow.

pub mod applications;
mod attend;
pub mod audit;
pub mod contracts;
pub mod description;
pub mod events;
pub mod flows;
pub mod health;
pub mod hosts;
pub mod instances;
pub mod intents;
pub mod metrics;
pub mod mode;
pub mod page;
pub mod paths;
pub mod profiles;
pub mod room;
pub mod routes;
pub mod rules;
pub mod settings;
pub mod statistics;
pub mod topology;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::handler::Handler;
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::http::{Method, Response, StatusCode, Uri};
use axum::middleware;
use axum::response::IntoResponse;
use axum::routing::{MethodFilter, MethodRouter};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use self::attend::{Post, attend};
use super::gate::Role;
use super::problem::Problem;
use super::site::Site;

pub use attend::About;

/// Something that can be asked.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Its name, as in `admit-flows`.
    pub id: &'static str,
    /// The method.
    pub method: Method,
    /// The path, its variables in braces.
    pub path: &'static str,
    /// What it does, in a sentence.
    pub summary: &'static str,
    /// The role that it takes; none if everybody may ask, even without a token.
    pub role: Option<Role>,
    /// Whether it is noted in the audit log.
    pub changes: Changes,
    /// What may stand behind the `?`, with what that means.
    pub parameters: &'static [(&'static str, &'static str)],
    /// The document that it takes.
    pub takes: Option<SchemaOf>,
    /// What it answers when all goes well.
    pub gives: Gives,
    /// Which instance of a cluster answers it.
    pub answered_by: Answers,
    handler: MethodRouter<Site>,
}

/// Which instance of a cluster answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// The one that decides, whoever is asked.
    Sequencer,
    /// The same; while none does, whoever is asked says what the store was last known to
    /// hold, and that it is that ([`STALE`](crate::web::forwarding::STALE)).
    SequencerOrRecords,
    /// Whoever is asked: it is about this one alone.
    Anybody,
}

/// Makes the schema of a document.
pub type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// Whether an operation changes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changes {
    /// It does not.
    Nothing,
    /// It does.
    Something,
}

/// What an operation answers when all goes well.
#[derive(Clone, Copy, Debug)]
pub enum Gives {
    /// Nothing, with status 204.
    Nothing,
    /// A JSON document, with this status.
    Document(u16, SchemaOf),
    /// Text of this kind.
    Text(&'static str),
}

impl Operation {
    /// Something that shows and changes nothing.
    fn get<H, T>(id: &'static str, path: &'static str, summary: &'static str, handler: H) -> Self
    where
        H: Handler<T, Site>,
        T: 'static,
    {
        Self::new(id, Method::GET, path, summary, handler)
    }

    /// Something that takes a document and changes something.
    fn post<H, T>(id: &'static str, path: &'static str, summary: &'static str, handler: H) -> Self
    where
        H: Handler<T, Site>,
        T: 'static,
    {
        Self::new(id, Method::POST, path, summary, handler)
    }

    /// Something that puts a document in the place of another one.
    fn put<H, T>(id: &'static str, path: &'static str, summary: &'static str, handler: H) -> Self
    where
        H: Handler<T, Site>,
        T: 'static,
    {
        Self::new(id, Method::PUT, path, summary, handler)
    }

    /// Something that removes.
    fn delete<H, T>(id: &'static str, path: &'static str, summary: &'static str, handler: H) -> Self
    where
        H: Handler<T, Site>,
        T: 'static,
    {
        Self::new(id, Method::DELETE, path, summary, handler)
    }

    fn new<H, T>(
        id: &'static str,
        method: Method,
        path: &'static str,
        summary: &'static str,
        handler: H,
    ) -> Self
    where
        H: Handler<T, Site>,
        T: 'static,
    {
        let filter = MethodFilter::try_from(method.clone()).expect("a method of HTTP");
        let (role, changes) = match method == Method::GET {
            true => (Role::Read, Changes::Nothing),
            false => (Role::Operate, Changes::Something),
        };
        Self {
            id,
            method,
            path,
            summary,
            role: Some(role),
            changes,
            parameters: &[],
            takes: None,
            gives: Gives::Nothing,
            answered_by: Answers::Sequencer,
            handler: axum::routing::on(filter, handler),
        }
    }

    /// Says which role it takes.
    fn role(self, role: Role) -> Self {
        let role = Some(role);
        Self { role, ..self }
    }

    /// Has whoever is asked answer for himself.
    fn of_this_instance(self) -> Self {
        Self {
            answered_by: Answers::Anybody,
            ..self
        }
    }

    /// Has whoever is asked answer from the records of the store while no instance decides.
    fn or_from_records(self) -> Self {
        Self {
            answered_by: Answers::SequencerOrRecords,
            ..self
        }
    }

    /// Lets everybody ask, even without a token.
    fn open(self) -> Self {
        Self { role: None, ..self }
    }

    /// Says that it changes nothing, although it takes a document.
    fn question(self) -> Self {
        Self {
            role: Some(Role::Read),
            changes: Changes::Nothing,
            ..self
        }
    }

    /// Says what may stand behind the `?`.
    fn parameters(self, parameters: &'static [(&'static str, &'static str)]) -> Self {
        Self { parameters, ..self }
    }

    /// Says which document it takes.
    fn takes<D: JsonSchema>(self) -> Self {
        let takes: Option<SchemaOf> = Some(schema_of::<D>);
        Self { takes, ..self }
    }

    /// Says which document it answers.
    fn gives<D: JsonSchema>(self, status: StatusCode) -> Self {
        let gives = Gives::Document(status.as_u16(), schema_of::<D>);
        Self { gives, ..self }
    }

    /// Says which kind of text it answers.
    fn gives_text(self, kind: &'static str) -> Self {
        let gives = Gives::Text(kind);
        Self { gives, ..self }
    }
}

fn schema_of<D: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<D>()
}

/// Returns everything that can be asked.
#[must_use]
pub fn all() -> Vec<Operation> {
    [
        page::operations(),
        topology::operations(),
        hosts::operations(),
        flows::operations(),
        intents::operations(),
        rules::operations(),
        mode::operations(),
        settings::operations(),
        applications::operations(),
        paths::operations(),
        room::operations(),
        routes::operations(),
        profiles::operations(),
        contracts::operations(),
        events::operations(),
        statistics::operations(),
        audit::operations(),
        description::operations(),
        metrics::operations(),
        health::operations(),
        instances::operations(),
    ]
    .concat()
}

/// Returns what answers all of it.
pub fn router(site: &Site) -> Router {
    let mut router = Router::new();
    for (number, operation) in all().into_iter().enumerate() {
        let (path, handler) = (operation.path, operation.handler.clone());
        let post = Post::new(site.clone(), number, &operation);
        let attended = middleware::from_fn_with_state(post, attend);
        router = router.route(path, handler.route_layer(attended));
    }
    router
        .fallback(nothing_here)
        .method_not_allowed_fallback(not_so)
        .with_state(site.clone())
}

async fn nothing_here(uri: Uri) -> Problem {
    Problem::not_found(
        "no-such-path",
        format!("there is nothing at {}", uri.path()),
    )
    .help("/api/v1/openapi.json lists what there is")
}

async fn not_so(method: Method, uri: Uri) -> Problem {
    let message = format!("{method} is not possible on {}", uri.path());
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "no-such-method", message)
        .help("/api/v1/openapi.json lists what is")
}

/// Answers that it is done, with nothing more to say.
fn done(about: String) -> Response<Body> {
    let mut response = StatusCode::NO_CONTENT.into_response();
    response.extensions_mut().insert(About(vec![about]));
    response
}

/// Returns an answer from text that is JSON already.
pub(super) fn kept(text: Bytes) -> Response<Body> {
    texted(text, "application/json")
}

/// Returns an answer with text of a kind.
fn texted(text: impl Into<Body>, kind: &'static str) -> Response<Body> {
    let mut response = Response::new(text.into());
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// Writes a document down.
fn written(document: &impl Serialize) -> Bytes {
    serde_json::to_vec(document)
        .expect("documents have text keys alone")
        .into()
}
