//! Says why a controller did not do what was asked, and what to do about it.

use ureq::http::StatusCode;

use super::super::exit::Exit;
use super::super::screen::say;
use super::sheet::harmless;
use crate::client::ClientError;
use crate::web::document::ProblemBody;

/// Says on standard error what went wrong, and returns the exit code for it.
pub fn complain(error: &ClientError) -> Exit {
    say(format_args!("taktos: {}", sentence(error)));
    exit(error)
}

/// Returns what went wrong and what to do, in one line.
pub fn sentence(error: &ClientError) -> String {
    let sentence = harmless(&error.to_string());
    match advice(error) {
        Some(advice) => format!("{sentence}; {advice}"),
        None => sentence,
    }
}

fn advice(error: &ClientError) -> Option<String> {
    match error {
        ClientError::Unreachable { .. } => Some(
            "start one with `taktos controller`, or name the place of one that runs with --url"
                .to_owned(),
        ),
        ClientError::Untrusted { .. } => {
            Some("name the authority that certified it with --ca FILE".to_owned())
        }
        ClientError::Refused(refusal) => match refusal.status {
            StatusCode::UNAUTHORIZED => {
                Some("give a token with --token-file FILE or TAKTOS_TOKEN".to_owned())
            }
            _ => help(&refusal.problem),
        },
        ClientError::Stranger { .. } => Some("is --url right?".to_owned()),
        ClientError::Unaskable(_) => None,
    }
}

/// Returns why something was refused, and what to do about it.
pub fn refused(problem: &ProblemBody) -> String {
    match help(problem) {
        Some(help) => format!("refused: {}; {help}", problem.message),
        None => format!("refused: {}", problem.message),
    }
}

/// Returns what to do about a problem.
fn help(problem: &ProblemBody) -> Option<String> {
    match ours(&problem.code) {
        Some(ours) => Some(ours.to_owned()),
        None => problem.help.as_deref().map(harmless),
    }
}

/// Returns what to do on the command line, where the controller advises what to do
/// over HTTP.
fn ours(code: &str) -> Option<&'static str> {
    match code {
        "unknown-flow" => Some("`taktos flows` lists those that are"),
        "unknown-host" => Some("`taktos hosts` lists those that are known"),
        "unknown-switch" => Some("`taktos topology` lists those that are known"),
        "unknown-intent" => Some("`taktos intents list` lists those that are"),
        "unknown-application" => Some("`taktos apps list` lists those that are loaded"),
        _ => None,
    }
}

/// Returns the exit code: what the user can change is bad input.
pub fn exit(error: &ClientError) -> Exit {
    match error {
        ClientError::Unreachable { .. } => Exit::Lacking,
        ClientError::Refused(refusal) if refusal.status.is_server_error() => Exit::Fault,
        ClientError::Refused(refusal) if is_no(&refusal.problem.code) => Exit::Broken,
        ClientError::Untrusted { .. }
        | ClientError::Refused(_)
        | ClientError::Stranger { .. }
        | ClientError::Unaskable(_) => Exit::BadInput,
    }
}

/// Tells whether the network has been asked properly, and has said no.
fn is_no(code: &str) -> bool {
    matches!(code, "too-few-paths" | "no-room")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::client::ServerRefusal;

    fn refused(status: StatusCode, help: Option<&str>) -> ClientError {
        ClientError::Refused(Box::new(ServerRefusal {
            status,
            problem: ProblemBody {
                code: "unknown-flow".to_owned(),
                message: "no flow is called \u{1b}[2J".to_owned(),
                help: help.map(str::to_owned),
            },
            document: Value::Null,
        }))
    }

    #[test]
    fn a_complaint_says_what_to_do_and_does_nothing_to_the_terminal() {
        let error = refused(StatusCode::NOT_FOUND, Some("GET /api/v1/flows lists them"));

        assert_eq!(
            sentence(&error),
            "no flow is called \\u{1b}[2J; `taktos flows` lists those that are"
        );
        assert!(sentence(&refused(StatusCode::UNAUTHORIZED, None)).contains("TAKTOS_TOKEN"));
    }

    #[test]
    fn the_exit_code_tells_whose_turn_it_is() {
        let nobody = ClientError::Unreachable {
            url: String::new(),
            reason: String::new(),
        };

        assert_eq!(exit(&nobody), Exit::Lacking);
        assert_eq!(exit(&refused(StatusCode::NOT_FOUND, None)), Exit::BadInput);
        assert_eq!(exit(&refused(StatusCode::CONFLICT, None)), Exit::BadInput);
        assert_eq!(
            exit(&refused(StatusCode::SERVICE_UNAVAILABLE, None)),
            Exit::Fault
        );
    }
}
