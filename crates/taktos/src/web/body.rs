//! Reads what clients send, and says where it is wrong.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use serde::de::{DeserializeOwned, IgnoredAny};
use tokio::time::timeout;

use super::problem::Problem;

/// The longest body: some ten thousand requirements.
pub const LONGEST_BODY: usize = 8 << 20;

/// How long a body may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The document in the body of a request.
#[derive(Clone, Debug)]
pub struct Sent<T>(pub T);

/// The body of a request, for those who look before they read.
#[derive(Clone, Debug)]
pub struct Raw(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for Raw {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        read(request.into_body()).await.map(Self)
    }
}

impl<S, T> FromRequest<S> for Sent<T>
where
    S: Send + Sync,
    T: DeserializeOwned,
{
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let bytes = read(request.into_body()).await?;
        parse(&bytes).map(Self)
    }
}

async fn read(body: Body) -> Result<Bytes, Problem> {
    let read = timeout(PATIENCE, axum::body::to_bytes(body, LONGEST_BODY)).await;
    read.map_err(|_| late())?
        .map_err(|error| match is_too_long(&error) {
            true => Problem::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "body-too-long",
                format!("the body has more than {LONGEST_BODY} bytes"),
            )
            .help("send it in several requests"),
            false => Problem::bad("body-cut-short", "the body ended before its end"),
        })
}

fn late() -> Problem {
    let message = format!("the body did not come within {} s", PATIENCE.as_secs());
    Problem::new(StatusCode::REQUEST_TIMEOUT, "body-late", message)
        .help("nothing has changed: send it again")
}

fn is_too_long(error: &axum::Error) -> bool {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = source {
        if error.to_string().contains("length limit exceeded") {
            return true;
        }
        source = error.source();
    }
    false
}

/// Tells whether a body is an object that has this key. One that cannot be read has
/// none.
#[must_use]
pub fn has_key(text: &[u8], key: &str) -> bool {
    let object = serde_json::from_slice::<BTreeMap<String, IgnoredAny>>(text);
    object.is_ok_and(|object| object.contains_key(key))
}

/// Reads a document.
///
/// # Errors
///
/// If it is no JSON, or not this document; the message names the place.
pub fn parse<T: DeserializeOwned>(text: &[u8]) -> Result<T, Problem> {
    if text.trim_ascii().is_empty() {
        return Err(Problem::bad("no-body", "the request has no body")
            .help("/api/v1/openapi.json shows what is expected"));
    }
    serde_json::from_slice(text).map_err(|error| explain(&error))
}

fn explain(error: &serde_json::Error) -> Problem {
    let said = error.to_string();
    let (code, help) = match error.classify() {
        serde_json::error::Category::Data => ("wrong-document", nearest(&said)),
        serde_json::error::Category::Syntax | serde_json::error::Category::Eof => {
            ("malformed-json", None)
        }
        serde_json::error::Category::Io => unreachable!("it is read from memory"),
    };
    let problem = Problem::bad(code, said);
    match help {
        Some(help) => problem.help(help),
        None => problem.help("/api/v1/openapi.json shows what is expected"),
    }
}

/// Returns a hint if `said` names a word that nobody knows and those that are
/// known, as in "unknown field `rate`, expected one of `name`, `rate_bps` at …".
fn nearest(said: &str) -> Option<String> {
    let mut words = said.split('`').skip(1).step_by(2);
    if !said.starts_with("unknown ") {
        return None;
    }
    let wrong = words.next()?;
    suggestion(wrong, words).map(|word| format!("did you mean `{word}`?"))
}

/// Returns the word that is written most like `wrong`, if one is.
pub fn suggestion<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    const ALIKE: f64 = 0.7;
    known
        .map(|word| (strsim::jaro_winkler(wrong, word), word))
        .filter(|(alike, _)| *alike >= ALIKE)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::document::{RequirementDocument, RequirementsDocument};

    fn refusal(text: &str) -> (String, String) {
        let body = parse::<RequirementDocument>(text.as_bytes())
            .unwrap_err()
            .body();
        (body.message, body.help.unwrap())
    }

    #[test]
    fn malformed_json_is_refused_at_its_line_and_column() {
        let (message, _) = refusal("{\n  \"name\": \"sv\",,\n}");

        assert!(message.contains("line 2 column 16"), "{message}");
    }

    #[test]
    fn an_unknown_field_is_refused_by_name_with_the_nearest_spelling() {
        let (message, help) = refusal(r#"{"name": "sv", "rate_bs": 7}"#);

        assert!(message.contains("unknown field `rate_bs`"), "{message}");
        assert!(message.contains("line 1 column 24"), "{message}");
        assert_eq!(help, "did you mean `rate_bps`?");
    }

    #[test]
    fn a_word_that_is_none_of_the_choices_is_refused_with_the_nearest_spelling() {
        let (_, help) = refusal(r#"{"name": "sv", "protection": {"kind": "restor"}}"#);

        assert_eq!(help, "did you mean `restore`?");
    }

    #[test]
    fn a_value_of_another_kind_is_refused_with_what_is_expected() {
        let text = br#"{"requirements": [{"name": 7}]}"#;

        let problem = parse::<RequirementsDocument>(text).unwrap_err();

        let message = problem.body().message;
        assert!(message.contains("expected a string"), "{message}");
    }
}
