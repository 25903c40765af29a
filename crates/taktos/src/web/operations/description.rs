//! The description of the interface (OpenAPI 3.1), made from the same table as the
//! paths themselves.

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::{Gives, Operation, all};
use crate::web::document::{LONGEST_NAME, ProblemDocument};
use crate::web::gate::{Gate, Role};
use crate::web::problem;
use crate::web::site::Site;

const JSON: &str = "application/json";

/// Returns what can be asked about it.
#[must_use]
pub fn operations() -> Vec<Operation> {
    let summary = "Show this description.";
    vec![
        Operation::get("describe", "/api/v1/openapi.json", summary, show)
            .gives::<Value>(StatusCode::OK)
            .of_this_instance(),
    ]
}

async fn show(State(site): State<Site>) -> Response<Body> {
    problem::json(StatusCode::OK, &description(&site.gate))
}

/// Returns the description, as those find it who come to this gate.
#[must_use]
pub fn description(gate: &Gate) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let mut paths = Map::new();
    for operation in all() {
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        let method = operation.method.as_str().to_ascii_lowercase();
        path[method] = described(&operation, gate, &mut generator);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Taktos",
            "description": "A controller that promises deadlines for flows. Durations are \
                            integers of nanoseconds (_ns), rates bits per second (_bps), sizes \
                            bytes as they occupy the wire (_bytes).",
            "license": {"name": "Apache-2.0"},
            "version": env!("CARGO_PKG_VERSION"),
        },
        "paths": paths,
        "components": {
            "schemas": generator.take_definitions(true),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    })
}

fn described(operation: &Operation, gate: &Gate, generator: &mut SchemaGenerator) -> Value {
    let mut described = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "parameters": parameters(operation),
        "responses": responses(operation, generator),
        "security": match (operation.role, gate) {
            (Some(_), Gate::Tokens(_)) => json!([{"token": []}]),
            // On a loopback address everybody on this machine may ask.
            (Some(_), Gate::Loopback(_)) | (None, _) => json!([]),
        },
    });
    if let Some(role) = operation.role {
        described["x-role"] = json!(Role::name(role));
    }
    if let Some(takes) = operation.takes {
        let schema = takes(generator);
        described["requestBody"] = json!({
            "required": true,
            "content": {JSON: {"schema": schema}},
        });
    }
    described
}

fn parameters(operation: &Operation) -> Vec<Value> {
    let pieces = operation.path.split('/');
    let variables = pieces.filter_map(|it| it.strip_prefix('{')?.strip_suffix('}'));
    let variables = variables.map(|name| {
        let schema = json!({"type": "string", "minLength": 1, "maxLength": LONGEST_NAME});
        json!({"name": name, "in": "path", "required": true, "schema": schema})
    });
    let queries = operation.parameters.iter().map(|(name, about)| {
        let schema = json!({"type": "string"});
        json!({"name": name, "in": "query", "description": about, "schema": schema})
    });
    variables.chain(queries).collect()
}

fn responses(operation: &Operation, generator: &mut SchemaGenerator) -> Value {
    let (status, content) = match operation.gives {
        Gives::Nothing => (204, None),
        Gives::Document(status, schema) => {
            let schema = schema(generator);
            (status, Some(json!({JSON: {"schema": schema}})))
        }
        Gives::Text(kind) => (200, Some(json!({kind: {"schema": {"type": "string"}}}))),
    };
    let mut good = json!({"description": "done"});
    if let Some(content) = content {
        good["content"] = content;
    }
    let problem = generator.subschema_for::<ProblemDocument>();
    let mut responses = Map::new();
    responses.insert(status.to_string(), good);
    responses.insert(
        "default".to_owned(),
        json!({"description": "not done", "content": {JSON: {"schema": problem}}}),
    );
    Value::Object(responses)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::web::gate::tokens::{self, Tokens};

    #[test]
    fn every_operation_is_described_once_under_its_own_name() {
        let description = description(&Gate::Loopback(Role::Administer));

        let paths = description["paths"].as_object().unwrap().values();
        let described = paths.flat_map(|path| path.as_object().unwrap().values());
        let names: Vec<_> = described
            .map(|it| it["operationId"].as_str().unwrap().to_owned())
            .collect();

        let different: BTreeSet<_> = names.iter().cloned().collect();
        assert_eq!(different.len(), names.len());
        assert_eq!(names.len(), all().len());
    }

    #[test]
    fn a_token_is_asked_for_where_one_is_needed() {
        let lists = |gate: &Gate| description(gate)["paths"]["/api/v1/flows"]["get"].clone();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        tokens::make(&path, "alice", Role::Read, None).unwrap();
        let tokens = Gate::Tokens(Tokens::read(&path).unwrap());

        assert_eq!(
            lists(&Gate::Loopback(Role::Administer))["security"],
            json!([])
        );
        assert_eq!(lists(&tokens)["security"], json!([{"token": []}]));
    }

    #[test]
    fn every_reference_leads_to_a_schema() {
        let description = description(&Gate::Loopback(Role::Administer));
        let mut references = Vec::new();
        collect(&description, &mut references);

        assert!(references.len() > 10);
        for reference in references {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(description.pointer(pointer).is_some(), "{reference}");
        }
    }

    fn collect(value: &Value, references: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                let reference = fields.get("$ref").and_then(Value::as_str);
                references.extend(reference.map(str::to_owned));
                fields.values().for_each(|it| collect(it, references));
            }
            Value::Array(values) => values.iter().for_each(|it| collect(it, references)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}
